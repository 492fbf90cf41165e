"""Pulling the plug on an import costs time and nothing else."""

from __future__ import annotations

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
from support import make_explorer

from engine.config import DEMO, ROOT
from engine.explorer import Explorer
from engine.importing import ImportRequest
from engine.types import Query
from storage.vectors import DocumentTable

SHARD = 32
SECONDS = 120


def commits(home: Path) -> int:
    """Versions of the documents table that are on disk."""
    return len(list((home / "corpora/demo/documents.lance/_versions").glob("*.manifest")))


def indexes(home: Path) -> int:
    """Indexes on disk, half-written ones included."""
    return len(list((home / "corpora/demo/documents.lance/_indices").glob("*")))


# The command as it is, in a process of its own each time. Only the libraries that take seconds to
# load are loaded before the fork.
LAUNCHER = """
import os, sys
import pylate.models, sentence_transformers
for _ in sys.stdin:
    pid = os.fork()
    if not pid:
        from engine.cli import main
        main()
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


@pytest.fixture
def launcher(home: Path, tiny_model: Path) -> Iterator[subprocess.Popen[str]]:
    """Starts ``seedlens import`` of the demo corpus for every line that it is sent."""
    command = ["import", str(DEMO), "--name", "demo", "--encoder", str(tiny_model)]
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, *command],
        env={**os.environ, "SEEDLENS_HOME": str(home), "SEEDLENS_SHARD_DOCUMENTS": str(SHARD)},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield process
        process.stdin.close()  # type: ignore[union-attr]


def import_and_kill(
    launcher: subprocess.Popen[str], moment: Callable[[], bool], delay: float
) -> None:
    """Run the command, and send it SIGKILL ``delay`` seconds after ``moment``."""
    assert launcher.stdin
    assert launcher.stdout
    launcher.stdin.write("go\n")
    launcher.stdin.flush()
    pid = int(launcher.stdout.readline())
    deadline = time.monotonic() + SECONDS
    while not moment() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    assert os.WTERMSIG(int(launcher.stdout.readline())) == signal.SIGKILL


def rows(explorer: Explorer) -> pa.Table:
    table = DocumentTable.open(explorer.home.corpus("demo"))
    return pa.Table.from_batches(list(table.columns(table.schema.names))).sort_by("doc_id")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_import_killed_three_times_ends_as_if_nothing_had_happened(
    home: Path, tmp_path: Path, tiny_model: Path, launcher: subprocess.Popen[str]
) -> None:
    chance = random.Random(20260301)  # noqa: S311 - not for secrets
    for kill in range(2):  # while documents are written ...
        enough = commits(home) + chance.randint(1, 3)
        delay = chance.uniform(0, 0.02)
        import_and_kill(launcher, lambda enough=enough: commits(home) >= enough, delay)
        left = make_explorer(home).corpus("demo")
        assert left.state == "indexing"
        assert 0 <= left.documents < 360, f"killed in time, {kill}"
        assert left.documents % SHARD == 0, "a shard is there as a whole or not at all"
    # ... and while the indexes are built.
    import_and_kill(launcher, lambda: indexes(home) > 0, chance.uniform(0, 0.02))
    assert make_explorer(home).corpus("demo").state == "indexing"

    killed = make_explorer(home, shard_documents=SHARD)
    report = killed.import_documents(ImportRequest(DEMO, "demo"))
    assert (report.read, report.documents) == (360, 360)
    assert killed.corpus("demo").state == "ready"

    whole = make_explorer(tmp_path / "whole", shard_documents=SHARD)
    whole.import_documents(ImportRequest(DEMO, "demo", encoder=str(tiny_model)))
    ids = rows(killed)["doc_id"].to_pylist()
    assert ids == sorted(set(ids))
    assert rows(killed).equals(rows(whole))
    for system in whole.systems:
        for seed in ("demo-0001", "demo-0360"):
            query = Query("demo", seed=seed, aspect="method", system=system)
            assert killed.search(query).results == whole.search(query).results, system
