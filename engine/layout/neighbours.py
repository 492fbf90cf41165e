"""Nearest neighbours among vectors, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.numeric import FloatArray


def nearest(
    asked: FloatArray, known: FloatArray, count: int
) -> tuple[NDArray[np.intp], FloatArray]:
    """The ``count`` nearest known vectors of each vector asked for: places and Euclidean distances,
    (n, count) each, nearest first.

    Where ``asked`` is ``known``, each vector stands first among its own neighbours.
    """
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
