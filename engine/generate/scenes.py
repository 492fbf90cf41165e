"""Tuples bound to people and things, so that every query has one relevant document (section 2.2).

Within a set, tuples differ; between sets, topics and main conversants do (appendix A.4, Table 4).
No document says literally what it should only imply.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from engine.generate import wording
from engine.generate.implicit_records import (
    MOST_SETS,
    DateTuple,
    Example,
    ImplicitRequest,
    ImplicitTuple,
    PriceTuple,
    Scene,
    TupleSet,
)
from engine.generate.tuple_sets import (
    WINDOW_DAYS,
    WINDOW_START,
    UnsatisfiableError,
    date_set,
    place_set,
    price_set,
    randomness,
)

_NUMBER = re.compile(r"\d{1,3}(?:[.,'\u00a0\u202f ]\d{3})+(?!\d)|\d+")
_THOUSANDS = re.compile(r"(\d+)[.,](\d)\s?(?:k|grand|thousand)\b")
_COMMON = frozenset(wording.LEAKS["common"].split())
"""Words of country names that say nothing by themselves."""
_ORDINALS = dict(enumerate(wording.LEAKS["ordinals"].split(), start=1))
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
        found = (_day_pattern(day).search(document) for day in implicit.targets)
        return next((match[0] for match in found if match), None)
    return _country(document, implicit.code)


def _amount(document: str, amount: int) -> str | None:
    for match in _NUMBER.finditer(document):
        if int(re.sub(r"\D", "", match[0])) == amount:
            return match[0]
    for match in _THOUSANDS.finditer(document.lower()):
        if int(match[1]) * 1000 + int(match[2]) * 100 == amount:
            return match[0]
    plain = _letters(document)
    return next((way for way in _spelled(amount) if f" {way} " in plain), None)


@lru_cache(maxsize=4096)
def _spelled(amount: int) -> tuple[str, ...]:
    ways = {wording.in_words(amount), wording.in_words(amount, " ")}
    hundreds, rest = divmod(amount, 100)
    if 11 <= hundreds <= 99 and hundreds % 10:
        head, tail = f"{wording.in_words(hundreds)} hundred", wording.in_words(rest) if rest else ""
        ways |= {f"{head} {tail}", f"{head} and {tail}"} if rest else {head}
    return tuple(sorted({_letters(way).strip() for way in ways}))


def _letters(text: str) -> str:
    """Lower-case words between single spaces, hyphens and commas gone."""
    return f" {' '.join(re.findall(r'[a-z0-9]+', text.lower()))} "


@lru_cache(maxsize=4096)
def _day_pattern(day: date) -> re.Pattern[str]:
    month = wording.MONTHS[day.month - 1]
    name = f"(?:{month}|{month[:4]}\\.?|{month[:3]}\\.?)"
    number = f"(?:0?{day.day}|{wording.ordinal(day.day)}|{_ORDINALS[day.day]})"
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
    country = wording.BY_CODE[code]
    named = [w.lower() for w in country.name.split() if w.lower() not in _COMMON]
    also = [w.lower() for w in country.also]
    long = [w for w in (*named, *also) if len(w) >= _STEM and w not in _COMMON]
    stems = tuple(sorted({w[:_STEM] for w in long}))
    return stems, frozenset((*named, *also)), country.name.casefold()


MAKERS = {"arithmetic": price_set, "temporal": date_set, "world": place_set}
_FIRST_HOUR, _LAST_HOUR = 8, 21


def tuple_set(request: ImplicitRequest, number: int) -> TupleSet:
    """The tuples of set ``number``, whatever ``request.sets`` is."""
    return MAKERS[request.category](request, number)


def bind(request: ImplicitRequest, drawn: TupleSet) -> list[Scene]:
    """One scene per tuple."""
    rng = randomness(request.seed, "scenes", request.category, request.style, drawn.number)
    shared = _shared(request, drawn)
    count, multi, shops = len(drawn.tuples), request.style == "multi", bool(shared.item)
    own = [name for name in wording.FIRST_NAMES if multi or not shared.speaker.startswith(name)]
    people = rng.sample(own, count)
    openings = _openings(rng, request, shared.speaker)
    activities = rng.sample(range(len(wording.ACTIVITIES)), count)
    items, brands = rng.sample(wording.ITEMS, count), rng.sample(wording.BRANDS, 2 * count)
    scenes = []
    for i, implicit in enumerate(drawn.tuples):
        base = (
            implicit.base
            if isinstance(implicit, DateTuple)
            else WINDOW_START + timedelta(days=rng.randrange(WINDOW_DAYS))
        )
        lines = rng.sample(wording.LINES, 2)
        reference, bought = brands[i], brands[count + i]
        if multi:
            reference, bought = (f"{brands[i]} {line}" for line in lines)
        scene = replace(
            shared,
            doc_id=f"{request.category}-{request.style}-{drawn.number:04d}-{i:02d}",
            implicit=implicit,
            job=rng.choice(wording.JOBS) if multi else shared.job,
            written=datetime.combine(
                base, time(rng.randint(_FIRST_HOUR, _LAST_HOUR), rng.randrange(60))
            ),
            opening=openings[i],
            reference=reference if shops else "",
            bought=bought if shops else "",
        )
        if multi:
            scene = replace(scene, speaker=people[i])
        else:
            scene = replace(scene, other=people[i], activity=activities[i])
            scene = replace(scene, item=items[i] if shops else "")
        scenes.append(scene)
    return scenes


def _shared(request: ImplicitRequest, drawn: TupleSet) -> Scene:
    """What all documents of a set have in common, as their first scene; drawn without replacement
    over all sets that there can be."""
    rng = randomness(request.seed, "sets", request.category, request.style)
    people = rng.sample(range(len(wording.FIRST_NAMES) * len(wording.LAST_NAMES)), MOST_SETS)
    multi, shops = request.style == "multi", request.category == "arithmetic"
    things = wording.ITEMS if shops else wording.ACTIVITIES
    topics = rng.sample(range(len(things) * len(wording.GROUPS)), MOST_SETS)
    first, last = divmod(people[drawn.number], len(wording.LAST_NAMES))
    group, thing = divmod(topics[drawn.number], len(things))
    own = randomness(request.seed, "set", request.category, request.style, drawn.number)
    dates = [t for t in drawn.tuples if isinstance(t, DateTuple)]
    job, currency = own.choice(wording.JOBS), own.choice(wording.CURRENCIES)
    return Scene(
        doc_id="",
        set_number=drawn.number,
        category=request.category,
        style=request.style,
        implicit=drawn.tuples[0],
        speaker="" if multi else f"{wording.FIRST_NAMES[first]} {wording.LAST_NAMES[last]}",
        other="",
        job=job,
        written=datetime.min,
        opening=("", ""),
        topic=wording.GROUPS[group] if multi else "",
        activity=thing % len(wording.ACTIVITIES),
        item=wording.ITEMS[thing % len(wording.ITEMS)] if shops else "",
        currency=currency if shops else "",
        taken=frozenset(day for t in dates for day in t.targets),
    )


def _openings(rng: random.Random, request: ImplicitRequest, main: str) -> list[tuple[str, str]]:
    """Two sentences for each document of a set to begin with: no two begin alike (A.4)."""
    if request.style == "multi":
        pairs = [
            (lead, tail)
            for lead in wording.PHRASES["opening_leads"]
            for tail in wording.PHRASES["opening_tails"]
        ]
    else:
        name = main.split()[0]
        pairs = [
            (lead.format(name=name), tail)
            for lead in wording.PHRASES["hello_leads"]
            for tail in wording.PHRASES["hello_tails"]
        ]
    return rng.sample(pairs, request.documents)


REWRITES = 50  # Other choices of phrases, until a document that gives its value away is given up


def examples_of(request: ImplicitRequest, number: int) -> list[Example]:
    """The documents and queries of set ``number``, whatever ``request.sets`` is."""
    drawn = tuple_set(request, number)
    scenes = bind(request, drawn)
    rng = randomness(request.seed, "thread", request.category, request.style, number)
    post = wording.opening_post(scenes[0], rng) if request.style == "multi" else ""
    return [
        Example(
            scene=scene,
            document=_implicit(request.seed, scene),
            question=wording.ask(randomness(request.seed, "question", scene.doc_id), scene),
            answer=wording.answer(scene),
            hint=wording.hint(scene),
            opening_post=post,
        )
        for scene in scenes
    ]


def _implicit(seed: int, scene: Scene) -> str:
    for attempt in range(REWRITES):
        document = wording.write(scene, randomness(seed, "document", scene.doc_id, attempt))
        if leaked(document, scene.implicit) is None:
            return document
    raise UnsatisfiableError(
        f"{scene.doc_id} cannot be written without giving its value away.", "Try another seed."
    )
