"""Labels of collections under construction, append-only: a person's label counts, whatever a model
says later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index, Select, case, func, select

from storage.database import LedgerTables
from storage.tables import columns_of, put, records, table


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
    expression: str = "implied"  # how the document has it: ``implied``, ``stated``, ``reported``


LABELS = table("build_labels", LabelRow, CheckConstraint("maker IN ('model', 'person')"))
Index("build_labels_by_build", LABELS.c.corpus, LABELS.c.build)


class Builds(LedgerTables):
    """The labels of builds of one ledger; errors as in :class:`storage.ledger.Ledger`."""

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
            put(connection, LABELS, change({row.doc_id: row for row in current}))

    def labels(self, corpus: str, build: str) -> list[LabelRow]:
        """The current ones: a person's last label of a document, else the last one at all."""
        query, stamp = _labels(corpus, build), select(func.max(LABELS.c.id))
        place = ("labels", corpus, build)
        return [*self._database.remembered(place, stamp, lambda c: records(c, LabelRow, query))]


def _labels(corpus: str, build: str) -> Select[Any]:
    of_people = func.max(case((LABELS.c.maker == "person", LABELS.c.id)))
    current = (
        select(func.coalesce(of_people, func.max(LABELS.c.id)))
        .where(LABELS.c.corpus == corpus, LABELS.c.build == build)
        .group_by(LABELS.c.doc_id)
    )
    columns = columns_of(LABELS, LabelRow)
    return select(*columns).where(LABELS.c.id.in_(current)).order_by(LABELS.c.id)
