"""What recurs: "every second Tuesday", "weekly on Mondays until June", as RFC 5545 rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cached_property

from dateutil.rrule import rrulestr

from engine.facts.lexicon import table, word_lists
from engine.facts.periods import FULL_WEEKDAYS, Candidate, Candidates, Period, weekday_of
from engine.types.documents import Span

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
        if not self._dated:
            return None
        words = [word[0] for word in WORD.finditer(self._text, *event)]
        for name in [word for word in words if word.lower() not in NO_EVENT][:2]:
            dated = []
            for period, (place, starts) in self._by_stem.get(stem(name), {}).items():
                if any(not event[0] <= start < event[1] for start in starts):
                    dated.append((place, period))
                    if len(dated) > 1:
                        return None
            if dated:
                return dated[0]
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


@dataclass(frozen=True, slots=True)
class Recurring:
    """Something that recurs."""

    span: Span  # its words, with those that bound it
    rule: str  # an RFC 5545 rule
    low: date | None  # the first day; None when the words do not say
    high: date  # the last day on which it can be; `date.max` when the words do not say
    needs_bounds: bool  # said by a word that is a habit of speech unless a date bounds it

    def first(self, since: date) -> date | None:
        """Return the rule's first day from ``since`` on, None when it has none by ``high``."""
        start = datetime.combine(since, time())
        first = rrulestr(self.rule, dtstart=start).after(start, inc=True)
        return first.date() if first and first.date() <= self.high else None


def find_recurring(
    lowered: str,
    body: Span,
    candidates: Candidates,
    resolve: Callable[[Candidate], Period | None],
) -> Iterator[Recurring]:
    """Yield what recurs by the words of a part of a text."""
    taken = 0
    matches = [match for pattern in PATTERNS for match in pattern.finditer(lowered, *body)]
    for match in sorted(matches, key=lambda m: (m.start(), -m.end())):
        rule = _rule(match)
        if match.start() < taken or rule is None:
            continue
        low, high, end = _bounds(lowered, match, candidates, resolve)
        taken = end
        yield Recurring((match.start(), end), rule, low, high, "plain" in match.groupdict())


_OFTEN = "every each daily weekly fortnightly biweekly monthly month alternate"
KEYS = frozenset([*_OFTEN.split(), *(f"{day}s" for day in FULL_WEEKDAYS)])


def _rule(match: re.Match[str]) -> str | None:
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


def _bounds(
    lowered: str,
    match: re.Match[str],
    candidates: Candidates,
    resolve: Callable[[Candidate], Period | None],
) -> tuple[date | None, date, int]:
    """Return the first day, the last day and where the words that say so end."""
    low, high, end = None, date.max, match.end()
    while bound := BOUND.match(lowered, end):
        candidate = candidates.covering(bound.end(), bound.start())
        period = resolve(candidate) if candidate else None
        if candidate is None or period is None:
            break
        end = candidate.span[1]
        if bound["way"] in STARTS:
            low = period.low
            high = period.high if period.grain == "range" else high
        else:
            high = period.high
    if low is None:
        for candidate in candidates.beginning(match.start() - REACH, match.start()):
            if (
                candidate.span[1] <= match.start()
                and LEADING.search(lowered, max(0, candidate.span[0] - 16), candidate.span[0])
                and not SENTENCE_END.search(lowered, candidate.span[1], match.start())
                and (period := resolve(candidate))
            ):
                low = period.low
    return low, high, end
