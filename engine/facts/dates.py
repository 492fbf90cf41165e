"""Dates that a text states, implies or repeats."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property
from itertools import zip_longest

from dateutil.rrule import rrulestr

from engine.facts.message_headers import Message, messages
from engine.facts.periods import (
    FULL_WEEKDAYS,
    Anchor,
    Candidate,
    Candidates,
    Period,
    in_words,
    one_day,
    table,
    weekday_of,
    word_lists,
)
from engine.facts.relative_dates import TOKEN, find_relative
from engine.facts.stated_dates import find_days, find_stated
from engine.types.documents import Fact, Span

NAMED_EVENT = re.compile(
    r"(?:the|his|her|its|our|their|my|your|this|that)\s((?:[a-z][\w-]*\s?){1,3})", re.IGNORECASE
)
SENTENCE_END = re.compile(r"[.;!?\n](?=\s|$)")
SHORTEST = 3
"""Letters of the shortest word that names an event: the shorter ones are pronouns, prepositions."""
WORD = re.compile(rf"[^\W\d_]{{{SHORTEST},}}")
ANY_WORD = re.compile(r"[^\W\d_]+")
NO_EVENT = word_lists("time")["no_event"]
NOUN_OF: dict[str, str] = table("time")["nouns"]
ENDINGS = re.compile(r"(?:ations?|itions?|ions?|ments?|ings?|als?|ures?|ers?|ed|es|s|e|y)$")
REACH = 120
"""How far, in characters, a date may be from the event that it dates, or from what begins on it:
about the length of a clause."""


def stem(word: str) -> str:
    """Return what a verb and its noun have in common: "launch" of "launched".

    >>> stem("opening") == stem("opened") == stem("opens")
    True
    """
    word = NOUN_OF.get(word.lower(), word.lower())
    shorter = ENDINGS.sub("", word)
    shorter = shorter if len(shorter) >= 3 else word
    return shorter[:-1] if shorter[-1:] == shorter[-2:-1] else shorter


def event_at(text: str, position: int) -> Span | None:
    """Return the noun phrase that names an event at ``position``: a determiner and its words."""
    match = NAMED_EVENT.match(text, position)
    if match is None:
        return None
    end = match.start(1)
    for word in ANY_WORD.finditer(text, match.start(1), match.end()):
        if len(word[0]) < SHORTEST or word[0].lower() in NO_EVENT:
            break
        end = word.end()
    return (position, end) if end > match.start(1) else None


_Mention = tuple[Span, list[int]]
ENOUGH = 4  # Places of a word that are kept for each day: one more than a noun phrase has words


class Calendar:
    """Which words stand beside which dates of a text."""

    def __init__(self, text: str, dated: Sequence[tuple[Span, Period]]) -> None:
        self._text = text
        self._dated = dated

    @cached_property
    def _by_stem(self) -> dict[str, dict[Period, _Mention]]:
        """The days that a word stands beside, and where they and the word do."""
        index: dict[str, dict[Period, _Mention]] = {}
        for place, period in self._dated:
            for word in WORD.finditer(self._text, *self._sentence(place)):
                if word[0].lower() not in NO_EVENT:
                    _, starts = index.setdefault(stem(word[0]), {}).setdefault(period, (place, []))
                    if len(starts) < ENOUGH:
                        starts.append(word.start())
        return index

    def _sentence(self, place: Span) -> Span:
        low, high = max(0, place[0] - REACH), min(len(self._text), place[1] + REACH)
        for end in SENTENCE_END.finditer(self._text, low, place[0]):
            low = end.end()
        stop = SENTENCE_END.search(self._text, place[1], high)
        return low, stop.start() if stop else high

    def date_of(self, event: Span) -> tuple[Span, Period] | None:
        """Return the only date that the text gives an event; None without one, or with several."""
        words = [word[0] for word in WORD.finditer(self._text, *event)]
        for name in [word for word in words if word.lower() not in NO_EVENT][:2]:
            dated = [
                (place, period)
                for period, (place, starts) in self._by_stem.get(stem(name), {}).items()
                if any(not event[0] <= start < event[1] for start in starts)
            ]
            if dated:
                return dated[0] if len(dated) == 1 else None
        return None


CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY = rf"(?:{'|'.join(FULL_WEEKDAYS)})"
_PLURALS = rf"{_DAY}s(?:(?:,\s|\sand\s|,\sand\s){_DAY}s)*"
_LIST = rf"{_DAY}(?:(?:,\s|\sand\s|,\sand\s){_DAY})*"
_NTH = {"other": 2, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4}
_NTH |= {"two": 2, "three": 3, "four": 4}
_RANK = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "4th": 4, "last": -1}
_ANY_NTH, _ANY_RANK = "|".join(_NTH), "|".join(_RANK)

PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:every|each)\s(?:(?P<nth>{_ANY_NTH})\s)?(?P<days>{_LIST})\b(?!\s(?:of|in)\s)",
        rf"\b(?:(?P<often>fortnightly|bi-?weekly|weekly)|every\s(?:(?P<nth>{_ANY_NTH})\s)?weeks?)"
        rf",?\son\s(?P<days>{_PLURALS}|{_LIST})\b",
        rf"\bon\s(?:(?P<nth>alternate)\s)?(?P<days>{_PLURALS})\b",
        rf"\b(?:on\s)?(?:the|every)\s(?P<rank>{_ANY_RANK})\s(?P<days>{_DAY})\s(?:of|in)\s(?:every|each"
        r"|the)\s(?P<unit>month)\b",
        r"\b(?:on\s)?the\s(?P<number>\d\d?)(?:st|nd|rd|th)\s(?:day\s)?of\s(?:every|each)\s(?P<unit>month)\b",
        r"\b(?P<unit>month)ly,?\son\sthe\s(?P<number>\d\d?)(?:st|nd|rd|th)\b",
        r"\b(?P<plain>daily|weekly|fortnightly|monthly|every\s(?:(?:day|weekday|week|fortnight|month)))\b",
    )
)
BOUND = re.compile(
    r",?\s\(?(?P<way>from|starting|beginning|commencing|as of|since|until|till|through|to|up to)\s"
    r"(?:(?:on|the end of|and including)\s)?"
)
LEADING = re.compile(r"\b(?:starting|beginning|commencing|from|as\sof|since)\s(?:on\s)?$")
STARTS = ("from", "starting", "beginning", "commencing", "as of", "since")
PLAIN: dict[str, str] = table("time")["recurring"]


_OFTEN = "every each daily weekly fortnightly biweekly monthly month alternate"
KEYS = frozenset([*_OFTEN.split(), *(f"{day}s" for day in FULL_WEEKDAYS)])


def _rule(match: re.Match[str]) -> str | None:
    """The RFC 5545 rule of words that recur."""
    groups = match.groupdict()
    if groups.get("plain"):
        return PLAIN[" ".join(groups["plain"].split())]
    if groups.get("unit"):
        if groups.get("number"):
            number = int(groups["number"])
            return f"FREQ=MONTHLY;BYMONTHDAY={number}" if 1 <= number <= 31 else None
        return f"FREQ=MONTHLY;BYDAY={_RANK[groups['rank']]}{_codes(groups['days'])}"
    often, nth = groups.get("often") or "", groups.get("nth")
    interval = 2 if nth == "alternate" or often.startswith(("f", "b")) else _NTH.get(nth or "", 1)
    step = f"INTERVAL={interval};" if interval > 1 else ""
    return f"FREQ=WEEKLY;{step}BYDAY={_codes(groups['days'])}"


def _codes(words: str) -> str:
    days = re.findall(_DAY, words)
    return ",".join(CODES[number] for number in sorted({weekday_of(day) for day in days}))


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
    """Return the tense around an expression: -1 past, 1 future, 0 when no word tells. Of the words
    that tell in its clause the nearest decides, those before it first."""
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
            (candidate.span, candidate.days)
            for part in self.parts
            for candidate in self.chosen.beginning(*part.span)
            if candidate.days and not _inside(candidate.span, part.time_span)
        ]
        self.calendar = Calendar(text, self.days)

    def resolve(self) -> list[Resolved]:
        """Return everything that could be resolved, in order of its place."""
        entries: list[Resolved] = []
        for part in self.parts:
            anchor = self._anchor(part)
            recurring = list(self._recurring(part, anchor))
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
        that = self.document_date
        return Anchor(that, that, None, f"a document of {in_words(one_day(that))}", kind="document")

    def _walk(
        self, part: Message, here: list[Candidate], anchor: Anchor | None
    ) -> Iterator[Resolved]:
        """Resolve in reading order: what was told last is the anchor of what follows."""
        last: Anchor | None = None
        taken = -1
        for candidate, following in zip_longest(here, here[1:]):
            if candidate.span[0] < taken:
                continue
            stamp = _inside(candidate.span, part.time_span)
            resolved = None
            if following and not stamp and self._linked(candidate, following):
                resolved = self._range(candidate, following, anchor, last)
                taken = following.span[1] if resolved else taken
            resolved = resolved or self._one(candidate, anchor, last)
            if resolved is None or not resolved.period.plausible:
                continue
            if stamp:
                yield replace(resolved, confidence=STAMP_CONFIDENCE)
                continue
            yield resolved
            if not SAID.search(self.lowered, max(0, candidate.span[0] - 30), candidate.span[0]):
                last = _anchor_at(resolved.span, resolved.period)

    def _one(
        self, candidate: Candidate, anchor: Anchor | None, last: Anchor | None
    ) -> Resolved | None:
        if candidate.days:
            return Resolved(candidate.span, candidate.days, None, candidate.confidence)
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
        return _anchor_at(*self.days[0])

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
            start = self._one(first, _anchor_at(end.span, end.period), None)
        else:
            start = self._one(first, anchor, last)
        if start is not None and end is None:
            period = second.resolve(replace(_anchor_at(start.span, start.period), tense=1))
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
            against = _anchor_at(target.span, target.period)
            end, event = behind.span[1], ""
        else:
            named = event_at(self.text, tail)
            dated = named and self.calendar.date_of(named)
            if not named or not dated:
                return None
            against = _anchor_at(*dated)
            end, event = named[1], self.text[slice(*named)]
        days = self._against(candidate, against)
        if days is None:
            return None
        sure = candidate.confidence * days.certainty * (0.9 if event else 1.0)
        return Resolved((candidate.span[0], end), days, against, sure, event=event)

    def _recurring(self, part: Message, anchor: Anchor | None) -> Iterator[Resolved]:
        """Yield what recurs by the words of a part, its bounds resolved against its anchor."""
        if self.words.isdisjoint(KEYS):
            return
        taken, anchored = 0, False
        matches = [m for pattern in PATTERNS for m in pattern.finditer(self.lowered, *part.body)]
        for match in sorted(matches, key=lambda m: (m.start(), -m.end())):
            rule = _rule(match)
            if match.start() < taken or rule is None:
                continue
            start, high, taken, against = self._bounds(match, anchor)
            anchored = anchored or against
            bounded = start is not None or high != date.max
            since = start or (anchor.low if anchor else None)
            if since is None or ("plain" in match.groupdict() and not bounded):
                continue  # a habit of speech unless a date bounds it
            morning = datetime.combine(since, time())
            first = rrulestr(rule, dtstart=morning).after(morning, inc=True)
            if first is None or first.date() > high:
                continue
            confidence = 0.95 if start else 0.85 if bounded else 0.7
            if "INTERVAL" in rule and not start:
                confidence = 0.5  # which of the weeks is not said
            period, by = Period(first.date(), high, "range"), anchor
            if start and not anchored:
                by = None
            yield Resolved((match.start(), taken), period, by, confidence, rule)

    def _bounds(
        self, match: re.Match[str], anchor: Anchor | None
    ) -> tuple[date | None, date, int, bool]:
        """Return the first day and the last of what recurs (None and `date.max` where the words do
        not say), where those words end, and whether they needed an anchor."""
        low, high, end, anchored = None, date.max, match.end(), False
        while bound := BOUND.match(self.lowered, end):
            candidate = self.candidates.covering(bound.end(), bound.start())
            found = self._one(candidate, anchor, None) if candidate else None
            if candidate is None or found is None:
                break
            anchored = anchored or found.anchor is not None
            end = candidate.span[1]
            if bound["way"] in STARTS:
                low = found.period.low
                high = found.period.high if found.period.grain == "range" else high
            else:
                high = found.period.high
        if low is None:
            for candidate in self.candidates.beginning(match.start() - REACH, match.start()):
                begin, stop = candidate.span
                if (
                    stop <= match.start()
                    and LEADING.search(self.lowered, max(0, begin - 16), begin)
                    and not SENTENCE_END.search(self.lowered, stop, match.start())
                    and (found := self._one(candidate, anchor, None))
                ):
                    low, anchored = found.period.low, anchored or found.anchor is not None
        return low, high, end, anchored


def _anchor_at(span: Span, period: Period) -> Anchor:
    """Return days that the text names as an anchor of what follows."""
    return Anchor(period.low, period.high, span, in_words(period), period.grain, kind="text")


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
    written = text[slice(*resolved.span)].rstrip()
    span = (resolved.span[0], resolved.span[0] + len(written))
    derivation = ""
    if anchor is not None:
        told = ", told after" if anchor.kind == "text" else " in"
        how = ", which the text dates" if resolved.event else told
        derivation = f"'{' '.join(written.split())}'{how} {anchor.words}"
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
