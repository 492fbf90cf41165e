"""Pulling the plug on an import, or filling its disk, costs time and nothing else."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from engine.config import DEMO, ROOT
from engine.explorer import Explorer
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage.vectors import DocumentTable
from tests.small_corpus import DOCUMENTS
from tests.support import make_explorer, wait_until, write_jsonl

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits"),
]

SHARD = 32
SECONDS = 120


# The command as it is, in a process of its own each time. Only the libraries that take seconds to
# load are loaded before the fork, and the wish is read: where, what, how large a file may get.
LAUNCHER = """
import json, os, resource, sys
import lance_namespace, pylate.models, sentence_transformers
for line in sys.stdin:
    home, arguments, limit = json.loads(line)
    pid = os.fork()
    if not pid:
        os.environ["SEEDLENS_HOME"] = home
        log = os.open(home + ".log", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        from engine.cli import main
        main(arguments)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


class Launcher:
    """Starts ``seedlens`` commands, one after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, home: Path, *arguments: object, limit: int = 0) -> int:
        """Begin a command; returns its process id. What it says goes to ``<home>.log``."""
        assert self._process.stdin
        print(
            json.dumps([str(home), [str(a) for a in arguments], limit]),
            file=self._process.stdin,
            flush=True,
        )
        return self._number()

    def wait(self) -> int:
        """The exit code of the command begun last; negative for the signal that ended it."""
        return os.waitstatus_to_exitcode(self._number())

    def _number(self) -> int:
        assert self._process.stdout
        return int(self._process.stdout.readline())


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHER],
        env={**os.environ, "SEEDLENS_SHARD_DOCUMENTS": str(SHARD)},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Launcher(process)
        process.stdin.close()  # type: ignore[union-attr]


def rows(explorer: Explorer, name: str) -> pa.Table:
    """Every row with every column, in the order of the ids."""
    table = DocumentTable.open(explorer.home.corpus(name))
    return pa.Table.from_batches(list(table.columns(table.schema.names))).sort_by("doc_id")


# Pulling the plug


def commits(home: Path) -> int:
    """Versions of the documents table that are on disk."""
    return len(list((home / "corpora/demo/documents.lance/_versions").glob("*.manifest")))


def indexes(home: Path) -> int:
    """Indexes on disk, half-written ones included."""
    return len(list((home / "corpora/demo/documents.lance/_indices").glob("*")))


def import_and_kill(
    launcher: Launcher, home: Path, model: Path, moment: Callable[[], bool], delay: float
) -> None:
    """Import the demo corpus, and send SIGKILL ``delay`` seconds after ``moment``."""
    pid = launcher.start(home, "import", DEMO, "--name", "demo", "--encoder", model)
    wait_until(moment, what="the moment to kill it", seconds=SECONDS, pause=0.001)
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    assert launcher.wait() == -signal.SIGKILL, "it was done before it was killed"


def test_an_import_killed_three_times_ends_as_if_nothing_had_happened(
    home: Path, tmp_path: Path, tiny_model: Path, launcher: Launcher
) -> None:
    chance = random.Random(20260301)  # noqa: S311 - not for secrets
    for _ in range(2):  # while documents are written ...
        enough = commits(home) + chance.randint(1, 3)
        delay = chance.uniform(0, 0.02)
        import_and_kill(
            launcher, home, tiny_model, lambda enough=enough: commits(home) >= enough, delay
        )
        left = make_explorer(home).library.corpus("demo")
        assert left.state == "indexing"
        assert 0 <= left.documents < 480
        assert left.documents % SHARD == 0, "a shard is there as a whole or not at all"
    # ... and while the indexes are built.
    delay = chance.uniform(0, 0.02)
    import_and_kill(launcher, home, tiny_model, lambda: indexes(home) > 0, delay)
    assert make_explorer(home).library.corpus("demo").state == "indexing"

    killed = make_explorer(home, shard_documents=SHARD)
    report = killed.library.import_documents(ImportRequest(DEMO, "demo"))
    assert (report.read, report.documents) == (480, 480)
    assert killed.library.corpus("demo").state == "ready"

    whole = make_explorer(tmp_path / "whole", shard_documents=SHARD)
    whole.library.import_documents(ImportRequest(DEMO, "demo", encoder=str(tiny_model)))
    ids = rows(killed, "demo")["doc_id"].to_pylist()
    assert ids == sorted(set(ids))
    assert rows(killed, "demo").equals(rows(whole, "demo"))
    for system in whole.systems:
        for seed in ("demo-0001", "demo-0480"):
            query = Query("demo", seed=seed, aspect="method", system=system)
            assert killed.search(query).results == whole.search(query).results, system


# Running out of disk


def test_a_full_disk_costs_the_shard_at_hand_and_the_same_command_goes_on(
    home: Path, tmp_path: Path, tiny_model: Path, launcher: Launcher
) -> None:
    """A real limit on the size of a file, which a shard of long documents exceeds."""
    short = [*DOCUMENTS[:20], *({**d, "doc_id": f"again-{d['doc_id']}"} for d in DOCUMENTS[:12])]
    long = [
        {"doc_id": f"long-{n}", "title": "Long", "text": f"the keeper wrote line {n} and " * 2000}
        for n in range(8)
    ]
    source = write_jsonl(tmp_path / "papers.jsonl", [*short, *long])
    command = ("import", source, "--name", "papers", "--encoder", tiny_model)
    launcher.start(home, *command, limit=3_000_000)
    assert launcher.wait() == 2
    said = Path(f"{home}.log").read_text("utf-8")
    assert "No room left" in said
    assert "run the same command again" in said
    assert "Traceback" not in said

    after = make_explorer(home, shard_documents=SHARD)
    info = after.library.corpus("papers")
    assert (info.documents, info.expected, info.state) == (32, 40, "indexing")
    launcher.start(home, *command)
    assert launcher.wait() == 0
    info = after.library.corpus("papers")
    assert (info.documents, info.expected, info.state) == (40, 40, "ready")
    wanted = sorted(d["doc_id"] for d in [*short, *long])
    assert rows(after, "papers")["doc_id"].to_pylist() == wanted
