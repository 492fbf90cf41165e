"""Hand-written cases of facts, one plain text file per kind, and how they are counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
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

    def is_met_by(self, fact: Fact) -> bool:
        """Whether kind of value and value agree; values to a thousandth."""
        near = all(
            abs(mine - yours) <= 1e-3 * max(1.0, abs(mine))
            for mine, yours in ((self.low, fact.low), (self.high, fact.high))
        )
        return near and self.unit == fact.unit


@dataclass(frozen=True, slots=True)
class Case:
    """A text in some style and all facts it holds."""

    style: str
    text: str
    expected: tuple[Expected, ...]


def _blocks(name: str) -> Iterator[tuple[str, str, list[str]]]:
    """Style, text and further lines of each case of a file beside this one."""
    path = Path(__file__).with_name(name)
    for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            head = re.fullmatch(r"\[([\w-]+)\] (.+)", lines[0])
            assert head, f"{name}: {lines[0]!r} begins no case"
            yield head[1], head[2], lines[1:]


def read_cases(name: str) -> Iterator[Case]:
    """The cases of a file beside this one; its first lines say how it is written."""
    for style, text, lines in _blocks(name):
        yield Case(style, text, tuple(map(_expected, lines)))


def _expected(line: str) -> Expected:
    place = re.fullmatch(r"= ([A-Z]{2}(?:-\w+)?)", line)
    if place:
        return Expected(0.0, 0.0, place[1])
    amount = re.fullmatch(r"= (-?[\d.]+)(?:-([\d.]+))? (\S+)(?: \| (.+))?", line)
    assert amount, f"{line!r} is no amount"
    low = float(amount[1])
    return Expected(low, float(amount[2] or low), amount[3], amount[4] or "")


Value = tuple[float, float, str, str]
"""Low, high, unit and recurrence of a fact."""


@dataclass(frozen=True, slots=True)
class MixedCase:
    """A text, the values of all its facts, and those that may be found and need not."""

    style: str
    text: str
    expected: tuple[Value, ...]
    maybe: tuple[Value, ...]


def read_mixed(name: str) -> Iterator[MixedCase]:
    """The cases of a file of facts of all kinds."""
    for style, text, lines in _blocks(name):
        values = {sign: tuple(_value(x) for x in lines if x[0] == sign) for sign in "=?"}
        yield MixedCase(style, text.replace("\\n", "\n"), values["="], values["?"])


def _value(line: str) -> Value:
    days = re.fullmatch(r". (\d{4}-\d\d-\d\d)(?:/(\d{4}-\d\d-\d\d))?(?: (\S+))?", line)
    if days:
        low, high = (date.fromisoformat(days[n] or days[1]).toordinal() for n in (1, 2))
        return float(low), float(high), "day", days[3] or ""
    one = _expected(f"={line[1:]}")
    return one.low, one.high, one.unit, ""


def values_of(text: str, document_date: date | None = None) -> dict[Value, Fact]:
    """The facts of a text by their value, without the time stamps of messages."""
    stamps = [message.time_span for message in messages(text) if message.time_span]
    return {
        (fact.low, fact.high, fact.unit, fact.recurrence): fact
        for fact in reversed(find_facts(text, document_date))
        if not any(low <= fact.span[0] and fact.span[1] <= high for low, high in stamps)
    }


def is_near(one: Value, other: Value) -> bool:
    """Whether two values are the same: days exactly, amounts to a thousandth."""
    slack = 0.0 if one[2] == "day" else 1e-3
    pairs = ((one[0], other[0]), (one[1], other[1]))
    near = all(abs(a - b) <= slack * max(1.0, abs(a)) for a, b in pairs)
    return near and one[2:] == other[2:]


@dataclass(slots=True)
class Count:
    """What was found, over many cases."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    bound: int = 0
    to_bind: int = 0

    def add(self, expected: tuple[Expected, ...], found: tuple[Fact, ...]) -> None:
        """Pair the facts of one text with what was expected of it."""
        left = list(expected)
        for fact in found:
            fits = [one for one in left if one.is_met_by(fact)]
            fits.sort(key=lambda one: not _belongs(one, fact))
            if not fits:
                self.wrong += 1
                continue
            left.remove(fits[0])
            self.right += 1
            self.to_bind += bool(fits[0].about)
            self.bound += bool(fits[0].about) and _belongs(fits[0], fact)
        self.missed += len(left)

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed)

    @property
    def binding(self) -> float:
        """Of the amounts found whose owner the case names, the share bound to it."""
        return self.bound / self.to_bind


def _belongs(expected: Expected, fact: Fact) -> bool:
    return any(expected.about.lower() in words.lower() for words in fact.about)
