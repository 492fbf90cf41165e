"""What is stored while exploring: grades, trails, reading lists, saved searches, pasted texts."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from engine.annotate.annotation import Annotation
from engine.annotate.judgments import checked_note
from engine.annotate.projects import printable
from engine.corpora.library import Library
from engine.errors import BadInputError, NotAllowedError, UnknownNameError
from engine.permissions import check_sees
from engine.search.queries import check_text, query_from_json, query_id, query_to_json
from engine.types.annotating import Judgment
from engine.types.limits import LONGEST_TRAIL, MOST_NAME, MOST_REFERENCES
from engine.types.people import ForPerson
from engine.types.searches import KeptDocument, Query, SavedSearch, TrailInfo
from storage.ledger import Ledger
from storage.trails import TrailNameRow

_AT_ONCE = 500
"""Documents that an export reads at once."""


class Notebook(ForPerson):
    """The ledger as explorers use it; append-only.

    An ``owner`` is whose a trail or search is without login; with login it is the person.

    Args:
        annotator: whose grades are stored by default.
    """

    def __init__(
        self, ledger: Ledger, library: Library, annotation: Annotation, annotator: str
    ) -> None:
        self._ledger, self._library = ledger, library
        self._annotation, self._annotator = annotation, annotator

    def judge(
        self,
        query: Query,
        doc_id: str,
        relevance: int | None,
        *,
        rank: int | None = None,
        annotator: str | None = None,
        note: str = "",
    ) -> Judgment:
        """Store a grade of the corpus's scale, or None to take one back; see
        :meth:`Annotation.judge`."""
        judgment = Judgment(
            query_id(query),
            doc_id,
            annotator or self._own(self._annotator),
            relevance,
            "withdrawn" if relevance is None else "grade",
            note,
            rank=rank,
            system=query.system,
        )
        annotation = self._annotation
        return annotation.judge(annotation.project(query.corpus), judgment, query)

    def grades(self, query: Query, annotator: str | None = None) -> dict[str, int]:
        """The annotator's current grades for a query, by doc_id, without adjudications."""
        who = annotator or self._own(self._annotator)
        check_sees(self.person, who)
        rows = self._ledger.judging.latest(query.corpus, "", query_id(query), who)
        own = (row for row in rows if row.origin != "adjudication")
        return {row.doc_id: row.relevance for row in own if row.relevance is not None}

    # Trails

    def add_step(self, trail_id: str, query: Query) -> None:
        """Note a search in a trail."""
        self._check_own(trail_id)
        self._ledger.trails.add_step(trail_id, query.corpus, query_to_json(query))

    def trail(self, trail_id: str) -> list[Query]:
        """The searches of a trail, in order."""
        return [query_from_json(step.query) for step in self._ledger.trails.steps(trail_id)]

    def trails(self, owner: str | None = None) -> list[TrailInfo]:
        """The latest 50 trails, the newest first, without single searches that keep no document.

        Args:
            owner: "" for those made without login; None for everybody's.
        """
        trails = []
        for row in self._ledger.trails.all(self.person.name or owner):
            seeds = dict.fromkeys(self.seed_titles([*map(query_from_json, row.queries)]))
            info = (row.trail_id, row.name, tuple(seeds), len(row.queries), row.kept, row.time)
            trails.append(TrailInfo(*info))
        return trails

    def trail_name(self, trail_id: str) -> str:
        """What the trail is called; "" when it has no name."""
        row = self._ledger.trails.name(trail_id)
        return row.name if row else ""

    def name_trail(self, trail_id: str, name: str, owner: str = "") -> None:
        """Give a trail a name."""
        self._check_own(trail_id)
        self._put_name(trail_id, owner, name=_one_line(name))

    def delete_trail(self, trail_id: str, owner: str = "", *, deleted: bool = True) -> None:
        """Take a trail off the list of trails, or bring it back; its content stays."""
        self._check_own(trail_id)
        self._put_name(trail_id, owner, deleted=deleted)

    def own_trail(self, trail_id: str, owner: str) -> str:
        """The trail if ``owner`` may write it and the id is valid, else a new id.

        A trail belongs to the first who opens it before it has a search. Without login ("") it is
        shared; nobody gets it by logging in later.
        """
        owner, new = self._own(owner), secrets.token_urlsafe(9)
        trail_id = trail_id if 0 < len(trail_id) <= LONGEST_TRAIL else new
        if not owner:
            return trail_id
        row = self._ledger.trails.name(trail_id)
        if row is not None and row.owner == owner:
            return trail_id
        if row is not None or self._ledger.trails.steps(trail_id):
            trail_id = new
        self._put_name(trail_id, owner)
        return trail_id

    def _put_name(self, trail_id: str, owner: str, **changes: Any) -> None:
        owner, now = self._own(owner), datetime.now(UTC)
        row = self._ledger.trails.name(trail_id) or TrailNameRow(trail_id, "", owner, False, now)
        self._ledger.trails.put_name(replace(row, owner=row.owner or owner, time=now, **changes))

    def _check_own(self, trail_id: str) -> None:
        """With login, only one's own trails are writable; all others are read-only."""
        if self.person.is_operator:
            return
        row = self._ledger.trails.name(trail_id)
        if row is None or row.owner != self.person.name:
            raise NotAllowedError(
                "This trail is another person's, or was made without login.",
                "Start a trail of your own from a search of it.",
            )

    def seed_title(self, query: Query) -> str:
        """What to call the seed of a query: its title, or the beginning of its text."""
        return self.seed_titles([query])[0]

    def seed_titles(self, queries: Sequence[Query]) -> list[str]:
        """:meth:`seed_title` of each query."""
        wanted = {query.corpus for query in queries if query.text is None}
        there = wanted.intersection(self._library.names())
        opened = {corpus: self._library.open(corpus) for corpus in there}

        def title(query: Query) -> str:
            if query.text is not None:
                return query.text[:60]
            corpus, seed = opened.get(query.corpus), query.seed or ""
            return corpus.titles[corpus.row_of[seed]] if corpus and seed in corpus.row_of else ""

        return [title(query) or query.seed or "" for query in queries]

    def export_trail(self, trail_id: str, kind: str) -> str:
        """A trail in one of the forms of ``EXPORT_FORMATS`` (``engine/types/searches.py``)."""
        from engine.search.trails import export_trail

        steps = self.trail(trail_id)
        titles = {q.seed: t for q, t in zip(steps, self.seed_titles(steps), strict=True) if q.seed}
        return export_trail(kind, steps, self.kept(trail_id), titles)

    def export_documents(self, corpus: str, doc_ids: Sequence[str], kind: str) -> str:
        """Documents of a corpus in one of the forms of ``EXPORT_FORMATS``, in their order."""
        from engine.search.trails import export_trail

        if len(doc_ids) > MOST_REFERENCES:
            raise BadInputError(
                f"{len(doc_ids):,} documents are too many for this form.",
                f"Take at most {MOST_REFERENCES:,}; a CSV file has all.",
            )
        documents = self._library.open(corpus).documents(doc_ids)
        return export_trail(kind, (), [KeptDocument(corpus, one) for one in documents], {})

    def export_corpus(
        self, corpus: str, kind: str = "jsonl", doc_ids: Sequence[str] | None = None
    ) -> Iterator[str]:
        """Documents of a corpus with all fields in one of ``DOCUMENT_FORMATS``, part by part; in
        the order of ``doc_ids``, None for all."""
        from engine.search.trails import export_documents

        opened = self._library.open(corpus)
        ids = opened.doc_ids if doc_ids is None else [opened.known(one) for one in doc_ids]

        def kept() -> Iterator[KeptDocument]:
            for start in range(0, len(ids), _AT_ONCE):
                for one in opened.documents(ids[start : start + _AT_ONCE]):
                    yield KeptDocument(corpus, one)

        return export_documents(kind, kept)

    # The reading list of a trail

    def kept(self, trail_id: str) -> list[KeptDocument]:
        """Kept documents in the order of the list; those of a corpus that is gone are left out."""
        rows = self._ledger.trails.kept(trail_id)
        there = {row.name for row in self._ledger.listed_corpora()}
        found = {
            (corpus, document.doc_id): document
            for corpus in {row.corpus for row in rows} & there
            for document in self._library.open(corpus).documents(
                [row.doc_id for row in rows if row.corpus == corpus]
            )
        }
        return [
            KeptDocument(row.corpus, found[row.corpus, row.doc_id], row.note)
            for row in rows
            if (row.corpus, row.doc_id) in found
        ]

    def keep(self, trail_id: str, corpus: str, doc_id: str, *, kept: bool = True) -> None:
        """Keep a document at the end of the list, or remove it; kept again, it is back at its place
        with its note."""
        self._check_own(trail_id)
        if kept:
            self._library.open(corpus).document(doc_id)  # says that it is not there
        self._ledger.trails.keep(trail_id, corpus, doc_id, kept=kept)

    def annotate(self, trail_id: str, corpus: str, doc_id: str, note: str) -> None:
        """Set the reader's note on a kept document; BadInputError when it is too long."""
        self._check_own(trail_id)
        self._ledger.trails.annotate(trail_id, corpus, doc_id, checked_note(note).strip())

    def move(self, trail_id: str, corpus: str, doc_id: str, by: int) -> None:
        """Let a kept document change places with the one before it (-1) or after it (1)."""
        self._check_own(trail_id)
        order = [(one.corpus, one.document.doc_id) for one in self.kept(trail_id)]
        if (corpus, doc_id) in order:
            other = order.index((corpus, doc_id)) + by
            if 0 <= other < len(order):
                self._ledger.trails.swap(trail_id, (corpus, doc_id), order[other])

    # Saved searches

    def saved_searches(self, owner: str = "") -> list[SavedSearch]:
        """The searches that ``owner`` saved, the latest first."""
        return [
            SavedSearch(row.name, row.link) for row in self._ledger.trails.saved(self._own(owner))
        ]

    def save_search(self, name: str, link: str, owner: str = "", *, saved: bool = True) -> None:
        """Save a search by its link, rename it by saving it again, or remove it."""
        name = _one_line(name)
        if not name:
            raise BadInputError("The search has no name.", "Give it one, then save it.")
        self._ledger.trails.save_search(self._own(owner), name, link, saved=saved)

    # Pasted texts

    def put_text(self, text: str) -> str:
        """Store a pasted text under a short id for links; BadInputError as for a search by it."""
        check_text(text)
        return self._ledger.put_text(text)

    def text(self, text_id: str) -> str:
        """The pasted text of a link, or UnknownNameError."""
        text = self._ledger.text(text_id)
        if text is None:
            raise UnknownNameError(
                f"The pasted text '{text_id}' is not stored here.",
                "Links to pasted texts work only with the home that they were made in.",
            )
        return text


def _one_line(name: str) -> str:
    """Without control characters, cut to the longest allowed name."""
    return printable(" ".join(name.split()))[:MOST_NAME]
