"""The pieces that expressions of time are made of, for patterns over lower-cased text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from engine.text.facts import dates
from engine.text.facts.numbers import parse_number
from engine.text.facts.temporal.candidates import Anchor, Candidate, Kind
from engine.text.facts.temporal.periods import Period

_ONES = "(?:one|two|three|four|five|six|seven|eight|nine)"
_TEENS = "(?:ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
_TENS = f"(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ]{_ONES})?)"
_WORD = f"(?:{_TENS}|{_TEENS}|{_ONES})"
COUNT = (
    rf"(?P<count>\d{{1,4}}|(?:a )?couple(?: of)?|(?:a |half a )?dozen"
    rf"|(?:a|{_ONES}) hundred(?:(?: and)? {_WORD})?|{_WORD}|an?)"
)
UNIT = (
    r"(?P<unit>(?:working|business|week) ?day|day|night|week|fortnight|weekend|month|quarter|year"
    r"|decade)s?\b"
)
WEEKDAY = r"(?P<weekday>" + "|".join(sorted(dates.WEEKDAYS, key=len, reverse=True)) + r")\b(?!-)\.?"
MONTH = r"(?P<month>" + "|".join(sorted(dates.MONTHS, key=len, reverse=True)) + r")\b"
HOURS = r"(?:morning|afternoon|evening|night|noon|lunchtime|midnight)"
AT = rf"(?: {HOURS})?\b"

VAGUE_BEFORE = re.compile(
    r"(?:\b(?:than|about|around|roughly|nearly|almost|over|under|some|every|each|approximately|least"
    r"|most|half|point|the|any|no|per|many|version|within)\s|[-–./,:]|[$€£#]\s?|\d"
    rf"|(?:\b{_WORD.replace(' ', chr(92) + 's')}|\d)(?:\s(?:or|to)\s|\s?[-–]\s?))$"
)
"""Words before a count that make it a part of another number, or a guess."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to speak of time.

    Attributes:
        pattern: over lower-cased text; every blank stands for any white space.
        keys: words of which one is in every match, so that most texts skip most patterns.
        kind: see :class:`Candidate`.
        confidence: 0 to 1.
        resolve: from the match and the anchor.
    """

    pattern: re.Pattern[str]
    keys: frozenset[str]
    kind: Kind
    confidence: float
    resolve: Callable[[re.Match[str], Anchor], Period | None]


RULES: list[Rule] = []
Reading = Callable[[re.Match[str], Anchor], Period | None]


def rule(pattern: str, keys: str, kind: Kind, confidence: float) -> Callable[[Reading], Reading]:
    """Add the decorated function to :data:`RULES` as the way to resolve ``pattern``."""
    compiled = re.compile(pattern.replace(" ", r"\s"))

    def add(resolve: Reading) -> Reading:
        RULES.append(Rule(compiled, frozenset(keys.split()), kind, confidence, resolve))
        return resolve

    return add


def count_of(match: re.Match[str]) -> int | None:
    """Return the whole number, 0 or more, of a match's ``count``; None when it is vague."""
    words = re.sub(r"\s+", " ", match["count"])
    if words in ("a", "an"):
        return 1
    if "couple" in words:
        return 2
    value = parse_number(re.sub("^a ", "one ", words))
    return int(value) if value is not None and value == int(value) else None


def unit_of(match: re.Match[str]) -> str:
    """Return the ``unit`` of a match as :func:`periods.shifted` knows it."""
    unit = match["unit"]
    return "workday" if unit.startswith(("working", "business", "week ", "weekday")) else unit


def is_name(text: str, match: re.Match[str]) -> bool:
    """Return whether a weekday or month of a match is not spelt like one, or part of a name."""
    groups = match.re.groupindex
    group = "weekday" if "weekday" in groups and match["weekday"] else "month"
    if group not in groups or not match[group]:
        return False
    start, end = match.span(group)
    capital = text[start].isupper()
    if not capital and text[start:end] not in FULL_NAMES:
        return True
    return NAME_BEFORE.search(text, max(0, start - 14), start) is not None or (
        NAME_AFTER.match(text, end) is not None
    )


FULL_NAMES = frozenset(dates.FULL_WEEKDAYS) | {
    name for name in dates.MONTHS if len(name) > 4 and name not in dates.AMBIGUOUS_MONTHS
}
NAME_BEFORE = re.compile(
    r"\b(?:Black|Good|Ash|Cyber|Easter|Palm|Fat|Bloody|Super|Holy|Shrove|Maundy|Whit|Giving|Casual"
    r"|Ruby|Wednesday)\s$"
)
NAME_AFTER = re.compile(r"\.\w|['’]s\s[A-Z]|\s(?:Times|Group|Night Live|Review|Club|Street)\b")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words and numbers of a lower-cased text, and where they begin."""

    words: tuple[str, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, lowered: str) -> Tokens:
        """Return those of ``lowered``."""
        found = [(match[0], match.start()) for match in TOKEN.finditer(lowered)]
        return cls(tuple(word for word, _ in found), tuple(start for _, start in found))


TOKEN = re.compile(r"[^\W_]+")
REACH = 6
"""Words that an expression may have before its key: "one hundred and five working days before"."""


def find_relative(text: str, lowered: str, tokens: Tokens) -> Iterator[Candidate]:
    """Yield what the rules find; they are tried only where one of their keys stands.

    Args:
        lowered: ``text`` in lower case, of the same length.
        tokens: those of ``lowered``.
    """
    by_key = _rules_by_key()
    taken: dict[int, int] = {}
    for index, word in enumerate(tokens.words):
        for number in by_key.get(word, ()):
            entry, key = RULES[number], tokens.starts[index]
            if taken.get(number, 0) > key:
                continue
            for start in tokens.starts[max(0, index - REACH) : index + 1]:
                match = entry.pattern.match(lowered, start)
                if match and match.end() > key and _fits(text, lowered, match):
                    taken[number] = match.end()
                    yield _candidate(entry, match)
                    break


@lru_cache(maxsize=1)
def _rules_by_key() -> dict[str, list[int]]:
    by_key: dict[str, list[int]] = {}
    for number, entry in enumerate(RULES):
        for key in entry.keys:
            by_key.setdefault(key, []).append(number)
    return by_key


def _fits(text: str, lowered: str, match: re.Match[str]) -> bool:
    if "count" in match.re.groupindex and match["count"]:
        start = match.start("count")
        if VAGUE_BEFORE.search(lowered, max(0, start - 16), start):
            return False
    return not is_name(text, match)


def _candidate(entry: Rule, match: re.Match[str]) -> Candidate:
    resolve = partial(entry.resolve, match)
    if entry.kind == "offset":  # what follows the way is not a part of it
        span = match.start(), match.start("way") - 1
        return Candidate(span, entry.kind, resolve, entry.confidence, tail=match.end())
    return Candidate(match.span(), entry.kind, resolve, entry.confidence)
