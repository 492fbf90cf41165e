"""Judgments as append-only events; an undo is an event too.

Table ``current_judgments`` has the last event of each query, document and annotator that was not
undone, written in the appending transaction.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from operator import attrgetter
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import (
    CheckConstraint,
    ColumnElement,
    Connection,
    Index,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    select,
)

from storage.database import Database, LedgerTables
from storage.records import Judgment, new_event
from storage.tables import columns_of, first, pieces, put, table, upsert, values_of

MOST_HELD = 8
"""Projects whose current judgments are kept in memory; the one used longest ago gives way."""
Item = tuple[str, str]


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

    @property
    def item(self) -> Item:
        return (self.query_id, self.doc_id)


Changed = Sequence[tuple[CurrentRow, Judgment | None]]
"""Current rows with their judgments; None where all were withdrawn or undone."""
Change = Callable[[Changed], Iterable[Judgment]]
"""All current rows of a project -> events to append."""

EVENTS = table(
    "judgment_events",
    Judgment,
    CheckConstraint("relevance BETWEEN 0 AND 100"),
    CheckConstraint("(verdict = 'grade') = (relevance IS NOT NULL)"),
)
Index("judgment_events_by_event", EVENTS.c.event, unique=True)
_KEY = ("corpus", "project", "query_id", "doc_id", "annotator")
Index("judgment_events_by_item", *(EVENTS.c[name] for name in _KEY))
# In words, not as a parameter, so that a plan with the index of undos can be made.
_UNDO: ColumnElement[str] = literal_column("'undo'")
_IS_UNDO = EVENTS.c.verdict == _UNDO
Index("judgment_events_undone", EVENTS.c.undoes, sqlite_where=_IS_UNDO)
_UNDOS = EVENTS.alias("undos")
_UNDONE = exists().where(
    _UNDOS.c.verdict == _UNDO,
    _UNDOS.c.undoes == EVENTS.c.event,
    _UNDOS.c.corpus == EVENTS.c.corpus,
    _UNDOS.c.project == EVENTS.c.project,
)
_COUNTS = and_(~_IS_UNDO, ~_UNDONE)  # an event that was not undone
_DECIDED = EVENTS.c.origin == "adjudication"
CURRENT = table("current_judgments", CurrentRow, key=(*_KEY, "decided"))
Index("current_judgments_changed", CURRENT.c.corpus, CURRENT.c.project, CURRENT.c.changed)

# Statements of every key that an annotator presses are made once.
_COLUMNS = columns_of(EVENTS, Judgment)
_ALL = select(*_COLUMNS)
_EVENT = _ALL.where(EVENTS.c.event == bindparam("wanted"))
_LAST = select(func.max(EVENTS.c.id))
_PLACE = (CURRENT.c.corpus == bindparam("corpus"), CURRENT.c.project == bindparam("project"))
_CURRENT = _ALL.join(CURRENT, CURRENT.c.event_id == EVENTS.c.id).where(*_PLACE)
_CHANGED = (
    select(*columns_of(CURRENT, CurrentRow), *_COLUMNS)
    .outerjoin_from(CURRENT, EVENTS, CURRENT.c.event_id == EVENTS.c.id)
    .where(*_PLACE, CURRENT.c.changed > bindparam("after"))
    .order_by(CURRENT.c.changed)
)
_TAKEN_BACK = ("withdrawn", "undo")
_NAMES = [f.name for f in fields(Judgment)]
_REPEATED = tuple(_NAMES.index(name) for name in (*_KEY, "verdict", "origin", "instruction"))
"""Columns with few values in many rows."""


class CurrentJudgments:
    """The current judgments of a project, in memory; thread-safe. Begins with ``judgments``."""

    def __init__(self, judgments: Iterable[Judgment] = ()) -> None:
        self.last = 0  # id of the last event that changed one; 0 before the first
        # by item, how many people graded it or were unsure
        self.annotated: Counter[Item] = Counter()
        self._lock = threading.Lock()
        # (annotator, whether they are adjudications) -> judgments in order of arrival
        self._said: dict[tuple[str, bool], dict[Item, Judgment]] = {}
        # pool -> how many of its items have n annotations
        self._spread: WeakKeyDictionary[Collection[Item], Counter[int]] = WeakKeyDictionary()
        for judgment in judgments:
            who = (judgment.annotator, judgment.origin == "adjudication")
            self._put(who, judgment.item, judgment)

    def take(self, rows: Changed) -> None:
        """Take in rows that changed, in order of change."""
        with self._lock:
            for row, judgment in rows:
                if row.changed > self.last:  # another thread may have been first
                    self._put((row.annotator, row.decided), row.item, judgment)
                    self.last = row.changed

    def _put(self, who: tuple[str, bool], item: Item, judgment: Judgment | None) -> None:
        own, before = self._said.setdefault(who, {}), self.annotated[item]
        gone = own.pop(item, None)
        self.annotated[item] += bool(judgment and judgment.is_annotation)
        self.annotated[item] -= bool(gone and gone.is_annotation)
        for pool, counts in self._spread.items():
            if item in pool:
                counts[before] -= 1
                counts[self.annotated[item]] += 1
        newest = next(reversed(own.values()), judgment)
        if judgment is not None and newest is not None:
            own[item] = judgment
            if judgment.id < newest.id:  # an undo brought it back
                self._said[who] = {j.item: j for j in sorted(own.values(), key=attrgetter("id"))}

    def judgments(self) -> list[Judgment]:
        """All of them, in order of arrival, adjudications included."""
        with self._lock:
            return sorted(
                chain.from_iterable(own.values() for own in self._said.values()),
                key=attrgetter("id"),
            )

    def of(
        self, annotator: str, pool: Collection[Item]
    ) -> tuple[dict[Item, Judgment], Counter[int]]:
        """The annotator's judgments in order of arrival, without adjudications; and how many items
        of the pool, which must not change, have n annotations."""
        with self._lock:
            if pool not in self._spread:
                self._spread[pool] = Counter(self.annotated.get(item, 0) for item in pool)
            return dict(self._said.get((annotator, False), {})), self._spread[pool].copy()


class Judging(LedgerTables):
    """The judgments of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._held: dict[Any, CurrentJudgments] = {}
        self._held_lock = threading.Lock()

    def add(self, rows: Iterable[Judgment]) -> int:
        """Append events in order, all or none, but stored ones; returns how many were new."""
        rows = list(rows)
        if not rows:
            return 0
        with self._database.write() as connection:
            return _append(connection, rows)

    def change(self, corpus: str, project: str, change: Change) -> int:
        """:meth:`add` what ``change`` makes of a project's current judgments, in an exclusive
        transaction, which it must not use the ledger in."""
        with self._database.write() as connection:
            return _append(connection, change(_changed(connection, corpus, project)))

    def stored(self, corpus: str, project: str) -> Changed:
        """A project's current judgments, as :meth:`change` gives them, for reading."""
        with self._database.read() as connection:
            return _changed(connection, corpus, project)

    def undo(
        self,
        corpus: str,
        project: str,
        annotator: str,
        *,
        only: Collection[Item] | None = None,
        undo_event: str = "",
    ) -> Judgment | None:
        """Take back an annotator's last judgment (of ``only`` these items), adjudications aside;
        the one before counts again. Returns what was taken back, now or earlier by the same
        ``undo_event`` ("" for a new one); None for nothing."""
        own = _CURRENT.where(CURRENT.c.annotator == annotator, ~CURRENT.c.decided)
        own = own.order_by(EVENTS.c.id.desc())
        place = {"corpus": corpus, "project": project}
        with self._database.write() as connection:
            done = first(connection, _judgment, _EVENT, wanted=undo_event) if undo_event else None
            if done is not None:
                is_own = (done.corpus, done.project, done.annotator) == (corpus, project, annotator)
                undone = first(connection, _judgment, _EVENT, wanted=done.undoes)
                return undone if is_own else None
            found = (_judgment(*row) for row in connection.execute(own, place))
            undone = next((j for j in found if only is None or j.item in only), None)
            if undone is None:
                return None
            undo = Judgment(
                *(*undone.item, annotator),
                verdict="undo",
                event=undo_event or new_event(),
                undoes=undone.event,
                corpus=corpus,
                project=project,
            )
            _append(connection, [undo])
            key = (corpus, project, *undone.item, annotator)
            same = (EVENTS.c[name] == value for name, value in zip(_KEY, key, strict=True))
            last = select(EVENTS.c.id, EVENTS.c.verdict, EVENTS.c.origin)
            last = last.where(*same, ~_DECIDED, _COUNTS).order_by(EVENTS.c.id.desc()).limit(1)
            before: Any = connection.execute(last).first() or (None, "undo", undone.origin)
            event_id, verdict, origin = before
            changed = connection.scalar(_LAST) or 0
            row = CurrentRow(*key, False, event_id, changed, verdict, origin)
            upsert(connection, CURRENT, [row])
        return undone

    def latest(
        self,
        corpus: str,
        project: str = "",
        query_id: str | None = None,
        annotator: str | None = None,
    ) -> list[Judgment]:
        """The last event per query, document and annotator, in order of arrival (not by ``time``);
        skips, unsure verdicts and adjudications too, undone and withdrawn ones not."""
        if query_id is None and annotator is None:
            return self.current(corpus, project).judgments()
        query = _CURRENT.where(CURRENT.c.verdict.not_in(_TAKEN_BACK)).order_by(EVENTS.c.id)
        if query_id is not None:
            query = query.where(CURRENT.c.query_id == query_id)
        if annotator is not None:
            query = query.where(CURRENT.c.annotator == annotator)
        return self._database.records(_judgment, query, corpus=corpus, project=project)

    def current(self, corpus: str, project: str = "") -> CurrentJudgments:
        """The current judgments, for reading: kept in memory, with all that is stored by now."""
        with self._database.read() as connection:
            key = (self._database.place, corpus, project)
            with self._held_lock:
                held = self._held.pop(key, CurrentJudgments())
                self._held[key] = held
                if len(self._held) > MOST_HELD:
                    del self._held[next(iter(self._held))]
            held.take(_changed(connection, corpus, project, held.last))
        return held

    def history(self, corpus: str, project: str = "") -> list[Judgment]:
        """Every event there ever was, in order of arrival."""
        of = _ALL.where(EVENTS.c.corpus == corpus, EVENTS.c.project == project)
        return self._database.records(_judgment, of.order_by(EVENTS.c.id))

    def find(self, event: str) -> Judgment | None:
        """The event of this id, in whatever project; None when there is none."""
        return self._database.first(_judgment, _EVENT, wanted=event)

    def known(self, events: Iterable[str]) -> set[str]:
        """Which of these events are stored."""
        with self._database.read() as connection:
            queries = (
                select(EVENTS.c.event).where(EVENTS.c.event.in_(piece))
                for piece in pieces(list(events))
            )
            return {event for query in queries for event in connection.scalars(query)}


def _changed(connection: Connection, corpus: str, project: str, after: int = 0) -> Changed:
    """Current rows that changed after this event id, in order of change."""
    width = len(fields(CurrentRow))
    rows = connection.execute(_CHANGED, {"corpus": corpus, "project": project, "after": after})
    changed = ((CurrentRow(*found[:width]), found[width:]) for found in rows)
    return [
        (row, None if row.verdict in _TAKEN_BACK else _judgment(*event)) for row, event in changed
    ]


def _append(connection: Connection, given: Iterable[Judgment]) -> int:
    """Append new events and update the current judgments; returns how many were new."""
    rows: dict[str, Judgment] = {}
    for row in given:
        rows.setdefault(row.event, row)
    if not rows:
        return 0
    last = connection.scalar(_LAST) or 0
    numbered = [*enumerate(rows.values(), start=last + 1)]
    values = [{"id": number, **values_of(row)} for number, row in numbered]
    count = put(connection, EVENTS, values, "skip")
    if count < len(values):
        new = set(connection.scalars(select(EVENTS.c.id).where(EVENTS.c.id > last)))
        numbered = [(number, row) for number, row in numbered if number in new]
    current = {}
    for number, row in numbered:
        if row.verdict != "undo":
            key = (row.corpus, row.project, *row.item, row.annotator, row.origin == "adjudication")
            current[key] = CurrentRow(*key, number, number, row.verdict, row.origin)
    upsert(connection, CURRENT, list(current.values()))
    return count


def fill_current(connection: Connection) -> None:
    """Find the current judgments of all events, where there are none yet."""
    key = (*(EVENTS.c[name] for name in _KEY), _DECIDED)
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
