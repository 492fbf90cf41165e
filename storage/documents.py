"""Records of the ledger that are one JSON text each, by kind, scope and key."""

from __future__ import annotations

import hashlib
import logging
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError
from sqlalchemy import bindparam, select

from storage.database import OF_PROCESSES, Database, LedgerTables
from storage.errors import StorageError
from storage.tables import table, upsert

log = logging.getLogger("seedlens")
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
    content: bytes  # JSON, compressed


@dataclass(frozen=True, slots=True)
class Stored(Generic[T]):
    """A record with what the ledger knows of it."""

    key: str
    value: T
    owner: str
    time: datetime  # of the last change


DOCUMENTS = table("documents", DocumentRow, key=("kind", "scope", "key"))
_KIND, _SCOPE, _KEY = (DOCUMENTS.c[name] == bindparam(name) for name in ("kind", "scope", "key"))
# Made once: some are read for every key that an annotator presses.
_ALL = select(*(DOCUMENTS.c[name] for name in ("key", "owner", "time", "content"))).where(_KIND)
_IN_ORDER = _ALL.order_by(DOCUMENTS.c.created, DOCUMENTS.c.key)
_OF_SCOPE = _IN_ORDER.where(_SCOPE)
_ONE = _ALL.where(_SCOPE, _KEY)
_GONE = DOCUMENTS.delete().where(_KIND, _SCOPE, _KEY)
_adapter = lru_cache(maxsize=None)(TypeAdapter)
MOST_KEPT = 65_536  # Compressed bytes of a record that is kept in memory once it was read


def key_of(*parts: str) -> str:
    """The key of a record that is known by texts of any length."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


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
        return self._database.first(self._stored, _ONE, kind=self._kind, scope=scope, key=key)

    def value(self, key: str, scope: str = "") -> T | None:
        """The record of this key without what the ledger knows of it."""
        stored = self.get(key, scope)
        return None if stored is None else stored.value

    def all(self, scope: str | None = None) -> list[Stored[T]]:
        """The records of a scope, or of all, in order of creation."""
        query = _IN_ORDER if scope is None else _OF_SCOPE
        return self._database.records(self._stored, query, kind=self._kind, scope=scope)

    def newest(self, owner: str | None = None) -> Iterator[Stored[T]]:
        """The records of an owner, None for everybody, the last changed first; those of another
        version are left out."""
        query = _ALL.order_by(DOCUMENTS.c.time.desc())
        if owner is not None:
            query = query.where(DOCUMENTS.c.owner == owner)
        with self._database.read() as connection:
            rows = connection.execute(query, {"kind": self._kind}).all()
        for row in rows:
            try:
                yield self._stored(*row)
            except StorageError as error:
                log.warning("%s", error)

    def put(self, key: str, value: T, owner: str = "", scope: str = "") -> None:
        """Store a record in place of the one of the same key; without an owner it keeps its own."""
        now = datetime.now(UTC)
        try:  # nobody waits while it is compressed
            content = zlib.compress(_adapter(self._form).dump_json(value, fallback=str))
        except PydanticSerializationError as error:  # as half of a surrogate pair
            raise StorageError(
                f"The ledger cannot hold this value: {error}", "Correct it. Nothing was changed."
            ) from error
        row = DocumentRow(self._kind, scope, key, owner, now, now, content)
        with self._database.write() as connection:
            upsert(connection, DOCUMENTS, [row], ["created"] if owner else ["created", "owner"])

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
            change: the record (None: there is none) -> the new one (None: leave it); what it
                raises undoes everything.
            owner: "" leaves the owner as it is.
            durable: see :meth:`storage.database.Database.write`.
        """
        with self._database.write(durable=durable):
            value = change(self.get(key, scope))
            if value is not None:
                self.put(key, value, owner, scope)

    def remove(
        self, key: str, scope: str = "", owner: str | None = None, *, durable: bool = True
    ) -> None:
        """Delete a record, if it is there and, unless None, of this owner."""
        gone = _GONE if owner is None else _GONE.where(DOCUMENTS.c.owner == owner)
        with self._database.write(durable=durable) as connection:
            connection.execute(gone, {"kind": self._kind, "scope": scope, "key": key})

    def remove_before(self, time: datetime) -> None:
        """Delete the records that were last changed before a time."""
        old = (DOCUMENTS.c.kind == self._kind, DOCUMENTS.c.time < time)
        with self._database.write() as connection:
            connection.execute(DOCUMENTS.delete().where(*old))

    def _stored(self, key: str, owner: str, time: datetime, content: bytes) -> Stored[T]:
        try:
            kept = self._kind not in OF_PROCESSES and len(content) <= MOST_KEPT
            read = _read if kept else _read.__wrapped__
            return Stored(key, read(self._form, content), owner, time)
        except ValidationError as error:
            raise StorageError(
                f"The {self._kind} '{key}' was stored by another version of SeedLens.",
                "Make it again.",
            ) from error


@lru_cache(maxsize=256)
def _read(form: Any, content: bytes) -> Any:
    return _adapter(form).validate_json(zlib.decompress(content))
