"""Hand-written cases of facts, one plain text file per kind, and how they are counted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from engine.facts import find_facts
from engine.facts.message_headers import messages
from engine.types.documents import Fact


@dataclass(frozen=True, slots=True)
class Expected:
    """A fact that a text holds: value and unit, and a word of what it belongs to."""

    low: float
    high: float
    unit: str
    about: str = ""
    recurrence: str = ""

    def is_met_by(self, fact: Fact) -> bool:
        """Whether kind of value and value agree: days exactly, others to a thousandth."""
        slack = 0.0 if self.unit == "day" else 1e-3
        near = all(
            abs(mine - yours) <= slack * max(1.0, abs(mine))
            for mine, yours in ((self.low, fact.low), (self.high, fact.high))
        )
        return near and (self.unit, self.recurrence) == (fact.unit, fact.recurrence)

    def is_bound_in(self, fact: Fact) -> bool:
        """Whether a fact belongs to what this one does."""
        return any(self.about.lower() in words.lower() for words in fact.about)


@dataclass(frozen=True, slots=True)
class Case:
    """A text in some style, all facts it holds, and those that may be found and need not."""

    style: str
    text: str
    expected: tuple[Expected, ...]
    maybe: tuple[Expected, ...]


def read_cases(name: str) -> Iterator[Case]:
    """The cases of a file beside this one; its first lines say how it is written."""
    path = Path(__file__).with_name(name)
    for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            head = re.fullmatch(r"\[([\w-]+)\] (.+)", lines[0])
            assert head, f"{name}: {lines[0]!r} begins no case"
            facts = {sign: tuple(_expected(x) for x in lines[1:] if x[0] == sign) for sign in "=?"}
            yield Case(head[1], head[2].replace("\\n", "\n"), facts["="], facts["?"])


def _expected(line: str) -> Expected:
    if days := re.fullmatch(r". (\d{4}-\d\d-\d\d)(?:/(\d{4}-\d\d-\d\d))?(?: (\S+))?", line):
        low, high = (date.fromisoformat(days[n] or days[1]).toordinal() for n in (1, 2))
        return Expected(low, high, "day", recurrence=days[3] or "")
    if place := re.fullmatch(r". ([A-Z]{2}(?:-\w+)?)", line):
        return Expected(0.0, 0.0, place[1])
    amount = re.fullmatch(r". (-?[\d.]+)(?:-([\d.]+))? (\S+)(?: \| (.+))?", line)
    assert amount, f"{line!r} is no amount"
    return Expected(float(amount[1]), float(amount[2] or amount[1]), amount[3], amount[4] or "")


def facts_of(text: str, document_date: date | None = None) -> list[Fact]:
    """The facts of a text without the time stamps of messages."""
    stamps = [message.time_span for message in messages(text) if message.time_span]
    return [
        fact
        for fact in find_facts(text, document_date)
        if not any(low <= fact.span[0] and fact.span[1] <= high for low, high in stamps)
    ]


@dataclass(slots=True)
class Count:
    """What is wrong in what was found, over many cases."""

    wrong: int = 0
    missed: int = 0
    unbound: int = 0

    def add(self, case: Case, found: Collection[Fact]) -> None:
        """Pair the facts of one text with what was expected of it."""
        left = list(case.expected)
        for fact in found:
            fits = [one for one in left if one.is_met_by(fact)]
            fits.sort(key=lambda one: not one.is_bound_in(fact))
            if not fits:
                self.wrong += not any(one.is_met_by(fact) for one in case.maybe)
                continue
            left.remove(fits[0])
            self.unbound += bool(fits[0].about) and not fits[0].is_bound_in(fact)
        self.missed += len(left)
