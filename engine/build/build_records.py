"""The settings of a build, what its steps leave in the ledger, and the JSON of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from engine.annotate.pool import check_pool
from engine.annotate.projects import check_project, printable
from engine.errors import BadInputError
from engine.lenses.definitions import find_aspect
from engine.types.annotating import PoolRequest, Project
from engine.types.builds import BuildLens, BuildQuery, Cluster, Maker, Overlap
from engine.types.lenses import Lens

LONGEST_ATTRIBUTE = 1000
LONGEST_GUIDANCE = 10_000
MOST_EXAMPLES = 20
LONGEST_LABEL = 200
"""Characters of a label, and of a cluster's name."""
LONGEST_QUERY = 1000


def check_lens(lens: BuildLens, aspects: Lens) -> BuildLens:
    """The lens with its texts cleaned up.

    Args:
        aspects: the corpus's lens.

    Raises:
        BadInputError: its name, texts or numbers cannot be used.
        UnknownNameError: no such aspect or system.
    """
    if not lens.name:
        raise BadInputError("The collection has no name.", "Use letters, digits, - and _.")
    check_project(Project(lens.corpus, lens.name))
    attribute = printable(lens.attribute).strip()
    if not attribute:
        raise BadInputError(
            "The lens has no attribute.", "Say what documents show without saying so."
        )
    _check_length("The attribute", attribute, LONGEST_ATTRIBUTE)
    guidance = printable(lens.guidance).strip()
    _check_length("The guidance", guidance, LONGEST_GUIDANCE)
    if lens.aspect:
        find_aspect(aspects, lens.aspect)
    _check_numbers(lens)
    systems = tuple(dict.fromkeys(lens.systems))
    check_pool(PoolRequest(systems, lens.depth))
    return replace(
        lens,
        attribute=attribute,
        guidance=guidance,
        examples=_checked_examples(lens.examples),
        aspect=lens.aspect.lower(),
        systems=systems,
    )


def _checked_examples(examples: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(text for e in examples if (text := one_line(e))))
    if len(found) > MOST_EXAMPLES:
        raise BadInputError(f"There are {len(found)} examples.", f"Give at most {MOST_EXAMPLES}.")
    for text in found:
        _check_length("An example", text, LONGEST_LABEL)
    return found


def _check_numbers(lens: BuildLens) -> None:
    if lens.limit is not None and lens.limit < 1:
        raise BadInputError(f"The limit is {lens.limit} documents.", "Read at least 1.")
    if not 0.0 < lens.distance <= 1.0:
        raise BadInputError(
            f"The distance is {lens.distance}.", "Give a number above 0, at most 1."
        )
    if not 1 <= lens.smallest <= lens.largest:
        raise BadInputError(
            f"Clusters are to have {lens.smallest} to {lens.largest} documents.",
            "Give at least 1, and the smaller number first.",
        )
    if not 0.0 <= lens.overlap <= 1.0:
        raise BadInputError(f"The overlap is {lens.overlap}.", "Give a number from 0 to 1.")


def _check_length(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise BadInputError(f"{what} has {len(text):,} characters.", f"Use at most {most:,}.")


def one_line(text: str) -> str:
    """A text of strangers on one line, without what cannot be seen.

    >>> one_line(" a  <b>label</b>\\x00 \\n of two lines ")
    'a <b>label</b> of two lines'
    """
    return " ".join(printable(text).split())


def check_line(text: str, what: str, most: int) -> str:
    """What a person wrote, on one line; BadInputError when it is too long."""
    line = one_line(text)
    _check_length(what, line, most)
    return line


def lens_to_json(lens: BuildLens) -> str:
    """As the ledger keeps it."""
    return json.dumps(asdict(lens))


def lens_from_json(text: str) -> BuildLens:
    """What :func:`lens_to_json` wrote."""
    data: dict[str, Any] = json.loads(text)
    lists = {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
    return BuildLens(**{**data, **lists})


def digest(*parts: Any) -> str:
    """16 hex digits that stand for these values.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a", 2)
    (True, False)
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def label_recipe(lens: BuildLens, aspects: Lens) -> str:
    """A digest of what decides a label, the document aside."""
    defined = {aspect.key: aspect.definition for aspect in aspects.aspects}
    aspect = (lens.aspect, defined.get(lens.aspect, ""))
    return digest(lens.attribute, lens.guidance, lens.examples, *aspect)


@dataclass(frozen=True, slots=True)
class StoredCluster:
    """A cluster as it is kept.

    Attributes:
        dropped: by a person; whether its size takes it out is seen when it is read.
        put: doc_id -> the person who put it there.
    """

    key: str
    name: str
    doc_ids: tuple[str, ...]
    dropped: bool = False
    maker: Maker = "model"
    put: Mapping[str, str] = field(default_factory=dict)

    def shown(self, lens: BuildLens) -> Cluster:
        """As people see it."""
        dropped = self.dropped or not fits(self.doc_ids, lens)
        return Cluster(self.key, self.name, self.doc_ids, dropped, self.maker)


def fits(doc_ids: tuple[str, ...], lens: BuildLens) -> bool:
    """Whether a cluster of these documents is neither too small nor too large for a query."""
    return lens.smallest <= len(doc_ids) <= lens.largest


@dataclass(frozen=True, slots=True)
class Clustering:
    """What the labels were collapsed into.

    Attributes:
        labels: doc_id -> the label by which it was clustered.
        used: keys that were ever given away, so that none is given twice.
    """

    clusters: tuple[StoredCluster, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    used: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Clustering:
        data = json.loads(text)
        clusters = tuple(
            StoredCluster(**{**one, "doc_ids": tuple(one["doc_ids"])}) for one in data["clusters"]
        )
        return cls(clusters, data["labels"], data["used"])

    def within(self, doc_ids: Container[str]) -> Clustering:
        """Without documents that are none of these, and clusters that have no others."""
        kept = []
        for cluster in self.clusters:
            stay = tuple(doc_id for doc_id in cluster.doc_ids if doc_id in doc_ids)
            if stay:
                kept.append(cluster if stay == cluster.doc_ids else replace(cluster, doc_ids=stay))
        return replace(self, clusters=tuple(kept))

    def with_keys(self, clusters: Iterable[StoredCluster]) -> Clustering:
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
class StoredQuery:
    """A query as it is kept; ``basis`` is a digest of what it was worded for."""

    key: str
    text: str
    doc_ids: tuple[str, ...]
    share: float
    words: tuple[str, ...]
    basis: str
    maker: Maker = "model"
    tries: int = 1
    dropped: bool = False

    @property
    def shown(self) -> BuildQuery:
        """As people see it."""
        overlap = Overlap(self.share, self.words)
        return BuildQuery(
            self.key, self.text, self.doc_ids, overlap, self.maker, self.tries, self.dropped
        )


Queries = Mapping[str, StoredQuery]
"""By the key of their cluster."""


def queries_to_json(queries: Queries) -> str:
    return json.dumps([asdict(query) for query in queries.values()])


def queries_from_json(text: str) -> dict[str, StoredQuery]:
    return {one["key"]: StoredQuery(**_tuples(one)) for one in json.loads(text)}


@dataclass(frozen=True, slots=True)
class Expanded:
    """A query as it stands in the annotation project.

    Attributes:
        pooled: a digest of what its pool was filled from; "" before it was.
    """

    key: str
    query_id: str
    text: str
    doc_ids: tuple[str, ...]
    pooled: str = ""


def expanded_to_json(found: Iterable[Expanded]) -> str:
    return json.dumps([asdict(one) for one in found])


def expanded_from_json(text: str) -> list[Expanded]:
    return [Expanded(**_tuples(one)) for one in json.loads(text)]


def pooling_basis(lens: BuildLens, identity: str) -> str:
    """A digest of what pools are filled from; ``identity`` is the corpus's."""
    return digest(lens.systems, lens.depth, identity)


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}


def query_basis(lens: BuildLens, cluster: Cluster) -> str:
    """A digest of what a query rests on."""
    return digest(lens.attribute, lens.overlap, cluster.name, cluster.doc_ids)


def clustering_basis(lens: BuildLens, labels: Mapping[str, str]) -> str:
    """A digest of what the clusters rest on."""
    return digest(lens.distance, sorted(labels.items()))


def expanding_basis(lens: BuildLens, queries: Iterable[BuildQuery]) -> str:
    """A digest of what the collection rests on."""
    asked = sorted((query.key, query.text, query.doc_ids) for query in queries)
    return digest(asked, lens.systems, lens.depth)
