"""Explorations in the ledger: trails with searches and kept documents, saved searches, questions
with answers.

A change is a new row, the last one counts; removed items can come back as they were.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Index, Select, func, or_, select, true

from storage.database import LedgerTables
from storage.records import Packed
from storage.tables import columns_of, first, insert, last_of, records, table


@dataclass(frozen=True, slots=True)
class TrailStepRow:
    """One step of an exploration: the query as JSON text, and when it was taken."""

    trail_id: str
    position: int
    corpus: str
    query: str
    time: datetime


@dataclass(frozen=True, slots=True)
class KeptRow:
    """The last state of a document of a trail."""

    trail_id: str
    corpus: str
    doc_id: str
    kept: bool  # False once removed
    note: str
    place: float  # in the list, the smallest first
    time: datetime


@dataclass(frozen=True, slots=True)
class TrailNameRow:
    """What a trail is called, and whose it is ("" where nobody logs in)."""

    trail_id: str
    name: str
    owner: str
    deleted: bool
    time: datetime


@dataclass(frozen=True, slots=True)
class TrailRow:
    """A trail in the list of trails."""

    trail_id: str
    name: str
    queries: list[str]  # its searches in order, as JSON texts
    kept: int  # number of documents
    time: datetime  # of the latest search


@dataclass(frozen=True, slots=True)
class SavedSearchRow:
    """A search under a name. ``link`` is the query part of its address, owned by the pages."""

    owner: str
    name: str
    link: str
    saved: bool
    time: datetime


STEPS = table("trail_steps", TrailStepRow, key=("trail_id", "position"))
KEPT = table("kept_events", KeptRow)
NAMES = table("trail_names", TrailNameRow)
SAVED = table("saved_searches", SavedSearchRow)
Index("kept_events_by_trail", KEPT.c.trail_id)
Index("trail_names_by_trail", NAMES.c.trail_id)
Index("saved_searches_by_owner", SAVED.c.owner)


class Trails(LedgerTables):
    """The parts of the ledger that hold explorations; methods raise as those of the ledger."""

    # Searches

    def add_step(self, trail_id: str, corpus: str, query_json: str) -> TrailStepRow:
        """Append a step to a trail, unless equal to the last one, and return it; positions count
        from 1."""
        query = _steps(trail_id).order_by(STEPS.c.position.desc()).limit(1)
        with self._database.write() as connection:
            last = first(connection, TrailStepRow, query)
            if last is not None and (last.corpus, last.query) == (corpus, query_json):
                return last
            position = 1 if last is None else last.position + 1
            step = TrailStepRow(trail_id, position, corpus, query_json, datetime.now(UTC))
            insert(connection, STEPS, [step])
            return step

    def steps(self, trail_id: str) -> list[TrailStepRow]:
        """The steps of a trail by position; empty when there is no such trail."""
        return self._database.records(TrailStepRow, _steps(trail_id).order_by(STEPS.c.position))

    # Kept documents

    def kept(self, trail_id: str) -> list[KeptRow]:
        """The documents of a trail that are kept now, in the order of its list."""
        return [row for row in self._database.records(KeptRow, _kept(trail_id)) if row.kept]

    def keep(self, trail_id: str, corpus: str, doc_id: str, *, kept: bool = True) -> None:
        """Keep a document at the end of the list, or remove it; kept again, it is back at its place
        with its note."""
        with self._database.write() as connection:
            rows = records(connection, KeptRow, _kept(trail_id))
            row = _find(rows, (corpus, doc_id))
            if row is None and kept:
                place = max((one.place for one in rows), default=0.0) + 1
                row = KeptRow(trail_id, corpus, doc_id, True, "", place, datetime.now(UTC))
                insert(connection, KEPT, [row])
            elif row is not None and row.kept != kept:
                _put(connection, replace(row, kept=kept))

    def annotate(self, trail_id: str, corpus: str, doc_id: str, note: str) -> None:
        """Set the note on a document of the list; nothing happens to one that is not there."""
        with self._database.write() as connection:
            row = _find(records(connection, KeptRow, _kept(trail_id)), (corpus, doc_id))
            if row is not None and row.note != note:
                _put(connection, replace(row, note=note))

    def swap(self, trail_id: str, one: tuple[str, str], other: tuple[str, str]) -> None:
        """Let two documents, each (corpus, doc_id), change places."""
        with self._database.write() as connection:
            rows = records(connection, KeptRow, _kept(trail_id))
            left, right = _find(rows, one), _find(rows, other)
            if left is not None and right is not None:
                _put(connection, replace(left, place=right.place))
                _put(connection, replace(right, place=left.place))

    # Trails

    def name(self, trail_id: str) -> TrailNameRow | None:
        """Name and owner of a trail; None when it has neither yet."""
        query = select(*columns_of(NAMES, TrailNameRow)).where(NAMES.c.trail_id == trail_id)
        return self._database.first(TrailNameRow, query.order_by(NAMES.c.id.desc()).limit(1))

    def put_name(self, row: TrailNameRow) -> None:
        """Store name, owner and whether the trail is deleted."""
        self._insert(NAMES, [row])

    def all(self, owner: str | None = None, most: int = 50) -> list[TrailRow]:
        """Trails, the latest first, without single searches that keep nothing; ``owner`` None is
        everybody."""
        walked = (
            select(
                STEPS.c.trail_id, func.count().label("steps"), func.max(STEPS.c.time).label("time")
            )
            .group_by(STEPS.c.trail_id)
            .subquery()
        )
        last = last_of(KEPT, "trail_id", "corpus", "doc_id")
        held = (
            select(KEPT.c.trail_id, func.count().label("kept"))
            .where(last, KEPT.c.kept)
            .group_by(KEPT.c.trail_id)
            .subquery()
        )
        called = select(NAMES).where(last_of(NAMES, "trail_id")).subquery()
        name, kept = func.coalesce(called.c.name, ""), func.coalesce(held.c.kept, 0)
        query = (
            select(walked.c.trail_id, name, kept, walked.c.time)
            .outerjoin_from(walked, called, called.c.trail_id == walked.c.trail_id)
            .outerjoin(held, held.c.trail_id == walked.c.trail_id)
            .where(called.c.deleted.is_not(true()))
            .where(or_(walked.c.steps > 1, kept > 0, name != ""))
            .order_by(walked.c.time.desc())
            .limit(most)
        )
        if owner is not None:
            query = query.where(func.coalesce(called.c.owner, "") == owner)
        queries: dict[str, list[str]] = defaultdict(list)
        with self._database.read() as connection:
            found = connection.execute(query).all()
            of_found = select(STEPS.c.trail_id, STEPS.c.query).where(
                STEPS.c.trail_id.in_([row[0] for row in found])
            )
            for trail_id, text in connection.execute(of_found.order_by(STEPS.c.position)):
                queries[trail_id].append(text)
        return [TrailRow(id_, name, queries[id_], kept, time) for id_, name, kept, time in found]

    # Saved searches

    def saved(self, owner: str) -> list[SavedSearchRow]:
        """The saved searches of an owner, the latest first."""
        last = last_of(SAVED, "link", where=[SAVED.c.owner == owner])
        query = select(*columns_of(SAVED, SavedSearchRow)).where(last, SAVED.c.saved)
        return self._database.records(SavedSearchRow, query.order_by(SAVED.c.id.desc()))

    def save_search(self, owner: str, name: str, link: str, *, saved: bool = True) -> None:
        """Save a search, rename it by saving its link again, or remove it."""
        row = SavedSearchRow(owner, name, link, saved, datetime.now(UTC))
        self._insert(SAVED, [row])


def _steps(trail_id: str) -> Select[Any]:
    return select(*columns_of(STEPS, TrailStepRow)).where(STEPS.c.trail_id == trail_id)


def _kept(trail_id: str) -> Select[Any]:
    """Removed ones too."""
    last = last_of(KEPT, "corpus", "doc_id", where=[KEPT.c.trail_id == trail_id])
    query = select(*columns_of(KEPT, KeptRow)).where(last)
    return query.order_by(KEPT.c.place, KEPT.c.id)


def _find(rows: list[KeptRow], document: tuple[str, str]) -> KeptRow | None:
    return next((row for row in rows if (row.corpus, row.doc_id) == document), None)


def _put(connection: Connection, row: KeptRow) -> None:
    insert(connection, KEPT, [replace(row, time=datetime.now(UTC))])


@dataclass(frozen=True, slots=True)
class AskedRow:
    """A question and its answer."""

    asked_id: str  # given by the client
    owner: str  # who asked; "" without login
    corpus: str
    question: str
    state: str  # how the answer ended
    answer: Packed  # JSON owned by the engine
    time: datetime


ASKED = table("asked", AskedRow, key=("asked_id",))
Index("asked_by_owner", ASKED.c.owner, ASKED.c.time)


class Asked(LedgerTables):
    """The table of questions of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def put(self, row: AskedRow) -> None:
        """Keep a question; one that is there already stays as it is."""
        self._insert(ASKED, [row], skip_known=True)

    def find(self, asked_id: str) -> AskedRow | None:
        """The question of this id; None when there is none."""
        query = select(*columns_of(ASKED, AskedRow)).where(ASKED.c.asked_id == asked_id)
        return self._database.first(AskedRow, query)

    def latest(self, owner: str, most: int) -> list[AskedRow]:
        """The last questions of somebody, the newest first, without their answers."""
        query = select(*columns_of(ASKED, AskedRow, without="answer"))
        query = query.where(ASKED.c.owner == owner).order_by(ASKED.c.time.desc()).limit(most)
        return self._database.records(AskedRow, query)

    def remove(self, asked_id: str) -> None:
        """Forget a question; one that is not there is none."""
        with self._database.write() as connection:
            connection.execute(ASKED.delete().where(ASKED.c.asked_id == asked_id))
