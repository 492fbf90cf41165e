"""Explorations in the ledger: the searches of a trail, what it keeps, and searches that were saved.

A change is a new row, the last one counts: what was removed can come back as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from storage.database import Connection, LedgerTables
from storage.rows import insert, last, names, records


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
    """What was last said of a document of a trail.

    Attributes:
        kept: False once it was removed.
        place: where it stands in the list, the smallest first.
    """

    trail_id: str
    corpus: str
    doc_id: str
    kept: bool
    note: str
    place: float
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
    """A trail in the list of trails.

    Attributes:
        queries: its searches in order, as JSON texts.
        kept: number of documents.
        time: of the latest search.
    """

    trail_id: str
    name: str
    queries: list[str]
    kept: int
    time: datetime


@dataclass(frozen=True, slots=True)
class SavedSearchRow:
    """A search under a name. ``link`` is the query part of its address, owned by the pages."""

    owner: str
    name: str
    link: str
    saved: bool
    time: datetime


_STEPS = f"""
    SELECT {names(TrailStepRow)} FROM trail_steps
    WHERE trail_id = ? ORDER BY position DESC LIMIT ?"""  # noqa: S608
"""The last step comes first."""
_KEPT = f"""
    SELECT {names(KeptRow)}
    FROM {last("kept_events", "corpus, doc_id", "trail_id = ?")} ORDER BY place, id"""  # noqa: S608
"""Removed ones too."""
_NAME = f"""
    SELECT {names(TrailNameRow)}
    FROM {last("trail_names", "trail_id", "trail_id = ?")}"""  # noqa: S608
_TRAILS = f"""
    WITH walked AS (
        SELECT trail_id, array_agg(query ORDER BY position) AS queries, count(*) AS steps,
            max(time) AS time
        FROM trail_steps GROUP BY trail_id
    ), called AS (
        SELECT * FROM {last("trail_names", "trail_id")}
    ), held AS (
        SELECT trail_id, count(*) AS kept
        FROM {last("kept_events", "trail_id, corpus, doc_id")}
        WHERE kept GROUP BY trail_id
    )
    SELECT trail_id, coalesce(name, ''), queries, coalesce(held.kept, 0), walked.time
    FROM walked LEFT JOIN called USING (trail_id) LEFT JOIN held USING (trail_id)
    WHERE NOT coalesce(deleted, false) AND ($everybody OR coalesce(owner, '') = $owner)
        AND (steps > 1 OR held.kept > 0 OR name != '')
    ORDER BY walked.time DESC LIMIT $most"""  # noqa: S608
_SAVED = f"""
    SELECT {names(SavedSearchRow)} FROM {last("saved_searches", "link", "owner = ?")}
    WHERE saved ORDER BY id DESC"""  # noqa: S608


class Trails(LedgerTables):
    """The parts of the ledger that hold explorations; methods raise as those of the ledger."""

    # Searches

    def add_step(self, trail_id: str, corpus: str, query_json: str) -> TrailStepRow:
        """Append a step to a trail and return it; positions count from 1.

        A step equal to the trail's last one is not added again: that last one is returned.
        """
        with self._file.access() as connection:
            last = next(
                iter(records(TrailStepRow, connection.execute(_STEPS, [trail_id, 1]))), None
            )
            if last is not None and (last.corpus, last.query) == (corpus, query_json):
                return last
            position = 1 if last is None else last.position + 1
            step = TrailStepRow(trail_id, position, corpus, query_json, datetime.now(UTC))
            insert(connection, "trail_steps", [step])
            return step

    def steps(self, trail_id: str) -> list[TrailStepRow]:
        """The steps of a trail by position; empty when there is no such trail."""
        return self._file.records(TrailStepRow, _STEPS, [trail_id, None])[::-1]

    # Kept documents

    def kept(self, trail_id: str) -> list[KeptRow]:
        """The documents of a trail that are kept now, in the order of its list."""
        return [row for row in self._file.records(KeptRow, _KEPT, [trail_id]) if row.kept]

    def keep(self, trail_id: str, corpus: str, doc_id: str, *, kept: bool = True) -> None:
        """Keep a document, at the end of the list, or remove it.

        One that was removed comes back where it was, with its note.
        """
        with self._file.access() as connection:
            rows = records(KeptRow, connection.execute(_KEPT, [trail_id]))
            row = _find(rows, (corpus, doc_id))
            if row is None and kept:
                place = max((one.place for one in rows), default=0.0) + 1
                row = KeptRow(trail_id, corpus, doc_id, True, "", place, datetime.now(UTC))
                insert(connection, "kept_events", [row])
            elif row is not None and row.kept != kept:
                _put(connection, replace(row, kept=kept))

    def annotate(self, trail_id: str, corpus: str, doc_id: str, note: str) -> None:
        """Set the note on a document of the list; nothing happens to one that is not there."""
        with self._file.access() as connection:
            row = _find(records(KeptRow, connection.execute(_KEPT, [trail_id])), (corpus, doc_id))
            if row is not None and row.note != note:
                _put(connection, replace(row, note=note))

    def swap(self, trail_id: str, one: tuple[str, str], other: tuple[str, str]) -> None:
        """Let two documents, each (corpus, doc_id), change places."""
        with self._file.access() as connection:
            rows = records(KeptRow, connection.execute(_KEPT, [trail_id]))
            first, second = _find(rows, one), _find(rows, other)
            if first is not None and second is not None:
                _put(connection, replace(first, place=second.place))
                _put(connection, replace(second, place=first.place))

    # Trails

    def name(self, trail_id: str) -> TrailNameRow | None:
        """Name and owner of a trail; None when it has neither yet."""
        return next(iter(self._file.records(TrailNameRow, _NAME, [trail_id])), None)

    def put_name(self, row: TrailNameRow) -> None:
        """Store name, owner and whether the trail is deleted."""
        with self._file.access() as connection:
            insert(connection, "trail_names", [row])

    def all(self, owner: str | None = None, most: int = 50) -> list[TrailRow]:
        """Trails, the latest first; a single search of which nothing was kept is no trail yet.

        Args:
            owner: whose; None for everybody's.
        """
        return self._file.records(
            TrailRow, _TRAILS, {"owner": owner or "", "everybody": owner is None, "most": most}
        )

    # Saved searches

    def saved(self, owner: str) -> list[SavedSearchRow]:
        """The saved searches of an owner, the latest first."""
        return self._file.records(SavedSearchRow, _SAVED, [owner])

    def save_search(self, owner: str, name: str, link: str, *, saved: bool = True) -> None:
        """Save a search, rename it by saving its link again, or remove it."""
        with self._file.access() as connection:
            insert(
                connection,
                "saved_searches",
                [SavedSearchRow(owner, name, link, saved, datetime.now(UTC))],
            )


def _find(rows: list[KeptRow], document: tuple[str, str]) -> KeptRow | None:
    return next((row for row in rows if (row.corpus, row.doc_id) == document), None)


def _put(connection: Connection, row: KeptRow) -> None:
    insert(connection, "kept_events", [replace(row, time=datetime.now(UTC))])
