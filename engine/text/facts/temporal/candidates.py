"""What is found before it is resolved: an expression of time and how to resolve it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from engine.text.facts.temporal.periods import Grain, Period
from engine.types.documents import Span

Kind = Literal["stated", "partial", "weekday", "deictic", "anaphoric", "offset"]


@dataclass(frozen=True, slots=True)
class Anchor:
    """What an expression is resolved against.

    Attributes:
        low, high, grain: its days.
        span: where it stands in the text; None for the document's date.
        words: it for people: "a message of 29 February 2024".
        moment: the time of day as well, where it is known.
        kind: who gives it.
        tense: that of the words to be resolved: -1 past, 1 future, 0 unknown.
    """

    low: date
    high: date
    span: Span | None
    words: str
    grain: Grain = "day"
    moment: datetime | None = None
    kind: Literal["message", "document", "text"] = "message"
    tense: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """An expression of time.

    Attributes:
        span: where.
        kind: "stated" stands for itself; "partial" lacks its year and takes the nearest from any
            anchor; "weekday" and "deictic" count from the time of writing, "anaphoric" from the
            date last told; "offset" from the date or event that follows it.
        resolve: from an anchor to the days that are meant, None when it does not tell.
        confidence: 0 to 1.
        tail: for an offset, where the words of that date or event begin.
    """

    span: Span
    kind: Kind
    resolve: Callable[[Anchor], Period | None]
    confidence: float = 1.0
    tail: int = 0


def stated(span: Span, period: Period, confidence: float = 1.0) -> Candidate:
    """Return the candidate for days that are given in full."""
    return Candidate(span, "stated", lambda _: period, confidence)


class Found:
    """Candidates in order of their place, looked up by it."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self.all = sorted(candidates, key=lambda c: (c.span[0], -c.span[1], c.kind))
        self._starts = [candidate.span[0] for candidate in self.all]

    def beginning(self, low: int, high: int) -> list[Candidate]:
        """Return those that begin at ``low`` or later, and before ``high``."""
        return self.all[bisect_left(self._starts, low) : bisect_left(self._starts, high)]

    def covering(self, position: int, earliest: int) -> Candidate | None:
        """Return the longest that begins after ``earliest`` and goes on beyond ``position``."""
        near = [c for c in self.beginning(earliest + 1, position + 5) if c.span[1] > position]
        return max(near, key=lambda c: c.span[1], default=None)


FUTURE = re.compile(
    r"\b(?:will|shall|won't|won’t|going to|gonna|due|deadline|please|let's|let’s|should|must|can"
    r"|can't|can’t|could you|would you|expires?|starts?|begins?|ends?|leaves?|(?:re)?opens?|closes?"
    r"|returns?|meets?|arrives?|runs?|takes? place|lasts?|see you|(?:is|are|be|'s|’s) (?:\w+ly )?"
    r"(?:scheduled|planned|set|expected|booked|due|away|off|back|\w+ing)|plans?|hope|hopes|intends?|upcoming|tomorrow)\b"
    r"|['’]ll\b"
)
PAST = re.compile(
    r"\b(?:was|were|wasn't|weren't|had|did|didn't|didn’t|haven't|haven’t|hasn't|been|came|went|got"
    r"|saw|took|said|told|sent|made|found|gave|bought|lost|won|broke|began|ran|fell|held|kept"
    r"|sold|paid|spoke|wrote|ate|drank|drove|flew|slept|met|left|felt|knew|thought|became|began"
    r"|caught|chose|built|brought|taught|sat|stood|woke|wore|rose|grew|led|spent|swam|sang|sank"
    r"|struck|heard|understood|forgot|threw|drew|hid|rode|shook|shot|slid|stuck|swore|tore"
    r"|(?!need\b|feed\b|speed\b|seed\b|indeed\b|exceed\b|proceed\b|succeed\b|bed\b|red\b|shed\b"
    r"|embed\b|hundred\b|wed\b|ted\b|fred\b|interested\b|supposed\b|scheduled\b|planned\b)[a-z]+ed)\b"
)
PASSIVE = re.compile(
    r"\b(?:is|are|be|being|am) (?:\w+ly )?[a-z]+(?:ed|id|pt|ent|wn|en|ld|ght|lt)\b"
)
"""The present passive: its participle is no past."""
COPULA = re.compile(r"(?:\b(?:is|are)|['’]s|\bam)(?:\s(?:not|only|on|this|the|for|from|by))*\s*$")
CLAUSE_END = re.compile(r"[.;!?:\n](?=\s|$)|$")
CLAUSE_START = re.compile(r"[.;!?:\n](?=\s)")


def tense_at(lowered: str, span: Span) -> int:
    """Return the tense around an expression: -1 past, 1 future, 0 when no word tells.

    Of the words that tell in its clause the nearest decides, those before it first.
    """
    reach = lowered[max(0, span[0] - 160) : span[0]]
    before = reach[max((m.end() for m in CLAUSE_START.finditer(reach)), default=0) :]
    stop = CLAUSE_END.search(lowered, span[1], min(len(lowered), span[1] + 160))
    after = lowered[span[1] : stop.start() if stop else span[1] + 160]
    if COPULA.search(before):
        return 1
    for piece, end in ((before, -1), (after, 0)):
        marks = [(m.span(), 1) for m in FUTURE.finditer(piece)]
        covered = [place for place, _ in marks] + [m.span() for m in PASSIVE.finditer(piece)]
        marks += [
            (m.span(), -1)
            for m in PAST.finditer(piece)
            if not any(low <= m.start() < high for low, high in covered)
        ]
        if marks:
            return sorted(marks)[end][1]
    return 0
