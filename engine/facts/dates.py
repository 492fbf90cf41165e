"""From expressions of time to days: each against its nearest proper anchor."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property

from engine.facts.lexicon import word_lists
from engine.facts.message_headers import Message, messages
from engine.facts.periods import Anchor, Candidate, Candidates, Period, in_words, one_day
from engine.facts.recurring_dates import KEYS as RECURRING
from engine.facts.recurring_dates import Calendar, Recurring, event_at, find_recurring
from engine.facts.relative_dates import TOKEN, find_relative
from engine.facts.stated_dates import find_days, find_stated
from engine.types.documents import Fact, Span

LINK = re.compile(r"\s*(?:[-–—]|(?:to|until|till|through|thru)\s)")
AND = re.compile(r"\s+and\s")
BETWEEN = re.compile(r"\bbetween\s(?:the\s)?$")
MOVED = re.compile(
    r"\b(?:moved|postponed|rescheduled|changed|shifted|brought forward)\b[^.;]{0,40}$"
)
LISTS = word_lists("time")
FUTURE = re.compile(
    r"\b(?:will|shall|won't|won’t|going to|gonna|due|deadline|please|let's|let’s|should|must|can"
    r"|can't|can’t|could you|would you|expires?|starts?|begins?|ends?|leaves?|(?:re)?opens?|closes?"
    r"|returns?|meets?|arrives?|runs?|takes? place|lasts?|see you|(?:is|are|be|'s|’s) (?:\w+ly )?"
    r"(?:scheduled|planned|set|expected|booked|due|away|off|back|\w+ing)|plans?|hope|hopes|intends?|upcoming|tomorrow)\b"
    r"|['’]ll\b"
)
PAST = re.compile(
    rf"\b(?:{'|'.join(sorted(LISTS['past']))}|(?!(?:{'|'.join(sorted(LISTS['no_past']))})\b)[a-z]+ed)\b"
)
PASSIVE = re.compile(
    r"\b(?:is|are|be|being|am) (?:\w+ly )?[a-z]+(?:ed|id|pt|ent|wn|en|ld|ght|lt)\b"
)
"""The present passive: its participle is no past."""
COPULA = re.compile(r"(?:\b(?:is|are)|['’]s|\bam)(?:\s(?:not|only|on|this|the|for|from|by))*\s*$")
CLAUSE_END = re.compile(r"[.;!?:\n](?=\s|$)|$")
CLAUSE_START = re.compile(r"[.;!?:\n](?=\s)")
SAID = re.compile(
    r"\b(?:said|says|told\s\w+|announced|reported|wrote|added|confirmed|stated)(?:\sin\sa\s\w+)?\s$"
)
"""What comes before the day of a report, which is not the day of what is reported."""
OPENING = re.compile(r"\b(?:from|between|on|in|since|by|until|till)\s$")

STAMP_CONFIDENCE = 0.5
"""A time stamp tells when something was written, and only sometimes what it is about."""
BORROWED = 0.85  # Factor for a date that takes its year from another date of the text
DISTANT = 0.75
"""Factor for an expression that should follow a date, and has only the time of writing."""


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


@dataclass(frozen=True, slots=True)
class Resolved:
    """A candidate with its days, and the anchor they were got from (None: stated)."""

    span: Span
    period: Period
    anchor: Anchor | None
    confidence: float
    recurrence: str = ""
    event: str = ""


class Resolver:
    """The candidates of one text, and what they resolve to."""

    def __init__(self, text: str, document_date: date | None) -> None:
        lowered = text.lower()
        if len(lowered) != len(text):  # a few letters grow when they are lowered
            lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        self.text, self.lowered = text, lowered
        self.document_date = document_date
        tokens = list(TOKEN.finditer(lowered))
        self.words = frozenset(token[0] for token in tokens)
        stated = find_days(text)
        self.parts = messages(text, stated)
        every = [*find_stated(text, stated, self.words), *find_relative(text, lowered, tokens)]
        self.candidates = Candidates(every)
        self.chosen = Candidates(_apart(self.candidates.all))
        self.days = [
            (candidate.span, period)
            for part in self.parts
            for candidate in self.chosen.beginning(*part.span)
            if candidate.kind == "stated"
            and not _inside(candidate.span, part.time_span)
            and (period := _alone(candidate))
        ]
        self.calendar = Calendar(text, self.days)

    def resolve(self) -> list[Resolved]:
        """Return everything that could be resolved, in order of its place."""
        entries: list[Resolved] = []
        for part in self.parts:
            anchor = self._anchor(part)
            recurring = self._recurring(part, anchor)
            spans = [entry.span for entry in recurring]  # ascending, none overlaps another
            here = [
                candidate
                for candidate in self.chosen.beginning(*part.span)
                if (candidate.kind == "stated" or candidate.span[0] >= part.body[0])
                and not _inside_one(candidate.span, spans)
            ]
            plain = self._walk(part, here, anchor)
            entries += sorted([*recurring, *plain], key=lambda entry: entry.span)
        return entries

    def _anchor(self, part: Message) -> Anchor | None:
        if part.time is not None:
            day = part.time.date()
            clock = part.time_span and ":" in self.text[slice(*part.time_span)]
            words = f"a message of {in_words(one_day(day))}"
            return Anchor(day, day, part.time_span, words, moment=part.time if clock else None)
        if self.document_date is None or part.time_span is not None:
            return None  # a time that can be read in two ways is nearer than the document's date
        day = self.document_date
        return Anchor(day, day, None, f"a document of {in_words(one_day(day))}", kind="document")

    def _walk(
        self, part: Message, here: list[Candidate], anchor: Anchor | None
    ) -> Iterator[Resolved]:
        """Resolve in reading order: what was told last is the anchor of what follows."""
        last: Anchor | None = None
        skip = -1
        for index, candidate in enumerate(here):
            if index == skip:
                continue
            following = here[index + 1] if index + 1 < len(here) else None
            stamp = _inside(candidate.span, part.time_span)
            resolved = None
            if following and not stamp and self._linked(candidate, following):
                resolved = self._range(candidate, following, anchor, last)
                skip = index + 1 if resolved else -1
            resolved = resolved or self._one(candidate, anchor, last)
            if resolved is None or not resolved.period.plausible:
                continue
            if stamp:
                yield replace(resolved, confidence=STAMP_CONFIDENCE)
                continue
            yield resolved
            if not SAID.search(self.lowered, max(0, candidate.span[0] - 30), candidate.span[0]):
                last = _told(resolved.span, resolved.period)

    def _one(
        self, candidate: Candidate, anchor: Anchor | None, last: Anchor | None
    ) -> Resolved | None:
        if candidate.kind == "stated":
            period = _alone(candidate)
            return Resolved(candidate.span, period, None, candidate.confidence) if period else None
        if candidate.kind == "offset":
            return self._offset(candidate, anchor, last)
        if candidate.kind == "weekday" and self._is_moved(candidate):
            return None
        factor = 1.0
        against = anchor
        if candidate.kind == "weekday" and anchor and last and self._goes_on(candidate, last):
            against = last if last.low > anchor.high else anchor
        if candidate.kind == "anaphoric":
            against, factor = (last, 1.0) if last else (anchor, DISTANT)
        elif candidate.kind == "partial" and anchor is None:
            against, factor = last or self._first_told, BORROWED
        if against is None:
            return None
        period = self._against(candidate, against)
        if period is None:
            return None
        sure = candidate.confidence * period.certainty * factor
        return Resolved(candidate.span, period, against, sure)

    def _goes_on(self, candidate: Candidate, last: Anchor) -> bool:
        """Return whether a weekday continues the sentence of a date: "Monday ..., back Friday"."""
        return (
            last.span is not None
            and last.high - last.low < timedelta(days=7)
            and not CLAUSE_START.search(self.lowered, last.span[1], candidate.span[0])
        )

    def _against(self, candidate: Candidate, anchor: Anchor) -> Period | None:
        try:
            tense = tense_at(self.lowered, candidate.span)
            return candidate.resolve(replace(anchor, tense=tense))
        except (ValueError, OverflowError):
            return None

    @cached_property
    def _first_told(self) -> Anchor | None:
        """The text's only stated day, or the first of several in one year."""
        if len({period.low.year for _, period in self.days}) != 1:
            return None
        return _told(*self.days[0])

    def _linked(self, first: Candidate, second: Candidate) -> bool:
        """Return whether two expressions are the ends of one stretch."""
        joinable = ("stated", "partial", "weekday")
        if first.kind not in joinable or second.kind not in joinable:
            return False
        before = self.lowered[max(0, first.span[0] - 60) : first.span[0]]
        between = self.lowered[first.span[1] : second.span[1]]
        if second.span[0] - first.span[1] > 8 or self._is_moved(first):
            return False
        if LINK.match(between):
            return True
        return AND.match(between) is not None and BETWEEN.search(before) is not None

    def _is_moved(self, candidate: Candidate) -> bool:
        """Return whether the words tell of a change of plan: which of its days hold is unclear."""
        start = candidate.span[0]
        return MOVED.search(self.lowered, max(0, start - 60), start) is not None

    def _range(
        self, first: Candidate, second: Candidate, anchor: Anchor | None, last: Anchor | None
    ) -> Resolved | None:
        end = self._one(second, None, None) if second.kind == "stated" else None
        if first.kind == "partial" and end is not None:
            start = self._one(first, _told(end.span, end.period), None)
        else:
            start = self._one(first, anchor, last)
        if start is not None and end is None:
            period = second.resolve(replace(_told(start.span, start.period), tense=1))
            end = replace(start, period=period) if period else None
        if start is None or end is None or start.period.low > end.period.high:
            return None
        opening = OPENING.search(self.lowered, max(0, first.span[0] - 8), first.span[0])
        begin = opening.start() if opening else first.span[0]
        return Resolved(
            (begin, second.span[1]),
            Period(start.period.low, end.period.high, "range"),
            None if second.kind == "stated" and first.kind != "weekday" else start.anchor,
            min(start.confidence, end.confidence),
        )

    def _offset(
        self, candidate: Candidate, anchor: Anchor | None, last: Anchor | None
    ) -> Resolved | None:
        """Count from the date behind the expression, or from the event named there."""
        tail = candidate.tail
        behind = self.candidates.covering(tail, candidate.span[1])
        if behind is not None and behind.kind not in ("offset", "anaphoric"):
            target = self._one(behind, anchor, last)
            if target is None:
                return None
            against = _told(target.span, target.period)
            end, event = behind.span[1], ""
        else:
            named = event_at(self.text, tail)
            dated = named and self.calendar.date_of(named)
            if not named or not dated:
                return None
            against = _told(*dated)
            end, event = named[1], self.text[slice(*named)]
        days = self._against(candidate, against)
        if days is None:
            return None
        sure = candidate.confidence * days.certainty * (0.9 if event else 1.0)
        return Resolved((candidate.span[0], end), days, against, sure, event=event)

    def _recurring(self, part: Message, anchor: Anchor | None) -> list[Resolved]:
        """Return what recurs by the words of a part, its bounds resolved against its anchor."""
        used: list[Anchor] = []

        def resolve(candidate: Candidate) -> Period | None:
            resolved = self._one(candidate, anchor, None)
            if resolved and resolved.anchor:
                used.append(resolved.anchor)
            return resolved.period if resolved else None

        if self.words.isdisjoint(RECURRING):
            return []
        entries = find_recurring(self.lowered, part.body, self.candidates, resolve)
        firsts = (_first_time(entry, anchor, used) for entry in entries)
        return [first for first in firsts if first]


def _first_time(entry: Recurring, anchor: Anchor | None, used: list[Anchor]) -> Resolved | None:
    since = entry.low or (anchor.low if anchor else None)
    bounded = entry.low is not None or entry.high != date.max
    if since is None or (entry.needs_bounds and not bounded):
        return None
    low = entry.first(since)
    if low is None:
        return None
    against = None if entry.low and not used else anchor
    confidence = 0.95 if entry.low else 0.85 if bounded else 0.7
    if "INTERVAL" in entry.rule and not entry.low:
        confidence = 0.5  # which of the weeks is not said
    return Resolved(entry.span, Period(low, entry.high, "range"), against, confidence, entry.rule)


def _told(span: Span, period: Period) -> Anchor:
    """Return days that the text names as an anchor of what follows."""
    return Anchor(period.low, period.high, span, in_words(period), period.grain, kind="text")


def _alone(candidate: Candidate) -> Period | None:
    """Return the days of what needs no anchor."""
    return candidate.resolve(Anchor(date.min, date.min, None, ""))


def _apart(candidates: list[Candidate]) -> list[Candidate]:
    """Drop candidates that overlap an earlier or longer one, or one that is stated in full."""
    apart: list[Candidate] = []
    for candidate in candidates:
        if not apart or candidate.span[0] >= apart[-1].span[1]:
            apart.append(candidate)
        elif candidate.kind == "stated" and apart[-1].kind in ("partial", "weekday"):
            apart[-1] = candidate  # "in May" gives way to "May and June 2017"
    return apart


def _inside(span: Span, other: Span | None) -> bool:
    return other is not None and other[0] <= span[0] and span[1] <= other[1]


def _inside_one(span: Span, others: list[Span]) -> bool:
    """Return whether a span lies in one of ``others``, which are ascending and apart."""
    at = bisect_right(others, span[0], key=lambda other: other[0])
    return at > 0 and _inside(span, others[at - 1])


def as_fact(text: str, resolved: Resolved) -> Fact:
    """Return the fact of what was resolved, with how it was got in words for people."""
    anchor, period = resolved.anchor, resolved.period
    span = _trimmed(text, resolved.span)
    words = re.sub(r"\s+", " ", text[slice(*span)])
    if anchor is None:
        derivation = ""
    elif resolved.event:
        derivation = f"'{words}', which the text dates {anchor.words}"
    elif anchor.kind == "text":
        derivation = f"'{words}', told after {anchor.words}"
    else:
        derivation = f"'{words}' in {anchor.words}"
    return Fact(
        kind="date",
        low=float(period.low.toordinal()),
        high=float(period.high.toordinal()),
        unit="day",
        text=in_words(period),
        span=span,
        derivation=derivation,
        anchor=anchor.span if anchor else None,
        implied=anchor is not None,
        confidence=round(resolved.confidence, 3),
        recurrence=resolved.recurrence,
    )


def _trimmed(text: str, span: Span) -> Span:
    low, high = span
    while high > low and text[high - 1].isspace():
        high -= 1
    return low, high


def find_dates(text: str, document_date: date | None = None) -> tuple[Fact, ...]:
    """Find the dates that ``text`` states or implies.

    Relative expressions are resolved against the nearest proper anchor: the time stamp of their
    message for what counts from the time of writing ("two days ago"), the date told last for
    what counts from a date ("the following morning"), the date of a named event ("a fortnight
    before the launch"), else ``document_date``. What has no anchor, is impossible or can be read
    in two ways is no fact.

    In order of their place; a stretch of days is one fact. The time stamps of messages are
    among them, with a confidence of 0.5.

    >>> written, ran = find_dates("2024-02-29 09:01, Ann: I ran two days ago")
    >>> ran.text, ran.derivation
    ('27 February 2024', "'two days ago' in a message of 29 February 2024")
    """
    return tuple(as_fact(text, resolved) for resolved in Resolver(text, document_date).resolve())
