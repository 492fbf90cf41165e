"""What is stored while exploring: grades, trails, kept documents, pasted texts."""

from __future__ import annotations

from engine.annotate.annotation import Annotation
from engine.corpora.library import Library
from engine.errors import UnknownNameError
from engine.search.queries import query_from_json, query_id, query_to_json
from engine.types.annotating import Judgment
from engine.types.documents import Document
from engine.types.searches import Query
from storage.ledger import Ledger


class Notebook:
    """The ledger as explorers use it. Nothing in it is ever overwritten.

    Args:
        annotator: whose grades are stored when nobody else is named.
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
            annotator or self._annotator,
            relevance,
            "withdrawn" if relevance is None else "grade",
            note,
            rank=rank,
            system=query.system,
        )
        annotation = self._annotation
        return annotation.judge(annotation.project(query.corpus), judgment, query)

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
        documents = []
        names = {row.name for row in self._ledger.corpora() if row.state != "deleted"}
        for row in self._ledger.kept(trail_id):
            if row.corpus in names:
                documents += [
                    (row.corpus, d) for d in self._library.open(row.corpus).documents([row.doc_id])
                ]
        return documents

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
