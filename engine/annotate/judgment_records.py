"""One judgment: checked, stored as an event, and read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from engine.annotate.project_settings import check_annotator, printable
from engine.errors import BadInputError
from engine.types.annotating import Judgment, JudgmentVerdict, Origin, Project
from engine.types.documents import Span
from engine.types.searches import Query
from storage.judging import Judging, JudgmentRow, new_event

LONGEST_NOTE = 10_000
LONGEST_SECONDS = 1e9
"""What somebody can have taken for one item; far beyond any."""
GIVEN: tuple[JudgmentVerdict, ...] = ("grade", "skip", "unsure", "withdrawn")
"""What a person can say of an item; an undo is asked for separately."""


def make_judgment(
    project: Project,
    query_id: str,
    doc_id: str,
    annotator: str,
    relevance: int | None = None,
    *,
    verdict: JudgmentVerdict | None = None,
    note: str = "",
    marks: Sequence[Span] = (),
    origin: Origin = "person",
    rank: int | None = None,
    system: str = "",
    instruction: str = "",
    seconds: float | None = None,
    event: str = "",
    time: datetime | None = None,
) -> Judgment:
    """A judgment that fits its project.

    Args:
        verdict: None for a grade, or for taking one back when there is no ``relevance``.
        event: an id by which sending it twice stores it once.
        seconds: what cannot be measured (below 0, or no number) is None.

    Raises:
        BadInputError: a grade outside the scale, no annotator or one that the project does not
            have, a note that is too long.
    """
    annotator = check_annotator(annotator, origin)
    verdict = verdict or ("withdrawn" if relevance is None else "grade")
    _check_verdict(project, verdict, relevance)
    check_member(project, annotator, origin)
    blind = project.blind and bool(project.name)
    item, said = (project.corpus, project.name, query_id, doc_id), (annotator, verdict, relevance)
    return Judgment(
        *(*item, *said, time or datetime.now(UTC)),
        note=checked_note(note),
        marks=tuple(marks),
        origin=origin,
        rank=None if blind else rank,
        system="" if blind else system,
        instruction=instruction,
        blind=blind,
        seconds=_measured(seconds),
        event=event or new_event(),
    )


def _measured(seconds: float | None) -> float | None:
    # A browser's clock may be set back between two keys; NaN is not within, either.
    return seconds if seconds is not None and 0 <= seconds <= LONGEST_SECONDS else None


def checked_note(note: str) -> str:
    """The note without control characters; BadInputError when it is too long."""
    if len(note) > LONGEST_NOTE:
        raise BadInputError(
            f"The note has {len(note):,} characters.", f"Use at most {LONGEST_NOTE:,}."
        )
    return printable(note)


def _check_verdict(project: Project, verdict: JudgmentVerdict, relevance: int | None) -> None:
    if verdict not in GIVEN:
        raise BadInputError(f"'{verdict}' is no verdict.", f"Use {', '.join(GIVEN)}.")
    if verdict == "grade":
        check_grade(project, relevance)
    elif relevance is not None:
        raise BadInputError(f"A '{verdict}' has the grade {relevance}.", "Leave the grade out.")


def check_grade(project: Project, relevance: int | None) -> None:
    """Raise BadInputError for a grade that the project's scale does not have."""
    values = project.scale.values
    if relevance not in values or isinstance(relevance, bool):
        raise BadInputError(
            f"The grade is {relevance}.", f"Grades are {', '.join(map(str, values))}."
        )


def check_not_seed(judgment: Judgment, query: Query) -> None:
    """Raise BadInputError when the seed of a query is judged for it: no ranking holds it.

    What was said of one before can be withdrawn.
    """
    if judgment.doc_id == query.seed and judgment.verdict != "withdrawn":
        raise BadInputError(
            f"Document '{judgment.doc_id}' is the seed of '{judgment.query_id}'.",
            "Judge what is to be like it.",
        )


def check_member(project: Project, annotator: str, origin: Origin = "person") -> None:
    """Raise BadInputError when a project with a list of people does not have this one."""
    people = {*project.annotators, *project.leads}
    if origin == "person" and project.annotators and annotator not in people:
        raise BadInputError(
            f"'{annotator}' is not among the annotators of project '{project.name}'.",
            f"They are {', '.join(sorted(people))}; a lead can add others.",
        )


def to_row(judgment: Judgment, undoes: str = "") -> JudgmentRow:
    """The judgment as the ledger keeps it."""
    return JudgmentRow(
        corpus=judgment.corpus,
        query_id=judgment.query_id,
        doc_id=judgment.doc_id,
        relevance=judgment.relevance,
        annotator=judgment.annotator,
        note=judgment.note,
        instruction=judgment.instruction,
        rank=judgment.rank,
        system=judgment.system,
        time=judgment.time,
        verdict=judgment.verdict,
        project=judgment.project,
        origin=judgment.origin,
        marks=json.dumps([list(span) for span in judgment.marks]),
        blind=judgment.blind,
        seconds=judgment.seconds,
        event=judgment.event,
        undoes=undoes,
    )


def from_row(row: JudgmentRow) -> Judgment:
    """What :func:`to_row` wrote."""
    return Judgment(
        corpus=row.corpus,
        project=row.project,
        query_id=row.query_id,
        doc_id=row.doc_id,
        annotator=row.annotator,
        verdict=row.verdict,
        relevance=row.relevance,
        time=row.time,
        note=row.note,
        marks=tuple((a, b) for a, b in json.loads(row.marks)),
        origin=row.origin,
        rank=row.rank,
        system=row.system,
        instruction=row.instruction,
        blind=row.blind,
        seconds=row.seconds,
        event=row.event,
    )


def store(judging: Judging, judgment: Judgment) -> None:
    """Keep a judgment; one that was sent before is there already.

    Raises:
        BadInputError: its event is stored as something else, and it is not.
    """
    row = to_row(judgment)
    if judging.add([row]):
        return
    held = judging.find(row.event)
    if held is None or _said(held) != _said(row):
        raise BadInputError(
            f"The event '{row.event}' is stored already, and says something else.",
            "Say it again: what is new has another event. Nothing was changed.",
        )


def _said(row: JudgmentRow) -> tuple[object, ...]:
    item = (row.corpus, row.project, row.query_id, row.doc_id)
    return (*item, row.annotator, row.origin, row.verdict, row.relevance, row.note, row.marks)


def standing(
    judging: Judging, project: Project, query_id: str | None = None, annotator: str | None = None
) -> list[Judgment]:
    """What stands in a project, adjudications included, in order of arrival."""
    rows = judging.latest(project.corpus, project.name, query_id, annotator)
    return [from_row(row) for row in rows]
