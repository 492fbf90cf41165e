"""Numbers, money and days in words."""

from __future__ import annotations

import random
from datetime import date
from fractions import Fraction

from engine.facts import numbers


def words(text: str) -> tuple[str, ...]:
    """The words of a text: long lists of them are easier to read as one.

    >>> words("to and fro")
    ('to', 'and', 'fro')
    """
    return tuple(text.split())


_SMALL = (*numbers.UNITS, *numbers.TEENS)
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}
UNITS = {"USD": "dollars", "EUR": "euros", "GBP": "pounds"}
MONTHS = words(
    "January February March April May June July August September October November December"
)
WEEKDAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_PARTS_OF = {
    Fraction(1, 4): "a quarter of",
    Fraction(1, 2): "half",
    Fraction(3, 4): "three quarters of",
    Fraction(3, 2): "one and a half times",
    Fraction(2): "twice",
    Fraction(5, 2): "two and a half times",
    Fraction(3): "three times",
    Fraction(4): "four times",
}
HALF_AS_MUCH = Fraction(3, 2)


def in_words(number: int, joint: str = " and ") -> str:
    """A whole number below a million in English.

    `joint`: between hundreds and what is left: British " and ", American " ".

    >>> in_words(1950), in_words(1005)
    ('one thousand nine hundred and fifty', 'one thousand and five')
    """
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return numbers.TENS[tens - 2] + (f"-{_SMALL[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        head = f"{_SMALL[hundreds]} hundred"
        return head + (f"{joint}{in_words(rest)}" if rest else "")
    thousands, rest = divmod(number, 1000)
    head = f"{in_words(thousands, joint)} thousand"
    between = joint if rest < 100 else " "
    return head + (f"{between}{in_words(rest, joint)}" if rest else "")


def money(amount: int, currency: str) -> str:
    """As a query names it.

    >>> money(1950, "USD")
    '$1,950'
    """
    return f"{_SIGNS[currency]}{amount:,}"


def money_in_text(rng: random.Random, amount: int, currency: str) -> str:
    """As people write it: "$780", "780 dollars", "seven hundred and eighty dollars"."""
    unit = UNITS[currency]
    return rng.choice(
        [money(amount, currency), f"{amount:,} {unit}", f"{amount} {unit}"]
        + [f"{in_words(amount)} {unit}"] * 2
    )


def long_date(day: date, style: int = 0) -> str:
    """A day in words; ``style`` 0 to 2.

    >>> [long_date(date(2025, 2, 7), style) for style in range(3)]
    ['February 7, 2025', '7 February 2025', 'the 7th of February 2025']
    """
    month = MONTHS[day.month - 1]
    if style == 0:
        return f"{month} {day.day}, {day.year}"
    if style == 1:
        return f"{day.day} {month} {day.year}"
    return f"the {ordinal(day.day)} of {month} {day.year}"


def ordinal(number: int) -> str:
    """A number as a place in an order.

    >>> ordinal(2), ordinal(13), ordinal(21)
    ('2nd', '13th', '21st')
    """
    tail = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 <= number % 100 <= 20 else tail}"


def weekday(day: date) -> str:
    """The name of the day of the week."""
    return WEEKDAYS[day.weekday()]


def capitalized(text: str) -> str:
    """A text with its first letter in upper case, the others as they are."""
    return text[:1].upper() + text[1:]


def joined(parts: list[str]) -> str:
    """A list in prose.

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# -- how two prices compare ------------------------------------------------------------------


def compared(rng: random.Random, multiplier: Fraction, other: str) -> str:
    """What follows "costs" when it is ``multiplier`` times the price of ``other``.

    >>> compared(random.Random(1), Fraction(2), "the Reed")
    'twice the price of the Reed'
    """
    ways = []
    if multiplier in _PARTS_OF:
        factor = _PARTS_OF[multiplier]
        ways += [f"{factor} the price of {other}", f"{factor} what {other} costs"]
        if multiplier > 1:
            ways.append(f"{factor} as much as {other}")
    if multiplier == HALF_AS_MUCH:
        ways.append(f"half as much again as {other}")
    if multiplier < 2 and multiplier != Fraction(1, 2):
        ways += _by_percent(rng, multiplier, other)
    return rng.choice(ways)


def compared_to_that(rng: random.Random, multiplier: Fraction) -> str:
    """The same when the other price has just been named: "twice that"."""
    if multiplier in _PARTS_OF and rng.random() < 0.7:
        return f"{_PARTS_OF[multiplier]} that"
    if multiplier < 2:
        return rng.choice(_by_percent(rng, multiplier, "that"))
    return f"{_PARTS_OF[multiplier]} that"


def _by_percent(rng: random.Random, multiplier: Fraction, other: str) -> list[str]:
    percent = abs(int((multiplier - 1) * 100))
    written = rng.choice([f"{percent}%", f"{percent} percent", f"{in_words(percent)} percent"])
    more, less = ("more", "less")
    return [f"{written} {more if multiplier > 1 else less} than {other}"]


# -- how far away a day is -------------------------------------------------------------------


def days_away(rng: random.Random, base: date, target: date, plain: bool = False) -> str:
    """``target`` as somebody speaks of it on ``base``; never today.

    `plain`: only words that go with "from ... to ..." and in lists.
    """
    offset = (target - base).days
    distance, past = abs(offset), offset < 0
    number = in_words(distance) if plain or rng.random() < 0.7 else str(distance)
    ways: list[str] = []
    if distance > 1:
        ways = [f"{number} days ago"] if past else [f"in {number} days", f"{number} days from now"]
    if distance > 1 and past and not plain:
        ways.append(f"{number} days back")
    if distance == 1:
        ways = ["yesterday" if past else "tomorrow"]
    if distance == 2:
        ways.append("the day before yesterday" if past else "the day after tomorrow")
    if distance == 7:
        ways += ["a week ago", "exactly a week ago"] if past else ["in a week", "a week from today"]
    if distance == 14:
        ways += ["a fortnight ago", "two weeks ago"] if past else ["in a fortnight", "in two weeks"]
    if 2 <= distance <= 6 and not plain:
        ways.append(f"this {'past' if past else 'coming'} {weekday(target)}")
    return rng.choice(ways)
