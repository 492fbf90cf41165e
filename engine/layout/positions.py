"""Positions in the plane for vectors: t-SNE, with known positions to start from.

t-SNE (van der Maaten and Hinton, 2008) by openTSNE, interpolated (Linderman et al., 2019), from
the first two principal components or from positions that are given (Kobak and Berens, 2019).
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from engine.numeric import FloatArray
from engine.types.callbacks import Ask


def nearest(
    asked: FloatArray, known: FloatArray, count: int
) -> tuple[NDArray[np.intp], FloatArray]:
    """The ``count`` nearest known vectors of each vector asked for: places and Euclidean distances,
    (n, count) each, nearest first; where ``asked`` is ``known``, each vector itself is first."""
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(known)
    distances, places = index.kneighbors(asked)
    if asked is known:  # of equal vectors another may have come first
        own = np.arange(len(known))
        at = np.argmax(places == own[:, None], axis=1)
        at[places[own, at] != own] = count - 1
        places[own, at], distances[own, at] = places[:, 0], distances[:, 0]
        places[:, 0], distances[:, 0] = own, 0.0
    return places, np.asarray(distances, dtype=np.float32)


FEW = 32
"""Different vectors up to which their principal components are the layout: too few for t-SNE."""
MOST_COMPUTED = 60_000
"""Vectors whose positions are computed; of more, as many are drawn, and the rest is placed."""
COMPONENTS = 50  # Principal components that neighbours are found in
PERPLEXITY = 15
EARLY, LATE = 100, 200
"""Iterations with and without exaggeration. On CSFCube's 4,205 documents 250 and 500 take three
times as long for a trustworthiness of 0.967 in place of 0.965."""
GRID = {"min_num_intervals": 25, "ints_in_interval": 2}
"""Half as fine as openTSNE's own: a quarter of the time for the same trustworthiness, 0.965."""
PLACED_BY = 5  # Neighbours among which a vector is placed
SEED = 0


class CancelledLayoutError(Exception):
    """Raised between two steps of a layout that is not wanted any more."""


def find_positions(
    vectors: FloatArray, start: FloatArray | None, cancelled: Ask
) -> tuple[FloatArray, int | None]:
    """Positions (n, 2) in 0 to 1 of unit rows (n, d), and how many were computed (None: all).

    The same vectors have the same positions every time; zero vectors have none (NaN). Begins at
    ``start`` (n, 2), as far as it is not NaN, and lies as near to it as it can.
    """
    there = np.flatnonzero(np.linalg.norm(vectors, axis=1) > 1e-6)
    out = np.full((len(vectors), 2), np.nan, dtype=np.float32)
    drawn = there
    if len(there) > MOST_COMPUTED:
        drawn = np.sort(np.random.default_rng(SEED).choice(there, MOST_COMPUTED, replace=False))
    begin = None if start is None else start[drawn]
    found = _computed(vectors[drawn], begin, cancelled)
    out[drawn] = found
    rest = np.setdiff1d(there, drawn)
    if len(rest):
        out[rest] = place(vectors[rest], vectors[drawn], found, cancelled)
    return out, len(drawn) if len(rest) else None


def place(new: FloatArray, known: FloatArray, positions: FloatArray, cancelled: Ask) -> FloatArray:
    """Positions (m, 2) of new unit rows (m, d) among their nearest known ones (n, d), the nearer
    the more; ``positions`` (n, 2) are those of the known."""
    places, distances = nearest(new, known, min(PLACED_BY, len(known)))
    if cancelled():
        raise CancelledLayoutError
    weights = 1.0 / np.maximum(distances, 1e-6) ** 2
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray((weights[:, :, None] * positions[places]).sum(axis=1), dtype=np.float32)


def _computed(vectors: FloatArray, start: FloatArray | None, cancelled: Ask) -> FloatArray:
    """Positions (n, 2) of non-zero vectors."""
    if cancelled():
        raise CancelledLayoutError
    reduced = _components(vectors)
    if len(np.unique(reduced[:, :2].round(5), axis=0)) <= FEW:
        return _into_square(reduced[:, :2])
    known = np.zeros(len(vectors), dtype=np.bool_) if start is None else ~np.isnan(start[:, 0])
    if start is None or known.sum() <= FEW or np.ptp(start[known], axis=0).min() < 1e-6:
        return _into_square(_tsne(reduced, reduced[:, :2], cancelled))
    begin = np.where(known[:, None], start - start[known].mean(axis=0), 0.0)
    return _into_square(_turned(_tsne(reduced, begin, cancelled), start))


def _components(vectors: FloatArray) -> FloatArray:
    """The first principal components (n, 2 to 50); zeros where there are not as many."""
    from sklearn.decomposition import PCA

    count = min(COMPONENTS, *vectors.shape)
    out = np.zeros((len(vectors), max(2, count)), dtype=np.float32)
    if len(vectors) > 1 and np.ptp(vectors, axis=0).max() > 1e-6:
        out[:, :count] = PCA(count, svd_solver="covariance_eigh").fit_transform(vectors)
    return out


def _tsne(reduced: FloatArray, begin: FloatArray, cancelled: Ask) -> FloatArray:
    from openTSNE import TSNEEmbedding, affinity, initialization, nearest_neighbors

    perplexity = min(PERPLEXITY, (len(reduced) - 1) / 3)
    # One more than is asked for: everyone is their own nearest.
    count = min(len(reduced) - 1, int(3 * perplexity))
    places, distances = nearest(reduced, reduced, count + 1)
    known = nearest_neighbors.PrecomputedNeighbors(places[:, 1:], distances[:, 1:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of perplexities that few vectors do not allow
        affinities = affinity.PerplexityBasedNN(knn_index=known, perplexity=perplexity, n_jobs=1)
    embedding = TSNEEmbedding(
        initialization.rescale(begin.astype(np.float64)),
        affinities,
        negative_gradient_method="fft",
        **GRID,
        n_jobs=1,
        random_state=SEED,
        callbacks=lambda *_: cancelled(),
        callbacks_every_iters=20,
    )
    for iterations, options in (
        (EARLY, {"exaggeration": 12, "momentum": 0.5}),
        (LATE, {"momentum": 0.8}),
    ):
        embedding = embedding.optimize(n_iter=iterations, **options)
        if cancelled():
            raise CancelledLayoutError
    return np.asarray(embedding, dtype=np.float32)


def _turned(found: FloatArray, start: FloatArray) -> FloatArray:
    """Positions turned, or mirrored, so that they lie nearest to others (Procrustes)."""
    from scipy.linalg import orthogonal_procrustes

    known = ~np.isnan(start[:, 0])
    centred = found - found[known].mean(axis=0)
    turn, _ = orthogonal_procrustes(centred[known], start[known] - start[known].mean(axis=0))
    return np.asarray(centred @ turn, dtype=np.float32)


def _into_square(positions: FloatArray) -> FloatArray:
    """Positions in 0 to 1, the same scale both ways, in the middle."""
    if not len(positions):
        return positions
    low, high = positions.min(axis=0), positions.max(axis=0)
    extent = max(float((high - low).max()), 1e-9)
    scaled = 0.5 + 0.98 * (positions - (low + high) / 2) / extent
    return np.asarray(scaled, dtype=np.float32)
