"""The settings of a build, and what its steps leave in the ledger."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from engine.annotate.pool import check_pool
from engine.annotate.projects import check_project, one_line, printable
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError, check_between, check_length
from engine.lenses.definitions import find_aspect
from engine.search.scenario_index import scenarios_of
from engine.search.systems import SYSTEM_NAMES
from engine.text import counted
from engine.types.annotating import PoolRequest, Project
from engine.types.builds import BuildQuery, BuildSpec, BuildStep, Cluster
from engine.types.lenses import Lens

T = TypeVar("T")


def check_spec(spec: BuildSpec, aspects: Lens) -> BuildSpec:
    """The settings with cleaned texts; ``aspects`` is the corpus's lens."""
    if not spec.name:
        raise BadInputError("The collection has no name.", "Use letters, digits, - and _.")
    check_project(Project(spec.corpus, spec.name))
    attribute = printable(spec.attribute).strip()
    if not attribute:
        raise BadInputError("There is no attribute.", "Say what documents show without saying so.")
    if spec.aspect:
        find_aspect(aspects, spec.aspect)
    check_between("The limit of documents", spec.limit, 1)
    check_between("The distance", spec.distance, 0.001, 1)
    check_between("The overlap", spec.overlap, 0, 1)
    if not 1 <= spec.smallest <= spec.largest:
        raise BadInputError(
            f"Clusters are to have {spec.smallest} to {spec.largest} documents.",
            "Give at least 1, and the smaller number first.",
        )
    systems = tuple(dict.fromkeys(spec.systems))
    check_pool(PoolRequest(systems, spec.depth), SYSTEM_NAMES)
    return replace(
        spec,
        attribute=attribute,
        guidance=printable(spec.guidance).strip(),
        examples=tuple(dict.fromkeys(filter(None, map(one_line, spec.examples)))),
        aspect=spec.aspect.lower(),
        systems=systems,
    )


def check_line(text: str, what: str, most: int) -> str:
    """What a person wrote, on one line; BadInputError when it is too long."""
    line = one_line(text)
    check_length(what, line, most)
    return line


def digest(*parts: Any) -> str:
    """16 hex digits that identify values.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a", 2)
    (True, False)
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def label_recipe(spec: BuildSpec, aspects: Lens) -> str:
    """A digest of what decides a label, the document aside."""
    defined = {aspect.key: aspect.definition for aspect in aspects.aspects}
    aspect = (spec.aspect, defined.get(spec.aspect, ""))
    return digest(spec.attribute, spec.guidance, spec.examples, *aspect)


def shown(cluster: Cluster, spec: BuildSpec) -> Cluster:
    """A cluster as people see it: its size may take it out, too."""
    return replace(cluster, dropped=cluster.dropped or not fits(cluster.doc_ids, spec))


def fits(doc_ids: tuple[str, ...], spec: BuildSpec) -> bool:
    """Whether a cluster of these documents is neither too small nor too large for a query."""
    return spec.smallest <= len(doc_ids) <= spec.largest


@dataclass(frozen=True, slots=True)
class Clustering:
    """The clusters of labels."""

    clusters: tuple[Cluster, ...] = ()  # ``dropped`` by people; for sizes see :func:`shown`
    # doc_id -> the label by which it was clustered
    labels: Mapping[str, str] = field(default_factory=dict)
    used: int = 0  # all keys ever assigned, as none is reused

    def within(self, doc_ids: Container[str]) -> Clustering:
        """Without documents that are none of these, and clusters that have no others."""
        kept = []
        for cluster in self.clusters:
            stay = tuple(doc_id for doc_id in cluster.doc_ids if doc_id in doc_ids)
            others = tuple(doc_id for doc_id in cluster.distractors if doc_id in doc_ids)
            if stay or (others and cluster.maker == "person"):
                kept.append(replace(cluster, doc_ids=stay, distractors=others))
        return replace(self, clusters=tuple(kept))

    def with_keys(self, clusters: Iterable[Cluster]) -> Clustering:
        """These clusters in place of ours, the largest first; those without a key get one."""
        used, keyed = self.used, []
        for cluster in clusters:
            if not cluster.key:
                used += 1
                cluster = replace(cluster, key=f"c{used}")
            keyed.append(cluster)
        keyed.sort(key=lambda cluster: (-len(cluster.doc_ids), int(cluster.key[1:])))
        return replace(self, clusters=tuple(keyed), used=used)


@dataclass(frozen=True, slots=True)
class Expanded:
    """A query in the annotation project."""

    key: str
    query_id: str
    text: str
    doc_ids: tuple[str, ...]
    pooled: str = ""  # a digest of the pool's input; "" before it was filled
    place: str = ""  # where the project is stored; "" for the build's name


@dataclass(frozen=True, slots=True)
class Made(Generic[T]):
    """What a step made, as people left it, and its last run."""

    value: T
    basis: str = ""  # a digest of what the run rested on; "" for one that did not come to its end
    model: str = ""  # that was asked in it; "" for none
    ran: datetime | None = None  # None: all of it was made by people
    edits: int = 0  # changes by people


RESULTS: Mapping[BuildStep, Any] = {
    "label": Made[None],  # labels are rows of their own
    "collapse": Made[Clustering],
    "verbalise": Made[tuple[BuildQuery, ...]],
    "expand": Made[tuple[Expanded, ...]],
}
"""Step -> the type of what the ledger keeps of it."""


def queries_of(made: Made[tuple[BuildQuery, ...]] | None) -> dict[str, BuildQuery]:
    """The queries of a step, by the keys of their clusters."""
    return {} if made is None else {query.key: query for query in made.value}


def pooling_basis(spec: BuildSpec, corpus: OpenCorpus) -> str:
    """A digest of what pools are filled from."""
    scenarios = scenarios_of(corpus, spec.systems)
    return digest(spec.systems, spec.depth, corpus.identity, *filter(None, [scenarios]))


def query_basis(spec: BuildSpec, cluster: Cluster) -> str:
    """A digest of what a query rests on."""
    return digest(spec.attribute, spec.overlap, cluster.name, cluster.doc_ids)


def clustering_basis(
    spec: BuildSpec, labels: Mapping[str, str], distractors: Collection[str]
) -> str:
    """A digest of what the clusters rest on."""
    more = [sorted(distractors)] if distractors else []
    return digest(spec.distance, sorted(labels.items()), *more)


def expanding_basis(
    spec: BuildSpec, queries: Iterable[BuildQuery], distractors: Collection[str]
) -> str:
    """A digest of what the collection rests on."""
    asked = sorted((query.key, query.text, query.doc_ids) for query in queries)
    more = [sorted(distractors)] if distractors else []
    return digest(asked, spec.systems, spec.depth, *more)


def label_counts(labels: Mapping[str, str], doc_ids: tuple[str, ...]) -> dict[str, int]:
    """label, as most documents spell it -> documents with it, the commonest first."""
    spelled: dict[str, Counter[str]] = {}
    for label in filter(None, map(labels.get, doc_ids)):
        spelled.setdefault(label.casefold(), Counter())[label] += 1
    counts = {own.most_common(1)[0][0]: own.total() for own in spelled.values()}
    return dict(Counter(counts).most_common())


def unusable(failed: int, what: str) -> tuple[str, ...]:
    """A note on questions without a usable answer, about so many documents or clusters."""
    if not failed:
        return ()
    which = counted(failed, f"{what} has", f"{what}s have")
    return (f"{which} no usable answer and will be asked about again.",)
