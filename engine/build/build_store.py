"""Reading a build: its labels, clusters and queries as they stand, and what is left to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from engine.build.build_records import (
    Clustering,
    Expanded,
    StoredQuery,
    clustering_basis,
    digest,
    expanded_from_json,
    expanding_basis,
    label_recipe,
    lens_from_json,
    lens_to_json,
    queries_from_json,
    query_basis,
)
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.errors import UnknownNameError
from engine.types.builds import (
    BUILD_STEPS,
    BuildLens,
    BuildQuery,
    BuildStep,
    Cluster,
    Label,
    Maker,
    StepState,
)
from storage.builds import BuildRow, Builds, LabelRow, StepRow

MOST_BASES = 4
"""Corpora, each with one lens, of which is kept in memory what labels rest on."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A lens, and who saved it when."""

    lens: BuildLens
    author: str
    time: datetime


class BuildStore:
    """The builds of one home, read. Safe to share between threads.

    What it says of labels, clusters and queries is what stands now: of documents that there are,
    within the lens's limit.
    """

    def __init__(self, builds: Builds, library: Library) -> None:
        self.rows = builds
        self.library = library
        self._bases: dict[tuple[str, str], dict[str, str]] = {}

    # -- settings ----------------------------------------------------------------------

    def names(self, corpus: str | None = None) -> list[tuple[str, str]]:
        """(corpus, name) of every build, the newest last."""
        return [(r.corpus, r.build) for r in self.rows.all() if corpus in (None, r.corpus)]

    def saved(self, corpus: str, name: str) -> Saved:
        """The latest version of a build's lens.

        Raises:
            UnknownNameError: no such corpus or build; names those that there are.
        """
        self.library.corpus(corpus)
        known = [row for row in self.rows.all() if row.corpus == corpus]
        for row in known:
            if row.build == name:
                return Saved(lens_from_json(row.settings), row.author, row.time)
        there = ", ".join(row.build for row in known)
        raise UnknownNameError(
            f"Corpus '{corpus}' has no build '{name}'.",
            f"It has {there}." if there else "Begin one with: seedlens build new.",
        )

    def lens(self, corpus: str, name: str) -> BuildLens:
        """The lens of :meth:`saved`."""
        return self.saved(corpus, name).lens

    def put(self, lens: BuildLens, author: str, now: datetime) -> None:
        """Keep a version of a lens; one that is the latest already is not kept again."""
        text = lens_to_json(lens)
        known = {(r.corpus, r.build): r.settings for r in self.rows.all()}
        if known.get((lens.corpus, lens.name)) != text:
            self.rows.put(BuildRow(lens.corpus, lens.name, text, author, now))

    # -- labels ------------------------------------------------------------------------

    def corpus(self, lens: BuildLens) -> OpenCorpus:
        """The corpus as it is now."""
        return self.library.open(lens.corpus)

    def scope(self, lens: BuildLens) -> list[str]:
        """The documents that the lens reads, in the order of the corpus."""
        return self.corpus(lens).doc_ids[: lens.limit]

    def bases(self, lens: BuildLens) -> Mapping[str, str]:
        """doc_id -> a digest of what its label rests on, for documents in scope."""
        corpus = self.corpus(lens)
        key = corpus.identity, label_recipe(lens, corpus.lens)
        found = self._bases.pop(key, None)
        if found is None:
            hashes = _content_hashes(corpus)
            found = {doc_id: digest(key[1], hashes[doc_id]) for doc_id in corpus.doc_ids}
        self._bases[key] = found  # the latest used goes last
        while len(self._bases) > MOST_BASES:
            self._bases.pop(next(iter(self._bases)), None)
        return found if lens.limit is None else {i: found[i] for i in self.scope(lens)}

    def labels(self, lens: BuildLens) -> list[Label]:
        """Every labelled document, in the order of the corpus."""
        rows = {row.doc_id: row for row in self.rows.labels(lens.corpus, lens.name)}
        bases = self.bases(lens)
        return [_label(rows[i], basis) for i, basis in bases.items() if i in rows]

    def unlabelled(self, lens: BuildLens) -> list[str]:
        """Documents that a model is to be asked about, in the order of the corpus."""
        done = {label.doc_id for label in self.labels(lens) if not is_pending(label)}
        return [doc_id for doc_id in self.scope(lens) if doc_id not in done]

    def shown_labels(self, lens: BuildLens) -> dict[str, str]:
        """doc_id -> label of documents that show the attribute."""
        return {label.doc_id: label.text for label in self.labels(lens) if label.text}

    # -- what the steps made -----------------------------------------------------------

    def clustering(self, lens: BuildLens) -> Clustering | None:
        """What the labels were collapsed into; None before they were."""
        row = self.rows.last(lens.corpus, lens.name, "collapse")
        return None if row is None else self.read_clustering(lens, row)

    def read_clustering(self, lens: BuildLens, row: StepRow) -> Clustering:
        """What a row says of the documents that there are."""
        return Clustering.from_json(row.content).within(frozenset(self.scope(lens)))

    def clusters(self, lens: BuildLens) -> list[Cluster]:
        """The clusters as people see them, the largest first."""
        found = self.clustering(lens)
        return [] if found is None else [cluster.shown(lens) for cluster in found.clusters]

    def active(self, lens: BuildLens) -> list[Cluster]:
        """The clusters that become queries."""
        return [cluster for cluster in self.clusters(lens) if not cluster.dropped]

    def wordings(self, lens: BuildLens) -> dict[str, StoredQuery]:
        """Every query that was ever worded, by the key of its cluster."""
        row = self.rows.last(lens.corpus, lens.name, "verbalise")
        return {} if row is None else queries_from_json(row.content)

    def queries(self, lens: BuildLens) -> list[BuildQuery]:
        """The queries of the clusters that become one, in the clusters' order."""
        worded = self.wordings(lens)
        return [worded[c.key].shown for c in self.active(lens) if c.key in worded]

    def asked(self, lens: BuildLens) -> list[BuildQuery]:
        """The queries that nobody took out."""
        return [query for query in self.queries(lens) if not query.dropped]

    def unworded(self, lens: BuildLens) -> list[Cluster]:
        """Clusters without a query, or with one that was worded before they changed."""
        worded = self.wordings(lens)
        return [
            cluster
            for cluster in self.active(lens)
            if cluster.key not in worded or worded[cluster.key].basis != query_basis(lens, cluster)
        ]

    def expanded(self, lens: BuildLens) -> list[Expanded]:
        """The queries as they stand in the annotation project."""
        row = self.rows.last(lens.corpus, lens.name, "expand")
        return [] if row is None else expanded_from_json(row.content)

    def has_project(self, lens: BuildLens) -> bool:
        """Whether the project of the build's name is its own: it began to make it."""
        return self.rows.last(lens.corpus, lens.name, "expand") is not None

    def steps(self, lens: BuildLens) -> list[StepRow]:
        """Every run and edit, without what they made."""
        return self.rows.steps(lens.corpus, lens.name)


def is_pending(label: Label) -> bool:
    """Whether a model is to be asked again: never over a person's word."""
    return label.outdated and label.maker == "model"


def _label(row: LabelRow, basis: str) -> Label:
    maker: Maker = "person" if row.maker == "person" else "model"
    outdated = row.basis != basis
    return Label(row.doc_id, row.label, row.quote, maker, row.author, outdated)


def _content_hashes(corpus: OpenCorpus) -> dict[str, str]:
    found: dict[str, str] = {}
    for batch in corpus.table.columns(["doc_id", "content_hash"]):
        ids, hashes = batch["doc_id"].to_pylist(), batch["content_hash"].to_pylist()
        found.update(zip(ids, hashes, strict=True))
    return found


Candidates = tuple[int, int]
"""(graded, all) of the annotation project, for the queries of the build."""


def step_states(
    store: BuildStore, lens: BuildLens, candidates: Candidates
) -> tuple[StepState, ...]:
    """How the steps stand, in their order."""
    rows = store.steps(lens)
    runs = {row.step: row for row in rows if row.kind == "run"}
    edits = {step: sum(r.changes for r in rows if r.step == step) for step in BUILD_STEPS}
    return (
        _label_state(store, lens, runs.get("label")),
        _collapse(store, lens, runs.get("collapse"), edits["collapse"]),
        _verbalise(store, lens, runs.get("verbalise"), edits["verbalise"]),
        _expand(store, lens, runs.get("expand"), candidates),
    )


def _label_state(store: BuildStore, lens: BuildLens, run: StepRow | None) -> StepState:
    labels, total = store.labels(lens), len(store.scope(lens))
    pending = sum(map(is_pending, labels))
    stored = store.rows.labels(lens.corpus, lens.name)
    # A run that was killed left its labels, but nothing that says that it ran.
    times = [row.time for row in stored if row.maker == "model"]
    model = next((row.author for row in reversed(stored) if row.maker == "model"), "")
    return StepState(
        "label",
        done=len(labels) - pending,
        total=total,
        stale=pending > 0,
        at=run.time if run is not None else max(times, default=None),
        edits=sum(label.maker == "person" for label in labels),
        model=model,
    )


def _collapse(store: BuildStore, lens: BuildLens, run: StepRow | None, edits: int) -> StepState:
    labels = store.shown_labels(lens)
    placed = {doc_id for cluster in store.clusters(lens) for doc_id in cluster.doc_ids}
    basis = clustering_basis(lens, labels)
    return _state("collapse", len(placed & labels.keys()), len(labels), run, basis, edits)


def _verbalise(store: BuildStore, lens: BuildLens, run: StepRow | None, edits: int) -> StepState:
    active, unworded, worded = store.active(lens), store.unworded(lens), store.wordings(lens)
    return StepState(
        "verbalise",
        done=len(active) - len(unworded),
        total=len(active),
        stale=any(cluster.key in worded for cluster in unworded),
        at=None if run is None else run.time,
        edits=edits,
        model="" if run is None else run.model,
    )


def _expand(
    store: BuildStore, lens: BuildLens, run: StepRow | None, candidates: Candidates
) -> StepState:
    basis = expanding_basis(lens, store.asked(lens))
    return _state("expand", *candidates, run, basis, 0)


def _state(
    step: BuildStep, done: int, total: int, run: StepRow | None, basis: str, edits: int
) -> StepState:
    return StepState(
        step,
        done=done,
        total=total,
        stale=run is not None and run.basis not in ("", basis),
        unfinished=run is not None and not run.basis,
        at=None if run is None else run.time,
        edits=edits,
        model="" if run is None else run.model,
    )
