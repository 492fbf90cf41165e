"""The ledger: the registry of corpora, pasted texts, and its other parts.

Judgments and kept documents are events: a change is a new row, the last one counts.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from storage.access import COPIES, LedgerFile
from storage.answers import Answers
from storage.asked import Asked
from storage.builds import Builds
from storage.database import Database
from storage.ended_logins import EndedLogins
from storage.errors import StorageError
from storage.experiments import Experiments
from storage.judgment_events import Judging
from storage.leases import Leases
from storage.ledger_copy import copy_ledger
from storage.locks import Locks
from storage.projects import Projects
from storage.records import CorpusRow
from storage.removal import delete
from storage.rows import insert, names, stored
from storage.spending import Spending
from storage.trails import Trails

if TYPE_CHECKING:
    from storage.server_jobs import SharedJobs

MOST_COPIES = 7
"""Copies of the ledger that are kept, of the last days on which it changed."""
_LOCKS, _LEASES, _LOGINS, _SPENDING = "locks", "leases", "ended-logins", "spending"
"""What lies beside the file of a ledger."""
_REPLACED = """
    ON CONFLICT (name) DO UPDATE SET state = excluded.state,
        source = excluded.source, source_format = excluded.source_format,
        lens = excluded.lens, encoder = excluded.encoder, documents = excluded.documents,
        expected = excluded.expected, updated_at = excluded.updated_at"""
_CORPORA = f"""
    SELECT {names(CorpusRow)} FROM corpora ORDER BY name COLLATE "C\""""  # noqa: S608


class Ledger:
    """One DuckDB file, or one PostgreSQL database, that many threads and processes may use at once.

    Every method is one short transaction of its own; nothing stays open between calls, other than
    from one thread to the next that waits already.

    Args:
        path: the DuckDB file; made, with its folder, on the first access. Where there is a ``url``,
            its folder is all that counts.
        wait_seconds: how long an access waits for other processes.
        url: ``postgresql://...`` for a ledger on a server; "" for the file.

    Attributes:
        experiments: runs and evaluations.
        answers: of language models.
        judging: judgments.
        projects: annotation projects, their queries and pools.
        builds: collections under construction.
        trails: searches, kept documents, saved searches.
        asked: questions with their answers.
        locks: of what one run at a time may do; held without an access.
        leases: of items that are being judged; so are they.
        ended_logins: of people who logged out.
        spending: what each person had a language model do today.
        jobs: imports of all machines that share it; None where it is a file.

    Every method may raise:
        LedgerBusyError: others kept the ledger locked for ``wait_seconds``.
        StorageFullError: no room on the disk; what was stored before is intact.
        StorageError: the file is unreadable, or from a newer SeedLens; it is left as it is.
    """

    def __init__(self, path: Path, wait_seconds: float = 30, url: str = "") -> None:
        self._path = path
        self._file: Database
        self._on_server = bool(url)
        if url:
            self._file, beside = _on_server(path.parent, url, wait_seconds)
        else:
            self._file, beside = LedgerFile(path, wait_seconds), _in(path.parent)
        self.locks, self.leases, self.ended_logins, self.spending, self.jobs = beside
        self.experiments = Experiments(self._file)
        self.answers = Answers(self._file)
        self.judging = Judging(self._file)
        self.projects = Projects(self._file)
        self.builds = Builds(self._file)
        self.trails = Trails(self._file)
        self.asked = Asked(self._file)

    # Copies

    def copy(self, target: Path) -> None:
        """Copy the ledger, whole and as of one moment, to a file outside of its folder or in it."""
        self._file.copy(target)

    def copy_to(self, other: Ledger) -> dict[str, int]:
        """Copy all rows to a ledger that has none, on whatever it is; nobody writes to either
        meanwhile.

        Returns:
            rows by table.

        Raises:
            StorageError: there is something in it already; nothing was changed.
        """
        return copy_ledger(self._file, other._file)

    @property
    def name(self) -> str:
        """What people know it by: its file, or its server's address without user and password."""
        return self._file.name

    def keep_copy(self) -> None:
        """Keep a copy of today, and the last :data:`MOST_COPIES` of other days.

        Nothing happens when there is one of today, or nobody wrote since the last, nor with a
        ledger on a server, which has ways of its own.
        """
        if self._on_server:
            return
        folder = self._path.parent / COPIES
        with self.locks.hold(COPIES, what="The ledger is being copied"):
            today = folder / f"ledger-{datetime.now(UTC):%Y-%m-%d}.duckdb"
            # A clock that was ahead made copies of days to come: they say nothing of this one.
            copies = sorted(copy for copy in folder.glob("ledger-*.duckdb") if copy < today)
            changed = self._path.stat().st_mtime if self._path.exists() else 0.0
            if not changed or today.exists() or (copies and copies[-1].stat().st_mtime >= changed):
                return
            folder.mkdir(parents=True, exist_ok=True)
            self.copy(today)
            for old in [*copies, today][:-MOST_COPIES]:
                delete(old)

    # Corpora

    def put_corpus(self, row: CorpusRow) -> None:
        """Add a corpus, or replace the one of that name except for its ``created_at`` and its
        ``generation``."""
        with self._file.access() as connection:
            insert(connection, "corpora", [row], _REPLACED)

    def put_generation(self, row: CorpusRow, before: str) -> bool:
        """:meth:`put_corpus` with its generation, unless it is another one now than ``before``.

        Returns:
            False when it is: then nothing was changed.
        """
        with self._file.access() as connection:
            sql = "SELECT generation FROM corpora WHERE name = ?"
            found = connection.execute(sql, [row.name]).fetchone()
            if (found[0] if found else "") != before:
                return False
            insert(connection, "corpora", [row], f"{_REPLACED}, generation = excluded.generation")
        return True

    def corpus(self, name: str) -> CorpusRow | None:
        """The corpus of that name, deleted or not; None when there is none."""
        return next((row for row in self.corpora() if row.name == name), None)

    def corpora(self) -> list[CorpusRow]:
        """All corpora by name, also those that were deleted."""
        return self._file.records(CorpusRow, _CORPORA, tables=["corpora"])

    def listed_corpus(self, name: str) -> CorpusRow | None:
        """The corpus of that name; None when there is none, or it was deleted."""
        return next((row for row in self.listed_corpora() if row.name == name), None)

    def listed_corpora(self) -> list[CorpusRow]:
        """All corpora by name, without those that were deleted and can be taken back."""
        return [row for row in self.corpora() if row.state != "deleted"]

    def remove_corpus(self, row: CorpusRow) -> None:
        """Take a corpus off the registry, unless its row has changed. Its judgments stay."""
        with self._file.access() as connection:
            connection.execute(
                "DELETE FROM corpora WHERE name = ? AND state = ? AND updated_at = ?",
                [row.name, row.state, stored(row.updated_at)],
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
                [text_id, text, stored(datetime.now(UTC))],
            )
        return text_id

    def text(self, text_id: str) -> str | None:
        """The pasted text of that id, None when there is none."""
        sql = "SELECT text FROM texts WHERE text_id = ?"
        return next(iter(self._file.records(str, sql, [text_id])), None)


class _Beside(NamedTuple):
    locks: Locks
    leases: Leases
    ended_logins: EndedLogins
    spending: Spending
    jobs: SharedJobs | None


def _in(folder: Path) -> _Beside:
    return _Beside(
        Locks(folder / _LOCKS), Leases(folder / _LEASES), EndedLogins(folder / _LOGINS),
        Spending(folder / _SPENDING), None,
    )  # fmt: skip


def _on_server(folder: Path, url: str, wait_seconds: float) -> tuple[Database, _Beside]:
    try:  # only who has a server has the package
        from storage.postgres import PostgresLedger
        from storage.server_jobs import SharedJobs
        from storage.server_locks import ServerLeases, ServerLocks
        from storage.server_people import ServerEndedLogins, ServerSpending
    except ImportError as error:
        raise StorageError(
            f"A ledger on PostgreSQL needs a package that is missing ({error.name}).",
            "Install it: pip install 'seedlens[cluster]'",
        ) from error
    server = PostgresLedger(url, wait_seconds)
    locks = ServerLocks(folder / _LOCKS, server)
    return server, _Beside(
        locks, ServerLeases(folder / _LEASES, server), ServerEndedLogins(folder / _LOGINS, server),
        ServerSpending(folder / _SPENDING, server), SharedJobs(server, locks),
    )  # fmt: skip
