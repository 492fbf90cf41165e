"""What the documents of a corpus have in the fields that filters name."""

import numpy as np
import pyarrow as pa

from engine.corpora.facets import read_fields
from engine.corpora.schema import facet
from engine.types.limits import FIELD_CHARS
from engine.types.searches import Query
from tests.fakes.small_corpus import DOCUMENTS


def test_every_value_comes_with_its_documents_and_those_without_one_are_counted(small):
    fields = small.library.open("small").fields
    assert list(fields) == ["year", "author", "venue"]
    venues = [d["venue"] for d in DOCUMENTS if "venue" in d]
    expected = {v: venues.count(v) for v in ("Acta Minor", "Parva", "x' OR '1'='1")}
    assert list(fields["venue"].counts.items()) == list(expected.items()), "most frequent first"
    assert fields["venue"].without == len(DOCUMENTS) - len(venues)
    assert fields["author"].counts["Bo Finch"] == sum(
        "Bo Finch" in d.get("authors", ()) for d in DOCUMENTS
    )
    assert fields["author"].without == sum(not d.get("authors") for d in DOCUMENTS)
    assert fields["year"].counts["2021"] == 1
    assert fields["year"].without == sum("year" not in d for d in DOCUMENTS)


def test_a_text_is_no_value_to_filter_by():
    pairs = [facet("venue", "Parva") + facet("review", "x" * FIELD_CHARS), facet("n" * 2_000, "")]
    fields = read_fields([pa.array(pairs)], np.full(2, -1, np.int32))
    assert list(fields) == ["year", "venue"]


def test_a_column_called_year_that_is_not_the_year_breaks_no_filter(fresh):
    text = "We count the terns of the island."
    rows = [{"doc_id": "a", "text": text, "date": 1990, "year": "the wet one"}]
    fresh.library.add("terns", rows, mapping={"year": "date"})
    found = fresh.facets("terns", fresh.parse_filters("year=1990"))
    assert (found.documents, found.years) == (1, {1990: 1})


ODD_IDS = (
    "constructor", "__proto__", "it's", "x' OR '1'='1", "'; DROP TABLE judgments; --", '"', "%s",
    "{0.__class__}", "../../ledger.sqlite", "C:\\x", "a/b", "*", "?x=1&y=2#z", "=1+1", "\u202eidx",
    "<b>", "[x](y)", "null", "0",
)  # fmt: skip


def test_ids_of_any_kind_name_their_documents_and_nothing_else(fresh):
    rows = [
        {"doc_id": i, "title": f"On {n}", "text": f"We count the birds of the {n}th island."}
        for n, i in enumerate(ODD_IDS)
    ]
    fresh.library.add("odd", rows)
    notebook = fresh.notebook
    for n, doc_id in enumerate(ODD_IDS):
        assert fresh.document("odd", doc_id).title == f"On {n}"
        query = Query("odd", seed=doc_id, aspect="method", k=len(ODD_IDS))
        found = [result.document.doc_id for result in fresh.search(query).results]
        assert sorted([*found, doc_id]) == sorted(ODD_IDS)
        notebook.judge(query, found[0], 3)
        assert notebook.grades(query) == {found[0]: 3}
        fresh.reading_lists.keep("", "odd", doc_id)
    kept = fresh.reading_lists.documents()
    assert [one.document.doc_id for one in kept] == list(ODD_IDS)
    project = fresh.annotation.project("odd")
    assert len(fresh.annotation.judgments(project)) == len(ODD_IDS)
