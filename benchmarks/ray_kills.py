"""Imports on a Ray cluster of two nodes while workers, drivers and a node are killed.

    python -m benchmarks.ray_kills [--documents 600] [--workers 20] [--drivers 5] [--nodes 1]

Each import is of generated documents, encoded by the embedded model, by the command line in a
process of its own. Prints the rows of each import: all documents, each once, in the order of the
source; and whether searches find what they find in the same documents imported without Ray.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from engine.config import ROOT, Settings
from engine.explorer import Explorer
from engine.types.searches import Query
from storage.vectors import DocumentTable
from tests import ray_cluster
from tests.ray_cluster import SmallCluster, kill_worker
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
    """One corpus, imported until a command comes to its end.

    Attributes:
        home: that holds it alone.
        done: what was killed, in words.
    """

    home: Path
    source: Path
    address: str
    chance: random.Random
    done: list[str] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None

    @property
    def table(self) -> Path:
        return self.home / "corpora" / "c"

    def start(self) -> None:
        on = ["--on", self.address] if self.address else []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "engine.cli", "import", str(self.source), "--name", "c", *on],
            env={
                **os.environ,
                "SEEDLENS_HOME": str(self.home),
                "SEEDLENS_SHARD_DOCUMENTS": str(SHARD),
                "SEEDLENS_MAPS": "0",
            },
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
        while time.monotonic() - started < SECONDS:
            assert self.process is not None
            if self.process.poll() is not None:
                break
            if kills and time.monotonic() > due and kills[0](self):
                kills.pop(0)
                due = time.monotonic() + self.chance.uniform(*BETWEEN)
            time.sleep(0.05)
        assert self.process is not None
        assert self.process.wait(1) == 0, "the import did not end well"
        return time.monotonic() - started


def worker(run: Import) -> bool:
    """Kill a worker that checks or encodes."""
    for doing in ("index_piece", "check_piece"):
        if kill_worker(doing):
            run.done.append("worker")
            return True
    return False


def driver(run: Import) -> bool:
    """Kill the import once it has committed more than before, and begin it again."""
    before = sum(1 for what in run.done if what.startswith("driver"))
    if (rows := run.rows()) <= before:
        return False
    assert run.process is not None
    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    run.done.append(f"driver at {rows} rows")
    run.start()
    return True


def node_of(cluster: SmallCluster) -> Callable[[Import], bool]:
    def node(run: Import) -> bool:
        """End a node that encodes."""
        if not ray_cluster.workers("index_piece"):
            return False
        cluster.lose_node()
        run.done.append("node")
        return True

    return node


def found(home: Path, seed: str) -> list[list[tuple[str, float]]]:
    explorer = Explorer(Settings(home=home))
    results = (explorer.search(Query("c", seed=seed, system=name)).results for name in SYSTEMS)
    return [[(r.doc_id, round(r.score, 3)) for r in ranked] for ranked in results]


def generated(count: int) -> list[dict[str, str]]:
    chance = random.Random(1)
    words = [
        f"{a}{b}" for a in ("lum", "tor", "ven", "sil", "mar") for b in ("an", "ex", "or", "ith")
    ]
    sentences = (" ".join(chance.choices(words, k=12)) + "." for _ in range(count * 5))
    return [
        {"doc_id": f"d{i:05d}", "title": f"On {chance.choice(words)}", "text": " ".join(some)}
        for i, some in enumerate(zip(*[sentences] * 5, strict=True))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, default in (("documents", 600), ("workers", 20), ("drivers", 5), ("nodes", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    wanted = parser.parse_args()
    if why := ray_cluster.missing():
        sys.exit(why)
    # Ray forks to start its programs; nothing of LanceDB's is used in between.
    warnings.filterwarnings("ignore", "lancedb fork", RuntimeWarning)
    chance = random.Random(17)
    with tempfile.TemporaryDirectory() as folder, ray_cluster.running() as cluster:
        root = Path(folder)
        documents = generated(wanted.documents)
        source = write_jsonl(root / "documents.jsonl", documents)
        expected = [document["doc_id"] for document in documents]
        plain = Import(root / "plain", source, "", chance)
        print(f"without Ray: {plain.run([]):.0f} s", flush=True)
        same = found(plain.home, expected[7])
        kills = [worker] * wanted.workers + [driver] * wanted.drivers
        kills += [node_of(cluster)] * wanted.nodes
        chance.shuffle(kills)
        number = 0
        while kills:
            number += 1
            run = Import(root / f"home-{number}", source, cluster.address, chance)
            some, kills = kills[:AT_MOST], kills[AT_MOST:]
            seconds = run.run(some)
            kills += some  # for which it was too quick
            table = DocumentTable.open(run.table)
            ids = [i for batch in table.columns(["doc_id"]) for i in batch["doc_id"].to_pylist()]
            equal = found(run.home, expected[7]) == same
            print(
                f"import {number}: killed {', '.join(run.done) or 'nothing'}; {len(ids)} rows, "
                f"{len(set(ids))} distinct of {len(expected)}, "
                f"{'in' if ids == expected else 'OUT OF'} order; searches "
                f"{'equal' if equal else 'DIFFER'}; {seconds:.0f} s",
                flush=True,
            )
            shutil.rmtree(run.home)


if __name__ == "__main__":
    main()
