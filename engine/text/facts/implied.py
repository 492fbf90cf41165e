"""Amounts that follow from stated ones: carried along relations, over several steps.

What contradicts itself, runs in a circle without a stated amount, mixes currencies or would
divide by zero gives nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.text.facts.relations import Relation
from engine.text.facts.things import Thing
from engine.text.facts.units import Quantity, format_amount, round_in
from engine.types.documents import Span
from engine.types.facts import Fact

STATED = 0.95
"""Confidence of a stated amount."""

STEP = 0.7
"""Confidence of an amount that is itself a difference ("30 euros more")."""

NAMED, UNNAMED = 0.9, 0.8
"""Confidence of an implied amount: the object is named, or left to be understood."""

TOLERANCE = 0.011
"""How far, as a share, an amount may be off before it contradicts a relation: rounding."""

HEDGED = 0.75
"""Factor on the confidence of an implied amount that is said to be rough ("nearly twice")."""

CHAINED = 0.95
"""Factor on the confidence of an implied amount, for each step more."""


CHOSEN, PASSED_OVER = 0.97, 0.6
"""Least confidence of what was chosen; factor on that of what was not."""


@dataclass(slots=True)
class Amount:
    """An amount of a thing.

    Attributes:
        low, high, unit: its value.
        span: the words that state it, or of the relation that gives it.
        base: the stated amount at the beginning of the chain.
        derivation: "" for a stated one.
        confidence: of the fact.
    """

    low: float
    high: float
    unit: str
    dimension: str
    span: Span
    base: Span
    derivation: str = ""
    confidence: float = STATED


@dataclass(slots=True)
class Link:
    """A relation between two things."""

    relation: Relation
    subject: Thing
    object: Thing
    confidence: float


def solve(
    text: str,
    amounts: dict[Thing, list[Amount]],
    links: list[Link],
    name: Callable[[Thing], str],
) -> None:
    """Add to ``amounts`` what follows along ``links``, in both directions, until nothing does.

    Args:
        text: that the amounts and the relations were read from.
        amounts: of each thing, stated ones first; changed in place.
        links: the relations between things.
        name: what to call a thing in a derivation.
    """
    waiting = links
    moved = True
    while moved and waiting:
        moved = False
        still = []
        for link in waiting:
            found = _step(text, amounts, link, name)
            if found is None:
                still.append(link)
            else:
                amounts.setdefault(found[0], []).append(found[1])
                moved = True
        waiting = still
    _drop_contradictions(amounts, links)


def _step(
    text: str,
    amounts: dict[Thing, list[Amount]],
    link: Link,
    name: Callable[[Thing], str],
) -> tuple[Thing, Amount] | None:
    """The amount that one link gives, with its thing; None when it gives none (yet)."""
    subject, known = amounts.get(link.subject, []), amounts.get(link.object, [])
    base = pick(known, link.relation)
    if base and not pick(subject, link.relation, base.dimension):
        named = name(link.object)
        derived = derive(text, base, link.relation, named, link.confidence)
        return (link.subject, derived) if derived else None
    base = pick(subject, link.relation)
    if base is None or pick(known, link.relation, base.dimension):
        return None
    turned = _invert(text, base, link.relation, name(link.subject), link.confidence)
    return (link.object, turned) if turned else None


def _drop_contradictions(amounts: dict[Thing, list[Amount]], links: list[Link]) -> None:
    """Where a relation does not hold between two amounts, those that are implied go."""
    for link in links:
        base = pick(amounts.get(link.object, []), link.relation)
        amount = (
            pick(amounts.get(link.subject, []), link.relation, base.dimension) if base else None
        )
        if base is None or amount is None or amount.unit != base.unit:
            continue
        expected = base.low * link.relation.factor + link.relation.offset
        if abs(expected - amount.low) > TOLERANCE * max(1.0, abs(expected)):
            for thing in (link.subject, link.object):
                amounts[thing] = [one for one in amounts[thing] if not one.derivation]


def stated(quantity: Quantity, confidence: float) -> Amount:
    """A stated amount."""
    return Amount(
        round_in(quantity.low, quantity.unit), round_in(quantity.high, quantity.unit),
        quantity.unit, quantity.dimension, quantity.span, quantity.span, "", confidence,
    )  # fmt: skip


def pick(amounts: list[Amount], relation: Relation, dimension: str | None = None) -> Amount | None:
    """The amount that a relation speaks of: the last before it, else the first after it."""
    fits = [
        amount
        for amount in amounts
        if (not relation.dimensions or amount.dimension in relation.dimensions)
        and (dimension is None or amount.dimension == dimension)
        and amount.dimension != "percent"
    ]
    before = [amount for amount in fits if amount.span[0] < relation.span[0]]
    return before[-1] if before else fits[0] if fits else None


def derive(
    text: str, base: Amount, relation: Relation, name: str, confidence: float
) -> Amount | None:
    """The subject's amount; None when currencies differ or nothing would be left."""
    if relation.unit and relation.unit != base.unit:
        return None
    low = round_in(base.low * relation.factor + relation.offset, base.unit)
    high = round_in(base.high * relation.factor + relation.offset, base.unit)
    how = f"'{text[slice(*relation.span)].strip()}', from {value_of(base)} of {name}"
    return _follow(base, low, high, relation.span, how, confidence)


def _invert(
    text: str, base: Amount, relation: Relation, name: str, confidence: float
) -> Amount | None:
    """The object's amount; None when currencies differ or the relation cannot be turned."""
    if relation.factor <= 0 or (relation.unit and relation.unit != base.unit):
        return None
    low = round_in((base.low - relation.offset) / relation.factor, base.unit)
    high = round_in((base.high - relation.offset) / relation.factor, base.unit)
    words = text[slice(*relation.span)].strip()
    how = f"{name} at {value_of(base)} is '{words}' it"
    return _follow(base, low, high, relation.span, how, confidence)


def _follow(
    base: Amount, low: float, high: float, span: Span, how: str, confidence: float
) -> Amount | None:
    if not 0 < low <= high < 1e15:
        return None
    if base.derivation:
        how = f"{how} ({base.derivation})"
        confidence *= CHAINED
    return Amount(low, high, base.unit, base.dimension, span, base.base, how, confidence)


def value_of(amount: Amount) -> str:
    """The amount for people."""
    return format_amount(amount.low, amount.high, amount.unit)


def weighed(amount: Amount, *, chosen: bool | None) -> Amount:
    """The amount with its confidence raised or lowered by whether its thing was chosen.

    Args:
        amount: of the thing.
        chosen: None when the text does not say what was.
    """
    if chosen is None:
        return amount
    if chosen:
        return replace(amount, confidence=max(CHOSEN, amount.confidence))
    return replace(amount, confidence=amount.confidence * PASSED_OVER)


def as_fact(amount: Amount, about: tuple[str, ...]) -> Fact:
    """The fact of an amount that belongs to what ``about`` names."""
    return Fact(
        kind="amount",
        low=amount.low,
        high=amount.high,
        unit=amount.unit,
        text=value_of(amount),
        span=amount.span,
        derivation=amount.derivation,
        anchor=amount.base if amount.derivation else None,
        about=about,
        implied=bool(amount.derivation),
        confidence=round(amount.confidence, 3),
    )
