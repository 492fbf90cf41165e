"""Rankings of test collections in the ledger, so that no system ranks twice."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, select

from storage.database import LedgerTables
from storage.records import Packed
from storage.tables import columns_of, table


@dataclass(frozen=True, slots=True)
class RunRow:
    """The rankings of one system for the topics of a collection."""

    corpus: str
    corpus_version: str
    system: str
    settings: str  # a JSON text owned by the engine, as is ``run``
    seconds: float
    run: Packed
    time: datetime


RUNS = table("runs", RunRow)


class Rankings(LedgerTables):
    """The rankings of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def add(self, row: RunRow) -> None:
        """Append the rankings of a system."""
        self._insert(RUNS, [row])

    def latest(self, corpus: str, corpus_version: str, system: str, settings: str) -> RunRow | None:
        """The latest rankings with these settings; None without any."""
        query = select(*columns_of(RUNS, RunRow)).order_by(RUNS.c.id.desc()).limit(1)
        same = _same(corpus, corpus_version, settings)
        return self._database.first(RunRow, query.where(same, RUNS.c.system == system))

    def systems(self, corpus: str, corpus_version: str, settings: str) -> set[str]:
        """Systems with rankings by these settings."""
        query = select(RUNS.c.system).where(_same(corpus, corpus_version, settings))
        return set(self._database.values(query.distinct()))


def _same(corpus: str, corpus_version: str, settings: str) -> ColumnElement[bool]:
    made = {"corpus": corpus, "corpus_version": corpus_version, "settings": settings}
    return and_(*(RUNS.c[name] == value for name, value in made.items()))
