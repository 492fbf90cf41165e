"""What a document says is true: relative days and prices, read back independently."""

import re
from datetime import date, timedelta
from fractions import Fraction

import pytest

from engine.generate.scenes import MULTIPLIERS, randomness
from engine.generate.wording import (
    EXCHANGES,
    PHRASES,
    compared,
    compared_to_that,
    days_away,
    in_words,
)

BASE = date(2025, 5, 14)  # a Wednesday
NUMBERS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
}  # fmt: skip
FIXED = {
    "yesterday": -1,
    "the day before yesterday": -2,
    "a week ago": -7,
    "exactly a week ago": -7,
    "a fortnight ago": -14,
    "two weeks ago": -14,
    "tomorrow": 1,
    "the day after tomorrow": 2,
    "in a week": 7,
    "a week from today": 7,
    "in a fortnight": 14,
    "in two weeks": 14,
}
SHARES = {
    "a quarter of": 0.25, "half": 0.5, "three quarters of": 0.75, "one and a half times": 1.5,
    "twice": 2, "two and a half times": 2.5, "three times": 3, "four times": 4,
    "half as much again as": 1.5,
}  # fmt: skip


def offset_of(words):
    """Days from :data:`BASE`, as a careful reader takes the words."""
    if words in FIXED:
        return FIXED[words]
    if found := re.fullmatch(r"this (past|coming) (\w+)", words):
        step = -1 if found[1] == "past" else 1
        days = (step * n for n in range(1, 8))
        return next(n for n in days if f"{BASE + timedelta(n):%A}" == found[2])
    found = re.fullmatch(r"(in )?([\w-]+) days( ago| back| from now)?", words)
    assert found, words
    number = int(found[2]) if found[2].isdigit() else NUMBERS[found[2]]
    return -number if found[3] in (" ago", " back") else number


def multiplier_of(words):
    """How many times the other price, as a careful reader takes the words."""
    if found := re.match(r"(\d+|[a-z-]+) ?(?:%|percent) (more|less) than", words):
        wanted = {in_words(n): n for n in range(1, 100)}
        percent = int(found[1]) if found[1].isdigit() else wanted[found[1]]
        return 1 + Fraction(percent, 100) * (1 if found[2] == "more" else -1)
    start = max((s for s in SHARES if words.startswith(s)), key=len)
    return Fraction(SHARES[start])


@pytest.mark.parametrize("offset", [n for n in range(-14, 15) if n])
def test_relative_days_mean_the_day_that_was_meant(offset):
    for seed in range(40):
        for plain in (False, True):
            words = days_away(randomness(seed), BASE, BASE + timedelta(offset), plain)
            assert offset_of(words) == offset, words


@pytest.mark.parametrize("multiplier", sorted(set(MULTIPLIERS)))
def test_comparisons_mean_the_multiplier_that_was_meant(multiplier):
    for seed in range(40):
        rng = randomness(seed)
        for words in (compared(rng, multiplier, "the Reed"), compared_to_that(rng, multiplier)):
            assert multiplier_of(words) == multiplier, words


def test_what_stands_around_a_fact_states_none():
    groups = [*PHRASES.values(), *EXCHANGES.values()]
    lines = [line for group in groups for item in group for line in _strings(item)]
    facts = re.compile(
        r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|twice|half"
        r"|percent|dollars?|euros?|pounds?|today|tonight|yesterday|tomorrow|ago|weeks?|months?"
        r"|years?|days|[A-Z]\w+day|January|February|March|April|May|June|July|August|September"
        r"|October|November|December)\b"
    )
    assert len(lines) > 150
    assert [line for line in lines if facts.search(line)] == []


def _strings(item):
    return (item,) if isinstance(item, str) else item
