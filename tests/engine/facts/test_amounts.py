"""Stated and implied amounts."""

import pytest

from engine.facts.amounts import find_amounts
from tests.engine.facts.fact_cases import Count, read_cases


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
    assert count.wrong <= 1
    assert count.missed <= 3
    assert count.unbound <= 1


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


def test_what_was_chosen_stands_above_what_it_was_compared_with():
    offers = "The steel frame costs 900 dollars and the wooden frame is twice as expensive. "
    for choice, other in (("steel frame", "wooden frame"), ("wooden frame", "steel frame")):
        text = f"{offers} In the end we settled on the {choice}."
        assert about(text, choice).confidence > about(offers, choice).confidence
        assert about(text, other).confidence < about(offers, other).confidence
        refused = f"{offers} We did not choose the {choice}."
        assert about(refused, other).confidence == about(offers, other).confidence
