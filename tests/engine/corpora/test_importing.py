"""An import can be stopped, repeated, added to and interrupted; what is stored stays right."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import replace
from functools import partial

import pandas as pd
import pyarrow as pa
import pytest

from engine.errors import BadInputError, CorpusBusyError, StorageFullError
from engine.lenses.definitions import POSTS
from engine.types.corpora import ImportRequest, Progress, Repairs
from engine.types.searches import Query
from storage.vectors import DocumentTable
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer, stored_rows, write_jsonl


@pytest.fixture
def request_(tmp_path, tiny_model):
    source = write_jsonl(tmp_path / "papers.jsonl", DOCUMENTS)
    return ImportRequest(source, "papers", encoder=str(tiny_model))


@pytest.fixture
def shards(home):
    """An explorer over an empty home that commits eight documents at a time."""
    return make_explorer(home, shard_documents=8)


@pytest.fixture(scope="module")
def imported(tmp_path_factory, tiny_model):
    """A home with the corpus ``papers``, and its source beside it. For reading only."""
    folder = tmp_path_factory.mktemp("imported")
    source = write_jsonl(folder / "papers.jsonl", DOCUMENTS)
    request = ImportRequest(source, "papers", encoder=str(tiny_model))
    make_explorer(folder / "home", shard_documents=8).library.import_documents(request)
    return folder / "home"


@pytest.fixture
def papers(imported, home):
    """An explorer over a copy of it."""
    shutil.copytree(imported, home)
    return make_explorer(home, shard_documents=8)


stored = partial(stored_rows, name="papers")


def version(explorer, name="papers"):
    return DocumentTable.open(explorer.home.corpus(name)).version


def changed(doc_id, **fields):
    return [{**d, **fields} if d["doc_id"] == doc_id else d for d in DOCUMENTS]


# Stopping and going on


class StopAfter:
    """Says stop once it has been asked ``shards`` times."""

    def __init__(self, shards):
        self.left = shards

    def __call__(self):
        self.left -= 1
        return self.left < 0


def test_an_import_that_was_stopped_goes_on_to_the_same_bits(shards, request_, tmp_path):
    first = shards.library.import_documents(request_, cancelled=StopAfter(1))
    assert (first.cancelled, first.read, first.documents) == (True, 8, 8)
    second = shards.library.import_documents(request_, cancelled=StopAfter(2))
    assert (second.cancelled, second.added, second.unchanged) == (True, 8, 8)
    info = shards.library.corpus("papers")
    assert (info.documents, info.expected, info.state) == (16, 40, "indexing")
    onlooker, query = make_explorer(shards.home.root), Query("papers", seed="bees-network")
    assert onlooker.search(query).total == 15
    last = shards.library.import_documents(request_)
    assert onlooker.search(query).total == 39
    assert (last.cancelled, last.added, last.unchanged, last.documents) == (False, 24, 16, 40)
    assert shards.library.corpus("papers").state == "ready"

    whole = make_explorer(tmp_path / "other", shard_documents=8)
    whole.library.import_documents(request_)
    assert stored(shards).equals(stored(whole))
    for system in whole.systems:
        query = Query("papers", seed="bees-network", aspect="method", system=system)
        assert shards.search(query).results == whole.search(query).results


# Repeating, changing, adding


def test_progress_counts_up_to_all_documents_and_gives_the_disk_space_once(shards, request_):
    told: list[Progress] = []
    shards.library.import_documents(request_, told.append)
    assert [p.phase for p in told] == ["checking"] * 2 + ["indexing"] * 5 + ["finishing", "done"]
    assert [p.done for p in told[2:7]] == [8, 16, 24, 32, 40]
    assert all(p.total == 40 for p in told[1:])
    assert [p.disk > 0 for p in told] == [False, True, *[False] * (len(told) - 2)]
    before = version(shards)
    report = shards.library.import_documents(request_)
    assert (report.added, report.updated, report.unchanged) == (0, 0, 40)
    assert version(shards) == before
    assert shards.library.corpus("papers").state == "ready"


@pytest.mark.parametrize(
    "fields",
    [{"year": 1901}, {"roles": ["result", "method", None]}],
    ids=lambda fields: next(iter(fields)),
)
def test_a_changed_document_is_updated_in_its_place(papers, request_, fields):
    write_jsonl(request_.source, changed("bread-survey", **fields))
    report = papers.library.import_documents(request_)
    assert (report.added, report.updated, report.unchanged, report.documents) == (0, 1, 39, 40)
    ids = stored(papers)["doc_id"].to_pylist()
    assert ids == sorted(d["doc_id"] for d in DOCUMENTS)
    assert papers.library.import_documents(request_).unchanged == 40


def test_a_changed_text_is_found_by_its_new_words_and_no_longer_by_the_old(papers, request_):
    seed = Query("papers", text="questionnaires about zeppelins", system="bm25", k=50)
    assert "plain" not in [r.doc_id for r in papers.search(seed).results]
    write_jsonl(request_.source, changed("plain", text="Zeppelins land in fog."))
    papers.library.import_documents(request_)
    assert papers.search(seed).results[0].doc_id == "plain"
    old = replace(seed, text="a camera behind quartz glass")
    assert "plain" not in [r.doc_id for r in papers.search(old).results]
    assert papers.document("papers", "plain").text == "Zeppelins land in fog."


def test_a_file_with_fewer_fields_takes_nothing_away(papers, request_, tmp_path):
    before = stored(papers)
    one, other = DOCUMENTS[0], DOCUMENTS[1]
    rows = [
        {"doc_id": one["doc_id"], "title": one["title"]},
        {"doc_id": other["doc_id"], "title": "Another title", "volume": "7"},
    ]
    thin = write_jsonl(tmp_path / "thin.jsonl", rows)
    request = replace(request_, source=thin, repairs=Repairs(title_as_text=True))
    for updated in (1, 0):
        report = papers.library.import_documents(request)
        assert (report.added, report.updated, report.unchanged) == (0, updated, 2 - updated)
    assert report.kept["text"] == 1
    assert "text (1)" in report.done
    after = papers.document("papers", other["doc_id"])
    assert (after.title, after.metadata["volume"]) == ("Another title", "7")
    assert after.text == " ".join(other["sentences"])
    assert [s.role for s in after.sentences] == [0, 1, 2], "labels of the source"
    assert (after.year, after.authors) == (other["year"], tuple(other["authors"]))
    rest = pa.compute.not_equal(before["doc_id"], other["doc_id"])
    assert stored(papers).filter(rest).equals(before.filter(rest))


def test_the_last_import_can_be_undone(papers, request_):
    before = stored(papers)
    with pytest.raises(BadInputError, match="no import into 'papers' to undo"):
        papers.library.undo_import("papers")
    query = Query("papers", text="zeppelins in fog", system="bm25")
    extra = {"doc_id": "new", "title": "New", "text": "Zeppelins land in fog."}
    write_jsonl(request_.source, [extra, *changed("plain", text="Zeppelins and fog.")])
    papers.library.import_documents(request_)
    assert papers.library.import_documents(request_).unchanged == 41
    assert papers.library.undo_import("papers") == 40
    assert stored(papers).equals(before)
    assert papers.library.corpus("papers").documents == 40
    assert {r.doc_id for r in papers.search(query).results}.isdisjoint({"new", "plain"})
    assert not papers.library.can_undo_import("papers")
    report = papers.library.import_documents(request_, cancelled=StopAfter(1))
    assert (report.cancelled, report.added) == (True, 1)
    papers.library.undo_import("papers")
    assert stored(papers).equals(before)
    assert papers.library.import_documents(request_).added == 1


def test_an_edited_record_alone_is_encoded_again_and_outlives_the_next_import(papers, request_):
    before, labelled = stored(papers), DOCUMENTS[1]["doc_id"]
    fields = {"text": "Zeppelins land in fog.", "year": "1999", "authors": "Lee, Ann; Wu, Bo"}
    after = papers.library.edit("papers", "plain", {**fields, "venue": "Nature"})
    assert (after.text, after.year, after.authors) == (fields["text"], 1999, ("Ann Lee", "Bo Wu"))
    assert after.metadata["venue"] == "Nature"
    query = Query("papers", text="zeppelins in fog", system="bm25")
    assert papers.search(query).results[0].doc_id == "plain"
    rest = pa.compute.not_equal(before["doc_id"], "plain")
    assert stored(papers).filter(rest).equals(before.filter(rest))
    assert papers.library.import_documents(request_).unchanged == 40
    assert papers.document("papers", "plain") == after
    hashes = [one.column("content_hash") for one in (before, stored(papers))]
    assert hashes[0] != hashes[1], "scenarios of the old text do not count"
    assert papers.library.undo_import("papers") == 40
    assert stored(papers).equals(before)
    was = papers.document("papers", labelled)
    now = papers.library.edit("papers", labelled, {"title": "Another", "venue": ""})
    assert (now.title, now.sentences, now.year) == ("Another", was.sentences, was.year)


def test_an_edited_field_outlives_another_version_of_its_source(papers, request_):
    write_jsonl(request_.source, changed("plain", journal="Nature", grant=7))
    papers.library.import_documents(request_)
    papers.library.edit("papers", "plain", {"year": "1999", "journal": ""})
    again = changed("plain", journal="Nature", year=2001, text="Zeppelins land in fog.")
    for _ in range(2):
        write_jsonl(request_.source, again)
        papers.library.import_documents(request_)
        now = papers.document("papers", "plain")
        assert (now.year, now.text) == (1999, "Zeppelins land in fog.")
        assert dict(now.metadata) == {"grant": 7}
        again = changed("plain", journal="Science", text="Zeppelins land in fog.")


def test_an_edit_keeps_metadata_with_the_name_of_a_field(fresh):
    row = {"doc_id": "a", "text": "Terns nest.", "published": 2005, "year": "second"}
    fresh.library.add("odd", [row], mapping={"year": "published"})
    now = fresh.library.edit("odd", "a", {"venue": "Nature"})
    assert (now.year, dict(now.metadata)) == (2005, {"year": "second", "venue": "Nature"})


def test_undo_takes_the_last_change_alone_back(papers, request_):
    extra = [{"doc_id": f"new-{i}", "text": f"Zeppelins {i} land in fog."} for i in range(9)]
    write_jsonl(request_.source, [*extra, *DOCUMENTS])
    assert papers.library.import_documents(request_, cancelled=StopAfter(1)).cancelled
    year = papers.document("papers", "plain").year
    papers.library.edit("papers", "plain", {"year": "1999"})
    assert papers.library.undo_import("papers") == 48
    assert papers.document("papers", "plain").year == year
    papers.library.edit("papers", "plain", {"year": "1999"})
    papers.library.import_documents(request_)
    assert papers.library.undo_import("papers") == 48
    assert papers.document("papers", "plain").year == 1999


def test_a_value_is_not_stored_under_the_name_of_its_column_too(papers, request_):
    write_jsonl(request_.source, changed("plain", verlag="Hanser", heft="7"))
    before = replace(request_, mapping={"publisher": "", "issue": ""})  # as earlier versions
    papers.library.import_documents(before)
    assert papers.document("papers", "plain").metadata["verlag"] == "Hanser"
    papers.library.import_documents(request_)
    metadata = papers.document("papers", "plain").metadata
    assert (metadata["publisher"], metadata["issue"]) == ("Hanser", "7")
    assert not {"verlag", "heft"} & {*metadata}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"year": "soon"}, "'soon' is not a year"),
        ({"url": "javascript:alert(1)"}, "is not a web address"),
        ({"title": "", "text": " "}, "The abstract is empty"),
        ({"doc_id": "other"}, "The ID of a document cannot be changed"),
        ({"title": "x" * 100_000}, "the title has 100,000 characters"),
    ],
)
def test_an_edit_that_cannot_be_stored_changes_nothing(papers, fields, said):
    before = version(papers)
    with pytest.raises(BadInputError, match=said):
        papers.library.edit("papers", "plain", fields)
    assert version(papers) == before
    assert not papers.library.can_undo_import("papers")


def test_a_search_under_way_is_not_disturbed_by_an_import(papers, request_, home):
    onlooker = make_explorer(home)
    under_way = onlooker.searcher("papers")
    plain = Query("papers", seed="bees-network", system="dense")
    expected = under_way.search(plain)
    extra = {"doc_id": "new", "title": "New", "text": "Zeppelins land in fog."}
    write_jsonl(request_.source, [extra, *changed("plain", text="New text.")])
    papers.library.import_documents(request_)
    assert onlooker.search(plain).total == 40, "a later search sees the new document"
    # The earlier one still answers from the forty documents that it began with.
    assert under_way.search(plain).results == expected.results
    for system in ("aspect", "late-interaction"):
        assert under_way.search(replace(plain, system=system, aspect="method")).total == 39, system


# Refusing


def test_a_second_import_into_the_same_corpus_is_told_that_it_is_busy(papers, request_):
    library = papers.library
    with papers.ledger.locks.hold("corpus", "papers", what=""):
        for change in (
            lambda: library.import_documents(request_),
            lambda: library.delete("papers"),
            lambda: library.set_lens("papers", POSTS),
        ):
            with pytest.raises(CorpusBusyError, match="'papers' is being indexed"):
                change()
        assert papers.library.import_documents(replace(request_, name="other")).added == 40
    assert papers.library.import_documents(request_).unchanged == 40


def test_a_bad_row_anywhere_changes_nothing(papers, request_):
    before = version(papers)
    write_jsonl(request_.source, [*changed("plain", text="New text."), {"title": "no id"}])
    with pytest.raises(BadInputError, match="row 41"):
        papers.library.import_documents(request_)
    assert version(papers) == before
    assert papers.library.corpus("papers").state == "ready"


def test_too_little_room_is_said_before_anything_is_indexed(shards, request_, monkeypatch):
    monkeypatch.setattr("engine.types.corpora.BYTES_PER_CHARACTER", 10**15)
    with pytest.raises(StorageFullError, match=r"papers\.jsonl needs about .* GB.*SEEDLENS_HOME"):
        shards.library.import_documents(request_)
    assert shards.library.corpora() == []


def test_what_is_no_address_of_a_cluster_or_not_installed_is_named(home, small_source, monkeypatch):
    request = ImportRequest(small_source, "papers")

    def refused(address):
        with pytest.raises(BadInputError) as error:
            make_explorer(home, ray=address).library.import_documents(request)
        return str(error.value)

    for address in ("somewhere", "http://host:1", "ray://host", "ray://user:secret@host:1"):
        assert "Write local, or ray://HOST:10001." in refused(address)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name != "lance" and find(name))
    assert "pip install 'seedlens[cluster]'" in refused("local")
    assert not home.joinpath("corpora", "papers").exists()


# Documents from memory


def test_rows_in_memory_and_a_file_of_them_are_one_corpus(shards, request_, tiny_model):
    frame = pd.DataFrame(DOCUMENTS)
    added = shards.library.add("papers", frame, encoder=str(tiny_model))
    assert (added.corpus, added.read, added.added, added.documents) == ("papers", 40, 40, 40)
    info = shards.library.corpus("papers")
    assert (info.state, info.source, info.source_format) == ("ready", "a table in memory", "rows")
    before = version(shards)
    assert shards.library.import_documents(request_).unchanged == 40
    assert shards.library.add("papers", iter(DOCUMENTS)).unchanged == 40
    assert version(shards) == before


def test_a_long_import_compacts_what_it_wrote_while_it_goes_on(
    home, request_, monkeypatch, tmp_path
):
    for module in ("engine.corpora.indexing", "storage.vectors"):
        monkeypatch.setattr(f"{module}.FRAGMENT_ROWS", 16)
    explorer, files = make_explorer(home, shard_documents=4), []

    def tell(progress):
        if progress.phase == "indexing":
            folder = home / "corpora" / "papers" / "documents.lance" / "data"
            files.append(len(list(folder.iterdir())))

    explorer.library.import_documents(request_, tell)
    assert files == [1, 2, 3, 1, 2, 3, 4, 2, 3, 4]
    whole = make_explorer(tmp_path / "other", shard_documents=4)
    whole.library.import_documents(request_)
    assert stored(explorer).equals(stored(whole))
