"""Pulling the plug on an import, or filling its disk, costs time and nothing else."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from engine.config import DEMO
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from tests.command_launcher import launching
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer, stored_rows, wait_until, write_jsonl

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits"),
]

SHARD = 32
CHANCE = random.Random(20260301)  # noqa: S311 - not for secrets


# Pulling the plug


def written(home, kind="_versions/*.manifest"):
    """Versions of the only table of documents on disk, or indexes, half-written ones included."""
    return len(list(home.glob(f"corpora/*/documents.lance/{kind}")))


def import_and_kill(launcher, home, command, moment):
    """Begin an import, and send SIGKILL shortly after ``moment``."""
    pid = launcher.start(home, *command)
    wait_until(moment, what="the moment to kill it", seconds=300, pause=0.001)
    time.sleep(CHANCE.uniform(0, 0.02))
    os.kill(pid, signal.SIGKILL)
    assert launcher.wait() == -signal.SIGKILL, Path(f"{home}.log").read_text("utf-8")


def test_an_import_killed_three_times_ends_as_if_nothing_had_happened(home, tmp_path, tiny_model):
    command = ("import", DEMO, "--name", "demo", "--encoder", tiny_model)
    with launching(SEEDLENS_SHARD_DOCUMENTS=str(SHARD)) as launcher:
        for _ in range(2):  # while documents are written ...
            enough = written(home) + CHANCE.randint(1, 3)
            import_and_kill(launcher, home, command, lambda n=enough: written(home) >= n)
            left = make_explorer(home).library.corpus("demo")
            assert left.state == "indexing"
            assert 0 <= left.documents < 480
            assert left.documents % SHARD == 0, "a shard is there as a whole or not at all"
        # ... and while the indexes are built.
        import_and_kill(launcher, home, command, lambda: written(home, "_indices/*") > 0)
    assert make_explorer(home).library.corpus("demo").state == "indexing"

    killed = make_explorer(home, shard_documents=SHARD)
    report = killed.library.import_documents(ImportRequest(DEMO, "demo"))
    assert (report.read, report.documents) == (480, 480)
    assert killed.library.corpus("demo").state == "ready"

    whole = make_explorer(tmp_path / "whole", shard_documents=SHARD)
    whole.library.import_documents(ImportRequest(DEMO, "demo", encoder=str(tiny_model)))
    ids = stored_rows(killed, "demo")["doc_id"].to_pylist()
    assert ids == sorted(set(ids))
    assert stored_rows(killed, "demo").equals(stored_rows(whole, "demo"))
    for system in whole.systems:
        for seed in ("demo-0001", "demo-0480"):
            query = Query("demo", seed=seed, aspect="method", system=system)
            assert killed.search(query).results == whole.search(query).results, system


# Running out of disk


def test_a_full_disk_costs_the_shard_at_hand_and_the_same_command_goes_on(
    home, tmp_path, tiny_model
):
    """A real limit on the size of a file, which a shard of long documents exceeds."""
    short = [*DOCUMENTS[:20], *({**d, "doc_id": f"again-{d['doc_id']}"} for d in DOCUMENTS[:12])]
    long = [
        {"doc_id": f"long-{n}", "title": "Long", "text": f"the keeper wrote line {n} and " * 2000}
        for n in range(8)
    ]
    source = write_jsonl(tmp_path / "papers.jsonl", [*short, *long])
    command = ("import", source, "--name", "papers", "--encoder", tiny_model)
    after = make_explorer(home, shard_documents=SHARD)
    with launching(SEEDLENS_SHARD_DOCUMENTS=str(SHARD)) as launcher:
        launcher.start(home, *command, limit=3_000_000)
        assert launcher.wait() == 2
        said = Path(f"{home}.log").read_text("utf-8")
        assert "No room left" in said
        assert "run the same command again" in said
        assert "Traceback" not in said
        info = after.library.corpus("papers")
        assert (info.documents, info.expected, info.state) == (32, 40, "indexing")
        launcher.start(home, *command)
        assert launcher.wait() == 0
    info = after.library.corpus("papers")
    assert (info.documents, info.expected, info.state) == (40, 40, "ready")
    wanted = sorted(d["doc_id"] for d in [*short, *long])
    assert stored_rows(after, "papers")["doc_id"].to_pylist() == wanted
