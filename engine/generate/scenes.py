"""Tuples bound to people and things, so that every query has one relevant document (section 2.2).

Within a set, tuples differ; between sets, topics and main conversants do (appendix A.4, Table 4).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from engine.generate import templates
from engine.generate.implicit_records import (
    MOST_SETS,
    DateTuple,
    Example,
    ImplicitRequest,
    Scene,
    TupleSet,
)
from engine.generate.leaks import leaked
from engine.generate.tuple_sets import (
    WINDOW_DAYS,
    WINDOW_START,
    UnsatisfiableError,
    date_set,
    place_set,
    price_set,
    randomness,
)
from engine.generate.word_lists import (
    ACTIVITIES,
    BRANDS,
    CURRENCIES,
    FIRST_NAMES,
    GROUPS,
    ITEMS,
    JOBS,
    LAST_NAMES,
    LINES,
    PHRASES,
)

MAKERS = {"arithmetic": price_set, "temporal": date_set, "world": place_set}
_FIRST_HOUR, _LAST_HOUR = 8, 21


def tuple_set(request: ImplicitRequest, number: int) -> TupleSet:
    """The tuples of set ``number``, whatever ``request.sets`` is."""
    return MAKERS[request.category](request, number)


def bind(request: ImplicitRequest, drawn: TupleSet) -> list[Scene]:
    """One scene per tuple."""
    rng = randomness(request.seed, "scenes", request.category, request.style, drawn.number)
    shared = _shared(request, drawn)
    count = len(drawn.tuples)
    own = [name for name in FIRST_NAMES if not shared.main.startswith(name)]
    people = rng.sample(own, count)
    openings = _openings(rng, request, shared.main)
    activities = rng.sample(range(len(ACTIVITIES)), count)
    items, brands = rng.sample(ITEMS, count), rng.sample(BRANDS, 2 * count)
    scenes = []
    for i, implicit in enumerate(drawn.tuples):
        base = implicit.base if isinstance(implicit, DateTuple) else _some_day(rng)
        shops = request.category == "arithmetic"
        lines = rng.sample(LINES, 2)
        multi = request.style == "multi"
        reference, bought = (
            (f"{brands[i]} {lines[0]}", f"{brands[i]} {lines[1]}")
            if multi
            else (brands[i], brands[count + i])
        )
        scenes.append(
            Scene(
                doc_id=f"{request.category}-{request.style}-{drawn.number:04d}-{i:02d}",
                set_number=drawn.number,
                category=request.category,
                style=request.style,
                implicit=implicit,
                speaker=people[i] if multi else shared.main,
                other="" if multi else people[i],
                job=rng.choice(JOBS) if multi else shared.job,
                written=_some_time(rng, base),
                opening=openings[i],
                topic=shared.group,
                activity=shared.activity if multi else activities[i],
                item=(shared.item if multi else items[i]) if shops else "",
                reference=reference if shops else "",
                bought=bought if shops else "",
                currency=shared.currency if shops else "",
                taken=shared.taken,
            )
        )
    return scenes


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all documents of a set have in common; threads and chats use different parts."""

    main: str
    job: str
    group: str
    activity: int
    item: str
    currency: str
    taken: frozenset[date]


def _shared(request: ImplicitRequest, drawn: TupleSet) -> _Shared:
    """Drawn without replacement over all sets that there can be."""
    rng = randomness(request.seed, "sets", request.category, request.style)
    people = rng.sample(range(len(FIRST_NAMES) * len(LAST_NAMES)), MOST_SETS)
    things = ITEMS if request.category == "arithmetic" else ACTIVITIES
    topics = rng.sample(range(len(things) * len(GROUPS)), MOST_SETS)
    first, last = divmod(people[drawn.number], len(LAST_NAMES))
    group, thing = divmod(topics[drawn.number], len(things))
    own = randomness(request.seed, "set", request.category, request.style, drawn.number)
    dates = [t for t in drawn.tuples if isinstance(t, DateTuple)]
    return _Shared(
        main=f"{FIRST_NAMES[first]} {LAST_NAMES[last]}" if request.style == "uni" else "",
        job=own.choice(JOBS),
        group=GROUPS[group] if request.style == "multi" else "",
        activity=thing % len(ACTIVITIES),
        item=ITEMS[thing % len(ITEMS)],
        currency=own.choice(CURRENCIES),
        taken=frozenset(day for t in dates for day in t.targets),
    )


def _openings(rng: random.Random, request: ImplicitRequest, main: str) -> list[tuple[str, str]]:
    """Two sentences for each document of a set to begin with: no two begin alike (A.4)."""
    if request.style == "multi":
        pairs = [
            (lead, tail) for lead in PHRASES["opening_leads"] for tail in PHRASES["opening_tails"]
        ]
    else:
        name = main.split()[0]
        pairs = [
            (lead.format(name=name), tail)
            for lead in PHRASES["hello_leads"]
            for tail in PHRASES["hello_tails"]
        ]
    return rng.sample(pairs, request.documents)


def _some_day(rng: random.Random) -> date:
    return WINDOW_START + timedelta(days=rng.randrange(WINDOW_DAYS))


def _some_time(rng: random.Random, day: date) -> datetime:
    return datetime.combine(day, time(rng.randint(_FIRST_HOUR, _LAST_HOUR), rng.randrange(60)))


REWRITES = 50  # Other choices of phrases, until a document that gives its value away is given up


def examples_of(request: ImplicitRequest, number: int) -> list[Example]:
    """The documents and queries of set ``number``, whatever ``request.sets`` is."""
    drawn = tuple_set(request, number)
    scenes = bind(request, drawn)
    rng = randomness(request.seed, "thread", request.category, request.style, number)
    post = templates.opening_post(scenes[0], rng) if request.style == "multi" else ""
    return [_example(request.seed, scene, post) for scene in scenes]


def _example(seed: int, scene: Scene, post: str) -> Example:
    return Example(
        scene=scene,
        document=_implicit(seed, scene),
        question=templates.ask(randomness(seed, "question", scene.doc_id), scene),
        answer=templates.answer(scene),
        hint=templates.hint(scene),
        opening_post=post,
    )


def _implicit(seed: int, scene: Scene) -> str:
    for attempt in range(REWRITES):
        document = templates.write(scene, randomness(seed, "document", scene.doc_id, attempt))
        if leaked(document, scene.implicit) is None:
            return document
    raise UnsatisfiableError(
        f"{scene.doc_id} cannot be written without giving its value away.", "Try another seed."
    )
