"""Whether a document says literally what it should only imply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache

from engine.generate.implicit_records import DateTuple, ImplicitTuple, PriceTuple
from engine.generate.word_lists import BY_CODE
from engine.generate.wording import MONTHS, in_words, ordinal, words

_NUMBER = re.compile(r"\d{1,3}(?:[.,'\u00a0\u202f ]\d{3})+(?!\d)|\d+")
_THOUSANDS = re.compile(r"(\d+)[.,](\d)\s?(?:k|grand|thousand)\b")
_COMMON = frozenset(
    words(
        "africa african arabia arab central democratic republic south united kingdom states ivory "
        "coast and the of el sri"
    )
)
"""Words of country names that say nothing by themselves."""
_ORDINALS = dict(
    enumerate(
        words(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
            "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
        ),
        start=1,
    )
)
_ORDINALS |= {20 + n: f"twenty-{_ORDINALS[n]}" for n in range(1, 10)}
_ORDINALS |= {30: "thirtieth", 31: "thirty-first"}
_HOMOGRAPHS = frozenset({"polish", "pole", "turkey", "china", "guinea", "java"})
"""Common words in lower case."""
_STEM = 5  # Letters of a country's name that no capitalised word of the document may begin with


def leaked(document: str, implicit: ImplicitTuple) -> str | None:
    """The words in which ``document`` gives the queried value away, None when it does not.

    >>> from fractions import Fraction
    >>> leaked("She paid 1950 dollars.", PriceTuple(780, Fraction(5, 2), False, 1950))
    '1950'
    """
    if isinstance(implicit, PriceTuple):
        return _amount(document, implicit.queried)
    if isinstance(implicit, DateTuple):
        days = (_day(document, day) for day in implicit.targets)
        return next((said for said in days if said), None)
    return _country(document, implicit.code)


def _amount(document: str, amount: int) -> str | None:
    for match in _NUMBER.finditer(document):
        if int(re.sub(r"\D", "", match[0])) == amount:
            return match[0]
    for match in _THOUSANDS.finditer(document.lower()):
        if int(match[1]) * 1000 + int(match[2]) * 100 == amount:
            return match[0]
    plain = _letters(document)
    return next((said for said in _spelled(amount) if f" {said} " in plain), None)


@lru_cache(maxsize=4096)
def _spelled(amount: int) -> tuple[str, ...]:
    ways = {in_words(amount), in_words(amount, " ")}
    hundreds, rest = divmod(amount, 100)
    if 11 <= hundreds <= 99 and hundreds % 10:
        ways.add(f"{in_words(hundreds)} hundred" + (f" {in_words(rest)}" if rest else ""))
        ways.add(f"{in_words(hundreds)} hundred" + (f" and {in_words(rest)}" if rest else ""))
    return tuple(sorted({_letters(way).strip() for way in ways}))


def _letters(text: str) -> str:
    """Lower-case words between single spaces, hyphens and commas gone."""
    return f" {' '.join(re.findall(r'[a-z0-9]+', text.lower()))} "


def _day(document: str, day: date) -> str | None:
    match = _day_pattern(day).search(document)
    return match[0] if match else None


@lru_cache(maxsize=4096)
def _day_pattern(day: date) -> re.Pattern[str]:
    month = MONTHS[day.month - 1]
    name = f"(?:{month}|{month[:4]}\\.?|{month[:3]}\\.?)"
    number = f"(?:0?{day.day}|{ordinal(day.day)}|{_ORDINALS[day.day]})"
    ways = "|".join((*_numeric(day), f"{number}(?: of)? {name}", f"{name} (?:the )?{number}"))
    return re.compile(rf"(?<![\w-])(?:{ways})(?![\w-])", re.IGNORECASE)


def _numeric(day: date) -> Iterator[str]:
    d, m = f"0?{day.day}", f"0?{day.month}"
    yield rf"{day.year}[-/.]{m}[-/.]{d}"
    for first, second in ((d, m), (m, d)):
        yield rf"{first}[-/.]{second}[-/.](?:{day.year}|{day.year % 100})"
        yield rf"{first}/{second}"
    yield rf"{d}\.{m}\.?"


def _country(document: str, code: str) -> str | None:
    stems, wholes, name = _country_words(code)
    if name in document.casefold():
        return name
    for word in re.findall(r"[^\W\d_]+", document):
        low, is_name = word.lower(), word[0].isupper()
        if low in wholes and (is_name or low not in _HOMOGRAPHS):
            return str(word)
        if is_name and low.startswith(stems):
            return str(word)
    return None


@lru_cache(maxsize=512)
def _country_words(code: str) -> tuple[tuple[str, ...], frozenset[str], str]:
    """Beginnings of words and whole words that name the country or its people; its name."""
    country = BY_CODE[code]
    named = [w.lower() for w in country.name.split() if w.lower() not in _COMMON]
    also = [w.lower() for w in country.also]
    long = [w for w in (*named, *also) if len(w) >= _STEM and w not in _COMMON]
    stems = tuple(sorted({w[:_STEM] for w in long}))
    return stems, frozenset((*named, *also)), country.name.casefold()
