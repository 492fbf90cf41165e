"""Queries, filters and what was found, written down and read back."""

import json
from dataclasses import replace

import pytest

from engine.errors import BadInputError
from engine.lenses.definitions import RESEARCH
from engine.queries import (
    parse_filter,
    parse_filters,
    query_from_json,
    query_id,
    query_to_json,
)
from engine.search.reports import search_report
from engine.types.searches import Filter, Query

BEES = Query("small", seed="bees-network", aspect="method", k=100)


def test_a_query_survives_being_written_down():
    filters = (Filter("venue", "=", "x' OR '1'='1"), Filter("year", ">=", "2010"))
    for query in (
        BEES,
        Query("small", text="Bees 🐝.\n“Quoted”", instruction="like this", focus=(0, 2)),
        replace(BEES, filters=filters, steer=0.0, symmetric=True, offset=20),
        replace(BEES, reading=("+method", "-background")),
        replace(BEES, like=("a", "b"), unlike=("c",)),
    ):
        assert query_from_json(query_to_json(query)) == query


@pytest.mark.parametrize("text", ["", "[]", "{", '{"corpus": "c", "sede": "x"}', '{"focus": 3}'])
def test_a_text_that_is_no_query_is_refused(text):
    with pytest.raises(BadInputError, match="cannot be read"):
        query_from_json(text)


def test_a_query_is_named_by_seed_and_aspect():
    assert query_id(BEES) == "bees-network_method"
    assert query_id(replace(BEES, aspect=None)) == "bees-network_any"
    pasted = Query("small", text="Bees.", aspect="result")
    assert query_id(pasted) == query_id(replace(pasted, system="dense"))
    assert query_id(pasted).startswith("text-")
    assert query_id(pasted) != query_id(replace(pasted, text="Bees!"))
    assert query_id(replace(BEES, reading=("-result",))) != query_id(BEES), "another need"
    assert query_id(replace(BEES, focus=(3,))) != query_id(BEES), "picked sentences"
    assert query_id(replace(BEES, like=("a",), aspect="METHOD")) == query_id(BEES)
    words = {aspect.key: aspect.instruction for aspect in RESEARCH.aspects}
    assert query_id(replace(BEES, instruction=words["method"])) == query_id(BEES)
    for aspect in ("method", None):
        alike = replace(BEES, aspect=aspect)
        asked = replace(alike, instruction=words["result"])
        assert query_id(asked) != query_id(alike), "what another aspect's wording asks for"


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("venue", ("ACL",)),
        ("venue", ("A|B", "C; D", "back\\slash", "end\\")),
        *((field, ("1", "2=3")) for field in ("a=b", "p<0.05", "x >= y", "a;b|c", "end\\")),
    ],
)
def test_fields_and_values_of_any_name_survive_being_written_into_a_link(field, values):
    filter_ = Filter.any_of(field, values)
    assert filter_.values == values
    assert parse_filters(f"year>=2010; {filter_};") == (Filter("year", ">=", "2010"), filter_)
    query = replace(BEES, filters=(filter_,))
    assert query_from_json(query_to_json(query)) == query


def test_several_values_are_written_with_bars_between_them():
    assert str(Filter.any_of("venue", ["ACL", "EMNLP"])) == "venue=ACL|EMNLP"
    assert parse_filter("venue = ACL | EMNLP ").values == ("ACL", "EMNLP")
    assert Filter("venue", "=", "ACL|EMNLP").words == "venue = ACL or EMNLP"


def test_what_each_filter_leaves_tells_which_one_leaves_nothing(small):
    filters = (parse_filter("venue=Parva"), parse_filter("year>=2021"))
    query = replace(BEES, filters=filters)
    assert not small.search(query).results
    first, second = small.searcher("small").filter_effects(query)
    assert (first.alone, first.rest, first.all) == (9, 1, 39)
    assert (second.alone, second.rest, second.all) == (1, 9, 39)
    assert str(second) == "year ≥ 2021 leaves 1 of 39; without it 9"


@pytest.mark.parametrize("text", ["year", "=x", "venue=|", "year>2010", ""])
def test_a_filter_that_cannot_be_read_is_quoted(text):
    with pytest.raises(BadInputError, match=f"'{text}' cannot be read"):
        parse_filter(text)


def test_a_search_report_is_json_with_spans_into_the_stored_text(small):
    found = small.search(replace(BEES, k=3, filters=(parse_filter("year>=2001"),)))
    report = json.loads(json.dumps(search_report(found)))
    assert {"corpus", "query", "system", "seconds", "results", "truncated"} <= set(report)
    assert report["query"]["filters"] == ["year>=2001"]
    assert [r["rank"] for r in report["results"]] == [1, 2, 3]
    for result in report["results"]:
        keys = {"rank", "doc_id", "title", "score", "rank_change", "evidence", "explanation"}
        assert keys <= set(result)
        text = small.document("small", result["doc_id"]).text
        for evidence in result["evidence"]:
            assert text[slice(*evidence["doc_span"])] == evidence["doc_text"]
            assert found.seed.text[slice(*evidence["seed_span"])] == evidence["seed_text"]
