"""Step 3, first half: labels that are alike by their vectors become clusters.

Only labels are compared, never documents: near-synonymous labels lie close together, whatever
the documents are about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.build.build_records import Clustering, StoredCluster
from engine.numeric import FloatArray

Embed = Callable[[Sequence[str]], FloatArray]
"""Texts -> unit vectors (n, d)."""
MOST_AT_ONCE = 5000
"""Different labels that are clustered exactly: the distances of all pairs are held at once."""
PART = 2000
"""Labels of a part, on average, where there are more."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A cluster in the making.

    Attributes:
        labels: label -> documents with it, the commonest first.
        fixed: the cluster as a person left it; its name and key stay.
    """

    name: str
    doc_ids: tuple[str, ...]
    labels: Mapping[str, int]
    fixed: StoredCluster | None = None


def drafts(labels: Mapping[str, str], distance: float, embed: Embed) -> list[Draft]:
    """The documents by what their labels say, each cluster named by its most central label.

    Args:
        labels: doc_id -> label, none of them empty.
        distance: cosine distance up to which labels are put together, on average.
    """
    by_label: dict[str, list[str]] = {}
    written: dict[str, Counter[str]] = {}
    for doc_id, label in labels.items():
        folded = label.casefold()
        by_label.setdefault(folded, []).append(doc_id)
        written.setdefault(folded, Counter())[label] += 1
    folded_labels = list(by_label)
    if not folded_labels:
        return []
    vectors = embed(folded_labels)
    place = {doc_id: n for n, doc_id in enumerate(labels)}
    found = []
    for members in grouped(vectors, distance):
        counts = {
            written[folded_labels[i]].most_common(1)[0][0]: len(by_label[folded_labels[i]])
            for i in members
        }
        doc_ids = sorted((d for i in members for d in by_label[folded_labels[i]]), key=place.get)  # type: ignore[arg-type]
        central = list(counts)[most_central(vectors[members], list(counts.values()))]
        commonest = dict(sorted(counts.items(), key=lambda item: -item[1]))
        found.append(Draft(central, tuple(doc_ids), commonest))
    return found


def grouped(vectors: FloatArray, distance: float) -> list[list[int]]:
    """Rows that lie together, by average linkage; groups and members in the order of the rows.

    Beyond :data:`MOST_AT_ONCE` rows they are first parted by k-means.
    """
    groups = [
        [part[i] for i in members]
        for part in parted(vectors)
        for members in _linked(vectors[part], distance)
    ]
    return sorted(groups)


def parted(vectors: FloatArray) -> list[list[int]]:
    """The rows in parts that are small enough to compare all pairs of."""
    count = len(vectors)
    if count <= MOST_AT_ONCE:
        return [list(range(count))]
    from sklearn.cluster import MiniBatchKMeans

    means = MiniBatchKMeans(-(-count // PART), random_state=0, n_init=3).fit(vectors)
    parts = _by_group(means.labels_)
    # A part may still be too large: where nothing tells its rows apart, they are cut as they come.
    return [
        part[start : start + MOST_AT_ONCE]
        for part in parts
        for start in range(0, len(part), MOST_AT_ONCE)
    ]


def _linked(vectors: FloatArray, distance: float) -> list[list[int]]:
    """Groups of rows; one without any direction, which is like nothing, is by itself."""
    pointing = np.linalg.norm(vectors, axis=1) > 0
    alone = [[int(row)] for row in np.flatnonzero(~pointing)]
    rows = [int(row) for row in np.flatnonzero(pointing)]
    if len(rows) < 2:
        return [*alone, *([row] for row in rows)]
    from sklearn.cluster import AgglomerativeClustering

    clustering = AgglomerativeClustering(
        n_clusters=None, metric="cosine", linkage="average", distance_threshold=distance
    )
    groups = _by_group(clustering.fit_predict(vectors[rows]))
    return [*alone, *([rows[i] for i in group] for group in groups)]


def _by_group(numbers: NDArray[np.int_]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for row, number in enumerate(numbers.tolist()):
        groups.setdefault(number, []).append(row)
    return list(groups.values())


def most_central(vectors: FloatArray, weights: Sequence[float]) -> int:
    """The row nearest to the weighted mean of all; the first of equals."""
    mean = np.asarray(weights, dtype=np.float32) @ vectors
    return int(np.argmax(np.round(vectors @ mean, 6)))


def kept_by_people(before: Clustering, labels: Mapping[str, str]) -> list[StoredCluster]:
    """The clusters that people made, with the documents that still belong to them.

    A document stays that a person put there, or whose label is the one by which it came there.
    """
    kept = []
    for cluster in before.clusters:
        if cluster.maker != "person":
            continue
        stay = tuple(
            doc_id
            for doc_id in cluster.doc_ids
            if doc_id in labels
            and (doc_id in cluster.put or labels[doc_id] == before.labels.get(doc_id))
        )
        if stay:
            kept.append(replace(cluster, doc_ids=stay))
    return kept


def finished(before: Clustering, found: Sequence[Draft], labels: Mapping[str, str]) -> Clustering:
    """The clustering that is to be kept: clusters that are still there keep their keys."""
    free = {c.key: frozenset(c.doc_ids) for c in before.clusters if c.maker != "person"}
    clusters = []
    for draft in sorted(found, key=lambda d: -len(d.doc_ids)):
        if draft.fixed is not None:
            clusters.append(replace(draft.fixed, doc_ids=draft.doc_ids))
            continue
        shared = {key: len(old.intersection(draft.doc_ids)) for key, old in free.items()}
        best = max(shared, key=lambda key: shared[key], default="")
        key = best if best and 2 * shared[best] > len(free[best]) else ""
        free.pop(key, None)
        was_dropped = any(c.key == key and c.dropped for c in before.clusters)
        clusters.append(StoredCluster(key, draft.name, draft.doc_ids, was_dropped))
    return replace(before, labels=dict(labels)).with_keys(clusters)
