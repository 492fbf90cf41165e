"""Judgments as append-only events; an undo is an event too.

Table ``current_judgments`` has the last event of each query, document and annotator that was not
undone, written in the appending transaction.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

from sqlalchemy import (
    BindParameter,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    Index,
    Select,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    select,
)

from storage.database import Database, LedgerTables
from storage.errors import StorageError
from storage.records import Judgment, new_event
from storage.tables import NUMBER, columns_of, pieces, put, records, table, upsert, values_of

HIGHEST = 100
"""The highest grade that any scale can have; what a project's scale is, the engine knows."""
MOST_HELD = 8
"""Projects whose current judgments are kept in memory; the one used longest ago gives way."""
MOST_TALLIES = 4
"""Sets of items that a project's annotations are counted over: those used last."""
Item = tuple[str, str]
Place = tuple[str, str]
"""Corpus and project."""
Change = Callable[[Sequence[Judgment], Sequence[Judgment], Set[str]], Iterable[Judgment]]
"""Every event there ever was in order of arrival, the current judgments, and the events of other
projects among those that are looked up -> events to append."""


@dataclass(frozen=True, slots=True)
class CurrentRow:
    """The current judgment of an annotator and item."""

    corpus: str
    project: str
    query_id: str
    doc_id: str
    annotator: str
    decided: bool  # an adjudication, kept apart from own grades
    event_id: int | None  # of the current event; None when all were undone
    changed: int  # id of the event that changed this row
    verdict: str  # of the event; ``undo`` without one
    origin: str


EVENTS = table(
    "judgment_events",
    Judgment,
    # Given by who appends, who is alone: the ids of a batch are known without asking.
    Column("id", NUMBER, primary_key=True, autoincrement=False),
    CheckConstraint("relevance BETWEEN 0 AND 100"),
    CheckConstraint("(verdict = 'grade') = (relevance IS NOT NULL)"),
    numbered=False,
)
Index("judgment_events_by_event", EVENTS.c.event, unique=True)
Index(
    "judgment_events_by_item",
    *(EVENTS.c[n] for n in ("corpus", "project", "query_id", "doc_id", "annotator")),
)
# In words, not as a parameter, so that a plan with the index of undos can be made.
_UNDO: ColumnElement[str] = literal_column("'undo'")
_IS_UNDO = EVENTS.c.verdict == _UNDO
Index("judgment_events_undone", EVENTS.c.undoes, sqlite_where=_IS_UNDO)
_UNDOS = EVENTS.alias("undos")
_COUNTS = and_(
    ~_IS_UNDO,
    ~exists().where(
        _UNDOS.c.verdict == _UNDO,
        _UNDOS.c.undoes == EVENTS.c.event,
        _UNDOS.c.corpus == EVENTS.c.corpus,
        _UNDOS.c.project == EVENTS.c.project,
    ),
)
"""An event that nobody took back."""
_KEY = ("corpus", "project", "query_id", "doc_id", "annotator", "decided")
CURRENT = table("current_judgments", CurrentRow, key=_KEY)
Index("current_judgments_changed", CURRENT.c.corpus, CURRENT.c.project, CURRENT.c.changed)
_COLUMNS = columns_of(EVENTS, Judgment)
_REPEATED = tuple(
    [f.name for f in fields(Judgment)].index(name)
    for name in (
        *("query_id", "doc_id", "annotator", "verdict", "origin", "instruction"),
        *("corpus", "project"),
    )
)
"""Columns with few values in many rows."""
_STANDS = CURRENT.c.verdict.not_in(("withdrawn", "undo"))


@dataclass(frozen=True, slots=True)
class OwnAndOthers:
    """Judgments of one annotator and counts of all."""

    # the annotator's current judgments by item, in order of arrival, without adjudications
    own: dict[Item, Judgment]
    verdicts: Mapping[str, int]  # of the items asked about, number per verdict
    left: int  # of the items asked about, number of lacking ones without the annotator's judgment
    # by item, how many people graded it or were unsure, the annotator included; live
    annotated: Mapping[Item, int]
    lacking: Set[Item]  # items asked about with fewer annotations than needed; live
    annotations: int  # of all these items, at most the needed ones per item
    audits: int  # how many of ``own`` check a model


class _Tally:
    """Counts over some items, each of which needs some annotations; kept with every change."""

    def __init__(self, items: Collection[Item], needed: int, annotated: Mapping[Item, int]) -> None:
        self.items, self.needed = items, needed
        there = {item: min(annotated.get(item, 0), needed) for item in items}
        self.lacking = {item for item, n in there.items() if n < needed}
        self.annotations = sum(there.values())
        # annotator -> number of items per verdict; "" for lacking ones, "audit" for judgments of
        # any item that check a model
        self.people: dict[str, Counter[str]] = {}

    def of(self, annotator: str, own: Mapping[Item, Judgment]) -> Counter[str]:
        """The counts of one annotator with these judgments."""
        if annotator not in self.people:
            self.people[annotator] = Counter()
            for judgment in own.values():
                self.count(judgment, 1)
        return self.people[annotator]

    def count(self, judgment: Judgment, change: int) -> None:
        """Add (1) or remove (-1) a judgment."""
        count = self.people.get(judgment.annotator)
        if count is not None:
            count["audit"] += change * (judgment.origin == "audit")
            if judgment.item in self.items:
                count[judgment.verdict] += change
                count[""] += change * (judgment.item in self.lacking)

    def move(
        self, item: Item, before: int, after: int, own: Mapping[str, Collection[Item]]
    ) -> None:
        """Change an item's number of annotations; ``own``: each annotator's items."""
        if item not in self.items:
            return
        self.annotations += min(after, self.needed) - min(before, self.needed)
        lacks = after < self.needed
        if lacks != (item in self.lacking):
            (self.lacking.add if lacks else self.lacking.remove)(item)
            for who, count in self.people.items():
                count[""] += (1 if lacks else -1) * (item in own.get(who, ()))


class CurrentJudgments:
    """The current judgments of a project, in memory; thread-safe."""

    def __init__(self) -> None:
        self.last = 0  # id of the last event that changed one; 0 before the first
        self._lock = threading.Lock()
        # Annotator -> item -> judgment, in order of arrival.
        self._own: dict[str, dict[Item, Judgment]] = {}
        self._decided: dict[str, dict[Item, Judgment]] = {}
        self._ids: dict[str, int] = {}
        """Of the events."""
        self._annotated: Counter[Item] = Counter()
        self._all: list[Judgment] | None = None
        self._tallies: list[_Tally] = []

    @classmethod
    def of_judgments(cls, judgments: Iterable[Judgment]) -> CurrentJudgments:
        """Of a list in order of arrival, in which nothing is taken back."""
        current = cls()
        for number, judgment in enumerate(judgments, start=1):
            current._put(
                judgment.item,
                judgment.annotator,
                judgment.origin == "adjudication",
                number,
                judgment,
            )
        return current

    def take(self, rows: Sequence[tuple[CurrentRow, Judgment | None]]) -> None:
        """Take in rows that changed, in order of change, with their events."""
        with self._lock:
            for row, judgment in rows:
                if row.changed <= self.last:
                    continue  # another thread read it meanwhile, too
                counts = None if row.verdict in ("withdrawn", "undo") else judgment
                item = (row.query_id, row.doc_id)
                self._put(item, row.annotator, row.decided, row.event_id or 0, counts)
                self.last, self._all = row.changed, None

    def _put(
        self, item: Item, annotator: str, decided: bool, number: int, judgment: Judgment | None
    ) -> None:
        items = (self._decided if decided else self._own).setdefault(annotator, {})
        tallies = () if decided else self._tallies
        before = items.pop(item, None)
        if before is not None:
            del self._ids[before.event]
            for tally in tallies:
                tally.count(before, -1)
        if change := _annotations(judgment) - _annotations(before):
            count = self._annotated[item]
            self._annotated[item] = count + change
            for tally in tallies:
                tally.move(item, count, count + change, self._own)
        if judgment is not None:
            newest = next(reversed(items.values()), None)
            items[item] = judgment
            self._ids[judgment.event] = number
            if newest is not None and number < self._ids[newest.event]:
                # What counts again was said before others.
                ordered = sorted(items.items(), key=lambda pair: self._ids[pair[1].event])
                items.clear()
                items.update(ordered)
            for tally in tallies:
                tally.count(judgment, 1)

    def judgments(self) -> list[Judgment]:
        """All of them, in order of arrival, adjudications included."""
        with self._lock:
            if self._all is None:
                people = chain(self._own.values(), self._decided.values())
                judgments = chain.from_iterable(items.values() for items in people)
                self._all = sorted(judgments, key=lambda judgment: self._ids[judgment.event])
            return list(self._all)

    def of(self, annotator: str, items: Collection[Item], needed: int) -> OwnAndOthers:
        """Judgments of an annotator and counts over items.

        Args:
            items: counted once per object, which must not change.
            needed: annotations of each, at least 1.
        """
        with self._lock:
            own, tally = self._own.get(annotator, {}), self._tally(items, needed)
            verdicts = {**tally.of(annotator, own)}
            left = len(tally.lacking) - verdicts.pop("", 0)
            audits = verdicts.pop("audit", 0)
            others = (self._annotated, tally.lacking, tally.annotations)
            return OwnAndOthers(dict(own), verdicts, left, *others, audits)

    def _tally(self, items: Collection[Item], needed: int) -> _Tally:
        same = [t for t in self._tallies if t.items is items and t.needed == needed]
        tally = same[0] if same else _Tally(items, needed, self._annotated)
        others = [t for t in self._tallies if t is not tally]
        self._tallies = [*others, tally][-MOST_TALLIES:]
        return tally


def _annotations(judgment: Judgment | None) -> int:
    return int(judgment is not None and judgment.is_annotation)


class Judging(LedgerTables):
    """The judgments of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._held: dict[Place, tuple[Any, CurrentJudgments]] = {}
        self._held_lock = threading.Lock()

    def add(self, rows: Iterable[Judgment]) -> int:
        """Append events in the given order, all or none; returns how many were new, as stored
        events are skipped."""
        rows = list(rows)
        if not rows:
            return 0
        with self._database.write() as connection:
            return _append(connection, rows)

    def change(self, corpus: str, project: str, events: Collection[str], change: Change) -> int:
        """Append what ``change`` derives from a project's judgments, in an exclusive transaction.

        Args:
            events: ids that are looked up in other projects.
            change: must not use the ledger; what it raises undoes everything.

        Returns:
            how many were new, as :meth:`add`.
        """
        with self._database.write() as connection:
            history = records(connection, _judgment, _history(corpus, project))
            current = records(connection, _judgment, _current(corpus, project))
            known = _known(connection, events) - {row.event for row in history}
            return _append(connection, change(history, current, known))

    def undo(
        self,
        corpus: str,
        project: str,
        annotator: str,
        *,
        only: Collection[Item] | None = None,
        undo_event: str = "",
    ) -> Judgment | None:
        """Take back an annotator's last current judgment, adjudications aside; the one before
        counts again.

        Args:
            only: these (query_id, doc_id); None for all.
            undo_event: the undo's id: sent twice, it counts once; "" for a new one.

        Returns:
            the judgment taken back, now or earlier by this undo; None when there is none.
        """
        own = and_(
            CURRENT.c.corpus == corpus,
            CURRENT.c.project == project,
            CURRENT.c.annotator == annotator,
            ~CURRENT.c.decided,
            CURRENT.c.event_id.is_not(None),
        )
        last = (
            select(*_COLUMNS)
            .join(CURRENT, CURRENT.c.event_id == EVENTS.c.id)
            .where(own)
            .order_by(EVENTS.c.id.desc())
        )
        with self._database.write() as connection:
            if undo_event and _known(connection, [undo_event]):
                return self._undone(connection, undo_event, (corpus, project, annotator))
            found = (_judgment(*row) for row in connection.execute(last))
            undone = next((j for j in found if only is None or j.item in only), None)
            if undone is None:
                return None
            undo = Judgment(
                *(undone.query_id, undone.doc_id, annotator),
                verdict="undo",
                event=undo_event or new_event(),
                undoes=undone.event,
                corpus=corpus,
                project=project,
            )
            _append(connection, [undo])
        return undone

    def _undone(
        self, connection: Connection, undo_event: str, who: tuple[str, str, str]
    ) -> Judgment | None:
        """The undone judgment; None unless it is this annotator's in this project."""
        undone = select(EVENTS.c.undoes).where(EVENTS.c.event == undo_event, _IS_UNDO)
        found = records(connection, _judgment, select(*_COLUMNS).where(EVENTS.c.event.in_(undone)))
        return next((j for j in found if (j.corpus, j.project, j.annotator) == who), None)

    def latest(
        self,
        corpus: str,
        project: str = "",
        query_id: str | None = None,
        annotator: str | None = None,
    ) -> list[Judgment]:
        """The last event per query, document and annotator, in order of arrival (not by ``time``).

        Without undone and withdrawn ones; skips, unsure verdicts and adjudications are included.
        """
        if query_id is None and annotator is None:
            return self.current(corpus, project).judgments()
        query = _current(corpus, project)
        if query_id is not None:
            query = query.where(CURRENT.c.query_id == query_id)
        if annotator is not None:
            query = query.where(CURRENT.c.annotator == annotator)
        return self._database.records(_judgment, query)

    def current(self, corpus: str, project: str = "") -> CurrentJudgments:
        """The current judgments, for reading: kept in memory, with all that is stored by now."""
        with self._database.read() as connection:
            with self._held_lock:
                place, held = self._held.pop((corpus, project), (None, CurrentJudgments()))
                if place != self._database.place:
                    held = CurrentJudgments()
                self._held[corpus, project] = (self._database.place, held)
                while len(self._held) > MOST_HELD:
                    self._held.pop(next(iter(self._held)))
            held.take(_changed(connection, (corpus, project), held.last))
        return held

    def history(self, corpus: str, project: str = "") -> list[Judgment]:
        """Every event there ever was, in order of arrival."""
        return self._database.records(_judgment, _history(corpus, project))

    def find(self, event: str) -> Judgment | None:
        """The event of this id, in whatever project; None when there is none."""
        return self._database.first(_judgment, select(*_COLUMNS).where(EVENTS.c.event == event))

    def known(self, events: Iterable[str]) -> set[str]:
        """Which of these events are stored."""
        with self._database.read() as connection:
            return _known(connection, events)


def _history(corpus: str, project: str) -> Select[Any]:
    place = (EVENTS.c.corpus == corpus, EVENTS.c.project == project)
    return select(*_COLUMNS).where(*place).order_by(EVENTS.c.id)


def _current(corpus: str, project: str) -> Select[Any]:
    place = (CURRENT.c.corpus == corpus, CURRENT.c.project == project)
    return (
        select(*_COLUMNS)
        .join(CURRENT, CURRENT.c.event_id == EVENTS.c.id)
        .where(*place, _STANDS)
        .order_by(EVENTS.c.id)
    )


# Statements of every key that an annotator presses are made once.
_CHANGED = (
    select(*columns_of(CURRENT, CurrentRow), *_COLUMNS)
    .outerjoin_from(CURRENT, EVENTS, CURRENT.c.event_id == EVENTS.c.id)
    .where(CURRENT.c.corpus == bindparam("corpus"), CURRENT.c.project == bindparam("project"))
    .where(CURRENT.c.changed > bindparam("after"))
    .order_by(CURRENT.c.changed)
)
_GIVEN: BindParameter[Sequence[str]] = bindparam("events", expanding=True)
_KNOWN = select(EVENTS.c.event).where(EVENTS.c.event.in_(_GIVEN))
_UNDONE = select(EVENTS.c.corpus, EVENTS.c.project, EVENTS.c.undoes).where(
    _IS_UNDO, EVENTS.c.undoes.in_(_GIVEN)
)
_LAST = select(func.max(EVENTS.c.id))


def _changed(
    connection: Connection, place: Place, after: int
) -> list[tuple[CurrentRow, Judgment | None]]:
    """Current rows of a project that changed after this event id, with their events."""
    width = len(fields(CurrentRow))
    values = {"corpus": place[0], "project": place[1], "after": after}
    return [
        (
            row := CurrentRow(*found[:width]),
            None if row.event_id is None else _judgment(*found[width:]),
        )
        for found in connection.execute(_CHANGED, values)
    ]


def _known(connection: Connection, events: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for piece in pieces(list(events)):
        found.update(connection.scalars(_KNOWN, {"events": piece}))
    return found


def _append(connection: Connection, given: Iterable[Judgment]) -> int:
    """Append new events and update the current judgments; returns how many were new."""
    first: dict[str, Judgment] = {}
    for row in given:
        if row.relevance is not None and row.relevance not in range(HIGHEST + 1):
            raise StorageError(
                f"The grade {row.relevance} for document '{row.doc_id}' cannot be stored: grades "
                f"are whole numbers from 0 to {HIGHEST}.",
                "Correct the grade. Nothing was changed.",
            )
        first.setdefault(row.event, row)
    known = _known(connection, first)
    last = connection.scalar(_LAST) or 0
    new = [row for event, row in first.items() if event not in known]
    if not new:
        return 0
    numbered = [*enumerate(new, start=last + 1)]
    put(connection, EVENTS, [{"id": number, **values_of(row)} for number, row in numbered])
    _update_current(connection, numbered)
    return len(new)


def _update_current(connection: Connection, new: Sequence[tuple[int, Judgment]]) -> None:
    """Update the current judgments after these events."""
    # By an undo that arrived before what it takes back, or with it.
    undone: set[tuple[str, ...]] = set()
    for piece in pieces([event.event for _, event in new]):
        undone.update(map(tuple, connection.execute(_UNDONE, {"events": piece})))
    rows = {}
    for number, event in new:
        place = (event.corpus, event.project)
        if event.verdict != "undo" and (*place, event.event) not in undone:
            key = (*place, *event.item, event.annotator, event.origin == "adjudication")
            rows[key] = CurrentRow(*key, number, number, event.verdict, event.origin)
    upsert(connection, CURRENT, list(rows.values()))
    for number, event in new:
        if event.verdict == "undo":
            _recount(connection, event, number)


def _recount(connection: Connection, undo: Judgment, changed: int) -> None:
    """Update the current judgment after an undo; ``changed`` is the undo's id."""
    of_project = (EVENTS.c.corpus == undo.corpus, EVENTS.c.project == undo.project)
    undone = select(*_COLUMNS).where(EVENTS.c.event == undo.undoes, *of_project, ~_IS_UNDO)
    found = connection.execute(undone).first()
    if found is None:
        return
    gone = _judgment(*found)
    decided = gone.origin == "adjudication"
    last = (
        select(EVENTS.c.id, EVENTS.c.verdict, EVENTS.c.origin)
        .where(*(EVENTS.c[name] == getattr(gone, name) for name in _KEY[:-1]))
        .where((EVENTS.c.origin == "adjudication") == decided, _COUNTS)
        .order_by(EVENTS.c.id.desc())
        .limit(1)
    )
    number, verdict, origin = connection.execute(last).first() or (None, "undo", gone.origin)
    key = (gone.corpus, gone.project, *gone.item, gone.annotator, decided)
    upsert(connection, CURRENT, [CurrentRow(*key, number, changed, verdict, origin)])


def fill_current(connection: Connection) -> None:
    """Find the current judgments of all events, where there are none yet."""
    key = (*(EVENTS.c[name] for name in _KEY[:-1]), EVENTS.c.origin == "adjudication")
    last = select(func.max(EVENTS.c.id)).where(_COUNTS).group_by(*key)
    columns = (*key, EVENTS.c.id, EVENTS.c.id.label("changed"), EVENTS.c.verdict, EVENTS.c.origin)
    names = [f.name for f in fields(CurrentRow)]
    connection.execute(
        CURRENT.insert().from_select(names, select(*columns).where(EVENTS.c.id.in_(last)))
    )


def _judgment(*values: Any) -> Judgment:
    """With repeated texts interned: a project may have a hundred thousand."""
    row = list(values)
    for column in _REPEATED:
        row[column] = sys.intern(row[column])
    return Judgment(*row)
