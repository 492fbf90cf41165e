"""What people leave behind while exploring: grades, trails, kept documents, pasted texts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from engine.annotate.project_settings import check_annotator
from engine.corpora.library import Library
from engine.errors import BadInputError, UnknownNameError
from engine.search.queries import query_from_json, query_id, query_to_json
from engine.types.documents import Document
from engine.types.searches import Query
from storage.judging import JudgmentRow
from storage.ledger import Ledger
from storage.projects import ProjectQueryRow


class Notebook:
    """The ledger as explorers use it. Nothing in it is ever overwritten.

    Args:
        annotator: whose grades are stored when nobody else is named.
    """

    def __init__(self, ledger: Ledger, library: Library, annotator: str) -> None:
        self._ledger, self._library, self._annotator = ledger, library, annotator
        self._asked: set[tuple[str, str]] = set()

    def judge(
        self,
        query: Query,
        doc_id: str,
        relevance: int | None,
        *,
        rank: int | None = None,
        annotator: str | None = None,
        note: str = "",
    ) -> JudgmentRow:
        """Store a grade from 0 to 3, or None to take one back. Nothing is overwritten."""
        if relevance is not None and relevance not in (0, 1, 2, 3):
            raise BadInputError(f"The grade is {relevance}.", "Grades are 0, 1, 2 and 3.")
        if doc_id == query.seed:
            raise BadInputError("The seed itself cannot be judged.", "Judge another document.")
        self._library.open(query.corpus).document(doc_id)
        row = JudgmentRow(
            corpus=query.corpus,
            query_id=query_id(query),
            doc_id=doc_id,
            relevance=relevance,
            annotator=check_annotator(annotator or self._annotator),
            note=note,
            instruction=query.instruction or "",
            rank=rank,
            system=query.system,
            time=datetime.now(UTC),
            verdict="withdrawn" if relevance is None else "grade",
        )
        self._add_query(row.query_id, query)
        self._ledger.judging.add([row])
        return row

    def _add_query(self, name: str, query: Query) -> None:
        """Keep what was asked, the first time: an id says nothing of own words and sentences."""
        if (query.corpus, name) not in self._asked:
            asked = replace(query, offset=0, filters=())
            now = datetime.now(UTC)
            row = ProjectQueryRow(query.corpus, "", name, query_to_json(asked), now)
            self._ledger.projects.add_queries([row])
            self._asked.add((query.corpus, name))

    def grades(self, query: Query, annotator: str | None = None) -> dict[str, int]:
        """The annotator's current grades for a query, by doc_id."""
        who = annotator or self._annotator
        rows = self._ledger.judging.latest(query.corpus, "", query_id(query), who)
        return {row.doc_id: row.relevance for row in rows if row.relevance is not None}

    def add_step(self, trail_id: str, query: Query) -> None:
        """Note a search in a trail."""
        self._ledger.add_step(trail_id, query.corpus, query_to_json(query))

    def trail(self, trail_id: str) -> list[Query]:
        """The searches of a trail, in order."""
        return [query_from_json(step.query) for step in self._ledger.steps(trail_id)]

    def seed_title(self, query: Query) -> str:
        """What to call the seed of a query: its title, or the beginning of its text."""
        if query.text is not None:
            return query.text[:60]
        if query.corpus not in self._library.names():
            return query.seed or ""
        opened = self._library.open(query.corpus)
        row = opened.row_of.get(query.seed or "")
        return (opened.titles[row] if row is not None else "") or query.seed or ""

    def export_trail(self, trail_id: str, kind: str) -> str:
        """A trail as ``markdown``, ``bibtex`` or ``jsonl``."""
        from engine.search.trails import export_trail

        steps = self.trail(trail_id)
        titles = {q.seed: self.seed_title(q) for q in steps if q.seed}
        return export_trail(kind, steps, self.kept(trail_id), titles)

    def keep(self, trail_id: str, corpus: str, doc_id: str, *, kept: bool = True) -> None:
        """Keep a document (or let it go)."""
        (self._ledger.keep if kept else self._ledger.unkeep)(trail_id, corpus, doc_id)

    def kept(self, trail_id: str) -> list[tuple[str, Document]]:
        """Kept documents with their corpus; those of a corpus that is gone are left out."""
        found = []
        names = {row.name for row in self._ledger.corpora() if row.state != "deleted"}
        for row in self._ledger.kept(trail_id):
            if row.corpus in names:
                found += [
                    (row.corpus, d) for d in self._library.open(row.corpus).documents([row.doc_id])
                ]
        return found

    def put_text(self, text: str) -> str:
        """Store a pasted text under a short id for links."""
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
