"""The ledger on a PostgreSQL server."""

from __future__ import annotations

import os
import re
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from storage import migrations
from storage.database import Database, copy_ledger
from storage.errors import StorageError

WRITERS = 0x5EED1E25  # The advisory lock of whoever writes
POLL_SECONDS = 0.1
OLDEST = 140000  # The server's version: 14.
# A machine that is gone without a word is given up after half a minute, on both sides.
_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4}
_AT_SERVER = {
    **{f"tcp_{name}": str(value) for name, value in _KEEPALIVE.items()},
    # A plan for any value would read all events to find the last ones.
    "plan_cache_mode": "force_custom_plan",
}
_ADDRESS = re.compile(r"postgres(ql)?://([^@/?#\s]*@)?[^@/?#\s]*(/[^@?#\s]*)?(\?[^@#\s]*)?")
"""Each sign that parts a password from the rest has to be encoded in it."""
# Before a server takes connections, or while it ends them, it says so.
_SOON = ("starting up", "shutting down", "recovery mode", "not yet accepting", "too many clients")
_LOCKED = f"SELECT pg_advisory_xact_lock({WRITERS})"


class PostgresDatabase(Database):
    """The server behind a ledger.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
        wait_seconds: for other accesses, or for the server to come back.
    """

    remedy = (
        "Check what the server's log says, and that the user may use the tables of the database."
    )

    def __init__(self, url: str, wait_seconds: float) -> None:
        given = _parameters(url)
        hosts = zip(
            str(given.get("host") or "").split(","),
            cycle(str(given.get("port") or "").split(",")),
            strict=False,
        )
        places = ",".join(f"{host}:{port}".removesuffix(":") for host, port in hosts)
        super().__init__(
            f"postgresql://{places}/{given.get('dbname') or ''}",
            "postgresql+psycopg://",
            # Closures, here and below: no representation of this object has the password.
            _connector(given, wait_seconds),
            wait_seconds,
            psycopg.Error,
            pool_pre_ping=True,
        )
        self._is_prepared = False
        self._hidden: Callable[[str], str]
        self._hidden = lambda text: text.replace(given.get("password") or "\0", "***")

    def explained(self, error: Exception) -> StorageError:
        found = super().explained(error)
        return type(found)(self._hidden(found.message), found.remedy)

    def prepare(self) -> None:
        if self._is_prepared:
            return
        with self.engine.connect() as connection:
            server: Any = connection.connection.driver_connection
            encoding = server.info.parameter_status("server_encoding")
            if server.info.server_version < OLDEST or encoding != "UTF8":
                raise StorageError(
                    f"The database {self.name} cannot hold a ledger: it has to be of PostgreSQL 14 "
                    "or later, in UTF-8.",
                    "Make one with: CREATE DATABASE seedlens ENCODING 'UTF8' TEMPLATE template0",
                )
            migrations.migrate(connection, self.name, f"BEGIN; {_LOCKED}")
        self._is_prepared = True

    def _begin(self, driver: Any, *, durable: bool) -> None:
        lasting = "" if durable else "SET LOCAL synchronous_commit = off; "
        # Several statements cannot be prepared.
        driver.execute(f"BEGIN; {lasting}{_LOCKED}", prepare=False)

    def copy(self, target: Path) -> None:
        from storage.sqlite import SqliteDatabase

        try:
            with tempfile.TemporaryDirectory(prefix=".ledger-", dir=target.parent) as folder:
                file = SqliteDatabase(Path(folder) / target.name, self.wait_seconds)
                copy_ledger(self, file)
                file.engine.dispose()
                (Path(folder) / target.name).replace(target)
        except OSError as error:
            raise StorageError(
                f"The ledger cannot be copied to {target}: {error.strerror or error}.",
                "Check the disk and the permissions of the folder.",
            ) from error


def _connector(given: dict[str, Any], wait_seconds: float) -> Callable[[], Any]:
    """Makes connections; waits for a server that was there before, or is starting."""
    lock_timeout = str(max(1, int(wait_seconds * 1000)))
    met = False

    def connect() -> psycopg.Connection[Any]:
        nonlocal met
        deadline = time.monotonic() + wait_seconds
        while True:
            try:
                connection = psycopg.connect(**given, autocommit=True)
            except psycopg.OperationalError as error:
                soon = any(part in str(error) for part in _SOON)
                hope = soon or (met and "FATAL" not in str(error))
                if not hope or time.monotonic() >= deadline:
                    raise
                time.sleep(POLL_SECONDS)
                continue
            met = True
            for name, value in {**_AT_SERVER, "lock_timeout": lock_timeout}.items():
                connection.execute("SELECT set_config(%s, %s, false)", [name, value])
            return connection

    return connect


def _parameters(url: str) -> dict[str, Any]:
    """Parameters for libpq; an address is never shown, as it holds the password."""
    found: dict[str, Any] = {}
    if _ADDRESS.fullmatch(url):
        with suppress(psycopg.ProgrammingError):
            found = conninfo_to_dict(url)
    if not found:
        raise StorageError(
            "SEEDLENS_LEDGER_URL is not the address of a PostgreSQL database.",
            "Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, and in the password %40 for @, "
            "%2F for /, %3F for ?, %23 for #, %25 for %.",
        )
    defaults = {
        **_KEEPALIVE,
        "tcp_user_timeout": 30_000,
        "connect_timeout": 10,
        "target_session_attrs": "read-write",
        "application_name": f"seedlens {socket.gethostname()[:32]} {os.getpid()}",
    }
    return {**defaults, **found, "client_encoding": "utf8"}
