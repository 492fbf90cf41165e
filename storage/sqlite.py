"""The ledger as a SQLite file in the home, which all programs of one machine share."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import Connection, text

from storage import migrations
from storage.database import Database
from storage.files import temporary_sibling
from storage.home import PRIVATE_FOLDER

COPIES = "ledger-copies"  # The folder beside the ledger for its dated copies
OLD_NAME = "ledger.duckdb"  # The ledger of earlier versions, from which a new one is made
PROTECTED = (errno.EACCES, errno.EPERM, errno.EROFS)
POLL_SECONDS = 0.01
_NOT_PREPARED = (-1, -1)
_Identity = tuple[int, int]


class SqliteDatabase(Database):
    """The file behind a ledger; created on first access, from the ledger of an earlier version if
    there is one."""

    def __init__(self, path: Path, wait_seconds: float) -> None:
        self._path = path
        self._protected = [False]  # whether it can only be read; connections look
        connect = partial(_connected, path, wait_seconds, self._protected)
        super().__init__(str(path), "sqlite://", connect, wait_seconds, sqlite3.Error)
        self.remedy = (
            "SeedLens left the file as it is. Check its permissions; if it is damaged, move it and "
            f"{path.name}-wal away and put a backup in its place ({path.parent / COPIES} has "
            "copies of the last days), or none to start a new one."
        )
        self._prepared = _NOT_PREPARED
        self._preparing = threading.Lock()

    @property
    def place(self) -> _Identity:
        return self._prepared

    def is_protected(self) -> bool:
        with self._errors():
            self.prepare()
        return self._protected[0]

    def prepare(self) -> None:
        if self._prepared == _identity(self._path) != _NOT_PREPARED:
            return
        with self._preparing:
            if self._prepared == _identity(self._path) != _NOT_PREPARED:
                return
            self.engine.dispose()
            self._protected[0] = False
            try:
                self._path.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
                lock = FileLock(f"{self._path}.lock", timeout=max(0.0, self.wait_seconds))
                with lock.acquire(poll_interval=POLL_SECONDS), self.engine.connect() as connection:
                    connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                    migrations.migrate(connection, self.name, fill=self._import_old)
            except Timeout as error:
                raise self.busy() from error
            except OSError as error:
                if error.errno not in PROTECTED or not os.access(self._path, os.R_OK):
                    raise self.explained(error) from error
                self._protected[0] = True
                with self.engine.connect() as connection:
                    migrations.check(connection, self.name)
            self._prepared = _identity(self._path)

    def _import_old(self, connection: Connection) -> None:
        """Fill a new ledger from that of an earlier version beside it, if there is one."""
        old = self._path.with_name(OLD_NAME)
        if old.exists():
            from storage.duckdb_ledger import import_ledger  # late: few have one

            import_ledger(old, connection, self.wait_seconds)

    def _begin(self, driver: Any, *, durable: bool) -> None:
        driver.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        driver.execute("BEGIN IMMEDIATE")

    def copy(self, target: Path) -> None:
        try:
            with temporary_sibling(target) as partial, self.read() as connection:
                connection.execute(text("VACUUM INTO :target"), {"target": str(partial)})
        except OSError as error:
            raise self.explained(error) from error


def _connected(path: Path, wait_seconds: float, protected: list[bool]) -> sqlite3.Connection:
    options = "mode=rwc"
    if protected[0]:
        # Without a log nobody writes to it, and no file can be made beside it.
        log = Path(f"{path}-wal")
        options = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=wait_seconds,
        check_same_thread=False,
        isolation_level=None,
    )
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _identity(path: Path) -> _Identity:
    try:
        status = path.stat()
    except OSError:  # missing, or unreadable: opening it will say which
        return _NOT_PREPARED
    return (status.st_dev, status.st_ino)
