"""Imports on a Ray cluster of two nodes while workers, drivers and a node are killed.

Each import is of generated documents, encoded by the embedded model, by the command line in a
process of its own; every second one adds to a corpus that has the first half of them. Prints the
rows of each import: all documents, each once, in the order of the source; and whether searches find
what they find in the same documents imported without Ray.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from benchmarks.figures import Figure
from engine.config import ROOT, Settings
from engine.errors import CorpusMissingError, UnknownNameError
from engine.explorer import Explorer
from engine.types.searches import Query
from storage.vectors import DocumentTable
from tests.fakes import postgres_server, ray_cluster, s3_server
from tests.fakes.ray_cluster import SmallCluster, kill_worker
from tests.support import write_jsonl

SHARD = 8
SECONDS = 900
BETWEEN = 4.0, 12.0
"""Seconds from one kill to the next: a new worker takes some to load the model."""
AT_MOST = 7
"""Kills of one import."""
SYSTEMS = ("bm25", "dense", "aspect")


@dataclass
class Import:
    """One corpus, imported until a command comes to its end."""

    home: Path  # that holds it alone
    source: Path
    address: str
    chance: random.Random
    # addresses of the ledger and the store, as settings; {} where both are in the home
    shared: dict[str, str] = field(default_factory=dict)
    before: int = 0  # documents that were there when a command began
    done: list[str] = field(default_factory=list)  # what was killed, in words
    seen: list[list[str]] = field(default_factory=list)  # ids that another server saw, in turn
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def table(self) -> Path:
        return self.home / "corpora" / "c"

    def opened(self, home: Path) -> Explorer:
        """A server with a home, over the same store."""
        return Explorer(Settings(home=home, **self.shared))  # type: ignore[arg-type]

    @cached_property
    def other(self) -> Explorer:
        """A server with another home."""
        return self.opened(self.home.with_name(f"{self.home.name}-other"))

    def look(self) -> None:
        """Note what another server sees, where that is something else than before."""
        ids: list[str] = []
        with suppress(UnknownNameError, CorpusMissingError):  # not published yet
            ids = list(self.other.library.open("c").doc_ids)
        if [ids] != self.seen[-1:]:
            self.seen.append(ids)

    def start(self) -> None:
        self.before = self.rows()
        on = ["--on", self.address] if self.address else []
        own = {"HOME": str(self.home), "SHARD_DOCUMENTS": str(SHARD), "MAPS": "0"}
        own |= {name.upper(): value for name, value in self.shared.items()}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "engine.cli", "import", str(self.source), "--name", "c", *on],
            env={**os.environ, **{f"SEEDLENS_{name}": value for name, value in own.items()}},
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
        )

    def rows(self) -> int:
        return DocumentTable.open(self.table).count() if DocumentTable.is_stored(self.table) else 0

    def run(self, kills: list[Callable[[Import], bool]]) -> float:
        """Import, and do each kill some time after the one before; seconds it all took."""
        started = time.monotonic()
        self.start()
        due = time.monotonic() + 1
        while time.monotonic() - started < SECONDS and self.process.poll() is None:
            if kills and time.monotonic() > due and kills[0](self):
                kills.pop(0)
                due = time.monotonic() + self.chance.uniform(*BETWEEN)
            if self.shared:
                self.look()
            time.sleep(0.05)
        assert self.process.wait(1) == 0, "the import did not end well"
        return time.monotonic() - started


def worker(run: Import) -> bool:
    """Kill a worker that encodes."""
    if killed := kill_worker():
        run.done.append("worker")
    return killed


def driver(run: Import) -> bool:
    """Kill the import once it has committed more than before, and begin it again."""
    if (rows := run.rows()) <= run.before:
        return False
    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    run.done.append(f"driver at {rows} rows")
    run.start()
    return True


def node_of(cluster: SmallCluster) -> Callable[[Import], bool]:
    def node(run: Import) -> bool:
        """End a node that encodes."""
        if not ray_cluster.workers("index_shard"):
            return False
        cluster.lose_node()
        run.done.append("node")
        return True

    return node


def found(explorer: Explorer, seed: str) -> list[list[tuple[str, float]]]:
    results = (explorer.search(Query("c", seed=seed, system=name)).results for name in SYSTEMS)
    return [[(r.doc_id, round(r.score, 3)) for r in ranked] for ranked in results]


def generated(count: int) -> list[dict[str, str]]:
    chance = random.Random(1)
    endings = ("an", "ex", "or", "ith")
    words = [f"{a}{b}" for a in ("lum", "tor", "ven", "sil", "mar") for b in endings]
    sentences = (" ".join(chance.choices(words, k=12)) + "." for _ in range(count * 5))
    return [
        {"doc_id": f"d{i:05d}", "title": f"On {chance.choice(words)}", "text": " ".join(some)}
        for i, some in enumerate(zip(*[sentences] * 5, strict=True))
    ]


def servers(held: ExitStack) -> Callable[[], dict[str, str]]:
    """Start an object store and a server for ledgers; settings for an empty one of each."""
    s3 = held.enter_context(s3_server.running())
    postgres = held.enter_context(postgres_server.running())
    os.environ.update(s3.environment())
    return lambda: {"store": s3.store(), "ledger_url": postgres.database()}


def measure(
    documents: int = 600, workers: int = 20, drivers: int = 5, nodes: int = 1, store: bool = False
) -> list[Figure]:
    """Imports until so many kills are done; how many are wrong.

    `store`: corpora are in an object store of this machine, and a second home opens them there all
    the time: it must see what was published, whole, and nothing else.
    """
    missing = [ray_cluster.missing()]
    missing += [s3_server.missing(), postgres_server.missing()] if store else []
    if why := next(filter(None, missing), ""):
        print(why, file=sys.stderr)
        return []
    # Ray forks to start its programs; nothing of LanceDB's is used in between.
    warnings.filterwarnings("ignore", "lancedb fork", RuntimeWarning)
    chance = random.Random(17)
    with ExitStack() as held:
        root = Path(held.enter_context(tempfile.TemporaryDirectory()))
        share: Callable[[], dict[str, str]] = servers(held) if store else dict
        cluster = held.enter_context(ray_cluster.running())
        rows = generated(documents)
        half = documents // 2 // SHARD * SHARD
        source = write_jsonl(root / "documents.jsonl", rows)
        first = write_jsonl(root / "half.jsonl", rows[:half])
        expected = [row["doc_id"] for row in rows]
        plain = Import(root / "plain", source, "", chance)
        print(f"without Ray: {plain.run([]):.0f} s", flush=True)
        same = found(plain.opened(plain.home), expected[7])
        kills = [worker] * workers + [driver] * drivers + [node_of(cluster)] * nodes
        chance.shuffle(kills)
        number = wrong = 0
        while kills:
            number += 1
            run = Import(root / f"home-{number}", source, cluster.address, chance, share())
            published = [[], expected]
            if number % 2 == 0:
                Import(run.home, first, "", chance, run.shared).run([])
                published = [expected[:half], expected]
            some, kills = kills[:AT_MOST], kills[AT_MOST:]
            seconds = run.run(some)
            kills += some  # for which it was too quick
            faults = faults_of(run, expected, published, same)
            wrong += bool(faults)
            killed = ", ".join(run.done) or "nothing"
            of = f"import {number}{' to half of it' * (number % 2 == 0)}"
            verdict = ", ".join(faults) or "all right"
            print(f"{of}: killed {killed}; {verdict}; {seconds:.0f} s", flush=True)
            for home in root.glob(f"home-{number}*"):
                shutil.rmtree(home)
    return [Figure("imports that lost, doubled or changed something", wrong, most=0)]


def faults_of(
    run: Import,
    expected: Sequence[str],
    published: Sequence[Sequence[str]],
    same: list[list[tuple[str, float]]],
) -> list[str]:
    """What is wrong in an imported corpus. `published`: what another server should have seen."""
    table = DocumentTable.open(run.table)
    ids = [i for batch in table.columns(["doc_id"]) for i in batch["doc_id"].to_pylist()]
    faults = []
    if ids != expected:
        faults.append(f"{len(ids)} rows, {len(set(ids))} distinct of {len(expected)}, or no order")
    explorers = [run.opened(run.home)]
    if run.shared:
        run.look()
        explorers.append(run.other)
        if run.seen != list(published):
            faults.append(f"another server saw {[len(one) for one in run.seen]}")
    if any(found(one, expected[7]) != same for one in explorers):
        faults.append("searches DIFFER")
    return faults
