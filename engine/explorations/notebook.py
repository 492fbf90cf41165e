"""What is stored while exploring: grades, trails, reading lists, saved searches, pasted texts."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

from engine.annotate.annotation import Annotation
from engine.annotate.projects import checked_note, one_line
from engine.corpora.library import Library
from engine.errors import BadInputError, NotAllowedError, UnknownNameError
from engine.permissions import check_sees
from engine.queries import StoredQuery, check_text, query_id
from engine.types.annotating import Judgment
from engine.types.limits import LONGEST_TRAIL, MOST_NAME, MOST_REFERENCES
from engine.types.people import ForPerson
from engine.types.searches import KeptDocument, Query, SavedSearch, TrailInfo
from storage.documents import Stored
from storage.ledger import Ledger

_AT_ONCE = 500
"""Documents that an export reads at once."""
MOST_TRAILS = 50
"""In the list of trails."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A document of a reading list."""

    corpus: str
    doc_id: str
    note: str = ""
    kept: bool = True  # False once removed: it can come back at its place

    @property
    def place(self) -> tuple[str, str]:
        """(corpus, doc_id)"""
        return (self.corpus, self.doc_id)


@dataclass(frozen=True, slots=True)
class Trail:
    """The searches of an exploration and its reading list, in order."""

    name: str = ""
    deleted: bool = False
    searches: tuple[StoredQuery, ...] = ()
    documents: tuple[Kept, ...] = ()  # removed ones too
    searched: datetime | None = None  # when the last search was; None in older records

    @property
    def kept(self) -> tuple[Kept, ...]:
        """The documents of the reading list."""
        return tuple(one for one in self.documents if one.kept)

    @property
    def is_listed(self) -> bool:
        """Whether people find it in the list of trails."""
        return not self.deleted and bool(
            self.searches and (len(self.searches) > 1 or self.kept or self.name)
        )


class Notebook(ForPerson):
    """The ledger as explorers use it.

    An ``owner`` is whose a trail or search is without login; with login it is the person.

    Args:
        annotator: whose grades are stored by default.
    """

    def __init__(
        self, ledger: Ledger, library: Library, annotation: Annotation, annotator: str
    ) -> None:
        self._ledger, self._library = ledger, library
        self._annotation, self._annotator = annotation, annotator
        self._trails = ledger.documents("trail", Trail)
        self._saved = ledger.documents("saved search", SavedSearch)

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

    def _trail(self, trail_id: str) -> Trail:
        return self._trails.value(trail_id) or Trail()

    def _change(self, trail_id: str, change: Callable[[Trail], Trail], owner: str = "") -> None:
        """Change one's own trail; with login, all others are read-only."""

        def changed(stored: Stored[Trail] | None) -> Trail | None:
            whose = "" if stored is None else stored.owner
            if not self.person.is_operator and whose != self.person.name:
                raise NotAllowedError(
                    "This trail is another person's, or was made without login.",
                    "Start a trail of your own from a search of it.",
                )
            before = Trail() if stored is None else stored.value
            after = change(before)
            return None if after == before else after

        known = self._trails.get(trail_id)
        first = self._own(owner) if known is None or not known.owner else ""
        self._trails.change(trail_id, changed, first)

    def add_step(self, trail_id: str, query: Query) -> None:
        """Note a search in a trail, unless it is the last one again."""

        def change(trail: Trail) -> Trail:
            if trail.searches[-1:] == (query,):
                return trail
            return replace(trail, searches=(*trail.searches, query), searched=datetime.now(UTC))

        self._change(trail_id, change)

    def trail(self, trail_id: str) -> list[Query]:
        """The searches of a trail, in order."""
        return list(self._trail(trail_id).searches)

    def trails(self, owner: str | None = None) -> list[TrailInfo]:
        """The trails that were used last, the latest search first, without single searches that
        keep no document.

        Args:
            owner: "" for those made without login; None for everybody's.
        """
        stored = self._trails.newest(self.person.name or owner)
        listed = islice((one for one in stored if one.value.is_listed), MOST_TRAILS)
        found = [
            TrailInfo(
                one.key,
                one.value.name,
                tuple(dict.fromkeys(self.seed_titles(one.value.searches))),
                len(one.value.searches),
                len(one.value.kept),
                one.value.searched or one.time,
            )
            for one in list(listed)
        ]
        return sorted(found, key=lambda trail: trail.time, reverse=True)

    def trail_name(self, trail_id: str) -> str:
        """What the trail is called; "" when it has no name."""
        return self._trail(trail_id).name

    def name_trail(self, trail_id: str, name: str, owner: str = "") -> None:
        """Give a trail a name."""
        self._change(trail_id, lambda trail: replace(trail, name=one_line(name)[:MOST_NAME]), owner)

    def delete_trail(self, trail_id: str, owner: str = "", *, deleted: bool = True) -> None:
        """Take a trail off the list of trails, or bring it back; its content stays."""
        self._change(trail_id, lambda trail: replace(trail, deleted=deleted), owner)

    def own_trail(self, trail_id: str, owner: str) -> str:
        """The trail if ``owner`` may write it and the id is valid, else a new id.

        A trail belongs to the first who opens it before it has a search. Without login ("") it is
        shared; nobody gets it by logging in later.
        """
        owner, new = self._own(owner), secrets.token_urlsafe(9)
        trail_id = trail_id if 0 < len(trail_id) <= LONGEST_TRAIL else new
        if not owner:
            return trail_id
        for key in (trail_id, new):
            self._trails.change(key, lambda there: None if there else Trail(), owner)
            stored = self._trails.get(key)
            if stored is not None and stored.owner == owner:
                break
        return key

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
        from engine.explorations.exports import export_trail

        steps = self.trail(trail_id)
        titles = {q.seed: t for q, t in zip(steps, self.seed_titles(steps), strict=True) if q.seed}
        return export_trail(kind, steps, self.kept(trail_id), titles)

    def export_documents(self, corpus: str, doc_ids: Sequence[str], kind: str) -> str:
        """Documents of a corpus in one of the forms of ``EXPORT_FORMATS``, in their order."""
        from engine.explorations.exports import export_trail

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
        from engine.explorations.exports import export_documents

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
        kept = self._trail(trail_id).kept
        there = {row.name for row in self._ledger.listed_corpora()}
        found = {
            (corpus, document.doc_id): document
            for corpus in {one.corpus for one in kept} & there
            for document in self._library.open(corpus).documents(
                [one.doc_id for one in kept if one.corpus == corpus]
            )
        }
        return [KeptDocument(k.corpus, found[k.place], k.note) for k in kept if k.place in found]

    def keep(self, trail_id: str, corpus: str, doc_id: str, *, kept: bool = True) -> None:
        """Keep a document at the end of the list, or remove it; kept again, it is back at its place
        with its note."""
        if kept:
            self._library.open(corpus).document(doc_id)  # says that it is not there
        new = (Kept(corpus, doc_id),) if kept else ()
        self._change_kept(trail_id, corpus, doc_id, lambda one: replace(one, kept=kept), new)

    def annotate(self, trail_id: str, corpus: str, doc_id: str, note: str) -> None:
        """Set the reader's note on a kept document; BadInputError when it is too long."""
        note = checked_note(note).strip()
        self._change_kept(trail_id, corpus, doc_id, lambda one: replace(one, note=note))

    def _change_kept(
        self,
        trail_id: str,
        corpus: str,
        doc_id: str,
        change: Callable[[Kept], Kept],
        new: tuple[Kept, ...] = (),
    ) -> None:
        """Change a document of the list, or append ``new`` where it is not there."""

        def changed(trail: Trail) -> Trail:
            place = (corpus, doc_id)
            documents = tuple(change(k) if k.place == place else k for k in trail.documents)
            known = any(k.place == place for k in documents)
            return replace(trail, documents=documents if known else (*documents, *new))

        self._change(trail_id, changed)

    def move(self, trail_id: str, corpus: str, doc_id: str, by: int) -> None:
        """Let a kept document change places with the one before it (-1) or after it (1)."""
        there = [(one.corpus, one.document.doc_id) for one in self.kept(trail_id)]

        def change(trail: Trail) -> Trail:
            documents = list(trail.documents)
            rows = [at for at, k in enumerate(documents) if k.kept and k.place in there]
            order = [documents[at].place for at in rows]
            if (corpus, doc_id) in order and 0 <= order.index((corpus, doc_id)) + by < len(order):
                at = order.index((corpus, doc_id))
                one, other = rows[at], rows[at + by]
                documents[one], documents[other] = documents[other], documents[one]
            return replace(trail, documents=tuple(documents))

        self._change(trail_id, change)

    # Saved searches

    def saved_searches(self, owner: str = "") -> list[SavedSearch]:
        """The searches that ``owner`` saved, the latest first."""
        return [search.value for search in self._saved.newest(self._own(owner))]

    def save_search(self, name: str, link: str, owner: str = "", *, saved: bool = True) -> None:
        """Save a search by its link, rename it by saving it again, or remove it."""
        owner, name = self._own(owner), one_line(name)[:MOST_NAME]
        if not name:
            raise BadInputError("The search has no name.", "Give it one, then save it.")
        if saved:
            self._saved.put(link, SavedSearch(name, link), owner, scope=owner)
        else:
            self._saved.remove(link, scope=owner)

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
