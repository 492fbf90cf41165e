"""Evaluations in the ledger: rankings, what was measured of them, and what people uploaded."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Index, and_, func, select

from storage.database import LedgerTables
from storage.records import EvaluationRow, QrelsRow, RunRow
from storage.tables import columns_of, insert_one, table

RUNS = table("runs", RunRow)
Index("runs_by_collection", RUNS.c.collection)
EVALUATIONS = table("evaluations", EvaluationRow)
Index("evaluations_by_collection", EVALUATIONS.c.collection)
QRELS = table("qrels_files", QrelsRow)
_RUNS = select(*columns_of(RUNS, RunRow))


class Experiments(LedgerTables):
    """The tables of evaluations of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    # Runs

    def add_run(self, row: RunRow) -> int:
        """Append a run and return its id; the ``id`` of the row given does not count."""
        with self._database.write() as connection:
            return insert_one(connection, RUNS, row)

    def computed_run(
        self, corpus: str, corpus_version: str, system: str, settings: str
    ) -> RunRow | None:
        """The latest run that SeedLens made of just this, None when there is none."""
        query = _RUNS.where(_computed(corpus, corpus_version, settings), RUNS.c.system == system)
        return self._database.first(RunRow, query.order_by(RUNS.c.id.desc()).limit(1))

    def computed_systems(self, corpus: str, corpus_version: str, settings: str) -> set[str]:
        """Systems of which :meth:`computed_run` has a run."""
        query = select(RUNS.c.system).where(_computed(corpus, corpus_version, settings))
        return set(self._database.values(query.distinct()))

    def uploaded_runs(self, collection: str) -> list[RunRow]:
        """Uploaded runs for a collection, in order of arrival, with an empty ``run``: see
        :meth:`run_text`."""
        query = select(*columns_of(RUNS, RunRow, without="run"))
        query = query.where(RUNS.c.uploaded, RUNS.c.collection == collection)
        return self._database.records(RunRow, query.order_by(RUNS.c.id))

    def run_text(self, run_id: int) -> str:
        """The text of a run; empty when it is gone."""
        return self._database.first(str, select(RUNS.c.run).where(RUNS.c.id == run_id)) or ""

    def remove_run(self, run_id: int) -> None:
        """Take out a run that was uploaded; one that SeedLens made stays."""
        with self._database.write() as connection:
            connection.execute(RUNS.delete().where(RUNS.c.uploaded, RUNS.c.id == run_id))

    def collections(self) -> set[str]:
        """Collections that anything was ranked for."""
        return set(self._database.values(select(RUNS.c.collection).distinct()))

    # Evaluations

    def add_evaluation(self, row: EvaluationRow) -> None:
        """Append the result of an evaluation."""
        self._insert(EVALUATIONS, [row])

    def evaluation(
        self, collection: str, corpus_version: str, systems: str, settings: str
    ) -> EvaluationRow | None:
        """The latest evaluation of just this, None when there is none."""
        one = EVALUATIONS.c
        query = select(*columns_of(EVALUATIONS, EvaluationRow)).where(
            *(one.collection == collection, one.corpus_version == corpus_version),
            *(one.systems == systems, one.settings == settings),
        )
        return self._database.first(EvaluationRow, query.order_by(one.id.desc()).limit(1))

    def evaluations(self, collection: str, limit: int = 50) -> list[EvaluationRow]:
        """Evaluations of a collection, the newest first, equal ones once, with an empty ``result``:
        see :meth:`evaluation`."""
        one = EVALUATIONS.c
        last = select(func.max(one.id)).where(one.collection == collection)
        last = last.group_by(one.corpus_version, one.systems, one.settings)
        query = select(*columns_of(EVALUATIONS, EvaluationRow, without="result"))
        query = query.where(one.id.in_(last)).order_by(one.id.desc()).limit(limit)
        return self._database.records(EvaluationRow, query)

    # Judgments that people uploaded

    def add_qrels(self, row: QrelsRow) -> int:
        """Append a file of judgments and return its id; the ``id`` given does not count."""
        with self._database.write() as connection:
            return insert_one(connection, QRELS, row)

    def qrels(self) -> list[QrelsRow]:
        """All files of judgments, in order of arrival."""
        query = select(*columns_of(QRELS, QrelsRow)).order_by(QRELS.c.id)
        return self._database.records(QrelsRow, query)

    def remove_qrels(self, qrels_id: int) -> None:
        """Take out a file of judgments."""
        with self._database.write() as connection:
            connection.execute(QRELS.delete().where(QRELS.c.id == qrels_id))


def _computed(corpus: str, corpus_version: str, settings: str) -> ColumnElement[bool]:
    made = {"corpus": corpus, "corpus_version": corpus_version, "settings": settings}
    return and_(~RUNS.c.uploaded, *(RUNS.c[name] == value for name, value in made.items()))
