"""People at work: leased items, use of language models, and ended logins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import bindparam, select

from storage.database import Database, LedgerTables
from storage.tables import columns_of, first, insert, records, table, upsert

SECONDS = 300.0
"""How long a lease lasts that nobody renews."""
DAYS_KEPT = 7
"""Of what each person had a language model do."""
LASTING = timedelta(days=31)
"""After this long no cookie proves a login any more: 30 days, and one of grace."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Lease:
    """The items leased to one visit of an annotator."""

    annotator: str
    items: tuple[tuple[str, str], ...]  # (query_id, doc_id); none for a visit that waits
    renewed: datetime = field(default_factory=lambda: _now())  # restarts the term of the lease


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """A lease as it is stored."""

    corpus: str
    project: str
    visit: str
    annotator: str
    items: tuple[tuple[str, str], ...]
    renewed: datetime


LEASES = table("leases", LeaseRow, key=("corpus", "project", "visit"))
_OF_PROJECT = (LEASES.c.corpus == bindparam("of"), LEASES.c.project == bindparam("in"))
_ALL = select(*columns_of(LEASES, LeaseRow)).where(*_OF_PROJECT)
_GONE = LEASES.delete().where(*_OF_PROJECT, LEASES.c.visit.in_(bindparam("visits", expanding=True)))


class Leases(LedgerTables):
    """The leases of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    @contextmanager
    def of(self, corpus: str, project: str) -> Iterator[dict[str, Lease]]:
        """The leases of a project by visit, in an exclusive transaction that stores changes; none
        where the home is read-only."""
        if self._database.is_protected():
            yield {}
            return
        place = {"of": corpus, "in": project}
        # They are of no use after the machine failed: nobody waits for the disk.
        with self._database.write(durable=False) as connection:
            rows = records(connection, LeaseRow, _ALL, **place)
            oldest = _now() - timedelta(seconds=SECONDS)
            before = {r.visit: Lease(r.annotator, r.items, r.renewed) for r in rows}
            leases = {v: lease for v, lease in before.items() if lease.renewed > oldest}
            yield leases
            if gone := before.keys() - leases.keys():
                connection.execute(_GONE, {**place, "visits": [*gone]})
            changed = [
                LeaseRow(corpus, project, visit, lease.annotator, lease.items, lease.renewed)
                for visit, lease in leases.items()
                if before.get(visit) != lease
            ]
            upsert(connection, LEASES, changed)


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests, and tokens of what was asked and answered."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SpentRow:
    """What a person spent on a day."""

    person: str
    day: date
    calls: int
    input_tokens: int
    output_tokens: int


SPENT = table("spent", SpentRow, key=("person", "day"))
_SUMS = (SPENT.c.calls, SPENT.c.input_tokens, SPENT.c.output_tokens)


class Spending(LedgerTables):
    """The requests of a day by person; errors as in :class:`storage.ledger.Ledger`."""

    def of(self, person: str) -> Spent:
        """What a person spent today."""
        today = (SPENT.c.person == person, SPENT.c.day == date.today())
        return self._database.first(Spent, select(*_SUMS).where(*today)) or Spent()

    def add(
        self,
        person: str,
        calls: int,
        input_tokens: int,
        output_tokens: int,
        check: Callable[[Spent], object] = lambda _: None,
    ) -> None:
        """Add to a person's spending, in an exclusive transaction; what ``check`` raises on the
        earlier sum undoes it."""
        row = SpentRow(person, date.today(), calls, input_tokens, output_tokens)
        today = (SPENT.c.person == person, SPENT.c.day == row.day)
        with self._database.write(durable=False) as connection:
            before = first(connection, Spent, select(*_SUMS).where(*today)) or Spent()
            check(before)
            sums = [getattr(before, c.name) + getattr(row, c.name) for c in _SUMS]
            upsert(connection, SPENT, [SpentRow(person, row.day, *sums)])
            oldest = row.day - timedelta(days=DAYS_KEPT)
            connection.execute(SPENT.delete().where(SPENT.c.day < oldest))


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
        """End logins by SHA-256 in hex, and drop expired ones. Where they cannot be stored they
        count until this process ends."""
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
