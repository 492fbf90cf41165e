"""Passages for a reader: of every document found, the part that has to do with the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.llm.texts import cut_text, estimate_tokens
from engine.types.documents import Document, Span
from engine.types.reading import GivenPassage
from engine.types.searches import Result

PASSAGE_TOKENS = 400
"""An abstract or a short conversation stays whole."""


def passages_of(
    results: Sequence[Result],
    scenarios: Mapping[str, Sequence[str]],
    tokens: int = PASSAGE_TOKENS,
) -> tuple[GivenPassage, ...]:
    """Numbered passages in the order of the ranking; documents without text are left out.

    Args:
        scenarios: by doc_id, what goes along.
        tokens: of one passage at most.
    """
    found: list[GivenPassage] = []
    for result in results:
        document = result.document
        if not document.text.strip():
            continue
        matched = tuple(dict.fromkeys(pair.doc_span for pair in result.evidence))
        span = window(document, matched[0] if matched else None, tokens)
        inside = tuple(m for m in matched if span[0] <= m[0] and m[1] <= span[1])
        along = tuple(scenarios.get(document.doc_id, ()))
        found.append(GivenPassage(len(found) + 1, document, span, inside, along))
    return tuple(found)


def window(document: Document, around: Span | None, tokens: int) -> Span:
    """Where the sentences stand that fit into ``tokens``, grown to both sides of ``around``.

    The whole text where it fits; from the beginning where ``around`` is None; part of a sentence
    where not even one fits.
    """
    text = document.text
    if estimate_tokens(text) <= tokens:
        return 0, len(text)
    spans = [s.span for s in document.sentences] or [(0, len(text))]
    first = last = 0
    if around is not None:
        first = last = max(0, sum(start <= around[0] for start, _ in spans) - 1)
    start, end = spans[first]
    if estimate_tokens(text[start:end]) > tokens:
        head = cut_text(text[start:end], tokens).text.removesuffix("[...]").rstrip()
        return start, start + len(head)
    grown = True
    while grown:
        grown = False
        # What follows a sentence explains it more often than what comes before it.
        if last + 1 < len(spans) and _fits(text, start, spans[last + 1][1], tokens):
            last, end, grown = last + 1, spans[last + 1][1], True
        if first > 0 and _fits(text, spans[first - 1][0], end, tokens):
            first, start, grown = first - 1, spans[first - 1][0], True
    return start, end


def _fits(text: str, start: int, end: int, tokens: int) -> bool:
    return estimate_tokens(text[start:end]) <= tokens
