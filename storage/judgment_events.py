"""Judgments as events: a change is a new row, an undo is one too, and nothing is ever lost."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import fields, replace
from datetime import UTC
from typing import Any, NamedTuple

from storage.database import Connection, Database, LedgerTables, Stamp
from storage.errors import StorageError
from storage.records import Judgment, new_event
from storage.rows import inserted, names, records
from storage.standing import Event, Standing

HIGHEST = 100
"""The highest grade that any scale can have; what a project's scale is, the engine knows."""
_COLUMNS = names(Judgment)
_FIELDS = [f.name for f in fields(Judgment)]
_MARKS, _TIME = _FIELDS.index("marks"), _FIELDS.index("time")
_REPEATED = tuple(
    _FIELDS.index(name)
    for name in (
        *("query_id", "doc_id", "annotator", "verdict", "origin", "instruction"),
        *("corpus", "project"),
    )
)
"""Columns with few values in many rows."""
_TO_UNDO = f"""
    SELECT {_COLUMNS} FROM judgment_events
    WHERE corpus = $corpus AND project = $project AND annotator = $annotator
        AND verdict <> 'undo' AND origin <> 'adjudication'
        AND ($all OR (query_id, doc_id) IN (
            SELECT unnest($queries::VARCHAR[]), unnest($docs::VARCHAR[])))
        AND event NOT IN (SELECT undoes FROM judgment_events WHERE verdict = 'undo')
    ORDER BY id DESC LIMIT 1"""  # noqa: S608
_UNDONE = f"""
    SELECT {_COLUMNS} FROM judgment_events
    WHERE corpus = $corpus AND project = $project AND annotator = $annotator AND event IN (
        SELECT undoes FROM judgment_events WHERE event = $undo_event AND verdict = 'undo')"""  # noqa: S608
_HISTORY = f"""
    SELECT {_COLUMNS} FROM judgment_events
    WHERE corpus = $corpus AND project = $project ORDER BY id"""  # noqa: S608
_SINCE = f"""
    SELECT id, {_COLUMNS} FROM judgment_events
    WHERE id >= $id AND corpus = $corpus AND project = $project ORDER BY id"""  # noqa: S608
_TABLE = "judgment_events"
MOST_HELD = 8
"""Projects whose judgments are kept in memory; the one used longest ago gives way."""


Change = Callable[[Sequence[Judgment], Sequence[Judgment], Set[str]], Iterable[Judgment]]
"""Every event there ever was in order of arrival, what of it stands, and the events of other
projects among those that are looked up -> events to append."""

Place = tuple[str, str]
"""Corpus and project."""


class _After(NamedTuple):
    """Events of a project that what is held of it lacks, and the stamp up to which they are all."""

    place: Place
    standing: Standing
    events: list[Event]
    stamp: Stamp


class Judging(LedgerTables):
    """The judgments of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, file: Database) -> None:
        super().__init__(file)
        self._held: dict[Place, tuple[Standing, Stamp]] = {}
        """What stands in a project, with the stamp of the table up to which it does."""
        self._held_lock = threading.Lock()

    def add(self, rows: Iterable[Judgment]) -> int:
        """Append events in the order given, all of them or, on an error, none.

        Returns:
            how many were new: an event that is stored already is not stored again.
        """
        rows = list(rows)
        if not rows:
            return 0
        with self._file.access() as connection:
            return self._append(connection, rows)

    def change(
        self,
        corpus: str,
        project: str,
        events: Collection[str],
        change: Change,
    ) -> int:
        """Append what follows from what a project holds, alone among all threads and processes.

        Args:
            events: ids that are looked up in other projects.
            change: must not use the ledger; what it raises leaves everything as it was.

        Returns:
            how many were new, as :meth:`add`.
        """
        place = {"corpus": corpus, "project": project}
        with self._file.access() as connection:
            history = records(_judgment, connection.execute(_HISTORY, place))
            standing = Standing()
            standing.take([*enumerate(history, start=1)])
            known = _known(connection, events)
            here = {row.event for row in history}
            new = change(history, standing.judgments(), known - here)
            return self._append(connection, new)

    def undo(
        self,
        corpus: str,
        project: str,
        annotator: str,
        *,
        only: Collection[tuple[str, str]] | None = None,
        undo_event: str = "",
    ) -> Judgment | None:
        """Take back an annotator's last judgment that still stands; what they had said before
        counts again. Adjudications are not taken back by this.

        Args:
            only: the last one of these (query_id, doc_id); None for the last one of all.
            undo_event: the undo's own id, so that one that is sent twice takes back one
                judgment; "" for a new one.

        Returns:
            the judgment that was taken back, now or by this undo before; None when there is none.
        """
        asked = {"corpus": corpus, "project": project, "annotator": annotator}
        chosen = {"all": only is None, "queries": [], "docs": []}
        if only:
            chosen["queries"], chosen["docs"] = map(list, zip(*only, strict=True))
        with self._file.access() as connection:
            known = connection.execute(
                "SELECT count(*) FROM judgment_events WHERE event = ?", [undo_event]
            ).fetchone()
            if known and known[0]:
                cursor = connection.execute(_UNDONE, {**asked, "undo_event": undo_event})
                return next(iter(records(_judgment, cursor)), None)
            cursor = connection.execute(_TO_UNDO, {**asked, **chosen})
            last = next(iter(records(_judgment, cursor)), None)
            if last is None:
                return None
            undo = Judgment(
                *(last.query_id, last.doc_id, annotator),
                verdict="undo",
                event=undo_event or new_event(),
                undoes=last.event,
                corpus=corpus,
                project=project,
            )
            self._append(connection, [undo])
        return last

    def latest(
        self,
        corpus: str,
        project: str = "",
        query_id: str | None = None,
        annotator: str | None = None,
    ) -> list[Judgment]:
        """What stands: the last event per query, document and annotator, in order of arrival.

        "Last" is the last to arrive, whatever its ``time`` says. What was taken back is left
        out; skips and unsure verdicts are there. Adjudications stand beside own grades.
        """
        standing = self.standing(corpus, project).judgments()
        return [
            judgment
            for judgment in standing
            if query_id in (None, judgment.query_id) and annotator in (None, judgment.annotator)
        ]

    def standing(self, corpus: str, project: str = "") -> Standing:
        """What stands, for reading: kept in memory, with all that is stored by now."""
        place = (corpus, project)
        held = self._held.get(place)
        if held is not None and held[1] == self._file.stamp([_TABLE]):
            return held[0]
        with self._file.access(writes=False) as connection:
            after = self._after(connection, place)
            self._take_in([after])  # before another thread reads all that, too
        return after.standing

    def _append(self, connection: Connection, rows: Iterable[Judgment]) -> int:
        """Append events, also to what is held of their projects, within an access; returns how
        many were new."""
        new = _insert(connection, rows)
        if not new:
            return 0
        before = self._file.state.stamp([_TABLE])
        stamp, after = self._file.state.stamp([_TABLE], new[-1][0]), []
        for place in {(said.corpus, said.project) for _, said in new}:
            with self._held_lock:
                held = self._held.get(place)
            if held is not None and held[1] == before:
                events = [event for event in new if (event[1].corpus, event[1].project) == place]
                after.append(_After(place, held[0], events, stamp))
        self._file.wrote(_TABLE, new[-1][0], lambda: self._take_in(after))
        return len(new)

    def _after(self, connection: Connection, place: Place) -> _After:
        """What is stored behind what is held of a project, within an access."""
        with self._held_lock:
            held = self._held.get(place)
        if held is not None and held[1] == self._file.state.stamp([_TABLE]):
            return _After(place, held[0], [], held[1])
        standing = Standing() if held is None else held[0]
        last = standing.last
        events = _since(connection, place, last[0])
        if last[0] and (not events or (events[0][0], events[0][1].event) != last):
            # Another ledger was put in the place of this one.
            standing, events = Standing(), _since(connection, place, 0)
        state = self._file.state
        newest = max(state.stamps[_TABLE], events[-1][0] if events else 0)
        return _After(place, standing, events, state.stamp([_TABLE], newest))

    def _take_in(self, after: Iterable[_After]) -> None:
        for place, standing, events, stamp in after:
            standing.take(events)
            with self._held_lock:
                self._held.pop(place, None)
                self._held[place] = (standing, stamp)
                while len(self._held) > MOST_HELD:
                    self._held.pop(next(iter(self._held)))

    def history(self, corpus: str, project: str = "") -> list[Judgment]:
        """Every event there ever was, in order of arrival."""
        values = {"corpus": corpus, "project": project}
        return self._file.records(_judgment, _HISTORY, values, [_TABLE])

    def find(self, event: str) -> Judgment | None:
        """The event of this id, in whatever project; None when there is none."""
        sql = f"SELECT {_COLUMNS} FROM judgment_events WHERE event = ?"  # noqa: S608
        with self._file.access(writes=False) as connection:
            return next(iter(records(_judgment, connection.execute(sql, [event]))), None)

    def known(self, events: Iterable[str]) -> set[str]:
        """Which of these events are stored."""
        with self._file.access(writes=False) as connection:
            return _known(connection, events)


def _known(connection: Connection, events: Iterable[str]) -> set[str]:
    values: list[Any] = list(events)
    one = len(values) == 1  # is found through the index
    condition = "= ?" if one else "IN (SELECT unnest(?::VARCHAR[]))"
    sql = f"SELECT event FROM judgment_events WHERE event {condition}"  # noqa: S608
    return {row[0] for row in connection.execute(sql, values if one else [values]).fetchall()}


def _insert(connection: Connection, given: Iterable[Judgment]) -> list[Event]:
    """Append events that are not there yet; returns these, as they are stored."""
    first: dict[str, Judgment] = {}
    for row in given:
        if row.relevance is not None and row.relevance not in range(HIGHEST + 1):
            raise StorageError(
                f"The grade {row.relevance} for document '{row.doc_id}' cannot be stored: grades "
                f"are whole numbers from 0 to {HIGHEST}.",
                "Correct the grade. Nothing was changed.",
            )
        first.setdefault(row.event, row)
    # To look for them takes less than half of what ON CONFLICT does, whose reading of the statement
    # grows with the columns.
    known = _known(connection, first)
    unknown = [row for event, row in first.items() if event not in known]
    new = sorted(inserted(connection, _TABLE, unknown, "RETURNING id, event"))
    return [(number, _as_stored(first[event])) for number, event in new]


def _as_stored(given: Judgment) -> Judgment:
    marks = tuple((start, end) for start, end in given.marks)
    return replace(given, marks=marks, time=given.time.astimezone(UTC))


def _since(connection: Connection, place: Place, number: int) -> list[Event]:
    """A project's events from this id on, in order of arrival."""
    values = {"id": number, "corpus": place[0], "project": place[1]}
    return [_event(*row) for row in connection.execute(_SINCE, values).fetchall()]


def _event(number: int, *columns: Any) -> Event:
    """As :func:`_judgment`, in less time and memory: a project may have a hundred thousand."""
    row = list(columns)
    for column in _REPEATED:
        row[column] = sys.intern(row[column])
    row[_TIME] = row[_TIME].replace(tzinfo=UTC)
    row[_MARKS] = () if row[_MARKS] == "[]" else _spans(row[_MARKS])
    return number, Judgment(*row)


def _spans(marks: str) -> tuple[tuple[int, int], ...]:
    return tuple((start, end) for start, end in json.loads(marks))


def _judgment(*values: Any) -> Judgment:
    row = list(values)
    row[_MARKS] = _spans(row[_MARKS])
    return Judgment(*row)
