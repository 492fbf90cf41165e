"""The ledger: the registry of corpora, trails, kept documents, pasted texts, and its other parts.

Judgments and kept documents are events: a change is a new row, the last one counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from storage.access import LedgerFile
from storage.answers import Answers
from storage.builds import Builds
from storage.experiments import Experiments
from storage.judging import Judging
from storage.locks import Locks
from storage.projects import Projects
from storage.records import CorpusRow, KeptRow, TrailStepRow

Row = TypeVar("Row")


class Ledger:
    """One DuckDB file that many threads and processes may use at once.

    Every method is one short transaction of its own; nothing stays open between calls.

    Args:
        path: the DuckDB file; made, with its folder, on the first access.
        wait_seconds: how long an access waits for other processes.

    Attributes:
        experiments: runs and evaluations.
        answers: of language models.
        judging: judgments.
        projects: annotation projects, their queries and pools.
        builds: collections under construction.
        locks: of what one run at a time may do; they need no access to the file.

    Every method may raise:
        LedgerBusyError: others kept the ledger locked for ``wait_seconds``.
        StorageFullError: no room on the disk; what was stored before is intact.
        StorageError: the file is unreadable, or from a newer SeedLens; it is left as it is.
    """

    def __init__(self, path: Path, wait_seconds: float = 30) -> None:
        self._file = LedgerFile(path, wait_seconds)
        self.experiments = Experiments(self._file)
        self.answers = Answers(self._file)
        self.judging = Judging(self._file)
        self.projects = Projects(self._file)
        self.builds = Builds(self._file)
        self.locks = Locks(path.parent / "locks")

    # Corpora

    def put_corpus(self, row: CorpusRow) -> None:
        """Add a corpus, or replace the one of that name except for its ``created_at``."""
        values = [
            *(row.name, row.state, row.source, row.source_format, row.lens, row.encoder),
            *(row.documents, row.expected, _stored(row.created_at), _stored(row.updated_at)),
        ]
        with self._file.access() as connection:
            connection.execute(
                """INSERT INTO corpora (name, state, source, source_format, lens, encoder,
                       documents, expected, created_at, updated_at)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                   ON CONFLICT (name) DO UPDATE SET state = excluded.state,
                       source = excluded.source, source_format = excluded.source_format,
                       lens = excluded.lens, encoder = excluded.encoder,
                       documents = excluded.documents, expected = excluded.expected,
                       updated_at = excluded.updated_at""",
                values,
            )

    def corpus(self, name: str) -> CorpusRow | None:
        """The corpus of that name, None when there is none."""
        return next((row for row in self.corpora() if row.name == name), None)

    def corpora(self) -> list[CorpusRow]:
        """All corpora by name."""
        return list(self._file.remembered("corpora", lambda c: _corpora(c, None)))

    def remove_corpus(self, name: str) -> CorpusRow | None:
        """Take a corpus off the registry and return its row. Its judgments and trails stay."""
        with self._file.access() as connection:
            row = next(iter(_corpora(connection, name)), None)
            connection.execute("DELETE FROM corpora WHERE name = ?", [name])
            return row

    # Trails

    def add_step(self, trail_id: str, corpus: str, query_json: str) -> TrailStepRow:
        """Append a step to a trail and return it; positions count from 1.

        A step equal to the trail's last one is not added again: that last one is returned.
        """
        with self._file.access() as connection:
            last = next(iter(_steps(connection, trail_id, limit=1)), None)
            if last is not None and (last.corpus, last.query) == (corpus, query_json):
                return last
            position = 1 if last is None else last.position + 1
            step = TrailStepRow(trail_id, position, corpus, query_json, datetime.now(UTC))
            connection.execute(
                """INSERT INTO trail_steps (trail_id, position, corpus, query, time)
                   VALUES (?, ?, ?, ?, ?)""",
                [trail_id, position, corpus, query_json, _stored(step.time)],
            )
            return step

    def steps(self, trail_id: str) -> list[TrailStepRow]:
        """The steps of a trail by position; empty when there is no such trail."""
        return self._file.remembered(("steps", trail_id), lambda c: _steps(c, trail_id))[::-1]

    def keep(self, trail_id: str, corpus: str, doc_id: str) -> None:
        """Keep a document; one that is kept already stays as it is."""
        self._set_kept(trail_id, corpus, doc_id, kept=True)

    def unkeep(self, trail_id: str, corpus: str, doc_id: str) -> None:
        """Keep a document no longer; one that is not kept stays as it is."""
        self._set_kept(trail_id, corpus, doc_id, kept=False)

    def kept(self, trail_id: str) -> list[KeptRow]:
        """The documents of a trail that are kept now, the first kept first."""
        return list(self._file.remembered(("kept", trail_id), lambda c: _kept(c, trail_id)))

    def _set_kept(self, trail_id: str, corpus: str, doc_id: str, *, kept: bool) -> None:
        with self._file.access() as connection:
            now = {(row.corpus, row.doc_id) for row in _kept(connection, trail_id)}
            if ((corpus, doc_id) in now) != kept:
                connection.execute(
                    """INSERT INTO kept_events (trail_id, corpus, doc_id, kept, time)
                       VALUES (?, ?, ?, ?, ?)""",
                    [trail_id, corpus, doc_id, kept, _stored(datetime.now(UTC))],
                )

    # Pasted texts

    def put_text(self, text: str) -> str:
        """Store a pasted text once and return its id: 32 hex digits of its SHA-256."""
        # Half of a surrogate pair is refused below, by DuckDB, with the reason.
        content = text.encode("utf-8", errors="surrogatepass")
        text_id = hashlib.sha256(content).hexdigest()[:32]
        with self._file.access() as connection:
            connection.execute(
                "INSERT INTO texts (text_id, text, time) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                [text_id, text, _stored(datetime.now(UTC))],
            )
        return text_id

    def text(self, text_id: str) -> str | None:
        """The pasted text of that id, None when there is none."""
        sql = "SELECT text FROM texts WHERE text_id = ?"
        found = self._file.remembered(
            ("text", text_id), lambda c: c.execute(sql, [text_id]).fetchone()
        )
        return None if found is None else str(found[0])


def _rows(kind: Callable[..., Row], found: duckdb.DuckDBPyConnection) -> list[Row]:
    """Records from a query that names the columns in the order of the record's fields."""
    return [kind(*map(_read, values)) for values in found.fetchall()]


def _corpora(connection: duckdb.DuckDBPyConnection, name: str | None) -> list[CorpusRow]:
    sql = """
        SELECT name, state, source, source_format, lens, encoder, documents, expected, created_at,
            updated_at
        FROM corpora WHERE $name::VARCHAR IS NULL OR name = $name ORDER BY name"""
    return _rows(CorpusRow, connection.execute(sql, {"name": name}))


def _steps(
    connection: duckdb.DuckDBPyConnection, trail_id: str, limit: int | None = None
) -> list[TrailStepRow]:
    """The steps of a trail, the last one first."""
    sql = """
        SELECT trail_id, position, corpus, query, time FROM trail_steps
        WHERE trail_id = ? ORDER BY position DESC LIMIT ?"""
    return _rows(TrailStepRow, connection.execute(sql, [trail_id, limit]))


def _kept(connection: duckdb.DuckDBPyConnection, trail_id: str) -> list[KeptRow]:
    sql = """
        SELECT trail_id, corpus, doc_id, time
        FROM (
            FROM kept_events WHERE trail_id = ?
            QUALIFY row_number() OVER (PARTITION BY corpus, doc_id ORDER BY id DESC) = 1
        )
        WHERE kept ORDER BY id"""
    return _rows(KeptRow, connection.execute(sql, [trail_id]))


def _stored(moment: datetime) -> datetime:
    """UTC without a zone, as the tables hold it; ValueError for a time without a zone."""
    if moment.tzinfo is None:
        raise ValueError(f"the time {moment.isoformat()} has no time zone; use datetime.now(UTC)")
    return moment.astimezone(UTC).replace(tzinfo=None)


def _read(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
