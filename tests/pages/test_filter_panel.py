"""What a choice in a facet sets, what the facets show, and that the pool form has the same."""

from __future__ import annotations

from typing import Any

import pytest

from engine.explorer import Explorer
from engine.queries import parse_filters
from engine.types.annotating import Project
from engine.types.comparisons import ComparisonRequest
from engine.types.corpora import FieldValues
from engine.types.searches import Filter, Query
from pages._common import filter_panel
from pages._common.filter_panel import as_stored, by_use, chosen, sections
from pages._common.state import Pages
from pages._compare.compare_state import CompareView
from pages._explore.explore_state import View
from tests.pages.visits import Serve, click, facets_of, param, shown, visit
from tests.support import wait_until

VENUES = {"venue": FieldValues({"ACL": 3, "A|B": 1}, without=0)}


@pytest.mark.parametrize(
    ("now", "event", "then"),
    [
        ("venue=ACL", {"field": "venue", "values": ["ACL", "A|B"]}, r"venue=ACL|A\|B"),
        ("venue=ACL; year>=2000", {"field": "venue", "values": []}, "year>=2000"),
        ("", {"field": "venue", "values": [" acl "]}, "venue=ACL"),
        ("", {"field": "venue", "values": ["Nowhere"]}, "venue=Nowhere"),
        ("author=A; author=B", {"field": "author", "values": ["A", "C"]}, "author=A|C; author=B"),
        ("", {"field": "year", "low": "2000", "high": "2003"}, "year>=2000; year<=2003"),
        ("year=2001; venue=ACL", {"field": "year", "low": "2000", "high": ""},
         "year>=2000; venue=ACL"),
        ("year>=2000; year<=2003", {"field": "year", "low": "", "high": ""}, ""),
        ("", {"field": "has.amount.USD", "low": "1; x=2", "high": ""}, r"has.amount.USD>=1\; x=2"),
        ("has.aspect=method", {"field": "has.aspect", "values": ["method", "result"]},
         "has.aspect=method; has.aspect=result"),
        ("", {"field": "has.place", "values": ["FR", "JP"]}, "has.place=FR|JP"),
    ],
)  # fmt: skip
def test_a_choice_sets_the_filters_of_its_facet_alone(
    now: str, event: dict[str, Any], then: str
) -> None:
    found = chosen(parse_filters(now), event, VENUES)
    assert "; ".join(map(str, found)) == then
    assert parse_filters(then) == tuple(found), "a link says the same"


def test_a_value_can_be_typed_in_any_case() -> None:
    assert as_stored(" acl ", VENUES["venue"].counts) == "ACL"
    assert as_stored("Nowhere", VENUES["venue"].counts) == "Nowhere"


def test_fields_that_divide_the_corpus_come_first_and_many_values_are_cut(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = explorer.library.open("demo").fields
    monkeypatch.setattr(filter_panel, "MOST_OFFERED", 3)
    filters = (Filter.any_of("author", ["Nobody"]),)
    names = by_use({**stored, "doi": FieldValues({"1": 1, "2": 1}, without=0)})
    assert names[-1] == "doi"
    facets = explorer.facets("demo", filters)
    found = {s["field"]: s for s in sections(facets, filters, {n: stored[n] for n in names[:-1]})}
    author = found["author"]
    assert next((v["name"], v["on"], v["count"]) for v in author["values"]) == ("Nobody", True, 0)
    assert author["typed"]
    assert len(author["values"]) <= 4
    assert found["venue"]["values"] == [], "no document is by nobody"


def test_a_pool_is_filled_from_what_meets_the_filters(small_copy: Explorer, serve: Serve) -> None:
    explorer = serve(small_copy)
    annotation = explorer.annotation
    project = annotation.save(Project("small", "filtered"), "Ada")
    query = Query("small", seed="bees-network", aspect="method")
    (query_id,) = annotation.add_queries(project, [query])
    page = visit("annotate", corpus="small", project="filtered", part="pool",
                 where="venue=Parva; has.aspect=method")  # fmt: skip
    assert "Filters (2 set)" in [box.label for box in page.expander]
    facets = facets_of(page)
    click(page, "annotate_fill")
    wait_until(lambda: not annotation.filling.jobs.running(project.key), what="the pool is filled")
    pooled = {item.doc_id for item in annotation.pool(project) if item.query_id == query_id}
    opened = explorer.library.open("small")
    assert len(pooled) in (facets["documents"], facets["documents"] - 1)
    assert {d.metadata.get("venue") for d in opened.documents(sorted(pooled))} == {"Parva"}
    click(page, "annotate_filter_remove_venue = Parva")
    assert param(page, "where") == "has.aspect=method"


def test_compare_ranks_what_meets_the_filters_of_explore(demo: Explorer) -> None:
    venue = next(iter(demo.library.open("demo").fields["venue"].counts))
    where = f"year>=2015; venue={venue}"
    explore = View("demo", "demo-0232", aspect="method", where=where)
    params = CompareView.found_in(Pages().leave(explore)).to_params()
    assert params["where"] == f"year>=2015; venue={venue}"
    page = visit("compare", **params)
    assert "Filters (2 set)" in [box.label for box in page.expander]
    (variant,) = demo.comparing.presets("demo", "method")[:1]
    filters = demo.parse_filters(params["where"])
    compared = demo.comparing.compare(
        ComparisonRequest("demo", "demo-0232", None, "method", (variant,), filters)
    )
    found = demo.library.open("demo").documents(compared.variants[0].ranking.doc_ids)
    assert {d.metadata["venue"] for d in found} == {venue}
    assert min(d.year or 0 for d in found) >= 2015
    page = visit("compare", **{**params, "where": "venue"})
    assert "cannot be read" in shown(page)


def test_a_filter_that_means_nothing_fills_no_pool(small_copy: Explorer, serve: Serve) -> None:
    annotation = serve(small_copy).annotation
    project = annotation.save(Project("small", "filtered"), "Ada")
    annotation.add_queries(project, [Query("small", seed="bees-network", aspect="method")])
    page = visit("annotate", corpus="small", project="filtered", part="pool", where="colour=red")
    click(page, "annotate_fill")
    assert "no field &#x27;colour&#x27;" in shown(page)
    assert annotation.pool(project) == []
