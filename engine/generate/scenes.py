"""The tuples that queries ask for, and the scenes that they are bound to (ImpliRet, section 2.2).

Prices, days and countries meet the paper's constraints: one option per slot is chosen so that all
fit together, depth first, with backtracking. Every query has one relevant document: within a set,
tuples differ; between sets, topics and main conversants do (appendix A.4, Table 4). No document
says literally what it should only imply.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

from engine.errors import BadInputError
from engine.generate import wording
from engine.generate.implicit_records import (
    MOST_SETS,
    Category,
    DateTuple,
    Example,
    ImplicitRequest,
    ImplicitTuple,
    PlaceTuple,
    PriceTuple,
    Repetition,
    Scene,
    Style,
    TupleSet,
)
from engine.generate.wording import CONSTRAINTS, COUNTRIES

Slot = TypeVar("Slot")
Choice = TypeVar("Choice")
MOST_STEPS = 200_000
"""Options tried until a search counts as hopeless; a solvable request takes some thousands."""


class UnsatisfiableError(BadInputError):
    """No tuple set of the size that was asked for meets all constraints."""


def randomness(*parts: object) -> random.Random:
    """A source of its own for every purpose, so that one more draw here changes nothing there.

    >>> randomness(7, "prices").random() == randomness(7, "prices").random()
    True
    """
    return random.Random("/".join(map(str, parts)))  # noqa: S311 - no secret, to be repeated


def solve(
    slots: Sequence[Slot],
    options: Callable[[Slot], Iterable[Choice]],
    fits: Callable[[Slot, Choice, Sequence[Choice]], bool],
    what: str,
) -> list[Choice]:
    """One choice per slot; each fits those before it. The options' order decides among answers.

    `options`: what a slot can be filled with, the preferred first. Called again after every step
    back. `fits`: whether a choice may follow the choices made for the slots before. `what`: names
    the things in the error: "30 prices from 200 to 3,200".

    >>> solve([1, 2], lambda slot: (2, 1), lambda slot, n, before: n not in before, "numbers")
    [2, 1]
    """
    chosen: list[Choice] = []
    open_options: list[Iterator[Choice]] = []
    steps = deepest = 0
    while len(chosen) < len(slots):
        if len(open_options) == len(chosen):
            open_options.append(iter(options(slots[len(chosen)])))
        for choice in open_options[-1]:
            steps += 1
            if steps > MOST_STEPS:
                raise _unsatisfiable(what, deepest, len(slots))
            if fits(slots[len(chosen)], choice, chosen):
                chosen.append(choice)
                deepest = max(deepest, len(chosen))
                break
        else:
            open_options.pop()
            if not chosen:
                raise _unsatisfiable(what, deepest, len(slots))
            chosen.pop()
    return chosen


def _unsatisfiable(what: str, reached: int, wanted: int) -> UnsatisfiableError:
    return UnsatisfiableError(
        f"No choice of {what} meets every constraint ({reached} of {wanted} could be placed).",
        "Ask for fewer documents per set.",
    )


LOWEST, HIGHEST = 200, 3200  # Queried prices are spread from here up to but without there
LOWEST_BASE, HIGHEST_BASE = 100, 6400
STEP = 10
_HUNDREDTHS = (25, 50, 75, 150, 200, 200, 250, 300, 400)
_PERCENT = (*range(55, 100, 5), *range(105, 180, 5))
MULTIPLIERS = tuple(Fraction(n, 100) for n in (*_HUNDREDTHS, *_PERCENT))
"""Halves, multiples and whole five percents: sums that a reader does in the head."""


def price_set(request: ImplicitRequest, number: int) -> TupleSet:
    """Set ``number``: one queried price in each of as many equal bands as there are documents."""
    rng = randomness(request.seed, "prices", request.style, number)
    bands = list(range(request.documents))
    rng.shuffle(bands)

    def options(band: int) -> Iterator[PriceTuple]:
        return _candidates(rng, *band_of(band, request.documents, LOWEST, HIGHEST))

    what = f"{request.documents} prices from {LOWEST:,} to {HIGHEST:,}"
    tuples = solve(bands, options, _apart, what)
    return TupleSet("arithmetic", request.style, number, tuple(tuples), LOWEST, HIGHEST)


def band_of(band: int, count: int, low: int, high: int) -> tuple[int, int]:
    """The whole numbers ``[first, last)`` of one of ``count`` equal bands of ``[low, high)``.

    >>> band_of(1, 3, 0, 10)
    (4, 7)
    """
    width = high - low
    return low - (-width * band // count), low - (-width * (band + 1) // count)


def _candidates(rng: random.Random, first: int, last: int) -> Iterator[PriceTuple]:
    """Every tuple whose queried price is round and lies in ``[first, last)``, in random order."""
    queried = list(range(-(-first // STEP) * STEP, last, STEP))
    rng.shuffle(queried)
    for price in queried:
        ways = [(m, inverse) for m in MULTIPLIERS for inverse in (False, True)]
        rng.shuffle(ways)
        for multiplier, inverse in ways:
            base = price * multiplier if inverse else price / multiplier
            if base % STEP == 0 and LOWEST_BASE <= base <= HIGHEST_BASE:
                yield PriceTuple(int(base), multiplier, inverse, price)


def _apart(_: int, one: PriceTuple, others: Sequence[PriceTuple]) -> bool:
    prices = {price for other in others for price in (other.base, other.queried)}
    return prices.isdisjoint((one.base, one.queried))


WINDOW_START = date(2025, 1, 1)
WINDOW_DAYS = 365
MOST_DAYS_AWAY = 14  # From a message to the day that it speaks of
PAST = 0.75  # Share of messages of a thread that look back; the others look ahead

BLOCK_DAYS = 14
PARTS = ("morning", "evening")
RUNNING, APART, ONCE = (4, 3, 3), (3, 2, 2), 9
"""Of each block: activities on consecutive days, on days with gaps, and on one day."""
BLOCK = len(RUNNING) + len(APART) + ONCE
MOST_MESSAGES_A_DAY = 3
_WIDEST_GAPS = 9
"""Days that an activity with gaps stretches over at most, so that one message can see them all."""


def _thread(request: ImplicitRequest, number: int, rng: random.Random) -> TupleSet:
    """One target and one message in each of as many equal bands as there are documents."""
    count, low = request.documents, WINDOW_START.toordinal()
    high = low + WINDOW_DAYS
    bands = [range(*band_of(i, count, low, high)) for i in range(count)]

    def band(day: date) -> int:
        return next(i for i, days in enumerate(bands) if day.toordinal() in days)

    def options(target_band: int) -> Iterator[DateTuple]:
        near = bands[max(0, target_band - 1) : target_band + 2]
        return _day_candidates(rng, bands[target_band], [day for days in near for day in days])

    def fits(slot: int, one: DateTuple, others: Sequence[DateTuple]) -> bool:
        dates = {d for other in others for d in (other.base, *other.targets)}
        filled = {band(other.base) for other in others}
        if not dates.isdisjoint((one.base, *one.targets)) or band(one.base) in filled:
            return False
        # Later slots do not reach back to the band before this one: it has to be filled by now.
        filled.add(band(one.base))
        last = slot == count - 1
        return (slot == 0 or slot - 1 in filled) and (not last or slot in filled)

    what = f"{count} days and messages in {WINDOW_DAYS} days"
    tuples = solve(range(count), options, fits, what)
    return TupleSet("temporal", "multi", number, tuple(tuples), low, high)


def _day_candidates(
    rng: random.Random, targets: Sequence[int], bases: Sequence[int]
) -> Iterator[DateTuple]:
    pairs = [(t, b) for t in targets for b in bases if 0 < abs(b - t) <= MOST_DAYS_AWAY]
    rng.shuffle(pairs)
    looks_back = rng.random() < PAST
    for target, base in sorted(pairs, key=lambda pair: (pair[1] > pair[0]) != looks_back):
        yield DateTuple(date.fromordinal(base), (date.fromordinal(target),))


# -- schedules ---------------------------------------------------------------------------


_Kind = tuple[Repetition, int]  # How often an activity of a block is done, and on how many days


@dataclass(frozen=True, slots=True)
class _Placed:
    """An activity in its block: days are counted from the start of the block."""

    repetition: Repetition
    days: tuple[int, ...]
    part: str

    @property
    def lots(self) -> set[tuple[int, str]]:
        return {(day, self.part) for day in self.days}


def _schedule(request: ImplicitRequest, number: int, rng: random.Random) -> TupleSet:
    """The main conversant's activities: blocks of 14 days with 15 activities each."""
    if request.documents % BLOCK:
        raise UnsatisfiableError(
            f"A schedule cannot have {request.documents} activities: every block of "
            f"{BLOCK_DAYS} days has exactly {BLOCK}.",
            f"Ask for a multiple of {BLOCK} documents per set; the paper has {2 * BLOCK}.",
        )
    blocks = request.documents // BLOCK
    days = blocks * BLOCK_DAYS
    start = WINDOW_START + timedelta(days=rng.randrange(WINDOW_DAYS - days))
    placed = [
        (start + timedelta(days=block * BLOCK_DAYS), activity)
        for block in range(blocks)
        for activity in _block(rng)
    ]
    window = [start + timedelta(days=day) for day in range(days)]
    tuples = _with_messages(rng, placed, window)
    rng.shuffle(tuples)
    low = start.toordinal()
    return TupleSet("temporal", "uni", number, tuple(tuples), low, low + days)


def _block(rng: random.Random) -> list[_Placed]:
    """Phase (i) of A.3.2: activities without overlap, the largest first."""
    kinds: list[_Kind] = [("running", n) for n in RUNNING]
    kinds += [("apart", n) for n in APART]
    kinds += [("once", 1)] * ONCE

    def options(kind: _Kind) -> Iterable[_Placed]:
        choices = [_Placed(kind[0], days, part) for days in _days(rng, *kind) for part in PARTS]
        rng.shuffle(choices)
        return choices

    def fits(_: _Kind, one: _Placed, others: Sequence[_Placed]) -> bool:
        busy = {day for other in (one, *others) for day in other.days}
        left = BLOCK - len(others) - 1  # of the last ones, each fills one empty day at most
        no_overlap = all(one.lots.isdisjoint(other.lots) for other in others)
        return no_overlap and (left > ONCE or BLOCK_DAYS - len(busy) <= left)

    return solve(kinds, options, fits, f"{BLOCK} activities in {BLOCK_DAYS} days")


def _days(rng: random.Random, repetition: Repetition, count: int) -> list[tuple[int, ...]]:
    if repetition != "apart":
        return [tuple(range(start, start + count)) for start in range(BLOCK_DAYS - count + 1)]
    choices = set()
    for _ in range(60):
        days = tuple(sorted(rng.sample(range(BLOCK_DAYS), count)))
        gaps = [b - a for a, b in pairwise(days)]
        if min(gaps) >= 2 and days[-1] - days[0] <= _WIDEST_GAPS:
            choices.add(days)
    return sorted(choices)


def _with_messages(
    rng: random.Random, placed: Sequence[tuple[date, _Placed]], window: Sequence[date]
) -> list[DateTuple]:
    """Phases (ii) and (iii) of A.3.2: a message per activity, before it or after it."""

    def options(slot: tuple[date, _Placed]) -> Iterable[DateTuple]:
        start, activity = slot
        targets = tuple(start + timedelta(days=day) for day in activity.days)
        choices = [
            DateTuple(base, targets, activity.part, activity.repetition)
            for base in window
            if not targets[0] <= base <= targets[-1]
            and max(abs((base - t).days) for t in targets) <= MOST_DAYS_AWAY
        ]
        rng.shuffle(choices)
        return choices

    def fits(_: object, one: DateTuple, others: Sequence[DateTuple]) -> bool:
        return sum(other.base == one.base for other in others) < MOST_MESSAGES_A_DAY

    return solve(placed, options, fits, f"{len(placed)} messages in {len(window)} days")


def place_set(request: ImplicitRequest, number: int) -> TupleSet:
    """Set ``number``: as many different countries as documents, one place from each."""
    rng = randomness(request.seed, "places", request.style, number)
    order = list(COUNTRIES)
    rng.shuffle(order)

    def options(slot: int) -> Iterable[PlaceTuple]:
        for country in order[slot:] + order[:slot]:
            for place in rng.sample(country.places, len(country.places)):
                yield PlaceTuple(place, country.name, country.code)

    def fits(_: int, one: PlaceTuple, others: Sequence[PlaceTuple]) -> bool:
        return all(one.code != other.code and one.place != other.place for other in others)

    what = f"{request.documents} of {len(COUNTRIES)} countries"
    tuples = solve(range(request.documents), options, fits, what)
    return TupleSet("world", request.style, number, tuple(tuples))


def constraints_for(category: Category, style: Style) -> dict[str, str]:
    """Constraints that sets of a category and style meet, with their place in ImpliRet's paper."""
    return {**CONSTRAINTS[category], **CONSTRAINTS.get(f"{category}-{style}", {})}


# -- what gives a value away ----------------------------------------------------------------------

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


# -- scenes ---------------------------------------------------------------------------------------

_FIRST_HOUR, _LAST_HOUR = 8, 21


def tuple_set(request: ImplicitRequest, number: int) -> TupleSet:
    """The tuples of set ``number``, whatever ``request.sets`` is."""
    if request.category == "arithmetic":
        return price_set(request, number)
    if request.category == "world":
        return place_set(request, number)
    rng = randomness(request.seed, "dates", request.style, number)
    return (_schedule if request.style == "uni" else _thread)(request, number, rng)


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
        own_words: dict[str, Any] = {"speaker": people[i]}
        if not multi:
            own_words = {"other": people[i], "activity": activities[i]}
            own_words["item"] = items[i] if shops else ""
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
            **own_words,
        )
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
    kind, name = ("opening", "") if request.style == "multi" else ("hello", main.split()[0])
    leads, tails = wording.PHRASES[f"{kind}_leads"], wording.PHRASES[f"{kind}_tails"]
    pairs = [(lead.format(name=name), tail) for lead in leads for tail in tails]
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
