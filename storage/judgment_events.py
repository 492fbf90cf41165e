"""Judgments as events: a change is a new row, an undo is one too, and nothing is ever lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import fields
from typing import Any

import duckdb

from storage.access import LedgerTables
from storage.errors import StorageError
from storage.records import Judgment, new_event
from storage.rows import insert, names, records

HIGHEST = 100
"""The highest grade that any scale can have; what a project's scale is, the engine knows."""
_COLUMNS = names(Judgment)
_MARKS = [f.name for f in fields(Judgment)].index("marks")
_LATEST = f"""
    SELECT {_COLUMNS} FROM (
        FROM judgment_events
        WHERE corpus = $corpus AND project = $project AND verdict <> 'undo'
            AND ($query_id::VARCHAR IS NULL OR query_id = $query_id)
            AND ($annotator::VARCHAR IS NULL OR annotator = $annotator)
            AND event NOT IN (
                SELECT undoes FROM judgment_events
                WHERE corpus = $corpus AND project = $project AND verdict = 'undo')
        QUALIFY row_number() OVER (
            PARTITION BY query_id, doc_id, annotator, origin = 'adjudication'
            ORDER BY id DESC) = 1
    )
    WHERE verdict <> 'withdrawn'
    ORDER BY id"""  # noqa: S608
_TO_UNDO = f"""
    SELECT {_COLUMNS} FROM judgment_events
    WHERE corpus = $corpus AND project = $project AND annotator = $annotator
        AND verdict <> 'undo' AND origin <> 'adjudication'
        AND ($all OR (query_id, doc_id) IN (
            SELECT (unnest($queries::VARCHAR[]), unnest($docs::VARCHAR[]))))
        AND event NOT IN (SELECT undoes FROM judgment_events WHERE verdict = 'undo')
    ORDER BY id DESC LIMIT 1"""  # noqa: S608
_UNDONE = f"""
    SELECT {_COLUMNS} FROM judgment_events
    WHERE corpus = $corpus AND project = $project AND annotator = $annotator AND event IN (
        SELECT undoes FROM judgment_events WHERE event = $undo_event AND verdict = 'undo')"""  # noqa: S608
_HISTORY = f"""
    SELECT {_COLUMNS} FROM judgment_events
    WHERE corpus = $corpus AND project = $project ORDER BY id"""  # noqa: S608


Change = Callable[[Sequence[Judgment], Sequence[Judgment], Set[str]], Iterable[Judgment]]
"""Every event there ever was in order of arrival, what of it stands, and the events of other
projects among those that are looked up -> events to append."""


class Judging(LedgerTables):
    """The judgments of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def add(self, rows: Iterable[Judgment]) -> int:
        """Append events in the order given, all of them or, on an error, none.

        Returns:
            how many were new: an event that is stored already is not stored again.
        """
        rows = list(rows)
        if not rows:
            return 0
        with self._file.access() as connection:
            return _insert(connection, rows)

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
            everybody = {**place, "query_id": None, "annotator": None}
            latest = records(_judgment, connection.execute(_LATEST, everybody))
            known = _known(connection, events)
            here = {row.event for row in history}
            return _insert(connection, change(history, latest, known - here))

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
            _insert(connection, [undo])
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
        values = {
            "corpus": corpus, "project": project, "query_id": query_id, "annotator": annotator,
        }  # fmt: skip
        return self._file.records(_judgment, _LATEST, values)

    def history(self, corpus: str, project: str = "") -> list[Judgment]:
        """Every event there ever was, in order of arrival."""
        return self._file.records(_judgment, _HISTORY, {"corpus": corpus, "project": project})

    def find(self, event: str) -> Judgment | None:
        """The event of this id, in whatever project; None when there is none."""
        sql = f"SELECT {_COLUMNS} FROM judgment_events WHERE event = ?"  # noqa: S608
        with self._file.access() as connection:
            return next(iter(records(_judgment, connection.execute(sql, [event]))), None)

    def known(self, events: Iterable[str]) -> set[str]:
        """Which of these events are stored."""
        with self._file.access() as connection:
            return _known(connection, events)


def _known(connection: duckdb.DuckDBPyConnection, events: Iterable[str]) -> set[str]:
    sql = "SELECT event FROM judgment_events WHERE event IN (SELECT unnest(?::VARCHAR[]))"
    return {row[0] for row in connection.execute(sql, [list(events)]).fetchall()}


def _insert(connection: duckdb.DuckDBPyConnection, given: Iterable[Judgment]) -> int:
    """Append events that are not there yet; returns how many they were."""
    first: dict[str, Judgment] = {}
    for row in given:
        if row.relevance is not None and row.relevance not in range(HIGHEST + 1):
            raise StorageError(
                f"The grade {row.relevance} for document '{row.doc_id}' cannot be stored: grades "
                f"are whole numbers from 0 to {HIGHEST}.",
                "Correct the grade. Nothing was changed.",
            )
        first.setdefault(row.event, row)
    return insert(connection, "judgment_events", [*first.values()], "ON CONFLICT DO NOTHING")


def _judgment(*values: Any) -> Judgment:
    row = list(values)
    row[_MARKS] = tuple((start, end) for start, end in json.loads(row[_MARKS]))
    return Judgment(*row)
