"""Stated and implied amounts."""

import pytest

from engine.facts.amounts import find_amounts
from tests.engine.facts.fact_cases import Count, read_cases


def of_unit(text, unit):
    return sorted(fact.low for fact in find_amounts(text) if fact.unit == unit)


def about(text, words):
    """The only amount in money that belongs to what ``words`` name."""
    facts = [f for f in find_amounts(text) if f.unit not in {"percent"} and words in f.about]
    assert len(facts) == 1, facts
    return facts[0]


@pytest.mark.parametrize("name", ["amounts_cases.txt", "amounts_more_cases.txt"])
def test_amounts_of_hand_written_cases_are_right_and_mostly_found(name):
    count = Count()
    for case in read_cases(name):
        count.add(case, find_amounts(case.text))
    assert count.precision >= 0.95
    assert count.recall >= 0.80
    assert count.binding >= 0.90


def test_an_implied_amount_says_how_it_follows():
    text = "The CD is 15 euros. The LP costs twice as much as the CD."
    fact = about(text, "LP")
    assert (fact.low, fact.unit, fact.implied) == (30, "EUR", True)
    assert text[slice(*fact.span)] == "twice as much as"
    assert fact.anchor is not None
    assert text[slice(*fact.anchor)] == "15 euros"
    assert "15 EUR" in fact.derivation


@pytest.mark.parametrize(
    ("relation", "price"),
    [
        ("is two and a half times more expensive than", 250),
        ("is 2.5x the price of", 250),
        ("costs 25 percent more than", 125),
        ("costs 25% less than", 75),
        ("is two times cheaper than", 50),
        ("is half as expensive as", 50),
        ("costs a third more than", 133.33),
        ("costs 30 dollars less than", 70),
        ("is as expensive as", 100),
    ],
)
def test_a_relation_works_in_both_directions(relation, price):
    forward = f"The oak desk costs 100 dollars. The pine shelf {relation} the oak desk."
    assert about(forward, "pine shelf").low == pytest.approx(price)
    backward = f"The pine shelf {relation} the oak desk. The pine shelf costs {price:.2f} dollars."
    assert about(backward, "oak desk").low == pytest.approx(100, abs=0.01)


def test_relations_are_chained():
    text = (
        "The bench costs half as much as the table. The table costs 40 euros more than the stool. "
        "The stool costs 60 euros."
    )
    assert about(text, "table").low == 100
    bench = about(text, "bench")
    assert bench.low == 50
    assert bench.confidence < about(text, "table").confidence


@pytest.mark.parametrize(
    "text",
    [
        "The tent costs twice as much as the stove, the stove half as much as the tent.",
        "The tent is 10 euros. The stove costs twice the tent. It costs a third of the tent.",
    ],
)
def test_a_circle_and_a_contradiction_imply_nothing(text):
    assert not any(fact.implied for fact in find_amounts(text))


def test_currencies_are_never_mixed():
    assert of_unit(
        "The tent is 90 euros and the stove is 20 dollars more than the tent.", "EUR"
    ) == [90]
    mixed = "The tent costs 90 euros or 100 dollars."
    assert (of_unit(mixed, "EUR"), of_unit(mixed, "USD")) == ([90], [100])


def test_nothing_is_divided_by_zero():
    text = (
        "The desk is 80 dollars, which is 100 percent less than the lamp. The mat is 0 times that."
    )
    assert of_unit(text, "USD") == [80]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("for 1.234,50 €", [1234.5]),
        ("for €1,234.50", [1234.5]),
        ("for 1.234 €", []),  # a thousand, or one and a bit
        ("for 1.234 € or 2.345,60 €", [1234, 2345.6]),
        ("for 1,23,45 €", []),
        ("for ٣٥٠ €", [350]),
        ("for １２０ €", [120]),
        ("for 12 500 €", []),
    ],
)
def test_separators_and_scripts_are_read_where_they_allow_one_reading(text, values):
    assert of_unit(text, "EUR") == values


def test_what_was_chosen_stands_above_what_it_was_compared_with():
    offers = "The steel frame costs 900 dollars and the wooden frame is twice as expensive. "
    for choice, other in (("steel frame", "wooden frame"), ("wooden frame", "steel frame")):
        text = f"{offers} In the end we settled on the {choice}."
        assert about(text, choice).confidence > about(offers, choice).confidence
        assert about(text, other).confidence < about(offers, other).confidence
        refused = f"{offers} We did not choose the {choice}."
        assert about(refused, other).confidence == about(offers, other).confidence


@pytest.mark.parametrize(
    "text",
    [
        "The set costs half as much as both.",
        "The set costs half as much as the tent and the stove together.",
        "The set is not twice as expensive as the tent.",
        "Is the set twice as expensive as the tent?",
        "The set costs up to twice the price of the tent.",
        "The mat costs 7,000 lire, the set twice that.",
    ],
)
def test_what_is_denied_asked_or_compared_with_a_sum_implies_nothing(text):
    facts = find_amounts(f"The tent is 90 euros and the stove is 20 euros. {text}")
    assert [(fact.low, fact.unit) for fact in facts] == [(90, "EUR"), (20, "EUR")]


def test_some_of_several_are_not_what_a_price_is_counted_by():
    assert of_unit("We bought 4 boxes at 2 dollars each.", "USD") == [2, 8]
    assert of_unit("We bought 3 of 5 boxes at 2 dollars each.", "USD") == [2]


@pytest.mark.parametrize("words", ["is three times that", "costs three times the ticket"])
def test_a_longer_name_does_not_rename_what_is_compared(words):
    facts = find_amounts(f"A ticket is 9 euros. A family ticket {words}.")
    assert [(fact.low, fact.about) for fact in facts] == [
        (9, ("ticket",)),
        (27, ("family ticket",)),
    ]


def test_a_line_of_a_log_is_about_its_message():
    (fact,) = find_amounts("2024-04-11 23:10:04 ERROR disk 91% full")
    assert fact.about == ("disk",)


def test_a_query_gives_its_own_amounts():
    (fact,) = find_amounts("Which washing machine costs $1,350?")
    assert (fact.low, fact.unit, fact.about) == (1350, "USD", ("washing machine",))


def test_a_text_without_amounts_implies_none():
    assert find_amounts("It is twice as expensive, half the size and three times more fun.") == ()
    assert find_amounts("") == ()
