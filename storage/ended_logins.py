"""Logins that somebody ended, kept beyond a restart: a copy of their cookie opens nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import select

from storage.database import Database, LedgerTables
from storage.tables import insert, table

LASTING = timedelta(days=31)
"""After this long no cookie proves a login any more: 30 days, and one of grace."""


@dataclass(frozen=True, slots=True)
class EndedLoginRow:
    """A login that was ended."""

    digest: str
    ended_at: datetime


ENDED_LOGINS = table("ended_logins", EndedLoginRow, key=("digest",))


class EndedLogins(LedgerTables):
    """Digests of logins that were ended; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._here: set[str] = set()

    def add(self, digests: Iterable[str]) -> None:
        """Logins were ended; those that cannot prove anything any more are dropped. Where they
        cannot be stored they count until this process ends.

        Args:
            digests: SHA-256 in hex, of what names a login without proving it.
        """
        new, now = set(digests), datetime.now(UTC)
        self._here |= new
        with self._database.write() as connection:
            connection.execute(ENDED_LOGINS.delete().where(ENDED_LOGINS.c.ended_at < now - LASTING))
            rows = [EndedLoginRow(digest, now) for digest in sorted(new)]
            insert(connection, ENDED_LOGINS, rows, skip_known=True)

    def has_any(self, digests: Iterable[str]) -> bool:
        """Whether one of these was ended, by this process or another."""
        asked = set(digests)
        if not asked or not asked.isdisjoint(self._here):
            return bool(asked)
        query = select(ENDED_LOGINS.c.digest).where(ENDED_LOGINS.c.digest.in_(asked)).limit(1)
        return bool(self._database.values(query))
