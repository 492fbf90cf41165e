"""What a text says was bought, chosen or decided on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.text.facts.phrases import Words, phrase_after, phrase_before
from engine.types.documents import Span

_CHOICE = re.compile(
    r"""
    (?P<active>\b(?=bo|bu|pu|ch|pi|se|or|go|to|we|op|en|de|up|vo|ag)(?:
        (?:bought|buy|buying|purchas(?:e|ed|ing)|chose|choose|chosen|choosing|pick(?:ed|ing)?
        |select(?:ed|ing)?|order(?:ed|ing)|got|took|gone\s+for|went\s+(?:with|for|ahead\s+with)
        |go(?:ing)?\s+with|opt(?:ed|ing)?\s+for|end(?:ed|ing)?\s+up\s+(?:with|getting|taking)
        |settl(?:ed|ing)\s+(?:on|for)|decid(?:ed|ing)\s+(?:on|for|in\s+favou?r\s+of)
        |upgraded\s+to|voted\s+for|agreed\s+on)\b(?:\s+up)?
    ))
    | (?P<noun>\b(?:is|was)\s+(?:the|my|our|their|his|her)\s+(?:\w+\s+)?
        (?:choice|pick|winner|purchase|best\s+option|way\s+to\s+go)\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NOT = re.compile(
    r"(?:n['’]t|\bnot|\bnever|\balmost|\bnearly|\binstead\s+of|\brather\s+than|\bcould\s+have"
    r"|\bwithout|\bbefore|\bif)\s+(?:\w+\s+){0,2}$",
    re.IGNORECASE,
)
_PASSIVE = re.compile(r"\b(?:is|was|were|been|being)\s+(?:\w+ly\s+)?$", re.IGNORECASE)
_RELATIVE = re.compile(r",?\s+(?:which|that)\b[^,.;:!?]{1,40}$", re.IGNORECASE)
_THE_ONE = re.compile(
    r"\b(?:is|was|being|be)\s+(?:\w+ly\s+)?(?:the\s+one|what)\b[^,.;:!?]{0,40}$", re.IGNORECASE
)
_ADRIFT = re.compile(r"\s+(?:for|in|of|on|at|with|by|from|after|because)\b", re.IGNORECASE)
_INDEFINITE = re.compile(r"an?\b(?!.*\d)", re.IGNORECASE)
_IT = re.compile(r"\s+(?:it|that\s+one|this\s+one)\b", re.IGNORECASE)
_IT_WAS = re.compile(r"\b(?:it|that)(?:\s+was|['’]s|\s+is)\b[^.;:!?]{0,40}$", re.IGNORECASE)
_NEAR = 160
"""How many characters back "it" may refer to."""

_SPOKEN_OF = re.compile(
    r"\b(?:seems?|seemed|looks?|sounds?|(?:could|might|may|would|to)\s+be|is|was|offers?)\b",
    re.IGNORECASE,
)


def find_choices(words: Words, taken: set[int]) -> Iterator[Span]:
    """The phrases that name what was chosen, in order.

    "We settled on the steel frame", "the steel frame was chosen", "the steel frame, which we
    bought"; not "we almost bought", nor "a frame", which may be any.

    Args:
        words: of the whole text.
        taken: ends of amounts, over which no phrase reaches.
    """
    text = words.text
    for found in _CHOICE.finditer(text):
        start, end = found.span()
        if _NOT.search(text, max(0, start - 32), start):
            continue
        if found["noun"]:
            span = phrase_before(words, start, taken).span
        else:
            adrift = _ADRIFT.match(text, end) is not None
            after = None if adrift else phrase_after(words, end).span
            span = after or _before(words, start, taken)
        if span is None and (
            _IT.match(text, end) or _IT_WAS.search(text, max(0, start - 60), start)
        ):
            span = _spoken_of(words, start, taken)
        if span and not _INDEFINITE.match(text, *span):
            yield span


def _spoken_of(words: Words, start: int, taken: set[int]) -> Span | None:
    """What "it" is in "the X200 seems a good choice, and it was bought": a name, or nothing."""
    for found in _SPOKEN_OF.finditer(words.text, max(words.sentence(start), start - _NEAR), start):
        span = phrase_before(words, found.start(), taken).span
        if span and any(sign.isupper() or sign.isdigit() for sign in words.text[slice(*span)][1:]):
            return span
    return None


def _before(words: Words, start: int, taken: set[int]) -> Span | None:
    """What was chosen when it stands before the verb."""
    text = words.text
    for pattern in (_THE_ONE, _PASSIVE, _RELATIVE):
        found = pattern.search(text, max(0, start - 60), start)
        span = phrase_before(words, found.start(), taken).span if found else None
        if span:
            return span
    return None
