"""Collections under construction in the ledger: settings, labels, and what each step made.

Append-only: a change is a new row, and a person's label stands whatever a model says later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from storage.database import LedgerTables
from storage.rows import Packed, insert, last, names, records

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
    content: Packed
    basis: str
    changes: int
    author: str
    model: str
    time: datetime


_LAST = f"""
    SELECT {names(StepRow)} FROM build_steps
    WHERE corpus = ? AND build = ? AND step = ? AND octet_length(content) > 0
    ORDER BY id DESC LIMIT 1"""  # noqa: S608
_PEOPLE_FIRST = "maker = 'person' DESC, id DESC"
_LABELS = f"""
    SELECT {names(LabelRow)}
    FROM {last("build_labels", "doc_id", "corpus = ? AND build = ?", _PEOPLE_FIRST)}
    ORDER BY id"""  # noqa: S608


class Builds(LedgerTables):
    """The tables of builds of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    # -- settings ----------------------------------------------------------------------

    def put(self, row: BuildRow) -> None:
        """Add a build, or a new version of its settings; the versions before stay."""
        with self._file.access() as connection:
            insert(connection, "build_versions", [row])

    def all(self) -> list[BuildRow]:
        """The latest version of every build, in the order in which they were begun."""
        sql = f"""
            SELECT {names(BuildRow)} FROM {last("build_versions", "corpus, build")}
            JOIN (SELECT corpus, build, min(id) AS begun FROM build_versions GROUP BY corpus, build)
                AS first USING (corpus, build)
            ORDER BY begun"""  # noqa: S608
        return self._file.records(BuildRow, sql)

    # -- labels ------------------------------------------------------------------------

    def add_labels(self, rows: Iterable[LabelRow]) -> None:
        """Append labels, all of them or, on an error, none."""
        rows = list(rows)
        if rows:
            with self._file.access() as connection:
                insert(connection, "build_labels", rows)

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
            standing = records(LabelRow, connection.execute(_LABELS, [corpus, build]))
            insert(connection, "build_labels", change({row.doc_id: row for row in standing}))

    def labels(self, corpus: str, build: str) -> list[LabelRow]:
        """What stands: a person's last label of a document, else the last one at all."""
        return self._file.records(LabelRow, _LABELS, [corpus, build])

    # -- steps -------------------------------------------------------------------------

    def add_step(self, row: StepRow) -> None:
        """Append what a run made."""
        with self._file.access() as connection:
            insert(connection, "build_steps", [row])

    def change(
        self, corpus: str, build: str, step: str, change: Callable[[StepRow | None], StepRow | None]
    ) -> None:
        """Change what a step made, alone among all threads and processes.

        Args:
            change: what stands (None: nothing yet) -> what is to stand (None: leave it). Must
                not use the ledger; what it raises leaves everything as it was.
        """
        with self._file.access() as connection:
            last = records(StepRow, connection.execute(_LAST, [corpus, build, step]))
            changed = change(last[0] if last else None)
            if changed is not None:
                insert(connection, "build_steps", [changed])

    def last(self, corpus: str, build: str, step: str) -> StepRow | None:
        """What a step made, as people left it; None when it made nothing yet."""
        return next(iter(self._file.records(StepRow, _LAST, [corpus, build, step])), None)

    def steps(self, corpus: str, build: str) -> list[StepRow]:
        """Every run and every edit, in their order, without their content."""
        sql = f"""
            SELECT {names(StepRow, without="content")} FROM build_steps
            WHERE corpus = ? AND build = ? ORDER BY id"""  # noqa: S608
        return self._file.records(StepRow, sql, [corpus, build])
