"""Places and the countries they are in."""

from dataclasses import replace

import pytest

from engine.facts.places import find_places
from tests.engine.facts.fact_cases import Count, Expected, read_cases


@pytest.mark.parametrize("name", ["places_cases.txt", "places_more_cases.txt"])
def test_places_of_hand_written_cases_are_right_and_mostly_found(name):
    count = Count()
    for case in read_cases(name):
        facts = {fact.unit: fact for fact in find_places(case.text)}
        unique = tuple(dict.fromkeys(Expected(0.0, 0.0, one.unit) for one in case.expected))
        count.add(replace(case, expected=unique), facts.values())
    assert count.wrong == 0
    assert count.missed <= 5


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
