"""People at work: leased items, use of language models, and ended logins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from datetime import UTC, date, datetime, timedelta

from storage.database import Database
from storage.documents import Documents, Stored

SECONDS = 300.0  # How long a lease lasts that nobody renews
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


class Leases:
    """The leases of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stored = Documents[Lease](database, "lease", Lease)

    @contextmanager
    def of(self, corpus: str, project: str) -> Iterator[dict[str, Lease]]:
        """The leases of a project by visit, in an exclusive transaction that stores changes; none
        where the home is read-only."""
        if self._database.is_protected():
            yield {}
            return
        # They are of no use after the machine failed: nobody waits for the disk.
        scope = f"{corpus}\x1f{project}"
        with self._database.write(durable=False):
            before = {one.key: one.value for one in self._stored.all(scope)}
            oldest = _now() - timedelta(seconds=SECONDS)
            leases = {visit: one for visit, one in before.items() if one.renewed > oldest}
            yield leases
            for visit in before.keys() - leases.keys():
                self._stored.remove(visit, scope)
            for visit, lease in leases.items():
                if before.get(visit) != lease:
                    self._stored.put(visit, lease, scope=scope)


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests, and tokens of what was asked and answered."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Spending:
    """The requests of a day by person; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, database: Database) -> None:
        self._stored = Documents[Spent](database, "spent", Spent)

    def of(self, person: str) -> Spent:
        """What a person spent today."""
        return self._stored.value(person, date.today().isoformat()) or Spent()

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

        def change(stored: Stored[Spent] | None) -> Spent:
            before = stored.value if stored else Spent()
            check(before)
            added = (calls, input_tokens, output_tokens)
            return Spent(*map(sum, zip(astuple(before), added, strict=True)))

        self._stored.change(person, change, scope=date.today().isoformat(), durable=False)


class EndedLogins:
    """Digests of logins that were ended; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, database: Database) -> None:
        self._stored = Documents[str](database, "ended login", str)
        self._here: set[str] = set()

    def add(self, digests: Iterable[str]) -> None:
        """End logins by SHA-256 in hex, and drop expired ones. Where they cannot be stored they
        count until this process ends."""
        new = set(digests)
        self._here |= new
        self._stored.remove_before(_now() - LASTING)
        for digest in sorted(new):
            self._stored.put(digest, "")

    def has_any(self, digests: Iterable[str]) -> bool:
        """Whether one of these was ended, by this process or another."""
        return any(one in self._here or self._stored.get(one) is not None for one in digests)
