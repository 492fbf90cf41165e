"""Fifty thousand documents of a service, ten kills on the way, and kills while the map is made."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.types.searches import Query
from storage.vectors import DocumentTable
from tests.command_launcher import launching
from tests.fakes.service_server import Paper, serving_papers
from tests.support import make_explorer, wait_until

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]

DOCUMENTS = 50_000
SHARD = 256


def test_fifty_thousand_documents_survive_ten_kills(home: Path, tiny_model: Path) -> None:
    chance = random.Random(20261123)  # noqa: S311 - not for secrets
    with (
        serving_papers(DOCUMENTS) as server,
        launching(
            **server.environment,
            SEEDLENS_SHARD_DOCUMENTS=str(SHARD),
            SEEDLENS_OPENALEX_KEY="a-key-of-mine",
        ) as launcher,
    ):
        command = ("import", "openalex:everything", "--name", "papers", "--encoder", tiny_model)
        command = (*command, "--limit", DOCUMENTS)

        def stored() -> int:
            folder = home / "corpora/papers/documents.lance/_versions"
            return len(list(folder.glob("*.manifest")))

        def killed_at(moment: Callable[[], bool]) -> None:
            pid = launcher.start(home, *command)
            wait_until(moment, what="the moment to kill it", seconds=300, pause=0.001)
            time.sleep(chance.uniform(0, 0.05))
            os.kill(pid, signal.SIGKILL)
            assert launcher.wait() == -signal.SIGKILL, Path(f"{home}.log").read_text("utf-8")

        for _ in range(5):  # while pages come ...
            enough = len(server.seen) + chance.randint(20, 90)
            killed_at(lambda n=enough: len(server.seen) >= n)
        for _ in range(5):  # ... and while documents are indexed
            versions = stored() + chance.randint(10, 30)
            killed_at(lambda n=versions: stored() >= n)
        pages = len(server.seen)
        launcher.start(home, *command)
        assert launcher.wait() == 0, Path(f"{home}.log").read_text("utf-8")
        assert len(server.seen) == pages, "what was retrieved is not asked for again"
        assert pages <= DOCUMENTS // 100 + 2 * 5, "a kill costs the page at hand"

    explorer = make_explorer(home)
    info = explorer.library.corpus("papers")
    assert (info.documents, info.expected, info.state) == (DOCUMENTS, DOCUMENTS, "ready")
    table = DocumentTable.open(home / "corpora/papers")
    ids = [id_ for batch in table.columns(["doc_id"]) for id_ in batch["doc_id"].to_pylist()]
    assert sorted(ids) == sorted(f"W{n}" for n in range(1, DOCUMENTS + 1))
    assert explorer.library.corpus("papers").sources[0].documents == DOCUMENTS


def test_imports_killed_while_the_map_is_made_leave_a_corpus_that_is_whole(
    home: Path, tiny_model: Path
) -> None:
    command = ("import", "zotero:users/7", "--name", "papers", "--limit", 2_000)
    keys = sorted(Paper(n).key for n in range(1, 2_001) if n % 50)  # the others are attachments
    with (
        serving_papers(2_000) as server,
        launching(**server.environment, SEEDLENS_MAPS="1") as launcher,
    ):
        for _ in range(2):
            pid = launcher.start(home, *command, "--encoder", tiny_model)

            def mapping(pid: int = pid) -> bool:
                """Whether the import says so in its file."""
                try:
                    files = [file.read_text("utf-8") for file in home.glob("jobs/*.json")]
                except FileNotFoundError:  # the one of the import that was killed before
                    return False
                jobs = map(json.loads, files)
                return [j["progress"]["phase"] for j in jobs if j["pid"] == pid] == ["mapping"]

            wait_until(mapping, what="the map being made", seconds=120, pause=0.001)
            os.kill(pid, signal.SIGKILL)
            assert launcher.wait() == -signal.SIGKILL, Path(f"{home}.log").read_text("utf-8")

    explorer = make_explorer(home)
    info = explorer.library.corpus("papers")
    assert (info.documents, info.expected, info.state) == (len(keys), len(keys), "ready")
    assert sorted(explorer.library.open("papers").doc_ids) == keys
    assert explorer.search(Query("papers", seed=keys[0], system="dense")).total == len(keys) - 1
    [job] = explorer.library.jobs.list()
    assert job.state == "interrupted", "it can be resumed, and stands there once"
    assert explorer.maps.view("papers") is None
    explorer.maps.build("papers")  # Map does, on demand
    found = explorer.maps.view("papers")
    assert found is not None
    assert sorted(found.doc_ids) == keys
