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
    """One partition of the documents of a layout.

    Attributes:
        labels: (n,) int32, the cluster of each document; :data:`NO_CLUSTER` for a document
            without a position.
        names: of each cluster, two or three of the words that tell it from the others; each once.
        centres: (c, 2) float32, mean position of each cluster's documents.
        sizes: (c,) int32, documents in each.
    """

    labels: NDArray[np.int32]
    names: tuple[str, ...]
    centres: NDArray[np.float32]
    sizes: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The documents in the plane, alike ones near to each other.

    Attributes:
        name: :data:`WHOLE_DOCUMENT`, or the key of an aspect.
        positions: (n, 2) float32 in 0 to 1; NaN for a document that no sentence serves the aspect
            of, or that came after the map was made.
        levels: coarse, then fine.
        worded_by: the model that worded the names of clusters; "" where they are the clusters'
            own words.
    """

    name: str
    positions: NDArray[np.float32]
    levels: tuple[ClusterLevel, ClusterLevel]
    worded_by: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CorpusMap:
    """All layouts of a corpus. Row i of every array is document i of ``doc_ids``.

    Attributes:
        doc_ids, titles: (n,) all documents of the corpus as it is now, in its order.
        layouts: by name, the whole documents' first, then the aspects in the lens's order.
        sampled: documents that positions were computed for, the others were placed among their
            nearest neighbours; None where all were.
        missing: documents that came after the map was made, and have no position in it;
            :meth:`engine.maps.facade.Maps.build` places them.
    """

    corpus: str
    doc_ids: tuple[str, ...]
    titles: tuple[str, ...]
    layouts: Mapping[str, Layout]
    sampled: int | None
    missing: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class MapValues:
    """One value per document, to colour a map by: numbers or categories, never both.

    Attributes:
        by: what was asked for, such as "year" or "cluster".
        numbers: (n,) float32, NaN for a document without a value; None for categories.
        codes: (n,) int32 places in ``names``, -1 for a document without a value; None for numbers.
        names: of the categories, most frequent first; () for numbers.
    """

    by: str
    numbers: NDArray[np.float32] | None = None
    codes: NDArray[np.int32] | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MapOverlay:
    """Documents that are laid over a map.

    Attributes:
        kind: "judged" (of a project), "pool" (that any of its queries has in its pool), "unpooled"
            (that no pool of it reached), or "results" (a system's first 20 for a query).
        rows: (m,) int32 rows of the map; results are in the order of the ranking.
        titles: of these documents.
    """

    kind: OverlayKind
    rows: NDArray[np.int32]
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MapReport:
    """What making a map did.

    Attributes:
        layouts: names of those that were made.
        placed: documents that were placed among others without moving these.
        sampled: as :class:`CorpusMap`.
        stopped: "cancelled" when it was; nothing was changed then.
    """

    corpus: str
    documents: int
    layouts: tuple[str, ...]
    placed: int
    sampled: int | None
    seconds: float
    stopped: str = ""


MapJob = Job[Progress, MapReport]
