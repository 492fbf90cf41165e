"""A PostgreSQL server on this machine, for as long as tests need one."""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PASSWORD = "correct horse/battery@staple"  # noqa: S105 - of a server that lives for these tests
_FOUND = Path("/usr/lib/postgresql")
_QUICK = ("fsync=off", "full_page_writes=off", "max_connections=60", "shared_buffers=16MB")
LASTING = ("max_connections=100", "shared_buffers=128MB")
"""What a server is started with that keeps what it acknowledged when the machine fails, too."""


def missing() -> str:
    """Why there can be no server here; "" when there can."""
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed (pip install -e '.[cluster]')"
    if _program("initdb") is None:
        return "no PostgreSQL server is installed (apt-get install postgresql)"
    if hasattr(os, "geteuid") and os.geteuid() == 0 and not _account():
        return "PostgreSQL does not run as root, and there is no account 'postgres'"
    return ""


def _program(name: str) -> str | None:
    newest = sorted(_FOUND.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return str(newest[-1]) if newest else shutil.which(name)


def _account() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: whom it is to run as instead."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return {}
    import pwd

    with suppress(KeyError):
        found = pwd.getpwnam("postgres")
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    return {}


class PostgresServer:
    """A server in a folder, listening on 127.0.0.1 only; people log in by password.

    Args:
        settings: NAME=VALUE, each.
    """

    def __init__(self, folder: Path, settings: Sequence[str] = _QUICK) -> None:
        self._settings = settings
        self._data = folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        folder.mkdir(parents=True)
        secret = folder / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        if account := _account():
            for path in (folder, secret):
                os.chown(path, account["user"], account["group"])
        self._run(
            *("initdb", "-D", str(self._data), "-U", "seedlens", "-A", "scram-sha-256"),
            *("--pwfile", str(secret), "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"),
        )
        self._numbers = itertools.count(1)

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
        quick = " ".join(f"-c {one}" for one in self._settings)
        log = str(self._data.parent / "log")
        self._control("start", "-w", "-l", log, "-o", f"{options} {quick}")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; ``immediate`` is what a crash of the server does."""
        self._control("stop", "-m", mode)

    def database(self) -> str:
        """The address of a new database."""
        import psycopg

        name = f"ledger{os.getpid()}_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, database: str, password: str = PASSWORD) -> str:
        from urllib.parse import quote

        secret = quote(password, safe="")
        return f"postgresql://seedlens:{secret}@127.0.0.1:{self.port}/{database}"

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self._data), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        path = _program(program)
        assert path is not None, program
        done = subprocess.run(
            [path, *arguments],
            **_account(),
            cwd="/",
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            stdout=subprocess.DEVNULL,  # the server would keep a pipe open
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{program} {arguments}: {done.returncode}"


@contextmanager
def running(settings: Sequence[str] = _QUICK) -> Iterator[PostgresServer]:
    """A server that runs while the block does."""
    # Not in pytest's folders, which another account cannot enter.
    with tempfile.TemporaryDirectory(prefix="seedlens-postgres-") as folder:
        Path(folder).chmod(0o755)
        server = PostgresServer(Path(folder) / "server", settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()
