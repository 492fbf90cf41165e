"""The sentences that carry a scene's implicit fact. Nothing else in a document does."""

from __future__ import annotations

import random
from datetime import timedelta

from engine.generate.implicit_records import DateTuple, PlaceTuple, PriceTuple, Scene
from engine.generate.word_lists import ACTIVITIES
from engine.generate.wording import (
    capitalized,
    compared,
    compared_to_that,
    days_away,
    in_words,
    joined,
    money_in_text,
)

_IN_TWO_STEPS = 0.2
"""Share of messages of threads that reach a day by way of another one, where that is possible."""
_OCCASIONS = ("the inspection", "the annual meeting", "my moving day", "a birthday in the family")


def told(rng: random.Random, scene: Scene) -> list[str]:
    """The fact in one or two sentences, the second of which leans on the first."""
    if isinstance(scene.implicit, PriceTuple):
        return _prices(rng, scene, scene.implicit)
    if isinstance(scene.implicit, PlaceTuple):
        return [_place(rng, scene, scene.implicit)]
    return _days(rng, scene, scene.implicit)


def with_group(scene: Scene) -> str:
    """What follows the activity: " with the Lantern Society", or "" without a group."""
    return f" with {scene.topic}" if scene.topic else ""


def with_article(noun: str) -> str:
    """The noun behind "a" or "an".

    >>> with_article("office chair")
    'an office chair'
    """
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


# -- prices ------------------------------------------------------------------------------


def _prices(rng: random.Random, scene: Scene, prices: PriceTuple) -> list[str]:
    other, bought, item = f"the {scene.reference}", f"the {scene.bought}", scene.item
    stated = money_in_text(rng, prices.base, scene.currency)
    # "costs" compares the subject's price with the other's, whichever of them is stated.
    subject, object_ = (other, bought) if prices.inverse else (bought, other)
    comparison = compared(rng, prices.multiplier, object_)
    whom = f" for {scene.topic}" if scene.topic else ""
    choice = rng.choice(
        [
            f"For the {item}{whom} I was torn between {other} and {bought}.",
            f"When it came to the {item}{whom}, I had {other} and {bought} in front of me.",
            f"There are {other} and {bought}, if you want {with_article(item)}{whom}.",
            f"I had set my mind on {with_article(item)}{whom}: {bought} or else {other}.",
        ]
    )
    plain = [
        f"{capitalized(other)} is priced at {stated}, and {subject} costs {comparison}.",
        f"{capitalized(subject)} costs {comparison}, and {other} goes for {stated}.",
        f"They ask {stated} for {other}; {subject} comes to {comparison}.",
        f"You pay {stated} for {other}, while {subject} costs {comparison}.",
    ]
    if prices.inverse:
        plain.append(f"At {stated}, {other} costs {comparison}.")
    else:
        that = compared_to_that(rng, prices.multiplier)
        plain.append(f"{capitalized(other)} is {stated}; {bought} costs {that}.")
        plain.append(f"With {stated} on the tag of {other}, {bought} comes to {that}.")
    took = rng.choice(
        [
            f"I took {bought}.",
            f"In the end {bought} came home with me.",
            f"It was {bought} that I bought.",
            f"I decided for {bought}.",
        ]
    )
    return [f"{choice} {took}", rng.choice(plain)]


# -- places ------------------------------------------------------------------------------


def _place(rng: random.Random, scene: Scene, implicit: PlaceTuple) -> str:
    activity, group, place = ACTIVITIES[scene.activity], with_group(scene), implicit.place
    where = rng.choice(
        [
            f"in {place}",
            f"on the outskirts of {place}",
            f"a short walk from the railway station of {place}",
            f"in an old warehouse in {place}",
            f"right behind the town hall of {place}",
            f"in the yard of a school in {place}",
            f"near the bus depot in {place}",
        ]
    )
    return rng.choice(
        [
            f"I {activity.did}{group}, {where}.",
            f"We met {where}, and that is where I {activity.did}{group}.",
            f"{capitalized(where)} I {activity.did}{group}.",
            f"My turn at {activity.doing}{group} came {where}.",
            f"It was {where} that I {activity.did}{group}.",
        ]
    )


# -- days --------------------------------------------------------------------------------


def _days(rng: random.Random, scene: Scene, dates: DateTuple) -> list[str]:
    activity, group = ACTIVITIES[scene.activity], with_group(scene)
    past = dates.offsets[0] < 0
    verb = f"I {activity.did}" if past else f"I will {activity.do}"
    if not dates.part and rng.random() < _IN_TWO_STEPS:
        detour = _two_steps(rng, scene, dates, f"{verb}{group}")
        if detour:
            return detour
    when = _when(rng, dates)
    if not past and rng.random() < 0.3:
        return [f"{capitalized(when)} it is my turn at {activity.doing}{group}."]
    told_so = [f"{verb}{group} {when}.", f"{capitalized(when)} {verb}{group}."]
    if past:
        told_so.append(f"I was {activity.doing}{group} {when}.")
    return [rng.choice(told_so)]


def _when(rng: random.Random, dates: DateTuple) -> str:
    plain = dates.repetition != "once"
    days = [days_away(rng, dates.base, target, plain) for target in dates.targets]
    if dates.repetition == "once":
        return f"{days[0]}{_in_part(rng, days[0], dates.part)}"
    if dates.repetition == "running":
        return f"every {dates.part} from {days[0]} to {days[-1]}"
    return f"{joined(days)}, each time in the {dates.part}"


def _in_part(rng: random.Random, day: str, part: str) -> str:
    if not part:
        return ""
    if day in ("yesterday", "tomorrow") or day.startswith("this "):
        return rng.choice([f" {part}", f", in the {part}"])
    return rng.choice([f", in the {part}", f" in the {part}"])


def _two_steps(rng: random.Random, scene: Scene, dates: DateTuple, doing: str) -> list[str] | None:
    """By way of a day between the message and the target, which no query of the set asks for."""
    offset = dates.offsets[0]
    step = -1 if offset < 0 else 1
    between = [
        step * days
        for days in range(1, abs(offset) - 1)
        if dates.base + timedelta(days=step * days) not in scene.taken
    ]
    if not between:
        return None
    first = rng.choice(between)
    rest = abs(offset - first)
    middle = dates.base + timedelta(days=first)
    occasion, number = rng.choice(_OCCASIONS), in_words(rest)
    if offset < 0:
        known = f"{capitalized(occasion)} was {days_away(rng, dates.base, middle, plain=True)}."
        return [known, f"{capitalized(number)} days before that, {doing}."]
    known = f"{capitalized(occasion)} is {days_away(rng, dates.base, middle, plain=True)}."
    return [known, f"{capitalized(number)} days after that, {doing}."]
