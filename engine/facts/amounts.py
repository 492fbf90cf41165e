"""Amounts that a text states, and those that follow from them.

A stated amount is bound to what it belongs to; relations between things
(:mod:`engine.facts.relations`) then give the amounts that are only implied, in either
direction and over several steps. What contradicts itself, is circular without a stated
amount, mixes currencies or would divide by zero gives nothing.

Confidence is coarse, by the way in which a fact was got.
Where a text says which thing was chosen in the end ("we settled on the steel frame"), that
thing's amounts are raised and those of the others lowered: a question about a price rarely means
what was only compared with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import dropwhile

from engine.facts.numbers import Number, find_numbers
from engine.facts.phrases import (
    DETERMINERS,
    LISTS,
    STOPS,
    Thing,
    Things,
    Words,
    keys_of,
    phrase_after,
    phrase_before,
)
from engine.facts.relations import (
    Relation,
    find_change,
    find_choices,
    find_relations,
    is_denied,
    is_of_several,
    is_of_unread,
    measured,
)
from engine.facts.units import Quantity, dimension_of, find_quantities, format_amount, round_in
from engine.types.documents import Fact, Span

# Confidence of an amount that is stated, or itself a difference ("30 euros more"); of an implied
# one whose object is named, or left to be understood
STATED, STEP, NAMED, UNNAMED = 0.95, 0.7, 0.9, 0.8
# Factors on it: said to be rough ("nearly twice"); for each step more
HEDGED, CHAINED = 0.75, 0.95
# Least confidence of what was chosen; factor on that of what was not
CHOSEN, PASSED_OVER = 0.97, 0.6
TOLERANCE = 0.011
"""How far, as a share, an amount may be off before it contradicts a relation: rounding."""


@dataclass(slots=True)
class Link:
    """A relation between two things."""

    relation: Relation
    subject: Thing
    object: Thing
    confidence: float


def _fact(
    low: float,
    high: float,
    unit: str,
    span: Span,
    confidence: float,
    how: str = "",
    anchor: Span | None = None,
) -> Fact:
    """The fact of an amount; what it belongs to is not known yet. `how`: it is implied, else ""."""
    low, high = round_in(low, unit), round_in(high, unit)
    text = format_amount(low, high, unit)
    return Fact("amount", low, high, unit, text, span, how, anchor, (), bool(how), confidence)


def _stated(quantity: Quantity, confidence: float = STATED) -> Fact:
    return _fact(quantity.low, quantity.high, quantity.unit, quantity.span, confidence)


def pick(amounts: list[Fact], relation: Relation, dimension: str | None = None) -> Fact | None:
    """The amount that a relation speaks of: the last before it, else the first after it."""

    def fits(amount: Fact) -> bool:
        measures = dimension_of(amount.unit)
        return (
            (not relation.dimensions or measures in relation.dimensions)
            and (dimension is None or measures == dimension)
            and measures != "percent"
        )

    start = relation.span[0]
    before = (one for one in reversed(amounts) if one.span[0] < start and fits(one))
    return next(before, None) or next(filter(fits, amounts), None)


def weighed(confidence: float, *, chosen: bool | None) -> float:
    """Confidence raised or lowered by whether the thing was chosen; None when that is not said."""
    if chosen is None:
        return confidence
    return max(CHOSEN, confidence) if chosen else confidence * PASSED_OVER


_RATE = r"(?:\s+(?:an?|per|each|every)\s+[a-z]+)?"
_FOR = re.compile(rf"{_RATE}\s+(?:for|on)\s+(?=(?:the|an?|my|our|your|his|her|their|this)\b|[A-Z])")
_FOR_ANY = re.compile(rf"{_RATE}\s+(?:for|on)\s+(?=[^\W\d])")
_OF_NOUN = re.compile(r"\s+(?:of\s+)?(?=[^\W\d])")
_EACH = re.compile(r"\s+(?:each|apiece)\b", re.IGNORECASE)
_OF_THOSE = re.compile(r"\bof\s+(?:the\s+)?$", re.IGNORECASE)
_COUNTED = re.compile(r"\s+(?P<noun>[a-z][\w -]{1,30}?)\s+(?:at|for)\s*$", re.IGNORECASE)


def find_amounts(text: str) -> tuple[Fact, ...]:
    """Stated and implied amounts with a currency or a unit, in the order of their words.

    A text without an amount implies none. In a query this gives its own amounts.

    >>> facts = find_amounts("The CD is 15 euros. The LP costs twice as much as the CD.")
    >>> [(fact.text, fact.about, fact.implied) for fact in facts]
    [('15 EUR', ('CD',), False), ('30 EUR', ('LP',), True)]
    """
    numbers = find_numbers(text)
    quantities = find_quantities(text, numbers)
    facts = _Reading(text, numbers, quantities).facts() if quantities else ()
    return tuple(sorted(facts, key=lambda fact: fact.span))


class _Reading:
    """One text, read once from its beginning to its end."""

    def __init__(
        self, text: str, numbers: tuple[Number, ...], quantities: tuple[Quantity, ...]
    ) -> None:
        self._text = text
        self._numbers = numbers
        self._quantities = quantities
        self._words = Words(text)
        self._things = Things(text)
        self._taken = {quantity.span[1] for quantity in quantities}
        self._amounts: dict[Thing, list[Fact]] = {}
        self._values: dict[tuple[Thing, str], set[float]] = {}
        self._extra: dict[Thing, Span] = {}
        self._at_end: dict[int, Thing] = {}
        self._links: list[Link] = []
        self._pending: list[tuple[Relation, Thing, bool]] = []
        self._loose: list[Fact] = []
        self._choices: tuple[Span, ...] = ()

    def facts(self) -> Iterator[Fact]:
        """Everything stated and implied."""
        relations = find_relations(self._text, self._numbers, self._quantities)
        steps = {relation.span[0] for relation in relations}
        self._taken |= {relation.span[1] for relation in relations}
        self._choices = tuple(find_choices(self._words, self._taken))
        events: list[Quantity | Relation] = sorted(
            [*self._quantities, *relations], key=lambda event: event.span
        )
        for event in events:
            if isinstance(event, Relation):
                self._relate(event)
            elif event.span[0] in steps:
                self._loose.append(_stated(event, STEP))
            else:
                self._state(event)
        self._change_own()
        self._solve()
        chosen = self._chosen()
        yield from self._loose
        for thing, amounts in self._amounts.items():
            about = self._about(thing)
            is_it = None if chosen is None else thing is chosen
            for amount in {(one.low, one.high, one.unit): one for one in amounts[::-1]}.values():
                confidence = round(weighed(amount.confidence, chosen=is_it), 3)
                yield replace(amount, about=about, confidence=confidence)

    def _state(self, quantity: Quantity) -> None:
        thing = self._owner(quantity)
        span = thing.names[-1] if thing.names else None
        others = self._values.get((thing, quantity.unit), set())
        differs = bool(others) and round_in(quantity.low, quantity.unit) not in others
        if span and differs and self._renames(thing, span):
            thing = self._things.distinct(span, thing)
        self._add(thing, _stated(quantity))
        self._at_end[quantity.span[1]] = thing
        self._things.recent.append(thing)
        self._count(quantity, thing)
        self._change(quantity, thing)

    def _add(self, thing: Thing, amount: Fact) -> None:
        """Note an amount, and its value by unit: a thing may have thousands."""
        self._amounts.setdefault(thing, []).append(amount)
        self._values.setdefault((thing, amount.unit), set()).add(amount.low)

    def _owner(self, quantity: Quantity) -> Thing:
        """What a stated amount belongs to; a thing without a name when the text does not say."""
        start, end = quantity.span
        words = self._words
        before = words.at(start) - 1
        previous = words.lower[before] if before >= 0 else ""
        after = self._after(quantity, previous, first=before <= words.at(words.sentence(start)))
        subject = phrase_before(words, start, self._taken)
        counted = quantity.dimension not in {"money", "percent"}
        if after is None and subject.span is None and counted:
            noun = _OF_NOUN.match(self._text, end)
            after = phrase_after(words, noun.end()).span if noun else None
        spent = _FOR if subject.span is None else _FOR_ANY
        paid_for = spent.match(self._text, end) if after is None else None
        item = phrase_after(words, paid_for.end()).span if paid_for else None
        if item and not subject.verbs & LISTS["owning"]:
            after = item
        if after is None and subject.span is None:
            known = self._at_end.get(subject.amount or -1)
            if known is None and subject.verbs - {":", "(", "-", "–", "—", "=", "for", "in", "of"}:
                known = self._spoken_of(start) if subject.recent else None
            return known or self._things.new()
        if after is None and subject.participle and self._links:
            link = self._links[-1]
            if link.relation.span[0] >= words.sentence(start):
                return link.subject
        thing = self._things.named(after or subject.span or (0, 0)) or self._things.new()
        if after and subject.span:
            self._extra[thing] = subject.span
        return thing

    def _after(self, quantity: Quantity, previous: str, *, first: bool) -> Span | None:
        """The phrase in "the 80 dollar headphones" and "at 80 dollars the headphones"."""
        end, words = quantity.span[1], self._words
        at = words.at(end)
        following = words.word(at)
        gap = self._text[end : words.starts[at]] if following != "." else ""
        if previous in DETERMINERS and gap in {" ", "-"} and following not in STOPS:
            return phrase_after(words, end).span if following[0].isalnum() else None
        at += following == ","  # "At 80 dollars, the headphones"
        if previous == "at" and first and words.word(at) in DETERMINERS:
            return phrase_after(words, words.starts[at]).span
        return None

    def _count(self, quantity: Quantity, thing: Thing) -> None:
        """ "4 tickets at 45 euros each" implies what they cost together."""
        start, end = quantity.span
        if not _EACH.match(self._text, end):
            return
        before = [number for number in self._numbers if number.span[1] < start]
        counted = _COUNTED.match(self._text[before[-1].span[1] : start]) if before else None
        if counted is None or before[-1].ordinal or before[-1].value <= 1:
            return
        first = before[-1].span[0]
        if _OF_THOSE.search(self._text, max(0, first - 8), first):
            return  # "3 of 5 boxes"
        total = before[-1].value * quantity.low
        how = f"{self._text[slice(*before[-1].span)]} at {quantity.text} each"
        whole = _fact(total, total, quantity.unit, (first, end), NAMED, how, quantity.span)
        self._add(thing, whole)

    def _change(self, quantity: Quantity, thing: Thing) -> None:
        """ "Rose 10 percent to 550 euros": what it was before."""
        change = find_change(self._text, quantity, self._quantities)
        if change is None:
            return
        factor, span = change
        value = quantity.low / factor
        how = f"before it '{self._text[slice(*span)].strip()}', to {quantity.text}"
        earlier = _fact(value, value, quantity.unit, span, UNNAMED, how, quantity.span)
        self._add(thing, earlier)

    def _relate(self, relation: Relation) -> None:
        """Note the relation between two things; an object left out is the last thing spoken of."""
        reference = phrase_before(self._words, relation.span[0], self._taken)
        if is_denied(self._words, relation):
            return
        relation = measured(relation, reference.verbs)
        subject = self._subject(relation, reference.span, reference.amount)
        if subject is None:
            return
        confidence = NAMED
        thing: Thing | None = None
        if relation.object_at is not None:
            if is_of_several(self._words, relation.object_at):
                return
            named = phrase_after(self._words, relation.object_at)
            if named.span:
                keys = keys_of(self._text[slice(*named.span)])
                subject = self._narrowed(subject, reference.span, keys)
                guessed = reference.span is None and subject.fits(keys) >= 4
                thing = None if guessed else self._things.named(named.span, than=subject)
                if thing is None:
                    return
            elif relation.object_required and not named.recent:
                return
        if thing is None:
            if is_of_unread(self._words, relation.span[0], self._taken):
                return
            confidence = UNNAMED
            subject, thing = self._understood(relation, subject, reference.span)
        if reference.verbs & LISTS["roughly"]:
            confidence *= HEDGED
        if thing is None:
            self._pending.append((relation, subject, bool(reference.verbs & LISTS["now"])))
        else:
            self._links.append(Link(relation, subject, thing, confidence))
        self._things.recent.append(subject)
        self._at_end[relation.span[1]] = subject

    def _renames(self, thing: Thing, span: Span) -> bool:
        """Whether a phrase, which says more than a thing's name, was taken for one more name."""
        return thing in self._amounts and self._things.is_narrower(span, thing)

    def _narrowed(self, subject: Thing, span: Span | None, other: frozenset[str]) -> Thing:
        """The subject, apart from what it is compared with: "the family ticket ... the ticket"."""
        if span and other in subject.keys and self._renames(subject, span):
            return self._things.distinct(span, subject)
        return subject

    def _understood(
        self, relation: Relation, subject: Thing, span: Span | None
    ) -> tuple[Thing, Thing | None]:
        """Subject and object where it is left out: "the rug; the small rug is half that"."""
        if span and subject is self._things.last() and self._renames(subject, span):
            return self._things.distinct(span, subject), subject
        thing = self._things.last(than=subject)
        if thing is None and subject not in self._amounts:
            spoken_of = self._antecedent(relation.span[0])
            thing = spoken_of if spoken_of is not subject else None
        return subject, thing

    def _subject(self, relation: Relation, span: Span | None, amount: int | None) -> Thing | None:
        if span is not None:
            return self._things.named(span)
        if amount is not None and amount in self._at_end:
            return self._at_end[amount]
        if relation.counted_at is not None:
            counted = phrase_after(self._words, relation.counted_at)
            if counted.span:
                return self._things.named(counted.span)
        return self._spoken_of(relation.span[0]) or self._things.new()

    def _spoken_of(self, before: int) -> Thing | None:
        """The thing with the last amount, else what was last chosen."""
        return self._things.last() or self._antecedent(before)

    def _antecedent(self, before: int) -> Thing | None:
        """What "it" is where no amount was spoken of: what was last chosen."""
        spans = [span for span in self._choices if span[1] <= before]
        return self._things.named(spans[-1]) if spans else None

    def _change_own(self) -> None:
        """A relation without an object, which changes the subject's own amount."""
        for relation, subject, now in self._pending:
            if now and list(self._amounts) == [subject]:
                own = pick(self._amounts[subject], relation)
                changed = self._derive(own, relation, "it", STEP) if own else None
                if changed:
                    self._amounts[subject].append(changed)

    def _solve(self) -> None:
        """Add what follows along the links, in both directions, until nothing does."""
        waiting, count = self._links, -1
        while len(waiting) != count:
            count = len(waiting)
            waiting = [link for link in waiting if not self._follow(link)]
        self._drop_contradictions()

    def _follow(self, link: Link) -> bool:
        """Add the amount that one link gives; False when it gives none (yet)."""
        subject, known = self._amounts.get(link.subject, []), self._amounts.get(link.object, [])
        relation = link.relation
        base = pick(known, relation)
        if base and not pick(subject, relation, dimension_of(base.unit)):
            thing, name = link.subject, self._name(link.object)
            implied = self._derive(base, relation, name, link.confidence)
        else:
            base = pick(subject, relation)
            if base is None or pick(known, relation, dimension_of(base.unit)):
                return False
            thing, name = link.object, self._name(link.subject)
            implied = self._derive(base, relation, name, link.confidence, back=True)
        if implied:
            self._amounts.setdefault(thing, []).append(implied)
        return implied is not None

    def _derive(
        self, base: Fact, relation: Relation, name: str, confidence: float, *, back: bool = False
    ) -> Fact | None:
        """The amount that follows from ``base``, which is that of ``name``. `back`: `base` is the
        subject's amount, and that of the object follows. Returns None when currencies differ,
        nothing would be left, or the relation cannot be turned."""
        if (relation.unit and relation.unit != base.unit) or (back and relation.factor <= 0):
            return None

        low, high = (
            (value - relation.offset) / relation.factor
            if back
            else value * relation.factor + relation.offset
            for value in (base.low, base.high)
        )
        if not 0 < round_in(low, base.unit) <= round_in(high, base.unit) < 1e15:
            return None
        words = self._text[slice(*relation.span)].strip()
        forth = f"'{words}', from {base.text} of {name}"
        how = f"{name} at {base.text} is '{words}' it" if back else forth
        if base.derivation:
            how = f"{how} ({base.derivation})"
            confidence *= CHAINED
        return _fact(low, high, base.unit, relation.span, confidence, how, base.anchor or base.span)

    def _drop_contradictions(self) -> None:
        """Where a relation does not hold between two amounts, those that are implied go."""
        for link in self._links:
            base = pick(self._amounts.get(link.object, []), link.relation)
            if base is None:
                continue
            of_subject = self._amounts.get(link.subject, [])
            amount = pick(of_subject, link.relation, dimension_of(base.unit))
            if amount is None or amount.unit != base.unit:
                continue
            expected = base.low * link.relation.factor + link.relation.offset
            if abs(expected - amount.low) > TOLERANCE * max(1.0, abs(expected)):
                for thing in (link.subject, link.object):
                    amounts = self._amounts[thing]
                    self._amounts[thing] = [one for one in amounts if not one.derivation]

    def _chosen(self) -> Thing | None:
        """The thing with an amount that the text says was bought or decided on, the last such."""
        if sum(bool(amounts) for amounts in self._amounts.values()) < 2:
            return None
        chosen = None
        for span in self._choices:
            thing = self._things.named(span, create=False)
            if thing is not None and thing in self._amounts:
                chosen = thing
        return chosen

    def _name(self, thing: Thing) -> str:
        return self._text[slice(*thing.names[0])] if thing.names else "it"

    def _about(self, thing: Thing) -> tuple[str, ...]:
        spans = [*thing.names, *([self._extra[thing]] if thing in self._extra else [])]
        phrases = (self._text[slice(*span)].split() for span in spans)
        names = (
            " ".join(dropwhile(lambda word: word.lower() in DETERMINERS, words))
            for words in phrases
        )
        told = dict.fromkeys(name for name in names if name.lower() not in LISTS["self"] | {""})
        return tuple(sorted(told, key=len, reverse=True)[:3])
