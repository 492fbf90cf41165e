"""Queries, and documents without a model: a post of a thread, or a chat of ten utterances."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from engine.generate.facts_told import told, with_article, with_group
from engine.generate.implicit_records import DateTuple, PlaceTuple, PriceTuple, Scene
from engine.generate.word_lists import ACTIVITIES, BY_CODE, EXCHANGES, PHRASES
from engine.generate.wording import UNITS, capitalized, joined, long_date, money, weekday


def ask(rng: random.Random, scene: Scene) -> str:
    """A query that names the queried value in so many words."""
    if isinstance(scene.implicit, PriceTuple):
        return _of_price(rng, scene, scene.implicit.queried)
    if isinstance(scene.implicit, PlaceTuple):
        return _of_place(rng, scene, BY_CODE[scene.implicit.code].in_prose)
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
            f"{capitalized(activity.doing)}{group} in {country}: who was it?",
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
            f"{capitalized(activity.doing)}{group} on {days}: who was it?",
        ]
    )


UTTERANCES = 10
"""Of a chat, as in the paper (A.4.1)."""


def write(scene: Scene, rng: random.Random) -> str:
    """The document of a scene."""
    if scene.style == "multi":
        return in_post(rng, scene, _post(rng, scene))
    return in_chat(rng, scene, _chat(rng, scene))


def opening_post(scene: Scene, rng: random.Random) -> str:
    """What the thread of the scene's set replies to: the same for all its scenes."""
    if scene.item:
        item, group = scene.item, scene.topic
        return rng.choice(
            [
                f"{capitalized(group)} needs {with_article(item)}. Which did you get, and what did "
                "it cost?",
                f"Before {group} spends any money: what do you know about buying "
                f"{with_article(item)}?",
                f"Who has bought {with_article(item)} for {group}? Makes and prices, please!",
            ]
        )
    doing, group = ACTIVITIES[scene.activity].doing, with_group(scene)
    return rng.choice(
        [
            f"We are making a list of everybody who is {doing}{group}. Where and when is it you?",
            f"Has anybody been {doing}{group}? Tell the rest of us about it.",
            f"I am new here and curious about {doing}{group}. What are your experiences?",
        ]
    )


# -- posts -------------------------------------------------------------------------------


def _post(rng: random.Random, scene: Scene) -> list[str]:
    fact = " ".join(told(rng, scene))
    details = rng.sample(details_for(scene), rng.choice([1, 2, 2]))
    persona = rng.choice(PHRASES["personas"]).format(job=scene.job)
    before, after = [persona] if rng.random() < 0.6 else [], details
    if not before and rng.random() < 0.5:
        before = [after.pop()]
    return [*scene.opening, *before, fact, *after, rng.choice(PHRASES["closings"])]


def in_post(rng: random.Random, scene: Scene, sentences: list[str]) -> str:
    """Sentences as a forum post, an e-mail, a note or a quoted message, with date and author."""
    body, name, written = " ".join(sentences), scene.speaker, scene.written
    day, clock = _stamp(scene, written), f"{written:%H:%M}"
    kind = rng.random()
    if kind < 0.55:
        return f"{written:%Y-%m-%d} {clock}, {name}: {body}"
    if kind < 0.75:
        subject = scene.item or ACTIVITIES[scene.activity].doing
        head = f"From: {name}\nDate: {weekday(written.date())}, {day}, {clock}"
        return f"{head}\nSubject: Re: {subject}\n\n{body}"
    if kind < 0.9:
        return f"Note by {name}, {day}, {clock}\n\n{body}"
    return f"On {day} at {clock} {name} wrote:\n\n{body}"


# -- chats -------------------------------------------------------------------------------


def _chat(rng: random.Random, scene: Scene) -> list[str]:
    """Ten utterances; the second conversant speaks first, then they take turns."""
    hello = " ".join(scene.opening)
    answer = rng.choice(PHRASES["hello_answers"]).format(job=scene.job)
    said = told(rng, scene)
    if scene.item:
        exchanges = [
            (rng.choice(PHRASES["buying_prompts"]), said[0]),
            (rng.choice(PHRASES["price_prompts"]), said[1]),
        ]
    else:
        detail = rng.choice(details_for(scene))
        exchanges = [
            (rng.choice(PHRASES["doing_prompts"]), " ".join(said)),
            (rng.choice(PHRASES["doing_reactions"]), detail),
        ]
    talk = rng.choice(EXCHANGES["small_talk"])
    exchanges.insert(rng.choice([0, len(exchanges)]), talk)
    exchanges = [(hello, answer), *exchanges, rng.choice(EXCHANGES["talk_closings"])]
    return [utterance for exchange in exchanges for utterance in exchange]


def in_chat(rng: random.Random, scene: Scene, utterances: list[str]) -> str:
    """Utterances with a date and a speaker each."""
    form, at, lines = rng.randrange(3), scene.written, []
    for number, text in enumerate(utterances):
        name = scene.speaker if number % 2 else scene.other
        stamp = _stamp(scene, at) if form == 2 else f"{at:%Y-%m-%d}"
        lines.append(_line(form, stamp, f"{at:%H:%M}", name, text))
        at += timedelta(minutes=rng.randint(1, 4))
    return "\n".join(lines)


def _stamp(scene: Scene, at: datetime) -> str:
    """The day as the document gives it.

    Where days are asked for it is all digits: queries spell the month, and a month in common
    would find the document without any reasoning.
    """
    return f"{at:%Y-%m-%d}" if scene.category == "temporal" else long_date(at.date(), 1)


def _line(form: int, day: str, clock: str, name: str, text: str) -> str:
    if form == 0:
        return f"{day} {clock}, {name}: {text}"
    if form == 1:
        return f"[{day} {clock}] {name}: {text}"
    return f"{name} ({day}, {clock}): {text}"


def details_for(scene: Scene) -> list[str]:
    """Sentences of colour that suit the scene."""
    if scene.item:
        return PHRASES["buying_details"]
    ahead = isinstance(scene.implicit, DateTuple) and scene.implicit.offsets[0] > 0
    return PHRASES["ahead_details"] if ahead else PHRASES["doing_details"]
