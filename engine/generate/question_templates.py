"""What is asked, and what the answer is."""

from __future__ import annotations

import random

from engine.generate.facts_told import with_group
from engine.generate.implicit_records import DateTuple, PlaceTuple, PriceTuple, Scene
from engine.generate.word_lists import ACTIVITIES, COUNTRIES
from engine.generate.wording import UNITS, joined, long_date, money

_IN_PROSE = {country.code: country.in_prose for country in COUNTRIES}


def ask(rng: random.Random, scene: Scene) -> str:
    """A query that names the queried value in so many words."""
    if isinstance(scene.implicit, PriceTuple):
        return _of_price(rng, scene, scene.implicit.queried)
    if isinstance(scene.implicit, PlaceTuple):
        return _of_place(rng, scene, _IN_PROSE[scene.implicit.code])
    return _of_days(rng, scene, scene.implicit)


def answer(scene: Scene) -> str:
    """Whom or what the query asks for."""
    if scene.style == "multi":
        return scene.bought if scene.item else scene.speaker
    return f"{scene.bought} {scene.item}" if scene.item else ACTIVITIES[scene.activity].doing


def hint(scene: Scene) -> str:
    """The tuple in words."""
    t = scene.implicit
    if isinstance(t, PriceTuple):
        first, second = (
            (scene.reference, scene.bought) if t.inverse else (scene.bought, scene.reference)
        )
        return (
            f"{scene.reference}: {t.base} {scene.currency} ## {first} = {float(t.multiplier):g} x "
            f"{second} ## bought: {scene.bought} at {t.queried} {scene.currency}"
        )
    if isinstance(t, PlaceTuple):
        return f"place: {t.place} ## country: {t.country} ({t.code})"
    days = ", ".join(day.isoformat() for day in t.targets)
    offsets = ", ".join(f"{offset:+d}" for offset in t.offsets)
    part = f" ## part of the day: {t.part}" if t.part else ""
    return f"message: {t.base.isoformat()} ## days away: {offsets} ## resolved: {days}{part}"


def _of_price(rng: random.Random, scene: Scene, price: int) -> str:
    spelled = money(price, scene.currency)
    amount = rng.choice(
        [spelled, spelled, f"{price:,} {UNITS[scene.currency]}", f"{scene.currency} {price:,}"]
    )
    if scene.style == "uni":
        return rng.choice(
            [
                f"What did {scene.speaker} buy for {amount}?",
                f"Which purchase of {scene.speaker} cost {amount}?",
                f"On what did {scene.speaker} spend {amount}?",
            ]
        )
    item, group = scene.item, scene.topic
    return rng.choice(
        [
            f"Which {item} for {group} cost {amount}?",
            f"What make and line is the {item} for {group} that was bought for {amount}?",
            f"Somebody paid {amount} for {group}: for which {item}?",
        ]
    )


def _of_place(rng: random.Random, scene: Scene, country: str) -> str:
    activity, group = ACTIVITIES[scene.activity], with_group(scene)
    if scene.style == "uni":
        return rng.choice(
            [
                f"What did {scene.speaker} do in {country}?",
                f"Which pastime did {scene.speaker} pursue in {country}?",
                f"What was it that {scene.speaker} took part in when in {country}?",
            ]
        )
    return rng.choice(
        [
            f"Who {activity.did}{group} in {country}?",
            f"Which person was {activity.doing}{group} somewhere in {country}?",
            f"{_cap(activity.doing)}{group} in {country}: who was it?",
        ]
    )


def _of_days(rng: random.Random, scene: Scene, dates: DateTuple) -> str:
    activity, group = ACTIVITIES[scene.activity], with_group(scene)
    style = rng.choice([0, 0, 1, 1, 2])
    days = joined([long_date(day, style) for day in dates.targets])
    if scene.style == "uni":
        return rng.choice(
            [
                f"What did {scene.speaker} do on {days}, in the {dates.part}?",
                f"What was on the calendar of {scene.speaker} for the {dates.part} of {days}?",
                f"Which pastime did {scene.speaker} have in the {dates.part} on {days}?",
            ]
        )
    return rng.choice(
        [
            f"Who was down for {activity.doing}{group} on {days}?",
            f"Whose turn at {activity.doing}{group} fell on {days}?",
            f"{_cap(activity.doing)}{group} on {days}: who was it?",
        ]
    )


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]
