"""Optimal transport between sentences (otAspire).

Mysore, Cohan and Hope, "Multi-Vector Models with Textual Guidance for Fine-Grained Scientific
Document Similarity", NAACL 2022, section 3.2; constants as in their code
(github.com/allenai/aspire, AllPairMaskedWasserstein).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.corpora.contracts import RankedDocuments, Request, VectorPart
from engine.numeric import FloatArray
from engine.search.systems.baselines import Corpus

CANDIDATES = 1000
"""Documents whose sentences are compared; larger scopes are first cut to these by vector."""
CHUNK = 128  # Documents whose sentences are fetched together
MOST_SENTENCES = 500
"""Sentences of a text that take part, the first ones, or of a query those that weigh most: all
pairs of two such texts take 2 MB; of two books whose sentences are short, 100 GB."""
REGULARISATION = 0.05  # Weight of the plan's entropy: their `geoml_blur`
TEMPERATURE = 1.0
"""Of the softmax that makes the marginals: their default. Their best model for CSFCube has
5000, which makes all sentences equal; distances of unit vectors (0 to 2) nearly do."""
FARTHEST = 2.0  # Cost of a document without sentences: the distance of opposite unit vectors
ITERATIONS, TOLERANCE = 1000, 1e-6
"""Sinkhorn ends when no plan's marginal is off by more than this, or after so many steps."""
PAIRS = 2_000_000  # Sentence pairs solved together, padding included: some 100 MB

Float64Array = NDArray[np.float64]


def transport_costs(
    query: FloatArray, documents: Sequence[FloatArray], weights: FloatArray | None = None
) -> FloatArray:
    """Entropic transport cost (documents,), 0 (the same sentences) to 2, between the query's
    sentences (q, d) and each document's (s_i, d): unit rows, of which zeros take no part.

    The sum of plan times Euclidean distance, with :data:`REGULARISATION`. A sentence's mass is the
    softmax of minus its distance to the nearest sentence of the other side, for the query times its
    weight (q,), not negative.
    """
    costs = np.full(len(documents), FARTHEST, dtype=np.float32)
    rows, shares = _participants(query, weights)
    if not len(rows):
        return costs
    distances = {}
    for i, sentences in enumerate(documents):
        present = sentences[sentences.any(axis=1)][:MOST_SENTENCES]
        if len(present):
            distances[i] = _distances(query[rows], present)
    for group in _alike(distances):
        plans, padded = _solve([distances[i] for i in group], shares)
        costs[group] = (plans * padded).sum(axis=(1, 2))
    return costs


def _participants(
    query: FloatArray, weights: FloatArray | None
) -> tuple[NDArray[np.intp], Float64Array]:
    """Rows of the query that take part, and their weights."""
    given = np.ones(len(query)) if weights is None else np.asarray(weights, dtype=np.float64)
    rows = np.flatnonzero(query.any(axis=1) & (given > 0))
    rows = np.sort(rows[np.argsort(-given[rows], kind="stable")[:MOST_SENTENCES]])
    return rows, given[rows]


def _distances(query: FloatArray, document: FloatArray) -> Float64Array:
    """Euclidean distances (q, s) of unit rows."""
    similarities = (query @ document.T).astype(np.float64)
    return np.sqrt(np.maximum(2.0 - 2.0 * similarities, 0.0))


def _alike(distances: dict[int, Float64Array]) -> Iterator[list[int]]:
    """Groups of documents to pad to one length: at most twice as many sentences."""
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for i, matrix in distances.items():
        by_length[(matrix.shape[1] - 1).bit_length()].append(i)
    for bits, members in by_length.items():
        height = distances[members[0]].shape[0]
        most = max(1, PAIRS // (height * 2**bits))
        for start in range(0, len(members), most):
            yield members[start : start + most]


def _solve(
    distances: Sequence[Float64Array], weights: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Plans (b, q, s) of documents padded to the same length, and the padded distances."""
    longest = max(matrix.shape[1] for matrix in distances)
    padded = np.zeros((len(distances), len(weights), longest))
    present = np.zeros((len(distances), longest), dtype=np.bool_)
    for i, matrix in enumerate(distances):
        padded[i, :, : matrix.shape[1]] = matrix
        present[i, : matrix.shape[1]] = True
    hidden = np.where(present[:, None, :], padded, np.inf)
    theirs = _normalised(np.exp(-padded.min(axis=1) / TEMPERATURE) * present)
    ours = _normalised(np.exp(-hidden.min(axis=2) / TEMPERATURE) * weights)
    solved = _batch_solver()(
        padded,
        reg=REGULARISATION,
        a=ours,
        b=theirs,
        max_iter=ITERATIONS,
        tol=TOLERANCE,
        method="sinkhorn",
    )
    return np.asarray(solved.plan), padded


def _normalised(shares: Float64Array) -> Float64Array:
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)


def _batch_solver() -> Any:
    """POT's batch solver, imported lazily (about a second)."""
    for library in ("PYTORCH", "JAX", "TENSORFLOW", "CUPY"):
        # It would import each of them that is installed, to accept their arrays too.
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{library}", "1")
    from ot.batch import solve_batch

    return solve_batch


class TransportSystem:
    """Minus the transport cost between the seed's sentences and a document's.

    With an aspect, the seed's s sentences have weight ``(1 - steer) / s + steer * weight``; steer 1
    is the paper's faceted search.
    """

    name = "transport"
    reads_aspect = True

    def rank(self, corpus: Corpus, request: Request) -> RankedDocuments:
        seed, focus = request.seed, request.focus
        weights = np.full(len(seed.sentences), 1.0 / max(1, len(seed.sentences)))
        if focus is not None:
            steer = request.steer * focus.strength
            weights = (1.0 - steer) * weights + steer * focus.sentence_weights
        nearest = corpus.by_vectors([VectorPart("vector", seed.vector, 1.0)], request)
        rows = request.preferring(nearest.rows)[:CANDIDATES]
        costs = np.zeros(len(rows), dtype=np.float32)
        for start in range(0, len(rows), CHUNK):
            chunk = slice(start, start + CHUNK)
            costs[chunk] = transport_costs(
                seed.sentences, corpus.sentences(rows[chunk]), weights.astype(np.float32)
            )
        return corpus.ranked(rows, -costs, request.depth)
