"""Whether relevant documents rise with an instruction and fall with its reverse.

InfoSearch: Zhou et al., "Beyond Content Relevance: Evaluating Instruction Following in Retrieval
Models", ICLR 2025 (arXiv 2410.23841). Below, ``plain``, ``instructed`` and ``reverse`` are the
rankings without the instruction, with it, and with its reverse; a document that one of them lacks
is behind its last. A ranking that holds a document twice raises ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from engine.measures.metrics import mean
from engine.measures.ranking_change import ranks

SICR, WISE = "SICR", "WISE"
DEPTH = 20
"""K of WISE."""


def sicr(
    relevant: Collection[str],
    plain: Sequence[str],
    instructed: Sequence[str],
    reverse: Sequence[str],
) -> float | None:
    """Strict Instruction Compliance Ratio: the share of relevant documents that obey both ways.

    A document obeys when its rank is better with the instruction than without, and worse with
    the reverse than without; one that is first without has to stay first, and fall. The paper
    also wants the scores to rise and fall. Ours compare within one ranking only, so ranks
    decide, and the value is at least the paper's.

    Returns:
        0 to 1; None where nothing is relevant.

    >>> sicr(["a"], ["x", "a", "y"], ["a", "x", "y"], ["x", "y", "a"])
    1.0
    """
    found = _ranks(relevant, plain, instructed, reverse)
    return mean([float(with_it < max(r, 2) and r < against) for r, with_it, against in found])


def wise(
    relevant: Collection[str],
    plain: Sequence[str],
    instructed: Sequence[str],
    reverse: Sequence[str],
    candidates: int,
) -> float | None:
    """Weighted Instruction Sensitivity Evaluation: how far relevant documents obey both ways.

    With its ranks R without the instruction, I with it and V with the reverse, a document has

    - where I <= R < V: 1 if R < N and I = 1; else (1 - sqrt(R - I) / 20) / sqrt(I) if R <= 20;
      else 0.01
    - where V < R < I: -1
    - else: (R - I) / I where R <= I, and (V - R) / R where V <= R

    as in the authors' code of February 2025 (their formula of 2024 lacks the square root).

    Args:
        candidates: N, the documents that are relevant to the seed, in whatever aspect.

    Returns:
        mean over the relevant documents, -1 to 1; 0 when nothing moves; None where nothing is
        relevant.

    >>> wise(["a"], ["x", "a", "y"], ["a", "x", "y"], ["x", "y", "a"], candidates=3)
    1.0
    """
    return mean([_wise(candidates, *r) for r in _ranks(relevant, plain, instructed, reverse)])


def _wise(candidates: int, without: int, with_it: int, against: int) -> float:
    if with_it <= without < against:
        if without < candidates and with_it == 1:
            return 1.0
        if without > DEPTH:
            return 0.01
        return (1 - math.sqrt(without - with_it) / DEPTH) / math.sqrt(with_it)
    if against < without < with_it:
        return -1.0
    if without <= with_it:
        return (without - with_it) / with_it
    return (against - without) / without


def _ranks(relevant: Collection[str], *rankings: Sequence[str]) -> list[list[int]]:
    """Of each relevant document, its rank in every ranking."""
    places = [ranks(ranking) for ranking in rankings]
    return [[place.get(doc_id, len(place) + 1) for place in places] for doc_id in relevant]
