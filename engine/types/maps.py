"""Maps: the documents of a corpus in the plane, once as a whole and once for each aspect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

WHOLE_DOCUMENT = "document"
"""Name of the layout by whole documents; the others are named by an aspect's key."""
OverlayKind = Literal["judged", "pool", "results"]


@dataclass(frozen=True, slots=True, eq=False)
class ClusterLevel:
    """One partition of the documents of a layout."""

    labels: NDArray[np.int32]  # (n,) int32, -1 without a position
    names: tuple[str, ...]  # two or three telling words each; unique


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The documents in the plane, alike ones near to each other."""

    name: str  # `WHOLE_DOCUMENT`, or the key of an aspect
    positions: NDArray[np.float32]  # (n, 2), 0 to 1; NaN without the aspect, or if added later
    levels: tuple[ClusterLevel, ClusterLevel]  # coarse, then fine
    worded_by: str = ""  # model; "" for their own words


@dataclass(frozen=True, slots=True, eq=False)
class CorpusMap:
    """All layouts of a corpus. Row i of every array is document i of ``doc_ids``."""

    corpus: str
    doc_ids: tuple[str, ...]  # (n,) all documents, in the order of the corpus
    titles: tuple[str, ...]
    layouts: Mapping[str, Layout]  # by name: the whole text, then the aspects of the lens
    sampled: int | None  # documents with computed positions, the rest placed near them; None: all
    missing: int = 0  # came after the map was made; `build` places them


@dataclass(frozen=True, slots=True, eq=False)
class MapValues:
    """One value per document, to colour a map by: numbers or categories, never both."""

    numbers: NDArray[np.float32] | None = None  # (n,) float32, NaN: none
    codes: NDArray[np.int32] | None = None  # (n,) int32 places in `names`, -1: none
    names: tuple[str, ...] = ()  # of the categories, most frequent first; () for numbers


@dataclass(frozen=True, slots=True)
class MapReport:
    """What making a map did."""

    corpus: str
    documents: int
    layouts: tuple[str, ...]  # names of those that were made
    placed: int  # documents that were placed among others without moving these
    sampled: int | None  # as `CorpusMap`
    seconds: float
    stopped: str = ""  # "cancelled" when it was; nothing was changed then
