"""Small vector arithmetic shared by encoding, retrieval and evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


def unit(rows: FloatArray) -> FloatArray:
    """Scale the last axis to length 1; zero rows stay zero.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1.0), dtype=np.float32)


def standardised(values: FloatArray) -> FloatArray:
    """Mean 0 and standard deviation 1; zeros when all are alike."""
    spread = float(values.std())
    if spread < 1e-6:
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / spread, dtype=np.float32)


def distinct(values: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """All of these values in order, each once.

    >>> distinct([np.array([4, 2]), np.array([2, 3])]).tolist()
    [4, 2, 3]
    """
    joined = np.concatenate(values)
    _, first = np.unique(joined, return_index=True)
    return joined[np.sort(first)]
