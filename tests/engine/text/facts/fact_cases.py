"""Hand-written cases of facts, one plain text file per kind, and how they are counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.types.facts import Fact


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


def read_cases(name: str) -> Iterator[Case]:
    """The cases of a file beside this one; its first lines say how it is written."""
    path = Path(__file__).with_name(name)
    for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        head = re.fullmatch(r"\[([\w-]+)\] (.+)", lines[0])
        assert head, f"{name}: {lines[0]!r} begins no case"
        yield Case(head[1], head[2], tuple(_expected(line) for line in lines[1:]))


def _expected(line: str) -> Expected:
    place = re.fullmatch(r"= ([A-Z]{2}(?:-\w+)?)", line)
    if place:
        return Expected(0.0, 0.0, place[1])
    amount = re.fullmatch(r"= (-?[\d.]+)(?:-([\d.]+))? (\S+)(?: \| (.+))?", line)
    assert amount, f"{line!r} is no amount"
    low = float(amount[1])
    return Expected(low, float(amount[2] or low), amount[3], amount[4] or "")


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
