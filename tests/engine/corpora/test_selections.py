"""Selections: documents that somebody chose are a filter like any other, kept with the corpus."""

import json
import shutil

import pytest

from engine.corpora.backup import back_up, restore
from engine.corpora.registry import store_of
from engine.corpora.selections import FOLDER, selection_key
from engine.errors import BadInputError, UnknownNameError
from engine.lenses.definitions import POSTS
from engine.queries import parse_filter
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage.home import Home
from tests.support import make_explorer

CHOSEN = ["bees-network", "bees-survey", "bridges-survey"]


def test_the_same_documents_make_the_same_filter_whose_words_say_how_many(small_copy):
    first = small_copy.select("small", CHOSEN)
    assert small_copy.select("small", [*reversed(CHOSEN), CHOSEN[0]]) == first
    assert len(small_copy.ledger.documents("selection", list[str]).all("small")) == 1
    assert parse_filter(str(first)) == first
    assert first.words == "within 3 selected documents"
    assert small_copy.select("small", CHOSEN[:1]).words == "within 1 selected document"


@pytest.mark.parametrize("system", ["bm25", "dense", "aspect", "late-interaction"])
def test_a_search_keeps_to_a_selection_and_to_other_filters_with_it(small_copy, system):
    chosen = small_copy.browse("small", 0, 12)
    seed, others = chosen[0].doc_id, chosen[1:]
    within = small_copy.select("small", [one.doc_id for one in chosen])
    query = Query("small", seed=seed, aspect="method", system=system, filters=(within,))
    found = {one.doc_id for one in small_copy.search(query).results}
    assert found <= {one.doc_id for one in others}
    assert len(found) > 3
    late = parse_filter("year>=2005")
    facets = small_copy.facets("small", (within, late))
    assert facets.documents == sum((one.year or 0) >= 2005 for one in chosen) > 0
    assert sum(facets.years.values()) + facets.undated == 12, "years are of the selection"
    two = small_copy.select("small", [one.doc_id for one in chosen[10:]])
    either = parse_filter(f"{within}|{two.value}")
    assert small_copy.facets("small", (either,)).documents == 12
    assert small_copy.facets("small", (within, two)).documents == 2


def test_what_cannot_be_selected_is_named(small_copy):
    with pytest.raises(UnknownNameError, match=r"2 documents of the selection: 'no1', 'no2'\."):
        small_copy.select("small", ["no1", CHOSEN[0], "no2"])
    with pytest.raises(UnknownNameError, match="'n4' and 35 more"):
        small_copy.select("small", [f"n{n}" for n in range(40)])
    with pytest.raises(BadInputError, match="no document"):
        small_copy.select("small", [])
    with pytest.raises(UnknownNameError, match="no corpus 'nothing'"):
        small_copy.select("nothing", CHOSEN)


@pytest.mark.parametrize("key", ["3-0123456789abcdef", "../../3-0123456789abcdef", "9" * 6000])
def test_a_key_that_is_not_stored_is_said_to_be_so(small, key):
    filter_ = parse_filter(f"in.selection={key}")
    assert filter_.words.startswith("within ")
    with pytest.raises(UnknownNameError, match="is not stored here"):
        small.facets("small", [filter_])
    with pytest.raises(BadInputError, match="only years, dates and amounts"):
        small.facets("small", [parse_filter(f"in.selection>={key}")])


def test_those_of_earlier_versions_are_read_and_go_to_the_ledger_with_another_lens(small_copy):
    key, row = selection_key("small", CHOSEN), small_copy.ledger.corpus("small")
    assert row is not None
    folder = store_of(small_copy.home, row) / FOLDER
    folder.mkdir()
    (folder / f"{key}.json").write_text(json.dumps(CHOSEN))
    (folder / "2-0123456789abcdef.json").write_text("[" * 100_000)
    kept = parse_filter(f"in.selection={key}")
    assert small_copy.facets("small", [kept]).documents == 3
    small_copy.library.set_lens("small", POSTS)
    shutil.rmtree(folder)
    assert small_copy.facets("small", [kept]).documents == 3


@pytest.mark.parametrize("only", [None, "irreplaceable"])
def test_it_is_in_a_backup(small_copy, small_source, tmp_path, only):
    kept = small_copy.select("small", CHOSEN)
    back_up(small_copy.home, small_copy.ledger, tmp_path / "small.zip", only)
    restore(tmp_path / "small.zip", Home(tmp_path / "restored"))
    restored = make_explorer(tmp_path / "restored")
    restored.library.import_documents(ImportRequest(small_source, "small"))
    assert restored.facets("small", [kept]).documents == 3


def test_it_goes_with_its_corpus(small_copy):
    kept = small_copy.select("small", CHOSEN)
    small_copy.library.delete("small")
    small_copy.library.restore("small")
    assert small_copy.facets("small", [kept]).documents == 3
    small_copy.library.delete("small")
    small_copy.library.add("small", [{"doc_id": one, "text": "A text."} for one in CHOSEN])
    with pytest.raises(UnknownNameError, match="is not stored here"):
        small_copy.facets("small", [kept])
