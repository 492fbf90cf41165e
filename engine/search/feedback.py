"""Rankings that learn from graded documents: each liked one is a further seed, others push away.

Scores of all seeds are standardised and added, less :data:`AWAY` times the mean of the disliked
ones': Rocchio's feedback in the scores of any system. Disliked documents themselves come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.corpora.contracts import Focus, RankedDocuments, Request, Seed
from engine.numeric import FloatArray, distinct, standardised
from engine.search.systems.baselines import Corpus, Rank

AWAY = 0.5
"""Weight of the disliked documents. Of 0, 0.25 and 0.5 as good as any on CSFCube's open half and
the best on the demo."""


def learned(
    rank: Rank,
    liked: Sequence[Request],
    disliked: Sequence[Request],
    corpus: Corpus,
    request: Request,
) -> RankedDocuments:
    """The ranking of what the seed or a liked document retrieves; ``liked`` and ``disliked`` are
    the request with each of these documents as its seed."""

    def found(other: Request) -> RankedDocuments:
        """Its ranking, itself first: among the others it would be far too like itself."""
        allowed, row = request.scope.allowed.copy(), corpus.rows([other.seed.document.doc_id])
        allowed[row] = False
        scope = replace(request.scope, allowed=allowed)
        own = replace(request, seed=other.seed, focus=other.focus, facts=other.facts)
        ranking = rank(corpus, replace(own, scope=scope, instructed=None, stated=()))
        row = row[request.scope.allowed[row]] if len(ranking) else row[:0]
        return RankedDocuments(
            ranking.corpus_ids,
            np.concatenate([row, ranking.rows]),
            np.concatenate([ranking.scores[: len(row)], ranking.scores]),
        )

    near = [rank(corpus, request), *map(found, liked)]
    rows = distinct([ranking.rows for ranking in near])
    if not len(rows):
        return near[0]

    def scores(ranking: RankedDocuments) -> FloatArray:
        """(r,) standardised; what was not retrieved counts as the last that was."""
        lowest = float(ranking.scores[-1]) if len(ranking) else 0.0
        every = np.full(len(corpus), lowest, dtype=np.float32)
        every[ranking.rows] = ranking.scores
        return standardised(every[rows])

    total = np.sum([scores(ranking) for ranking in near], axis=0)
    if disliked:
        away = [scores(found(other)) for other in disliked]
        total -= AWAY * np.mean(away, axis=0)
        rejected = [other.seed.document.doc_id for other in disliked]
        total[np.isin(rows, corpus.rows(rejected))] = total.min() - 1.0
    return corpus.ranked(rows, total, request.most)


def focus_of(seed: Seed, focus: Focus | None) -> Focus | None:
    """The aspects of another seed's focus in the sentences of this one; None without any."""
    if focus is None:
        return None
    roles = seed.roles(len(focus.aspect_weights))
    weights = (roles @ focus.aspect_weights) * (1.0 - np.clip(roles @ focus.avoided, 0, 1))
    total = float(weights.sum())
    if total <= 0:
        return None
    return replace(focus, sentence_weights=(weights / total).astype(np.float32))
