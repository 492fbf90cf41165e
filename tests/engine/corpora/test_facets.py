"""Facets: which documents meet a filter on what they say themselves, and how many have what."""

from collections import Counter
from dataclasses import replace

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.queries import parse_filters
from engine.types.searches import Query

DATED = [
    {"doc_id": "early", "title": "A", "text": "On 3 May 1990 the bridge in Paris was closed."},
    {"doc_id": "late", "title": "B", "text": "In 2021 it was opened again, for 300 USD, in Japan."},
    {"doc_id": "both", "title": "C", "text": "Built in 1990, closed in 2021. It cost 20 USD."},
    {"doc_id": "none", "title": "D", "text": "Nobody says when."},
]


@pytest.fixture(scope="module")
def dated(tmp_path_factory):
    """Four documents without years; three state facts."""
    from tests.support import make_explorer

    explorer = make_explorer(tmp_path_factory.mktemp("dated") / "home")
    explorer.library.add("dated", DATED)
    return explorer


def met(explorer, corpus, text):
    """The documents that meet filters."""
    opened = explorer.library.open(corpus)
    allowed = opened.scope(parse_filters(text)).allowed
    return {doc_id for doc_id, one in zip(opened.doc_ids, allowed, strict=True) if one}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("has.date>=2000", {"late", "both"}),
        ("has.date>=1990-05-03; has.date<=1990-05-03", {"early", "both"}),
        ("has.date>=1995; has.date<=2010", set()),
        ("has.date=1990-05", {"early", "both"}),
        ("has.date=1990|2021", {"early", "late", "both"}),
        ("has.place=fr|JP", {"early", "late"}),
        ("has.amount.USD>=100", {"late"}),
        ("has.amount.USD<=1000; has.date<=1999", {"both"}),
        ("has.amount.kg>=0", set()),
    ],
)
def test_documents_are_found_by_the_facts_that_they_state(dated, text, wanted):
    assert met(dated, "dated", text) == wanted
    assert dated.facets("dated", parse_filters(text)).documents == len(wanted)


@pytest.mark.parametrize("system", ["bm25", "dense", "aspect"])
def test_a_search_keeps_to_them(dated, system):
    query = Query("dated", text="The bridge was built, closed, opened; nobody says when.")
    filters = parse_filters("has.date>=2000; has.amount.USD>=1")
    query = replace(query, system=system, filters=filters)
    assert {result.doc_id for result in dated.search(query).results} == {"late", "both"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("has.aspect=taste", "no aspect 'taste' in corpus 'dated'"),
        ("has.date>=soon", "'soon' is not a date"),
        ("has.date>=2020-13", "'2020-13' is not a date"),
        ("has.amount.USD>=much", "'much' is not a number"),
        ("has.amount.USD>=nan", "'nan' is not a number"),
        ("has.place>=FR", "only years, dates and amounts"),
        ("has.colour=red", "no field 'has.colour'"),
        ("year>=soon", "'soon' is not a year"),
        ("year=2010|-1", "'-1' is not a year"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(dated, text, says):
    with pytest.raises((BadInputError, UnknownNameError), match=says):
        dated.facets("dated", parse_filters(text))


def test_a_corpus_without_years_has_its_other_facets(dated):
    facets = dated.facets("dated")
    assert (facets.documents, facets.total, facets.years, facets.undated) == (4, 4, {}, 4)
    assert facets.dates == {1990: 2, 2021: 2}
    found = {place.code: place for place in facets.places}
    assert found["JP"].documents == 1
    assert found["JP"].name == "Japan"
    assert found["JP"].at == pytest.approx((35, 137), abs=3)
    (usd,) = [amount for amount in facets.amounts if amount.unit == "USD"]
    assert (usd.documents, usd.quantiles[0], usd.quantiles[-1]) == (2, 20, 300)
    assert facets.land


def test_each_facet_is_counted_among_what_meets_the_filters_on_the_others(small):
    opened = small.library.open("small")
    documents = opened.documents(opened.doc_ids)
    filters = parse_filters("venue=Parva; year>=2005; has.aspect=method")
    facets = small.facets("small", filters)

    def meets(document, *, leaving=""):
        venue = document.metadata.get("venue") == "Parva"  # type: ignore[attr-defined]
        year = (document.year or 0) >= 2005  # type: ignore[attr-defined]
        method = any(s.role == 1 for s in document.sentences)  # type: ignore[attr-defined]
        met = {"venue": venue, "year": year, "method": method}
        return all(value for name, value in met.items() if name != leaving)

    assert facets.documents == sum(map(meets, documents)) > 0
    years = Counter(d.year for d in documents if meets(d, leaving="year") and d.year)
    assert facets.years == dict(sorted(years.items()))
    venues = Counter(
        d.metadata["venue"]
        for d in documents
        if meets(d, leaving="venue") and "venue" in d.metadata
    )
    assert facets.fields["venue"].counts == venues
    having = [d for d in documents if meets(d, leaving="method")]
    assert facets.aspects_of == len(having)
    for index, (aspect, count) in enumerate(facets.aspects):
        assert count == sum(any(s.role == index for s in d.sentences) for d in having), aspect.key


def test_counts_are_kept_until_the_corpus_changes(fresh):
    fresh.library.add("few", DATED[:2])
    before = fresh.facets("few")
    assert fresh.facets("few") is before
    fresh.library.add("few", DATED[2:])
    assert fresh.facets("few").total == 4
