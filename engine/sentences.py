"""Sentence boundaries, as character spans into the text."""

from __future__ import annotations

import sentencex

from engine.types.documents import Span

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
    spans = []
    for boundary in sentencex.get_sentence_boundaries(LANGUAGE, text):
        start, end = boundary["start_index"], boundary["end_index"]
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end -= len(piece) - len(piece.rstrip())
        if end > start:
            spans.append((start, end))
    return tuple(spans)
