"""Evaluations in the ledger: rankings, what was measured of them, and what people uploaded."""

from __future__ import annotations

import zlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from storage.access import LedgerFile
from storage.records import EvaluationRow, QrelsRow, RunRow

_RUN = "id, collection, corpus, corpus_version, system, settings, uploaded, seconds, run, time"
_EVALUATION = "collection, corpus, corpus_version, systems, settings, summary, result, time"


class Experiments:
    """The tables of evaluations of one ledger; errors as in :class:`storage.ledger.Ledger`.

    Texts of runs and results are stored compressed.
    """

    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    # Runs

    def add_run(self, row: RunRow) -> int:
        """Append a run and return its id; the ``id`` of the row given does not count."""
        values = [
            *(row.collection, row.corpus, row.corpus_version, row.system, row.settings),
            *(row.uploaded, row.seconds, _packed(row.run), _stored(row.time)),
        ]
        return self._added(
            """INSERT INTO runs (collection, corpus, corpus_version, system, settings, uploaded,
                   seconds, run, time)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id""",
            values,
        )

    def computed_run(
        self, corpus: str, corpus_version: str, system: str, settings: str
    ) -> RunRow | None:
        """The latest run that SeedLens made of just this, None when there is none."""
        sql = f"""
            SELECT {_RUN} FROM runs
            WHERE NOT uploaded AND corpus = ? AND corpus_version = ? AND system = ?
                AND settings = ?
            ORDER BY id DESC LIMIT 1"""  # noqa: S608 - our own column names
        with self._file.access() as connection:
            row = connection.execute(sql, [corpus, corpus_version, system, settings]).fetchone()
        return None if row is None else _run(row)

    def computed_systems(self, corpus: str, corpus_version: str, settings: str) -> set[str]:
        """Systems of which :meth:`computed_run` has a run."""
        sql = """
            SELECT DISTINCT system FROM runs
            WHERE NOT uploaded AND corpus = ? AND corpus_version = ? AND settings = ?"""
        values = [corpus, corpus_version, settings]
        found = self._file.remembered(
            ("computed", *values), lambda c: c.execute(sql, values).fetchall()
        )
        return {row[0] for row in found}

    def uploaded_runs(self, collection: str) -> list[RunRow]:
        """Runs that people uploaded for a collection, in order of arrival.

        Their ``run`` is empty: see :meth:`run_text`.
        """
        sql = f"""
            SELECT {_RUN.replace("run,", "NULL,")} FROM runs
            WHERE uploaded AND collection = ? ORDER BY id"""  # noqa: S608 - our own column names
        found = self._file.remembered(
            ("uploaded", collection), lambda c: c.execute(sql, [collection]).fetchall()
        )
        return [_run(row) for row in found]

    def run_text(self, run_id: int) -> str:
        """The text of a run; empty when it is gone."""
        with self._file.access() as connection:
            row = connection.execute("SELECT run FROM runs WHERE id = ?", [run_id]).fetchone()
        return "" if row is None else _unpacked(row[0])

    def remove_run(self, run_id: int) -> None:
        """Take out a run that was uploaded; one that SeedLens made stays."""
        with self._file.access() as connection:
            connection.execute("DELETE FROM runs WHERE uploaded AND id = ?", [run_id])

    def collections(self) -> set[str]:
        """Collections that anything was ranked for."""
        sql = "SELECT DISTINCT collection FROM runs"
        rows = self._file.remembered("collections", lambda c: c.execute(sql).fetchall())
        return {row[0] for row in rows}

    # Evaluations

    def add_evaluation(self, row: EvaluationRow) -> None:
        """Append the result of an evaluation."""
        values = [
            *(row.collection, row.corpus, row.corpus_version, row.systems, row.settings),
            *(row.summary, _packed(row.result), _stored(row.time)),
        ]
        with self._file.access() as connection:
            connection.execute(
                f"INSERT INTO evaluations ({_EVALUATION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                values,
            )

    def evaluation(
        self, collection: str, corpus_version: str, systems: str, settings: str
    ) -> EvaluationRow | None:
        """The latest evaluation of just this, None when there is none."""
        values = [collection, corpus_version, systems, settings]
        sql = f"""
            SELECT {_EVALUATION} FROM evaluations
            WHERE collection = ? AND corpus_version = ? AND systems = ? AND settings = ?
            ORDER BY id DESC LIMIT 1"""  # noqa: S608 - our own column names
        found = self._file.remembered(
            ("evaluation", *values), lambda c: c.execute(sql, values).fetchone()
        )
        return None if found is None else _evaluation(found)

    def evaluations(self, collection: str, limit: int = 50) -> list[EvaluationRow]:
        """Evaluations of a collection, the newest first; of equal ones only the newest.

        Their ``result`` is empty: see :meth:`evaluation`.
        """
        sql = f"""
            SELECT {_EVALUATION.replace("result,", "NULL,")} FROM (
                FROM evaluations WHERE collection = ?
                QUALIFY row_number() OVER (
                    PARTITION BY corpus_version, systems, settings ORDER BY id DESC) = 1
            )
            ORDER BY id DESC LIMIT ?"""  # noqa: S608 - our own column names
        found = self._file.remembered(
            ("evaluations", collection, limit),
            lambda c: c.execute(sql, [collection, limit]).fetchall(),
        )
        return [_evaluation(row) for row in found]

    # Judgments that people uploaded

    def add_qrels(self, row: QrelsRow) -> int:
        """Append a file of judgments and return its id; the ``id`` given does not count."""
        return self._added(
            "INSERT INTO qrels_files (corpus, name, qrels, time) VALUES (?, ?, ?, ?) RETURNING id",
            [row.corpus, row.name, _packed(row.qrels), _stored(row.time)],
        )

    def qrels(self) -> list[QrelsRow]:
        """All files of judgments, in order of arrival."""
        sql = "SELECT id, corpus, name, qrels, time FROM qrels_files ORDER BY id"
        found = self._file.remembered("qrels", lambda c: c.execute(sql).fetchall())
        return [
            QrelsRow(id_, corpus, name, _unpacked(text), time.replace(tzinfo=UTC))
            for id_, corpus, name, text, time in found
        ]

    def remove_qrels(self, qrels_id: int) -> None:
        """Take out a file of judgments."""
        with self._file.access() as connection:
            connection.execute("DELETE FROM qrels_files WHERE id = ?", [qrels_id])

    def _added(self, sql: str, values: list[Any]) -> int:
        with self._file.access() as connection:
            row = connection.execute(sql, values).fetchone()
        return int(row[0]) if row else 0


def _run(values: tuple[Any, ...]) -> RunRow:
    row = RunRow(*values)
    return replace(row, run=_unpacked(values[-2]), time=row.time.replace(tzinfo=UTC))


def _evaluation(values: tuple[Any, ...]) -> EvaluationRow:
    row = EvaluationRow(*values)
    return replace(row, result=_unpacked(values[-2]), time=row.time.replace(tzinfo=UTC))


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8"))


def _unpacked(content: bytes | None) -> str:
    return "" if content is None else zlib.decompress(content).decode("utf-8")


def _stored(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)
