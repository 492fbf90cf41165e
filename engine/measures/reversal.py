"""Whether relevant documents rise with an instruction and fall with its reverse.

InfoSearch: Zhou et al., "Beyond Content Relevance: Evaluating Instruction Following in Retrieval
Models", ICLR 2025 (arXiv 2410.23841).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from engine.measures.metrics import mean
from engine.measures.ranking_change import ranks

SICR, WISE = "SICR", "WISE"
DEPTH = 20
"""K of WISE."""
BARELY = 0.01
"""WISE of a document that follows, from below :data:`DEPTH`."""


def sicr(
    relevant: Collection[str],
    plain: Sequence[str],
    instructed: Sequence[str],
    reverse: Sequence[str],
) -> float | None:
    """Strict Instruction Compliance Ratio: the share of relevant documents that obey both ways.

    A document obeys when its rank is better with the instruction than without, and worse with
    the reverse instruction than without; one that is first without has to stay first and then
    fall. The paper also wants the scores to rise and fall. Scores of ours compare within one
    ranking only, so ranks decide, and the value is at least the paper's.

    Args:
        relevant: what the instruction asks for. A document that a ranking lacks is behind it.
        plain, instructed, reverse: the rankings without and with it, and with its reverse.

    Returns:
        0 to 1; None where nothing is relevant.

    Raises:
        ValueError: a ranking holds a document twice.

    >>> sicr(["a"], ["x", "a", "y"], ["a", "x", "y"], ["x", "y", "a"])
    1.0
    """
    return mean(
        [
            float(with_it < max(without, 2) and without < reversed_)
            for without, with_it, reversed_ in _ranks(relevant, plain, instructed, reverse)
        ]
    )


def wise(
    relevant: Collection[str],
    plain: Sequence[str],
    instructed: Sequence[str],
    reverse: Sequence[str],
    candidates: int,
) -> float | None:
    """Weighted Instruction Sensitivity Evaluation: how far relevant documents obey both ways.

    With the ranks R without the instruction, I with it and V with its reverse, a document has

    - where I <= R < V: 1 if R < N and I = 1; else (1 - sqrt(R - I) / 20) / sqrt(I) if R <= 20;
      else 0.01
    - where V < R < I: -1
    - else: (R - I) / I where R <= I, and (V - R) / R where V <= R

    as in the authors' code of February 2025, which has made their figures (the formula on the
    page of their repository has no square root of R - I).

    Args:
        relevant, plain, instructed, reverse: see :func:`sicr`.
        candidates: N, the documents that are relevant to the seed, whether or not they are what
            the instruction asks for.

    Returns:
        mean over the relevant documents, -1 to 1; 0 when nothing moves; None where nothing is
        relevant.

    Raises:
        ValueError: a ranking holds a document twice.

    >>> wise(["a"], ["x", "a", "y"], ["a", "x", "y"], ["x", "y", "a"], candidates=3)
    1.0
    """
    return mean([_wise(candidates, *r) for r in _ranks(relevant, plain, instructed, reverse)])


def _wise(candidates: int, without: int, with_it: int, reversed_: int) -> float:
    if with_it <= without < reversed_:
        if without < candidates and with_it == 1:
            return 1.0
        if without <= DEPTH:
            return (1 - math.sqrt(without - with_it) / DEPTH) / math.sqrt(with_it)
        return BARELY
    if reversed_ < without < with_it:
        return -1.0
    if without <= with_it:
        return (without - with_it) / with_it
    return (reversed_ - without) / without


def _ranks(relevant: Collection[str], *rankings: Sequence[str]) -> list[list[int]]:
    """Of each relevant document, its rank in every ranking."""
    places = [ranks(ranking) for ranking in rankings]
    return [[place.get(doc_id, len(place) + 1) for place in places] for doc_id in relevant]
