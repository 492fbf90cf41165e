"""Evaluations in the ledger: rankings, what was measured of them, and what people uploaded."""

from __future__ import annotations

from storage.database import LedgerTables
from storage.records import EvaluationRow, QrelsRow, RunRow
from storage.rows import insert, last, names, records


class Experiments(LedgerTables):
    """The tables of evaluations of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    # Runs

    def add_run(self, row: RunRow) -> int:
        """Append a run and return its id; the ``id`` of the row given does not count."""
        with self._file.access() as connection:
            return insert(connection, "runs", [row], "RETURNING id")

    def computed_run(
        self, corpus: str, corpus_version: str, system: str, settings: str
    ) -> RunRow | None:
        """The latest run that SeedLens made of just this, None when there is none."""
        sql = f"""
            SELECT {names(RunRow)} FROM runs
            WHERE NOT uploaded AND corpus = ? AND corpus_version = ? AND system = ?
                AND settings = ?
            ORDER BY id DESC LIMIT 1"""  # noqa: S608 - our own column names
        with self._file.access(writes=False) as connection:
            cursor = connection.execute(sql, [corpus, corpus_version, system, settings])
            return next(iter(records(RunRow, cursor)), None)

    def computed_systems(self, corpus: str, corpus_version: str, settings: str) -> set[str]:
        """Systems of which :meth:`computed_run` has a run."""
        sql = """
            SELECT DISTINCT system FROM runs
            WHERE NOT uploaded AND corpus = ? AND corpus_version = ? AND settings = ?"""
        return set(self._file.records(str, sql, [corpus, corpus_version, settings]))

    def uploaded_runs(self, collection: str) -> list[RunRow]:
        """Runs that people uploaded for a collection, in order of arrival.

        Their ``run`` is empty: see :meth:`run_text`.
        """
        sql = f"""
            SELECT {names(RunRow, without="run")} FROM runs
            WHERE uploaded AND collection = ? ORDER BY id"""  # noqa: S608 - our own column names
        return self._file.records(RunRow, sql, [collection])

    def run_text(self, run_id: int) -> str:
        """The text of a run; empty when it is gone."""
        with self._file.access(writes=False) as connection:
            cursor = connection.execute("SELECT run FROM runs WHERE id = ?", [run_id])
            return next(iter(records(str, cursor)), "")

    def remove_run(self, run_id: int) -> None:
        """Take out a run that was uploaded; one that SeedLens made stays."""
        with self._file.access() as connection:
            connection.execute("DELETE FROM runs WHERE uploaded AND id = ?", [run_id])

    def collections(self) -> set[str]:
        """Collections that anything was ranked for."""
        return set(self._file.records(str, "SELECT DISTINCT collection FROM runs"))

    # Evaluations

    def add_evaluation(self, row: EvaluationRow) -> None:
        """Append the result of an evaluation."""
        with self._file.access() as connection:
            insert(connection, "evaluations", [row])

    def evaluation(
        self, collection: str, corpus_version: str, systems: str, settings: str
    ) -> EvaluationRow | None:
        """The latest evaluation of just this, None when there is none."""
        sql = f"""
            SELECT {names(EvaluationRow)} FROM evaluations
            WHERE collection = ? AND corpus_version = ? AND systems = ? AND settings = ?
            ORDER BY id DESC LIMIT 1"""  # noqa: S608 - our own column names
        values = [collection, corpus_version, systems, settings]
        return next(iter(self._file.records(EvaluationRow, sql, values)), None)

    def evaluations(self, collection: str, limit: int = 50) -> list[EvaluationRow]:
        """Evaluations of a collection, the newest first; of equal ones only the newest.

        Their ``result`` is empty: see :meth:`evaluation`.
        """
        sql = f"""
            SELECT {names(EvaluationRow, without="result")}
            FROM {last("evaluations", "corpus_version, systems, settings", "collection = ?")}
            ORDER BY id DESC LIMIT ?"""  # noqa: S608 - our own column names
        return self._file.records(EvaluationRow, sql, [collection, limit])

    # Judgments that people uploaded

    def add_qrels(self, row: QrelsRow) -> int:
        """Append a file of judgments and return its id; the ``id`` given does not count."""
        with self._file.access() as connection:
            return insert(connection, "qrels_files", [row], "RETURNING id")

    def qrels(self) -> list[QrelsRow]:
        """All files of judgments, in order of arrival."""
        return self._file.records(
            QrelsRow,
            f"SELECT {names(QrelsRow)} FROM qrels_files ORDER BY id",  # noqa: S608
        )

    def remove_qrels(self, qrels_id: int) -> None:
        """Take out a file of judgments."""
        with self._file.access() as connection:
            connection.execute("DELETE FROM qrels_files WHERE id = ?", [qrels_id])
