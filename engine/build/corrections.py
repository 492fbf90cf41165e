"""A person's changes to labels, clusters and queries: checked, and kept with who made them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from engine.annotate.projects import check_annotator
from engine.build.build_records import (
    LONGEST_LABEL,
    LONGEST_QUERY,
    Clustering,
    StoredQuery,
    check_line,
    queries_from_json,
    queries_to_json,
    query_basis,
)
from engine.build.build_store import BuildStore
from engine.build.clustering import find_cluster, left
from engine.build.verbalising import Vocabularies
from engine.errors import BadInputError, UnknownNameError
from engine.types.builds import BuildLens, BuildQuery, BuildStep, Cluster, Overlap
from storage.builds import LabelRow, StepRow


class QueryChange(NamedTuple):
    """What a person says of a query; None leaves it as it is."""

    text: str | None = None
    dropped: bool | None = None


Meant = Callable[[str, tuple[object, ...] | None], bool]
"""The document or cluster, what stands of it (None: nothing yet) -> whether a change of it is
still to be made. Raises where something else stands than the change was made for."""


def always(*_: object) -> bool:
    """Makes every change, whatever stands."""
    return True


ChangeClusters = Callable[[list[Cluster]], Sequence[Cluster]]
"""The clusters as they stand -> as a person leaves them."""


class Corrections:
    """Where people change what the steps made. Safe to share between threads and processes."""

    def __init__(self, store: BuildStore, vocabularies: Vocabularies) -> None:
        self._store, self._vocabularies = store, vocabularies

    # -- labels ------------------------------------------------------------------------

    def set_labels(
        self, lens: BuildLens, changes: Mapping[str, str], author: str, meant: Meant = always
    ) -> int:
        """Keep a person's labels; what the label is already is no change, unless it is outdated:
        whoever says it again says that it still holds.

        Returns:
            how many changed.

        Raises:
            UnknownNameError: a document that the lens does not read.
            BadInputError: no author; a label that is too long.
        """
        author, bases = check_annotator(author), self._store.bases(lens)
        said = {}
        for doc_id, text in changes.items():
            if doc_id not in bases:
                raise UnknownNameError(
                    f"Document '{doc_id}' is not among those that '{lens.name}' reads.",
                    "Check the id.",
                )
            said[doc_id] = check_line(text, f"The label of '{doc_id}'", LONGEST_LABEL)
        now, rows = datetime.now(UTC), []

        def changed(standing: Mapping[str, LabelRow]) -> list[LabelRow]:
            for doc_id, label in said.items():
                old, basis = standing.get(doc_id), bases[doc_id]
                if not meant(doc_id, None if old is None else (old.label,)):
                    continue
                if old is None or (old.label, old.basis) != (label, basis):
                    where = (lens.corpus, lens.name, doc_id)
                    rows.append(LabelRow(*where, label, "", "person", author, basis, now))
            return rows

        self._store.rows.change_labels(lens.corpus, lens.name, changed)
        return len(rows)

    # -- clusters ----------------------------------------------------------------------

    def change_clusters(self, lens: BuildLens, change: ChangeClusters, author: str) -> int:
        """Keep the clusters as a person leaves them; see :func:`engine.build.clustering.left`.

        Returns:
            how many changed.

        Raises:
            UnknownNameError, BadInputError: what cannot be; there are no clusters yet.
        """
        author = check_annotator(author)
        order, scope = self._store.corpus(lens).row_of, frozenset(self._store.scope(lens))

        changes = 0

        def changed(row: StepRow | None) -> StepRow | None:
            nonlocal changes
            if row is None:
                raise BadInputError(
                    f"'{lens.name}' has no clusters yet.", "Run the step 'collapse' first."
                )
            found = Clustering.from_json(row.content).within(scope)
            shown = [cluster.shown(lens) for cluster in found.clusters]
            kept, changes = left(found, change(shown), author, lens, order)
            return _edit(row, kept.to_json(), changes, author) if changes else None

        self._store.rows.change(lens.corpus, lens.name, "collapse", changed)
        return changes

    # -- queries -----------------------------------------------------------------------

    def overlap(self, lens: BuildLens, key: str, text: str) -> Overlap:
        """How far a wording gives the documents of a cluster away; UnknownNameError."""
        cluster = find_cluster(self._store.active(lens), key)
        vocabulary = self._vocabularies.of(self._store.corpus(lens))
        return vocabulary.overlap(text[:LONGEST_QUERY], cluster.doc_ids)

    def set_query(
        self, lens: BuildLens, key: str, author: str, text: str | None, dropped: bool | None
    ) -> BuildQuery:
        """Word a query, take it out or back in; what is None stays.

        Raises:
            UnknownNameError: no such cluster, or none that becomes a query.
            BadInputError: an empty or too long text; there is no query yet to be dropped.
        """
        return self.set_queries(lens, {key: QueryChange(text, dropped)}, author)[0][key].shown

    def set_queries(
        self,
        lens: BuildLens,
        changes: Mapping[str, QueryChange],
        author: str,
        meant: Meant = always,
    ) -> tuple[dict[str, StoredQuery], int]:
        """Change several at once, all of them or, on an error, none.

        Returns:
            the queries by key, and how many changed. Raises as :meth:`set_query`.
        """
        author, active = check_annotator(author), self._store.active(lens)
        vocabulary = self._vocabularies.of(self._store.corpus(lens))
        worded: dict[str, StoredQuery] = {}
        for key, change in changes.items():
            cluster = find_cluster(active, key)
            if change.text is not None:
                line = check_line(change.text, "The query", LONGEST_QUERY)
                if not line:
                    raise BadInputError(
                        f"The query of '{cluster.name}' is empty.", "Write it, or drop it."
                    )
                found = vocabulary.overlap(line, cluster.doc_ids)
                worded[key] = StoredQuery(
                    key, line, cluster.doc_ids, found.share, found.words,
                    query_basis(lens, cluster), "person", 0,
                )  # fmt: skip
        saved: dict[str, StoredQuery] = {}
        changed = 0

        def change_all(row: StepRow | None) -> StepRow | None:
            nonlocal changed
            before = {} if row is None else queries_from_json(row.content)
            for key, change in changes.items():
                stands = before.get(key)
                if not meant(key, None if stands is None else (stands.text, stands.dropped)):
                    continue
                name = find_cluster(active, key).name
                saved[key] = _changed(before.get(key), worded.get(key), change.dropped, name)
            changed = sum(before.get(key) != query for key, query in saved.items())
            if not changed:
                return None
            content = queries_to_json({**before, **saved})
            return _edit(row or _first(lens, "verbalise"), content, changed, author)

        self._store.rows.change(lens.corpus, lens.name, "verbalise", change_all)
        return saved, changed


def _changed(
    old: StoredQuery | None, new: StoredQuery | None, dropped: bool | None, name: str
) -> StoredQuery:
    """A query after a change; the same words are no change, whoever says them."""
    if old is not None and (new is None or new.text == old.text):
        return old if dropped is None else replace(old, dropped=dropped)
    if new is None:
        raise BadInputError(f"The cluster '{name}' has no query yet.", "Write it.")
    if old is not None:
        new = replace(new, tries=old.tries, dropped=old.dropped)
    return new if dropped is None else replace(new, dropped=dropped)


def _first(lens: BuildLens, step: BuildStep) -> StepRow:
    now = datetime.now(UTC)
    return StepRow(lens.corpus, lens.name, step, "edit", "", "", 0, "", "", now)


def _edit(row: StepRow, content: str, changes: int, author: str) -> StepRow:
    return replace(
        row, kind="edit", content=content, changes=changes, author=author, model="",
        time=datetime.now(UTC),
    )  # fmt: skip
