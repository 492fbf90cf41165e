"""The phrases, people, things and doings of ``assets/generate``, numbers and dates in words, and
the sentences of documents."""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from engine.config import ASSETS
from engine.facts import numbers
from engine.generate.implicit_records import DateTuple, PlaceTuple, PriceTuple, Scene


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((ASSETS / "generate" / f"{name}.toml").read_text(encoding="utf-8"))


_WORDS = _table("words")
_PHRASES = _table("phrases")
SENTENCES: dict[str, list[str]] = _table("sentences")
"""Sentences that carry a fact, and queries, by what they are for."""
CONSTRAINTS: dict[str, dict[str, str]] = _table("constraints")
"""What tuple sets of a category, and of a category and style, meet; with its place in the paper."""
LEAKS: dict[str, str] = _WORDS["leaks"]
"""Words by which a document that gives its value away is known."""
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


# -- numbers and dates ---------------------------------------------------------------------------


_SMALL = (*numbers.UNITS, *numbers.TEENS)
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}
UNITS = {"USD": "dollars", "EUR": "euros", "GBP": "pounds"}
MONTHS, WEEKDAYS = _WORDS["months"].split(), _WORDS["weekdays"].split()
_PARTS_OF = {Fraction(factor): words for factor, words in _WORDS["factors"].items()}
HALF_AS_MUCH = Fraction(3, 2)


def in_words(number: int, joint: str = " and ") -> str:
    """A whole number below a million in English.

    `joint`: between hundreds and what is left: British " and ", American " ".

    >>> in_words(1950), in_words(1005)
    ('one thousand nine hundred and fifty', 'one thousand and five')
    """
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return numbers.TENS[tens - 2] + (f"-{_SMALL[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        head = f"{_SMALL[hundreds]} hundred"
        return head + (f"{joint}{in_words(rest)}" if rest else "")
    thousands, rest = divmod(number, 1000)
    head = f"{in_words(thousands, joint)} thousand"
    between = joint if rest < 100 else " "
    return head + (f"{between}{in_words(rest, joint)}" if rest else "")


def money(amount: int, currency: str) -> str:
    """As a query names it.

    >>> money(1950, "USD")
    '$1,950'
    """
    return f"{_SIGNS[currency]}{amount:,}"


def money_in_text(rng: random.Random, amount: int, currency: str) -> str:
    """As people write it: "$780", "780 dollars", "seven hundred and eighty dollars"."""
    unit = UNITS[currency]
    return rng.choice(
        [money(amount, currency), f"{amount:,} {unit}", f"{amount} {unit}"]
        + [f"{in_words(amount)} {unit}"] * 2
    )


def long_date(day: date, style: int = 0) -> str:
    """A day in words; ``style`` 0 to 2.

    >>> [long_date(date(2025, 2, 7), style) for style in range(3)]
    ['February 7, 2025', '7 February 2025', 'the 7th of February 2025']
    """
    month = MONTHS[day.month - 1]
    return (
        f"{month} {day.day}, {day.year}",
        f"{day.day} {month} {day.year}",
        f"the {ordinal(day.day)} of {month} {day.year}",
    )[style]


def ordinal(number: int) -> str:
    """A number as a place in an order.

    >>> ordinal(2), ordinal(13), ordinal(21)
    ('2nd', '13th', '21st')
    """
    tail = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 <= number % 100 <= 20 else tail}"


def capitalized(text: str) -> str:
    """A text with its first letter in upper case, the others as they are."""
    return text[:1].upper() + text[1:]


def joined(parts: list[str]) -> str:
    """A list in prose.

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# -- how two prices compare ------------------------------------------------------------------


def compared(rng: random.Random, multiplier: Fraction, other: str) -> str:
    """What follows "costs" when it is ``multiplier`` times the price of ``other``.

    >>> compared(random.Random(1), Fraction(2), "the Reed")
    'twice the price of the Reed'
    """
    ways = []
    if multiplier in _PARTS_OF:
        factor = _PARTS_OF[multiplier]
        ways += [f"{factor} the price of {other}", f"{factor} what {other} costs"]
        if multiplier > 1:
            ways.append(f"{factor} as much as {other}")
    if multiplier == HALF_AS_MUCH:
        ways.append(f"half as much again as {other}")
    if multiplier < 2 and multiplier != Fraction(1, 2):
        ways += _by_percent(rng, multiplier, other)
    return rng.choice(ways)


def compared_to_that(rng: random.Random, multiplier: Fraction) -> str:
    """The same when the other price has just been named: "twice that"."""
    if multiplier in _PARTS_OF and rng.random() < 0.7:
        return f"{_PARTS_OF[multiplier]} that"
    if multiplier < 2:
        return rng.choice(_by_percent(rng, multiplier, "that"))
    return f"{_PARTS_OF[multiplier]} that"


def _by_percent(rng: random.Random, multiplier: Fraction, other: str) -> list[str]:
    percent = abs(int((multiplier - 1) * 100))
    written = rng.choice([f"{percent}%", f"{percent} percent", f"{in_words(percent)} percent"])
    return [f"{written} {'more' if multiplier > 1 else 'less'} than {other}"]


# -- how far away a day is -------------------------------------------------------------------


def days_away(rng: random.Random, base: date, target: date, plain: bool = False) -> str:
    """``target`` as somebody speaks of it on ``base``; never today. `plain`: only words that go
    with "from ... to ..." and in lists."""
    offset = (target - base).days
    distance, past = abs(offset), offset < 0
    number = in_words(distance) if plain or rng.random() < 0.7 else str(distance)
    ways: list[str] = []
    if distance > 1:
        ways = [f"{number} days ago"] if past else [f"in {number} days", f"{number} days from now"]
    if distance > 1 and past and not plain:
        ways.append(f"{number} days back")
    if distance == 1:
        ways = ["yesterday" if past else "tomorrow"]
    if distance == 2:
        ways.append("the day before yesterday" if past else "the day after tomorrow")
    if distance == 7:
        ways += ["a week ago", "exactly a week ago"] if past else ["in a week", "a week from today"]
    if distance == 14:
        ways += ["a fortnight ago", "two weeks ago"] if past else ["in a fortnight", "in two weeks"]
    if 2 <= distance <= 6 and not plain:
        ways.append(f"this {'past' if past else 'coming'} {WEEKDAYS[target.weekday()]}")
    return rng.choice(ways)


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
        head = f"From: {name}\nDate: {WEEKDAYS[written.weekday()]}, {day}, {clock}"
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
    """The day as the document gives it. Where days are asked for it is all digits: queries spell
    the month, and a month in common would find the document without any reasoning."""
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
