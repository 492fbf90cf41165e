"""The phrases, people, things and doings of ``assets/generate`` that documents are made of."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any

from engine.config import ASSETS


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((ASSETS / "generate" / f"{name}.toml").read_text(encoding="utf-8"))


_WORDS = _table("words")
_PHRASES = _table("phrases")
SENTENCES: dict[str, list[str]] = _table("sentences")
"""Sentences that carry a fact, and queries, by what they are for."""
CONSTRAINTS: dict[str, dict[str, str]] = _table("constraints")
"""What tuple sets of a category, and of a category and style, meet; with its place in the paper."""
_PAIRED = ("small_talk", "talk_closings")
PHRASES: dict[str, list[str]] = {n: rows for n, rows in _PHRASES.items() if n not in _PAIRED}
"""What stands around a fact, by what it is for."""
EXCHANGES: dict[str, list[tuple[str, str]]] = {
    name: [(row[0], row[1]) for row in _PHRASES[name]] for name in _PAIRED
}
"""Pairs of what one says and the other answers."""
FIRST_NAMES: tuple[str, ...] = tuple(_WORDS["first_names"].split())
LAST_NAMES: tuple[str, ...] = tuple(_WORDS["last_names"].split())
JOBS: tuple[str, ...] = tuple(_WORDS["jobs"])
GROUPS = tuple(f"the {w} {kind}" for w in _WORDS["group_words"] for kind in _WORDS["group_kinds"])
BRANDS = tuple(head + tail for head in _WORDS["brand_heads"] for tail in _WORDS["brand_tails"])
LINES: tuple[str, ...] = tuple(_WORDS["lines"])
ITEMS: tuple[str, ...] = tuple(_WORDS["items"])
CURRENCIES: tuple[str, ...] = tuple(_WORDS["currencies"])


@dataclass(frozen=True, slots=True)
class Activity:
    """One thing to do, in the forms that sentences need."""

    doing: str  # doing, did, do: "mending nets", "mended nets", "mend nets"
    did: str
    do: str


@dataclass(frozen=True, slots=True)
class Country:
    """A country and its places."""

    code: str
    name: str
    also: tuple[str, ...]  # words that name it, its people or a part of it
    places: tuple[str, ...]

    @property
    def in_prose(self) -> str:
        """With its article.

        >>> Country("NL", "Netherlands", (), ()).in_prose
        'the Netherlands'
        """
        return f"the {self.name}" if self.name.startswith(_THE) else self.name


_THE = ("United", "Netherlands", "Philippines", "Democratic", "Central", "Ivory")


def _activity(line: str) -> Activity:
    *forms, what = line.split("|")
    return Activity(*(f"{form} {what}" for form in forms))


def _country(line: str) -> Country:
    code, name, also, places = line.split("|")
    return Country(code, name, tuple(also.split()), tuple(places.split()))


ACTIVITIES = tuple(map(_activity, _WORDS["activities"].splitlines()))
COUNTRIES = tuple(map(_country, _table("countries")["countries"].splitlines()))
"""Places of one country each, which nothing but their name tells; see the file for how chosen."""
BY_CODE = {country.code: country for country in COUNTRIES}  # The same by ISO 3166-1 alpha-2
