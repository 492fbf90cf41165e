"""Numbers in digits and words."""

import pytest

from engine.facts.numbers import find_numbers, parse_number


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("one thousand five hundred and sixty", 1560),
        ("nineteen hundred and sixty", 1960),
        ("a hundred and twenty thousand", 120_000),
        ("one million, two hundred thousand", 1_200_000),
        ("two and a half", 2.5),
        ("three and a half thousand", 3500),
        ("half a million", 500_000),
        ("one and three quarters", 1.75),
        ("two point five million", 2_500_000),
        ("1,234.50", 1234.5),
        ("1.234,50", 1234.5),
        ("12,34,567", 1_234_567),
        ("1'234.50", 1234.5),
        ("1 500 000", 1_500_000),
        ("1.2k", 1200),
        ("5bn", 5e9),
        ("2 1/2", 2.5),
        ("2½", 2.5),
        ("-5", -5),
        ("٣٤٥", 345),
        ("१२३", 123),
        ("１２３", 123),
    ],
)
def test_a_number_is_read_as_people_say_or_write_it(words, value):
    assert parse_number(words) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "12 500 EUR",  # one number or two
        "1.2.3",
        "1,2,3",
        "192.168.1.1",
        "at 10:30 on 2024-02-22",
        "several hundred people",
        "one fifty",  # 150, 1.50 or ten to two
        "the newer one is better, and one of them is old",
        "GTX1080 and S20",
        "open 24/7",
    ],
)
def test_what_can_be_read_in_two_ways_or_is_part_of_a_name_is_no_number(text):
    assert find_numbers(text) == ()


def test_spans_are_those_of_the_numbers_alone():
    text = "Between one hundred and two hundred euros, or the third of 3 million."
    found = [(number.value, text[slice(*number.span)]) for number in find_numbers(text)]
    assert found == [
        (100, "one hundred"),
        (200, "two hundred"),
        (3, "third"),
        (3_000_000, "3 million"),
    ]


def test_a_text_that_writes_decimal_commas_settles_its_other_numbers():
    values = [number.value for number in find_numbers("1.234,50 and 2.500")]
    assert values == [1234.5, 2500]


def test_a_rank_says_that_it_is_one():
    numbers = find_numbers("the twenty-first of 3 days, then the 2nd")
    assert [(number.value, number.ordinal) for number in numbers] == [
        (21, True),
        (3, False),
        (2, True),
    ]
