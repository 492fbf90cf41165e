"""When an event took place, by what the text says of it elsewhere: "before the launch"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from engine.text.facts.temporal.periods import Period
from engine.types.documents import Span

NAMED_EVENT = re.compile(
    r"(?:the|his|her|its|our|their|my|your|this|that)\s((?:[a-z][\w-]*\s?){1,3})", re.IGNORECASE
)
LIMIT = re.compile(r"[.;!?\n](?:\s|$)")
SHORTEST = 3
"""Letters of the shortest word that names an event: the shorter ones are pronouns, prepositions."""
WORD = re.compile(rf"[^\W\d_]{{{SHORTEST},}}")
ANY_WORD = re.compile(r"[^\W\d_]+")
_NO_EVENT = (
    "the and was were had has have its his her our their that this they will would with from for "
    "day days week month year date time end start beginning first last next new old which who whom "
    "not but are been being into upon about over under again she you him them there then when while"
)
NO_EVENT = frozenset(_NO_EVENT.split())
NOUN_OF = {
    "born": "birth", "died": "death", "dead": "death", "married": "marriage", "wed": "wedding",
    "left": "departure", "sank": "sinking", "sunk": "sinking", "met": "meeting", "sold": "sale",
    "bought": "purchase", "began": "beginning", "flew": "flight", "fell": "fall", "stole": "theft",
    "won": "victory", "lost": "loss", "fought": "fight", "sent": "sending", "struck": "strike",
}  # fmt: skip
"""The nouns of verbs that do not look like them."""
ENDINGS = re.compile(r"(?:ations?|itions?|ions?|ments?|ings?|als?|ures?|ers?|ed|es|s|e|y)$")
REACH = 120
"""How far, in characters, a date may be from the event that it dates."""


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
ENOUGH = 4
"""Places of a word that are kept for each day: one more than a noun phrase has words."""


class Calendar:
    """Which words stand beside which dates of a text.

    Args:
        dated: the days that the text states, and where.
    """

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
        for limit in LIMIT.finditer(self._text, low, place[0]):
            low = limit.end()
        stop = LIMIT.search(self._text, place[1], high)
        return low, stop.start() if stop else high

    def date_of(self, event: Span) -> tuple[Span, Period] | None:
        """Return the only date that the text gives an event; None without one, or with several.

        Args:
            event: its words, as :func:`event_at` finds them.
        """
        if not self._dated:
            return None
        words = [word[0] for word in WORD.finditer(self._text, *event)]
        for name in [word for word in words if word.lower() not in NO_EVENT][:2]:
            found = []
            for period, (place, starts) in self._by_stem.get(stem(name), {}).items():
                if any(not event[0] <= start < event[1] for start in starts):
                    found.append((place, period))
                    if len(found) > 1:
                        return None
            if found:
                return found[0]
        return None
