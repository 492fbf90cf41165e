"""Small vector arithmetic shared by encoding, retrieval and evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

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


def narrowed(rows: FloatArray) -> NDArray[np.int8]:
    """Directions of rows, the largest number of each as -127 or 127; zero rows stay zero.

    >>> narrowed(np.array([[0.6, -0.8], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[95, -127], [0, 0]]
    """
    largest = np.abs(rows).max(axis=-1, keepdims=True, initial=0.0)
    return np.rint(rows * (127 / np.where(largest > 0, largest, 1.0))).astype(np.int8)


def widened(values: NDArray[np.float16] | NDArray[np.int8] | FloatArray) -> FloatArray:
    """Stored values as float32: what was :func:`narrowed` as unit rows; float32 as it is.

    Of finite float16 values, which takes a sixth of the time of ``astype``, the bits move to where
    float32 has them; its exponents are counted from 112 further down.

    >>> widened(np.array([-0.5, 0.0, 6e-8, 65504], dtype=np.float16)).tolist()
    [-0.5, 0.0, 5.960464477539063e-08, 65504.0]
    >>> widened(narrowed(np.array([[0.6, -0.8]], dtype=np.float32))).round(2).tolist()
    [[0.6000000238418579, -0.800000011920929]]
    """
    if values.dtype == np.float32:
        return cast(FloatArray, values)
    if values.dtype == np.int8:
        wide = values.astype(np.float32)
        # No row is between zero and 127 long.
        wide /= np.maximum(np.sqrt(np.einsum("...i,...i", wide, wide)), 1.0)[..., None]
        return wide
    bits = values.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= ~0x70000000  # copies of the sign, between it and the exponent
    wide = bits.view(np.float32)
    wide *= np.float32(2.0**112)
    return wide


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


def groups(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Positions in order, cut so that a group's lengths add up to ``most`` (or it is alone).

    >>> list(groups([2, 2, 9, 1], 4))
    [[0, 1], [2], [3]]
    """
    group: list[int] = []
    total = 0
    for position, length in enumerate(lengths):
        if group and total + length > most:
            yield group
            group, total = [], 0
        group.append(position)
        total += length
    if group:
        yield group
