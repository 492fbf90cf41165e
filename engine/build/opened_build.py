"""One build: what its steps made, corrections by people, and what is left to do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, cast

from engine.annotate.annotation import Annotation
from engine.annotate.projects import check_annotator, is_unread
from engine.build.build_records import (
    RESULTS,
    Clustering,
    Expanded,
    Made,
    check_line,
    clustering_basis,
    digest,
    expanding_basis,
    fits,
    label_recipe,
    queries_of,
    query_basis,
    shown,
)
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.recent import Recent
from engine.errors import BadInputError, UnknownNameError
from engine.llm.tasks import TaskRun
from engine.measures.metrics import tokenize
from engine.search.term_matching import stem
from engine.sentences import stop_words
from engine.types.annotating import Project
from engine.types.builds import (
    BuildQuery,
    BuildSpec,
    BuildState,
    BuildStep,
    Cluster,
    Expression,
    Label,
    Maker,
    Overlap,
    StepState,
)
from engine.types.limits import LONGEST_LABEL, LONGEST_QUERY
from storage.builds import LabelRow
from storage.documents import Documents, Stored
from storage.ledger import Ledger

Queries = tuple[BuildQuery, ...]
COMMON = 0.2
"""A word in more than this share of the corpus's documents tells none of them: to search for it
leaves a fifth of the corpus. A word in less of a query's own documents is there by chance, ..."""
RARE = 0.005
"""... unless hardly any other document has it: then it is a detail that tells a single one."""
SAMPLE = 2000
"""Documents, evenly spread over the corpus, in which words are counted."""


class Vocabulary:
    """The words of one version of a corpus, read on first use. Safe to share between threads."""

    def __init__(self, corpus: OpenCorpus) -> None:
        self._corpus = corpus

    @cached_property
    def _shares(self) -> Mapping[str, float]:
        """Stem -> share of the corpus's documents that have it."""
        sampled = self._corpus.doc_ids[:: max(1, -(-len(self._corpus) // SAMPLE))]
        return {stem: n / len(sampled) for stem, n in _counts(self._stemmed(sampled)).items()}

    def _stemmed(self, doc_ids: Sequence[str]) -> list[Mapping[str, str]]:
        """Words and their stems of each of these documents."""
        known = [doc_id for doc_id in doc_ids if doc_id in self._corpus.row_of]
        return [stems(f"{one.title}\n{one.text}") for one in self._corpus.documents(known)]

    def _tells(self, stem: str, count: int, documents: int) -> bool:
        """Whether a word that ``count`` of a query's documents have gives them away."""
        share = self._shares.get(stem, 0.0)
        return share <= COMMON and (count >= COMMON * documents or (count > 0 and share <= RARE))

    def overlap(self, query: str, doc_ids: Sequence[str]) -> Overlap:
        """How far a query gives these documents away; 0 for one without content words."""
        words, counts = stems(query), _counts(self._stemmed(doc_ids))
        shared = {
            word: stem
            for word, stem in words.items()
            if counts[stem] and self._tells(stem, counts[stem], len(doc_ids))
        }
        different = set(words.values())
        share = len(set(shared.values())) / len(different) if different else 0.0
        return Overlap(share, tuple(shared))

    def telling(self, doc_ids: Sequence[str], most: int) -> list[str]:
        """Words that give these documents away, in their shortest forms: first those in many of
        them and few others."""
        stemmed = self._stemmed(doc_ids)
        counts, shown = _counts(stemmed), dict[str, str]()
        for word, own in (pair for words in stemmed for pair in words.items()):
            shown[own] = min(shown.get(own, word), word, key=len)
        telling = [s for s, c in counts.items() if self._tells(s, c, len(doc_ids))]
        weights = {s: counts[s] * -math.log(self._shares.get(s, 0.0) + RARE) for s in telling}
        best = sorted(telling, key=lambda stem: -weights[stem])
        return [shown[stem] for stem in best[:most]]


def _counts(stemmed: Iterable[Mapping[str, str]]) -> Counter[str]:
    """Stem -> number of documents that have it."""
    return Counter(stem for words in stemmed for stem in dict.fromkeys(words.values()))


def stems(text: str) -> Mapping[str, str]:
    """Content words of a text -> their stems, in order of appearance.

    >>> stems("The questionnaires were mailed to households, by mail.")
    {'questionnaires': 'questionnair', 'mailed': 'mail', 'households': 'household', 'mail': 'mail'}
    """
    words = dict.fromkeys(tokenize(text))
    return {w: stem(w) for w in words if w not in stop_words() and not (len(w) < 2 and w.isascii())}


def different(words: Iterable[str]) -> list[str]:
    """Words of different stems, the first of each.

    >>> different(["mailed", "mails", "survey"])
    ['mailed', 'survey']
    """
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(stem(word), word)
    return list(first.values())


def edited(
    before: Clustering,
    clusters: Sequence[Cluster],
    author: str,
    spec: BuildSpec,
    order: Mapping[str, int],
) -> tuple[Clustering, int]:
    """The clusters after a person's edit, without empty ones, and how many changed; ``order``:
    doc_id -> its place in the corpus."""
    old = {cluster.key: cluster for cluster in before.clusters}
    kept = []
    for cluster in clusters:
        if cluster.doc_ids or cluster.distractors:
            name = check_line(cluster.name, "cluster's name", LONGEST_LABEL)
            if not name:
                which = f"The cluster of '{(*cluster.doc_ids, *cluster.distractors)[0]}'"
                raise BadInputError(f"{which} has no name.", "Name it.")
            doc_ids = tuple(sorted(cluster.doc_ids, key=lambda i: order.get(i, len(order))))
            new = replace(cluster, name=name, doc_ids=doc_ids)
            kept.append(_changed(old.get(cluster.key), new, author, spec))
    changes = sum(old.get(c.key) != c for c in kept) + len(old.keys() - {c.key for c in kept})
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
    others = tuple(doc_id for doc_id in cluster.distractors if doc_id not in put)
    made = Cluster(key, cluster.name, cluster.doc_ids, dropped, "person", put, others)
    if old is not None and made == replace(old, maker="person"):
        return old
    return made


def _moved(
    clusters: Sequence[Cluster], key: str, doc_ids: Sequence[str], target: str
) -> list[Cluster]:
    """The clusters with some documents of one, or all of them, in another one."""
    whole, there, out = find_cluster(clusters, key), find_cluster(clusters, target), set(doc_ids)
    if strange := out.difference(whole.doc_ids):
        raise UnknownNameError(f"Document '{min(strange)}' is not in the cluster '{whole.name}'.")
    stay = tuple(doc_id for doc_id in whole.doc_ids if doc_id not in out)
    taken = (*there.doc_ids, *(doc_id for doc_id in whole.doc_ids if doc_id in out))
    others = [cluster for cluster in clusters if cluster.key not in (key, target)]
    if stay:
        return [replace(whole, doc_ids=stay), replace(there, doc_ids=taken), *others]
    distractors = (*there.distractors, *whole.distractors)
    return [replace(there, doc_ids=taken, distractors=distractors), *others]


def _altered(clusters: Sequence[Cluster], key: str, **fields: Any) -> list[Cluster]:
    """The clusters with other values for fields of one."""
    find_cluster(clusters, key)
    return [replace(c, **fields) if c.key == key else c for c in clusters]


def find_cluster(clusters: Sequence[Cluster], key: str) -> Cluster:
    """The cluster of this key; UnknownNameError."""
    found = next((cluster for cluster in clusters if cluster.key == key), None)
    if found is None:
        raise UnknownNameError(f"There is no cluster '{key}'.", "Look at the clusters again.")
    return found


@dataclass(frozen=True, eq=False)
class OpenBuild:
    """A build, limited to existing documents within its limit; thread- and process-safe."""

    spec: BuildSpec  # spec, author, time: of the version when it was opened
    author: str
    time: datetime
    ledger: Ledger  # labels, and what the steps made
    library: Library
    annotation: Annotation
    recent: Recent[Hashable, Any]

    @property
    def _place(self) -> tuple[str, str]:
        return self.spec.corpus, self.spec.name

    # -- the corpus --------------------------------------------------------------------

    @property
    def corpus(self) -> OpenCorpus:
        """The corpus as it is now."""
        return self.library.open(self.spec.corpus)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the corpus as it is now."""
        corpus = self.corpus
        return cast(Vocabulary, self.recent.one(corpus.identity, lambda: Vocabulary(corpus)))

    def scope(self) -> list[str]:
        """The documents that are read, in the order of the corpus."""
        return self.corpus.doc_ids[: self.spec.limit]

    def bases(self) -> Mapping[str, str]:
        """doc_id -> a digest of what its label rests on, for documents in scope."""
        corpus = self.corpus
        recipe = label_recipe(self.spec, corpus.lens)
        bases: dict[str, str] = self.recent.one(
            (corpus.identity, recipe),
            lambda: {i: digest(recipe, text) for i, text in _content_hashes(corpus).items()},
        )
        return {doc_id: bases[doc_id] for doc_id in corpus.doc_ids[: self.spec.limit]}

    # -- labels ------------------------------------------------------------------------

    def labels(self) -> list[Label]:
        """Every labelled document, in the order of the corpus."""
        rows = {row.doc_id: row for row in self.ledger.builds.labels(*self._place)}
        return [
            Label(
                *(row.doc_id, row.label, row.quote, cast("Maker", row.maker), row.author),
                outdated=row.basis != now,
                expression=cast("Expression", row.expression),
            )
            for doc_id, now in self.bases().items()
            if (row := rows.get(doc_id)) is not None
        ]

    def unlabelled(self) -> list[str]:
        """Documents that a model is to be asked about, in the order of the corpus."""
        done = {label.doc_id for label in self.labels() if not _is_pending(label)}
        return [doc_id for doc_id in self.scope() if doc_id not in done]

    def shown_labels(self) -> dict[str, str]:
        """doc_id -> label of documents that show the attribute."""
        return {label.doc_id: label.text for label in self.labels() if label.text}

    def distractors(self) -> set[str]:
        """Documents whose labels rule them out as relevant: they state or report the attribute."""
        if self.spec.gold == "both":
            return set()
        return {x.doc_id for x in self.labels() if x.text and x.expression != "implied"}

    def set_labels(
        self, changes: Mapping[str, str], author: str, expression: Expression | None = None
    ) -> int:
        """Store a person's labels ("": the document does not show it); returns how many changed. An
        equal label confirms an outdated one. Without ``expression`` that of a label stays; it is
        "implied" for a new one."""
        author, bases = check_annotator(author), self.bases()
        lines = {}
        for doc_id, text in changes.items():
            if doc_id not in bases:
                raise UnknownNameError(
                    f"Document '{doc_id}' is not among those that '{self.spec.name}' reads.",
                    "Check the id.",
                )
            lines[doc_id] = check_line(text, f"label of '{doc_id}'", LONGEST_LABEL)
        now, rows = datetime.now(UTC), []

        def changed(standing: Mapping[str, LabelRow]) -> list[LabelRow]:
            for doc_id, label in lines.items():
                old = standing.get(doc_id)
                how = expression or (old.expression if old and old.label else "implied")
                new = (label, bases[doc_id], how)
                if old is None or (old.label, old.basis, old.expression) != new:
                    where = (*self._place, doc_id)
                    quote = old.quote if old is not None and old.label == label else ""
                    rows.append(LabelRow(*where, label, quote, "person", author, new[1], now, how))
            return rows

        self.ledger.builds.change_labels(*self._place, changed)
        return len(rows)

    # -- clusters ----------------------------------------------------------------------

    def clustering(self) -> Clustering | None:
        """What the labels were collapsed into; None before they were."""
        return self.clustering_of(self.made("collapse"))

    def clustering_of(self, made: Made[Clustering] | None) -> Clustering | None:
        """The clusters that were made, of the documents that there are."""
        return None if made is None else made.value.within(frozenset(self.scope()))

    def clusters(self) -> list[Cluster]:
        """The clusters, the largest first; those whose size takes them out are ``dropped``."""
        clustering = self.clustering() or Clustering()
        return [shown(cluster, self.spec) for cluster in clustering.clusters]

    def active(self) -> list[Cluster]:
        """The clusters that become queries."""
        return [cluster for cluster in self.clusters() if not cluster.dropped]

    def change_clusters(
        self, change: Callable[[list[Cluster]], Sequence[Cluster]], author: str
    ) -> int:
        """Store a person's edit of the clusters, current -> new; unknown keys are new clusters.
        Returns how many changed."""
        author, order, changes = check_annotator(author), self.corpus.row_of, 0
        scope = frozenset(self.scope())

        def changed(made: Made[Clustering] | None) -> Made[Clustering] | None:
            nonlocal changes
            if made is None:
                raise BadInputError(
                    f"'{self.spec.name}' has no clusters yet.", "Run the step 'collapse' first."
                )
            before = made.value.within(scope)
            left = change([shown(cluster, self.spec) for cluster in before.clusters])
            after, changes = edited(before, left, author, self.spec, order)
            return replace(made, value=after, edits=made.edits + changes) if changes else None

        self.change("collapse", changed, author)
        return changes

    def merge(self, keys: Sequence[str], name: str, author: str) -> None:
        """Put clusters together under the key of the one of that name, else of the largest."""

        def change(clusters: list[Cluster]) -> list[Cluster]:
            parts = [find_cluster(clusters, key) for key in dict.fromkeys(keys)]
            if len(parts) < 2:
                raise BadInputError("One cluster cannot be merged.", "Choose two or more.")
            parts.sort(key=lambda part: (part.name != name, clusters.index(part)))
            doc_ids = tuple(doc_id for part in parts for doc_id in part.doc_ids)
            others = tuple(doc_id for part in parts for doc_id in part.distractors)
            dropped = all(part.dropped for part in parts)
            whole = replace(
                parts[0], name=name, doc_ids=doc_ids, dropped=dropped, distractors=others
            )
            return [whole, *(cluster for cluster in clusters if cluster not in parts)]

        self.change_clusters(change, author)

    def split(self, key: str, doc_ids: Sequence[str], name: str, author: str) -> None:
        """Put some documents of a cluster into a new one."""

        def change(clusters: list[Cluster]) -> list[Cluster]:
            whole, out = find_cluster(clusters, key), set(doc_ids)
            if not out or out == set(whole.doc_ids):
                raise BadInputError(
                    f"{len(out)} of {len(whole.doc_ids)} documents of '{whole.name}' would go.",
                    "Choose some of them, but not all.",
                )
            new = Cluster("", name, (), maker="person")
            return _moved([*clusters, new], key, doc_ids, new.key)

        self.change_clusters(change, author)

    def move(self, key: str, doc_ids: Sequence[str], target: str, author: str) -> None:
        """Put some documents of a cluster into another one, or all of them."""
        self.change_clusters(partial(_moved, key=key, doc_ids=doc_ids, target=target), author)

    def rename(self, key: str, name: str, author: str) -> None:
        """Give a cluster another name."""
        self.change_clusters(partial(_altered, key=key, name=name), author)

    def drop(self, key: str, is_dropped: bool, author: str) -> None:
        """Take a cluster out, or back in; BadInputError when its size takes it out."""

        def change(clusters: list[Cluster]) -> list[Cluster]:
            cluster, spec = find_cluster(clusters, key), self.spec
            if not is_dropped and not fits(cluster.doc_ids, spec):
                raise BadInputError(
                    f"The cluster '{cluster.name}' has {len(cluster.doc_ids)} documents; those of "
                    f"{spec.smallest} to {spec.largest} become queries.",
                    "Change these numbers, or merge or split the cluster.",
                )
            return _altered(clusters, key, dropped=is_dropped)

        self.change_clusters(change, author)

    # -- queries -----------------------------------------------------------------------

    def wordings(self) -> dict[str, BuildQuery]:
        """Every query that was ever worded, by the key of its cluster."""
        return queries_of(self.made("verbalise"))

    def queries(self) -> list[BuildQuery]:
        """The queries of the clusters that become one, in the clusters' order."""
        worded = self.wordings()
        return [worded[c.key] for c in self.active() if c.key in worded]

    def asked(self) -> list[BuildQuery]:
        """The queries that nobody took out."""
        return [query for query in self.queries() if not query.dropped]

    def unworded(self) -> list[Cluster]:
        """Clusters without a query, or with one that was worded before they changed."""
        bases = {key: query.basis for key, query in self.wordings().items()}
        return [c for c in self.active() if bases.get(c.key) != query_basis(self.spec, c)]

    def overlap(self, key: str, text: str) -> Overlap:
        """How far a wording would give the documents of a cluster away; UnknownNameError."""
        doc_ids = find_cluster(self.active(), key).doc_ids
        return self.vocabulary.overlap(text[:LONGEST_QUERY], doc_ids)

    def set_query(
        self, key: str, author: str, *, text: str | None = None, dropped: bool | None = None
    ) -> BuildQuery:
        """Word a query, take it out or back in; what is None stays."""
        author, cluster = check_annotator(author), find_cluster(self.active(), key)
        worded = None
        if text is not None:
            line = check_line(text, "query", LONGEST_QUERY)
            if not line:
                words = f"The query of '{cluster.name}' is empty."
                raise BadInputError(words, "Write it, or drop it.")
            basis, doc_ids = query_basis(self.spec, cluster), cluster.doc_ids
            overlap = self.vocabulary.overlap(line, doc_ids)
            worded = BuildQuery(key, line, doc_ids, overlap, "person", 0, basis=basis)
        after: dict[str, BuildQuery] = {}

        def change(made: Made[Queries] | None) -> Made[Queries] | None:
            before = queries_of(made)
            after[key] = _changed_query(before.get(key), worded, dropped, cluster.name)
            if before.get(key) == after[key]:
                return None
            made = made or Made(())
            return replace(made, value=(*(before | after).values(),), edits=made.edits + 1)

        self.change("verbalise", change, author)
        return after[key]

    # -- the annotation project --------------------------------------------------------

    def expanded(self) -> tuple[Expanded, ...]:
        """The queries in the annotation project."""
        made: Made[tuple[Expanded, ...]] | None = self.made("expand")
        return () if made is None else made.value

    def in_project(self) -> list[Expanded]:
        """The queries that are in the project and that nobody took out since."""
        asked = {query.key for query in self.asked()}
        return [one for one in self.expanded() if one.key in asked]

    def has_project(self) -> bool:
        """Whether the project of the build's name is its own: it began to make it."""
        return self.made("expand") is not None

    def project(self) -> Project:
        """The annotation project that the build became; UnknownNameError before "expand"."""
        if not self.expanded():
            raise UnknownNameError(
                f"'{self.spec.name}' is no annotation project yet.", "Run the step 'expand'."
            )
        corpus, name = self._place
        return self.annotation.at(corpus, self.expanded()[0].place or name)

    def check_name(self) -> None:
        """Raise BadInputError where the name is taken by a project that this build did not make."""
        corpus, name = self._place
        places = {one.place or name for one in self.expanded()}
        projects = {p.key[1]: p for p in self.annotation.projects(corpus)}
        is_own = bool(places & projects.keys()) if places else self.has_project()
        named = (name in (p.name, place, *p.former) for place, p in projects.items())
        if any(named) and not is_own:
            raise BadInputError(
                f"Corpus '{corpus}' has an annotation project '{name}' that is not this build's.",
                "Begin the build under another name. What a model answered is kept.",
            )

    def candidates(self, expanded: Sequence[Expanded]) -> tuple[int, int]:
        """Of the pool of these queries: how many items have a grade, and how many there are."""
        try:
            project = self.project()
        except UnknownNameError:  # not made, or deleted
            return 0, 0
        asked = {one.query_id for one in expanded}
        pool = {one.item for one in self.annotation.pool(project) if one.query_id in asked}
        judgments = self.annotation.judgments(project)
        lowest = min(project.scale.values)
        read = (j for j in judgments if not is_unread(j) or j.relevance == lowest)
        graded = {j.item for j in read if j.relevance is not None}
        return len(pool & graded), len(pool)

    # -- the steps ---------------------------------------------------------------------

    def made(self, step: BuildStep) -> Made[Any] | None:
        """What a step made; None before it ran or was done by hand."""
        return self._results(step).value(self.spec.name, self.spec.corpus)

    def _results(self, step: BuildStep) -> Documents[Made[Any]]:
        return self.ledger.documents(f"build {step}", RESULTS[step])

    def change(
        self, step: BuildStep, change: Callable[[Made[Any] | None], Made[Any] | None], author: str
    ) -> None:
        """Change what a step made; see :meth:`storage.documents.Documents.change`."""

        def changed(stored: Stored[Made[Any]] | None) -> Made[Any] | None:
            return change(None if stored is None else stored.value)

        self._results(step).change(self.spec.name, changed, author, self.spec.corpus)

    def state(self) -> BuildState:
        """How far each step is."""

        def state(step: BuildStep, done: int, total: int, basis: str) -> StepState:
            made = self.made(step) or Made(None)
            if made.ran is None:
                return StepState(step, done, total, edits=made.edits)
            stale = made.basis not in ("", basis)
            run = made.ran, made.edits, made.model
            return StepState(step, done, total, stale, *run, unfinished=not made.basis)

        labels, distractors = self.shown_labels(), self.distractors()
        placed = {doc_id for cluster in self.clusters() for doc_id in cluster.doc_ids}
        wanted = labels.keys() - distractors
        basis = clustering_basis(self.spec, labels, distractors)
        collapse = state("collapse", len(placed & wanted), len(wanted), basis)
        active, unworded, worded = self.active(), self.unworded(), self.wordings()
        # Each query has a basis of its own.
        verbalise = replace(
            state("verbalise", len(active) - len(unworded), len(active), ""),
            stale=any(cluster.key in worded for cluster in unworded),
            unfinished=False,
        )
        expanded = self.expanded()
        graded, pooled = self.candidates(expanded)
        expand = state(
            "expand", graded, pooled, expanding_basis(self.spec, self.asked(), distractors)
        )
        if expanded and not pooled:  # the project was deleted
            expand = replace(expand, stale=expand.at is not None)
        steps = (self._label_state(), collapse, verbalise, expand)
        return BuildState(self.spec, self.author, self.time, steps)

    def _label_state(self) -> StepState:
        labels, run = self.labels(), self.made("label")
        pending = sum(map(_is_pending, labels))
        # A run that was killed left its labels, but nothing that says that it ran.
        rows = self.ledger.builds.labels(*self._place)
        by_model = [row for row in rows if row.maker == "model"]
        return StepState(
            "label",
            done=len(labels) - pending,
            total=len(self.scope()),
            stale=pending > 0,
            at=run.ran if run else max((row.time for row in by_model), default=None),
            edits=sum(label.maker == "person" for label in labels),
            model=by_model[-1].author if by_model else "",
        )


class Work:
    """A step under way, started by ``author``."""

    def __init__(self, build: OpenBuild, step: BuildStep, author: str, run: TaskRun) -> None:
        self.build, self.spec = build, build.spec
        self.step, self.author, self.run = step, author, run

    @property
    def stopped(self) -> str:
        """Why the step ends; "" while it goes on."""
        return self.run.stopped

    def say(self, done: int, total: int) -> None:
        """Report how far it is."""
        self.run.progress(done, total, phase=self.step)

    def made(self, value: Any, basis: str, before: Made[Any] | None) -> Made[Any]:
        """The result of this run; one that is not complete has no basis."""
        edits = 0 if before is None else before.edits
        return Made(value, basis, self.run.model, datetime.now(UTC), edits)

    def keep(self, value: Any, basis: str = "") -> None:
        """Store the result of this run."""
        self.build.change(self.step, partial(self.made, value, basis), self.author)


def _is_pending(label: Label) -> bool:
    """Whether a model is to be asked again: never over a person's label."""
    return label.outdated and label.maker == "model"


def _content_hashes(corpus: OpenCorpus) -> dict[str, str]:
    hashes: dict[str, str] = {}
    for batch in corpus.table.columns(["doc_id", "content_hash"]):
        ids, contents = batch["doc_id"].to_pylist(), batch["content_hash"].to_pylist()
        hashes.update(zip(ids, contents, strict=True))
    return hashes


def _changed_query(
    old: BuildQuery | None, new: BuildQuery | None, dropped: bool | None, name: str
) -> BuildQuery:
    """A query after a change; equal words are no change."""
    if old is not None and (new is None or new.text == old.text):
        return old if dropped is None else replace(old, dropped=dropped)
    if new is None:
        raise BadInputError(f"The cluster '{name}' has no query yet.", "Write it.")
    if old is not None:
        new = replace(new, tries=old.tries, dropped=old.dropped)
    return new if dropped is None else replace(new, dropped=dropped)
