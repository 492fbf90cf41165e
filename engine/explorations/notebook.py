"""What is stored while exploring: reading lists, grades, trails, saved searches, pasted texts.

A reading list has documents of any corpora under a name, in an order, with notes and tags.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter
from typing import Any

from engine.annotate.annotation import Annotation
from engine.annotate.projects import checked_note, one_line
from engine.corpora.library import Library
from engine.errors import BadInputError, CorpusMissingError, NotAllowedError, UnknownNameError
from engine.permissions import check_sees
from engine.queries import StoredQuery, check_text, query_id
from engine.types.annotating import Judgment, Verdict
from engine.types.documents import Document
from engine.types.limits import LONGEST_TRAIL, MOST_NAME, MOST_REFERENCES
from engine.types.people import ForPerson
from engine.types.searches import (
    LIST_ORDERS,
    KeptDocument,
    Query,
    ReadingListInfo,
    SavedSearch,
    TrailInfo,
)
from storage.documents import Stored
from storage.ledger import Ledger

Place = tuple[str, str]  # corpus and doc_id


@dataclass(frozen=True, slots=True)
class Item:
    """A document of a reading list."""

    corpus: str
    doc_id: str
    note: str = ""
    kept: bool = True  # False once removed: it can come back at its place
    tags: tuple[str, ...] = ()
    query: StoredQuery | None = None  # the search that it was found by
    evidence: tuple[str, str] | None = None  # passages of the seed and of the document
    trail: str = ""  # on which it was kept
    former: tuple[tuple[str, StoredQuery | None], ...] = ()  # trails and searches of before

    @property
    def place(self) -> Place:
        return (self.corpus, self.doc_id)

    @property
    def finds(self) -> tuple[tuple[str, StoredQuery | None], ...]:
        """The trail and the search of each time that it was kept, the last one first."""
        return ((self.trail, self.query), *self.former)

    def found(self, other: Item) -> Item:
        """The document as it is, kept once more with another search or on another trail."""
        trails, queries = zip(*self.finds, strict=True)
        if other.trail in ("", *trails) and other.query in (None, *queries):
            return replace(self, kept=True)
        last = other if other.query else self
        return replace(
            self,
            kept=True,
            query=last.query,
            evidence=last.evidence,
            trail=other.trail or self.trail,
            former=tuple(filter(any, self.finds)),
        )

    def joined(self, other: Item) -> Item:
        """The same document of another list, with what was written on both."""
        notes = dict.fromkeys(filter(None, (self.note, other.note)))
        tags = tuple(dict.fromkeys((*self.tags, *other.tags)))
        last, first = (self, other) if self.query or not other.query else (other, self)
        former = tuple(filter(any, (*last.former, *first.finds)))
        return replace(last, note="\n".join(notes), kept=True, tags=tags, former=former)


@dataclass(frozen=True, slots=True)
class ReadingList:
    """A reading list, with the documents that were removed."""

    name: str = "Reading list"
    deleted: bool = False
    items: tuple[Item, ...] = ()

    @property
    def kept(self) -> tuple[Item, ...]:
        """The documents of the list."""
        return tuple(one for one in self.items if one.kept)


@dataclass(frozen=True, slots=True)
class Trail:
    """The searches of an exploration in order."""

    name: str = ""
    deleted: bool = False
    searches: tuple[StoredQuery, ...] = ()
    documents: tuple[Item, ...] = ()  # kept by earlier versions: now a list with the trail's id
    searched: datetime | None = None  # when the last search was; None in older records


def check_owner(person: str, owner: str, what: str, remedy: str) -> None:
    """Raise NotAllowedError unless it is this person's; "" is the operator."""
    if person and owner != person:
        raise NotAllowedError(
            f"This {what} is another person's, or was made without login.", remedy
        )


class ReadingLists(ForPerson):
    """The reading lists of the person, or without login those of everybody who does not log in.

    A list is known by an id; "" is the first list, which has one once it was written to. What a
    trail of an earlier version kept is a list with the id of the trail.
    """

    def __init__(self, ledger: Ledger, library: Library) -> None:
        self._library = library
        self._stored = ledger.documents("reading list", ReadingList)
        self._first = ledger.documents("first reading list", str)  # its id, by person
        self._trails = ledger.documents("trail", Trail)
        self._old_trails: dict[str | None, list[Stored[ReadingList]]] = {}  # by owner

    def lists(self, owner: str | None = "") -> list[ReadingListInfo]:
        """The first list, then the others by name; ``owner`` None for everybody's."""
        first, found = self.info(), map(_info, self._all(self.person.name or owner))
        others = [one for one in found if not one.deleted and one.list_id != first.list_id]
        return [first, *sorted(others, key=lambda one: one.name.casefold())]

    def info(self, list_id: str = "") -> ReadingListInfo:
        """A list, also one that was deleted."""
        return _info(self._find(list_id))

    def named(self, name: str, owner: str | None = None) -> ReadingListInfo:
        """The list of this id or name, one's own first; BadInputError where several have the name.
        ``owner`` as for :meth:`lists`."""
        lists = self.lists(owner)
        known = [one for one in lists if one.list_id == name]
        for some in (self.lists(), lists):
            known = known or [one for one in some if one.name.casefold() == name.casefold()]
        if len(known) > 1:
            ids = ", ".join(one.list_id for one in known)
            raise BadInputError(f"{len(known)} lists are called '{name}'.", f"Use an id: {ids}.")
        return known[0] if known else self.info(name)

    def new(self, name: str, copied: str | None = None) -> str:
        """Make a list, with the documents of another one where it is given; returns its id."""
        items = () if copied is None else self._find(copied).value.kept
        value, list_id = ReadingList(self._free_name(name), items=items), secrets.token_urlsafe(9)
        self._stored.put(list_id, value, self.person.name)
        return list_id

    def rename(self, list_id: str, name: str) -> None:
        """Give a list another name."""
        name = self._free_name(name, self._find(list_id).key)
        self._change(list_id, lambda one: replace(one, name=name))

    def delete(self, list_id: str, *, deleted: bool = True) -> None:
        """Take a list off the lists, or bring it back."""
        if self._find(list_id).key == self.info().list_id:
            raise BadInputError("The first list cannot be deleted.", "Remove its documents.")
        self._change(list_id, lambda one: replace(one, deleted=deleted))

    def adopt(self, trail_id: str) -> None:
        """Store what a trail of an earlier version kept as a list of its own."""
        if self._stored.get(trail_id) is None and self._of_trail(trail_id) is not None:
            self._change(trail_id, lambda one: one)

    def documents(
        self, list_id: str = "", tag: str = "", order: str = LIST_ORDERS[0]
    ) -> list[KeptDocument]:
        """The documents that are there of a list, or of a tag, in one of ``LIST_ORDERS``."""
        items = (one for one in self._find(list_id).value.kept if not tag or tag in one.tags)
        found = self._documents(items)
        if order == "year":
            found.sort(key=lambda one: -(one.document.year or 0))
        elif order == "title":
            found.sort(key=lambda one: (one.document.title or one.document.text).casefold())
        return found

    def ids(self, list_id: str, corpus: str) -> set[str]:
        """The documents of a corpus that are on a list."""
        return {one.doc_id for one in self._find(list_id).value.kept if one.corpus == corpus}

    def found_from(self, list_id: str, query: Query) -> list[str]:
        """The documents of a list that were kept from the seed of a query."""
        seed = (query.corpus, query.seed, query.text)
        return [
            one.doc_id
            for one in self._find(list_id).value.kept
            if seed in [(q.corpus, q.seed, q.text) for _, q in one.finds if q]
        ]

    def kept_on(self, trail_id: str) -> list[KeptDocument]:
        """What was kept on a trail, in any list."""
        trail = self._trails.get(trail_id)
        lists = [] if trail is None else self._all(trail.owner)
        items = {i.place: i for one in lists for i in one.value.kept if trail_id in dict(i.finds)}
        return self._documents(items.values())

    def trails_of_items(self, owner: str | None) -> list[str]:
        """The trails of each document that was kept."""
        lists = self._all(self.person.name or owner)
        return [trail for one in lists for item in one.value.kept for trail in dict(item.finds)]

    def keep(
        self,
        list_id: str,
        corpus: str,
        *doc_ids: str,
        trail: str = "",
        query: Query | None = None,
        evidence: tuple[str, str] | None = None,
    ) -> None:
        """Keep documents at the end of a list; one that was removed is back at its place.
        ``query`` found them; ``evidence`` has passages of the seed and of the document."""
        opened = self._library.open(corpus)
        known = map(opened.known, doc_ids)
        new = [Item(opened.name, one, "", True, (), query, evidence, trail) for one in known]
        self._add(list_id, new, Item.found)

    def remove(self, list_id: str, corpus: str, doc_id: str) -> None:
        """Remove a document from a list; :meth:`keep` brings it back with its note."""
        self._change_item(list_id, (corpus, doc_id), lambda one: replace(one, kept=False))

    def annotate(
        self, list_id: str, corpus: str, doc_id: str, note: str, before: str | None = None
    ) -> None:
        """Set the reader's note; BadInputError when it is too long. ``before`` is the note that
        was changed: where it is another one by now, both are kept."""
        note = checked_note(note).strip()

        def change(one: Item) -> Item:
            both = before is not None and one.note not in ("", before, note)
            return replace(one, note=checked_note(f"{one.note}\n{note}") if both else note)

        self._change_item(list_id, (corpus, doc_id), change)

    def tag(self, list_id: str, corpus: str, doc_id: str, tag: str, *, tagged: bool = True) -> None:
        """Add a tag to a document, or remove it; of several between commas, each."""
        names = [name for part in tag.split(",") if (name := one_line(part)[:MOST_NAME])]

        def change(one: Item) -> Item:
            left = [other for other in one.tags if other not in names]
            return replace(one, tags=tuple([*left, *dict.fromkeys(names)] if tagged else left))

        self._change_item(list_id, (corpus, doc_id), change)

    def move(self, list_id: str, corpus: str, doc_id: str, before: Place | None = None) -> None:
        """Move a document before another one (corpus, doc_id), None for the end of the list."""

        def change(one: ReadingList) -> ReadingList:
            moved = [item for item in one.items if item.place == (corpus, doc_id)]
            items = [item for item in one.items if item.place != (corpus, doc_id)]
            places = [item.place for item in items]
            at = places.index(before) if before in places else len(items)
            items[at:at] = moved
            return replace(one, items=tuple(items))

        self._change(list_id, change)

    def send(
        self, list_id: str, corpus: str, doc_id: str, target: str, *, copy: bool = False
    ) -> Callable[[], None]:
        """Move or copy a document to another list; returns what takes it back."""
        source, place = self._find(list_id), (corpus, doc_id)
        if not copy:
            self._check_own(source)
        there = [i for i in self._find(target).value.items if i.place == place]
        self._add(target, [i for i in source.value.kept if i.place == place], Item.joined)
        if not copy:
            self.remove(list_id, corpus, doc_id)

        def undo() -> None:
            if not copy:
                self._change_item(list_id, place, lambda one: replace(one, kept=True))
            before = there[0] if there else None
            self._change_item(target, place, lambda one: before or replace(one, kept=False))

        return undo

    def export(self, list_id: str, kind: str, tag: str = "", order: str = LIST_ORDERS[0]) -> str:
        """The documents of a list, or those with a tag, in one of ``EXPORT_FORMATS``."""
        kept, name = self.documents(list_id, tag, order), self.info(list_id).name
        return self.exported(kind, kept, heading=f"{name}: {tag}" if tag else name)

    def exported(
        self,
        kind: str,
        kept: Sequence[KeptDocument],
        steps: Sequence[Query] | None = None,
        heading: str = "Exploration",
    ) -> str:
        """Kept documents as a file, after the searches of a trail."""
        from engine.explorations.exports import export_kept

        queries = [*(steps or ()), *(one.query for one in kept if one.query is not None)]
        pairs = zip(queries, self.seed_titles(queries), strict=True)
        titles = {query: title for query, title in pairs if query.seed}
        return export_kept(kind, kept, titles, steps, heading, self._library.titles())

    def seed_titles(self, queries: Sequence[Query]) -> list[str]:
        """What to call the seed of each query: its title, or the beginning of its text."""
        wanted = {query.corpus for query in queries if query.text is None}
        there = wanted.intersection(self._library.names())
        opened = {corpus: self._library.open(corpus) for corpus in there}

        def title(query: Query) -> str:
            if query.text is not None:
                return query.text[:60]
            corpus, seed = opened.get(query.corpus), query.seed or ""
            return corpus.titles[corpus.row_of[seed]] if corpus and seed in corpus.row_of else ""

        return [title(query) or query.seed or "" for query in queries]

    def _find(self, list_id: str) -> Stored[ReadingList]:
        """A list as it is stored; UnknownNameError where there is none."""
        first = self._first.value(self.person.name) or ""
        key = list_id or first
        found = self._stored.get(key) or self._of_trail(key)
        if found is None and key != first:
            raise UnknownNameError(
                f"There is no reading list '{list_id}'.", "List them: seedlens reading-list list"
            )
        return found or Stored(key, ReadingList(), self.person.name, datetime.now(UTC))

    def _of_trail(self, trail_id: str) -> Stored[ReadingList] | None:
        trail = self._trails.get(trail_id)
        if trail is None or not trail.value.documents:
            return None
        value = trail.value
        name = value.name or one_line(": ".join(["Trail", *self.seed_titles(value.searches[:1])]))
        items = tuple(replace(one, trail=trail_id) for one in value.documents)
        made = ReadingList(name[:MOST_NAME], value.deleted, items)
        return Stored(trail_id, made, trail.owner, trail.time)

    def _all(self, owner: str | None) -> list[Stored[ReadingList]]:
        """The stored lists of an owner and those of earlier trails, deleted ones too."""
        stored = {one.key: one for one in self._stored.newest(owner)}
        if owner not in self._old_trails:  # no trail keeps documents any more
            found = (self._of_trail(one.key) for one in self._trails.newest(owner))
            self._old_trails[owner] = list(filter(None, found))
        others = (one for one in self._old_trails[owner] if one.key not in stored)
        return [*stored.values(), *others]

    def _documents(self, items: Iterable[Item]) -> list[KeptDocument]:
        kept, found = list(items), dict[Place, Document]()
        for corpus in {one.corpus for one in kept}:
            ids = [one.doc_id for one in kept if one.corpus == corpus]
            with suppress(UnknownNameError, CorpusMissingError):  # it was deleted, or has none yet
                documents = self._library.open(corpus).documents(ids)
                found |= {(corpus, document.doc_id): document for document in documents}
        return [
            KeptDocument(one.corpus, found[one.place], one.note, one.tags, one.query, one.evidence)
            for one in kept
            if one.place in found
        ]

    def _free_name(self, name: str, list_id: str | None = None) -> str:
        """A name that no other list has."""
        name = one_line(name)[:MOST_NAME]
        if not name:
            raise BadInputError("The list has no name.", "Enter a name.")
        others = [one.name.casefold() for one in self.lists() if one.list_id != list_id]
        if name.casefold() in others:
            raise BadInputError(f"There is a list '{name}' already.", "Use another name.")
        return name

    def _check_own(self, found: Stored[ReadingList]) -> None:
        check_owner(self.person.name, found.owner, "reading list", "Copy it to change it.")

    def _change(self, list_id: str, change: Callable[[ReadingList], ReadingList]) -> None:
        """Change a list of one's own; with login, all others are read-only."""
        known, person = self._find(list_id), self.person.name
        self._check_own(known)
        key = known.key
        if not key:  # an id that nobody guesses: it is a link
            new = secrets.token_urlsafe(9)
            self._first.change(person, lambda one: None if one else new, person)
            key = self._first.value(person) or ""
        self._stored.change(key, lambda stored: change((stored or known).value), known.owner)

    def _change_item(self, list_id: str, place: Place, change: Callable[[Item], Item]) -> None:
        def changed(one: ReadingList) -> ReadingList:
            if place not in [item.place for item in one.items]:
                raise UnknownNameError(f"'{place[1]}' is not on the list '{one.name}'.")
            items = tuple(change(item) if item.place == place else item for item in one.items)
            return replace(one, items=items)

        self._change(list_id, changed)

    def _add(self, list_id: str, new: Sequence[Item], joined: Callable[[Item, Item], Item]) -> None:
        """Append items; ``joined`` makes one of an item that is there and a new one."""

        def change(one: ReadingList) -> ReadingList:
            added = {item.place: item for item in new}
            there = [joined(i, added.pop(i.place)) if i.place in added else i for i in one.items]
            return replace(one, items=(*there, *added.values()))

        self._change(list_id, change)


def _info(found: Stored[ReadingList]) -> ReadingListInfo:
    one, kept = found.value, found.value.kept
    tags = tuple(sorted({tag for item in kept for tag in item.tags}, key=str.casefold))
    about = found.owner, found.time, one.deleted
    return ReadingListInfo(found.key, one.name, len(kept), tags, *about)


_AT_ONCE = 500  # documents that an export reads at once
MOST_TRAILS = 50  # in the list of trails


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
        """Store a grade, or None to take one back; see :meth:`Annotation.judge`."""
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
        """Documents of a corpus (None: all) in one of ``DOCUMENT_FORMATS``, part by part."""
        from engine.explorations.exports import export_documents

        opened = self._library.open(corpus)
        ids = opened.doc_ids if doc_ids is None else [opened.known(one) for one in doc_ids]

        def kept() -> Iterator[KeptDocument]:
            for start in range(0, len(ids), _AT_ONCE):
                for one in opened.documents(ids[start : start + _AT_ONCE]):
                    yield KeptDocument(corpus, one)

        return export_documents(kind, kept)

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
