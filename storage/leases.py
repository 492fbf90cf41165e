"""Which items lie before whom, so that no more people judge an item than it needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sqlalchemy import select

from storage.database import LedgerTables
from storage.tables import insert, records, table

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


class Leases(LedgerTables):
    """The leases of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    @contextmanager
    def of(self, corpus: str, project: str) -> Iterator[dict[str, Lease]]:
        """The leases of a project by visit, alone among all threads and processes that write; what
        is changed of them is kept. Where the home cannot be written to, there are none."""
        if self._database.is_protected():
            yield {}
            return
        of_project = (LEASES.c.corpus == corpus, LEASES.c.project == project)
        # They are of no use after the machine failed: nobody waits for the disk.
        with self._database.write(durable=False) as connection:
            rows = records(connection, LeaseRow, select(LEASES).where(*of_project))
            oldest = _now() - timedelta(seconds=SECONDS)
            before = {r.visit: Lease(r.annotator, r.items, r.renewed) for r in rows}
            leases = {v: lease for v, lease in before.items() if lease.renewed > oldest}
            yield leases
            stale = {visit for visit, lease in before.items() if leases.get(visit) != lease}
            if stale:
                connection.execute(LEASES.delete().where(*of_project, LEASES.c.visit.in_(stale)))
            new = [
                LeaseRow(corpus, project, visit, lease.annotator, lease.items, lease.renewed)
                for visit, lease in leases.items()
                if visit in stale or visit not in before
            ]
            insert(connection, LEASES, new)
