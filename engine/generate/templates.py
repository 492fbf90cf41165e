"""Queries, and documents without a model: a post of a thread, or a chat of ten utterances.

The sentences are in ``assets/generate``. Only :func:`fact_sentences` carry a scene's fact.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from engine.generate.implicit_records import DateTuple, PlaceTuple, PriceTuple, Scene
from engine.generate.word_lists import ACTIVITIES, BY_CODE, EXCHANGES, PHRASES, SENTENCES
from engine.generate.wording import (
    UNITS,
    capitalized,
    compared,
    compared_to_that,
    days_away,
    in_words,
    joined,
    long_date,
    money,
    money_in_text,
    weekday,
)

UTTERANCES = 10  # Of a chat, as in the paper (A.4.1)
_IN_TWO_STEPS = 0.2
"""Share of messages of threads that reach a day by way of another one, where that is possible."""


def _sentence(rng: random.Random, scene: Scene, *kinds: str, **words: str) -> str:
    """One of the sentences of these kinds, filled in."""
    activity = ACTIVITIES[scene.activity]
    known = {
        "item": scene.item,
        "an_item": _with_article(scene.item) if scene.item else "",
        "topic": scene.topic,
        "speaker": scene.speaker,
        "group": f" with {scene.topic}" if scene.topic else "",
        "whom": f" for {scene.topic}" if scene.topic else "",
        "doing": activity.doing,
        "did": activity.did,
        **words,
    }
    known |= {capitalized(name): capitalized(text) for name, text in known.items()}
    choices = [one for kind in kinds for one in SENTENCES[kind]]
    return (choices[0] if len(choices) == 1 else rng.choice(choices)).format(**known)


def _with_article(noun: str) -> str:
    """The noun behind "a" or "an".

    >>> _with_article("office chair")
    'an office chair'
    """
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


# -- queries -------------------------------------------------------------------------------------


def ask(rng: random.Random, scene: Scene) -> str:
    """A query that names the queried value in so many words."""
    implicit = scene.implicit
    if isinstance(implicit, PriceTuple):
        price, currency = implicit.queried, scene.currency
        spelled = money(price, currency)
        amounts = [spelled, spelled, f"{price:,} {UNITS[currency]}", f"{currency} {price:,}"]
        return _sentence(rng, scene, f"price_queries_{scene.style}", amount=rng.choice(amounts))
    if isinstance(implicit, PlaceTuple):
        country = BY_CODE[implicit.code].in_prose
        return _sentence(rng, scene, f"place_queries_{scene.style}", country=country)
    style = rng.choice([0, 0, 1, 1, 2])
    days = joined([long_date(day, style) for day in implicit.targets])
    kind = f"day_queries_{scene.style}"
    return _sentence(rng, scene, kind, days=days, part=implicit.part)


def answer(scene: Scene) -> str:
    """The person or thing that the query asks for."""
    if scene.style == "multi":
        return scene.bought if scene.item else scene.speaker
    return f"{scene.bought} {scene.item}" if scene.item else ACTIVITIES[scene.activity].doing


def hint(scene: Scene) -> str:
    """The tuple in words."""
    t = scene.implicit
    if isinstance(t, PriceTuple):
        names = (scene.reference, scene.bought)
        first, second = names if t.inverse else names[::-1]
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


# -- facts ---------------------------------------------------------------------------------------


def fact_sentences(rng: random.Random, scene: Scene) -> list[str]:
    """The fact in one or two sentences, the second of which leans on the first."""
    implicit = scene.implicit
    if isinstance(implicit, PriceTuple):
        return _prices(rng, scene, implicit)
    if isinstance(implicit, PlaceTuple):
        where = _sentence(rng, scene, "positions", place=implicit.place)
        return [_sentence(rng, scene, "places", where=where)]
    return _days(rng, scene, implicit)


def _prices(rng: random.Random, scene: Scene, prices: PriceTuple) -> list[str]:
    other, bought = f"the {scene.reference}", f"the {scene.bought}"
    stated = money_in_text(rng, prices.base, scene.currency)
    # "costs" compares the subject's price with the other's, whichever of them is stated.
    subject, object_ = (other, bought) if prices.inverse else (bought, other)
    words = {"other": other, "bought": bought, "stated": stated, "subject": subject}
    words["comparison"] = compared(rng, prices.multiplier, object_)
    choice = _sentence(rng, scene, "price_choices", **words)
    if not prices.inverse:
        words["that"] = compared_to_that(rng, prices.multiplier)
    took = _sentence(rng, scene, "price_decisions", **words)
    kinds = ("prices", "prices_inverse" if prices.inverse else "prices_direct")
    return [f"{choice} {took}", _sentence(rng, scene, *kinds, **words)]


def _days(rng: random.Random, scene: Scene, dates: DateTuple) -> list[str]:
    activity, past = ACTIVITIES[scene.activity], dates.offsets[0] < 0
    verb = f"I {activity.did}" if past else f"I will {activity.do}"
    if not dates.part and rng.random() < _IN_TWO_STEPS:
        group = f" with {scene.topic}" if scene.topic else ""
        detour = _two_steps(rng, scene, dates, f"{verb}{group}")
        if detour:
            return detour
    when = _when(rng, dates)
    if not past and rng.random() < 0.3:
        return [_sentence(rng, scene, "days_ahead", when=when)]
    kinds = ("days", "days_past") if past else ("days",)
    return [_sentence(rng, scene, *kinds, when=when, verb=verb)]


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
    middle = dates.base + timedelta(days=first)
    occasion = capitalized(rng.choice(SENTENCES["occasions"]))
    number = capitalized(in_words(abs(offset - first)))
    is_was, side = ("was", "before") if offset < 0 else ("is", "after")
    known = f"{occasion} {is_was} {days_away(rng, dates.base, middle, plain=True)}."
    return [known, f"{number} days {side} that, {doing}."]


# -- documents -----------------------------------------------------------------------------------


def write(scene: Scene, rng: random.Random) -> str:
    """The document of a scene."""
    if scene.style == "multi":
        return in_post(rng, scene, _post(rng, scene))
    return in_chat(rng, scene, _chat(rng, scene))


def opening_post(scene: Scene, rng: random.Random) -> str:
    """What the thread of the scene's set replies to: the same for all its scenes."""
    return _sentence(rng, scene, "price_threads" if scene.item else "activity_threads")


def _post(rng: random.Random, scene: Scene) -> list[str]:
    fact = " ".join(fact_sentences(rng, scene))
    details = rng.sample(_details_for(scene), rng.choice([1, 2, 2]))
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


def _chat(rng: random.Random, scene: Scene) -> list[str]:
    """Ten utterances; the second conversant speaks first, then they take turns."""
    hello = " ".join(scene.opening)
    answer = rng.choice(PHRASES["hello_answers"]).format(job=scene.job)
    fact = fact_sentences(rng, scene)
    if scene.item:
        exchanges = [
            (rng.choice(PHRASES["buying_prompts"]), fact[0]),
            (rng.choice(PHRASES["price_prompts"]), fact[1]),
        ]
    else:
        detail = rng.choice(_details_for(scene))
        exchanges = [
            (rng.choice(PHRASES["doing_prompts"]), " ".join(fact)),
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


def _details_for(scene: Scene) -> list[str]:
    """Sentences of colour that suit the scene."""
    if scene.item:
        return PHRASES["buying_details"]
    ahead = isinstance(scene.implicit, DateTuple) and scene.implicit.offsets[0] > 0
    return PHRASES["ahead_details"] if ahead else PHRASES["doing_details"]
