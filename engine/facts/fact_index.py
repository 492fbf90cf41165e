"""Which documents of a corpus hold the facts that a query asks for."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from dateutil.rrule import rrulestr
from numpy.typing import NDArray

from engine.types.documents import Fact, FactMatch

CLOSE = 0.001  # Amounts whose difference is at most this share of them are the same: people round
ELSEWHERE = 0.3
"""How well a country answers for a region in it: what is there may be in another region."""
WEIGHT = {"date": 1.0, "amount": 1.0, "place": 0.5}
"""How much an answer counts by kind: what a text says of a place need not have happened there."""
Doubles = NDArray[np.float64]
Value = tuple[float, float, str, float]
"""low, high, unit and confidence of a fact: those of a large corpus as objects take gigabytes."""


@dataclass(frozen=True, slots=True)
class FactColumn:
    """Facts of one kind as arrays (f,), one entry per fact."""

    low: Doubles
    high: Doubles
    unit: NDArray[np.str_]
    confidence: Doubles
    recurring: dict[int, Fact]  # entries that recur, which arithmetic alone does not decide

    @classmethod
    def of(cls, values: Sequence[Value], recurring: dict[int, Fact]) -> FactColumn:
        """The arrays of these values, in their order."""
        low, high, unit, confidence = zip(*values, strict=True) if values else ((),) * 4
        return cls(
            low=np.array(low, dtype=np.float64),
            high=np.array(high, dtype=np.float64),
            unit=np.array(unit, dtype=np.str_),
            confidence=np.array(confidence, dtype=np.float64),
            recurring=recurring,
        )

    def answers(self, asked: Fact) -> Doubles:
        """How probably each fact (f,), of the kind of ``asked``, is what is meant: 0 to 1. The
        confidence in both, times the share of the fact's values that are asked for: a day is surely
        in a month that is asked for, a month is hardly the day that is."""
        if not len(self.unit):
            return np.zeros(0)
        shares = self._places(asked.unit) if asked.kind == "place" else self._ranges(asked)
        for i in [i for i in self.recurring if shares[i] > 0]:
            shares[i] = _recurs(self.recurring[i], asked)
        return np.asarray(asked.confidence * self.confidence * shares)

    def _ranges(self, asked: Fact) -> Doubles:
        slack = CLOSE * abs(asked.low) if asked.kind == "amount" else 0.0
        step = 1.0 if asked.kind == "date" else 0.0  # days are counted, amounts are measured
        common = np.minimum(self.high, asked.high + slack) - np.maximum(
            self.low, asked.low - slack
        )  # below 0 where they do not meet
        width = self.high - self.low + step
        share = np.where(width > 0, (common + step) / np.where(width > 0, width, 1.0), 1.0)
        meets = (self.unit == asked.unit) & (common >= 0)
        return np.where(meets, np.clip(share, 0.0, 1.0), 0.0)

    def _places(self, asked: str) -> Doubles:
        inside = (self.unit == asked) | np.char.startswith(self.unit, f"{asked}-")
        country = asked.split("-", maxsplit=1)[0]
        around = (self.unit == country) & (country != asked)
        return np.where(inside, 1.0, np.where(around, ELSEWHERE, 0.0))


def _recurs(fact: Fact, asked: Fact) -> float:
    """1 when a day on which ``fact`` recurs is asked for, else 0."""
    low, high = int(max(fact.low, asked.low)), int(min(fact.high, asked.high))
    start = datetime.fromordinal(_near(fact, low))
    rule = rrulestr(fact.recurrence, dtstart=start, ignoretz=True)
    first = rule.after(datetime.fromordinal(low), inc=True)
    return 1.0 if first is not None and first.toordinal() <= high else 0.0


def _near(fact: Fact, day: int) -> int:
    """A day, at most one period before ``day``, from which the rule runs as from its first. A rule
    is walked through from its start: for years, were it not begun near by."""
    first = int(fact.low)
    rule = dict(part.split("=", 1) for part in fact.recurrence.split(";"))
    length = {"DAILY": 1, "WEEKLY": 7}.get(rule["FREQ"])
    if length is None or "COUNT" in rule:
        return first  # of months and years there are few
    period = length * int(rule.get("INTERVAL", 1))
    return first + (day - first) // period * period


def _value(fact: Fact) -> Value:
    return fact.low, fact.high, fact.unit, fact.confidence


def matches(asked: Iterable[Fact], facts: Sequence[Fact]) -> tuple[FactMatch, ...]:
    """The best answer among a document's facts to each fact that is asked for and answered."""
    out = []
    for fact in asked:
        alike = [f for f in facts if f.kind == fact.kind]
        recurring = {i: other for i, other in enumerate(alike) if other.recurrence}
        answers = FactColumn.of([_value(other) for other in alike], recurring).answers(fact)
        if answers.size and answers.max() > 0:
            best = int(answers.argmax())
            out.append(FactMatch(fact, alike[best], float(answers[best])))
    return tuple(out)


class FactIndex:
    """The facts of n documents, as arrays. Made once per opened corpus. `facts`: of every document,
    in the order of its rows."""

    def __init__(self, facts: Iterable[Sequence[Fact]]) -> None:
        values: defaultdict[str, list[Value]] = defaultdict(list)
        rows: defaultdict[str, list[int]] = defaultdict(list)
        recurring: defaultdict[str, dict[int, Fact]] = defaultdict(dict)
        self.documents = 0
        for row, of_document in enumerate(facts):
            self.documents += 1
            for fact in of_document:
                if fact.recurrence:
                    recurring[fact.kind][len(rows[fact.kind])] = fact
                rows[fact.kind].append(row)
                values[fact.kind].append(_value(fact))
        self._rows = {kind: np.array(of_kind) for kind, of_kind in rows.items()}
        self._columns = {k: FactColumn.of(of_kind, recurring[k]) for k, of_kind in values.items()}

    def scores(self, asked: Sequence[Fact], allowed: NDArray[np.bool_] | None = None) -> Doubles:
        """How well each document answers what is asked, (n,), 0 to 1.

        The mean over the facts that are asked for of how well the document's best fact answers
        (:meth:`FactColumn.answers`) times :data:`WEIGHT`, weighed by how few documents do. A
        fact that none of them answers tells nothing about any and is left out; one that is
        named several times counts once.

        `allowed`: (n,) which documents may answer; None for all.
        """
        total = np.zeros(self.documents)
        weights = 0.0
        different = {(f.kind, f.low, f.high, f.unit): f for f in asked}
        for fact in different.values():
            answers = self._answers(fact)
            if allowed is not None:
                answers = np.where(allowed, answers, 0.0)
            if answers.any():
                weight = self._rarity(answers)
                total += WEIGHT[fact.kind] * weight * answers
                weights += weight
        return total / weights if weights else total

    def _answers(self, asked: Fact) -> Doubles:
        out = np.zeros(self.documents)
        if asked.kind in self._columns:
            answers = self._columns[asked.kind].answers(asked)
            np.maximum.at(out, self._rows[asked.kind], answers)
        return out

    def _rarity(self, answers: Doubles) -> float:
        """Inverse document frequency, as in BM25."""
        count = int((answers > 0).sum())
        return math.log1p((self.documents - count + 0.5) / (count + 0.5))
