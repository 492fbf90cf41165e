"""Maps: the documents of a corpus in the plane, once as a whole and once for each aspect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.types.corpora import Progress
from engine.types.jobs import Job

WHOLE_DOCUMENT = "document"
"""Name of the layout by whole documents; the others are named by an aspect's key."""
NO_CLUSTER = -1

OverlayKind = Literal["judged", "pool", "unpooled", "results"]
OVERLAYS: tuple[OverlayKind, ...] = ("judged", "pool", "unpooled", "results")


@dataclass(frozen=True, slots=True, eq=False)
class ClusterLevel:
    """One partition of the documents of a layout."""

    # (n,) int32, the cluster of each document; `NO_CLUSTER` for a document without a position
    labels: NDArray[np.int32]
    # of each cluster, two or three of the words that tell it from the others; each once
    names: tuple[str, ...]
    centres: NDArray[np.float32]  # (c, 2) float32, mean position of each cluster's documents
    sizes: NDArray[np.int32]  # (c,) int32, documents in each


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The documents in the plane, alike ones near to each other."""

    name: str  # `WHOLE_DOCUMENT`, or the key of an aspect
    # (n, 2) float32 in 0 to 1; NaN for a document that no sentence serves the aspect of, or that
    # came after the map was made
    positions: NDArray[np.float32]
    levels: tuple[ClusterLevel, ClusterLevel]  # coarse, then fine
    # the model that worded the names of clusters; "" where they are the clusters' own words
    worded_by: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CorpusMap:
    """All layouts of a corpus. Row i of every array is document i of ``doc_ids``."""

    corpus: str
    # doc_ids, titles: (n,) all documents of the corpus as it is now, in its order
    doc_ids: tuple[str, ...]
    titles: tuple[str, ...]
    # by name, the whole documents' first, then the aspects in the lens's order
    layouts: Mapping[str, Layout]
    # documents that positions were computed for, the others were placed among their nearest
    # neighbours; None where all were
    sampled: int | None
    # documents that came after the map was made, and have no position in it; `build` places them
    missing: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class MapValues:
    """One value per document, to colour a map by: numbers or categories, never both."""

    by: str  # what was asked for, such as "year" or "cluster"
    # (n,) float32, NaN for a document without a value; None for categories
    numbers: NDArray[np.float32] | None = None
    # (n,) int32 places in `names`, -1 for a document without a value; None for numbers
    codes: NDArray[np.int32] | None = None
    names: tuple[str, ...] = ()  # of the categories, most frequent first; () for numbers


@dataclass(frozen=True, slots=True, eq=False)
class MapOverlay:
    """Documents that are laid over a map."""

    # "judged" (of a project), "pool" (that any of its queries has in its pool), "unpooled" (that no
    # pool of it reached), or "results" (a system's first 20 for a query)
    kind: OverlayKind
    rows: NDArray[np.int32]  # (m,) int32 rows of the map; results are in the order of the ranking
    titles: tuple[str, ...]  # of these documents


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


MapJob = Job[Progress, MapReport]
