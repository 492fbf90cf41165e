"""Merging what came in with what is there: nothing twice, and nobody's word changed unasked."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.annotate.intake import MOST_LISTED, Incoming, Key, digest, key_of
from engine.types import Project
from storage.judging import JudgmentRow

NO_MARKS = "[]"
_MAKER = re.compile(r"[a-z]+-")


@dataclass(frozen=True, slots=True)
class Merged:
    """What an import comes to.

    Attributes:
        rows: events to be added, in order.
        known: how many are stored already.
        conflicts: where the file says otherwise than what stands.
    """

    rows: tuple[JudgmentRow, ...]
    known: int
    conflicts: tuple[str, ...] = ()


def merge(
    incoming: Sequence[Incoming],
    stored: Mapping[str, JudgmentRow],
    standing: Iterable[JudgmentRow],
    *,
    overwrite: bool = False,
) -> Merged:
    """Events that are new, without those that would change what somebody said here.

    Where an annotator's standing judgment, or that they took it back, differs from what the file
    says last, and the file does not know of it, what is here stays (``overwrite``: the file's
    counts from now on). Both are reported. A judgment that came without an event says what
    stands, or differs.

    Args:
        stored: event -> row, all that the project ever had, in order of arrival.
        standing: what of it counts.
    """
    merging = _Merging(
        stored,
        {key_of(row): row for row in standing},
        {key_of(row): row for row in stored.values()},
        overwrite,
    )
    of_item: dict[Key, list[Incoming]] = {}
    for item in incoming:
        if item.is_named:
            of_item.setdefault(key_of(item.row), []).append(item)
    refused = {key for key, items in of_item.items() if not merging.takes(items)}
    rows = []
    for item in incoming:
        if not item.is_named:
            rows += merging.unnamed(item)
        elif item.row.event not in stored and key_of(item.row) not in refused:
            rows.append(item.row)
    return Merged(tuple(rows), merging.known, _listed(merging.conflicts))


@dataclass(slots=True)
class _Merging:
    """What is here, and what is found out about a file.

    Attributes:
        here: what stands of each item.
        last: the last event of each, also where it was taken back.
    """

    stored: Mapping[str, JudgmentRow]
    here: Mapping[Key, JudgmentRow]
    last: Mapping[Key, JudgmentRow]
    overwrite: bool
    known: int = 0
    conflicts: list[str] = field(default_factory=list)

    def takes(self, items: Sequence[Incoming]) -> bool:
        """Whether the events of one item are to be added, those that are new."""
        new = [i for i in items if i.row.event not in self.stored]
        self.known += len(items) - len(new)
        self.conflicts += [c for i in items if (c := _changed(i, self.stored.get(i.row.event)))]
        key, told = key_of(items[0].row), {i.row.event for i in items}
        stands, here, last = self.here.get(key), self.last.get(key), _last(items)
        if not new or here is None or (stands or here).event in told:
            return True
        # Where nothing stands, it was taken back here.
        if _said_at_last(stands) == _said_at_last(None if last is None else last.row):
            return True
        self._differs(stands, here, last or items[-1])
        return self.overwrite

    def unnamed(self, item: Incoming) -> list[JudgmentRow]:
        """The event that a judgment without one is to be; none where it says what stands."""
        key = key_of(item.row)
        last, stands = self.last.get(key), self.here.get(key)
        if last is None:
            return [item.row]
        if stands is None and item.row.verdict == "withdrawn":
            self.known += 1
            return []
        if stands is not None and _repeats(item.row, stands):
            self.known += 1
            return []
        self._differs(stands, last, item)
        # The same grade may be given, changed and given again: each time it is another event.
        event = digest(item.row.event, last.event)
        return [replace(item.row, event=event)] if self.overwrite else []

    def _differs(self, stands: JudgmentRow | None, last: JudgmentRow, item: Incoming) -> None:
        outcome = "the file's counts now" if self.overwrite else "what is here stays"
        here = "took back what was said" if stands is None else f"said {_shown(stands)}"
        said = _shown(item.row)
        if stands is not None and _said(stands) == _said(item.row):
            said = "the same with another note or other marks"
        self.conflicts.append(
            f"{_where(item)}: {last.annotator} {here} of '{last.doc_id}' for "
            f"'{last.query_id}' here, and {said} in the file; {outcome}."
        )


def named_here(
    incoming: Sequence[Incoming], project: Project, elsewhere: Container[str]
) -> list[Incoming]:
    """The same events; those that another project has as well get ids of their own.

    The word that an id begins with stays: it says what made the event, see
    :data:`engine.annotate.model_plan.EVENT` and ``BUILT``.
    """

    def own(event: str) -> str:
        if event not in elsewhere:
            return event
        maker = _MAKER.match(event)
        return (maker[0] if maker else "") + digest(project.corpus, project.name, event)

    return [
        replace(i, row=replace(i.row, event=own(i.row.event), undoes=own(i.row.undoes)))
        for i in incoming
    ]


def _repeats(row: JudgmentRow, stands: JudgmentRow) -> bool:
    """Whether a file says what stands; where it has no note or no marks it says nothing of them."""
    return (
        _said(row) == _said(stands)
        and row.note in ("", stands.note)
        and row.marks in (NO_MARKS, stands.marks)
    )


def _last(items: Sequence[Incoming]) -> Incoming | None:
    """What stands of an item in the file itself."""
    undone = {i.row.undoes for i in items}
    left = [i for i in items if i.row.verdict != "undo" and i.row.event not in undone]
    return left[-1] if left else None


def _said_at_last(row: JudgmentRow | None) -> tuple[str, int | None]:
    return ("withdrawn", None) if row is None else _said(row)


def _said(row: JudgmentRow) -> tuple[str, int | None]:
    return (row.verdict, row.relevance)


def _changed(item: Incoming, stored: JudgmentRow | None) -> str:
    """What to say of an event that is stored with another content."""
    row = item.row
    if stored is None or (key_of(stored), _said(stored), stored.note) == (
        key_of(row), _said(row), row.note,
    ):  # fmt: skip
        return ""
    return (
        f"{_where(item)}: this event is stored as {_shown(stored)}, and events never change; "
        "clear its 'event' to import it as another judgment."
    )


def _where(item: Incoming) -> str:
    return f"Line {item.line:,}" if item.line else f"'{item.row.query_id}'"


def _shown(row: JudgmentRow) -> str:
    return str(row.relevance) if row.relevance is not None else row.verdict


def _listed(conflicts: Sequence[str]) -> tuple[str, ...]:
    more = len(conflicts) - MOST_LISTED
    return (*conflicts[:MOST_LISTED], *([f"And {more:,} more."] if more > 0 else []))
