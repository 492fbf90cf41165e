"""What is stored while exploring: grades, trails, saved searches, pasted texts."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter
from typing import Any

from engine.annotate.annotation import Annotation
from engine.annotate.projects import one_line
from engine.corpora.library import Library
from engine.errors import BadInputError, UnknownNameError
from engine.explorations.reading_lists import ReadingLists, Trail, check_owner
from engine.permissions import check_sees
from engine.queries import check_text, query_id
from engine.types.annotating import Judgment, Verdict
from engine.types.limits import LONGEST_TRAIL, MOST_NAME, MOST_REFERENCES
from engine.types.people import ForPerson
from engine.types.searches import KeptDocument, Query, SavedSearch, TrailInfo
from storage.documents import Stored
from storage.ledger import Ledger

_AT_ONCE = 500
"""Documents that an export reads at once."""
MOST_TRAILS = 50
"""In the list of trails."""


class Notebook(ForPerson):
    """The ledger as explorers use it. An ``owner`` is whose a trail or search is without login;
    with login it is the person."""

    def __init__(
        self,
        ledger: Ledger,
        library: Library,
        annotation: Annotation,
        reading_lists: ReadingLists,
        annotator: str,
    ) -> None:
        self._ledger, self._library, self._reading_lists = ledger, library, reading_lists
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
        who: str = annotator or self._own(self._annotator)
        verdict: Verdict = "withdrawn" if relevance is None else "grade"
        given = (relevance, verdict, note)
        shown: Any = {"rank": rank, "system": query.system}
        judgment = Judgment(query_id(query), doc_id, who, *given, **shown)
        query = replace(query, corpus=self._library.stored_name(query.corpus))
        project = self._annotation.project(query.corpus)
        return self._annotation.judge(project, judgment, query)

    def grades(self, query: Query, annotator: str | None = None) -> dict[str, int]:
        """The annotator's current grades for a query, by doc_id, without adjudications."""
        who = annotator or self._own(self._annotator)
        check_sees(self.person, who)
        corpus = self._library.stored_name(query.corpus)
        rows = self._ledger.judging.latest(corpus, "", query_id(query), who)
        own = (row for row in rows if row.origin != "adjudication")
        return {row.doc_id: row.relevance for row in own if row.relevance is not None}

    # Trails

    def _trail(self, trail_id: str) -> Trail:
        return self._trails.value(trail_id) or Trail()

    def _change(self, trail_id: str, change: Callable[[Trail], Trail], owner: str = "") -> None:
        """Change one's own trail; with login, all others are read-only."""

        def changed(stored: Stored[Trail] | None) -> Trail | None:
            whose, before = (stored.owner, stored.value) if stored else ("", Trail())
            remedy = "Start a trail of your own from a search of it."
            check_owner(self.person.name, whose, "trail", remedy)
            after = change(before)
            return None if after == before else after

        known = self._trails.get(trail_id)
        first = "" if known and known.owner else self._own(owner)
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
        keep no document; ``owner`` "" for those made without login, None for everybody's."""
        owner = self.person.name or owner
        kept = Counter(self._reading_lists.trails_of_items(owner))

        def is_listed(one: Stored[Trail]) -> bool:
            trail, many = one.value, len(one.value.searches)
            alone = many == 1 and not kept[one.key] and not trail.name
            return not trail.deleted and many > 0 and not alone

        found = []
        for one in [*islice(filter(is_listed, self._trails.newest(owner)), MOST_TRAILS)]:
            trail, time = one.value, one.value.searched or one.time
            seeds = tuple(dict.fromkeys(self.seed_titles(trail.searches)))
            about = trail.name, seeds, len(trail.searches), kept[one.key], time
            found.append(TrailInfo(one.key, *about))
        return sorted(found, key=attrgetter("time"), reverse=True)

    def trail_name(self, trail_id: str) -> str:
        """What the trail is called; "" when it has no name."""
        return self._trail(trail_id).name

    def name_trail(self, trail_id: str, name: str, owner: str = "") -> None:
        """Give a trail a name."""
        self._reading_lists.adopt(trail_id)
        self._change(trail_id, lambda trail: replace(trail, name=one_line(name)[:MOST_NAME]), owner)

    def delete_trail(self, trail_id: str, owner: str = "", *, deleted: bool = True) -> None:
        """Take a trail off the list of trails, or bring it back; its content stays."""
        self._reading_lists.adopt(trail_id)
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
        return self._reading_lists.seed_titles(queries)

    def export_trail(self, trail_id: str, kind: str) -> str:
        """A trail in one of the forms of ``EXPORT_FORMATS`` (``engine/types/searches.py``)."""
        lists = self._reading_lists
        return lists.exported(kind, lists.kept_on(trail_id), self.trail(trail_id))

    def export_documents(self, corpus: str, doc_ids: Sequence[str], kind: str) -> str:
        """Documents of a corpus in one of the forms of ``EXPORT_FORMATS``, in their order."""
        if len(doc_ids) > MOST_REFERENCES:
            raise BadInputError(
                f"{len(doc_ids):,} documents are too many for this form.",
                f"Take at most {MOST_REFERENCES:,}; a CSV file has all.",
            )
        documents = self._library.open(corpus).documents(doc_ids)
        return self._reading_lists.exported(kind, [KeptDocument(corpus, d) for d in documents], ())

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
