"""What a choice in a facet sets, what the facets show, and that the pool form has the same."""

import pytest

from engine.queries import parse_filters
from engine.types.annotating import Project
from engine.types.comparisons import ComparisonRequest
from engine.types.corpora import FieldValues
from engine.types.searches import Query
from pages._common.filter_panel import chosen
from pages._common.state import Pages
from pages._compare.compare_state import CompareView
from pages._explore.explore_state import View
from tests.pages.visits import click, facets_of, param, shown, visit
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
def test_a_choice_sets_the_filters_of_its_facet_alone(now, event, then):
    found = chosen(parse_filters(now), event, VENUES)
    assert "; ".join(map(str, found)) == then
    assert parse_filters(then) == tuple(found), "a link says the same"


def test_a_pool_is_filled_from_what_meets_the_filters(small_copy, serve):
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


def test_compare_ranks_what_meets_the_filters_of_explore(demo):
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
