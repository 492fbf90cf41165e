"""Sentence boundaries, as character spans into the text; stop words."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import sentencex

from engine.config import ASSETS

Span = tuple[int, int]
WINDOW = 20_000
"""Characters that are split at once: of a thousand quotation marks each is compared with all the
others. A sentence that is longer is cut."""
_LOOKED_AT = 60
"""Characters before a boundary that say whether it is one."""
_NO_END = re.compile(
    r"(?:\b(?:approx|incl|excl|pv|cf|viz|e\.g|i\.e)\.|\bet al\.,? ?[\[(][^\])]*[\])]|(?:^|\s)\.)\Z",
    re.I,
)
"""Words with a full stop that end no sentence, citations behind names, and the dot of ``.NET``."""
_LABEL = re.compile(r"\b(?:eqs?|figs?|tabs?|secs?|refs?|chap|nos?|al|ca|spp?|subsp)\.\Z", re.I)
_VALUE = re.compile(r"[\[(]?\d|[a-z]")
"""What such words stand before: numbers, also in brackets, and small letters."""
LANGUAGE = "en"
"""Language whose abbreviations are known; boundaries of other scripts are found as well."""


def split_sentences(text: str) -> tuple[Span, ...]:
    """Split ``text`` into sentences.

    Returns:
        spans without surrounding white space, in order, none empty; a text without any
        boundary is one sentence, a blank text none.

    >>> split_sentences("We measured it. It held.")
    ((0, 15), (16, 24))
    """
    spans: list[Span] = []
    for start, end in _boundaries(text):
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end -= len(piece) - len(piece.rstrip())
        if spans and _goes_on(text, spans[-1], start):
            spans[-1] = (spans[-1][0], end)
        elif end > start:
            spans.append((start, end))
    return tuple(spans)


def _goes_on(text: str, span: Span, following: int) -> bool:
    """Whether a sentence goes on behind a boundary that was found in it."""
    end = (max(span[0], span[1] - _LOOKED_AT), span[1])
    if _NO_END.search(text, *end):
        return True
    return bool(_LABEL.search(text, *end) and _VALUE.match(text, following))


def _boundaries(text: str) -> Iterator[Span]:
    """Sentences with the white space around them, window by window."""
    begin = 0
    while begin < len(text):
        window = text[begin : begin + WINDOW]
        found = [
            (one["start_index"], one["end_index"])
            for one in sentencex.get_sentence_boundaries(LANGUAGE, window)
        ] or [(0, len(window))]
        if len(found) > 1 and begin + WINDOW < len(text):
            found.pop()  # it may go on in the next window, which begins with it
        yield from ((begin + start, begin + end) for start, end in found)
        begin += found[-1][1]


@functools.cache
def stop_words() -> frozenset[str]:
    """English stop words, in lower case; from a file, as importing scikit-learn takes a second."""
    lines = (ASSETS / "wordings" / "stop_words.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(" ".join(line for line in lines if not line.startswith("#")).split())
