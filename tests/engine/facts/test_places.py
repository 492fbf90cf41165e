"""Places and the countries they are in."""

from dataclasses import replace

import pytest

from engine.facts.places import find_places
from tests.engine.facts.fact_cases import Count, Expected, read_cases


def units(text):
    return {fact.unit for fact in find_places(text)}


@pytest.mark.parametrize("name", ["places_cases.txt", "places_more_cases.txt"])
def test_places_of_hand_written_cases_are_right_and_mostly_found(name):
    count = Count()
    for case in read_cases(name):
        facts = {fact.unit: fact for fact in find_places(case.text)}
        unique = tuple(dict.fromkeys(Expected(0.0, 0.0, one.unit) for one in case.expected))
        count.add(replace(case, expected=unique), facts.values())
    assert count.precision >= 0.95
    assert count.recall >= 0.80


def test_what_stands_behind_a_name_settles_which_place_it_is():
    assert units("in Cambridge, Massachusetts") == {"US", "US-MA"}
    assert units("in Paris, Texas") == {"US", "US-TX"}
    assert units("in Paris") == {"FR"}
    assert units("in Mobile, Alabama") == {"US", "US-AL"}
    assert units("We live in Nice.") == {"FR"}


@pytest.mark.parametrize(
    "text",
    [
        "Reading is fun, and Nice to know.",
        "Victoria wrote to Florence about it.",
        "2024-03-01 09:00, Paris: hello",
        "Dear Ms London, thank you.",
        "The Of committee met.",
        "We bought a Fuji bicycle.",
        "The update is in Mobile, the match in Rugby, the sale in March at Gap.",
        "It costs US$20, or 25 US dollars.",
    ],
)
def test_words_people_and_brands_are_no_places(text):
    assert units(text) == set()


def test_a_city_says_which_country_it_implies_and_from_which_words():
    text = "The fair is held behind the Church of the Holy Trinity, Aldershot."
    country, region = find_places(text)
    assert (country.unit, region.unit) == ("GB", "GB-ENG")
    assert country.text == "Aldershot, United Kingdom"
    assert text[slice(*country.span)] == "Aldershot"
    assert country.implied
    assert country.confidence < find_places("It was in the United Kingdom.")[0].confidence


def test_a_country_that_is_named_is_stated():
    (fact,) = find_places("Who was in People's Republic of China?")
    assert (fact.unit, fact.implied, fact.derivation) == ("CN", False, "")
