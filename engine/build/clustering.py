"""Step 3: labels with similar vectors become clusters, which people can change.

Only labels are compared, never documents: near-synonymous labels are close whatever the documents
are about.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.build.build_prompts import merging, naming
from engine.build.build_records import Clustering, Made, clustering_basis, label_counts, shown
from engine.build.opened_build import Work
from engine.errors import BadInputError
from engine.numeric import FloatArray
from engine.text import counted
from engine.types.builds import BuildSpec, Cluster
from engine.types.encoders import Passage
from engine.types.models import TaskReport

Embed = Callable[[Sequence[str]], FloatArray]
"""Texts -> unit vectors (n, d)."""
MOST_AT_ONCE = 5000
"""Different labels that are clustered exactly: the distances of all pairs are held at once."""
PART = 2000
"""Labels of a part, on average, where there are more."""


def drafts(labels: Mapping[str, str], distance: float, embed: Embed) -> list[Cluster]:
    """The documents clustered by label, without keys; each cluster is named by its most central
    label.

    Args:
        labels: doc_id -> label, not empty.
        distance: mean cosine distance up to which labels are merged.
    """
    by_label: dict[str, list[str]] = {}
    for doc_id, label in labels.items():
        by_label.setdefault(label.casefold(), []).append(doc_id)
    if not by_label:
        return []
    vectors, documents = embed([*by_label]), [*by_label.values()]
    place = {doc_id: n for n, doc_id in enumerate(labels)}
    made = []
    for members in grouped(vectors, distance):
        sizes = [len(documents[i]) for i in members]
        own, mean = vectors[members], np.asarray(sizes, dtype=np.float32) @ vectors[members]
        # The label nearest to the weighted mean of all; the first of equals.
        central = documents[members[int(np.argmax(np.round(own @ mean, 6)))]]
        [(name, _)] = Counter(labels[doc_id] for doc_id in central).most_common(1)
        doc_ids = sorted((d for i in members for d in documents[i]), key=place.__getitem__)
        made.append(Cluster("", name, tuple(doc_ids)))
    return made


def grouped(vectors: FloatArray, distance: float) -> list[list[int]]:
    """Groups of rows by average linkage, in the order of the rows; more than :data:`MOST_AT_ONCE`
    are split by k-means first."""
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
    """Groups of rows; a row of zeros is a group."""
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


def kept_by_people(before: Clustering, labels: Mapping[str, str]) -> list[Cluster]:
    """The clusters that people made, with documents that a person put there or whose label is
    unchanged, distractors included."""
    kept = []
    for cluster in before.clusters:
        stay = tuple(
            doc_id
            for doc_id in (*cluster.doc_ids, *cluster.distractors)
            if doc_id in labels
            and (doc_id in cluster.put or labels[doc_id] == before.labels.get(doc_id))
        )
        if cluster.maker == "person" and stay:
            kept.append(replace(cluster, doc_ids=stay))
    return kept


def finished(
    before: Clustering,
    made: Sequence[Cluster],
    labels: Mapping[str, str],
    distractors: Collection[str],
) -> Clustering:
    """The clustering that is to be kept: clusters that are still there keep their keys, and none
    has distractors alone."""
    free = {c.key: frozenset(c.doc_ids) for c in before.clusters if c.maker != "person"}
    clusters = []
    for cluster in sorted(made, key=lambda c: -len(c.doc_ids)):
        others = tuple(d for d in cluster.doc_ids if d in distractors and d not in cluster.put)
        doc_ids = tuple(d for d in cluster.doc_ids if d not in others)
        if not doc_ids and cluster.maker != "person":
            continue
        cluster = replace(cluster, doc_ids=doc_ids, distractors=others)
        if cluster.maker != "person":
            shared = {key: len(old.intersection(doc_ids)) for key, old in free.items()}
            best = max(shared, key=lambda key: shared[key], default="")
            key = best if best and 2 * shared[best] > len(free[best]) else ""
            free.pop(key, None)
            was_dropped = any(c.key == key and c.dropped for c in before.clusters)
            cluster = replace(cluster, key=key, dropped=was_dropped)
        clusters.append(cluster)
    return replace(before, labels=dict(labels)).with_keys(clusters)


WINDOW = 24
"""Names that a model compares at once: neighbours by their vectors."""
ROUNDS = 3
"""Rounds of merging at most; every other one looks at windows half a window further on."""


def _vectors(work: Work, texts: Sequence[str]) -> FloatArray:
    """Vectors of the embedded model, whatever model the corpus has."""
    encoded = work.build.library.embedded().encode([Passage("", text, ()) for text in texts])
    return np.stack([one.vector for one in encoded])


async def collapse(work: Work) -> TaskReport[int]:
    """Cluster the labels again, keeping people's changes; a stopped run is stored only if nothing
    was yet."""
    build, spec, embed = work.build, work.build.spec, partial(_vectors, work)
    labels, distractors = build.shown_labels(), build.distractors()
    # Read once: an edit that comes in from here on is seen when the clusters are kept.
    started = build.made("collapse")
    before = build.clustering_of(started) or Clustering()
    work.say(0, len(labels))
    people = kept_by_people(before, labels)
    taken = {doc_id for cluster in people for doc_id in cluster.doc_ids}
    free = {doc_id: label for doc_id, label in labels.items() if doc_id not in taken}
    drawn = [*people, *await asyncio.to_thread(drafts, free, spec.distance, embed)]
    failed = 0
    if work.run.client is not None and not work.stopped:
        drawn, failed = await _with_model(work, drawn, embed, labels)
    if work.stopped and (work.stopped == "cancelled" or started is not None):
        return TaskReport(result=0, failed=failed, left=len(labels))
    place = {doc_id: n for n, doc_id in enumerate(labels)}
    drawn = [replace(d, doc_ids=tuple(sorted(d.doc_ids, key=place.__getitem__))) for d in drawn]
    clustering = finished(before, drawn, labels, distractors)
    basis = "" if work.stopped else clustering_basis(spec, labels, distractors)

    def keep(made: Made[Any] | None) -> Made[Any]:
        if made != started:
            raise BadInputError(
                f"The clusters of '{spec.name}' were edited while they were being made.",
                "Run the step again: answers are kept.",
            )
        return work.made(clustering, basis, made)

    await asyncio.to_thread(build.change, "collapse", keep, work.author)
    work.say(len(labels), len(labels))
    notes = _notes(clustering, spec, work, failed)
    return TaskReport(result=len(clustering.clusters), failed=failed, notes=notes)


async def _with_model(
    work: Work, made: list[Cluster], embed: Embed, labels: Mapping[str, str]
) -> tuple[list[Cluster], int]:
    """The clusters named and merged, and the number of questions without a usable answer."""
    total = len(labels)
    made, failed = await _named(work, made, labels)
    work.say(total // 2, total)
    quiet = 0
    for number in range(ROUNDS):
        if work.stopped or len(made) < 2:
            break
        vectors = await asyncio.to_thread(embed, [cluster.name for cluster in made])
        offset = WINDOW // 2 * (number % 2)
        count = len(made)
        made, unread = await _merged(work, made, _windows(vectors, offset))
        failed += unread
        quiet = quiet + 1 if len(made) == count else 0
        if quiet == 2 or (quiet and len(made) <= WINDOW):
            break
        work.say(total // 2 + total * (number + 1) // (2 * ROUNDS + 2), total)
    return made, failed


async def _named(
    work: Work, made: Sequence[Cluster], labels: Mapping[str, str]
) -> tuple[list[Cluster], int]:
    """Names for clusters of several labels by what these share; people's names stay."""
    counts = {n: label_counts(labels, c.doc_ids) for n, c in enumerate(made) if c.maker != "person"}
    several = {n: own for n, own in counts.items() if len(own) > 1}
    answers = await work.run.ask([naming(work.spec, own) for own in several.values()])
    named = list(made)
    for n, answer in zip(several, answers, strict=True):
        if answer is not None:
            named[n] = replace(named[n], name=answer.name)
    return named, 0 if work.stopped else sum(answer is None for answer in answers)


async def _merged(
    work: Work, made: Sequence[Cluster], windows: Sequence[Sequence[int]]
) -> tuple[list[Cluster], int]:
    """One round over windows of neighbouring clusters."""
    asked = [window for window in windows if len(window) > 1]
    answers = await work.run.ask([merging(work.spec, [made[n].name for n in w]) for w in asked])
    left: dict[int, Cluster] = dict(enumerate(made))
    for window, answer in zip(asked, answers, strict=True):
        for group in () if answer is None else answer.groups:
            members = [window[m - 1] for m in group.members]
            people = [n for n in members if made[n].maker == "person"]
            # People's clusters are merged by people only: but for the first, they stay.
            members = [*people[:1], *(n for n in members if n not in people)]
            if len(members) > 1:
                first, doc_ids = made[members[0]], [d for n in members for d in made[n].doc_ids]
                name = first.name if people else group.name
                left[members[0]] = replace(first, name=name, doc_ids=tuple(doc_ids))
                for n in members[1:]:
                    del left[n]
    return list(left.values()), 0 if work.stopped else sum(a is None for a in answers)


def _windows(vectors: FloatArray, offset: int) -> list[list[int]]:
    """Windows of neighbouring rows: leaves of their tree in order, cut at equal lengths."""
    order = [part[i] for part in parted(vectors) for i in _leaves(vectors[part])]
    if len(order) <= WINDOW:
        return [order]
    starts = range(offset - WINDOW if offset else 0, len(order), WINDOW)
    return [order[max(0, start) : start + WINDOW] for start in starts]


def _leaves(vectors: FloatArray) -> list[int]:
    if len(vectors) < 3:
        return list(range(len(vectors)))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import pdist

    distances = pdist(vectors + 1e-9, metric="cosine").clip(0.0)
    return [int(row) for row in leaves_list(linkage(distances, method="average"))]


def _notes(clustering: Clustering, spec: BuildSpec, work: Work, failed: int) -> tuple[str, ...]:
    notes = []
    if work.run.client is None:
        alone = "clusters are named by their most central label, and near-synonyms are not merged"
        notes.append(f"Without a model, {alone}.")
    if failed:
        which = counted(failed, "question has", "questions have")
        notes.append(f"{which} no usable answer; there, names are labels and nothing is merged.")
    if stated := sum(len(cluster.distractors) for cluster in clustering.clusters):
        which = counted(stated, "document states or reports", "documents state or report")
        notes.append(f"{which} the attribute: distractors, never relevant.")
    out = sum(shown(cluster, spec).dropped for cluster in clustering.clusters)
    if out:
        which = counted(out, "cluster becomes", "clusters become")
        notes.append(f"{which} no query: too small, too large, or taken out by a person.")
    return tuple(notes)
