"""Deleting a corpus, and changing one's mind."""

import os
import time
from datetime import UTC, datetime, timedelta

import pytest

from engine.corpora.library import Library
from engine.corpora.uploads import KEPT_DAYS
from engine.errors import SeedLensError, UnknownNameError
from engine.lenses.definitions import POSTS
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage import removal
from tests.support import make_explorer


def test_a_deleted_corpus_is_gone_until_it_is_brought_back(small_copy):
    library = small_copy.library
    before = library.corpus("small")
    library.delete("small")
    assert library.names() == []
    assert library.deleted() == ["small"]
    with pytest.raises(SeedLensError):  # an import of its name that is refused changes nothing
        library.add("small", [{"doc_id": "a", "text": "A tern."}], encoder="/nowhere/at-all")
    library.restore("small")
    assert library.deleted() == []
    assert library.corpus("small").documents == before.documents
    assert library.corpus("small").state == "ready"


def on_later_days(monkeypatch, explorer, *days):
    """Empty the trash on days from now."""
    for day in days:
        later = datetime.now(UTC) + timedelta(days=day)
        monkeypatch.setattr(removal, "now", lambda later=later: later)
        explorer.library.empty_trash()


def test_a_deleted_corpus_is_forgotten_some_days_later(small_copy, monkeypatch):
    small_copy.library.delete("small")
    on_later_days(monkeypatch, small_copy, 2)
    assert not small_copy.home.corpus("small").exists()
    assert small_copy.ledger.corpora() == []
    with pytest.raises(UnknownNameError):
        small_copy.library.restore("small")


def test_a_second_app_over_one_home_deletes_nothing_that_the_first_can_bring_back_or_uses(
    small_copy, small_source, monkeypatch
):
    library, beside = small_copy.library, make_explorer(small_copy.home.root)
    library.delete("small")
    read = beside.ledger.corpora
    rows = read()  # here it is interrupted: others go on
    documents = library.import_documents(ImportRequest(small_source, "small")).documents
    for days in (2, 4):
        first = [rows]
        seen = lambda first=first: first.pop() if first else read()  # noqa: E731
        monkeypatch.setattr(beside.ledger, "corpora", seen)
        on_later_days(monkeypatch, beside, days)
    assert library.names() == ["small"]
    assert small_copy.search(Query("small", text="a document", k=documents)).total == documents


def test_a_name_that_is_used_again_gives_nobody_the_documents_of_the_deleted_corpus(
    small_copy, monkeypatch
):
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


def test_old_uploads_go_unless_a_corpus_was_made_of_them(small_copy, monkeypatch):
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
    library.delete("kept")
    on_later_days(monkeypatch, small_copy, 3)
    assert not used.exists()


def test_a_damaged_corpus_is_listed_beside_its_sound_neighbours(small_copy):
    for file in small_copy.home.corpus("small").rglob("*.manifest"):
        file.write_bytes(b"not a manifest")
    (info,) = small_copy.library.corpora()
    assert (info.name, info.state) == ("small", "damaged")


def test_a_search_that_was_under_way_goes_on_when_its_corpus_is_deleted(small_copy):
    searcher, query = small_copy.searcher("small"), Query("small", seed="bees-network")
    before = searcher.search(query)
    small_copy.library.delete("small")
    found = searcher.search(query).results
    assert [one.score for one in found] == [one.score for one in before.results]
    with pytest.raises(UnknownNameError):
        small_copy.searcher("small")


def test_one_limit_holds_for_the_vectors_of_all_corpora(small_copy, small_source):
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
