"""Pulling the plug on an import, or filling its disk, costs time and nothing else."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from engine.config import DEMO
from engine.explorer import Explorer
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage.vectors import DocumentTable
from tests.command_launcher import Launcher, launching
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer, wait_until, write_jsonl

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits"),
]

SHARD = 32
SECONDS = 120


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with launching(SEEDLENS_SHARD_DOCUMENTS=str(SHARD)) as started:
        yield started


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
