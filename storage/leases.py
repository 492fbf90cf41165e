"""Which items lie before whom, so that no more people judge an item than it needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sqlalchemy import bindparam, select

from storage.database import LedgerTables
from storage.tables import columns_of, records, table, upsert

SECONDS = 300.0
"""How long a lease lasts that nobody renews."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Lease:
    """What one visit of an annotator has before it, or may have next.

    Attributes:
        items: (query_id, doc_id). A visit that waits for items has none.
        renewed: a lease that is made again lasts again.
    """

    annotator: str
    items: tuple[tuple[str, str], ...]
    renewed: datetime = field(default_factory=lambda: _now())


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
_GONE = LEASES.delete().where(
    *_OF_PROJECT, LEASES.c.visit.in_(bindparam("visits", expanding=True))
)


class Leases(LedgerTables):
    """The leases of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    @contextmanager
    def of(self, corpus: str, project: str) -> Iterator[dict[str, Lease]]:
        """The leases of a project by visit, alone among all threads and processes that write; what
        is changed of them is kept. Where the home cannot be written to, there are none."""
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
                connection.execute(_GONE, {**place, "visits": gone})
            changed = [
                LeaseRow(corpus, project, visit, lease.annotator, lease.items, lease.renewed)
                for visit, lease in leases.items()
                if before.get(visit) != lease
            ]
            upsert(connection, LEASES, changed)
