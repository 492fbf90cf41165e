"""Clusters as people leave them: renamed, merged, split, dropped, documents moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.build.build_records import Clustering, check_line, fits
from engine.errors import BadInputError, UnknownNameError
from engine.types.builds import BuildSpec, Cluster
from engine.types.limits import LONGEST_LABEL


def checked_clusters(before: Clustering, clusters: Sequence[Cluster]) -> list[Cluster]:
    """The clusters with their names cleaned up; those without documents are left out."""
    home: dict[str, str] = {}
    keys: set[str] = set()
    kept = []
    known = {doc_id for cluster in before.clusters for doc_id in cluster.doc_ids}
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


def edited(
    before: Clustering,
    clusters: Sequence[Cluster],
    author: str,
    spec: BuildSpec,
    order: Mapping[str, int],
) -> tuple[Clustering, int]:
    """What there is when a person leaves the clusters like this, and how many changed.

    Clusters with a key that there is are that cluster changed; others are new.

    Args:
        order: doc_id -> its place in the corpus.
    """
    old = {cluster.key: cluster for cluster in before.clusters}
    kept = []
    for cluster in checked_clusters(before, clusters):
        doc_ids = tuple(sorted(cluster.doc_ids, key=lambda i: order.get(i, len(order))))
        kept.append(_changed(old.get(cluster.key), replace(cluster, doc_ids=doc_ids), author, spec))
    stay = {cluster.key for cluster in kept}
    changes = sum(old.get(c.key) != c for c in kept) + sum(key not in stay for key in old)
    return before.with_keys(kept), changes


def _changed(old: Cluster | None, cluster: Cluster, author: str, spec: BuildSpec) -> Cluster:
    dropped = cluster.dropped
    if not fits(cluster.doc_ids, spec):  # its size takes it out, which is no person's doing
        dropped = old is not None and old.dropped
    elif old is not None and not old.dropped and not fits(old.doc_ids, spec):
        dropped = False  # its size took it out, and does no more
    put = {} if old is None else {i: who for i, who in old.put.items() if i in cluster.doc_ids}
    there = () if old is None else old.doc_ids
    put |= {doc_id: author for doc_id in cluster.doc_ids if doc_id not in there}
    key = "" if old is None else old.key
    made = Cluster(key, cluster.name, cluster.doc_ids, dropped, "person", put)
    if old is not None and made == replace(old, maker="person"):
        return old
    return made


def merged(clusters: Sequence[Cluster], keys: Sequence[str], name: str) -> list[Cluster]:
    """The clusters with some put together under the key of the one that is called so already,
    else of the largest.
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
    """The clusters with some documents of one in a new one."""
    whole, out = find_cluster(clusters, key), set(doc_ids)
    _check_in(whole, out)
    if not out or len(out) == len(whole.doc_ids):
        raise BadInputError(
            f"{len(out)} of {len(whole.doc_ids)} documents of '{whole.name}' would go.",
            "Choose some of them, but not all.",
        )
    stay = tuple(doc_id for doc_id in whole.doc_ids if doc_id not in out)
    new = Cluster("", name, tuple(d for d in whole.doc_ids if d in out), maker="person")
    others = [cluster for cluster in clusters if cluster.key != key]
    return [replace(whole, doc_ids=stay), new, *others]


def moved(
    clusters: Sequence[Cluster], key: str, doc_ids: Sequence[str], target: str
) -> list[Cluster]:
    """The clusters with some documents of one in another one, or all of them."""
    whole, there, out = find_cluster(clusters, key), find_cluster(clusters, target), set(doc_ids)
    _check_in(whole, out)
    stay = tuple(doc_id for doc_id in whole.doc_ids if doc_id not in out)
    taken = (*there.doc_ids, *(doc_id for doc_id in whole.doc_ids if doc_id in out))
    others = [cluster for cluster in clusters if cluster.key not in (key, target)]
    left = [replace(whole, doc_ids=stay)] if stay else []
    return [*left, replace(there, doc_ids=taken), *others]


def renamed(clusters: Sequence[Cluster], key: str, name: str) -> list[Cluster]:
    """The clusters with one called otherwise; UnknownNameError."""
    find_cluster(clusters, key)
    return [replace(c, name=name) if c.key == key else c for c in clusters]


def _check_in(cluster: Cluster, doc_ids: set[str]) -> None:
    if strange := doc_ids.difference(cluster.doc_ids):
        raise UnknownNameError(f"Document '{min(strange)}' is not in the cluster '{cluster.name}'.")


def dropped(
    clusters: Sequence[Cluster], key: str, is_dropped: bool, spec: BuildSpec
) -> list[Cluster]:
    """The clusters with one taken out, or back in."""
    cluster = find_cluster(clusters, key)
    if not is_dropped and not fits(cluster.doc_ids, spec):
        raise BadInputError(
            f"The cluster '{cluster.name}' has {len(cluster.doc_ids)} documents; those of "
            f"{spec.smallest} to {spec.largest} become queries.",
            "Change these numbers, or merge or split the cluster.",
        )
    return [replace(c, dropped=is_dropped) if c.key == key else c for c in clusters]


def find_cluster(clusters: Sequence[Cluster], key: str) -> Cluster:
    """The cluster of this key; UnknownNameError."""
    for cluster in clusters:
        if cluster.key == key:
            return cluster
    raise UnknownNameError(f"There is no cluster '{key}'.", "Look at the clusters again.")
