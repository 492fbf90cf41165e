"""Collections under construction in the ledger: settings, labels, and what each step made.

Append-only: a change is a new row, and a person's label stands whatever a model says later.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Literal

import duckdb

from storage.access import LedgerFile

EventKind = Literal["run", "edit"]


@dataclass(frozen=True, slots=True)
class BuildRow:
    """One version of what a collection is to be.

    ``settings`` is a JSON text owned by the engine.
    """

    corpus: str
    build: str
    settings: str
    author: str
    time: datetime


@dataclass(frozen=True, slots=True)
class LabelRow:
    """What somebody said of one document.

    Attributes:
        label: "" when the document does not show what is looked for.
        maker: ``model`` or ``person``.
        basis: a digest of what it was said about, owned by the engine.
    """

    corpus: str
    build: str
    doc_id: str
    label: str
    quote: str
    maker: str
    author: str
    basis: str
    time: datetime


@dataclass(frozen=True, slots=True)
class StepRow:
    """What a run of a step made, or what a person left of it.

    Attributes:
        content: a JSON text owned by the engine; "" for a run that made nothing to be kept here.
        basis: a digest of what the step rested on, owned by the engine.
        changes: what a person changed; 0 for a run.
        author: who started the run, or who edited.
        model: that was asked; "" for none.
    """

    corpus: str
    build: str
    step: str
    kind: EventKind
    content: str
    basis: str
    changes: int
    author: str
    model: str
    time: datetime


_LABELS = ", ".join(f.name for f in fields(LabelRow))
_STEPS = ", ".join(f.name for f in fields(StepRow))
_WITHOUT_CONTENT = _STEPS.replace("content", "''::BLOB AS content")
_INSERT_STEP = f"INSERT INTO build_steps ({_STEPS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_LAST = f"""
    SELECT {_STEPS} FROM build_steps
    WHERE corpus = ? AND build = ? AND step = ? AND octet_length(content) > 0
    ORDER BY id DESC LIMIT 1"""  # noqa: S608


class Builds:
    """The tables of builds of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    # -- settings ----------------------------------------------------------------------

    def put(self, row: BuildRow) -> None:
        """Add a build, or a new version of its settings; the versions before stay."""
        values = [row.corpus, row.build, row.settings, row.author, _stored(row.time)]
        with self._file.access() as connection:
            connection.execute(
                """INSERT INTO build_versions (corpus, build, settings, author, time)
                   VALUES (?, ?, ?, ?, ?)""",
                values,
            )

    def all(self) -> list[BuildRow]:
        """The latest version of every build, in the order in which they were begun."""
        sql = """
            SELECT corpus, build, settings, author, time FROM (
                SELECT *, min(id) OVER (PARTITION BY corpus, build) AS begun FROM build_versions)
            QUALIFY row_number() OVER (PARTITION BY corpus, build ORDER BY id DESC) = 1
            ORDER BY begun"""
        return list(
            self._file.remembered(
                "builds", lambda c: [BuildRow(*_read(row)) for row in c.execute(sql).fetchall()]
            )
        )

    # -- labels ------------------------------------------------------------------------

    def add_labels(self, rows: Iterable[LabelRow]) -> None:
        """Append labels, all of them or, on an error, none."""
        rows = list(rows)
        if rows:
            with self._file.access() as connection:
                _insert_labels(connection, rows)

    def change_labels(
        self,
        corpus: str,
        build: str,
        change: Callable[[Mapping[str, LabelRow]], Sequence[LabelRow]],
    ) -> None:
        """Append labels in view of what stands, alone among all threads and processes.

        Args:
            change: what stands by doc_id, as :meth:`labels` -> what is to be appended. Must not
                use the ledger; what it raises leaves everything as it was.
        """
        with self._file.access() as connection:
            standing = {row.doc_id: row for row in _labels(connection, corpus, build)}
            _insert_labels(connection, change(standing))

    def labels(self, corpus: str, build: str) -> list[LabelRow]:
        """What stands: a person's last label of a document, else the last one at all."""
        return list(
            self._file.remembered(
                ("build_labels", corpus, build), lambda c: _labels(c, corpus, build)
            )
        )

    # -- steps -------------------------------------------------------------------------

    def add_step(self, row: StepRow) -> None:
        """Append what a run made."""
        with self._file.access() as connection:
            connection.execute(_INSERT_STEP, _packed(row))

    def change(
        self, corpus: str, build: str, step: str, change: Callable[[StepRow | None], StepRow | None]
    ) -> None:
        """Change what a step made, alone among all threads and processes.

        Args:
            change: what stands (None: nothing yet) -> what is to stand (None: leave it). Must
                not use the ledger; what it raises leaves everything as it was.
        """
        with self._file.access() as connection:
            changed = change(_last(connection, corpus, build, step))
            if changed is not None:
                connection.execute(_INSERT_STEP, _packed(changed))

    def last(self, corpus: str, build: str, step: str) -> StepRow | None:
        """What a step made, as people left it; None when it made nothing yet."""
        return self._file.remembered(
            ("build_step", corpus, build, step), lambda c: _last(c, corpus, build, step)
        )

    def steps(self, corpus: str, build: str) -> list[StepRow]:
        """Every run and every edit, in their order, without their content."""
        sql = f"""
            SELECT {_WITHOUT_CONTENT} FROM build_steps
            WHERE corpus = ? AND build = ? ORDER BY id"""  # noqa: S608
        return list(
            self._file.remembered(
                ("build_steps", corpus, build),
                lambda c: [
                    replace(StepRow(*_read(row)), content="")
                    for row in c.execute(sql, [corpus, build]).fetchall()
                ],
            )
        )


def _labels(connection: duckdb.DuckDBPyConnection, corpus: str, build: str) -> list[LabelRow]:
    sql = f"""
        SELECT {_LABELS} FROM build_labels WHERE corpus = ? AND build = ?
        QUALIFY row_number() OVER (
            PARTITION BY doc_id ORDER BY maker = 'person' DESC, id DESC) = 1
        ORDER BY id"""  # noqa: S608
    return [LabelRow(*_read(row)) for row in connection.execute(sql, [corpus, build]).fetchall()]


def _insert_labels(connection: duckdb.DuckDBPyConnection, rows: Sequence[LabelRow]) -> None:
    if not rows:
        return
    columns = list(zip(*map(_values, rows), strict=True))
    kinds = ["TIMESTAMP" if f.name == "time" else "VARCHAR" for f in fields(LabelRow)]
    given = ", ".join(f"unnest(?::{kind}[])" for kind in kinds)
    sql = f"INSERT INTO build_labels ({_LABELS}) SELECT {given}"
    connection.execute(sql, [list(column) for column in columns])


def _last(
    connection: duckdb.DuckDBPyConnection, corpus: str, build: str, step: str
) -> StepRow | None:
    found = connection.execute(_LAST, [corpus, build, step]).fetchone()
    if found is None:
        return None
    row = StepRow(*_read(found))
    packed: Any = row.content
    return replace(row, content=zlib.decompress(packed).decode())


def _packed(row: StepRow) -> list[Any]:
    packed = zlib.compress(row.content.encode()) if row.content else b""
    return [packed if name == "content" else value for name, value in _named(row)]


def _values(row: LabelRow) -> list[Any]:
    return [value for _, value in _named(row)]


def _named(row: LabelRow | StepRow) -> list[tuple[str, Any]]:
    return [(f.name, _stored(getattr(row, f.name))) for f in fields(row)]


def _stored(value: Any) -> Any:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value


def _read(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with its last column, a time, in UTC."""
    return (*row[:-1], row[-1].replace(tzinfo=UTC))
