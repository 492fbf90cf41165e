"""Ledgers that take less to open than those of people: tests open thousands."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from storage import access
from storage.access import LedgerFile

START, CREATE = access._start, LedgerFile._create


class _Idle:
    """Instances of DuckDB that no ledger uses now, in place of one that each keeps for itself."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._idle: list[duckdb.DuckDBPyConnection] = []

    def __get__(
        self, file: LedgerFile | None, kind: object
    ) -> _Idle | duckdb.DuckDBPyConnection | None:
        if file is None:  # what `hasattr` asks of the class, and with it `delattr` of a patch
            return self
        try:
            return self._of(file).pop()
        except IndexError:
            return None

    def __set__(self, file: LedgerFile, engine: duckdb.DuckDBPyConnection | None) -> None:
        if engine is not None:
            self._of(file).append(engine)

    def _of(self, file: LedgerFile) -> list[duckdb.DuckDBPyConnection]:
        within = file._path.absolute().is_relative_to(self._root)
        return self._idle if within else file.__dict__.setdefault("_idle", [])


@contextmanager
def made_once(root: Path, own: Path) -> Iterator[None]:
    """Ledgers below ``root`` share instances of DuckDB, and all new ones are copies of a first.

    Args:
        root: each of the instances may read and write all of it.
        own: a folder of this process, for the first ledger.
    """
    first = own / "ledger.duckdb"
    CREATE(LedgerFile(first, 30), 0)

    def copied(file: LedgerFile, deadline: float) -> None:
        new = file._path.with_name(f"{file._path.name}.new")
        shutil.copyfile(first, new)
        new.replace(file._path)
        file._checked = True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            access, "_start", lambda folder: START(root if folder.is_relative_to(root) else folder)
        )
        patch.setattr(LedgerFile, "_engine", _Idle(root), raising=False)
        patch.setattr(LedgerFile, "_create", copied)
        yield


@contextmanager
def as_people_have_them() -> Iterator[None]:
    """Within :func:`made_once`: ledgers are opened and made as they are without it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(access, "_start", START)
        patch.delattr(LedgerFile, "_engine")
        patch.setattr(LedgerFile, "_create", CREATE)
        yield
