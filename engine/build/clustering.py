"""Step 3: labels that are alike by their vectors become clusters, which people can change.

Only labels are compared, never documents: near-synonymous labels lie close together, whatever
the documents are about.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.build.build_prompts import merging, naming
from engine.build.build_records import (
    LONGEST_LABEL,
    Clustering,
    StoredCluster,
    check_line,
    clustering_basis,
    fits,
)
from engine.build.labelling import Made, Work, counted
from engine.errors import BadInputError, UnknownNameError
from engine.llm.client import Client
from engine.numeric import FloatArray
from engine.types.builds import BuildLens, Cluster
from storage.builds import StepRow

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


Order = Mapping[str, int]
"""doc_id -> its place in the corpus."""


def checked_clusters(found: Clustering, clusters: Sequence[Cluster]) -> list[Cluster]:
    """The clusters with their names cleaned up; those without documents are left out.

    Raises:
        UnknownNameError: a document that is in no cluster.
        BadInputError: a document that is in two clusters or in none any more, a cluster without
            a name, one key twice.
    """
    home: dict[str, str] = {}
    keys: set[str] = set()
    kept = []
    known = {doc_id for cluster in found.clusters for doc_id in cluster.doc_ids}
    for cluster in clusters:
        name = check_line(cluster.name, "A cluster's name", LONGEST_LABEL)
        if not cluster.doc_ids:
            continue
        if not name:
            raise BadInputError(f"The cluster of '{cluster.doc_ids[0]}' has no name.", "Name it.")
        if cluster.key and cluster.key in keys:
            raise BadInputError(f"The cluster '{cluster.key}' comes twice.", "Join the two.")
        keys.add(cluster.key)
        for doc_id in cluster.doc_ids:
            if doc_id not in known:
                raise UnknownNameError(
                    f"Document '{doc_id}' is in none of the clusters there are.",
                    "Label it, and run the step again.",
                )
            if doc_id in home:
                raise BadInputError(
                    f"Document '{doc_id}' is in '{home[doc_id]}' and in '{name}'.",
                    "Leave it in one cluster.",
                )
            home[doc_id] = name
        kept.append(replace(cluster, name=name))
    lost = known - home.keys()
    if lost:
        raise BadInputError(
            f"Document '{min(lost)}' is in no cluster any more.",
            "Leave it in one, and drop a cluster that should become no query.",
        )
    return kept


def left(
    found: Clustering, clusters: Sequence[Cluster], author: str, lens: BuildLens, order: Order
) -> tuple[Clustering, int]:
    """What there is when a person leaves the clusters like this, and how many changed.

    Clusters with a key that there is are that cluster changed; others are new. Raises as
    :func:`checked_clusters`.
    """
    before = {cluster.key: cluster for cluster in found.clusters}
    kept = []
    for cluster in checked_clusters(found, clusters):
        doc_ids = tuple(sorted(cluster.doc_ids, key=lambda i: order.get(i, len(order))))
        old = before.get(cluster.key)
        kept.append(_changed(old, replace(cluster, doc_ids=doc_ids), author, lens))
    stay = {cluster.key for cluster in kept}
    changes = sum(before.get(c.key) != c for c in kept) + sum(key not in stay for key in before)
    return found.with_keys(kept), changes


def _changed(
    old: StoredCluster | None, cluster: Cluster, author: str, lens: BuildLens
) -> StoredCluster:
    dropped = cluster.dropped
    if not fits(cluster.doc_ids, lens):  # its size takes it out, which is no person's doing
        dropped = old is not None and old.dropped
    elif old is not None and not old.dropped and not fits(old.doc_ids, lens):
        dropped = False  # its size took it out, and does no more
    put = {} if old is None else {i: who for i, who in old.put.items() if i in cluster.doc_ids}
    there = () if old is None else old.doc_ids
    put |= {doc_id: author for doc_id in cluster.doc_ids if doc_id not in there}
    key = "" if old is None else old.key
    made = StoredCluster(key, cluster.name, cluster.doc_ids, dropped, "person", put)
    if old is not None and made == replace(old, maker="person"):
        return old
    return made


def merged(clusters: Sequence[Cluster], keys: Sequence[str], name: str) -> list[Cluster]:
    """The clusters with some put together under the key of the one that is called so already,
    else of the largest.

    Raises:
        UnknownNameError, BadInputError: a key that there is not; fewer than two.
    """
    wanted = list(dict.fromkeys(keys))
    for key in wanted:
        find_cluster(clusters, key)
    if len(wanted) < 2:
        raise BadInputError("One cluster cannot be merged.", "Choose two or more.")
    parts = [cluster for cluster in clusters if cluster.key in wanted]
    parts.sort(key=lambda part: part.name != name)
    doc_ids = tuple(doc_id for part in parts for doc_id in part.doc_ids)
    dropped = all(part.dropped for part in parts)
    whole = replace(parts[0], name=name, doc_ids=doc_ids, dropped=dropped)
    return [whole, *(cluster for cluster in clusters if cluster.key not in wanted)]


def split(
    clusters: Sequence[Cluster], key: str, doc_ids: Sequence[str], name: str
) -> list[Cluster]:
    """The clusters with some documents of one in a new one.

    Raises:
        UnknownNameError, BadInputError: no such cluster; documents that are not in it, all of
            them or none.
    """
    whole = find_cluster(clusters, key)
    out = set(doc_ids)
    strange = out.difference(whole.doc_ids)
    if strange:
        raise UnknownNameError(f"Document '{min(strange)}' is not in the cluster '{whole.name}'.")
    if not out or len(out) == len(whole.doc_ids):
        raise BadInputError(
            f"{len(out)} of {len(whole.doc_ids)} documents of '{whole.name}' would go.",
            "Choose some of them, but not all.",
        )
    stay = tuple(doc_id for doc_id in whole.doc_ids if doc_id not in out)
    new = Cluster("", name, tuple(d for d in whole.doc_ids if d in out), maker="person")
    others = [cluster for cluster in clusters if cluster.key != key]
    return [replace(whole, doc_ids=stay), new, *others]


def dropped(
    clusters: Sequence[Cluster], key: str, is_dropped: bool, lens: BuildLens
) -> list[Cluster]:
    """The clusters with one taken out, or back in.

    Raises:
        UnknownNameError: no such cluster.
        BadInputError: its size takes it out.
    """
    found = find_cluster(clusters, key)
    if not is_dropped and not fits(found.doc_ids, lens):
        raise BadInputError(
            f"The cluster '{found.name}' has {len(found.doc_ids)} documents; those of "
            f"{lens.smallest} to {lens.largest} become queries.",
            "Change these numbers, or merge or split the cluster.",
        )
    return [replace(c, dropped=is_dropped) if c.key == key else c for c in clusters]


def find_cluster(clusters: Sequence[Cluster], key: str) -> Cluster:
    """The cluster of this key; UnknownNameError."""
    for cluster in clusters:
        if cluster.key == key:
            return cluster
    raise UnknownNameError(f"There is no cluster '{key}'.", "Look at the clusters again.")


WINDOW = 24
"""Names that a model compares at once: neighbours by their vectors."""
ROUNDS = 3
"""Rounds of merging at most; every other one looks at windows half a window further on."""


async def collapse(work: Work, embed: Embed) -> Made:
    """Cluster the labels anew around what people left; what is stopped early leaves all as it
    was, unless there was nothing yet.

    Raises:
        BadInputError: somebody edited the clusters meanwhile.
    """
    store, lens = work.store, work.lens
    labels = store.shown_labels(lens)
    # Read once: an edit that comes in from here on is seen when the clusters are kept.
    started = store.rows.last(lens.corpus, lens.name, "collapse")
    before = Clustering() if started is None else store.read_clustering(lens, started)
    work.say(0, len(labels))
    people = kept_by_people(before, labels)
    taken = {doc_id for cluster in people for doc_id in cluster.doc_ids}
    free = {doc_id: label for doc_id, label in labels.items() if doc_id not in taken}
    found = await asyncio.to_thread(drafts, free, lens.distance, embed)
    found = [
        *(Draft(c.name, c.doc_ids, counted(labels, c.doc_ids), c) for c in people),
        *found,
    ]
    failed = 0
    if work.client is not None and not work.stopped:
        found, failed = await _with_model(work, work.client, found, embed, len(labels))
    if work.stopped and (work.stopped == "cancelled" or started is not None):
        return Made(0, failed, len(labels))
    clustering = finished(before, _in_order(found, labels), labels)
    basis = "" if work.stopped else clustering_basis(lens, labels)

    def keep(row: StepRow | None) -> StepRow:
        if row != started:
            raise BadInputError(
                f"The clusters of '{lens.name}' were edited while they were being made.",
                "Run the step again: answers are kept.",
            )
        return work.row(clustering.to_json(), basis)

    await asyncio.to_thread(store.rows.change, lens.corpus, lens.name, "collapse", keep)
    work.say(len(labels), len(labels))
    return Made(len(clustering.clusters), failed, 0, _notes(clustering, lens, work, failed))


async def _with_model(
    work: Work, client: Client, found: list[Draft], embed: Embed, total: int
) -> tuple[list[Draft], int]:
    """The drafts named and merged, and how many questions had no usable answer."""
    found, failed = await _named(client, work.lens, found)
    work.say(total // 2, total)
    quiet = 0
    for number in range(ROUNDS):
        if work.stopped or len(found) < 2:
            break
        vectors = await asyncio.to_thread(embed, [draft.name for draft in found])
        offset = WINDOW // 2 * (number % 2)
        count = len(found)
        found, unread = await _merged(client, work.lens, found, _windows(vectors, offset))
        failed += unread
        quiet = quiet + 1 if len(found) == count else 0
        if quiet == 2 or (quiet and len(found) <= WINDOW):
            break
        work.say(total // 2 + total * (number + 1) // (2 * ROUNDS + 2), total)
    return found, failed


async def _named(
    client: Client, lens: BuildLens, found: Sequence[Draft]
) -> tuple[list[Draft], int]:
    """Clusters of several labels, named by what these share; people's names stay."""
    several = [n for n, d in enumerate(found) if d.fixed is None and len(d.labels) > 1]
    answers = await client.ask([naming(lens, found[n].labels) for n in several])
    named = list(found)
    for n, answer in zip(several, answers, strict=True):
        if answer is not None:
            named[n] = replace(named[n], name=answer.name)
    return named, 0 if client.stopped else sum(answer is None for answer in answers)


async def _merged(
    client: Client, lens: BuildLens, found: Sequence[Draft], windows: Sequence[Sequence[int]]
) -> tuple[list[Draft], int]:
    """One round over windows of neighbouring drafts."""
    asked = [window for window in windows if len(window) > 1]
    answers = await client.ask([merging(lens, [found[n].name for n in w]) for w in asked])
    left: dict[int, Draft] = dict(enumerate(found))
    for window, answer in zip(asked, answers, strict=True):
        for group in () if answer is None else answer.groups:
            members = _but_for_people([window[m - 1] for m in group.members], found)
            if len(members) > 1:
                left[members[0]] = _joined([found[n] for n in members], group.name)
                for n in members[1:]:
                    del left[n]
    return list(left.values()), 0 if client.stopped else sum(a is None for a in answers)


def _but_for_people(members: Sequence[int], found: Sequence[Draft]) -> list[int]:
    """Only people put two of their own clusters together: the first stands for them, and leads."""
    fixed = [n for n in members if found[n].fixed is not None]
    return [*fixed[:1], *(n for n in members if found[n].fixed is None)]


def _joined(parts: Sequence[Draft], name: str) -> Draft:
    labels: dict[str, int] = {}
    for part in parts:
        for label, count in part.labels.items():
            labels[label] = labels.get(label, 0) + count
    whole = parts[0]
    return Draft(
        name=name if whole.fixed is None else whole.name,
        doc_ids=tuple(doc_id for part in parts for doc_id in part.doc_ids),
        labels=dict(sorted(labels.items(), key=lambda item: -item[1])),
        fixed=whole.fixed,
    )


def _windows(vectors: FloatArray, offset: int) -> list[list[int]]:
    """Rows in windows of neighbours: the order of the leaves of their tree, cut every so often."""
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


def _in_order(found: Iterable[Draft], labels: Iterable[str]) -> list[Draft]:
    """Documents of every draft in the order of the corpus."""
    place = {doc_id: n for n, doc_id in enumerate(labels)}
    return [replace(d, doc_ids=tuple(sorted(d.doc_ids, key=lambda i: place[i]))) for d in found]


def _notes(clustering: Clustering, lens: BuildLens, work: Work, failed: int) -> tuple[str, ...]:
    notes = []
    if work.client is None:
        notes.append(
            "Without a model, clusters are named by their most central label, and near-synonyms "
            "are not put together."
        )
    if failed:
        which = f"{failed:,} questions have" if failed > 1 else "1 question has"
        notes.append(f"{which} no usable answer; there, names are labels and nothing is merged.")
    out = sum(cluster.shown(lens).dropped for cluster in clustering.clusters)
    if out:
        which = f"{out:,} clusters become" if out > 1 else "1 cluster becomes"
        notes.append(f"{which} no query: too small, too large, or taken out by a person.")
    return tuple(notes)
