"""Late interaction: every token of the seed finds its best token in the document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.corpora.contracts import RankedDocuments, Request, Rows, TokenArray, VectorPart
from engine.numeric import FloatArray, groups, widened
from engine.search.systems.baselines import Corpus

CANDIDATES = 1000
"""Documents whose tokens are scored; larger scopes are first cut to these by document vector.

Recall@20 of exact scoring is 0.98 with 1,000 of 60,000 documents.
"""
EXACT, SAMPLE = 300, 48
"""Of more candidates, those that are scored by all tokens of the seed: the best ones by so many of
them, from all over the seed. They hold the first 20 of all 1,000 and 99.7 % of the first 100 (24
seeds of CSFCube's abstracts), and take 0.8 of the time."""
CHUNK = 128  # Documents whose tokens are fetched together
SIMILARITIES = 500_000
"""Token pairs scored in one matrix product: 2 MB, which stay in the processor's cache."""
MOST_TOKENS = 4_096
"""Tokens of a text that are compared, those of some 15,000 characters: all pairs of two such texts
take 64 MB; of two books with 100,000 tokens each, 40 GB."""


class TokenCosines(NamedTuple):
    """Every token of a query against every token of some documents."""

    documents: list[int]  # positions among the given documents
    starts: NDArray[np.intp]  # (n,) where each document's tokens begin; ``lengths``: (n,)
    lengths: NDArray[np.intp]
    cosines: FloatArray  # (q, sum of lengths)


def token_cosines(query: FloatArray, documents: Sequence[TokenArray]) -> Iterator[TokenCosines]:
    """Groups of the documents with tokens, of at most :data:`SIMILARITIES` pairs; query (q, p) and
    documents (t_i, p) are unit rows."""
    filled = [i for i, tokens in enumerate(documents) if len(tokens)]
    if not len(query):
        return
    for group in groups([len(documents[i]) for i in filled], SIMILARITIES // len(query)):
        chosen = [filled[i] for i in group]
        lengths = np.array([len(documents[i]) for i in chosen])
        tokens = widened(np.concatenate([documents[i] for i in chosen]))
        yield TokenCosines(chosen, np.cumsum(lengths) - lengths, lengths, query @ tokens.T)


def spread(tokens: NDArray[Any], most: int) -> NDArray[Any]:
    """At most ``most`` rows (t, p), from all over a longer text."""
    if len(tokens) <= most:
        return tokens
    return tokens[np.linspace(0, len(tokens) - 1, most).astype(np.intp)]


def max_similarities(
    query: FloatArray, documents: Sequence[TokenArray], *, symmetric: bool = False
) -> FloatArray:
    """MaxSim of a query against documents (Khattab and Zaharia, SIGIR 2020, section 3.3), as a mean
    over the query's tokens so that seeds of different length compare; ``symmetric``: averaged with
    the same from the document's side. Query (q, p) and documents (t_i, p) are unit rows, the result
    (documents,) is -1 to 1; 0 for a document without tokens."""
    scores = np.zeros(len(documents), dtype=np.float32)
    for group in token_cosines(query, documents):
        scores[group.documents] = max_similarity(group, symmetric=symmetric)
    return scores


def max_similarity(group: TokenCosines, *, symmetric: bool) -> FloatArray:
    """:func:`max_similarities` of the documents of a group."""
    best = np.maximum.reduceat(group.cosines, group.starts, axis=1)
    values = np.ascontiguousarray(best.T).mean(axis=1)
    if symmetric:
        backwards = np.add.reduceat(group.cosines.max(axis=0), group.starts) / group.lengths
        values = (values + backwards) / 2
    return np.asarray(values, dtype=np.float32)


def idf_similarity(
    group: TokenCosines, seed_idf: FloatArray, document_idf: FloatArray
) -> FloatArray:
    """Idf-weighted MaxSim of whole documents in both directions: (documents of the group,), -1 to
    1, 0 where nothing has weight; idf (q,), and (t,) of the documents, concatenated."""
    forwards = seed_idf @ np.maximum.reduceat(group.cosines, group.starts, axis=1)
    backwards = _weighted_means(group.cosines.max(axis=0), document_idf, group.starts)
    return np.asarray((forwards / max(seed_idf.sum(), 1e-6) + backwards) / 2, dtype=np.float32)


IN_FOCUS = 0.02  # Weight from which a token of the seed can be what a token of a document is like


def aspect_similarity(
    group: TokenCosines,
    seed: tuple[FloatArray, FloatArray],
    documents: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Idf-weighted MaxSim of an aspect's tokens in both directions, each cosine times the aspect
    weight of the other side's token: (documents of the group,), -1 to 1, 0 where nothing has
    weight. Of either side aspect weights, 0 to 1, and idf: (q,) and (t,), concatenated."""
    (mine, my_idf), (theirs, idf) = seed, documents
    focus = mine > IN_FOCUS
    mine, my_idf, cosines = mine[focus], my_idf[focus], group.cosines[focus]
    if not len(mine):
        return np.zeros(len(group.starts), dtype=np.float32)
    best = np.clip((cosines * mine[:, None]).max(axis=0), 0, None)
    backwards = _weighted_means(best, theirs * idf, group.starts)
    forwards = mine * my_idf @ np.maximum.reduceat(cosines * theirs, group.starts, axis=1)
    total = max(float((mine * my_idf).sum()), 1e-6)
    return np.asarray((backwards + forwards / total) / 2, dtype=np.float32)


def _weighted_means(
    values: FloatArray, weights: FloatArray, starts: NDArray[np.intp]
) -> FloatArray:
    """The weighted mean of each run of values; 0 where nothing has weight."""
    totals = np.add.reduceat(weights, starts)
    sums = np.add.reduceat(weights * values, starts)
    return np.asarray(sums / np.where(totals > 0, totals, 1.0), dtype=np.float32)


class LateInteractionSystem:
    """MaxSim over the stored token vectors; exact for the first :data:`EXACT` documents."""

    name = "late-interaction"
    reads_aspect = False

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        nearest = corpus.by_vectors([VectorPart("vector", request.seed.vector, 1.0)], request)
        rows = request.preferring(nearest.rows)[:CANDIDATES]
        seed = spread(request.seed.tokens, MOST_TOKENS)
        if len(rows) <= EXACT or len(seed) <= SAMPLE:
            return corpus.ranked(rows, _scores(corpus, rows, seed, request), request.depth)
        scores = _scores(corpus, rows, spread(seed, SAMPLE), request)
        best = np.argpartition(-scores, EXACT)
        exact = _scores(corpus, rows[best[:EXACT]], seed, request)
        # The others stay behind, in their order.
        scores -= max(0.0, float(scores[best[EXACT:]].max() - exact.min()))
        scores[best[:EXACT]] = exact
        return corpus.ranked(rows, scores, request.depth)


def _scores(corpus: Corpus, rows: Rows, seed: FloatArray, request: Request) -> FloatArray:
    """MaxSim (n,) of a seed's tokens (t, p) against these documents, :data:`CHUNK` at a time."""
    scores = np.zeros(len(rows), dtype=np.float32)
    for start in range(0, len(rows), CHUNK):
        chunk = slice(start, start + CHUNK)
        tokens = [spread(found.vectors, MOST_TOKENS) for found in corpus.tokens(rows[chunk])]
        scores[chunk] = max_similarities(seed, tokens, symmetric=request.symmetric)
    return scores
