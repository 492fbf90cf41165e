"""Records of the ledger that are one JSON text each, by kind, scope and key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Row, select

from storage.database import Database, LedgerTables
from storage.errors import StorageError
from storage.records import Packed
from storage.tables import columns_of, table, upsert

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A record of one kind."""

    kind: str
    scope: str  # what it belongs to, as a corpus or a person; "" for none
    key: str
    owner: str  # whose it is, or who changed it last; "" for nobody
    created: datetime
    time: datetime  # of the last change
    content: Packed  # JSON


@dataclass(frozen=True, slots=True)
class Stored(Generic[T]):
    """A record with what the ledger knows of it."""

    key: str
    value: T
    owner: str
    time: datetime  # of the last change


DOCUMENTS = table("documents", DocumentRow, key=("kind", "scope", "key"))
_COLUMNS = columns_of(DOCUMENTS, DocumentRow)
_adapter = lru_cache(maxsize=None)(TypeAdapter)


class Documents(LedgerTables, Generic[T]):
    """The records of one kind; errors as in :class:`storage.ledger.Ledger`.

    Args:
        form: their type, as pydantic reads and writes it.
    """

    def __init__(self, database: Database, kind: str, form: Any) -> None:
        super().__init__(database)
        self._kind, self._form = kind, form

    def get(self, key: str, scope: str = "") -> Stored[T] | None:
        """The record of this key; None when there is none."""
        with self._database.read() as connection:
            return self._find(connection, key, scope)

    def all(self, scope: str | None = None) -> list[Stored[T]]:
        """The records of a scope, or of all, in order of creation."""
        query = select(*_COLUMNS).where(DOCUMENTS.c.kind == self._kind)
        if scope is not None:
            query = query.where(DOCUMENTS.c.scope == scope)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(DOCUMENTS.c.created, DOCUMENTS.c.key))
            return [self._stored(row) for row in rows]

    def newest(self, owner: str | None = None) -> Iterator[Stored[T]]:
        """The records of an owner, None for everybody, the last changed first."""
        query = select(*_COLUMNS).where(DOCUMENTS.c.kind == self._kind)
        if owner is not None:
            query = query.where(DOCUMENTS.c.owner == owner)
        with self._database.read() as connection:
            for row in connection.execute(query.order_by(DOCUMENTS.c.time.desc())):
                yield self._stored(row)

    def put(self, key: str, value: T, owner: str = "", scope: str = "") -> None:
        """Store a record, in place of the one of the same key."""
        self.change(key, lambda _: value, owner, scope)

    def change(
        self,
        key: str,
        change: Callable[[Stored[T] | None], T | None],
        owner: str = "",
        scope: str = "",
        *,
        durable: bool = True,
    ) -> None:
        """Change a record in an exclusive transaction.

        Args:
            change: the record (None: there is none) -> the new one (None: leave it). Must not use
                the ledger; what it raises undoes everything.
            owner: "" leaves the owner as it is.
            durable: see :meth:`storage.database.Database.write`.
        """
        with self._database.write(durable=durable) as connection:
            before = self._find(connection, key, scope)
            value = change(before)
            if value is not None:
                content = _adapter(self._form).dump_json(value, fallback=str).decode()
                owner, now = owner or (before.owner if before else ""), datetime.now(UTC)
                row = DocumentRow(self._kind, scope, key, owner, now, now, content)
                upsert(connection, DOCUMENTS, [row], kept=["created"])

    def remove(self, key: str, scope: str = "") -> None:
        """Delete a record, if it is there."""
        with self._database.write() as connection:
            connection.execute(DOCUMENTS.delete().where(*self._place(key, scope)))

    def remove_before(self, time: datetime) -> None:
        """Delete the records that were last changed before a time."""
        old = (DOCUMENTS.c.kind == self._kind, DOCUMENTS.c.time < time)
        with self._database.write() as connection:
            connection.execute(DOCUMENTS.delete().where(*old))

    def _place(self, key: str, scope: str) -> tuple[Any, ...]:
        own = {"kind": self._kind, "scope": scope, "key": key}
        return tuple(DOCUMENTS.c[name] == value for name, value in own.items())

    def _find(self, connection: Connection, key: str, scope: str) -> Stored[T] | None:
        row = connection.execute(select(*_COLUMNS).where(*self._place(key, scope))).first()
        return None if row is None else self._stored(row)

    def _stored(self, row: Row[Any]) -> Stored[T]:
        try:
            return Stored(row.key, _read(self._form, row.content), row.owner, row.time)
        except ValidationError as error:
            raise StorageError(
                f"The {self._kind} '{row.key}' was stored by another version of SeedLens.",
                "Make it again.",
            ) from error


@lru_cache(maxsize=256)
def _read(form: Any, content: str) -> Any:
    return _adapter(form).validate_json(content)
