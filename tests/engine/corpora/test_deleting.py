"""Deleting a corpus, and changing one's mind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.config import ROOT
from engine.corpora.library import Library
from engine.corpora.uploads import KEPT_DAYS
from engine.errors import CorpusMissingError, SeedLensError, UnknownNameError
from engine.explorer import Explorer
from engine.lenses.definitions import POSTS
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage import removal
from tests.support import make_explorer


def test_a_deleted_corpus_is_gone_until_it_is_brought_back(small_copy: Explorer) -> None:
    library = small_copy.library
    before = library.corpus("small")
    library.delete("small")
    assert library.names() == []
    assert library.deleted() == ["small"]
    library.restore("small")
    assert library.deleted() == []
    assert library.corpus("small").documents == before.documents
    assert library.corpus("small").state == "ready"


def test_an_import_under_its_name_that_is_refused_leaves_a_deleted_corpus_to_be_brought_back(
    small_copy: Explorer,
) -> None:
    library = small_copy.library
    before = library.corpus("small")
    library.delete("small")
    with pytest.raises(SeedLensError):
        library.add("small", [{"doc_id": "a", "text": "A tern."}], encoder="/nowhere/at-all")
    library.restore("small")
    assert library.corpus("small").documents == before.documents


def on_later_days(monkeypatch: pytest.MonkeyPatch, explorer: Explorer, *days: float) -> None:
    """Empty the trash on days from now."""
    for day in days:
        later = datetime.now(UTC) + timedelta(days=day)
        monkeypatch.setattr(removal, "now", lambda later=later: later)
        explorer.library.empty_trash()


def test_a_deleted_corpus_is_forgotten_some_days_later(
    small_copy: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_copy.library.delete("small")
    on_later_days(monkeypatch, small_copy, 2)
    assert not small_copy.home.corpus("small").exists()
    assert small_copy.ledger.corpora() == []
    with pytest.raises(UnknownNameError):
        small_copy.library.restore("small")


BESIDE = """
from datetime import UTC, datetime, timedelta
from engine.explorer import Explorer
from engine.lenses.definitions import POSTS
from storage import removal

explorer = Explorer()
explorer.library.empty_trash()  # as an app does when it starts
print("started", flush=True)
input()
read = explorer.ledger.corpora
rows = read()  # here it is interrupted: others go on
print("read", flush=True)
input()
for days in (2, 4):
    first = [rows]
    explorer.ledger.corpora = lambda: first.pop() if first else read()
    removal.now = lambda: datetime.now(UTC) + timedelta(days=days)
    explorer.library.empty_trash()
"""


def test_a_second_app_over_one_home_deletes_nothing_that_the_first_can_bring_back_or_uses(
    small_copy: Explorer, small_source: Path
) -> None:
    library = small_copy.library
    library.delete("small")
    with subprocess.Popen(
        [sys.executable, "-c", BESIDE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "SEEDLENS_HOME": str(small_copy.home.root)},
    ) as beside:
        assert beside.stdin is not None
        assert beside.stdout is not None
        assert beside.stdout.readline() == "started\n"
        library.restore("small")
        documents = library.corpus("small").documents
        library.delete("small")
        print(file=beside.stdin, flush=True)
        assert beside.stdout.readline() == "read\n"
        library.import_documents(ImportRequest(small_source, "small"))
        print(file=beside.stdin, flush=True)
    assert beside.returncode == 0
    assert library.names() == ["small"]
    assert small_copy.search(Query("small", text="a document", k=documents)).total == documents


def test_a_name_that_is_used_again_gives_nobody_the_documents_of_the_deleted_corpus(
    small_copy: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = small_copy.library
    library.set_lens("small", POSTS)
    library.delete("small")
    report = library.add("small", [{"doc_id": "one", "text": "One sentence that is kept."}])
    assert report.documents == 1
    library.delete("small")
    library.restore("small")
    assert library.corpus("small").documents == 1
    on_later_days(monkeypatch, small_copy, 2)
    assert [path.name for path in small_copy.home.corpora.glob("small*/")] == ["small.3"]
    assert len(library.open("small")) == 1


def test_old_uploads_go_unless_a_corpus_was_made_of_them(
    small_copy: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = small_copy.library
    text = b'{"doc_id": "1", "text": "One sentence that is kept."}\n'
    used, unused, recent = (
        library.save_upload(f"{name}.jsonl", text + b"\n" * number)
        for number, name in enumerate(("used", "unused", "recent"))
    )
    library.import_documents(ImportRequest(used, "kept"))
    long_ago = time.time() - (KEPT_DAYS + 1) * 24 * 3600
    for path in (used, unused):
        os.utime(path, (long_ago, long_ago))
    on_later_days(monkeypatch, small_copy, 0)
    assert [path.exists() for path in (used, unused, recent)] == [True, False, True]
    with monkeypatch.context() as patch:  # a new ledger in the place of one that was lost
        patch.setattr(type(small_copy.ledger), "corpora", lambda _: [])
        on_later_days(patch, small_copy, 1.2)
    assert used.exists()
    library.delete("kept")
    on_later_days(monkeypatch, small_copy, 3)
    assert not used.exists()


def test_a_damaged_corpus_is_listed_beside_its_sound_neighbours(small_copy: Explorer) -> None:
    for file in small_copy.home.corpus("small").rglob("*.manifest"):
        file.write_bytes(b"not a manifest")
    (info,) = small_copy.library.corpora()
    assert (info.name, info.state) == ("small", "damaged")


def test_a_search_that_was_under_way_goes_on_when_its_corpus_is_deleted(
    small_copy: Explorer,
) -> None:
    searcher, query = small_copy.searcher("small"), Query("small", seed="bees-network")
    before = searcher.search(query)
    small_copy.library.delete("small")
    found = searcher.search(query).results
    assert [one.score for one in found] == [one.score for one in before.results]
    with pytest.raises(UnknownNameError):
        small_copy.searcher("small")


def test_searches_while_a_corpus_goes_and_comes_back_find_it_or_say_that_it_is_gone(
    small_copy: Explorer,
) -> None:
    documents = small_copy.library.corpus("small").documents
    beside = make_explorer(small_copy.home.root)
    over = threading.Event()

    def search(explorer: Explorer, query: Query) -> list[str]:
        said = []
        while not over.is_set():
            try:
                assert explorer.search(query).total == documents
            except (CorpusMissingError, UnknownNameError) as error:
                said.append(str(error))
        return said

    with ThreadPoolExecutor() as pool:
        searches = [
            pool.submit(search, explorer, Query("small", text="mites", system=system, k=documents))
            for explorer, system in ((small_copy, "dense"), (beside, "aspect"))
        ]
        try:
            for _ in range(6):
                small_copy.library.delete("small")
                time.sleep(0.02)
                small_copy.library.restore("small")
                time.sleep(0.05)
        finally:
            over.set()
        said = {words for found in searches for words in found.result()}
    assert said
    clear = ("There is no corpus 'small'", "was deleted or changed", "has no documents yet")
    assert all(any(part in words for part in clear) for words in said), said


def test_an_import_that_has_stored_nothing_yet_is_named_as_what_is_missing(
    small_copy: Explorer,
) -> None:
    shutil.rmtree(small_copy.home.corpus("small"))
    with pytest.raises(CorpusMissingError, match="'small' has no documents yet"):
        small_copy.search(Query("small", text="mites"))


def test_one_limit_holds_for_the_vectors_of_all_corpora(
    small_copy: Explorer, small_source: Path
) -> None:
    library = small_copy.library
    library.import_documents(ImportRequest(small_source, "other"))
    first, second = library.open("small"), library.open("other")
    assert first is library.open("small"), "there is room for both"
    bytes_ = first.resident_bytes
    assert bytes_ == second.resident_bytes > 0
    tight = small_copy.settings.model_copy(update={"resident_megabytes": bytes_ * 1.5 / 2**20})
    library = Library(small_copy.home, small_copy.ledger, tight, (), ())
    first, second = library.open("small"), library.open("other")
    assert first.resident
    assert second.resident
    assert second is library.open("other")
    assert first is not library.open("small"), "it made room"
