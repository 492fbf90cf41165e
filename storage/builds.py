"""Collections under construction in the ledger: labels, and results of steps.

Append-only: a person's label counts, whatever a model says later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import CheckConstraint, Index, Select, case, func, select

from storage.database import LedgerTables
from storage.records import Packed
from storage.tables import columns_of, first, insert, records, table

EventKind = Literal["run", "edit"]


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One label of one document."""

    corpus: str
    build: str
    doc_id: str
    label: str  # "" when the document does not show what is looked for
    quote: str
    maker: str  # ``model`` or ``person``
    author: str
    basis: str  # a digest of the labelled content, owned by the engine
    time: datetime


@dataclass(frozen=True, slots=True)
class StepRow:
    """The result of a run of a step, or a person's edit of it."""

    corpus: str
    build: str
    step: str
    kind: EventKind
    content: Packed  # a JSON text owned by the engine; "" for a run without stored content
    basis: str  # a digest of the step's input, owned by the engine
    changes: int  # number of a person's changes; 0 for a run
    author: str  # who started the run, or edited
    model: str  # that was asked; "" for none
    time: datetime


LABELS = table("build_labels", LabelRow, CheckConstraint("maker IN ('model', 'person')"))
STEPS = table("build_steps", StepRow, CheckConstraint("kind IN ('run', 'edit')"))
for _table in (LABELS, STEPS):
    Index(f"{_table.name}_by_build", _table.c.corpus, _table.c.build)


class Builds(LedgerTables):
    """The tables of builds of one ledger; errors as in :class:`storage.ledger.Ledger`."""

    # Labels

    def add_labels(self, rows: Iterable[LabelRow]) -> None:
        """Append labels, all of them or, on an error, none."""
        self._insert(LABELS, rows)

    def change_labels(
        self,
        corpus: str,
        build: str,
        change: Callable[[Mapping[str, LabelRow]], Sequence[LabelRow]],
    ) -> None:
        """Append labels in view of the current ones, in an exclusive transaction.

        Args:
            change: current labels by doc_id -> those to append. Must not use the ledger; what it
                raises undoes everything.
        """
        with self._database.write() as connection:
            current = records(connection, LabelRow, _labels(corpus, build))
            insert(connection, LABELS, change({row.doc_id: row for row in current}))

    def labels(self, corpus: str, build: str) -> list[LabelRow]:
        """The current ones: a person's last label of a document, else the last one at all."""
        query, stamp = _labels(corpus, build), select(func.max(LABELS.c.id))
        place = ("labels", corpus, build)
        return [*self._database.remembered(place, stamp, lambda c: records(c, LabelRow, query))]

    # Steps

    def add_step(self, row: StepRow) -> None:
        """Append what a run made."""
        self._insert(STEPS, [row])

    def change(
        self, corpus: str, build: str, step: str, change: Callable[[StepRow | None], StepRow | None]
    ) -> None:
        """Change the result of a step, in an exclusive transaction.

        Args:
            change: current result (None: none yet) -> new one (None: leave it). Must not use the
                ledger; what it raises undoes everything.
        """
        with self._database.write() as connection:
            changed = change(first(connection, StepRow, _last_step(corpus, build, step)))
            if changed is not None:
                insert(connection, STEPS, [changed])

    def last(self, corpus: str, build: str, step: str) -> StepRow | None:
        """What a step made, as people left it; None when it made nothing yet."""
        query, stamp = _last_step(corpus, build, step), select(func.max(STEPS.c.id))
        place = ("step", corpus, build, step)
        return self._database.remembered(place, stamp, lambda c: first(c, StepRow, query))

    def steps(self, corpus: str, build: str) -> list[StepRow]:
        """Every run and every edit, in their order, without their content."""
        query = select(*columns_of(STEPS, StepRow, without="content"))
        query = query.where(STEPS.c.corpus == corpus, STEPS.c.build == build)
        return self._database.records(StepRow, query.order_by(STEPS.c.id))


def _labels(corpus: str, build: str) -> Select[Any]:
    of_people = func.max(case((LABELS.c.maker == "person", LABELS.c.id)))
    current = (
        select(func.coalesce(of_people, func.max(LABELS.c.id)))
        .where(LABELS.c.corpus == corpus, LABELS.c.build == build)
        .group_by(LABELS.c.doc_id)
    )
    columns = columns_of(LABELS, LabelRow)
    return select(*columns).where(LABELS.c.id.in_(current)).order_by(LABELS.c.id)


def _last_step(corpus: str, build: str, step: str) -> Select[Any]:
    place = (STEPS.c.corpus == corpus, STEPS.c.build == build, STEPS.c.step == step)
    query = select(*columns_of(STEPS, StepRow)).where(*place, func.length(STEPS.c.content) > 0)
    return query.order_by(STEPS.c.id.desc()).limit(1)
