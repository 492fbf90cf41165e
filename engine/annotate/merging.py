"""Merging what came in with what is there: nothing twice, and nobody's word changed unasked."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.annotate.intake import MOST_LISTED, Incoming, Key, digest, key_of
from engine.types import Project
from storage.judging import JudgmentRow


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

    Where an annotator's standing judgment differs from what the file says last, and the file
    does not know of it, what stands here stays (``overwrite``: the file's counts from now on).
    Both are reported.

    Args:
        stored: event -> row, all that the project ever had.
        standing: what of it counts.
    """
    here = {key_of(row): row for row in standing}
    of_item: dict[Key, list[Incoming]] = {}
    for item in incoming:
        of_item.setdefault(key_of(item.row), []).append(item)
    conflicts, refused, known = [], set[Key](), 0
    for key, items in of_item.items():
        new = [i for i in items if i.row.event not in stored]
        known += len(items) - len(new)
        conflicts += [c for i in items if (c := _changed(i, stored.get(i.row.event)))]
        stands, last = here.get(key), _last(items)
        if not new or stands is None or stands.event in {i.row.event for i in items}:
            continue
        if last is None or _said(stands) != _said(last.row):
            conflicts.append(_difference(stands, last or items[-1], overwrite=overwrite))
            refused |= set() if overwrite else {key}
    rows = [i.row for i in incoming if i.row.event not in stored and key_of(i.row) not in refused]
    return Merged(tuple(rows), known, _listed(conflicts))


def named_here(
    incoming: Sequence[Incoming], project: Project, elsewhere: Container[str]
) -> list[Incoming]:
    """The same events; those that another project has as well get ids of their own."""

    def own(event: str) -> str:
        return digest(project.corpus, project.name, event) if event in elsewhere else event

    return [
        replace(i, row=replace(i.row, event=own(i.row.event), undoes=own(i.row.undoes)))
        for i in incoming
    ]


def _last(items: Sequence[Incoming]) -> Incoming | None:
    """What stands of an item in the file itself."""
    undone = {i.row.undoes for i in items}
    left = [i for i in items if i.row.verdict != "undo" and i.row.event not in undone]
    return left[-1] if left else None


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


def _difference(stands: JudgmentRow, item: Incoming, *, overwrite: bool) -> str:
    outcome = "the file's counts now" if overwrite else "what is here stays"
    return (
        f"{_where(item)}: {stands.annotator} said {_shown(stands)} of '{stands.doc_id}' for "
        f"'{stands.query_id}' here, and {_shown(item.row)} in the file; {outcome}."
    )


def _where(item: Incoming) -> str:
    return f"Line {item.line:,}" if item.line else f"'{item.row.query_id}'"


def _shown(row: JudgmentRow) -> str:
    return str(row.relevance) if row.relevance is not None else row.verdict


def _listed(conflicts: Sequence[str]) -> tuple[str, ...]:
    more = len(conflicts) - MOST_LISTED
    return (*conflicts[:MOST_LISTED], *([f"And {more:,} more."] if more > 0 else []))
