"""The ledger: the registry of corpora, pasted texts, and its other parts."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam, select

from storage.answers import Answers
from storage.builds import Builds
from storage.database import Database, copy_ledger
from storage.documents import DOCUMENTS, Documents
from storage.errors import StorageError
from storage.judgment_events import Judging
from storage.locks import WAIT_SECONDS, Locks, alone
from storage.people import EndedLogins, Leases, Spending
from storage.projects import Projects
from storage.rankings import Rankings
from storage.records import CorpusRow
from storage.removal import delete
from storage.sqlite import COPIES, SqliteDatabase
from storage.tables import columns_of, table, upsert

MOST_COPIES = 7  # Copies of the ledger that are kept, of the last days on which it changed


SELECTION = "selection"  # Kind of the documents of a corpus; their scope is its name
TITLE = "corpus title"
"""Kind of the name that a corpus got later; key and scope are the one under which it is stored."""
CORPORA = table("corpora", CorpusRow, key=("name",))
_CORPORA = select(*columns_of(CORPORA, CorpusRow))
_CORPUS = _CORPORA.where(CORPORA.c.name == bindparam("corpus"))


class Ledger:
    """One SQLite file, or one PostgreSQL database, for many threads and processes.

    Every method is one short transaction.

    Args:
        path: the SQLite file, created on first access; with a ``url`` only its folder counts.
        wait_seconds: how long an access waits for other processes.
        url: ``postgresql://...`` for a ledger on a server; "" for the file.

    Every method may raise:
        LedgerBusyError: locked for ``wait_seconds``.
        StorageFullError: no room on the disk; stored data are intact.
        StorageError: unreadable, or from a newer SeedLens; left as it is.
    """

    def __init__(self, path: Path, wait_seconds: float = 30, url: str = "") -> None:
        self._path = path
        self._on_server = bool(url)
        self._database = (
            _on_server(url, wait_seconds) if url else SqliteDatabase(path, wait_seconds)
        )
        self.locks = Locks(self._database)  # for what one run at a time may do
        self.rankings = Rankings(self._database)  # of test collections
        self.answers = Answers(self._database)  # of language models
        self.judging = Judging(self._database)
        self.projects = Projects(self._database)  # queries and pools of annotation projects
        self.builds = Builds(self._database)  # labels of collections being built
        self._texts = Documents[str](self._database, "text", str)
        self._titles = Documents[str](self._database, TITLE, str)
        self.leases = Leases(self._database)  # of items that are being judged
        self.ended_logins = EndedLogins(self._database)  # of people who logged out
        self.spending = Spending(self._database)  # of language models, per person today

    def close(self) -> None:
        """Close the connections that are kept; the next access opens another."""
        self._database.engine.dispose()

    def documents(self, kind: str, form: Any) -> Documents[Any]:
        """The records of a kind, as projects, builds or trails; ``form`` is their type."""
        return Documents(self._database, kind, form)

    # Copies

    def copy(self, target: Path) -> None:
        """Copy the ledger, whole and as of one moment, to a SQLite file, while others use it."""
        self._database.copy(target)

    def copy_to(self, other: Ledger) -> dict[str, int]:
        """Copy all rows to an empty ledger, locking both; returns the number of rows by table."""
        return copy_ledger(self._database, other._database)

    @property
    def name(self) -> str:
        """What people know it by: its file, or its server's address without user and password."""
        return self._database.name

    @property
    def is_protected(self) -> bool:
        """Whether it can only be read."""
        return self._database.is_protected()

    def keep_copy(self) -> None:
        """Keep a copy of today, and the last :data:`MOST_COPIES` of other days; none without
        changes or on a server."""
        if self._on_server:
            return
        folder = self._path.parent / COPIES
        files = [file for file in (self._path, Path(f"{self._path}-wal")) if file.exists()]
        changed = max((file.stat().st_mtime for file in files), default=0.0)
        # A lock of the ledger would change it.
        busy = "The ledger is being copied.", "Wait until that is done."
        with alone(folder.with_suffix(".lock"), *busy, WAIT_SECONDS):
            today = folder / f"ledger-{datetime.now(UTC):%Y-%m-%d}.sqlite"
            copies = sorted(folder.glob("ledger-????-??-??.*"))
            if not changed or today.exists() or (copies and copies[-1].stat().st_mtime >= changed):
                return
            folder.mkdir(parents=True, exist_ok=True)
            self.copy(today)
            for old in [*copies, today][:-MOST_COPIES]:
                delete(old)

    # Corpora

    def put_corpus(self, row: CorpusRow) -> None:
        """Add a corpus, or replace it except ``created_at`` and ``generation``."""
        with self._database.write() as connection:
            upsert(connection, CORPORA, [row], kept=["created_at", "generation"])

    def put_generation(self, row: CorpusRow, before: str) -> bool:
        """:meth:`put_corpus` with its generation; False, changing nothing, unless the current one
        is ``before``."""
        with self._database.write() as connection:
            known = self.corpus(row.name)
            is_same = (known.generation if known else "") == before
            if is_same:
                upsert(connection, CORPORA, [row], kept=["created_at"])
        return is_same

    def corpus(self, name: str) -> CorpusRow | None:
        """The corpus of that name, deleted or not; None when there is none."""
        return self._database.first(CorpusRow, _CORPUS, corpus=name)

    def corpora(self) -> list[CorpusRow]:
        """All corpora by name, also those that were deleted."""
        return sorted(self._database.records(CorpusRow, _CORPORA), key=lambda row: row.name)

    def listed_corpus(self, name: str) -> CorpusRow | None:
        """The corpus of that name; None when there is none, or it was deleted."""
        row = self.corpus(name)
        return None if row is None or row.state == "deleted" else row

    def listed_corpora(self) -> list[CorpusRow]:
        """All corpora by name, without those that were deleted and can be taken back."""
        return [row for row in self.corpora() if row.state != "deleted"]

    def remove_corpus(self, row: CorpusRow, *, replaced: bool = False) -> None:
        """Take a corpus off the registry, with its selections and, unless it is ``replaced``, its
        title, if its row has not changed. Its judgments stay."""
        same = (CORPORA.c[name] == getattr(row, name) for name in ("name", "state", "updated_at"))
        with self._database.write() as connection:
            if connection.execute(CORPORA.delete().where(*same)).rowcount:
                kinds = [SELECTION] if replaced else [SELECTION, TITLE]
                its = (DOCUMENTS.c.kind.in_(kinds), DOCUMENTS.c.scope == row.name)
                connection.execute(DOCUMENTS.delete().where(*its))

    def corpus_titles(self) -> dict[str, str]:
        """Names that corpora got later, by the names under which they are stored for good."""
        return {one.key: one.value for one in self._titles.all()}

    def set_corpus_title(self, name: str, title: str) -> bool:
        """Give a stored corpus another name; its own one takes the other away. False, changing
        nothing, where it is a name of another corpus."""
        with self._database.write():
            other = self.stored_name(title)
            is_free = other == name or self.corpus(other) is None
            if is_free and title == name:
                self._titles.remove(name, scope=name)
            elif is_free:
                self._titles.put(name, title, scope=name)
        return is_free

    def stored_name(self, name: str) -> str:
        """The name under which a corpus is stored, of any of its names."""
        if self.corpus(name) is not None:
            return name
        titles = self.corpus_titles().items()
        return next((stored for stored, title in titles if title == name), name)

    # Pasted texts

    def put_text(self, text: str) -> str:
        """Store a pasted text once and return its id: 32 hex digits of its SHA-256."""
        # Half of a surrogate pair is refused below, with the reason.
        content = text.encode("utf-8", errors="surrogatepass")
        text_id = hashlib.sha256(content).hexdigest()[:32]
        self._texts.put(text_id, text)
        return text_id

    def text(self, text_id: str) -> str | None:
        """The pasted text of that id, None when there is none."""
        return self._texts.value(text_id)


def _on_server(url: str, wait_seconds: float) -> Database:
    try:  # only who has a server has the package
        from storage.postgres import PostgresDatabase
    except ImportError as error:
        raise StorageError(
            f"A ledger on PostgreSQL needs a package that is missing ({error.name}).",
            "Install it: pip install 'seedlens[cluster]'",
        ) from error
    return PostgresDatabase(url, wait_seconds)
