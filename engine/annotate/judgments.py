"""One judgment: checked against its project, and stored as an event."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from operator import attrgetter

from engine.annotate.projects import check_annotator, printable
from engine.errors import BadInputError, check_length
from engine.types.annotating import Judgment, Origin, Project, Verdict
from engine.types.limits import LONGEST_EVENT, LONGEST_NOTE
from engine.types.searches import Query
from storage.judgment_events import Judging
from storage.records import new_event

BY_MODEL, BUILT = MADE = ("grading-", "build-")
"""First words of the ids of judgments by a model that grades, and of a build, which are known
positives of its queries."""
GIVEN: tuple[Verdict, ...] = ("grade", "skip", "unsure", "withdrawn")
"""Verdicts that a person can give; an undo is separate."""


def checked(project: Project, judgment: Judgment) -> Judgment:
    """The judgment for its project, with cleaned names, note and instruction; without ``rank`` and
    ``system`` in a blind project."""
    annotator = check_annotator(judgment.annotator, judgment.origin)
    check_length("event", judgment.event, LONGEST_EVENT)
    _check_verdict(project, judgment)
    check_member(project, annotator, judgment.origin)
    blind = project.blind and bool(project.name)
    return replace(
        judgment,
        corpus=project.corpus,
        project=project.name,
        annotator=annotator,
        note=checked_note(judgment.note),
        instruction=printable(judgment.instruction),
        marks=tuple(judgment.marks),
        rank=None if blind else judgment.rank,
        system="" if blind else judgment.system,
        blind=blind,
        event=judgment.event or new_event(),
    )


def checked_note(note: str) -> str:
    """The note without control characters; BadInputError when it is too long."""
    check_length("note", note, LONGEST_NOTE)
    return printable(note)


def _check_verdict(project: Project, judgment: Judgment) -> None:
    verdict, relevance, values = judgment.verdict, judgment.relevance, project.scale.values
    if verdict not in GIVEN:
        raise BadInputError(f"'{verdict}' is no verdict.", f"Use {', '.join(GIVEN)}.")
    if verdict != "grade":
        if relevance is not None:
            raise BadInputError(f"A '{verdict}' has the grade {relevance}.", "Leave the grade out.")
    elif type(relevance) is not int or relevance not in values:  # 2.0 and True are equal to some
        raise BadInputError(
            f"The grade is {relevance}.", f"Grades are {', '.join(map(str, values))}."
        )


def check_not_seed(judgment: Judgment, query: Query) -> None:
    """BadInputError when a query's own seed is judged; withdrawing is allowed."""
    if judgment.doc_id == query.seed and judgment.verdict != "withdrawn":
        raise BadInputError(
            f"Document '{judgment.doc_id}' is the seed of '{judgment.query_id}'.",
            "Judge what is to be like it.",
        )


def check_member(project: Project, annotator: str, origin: Origin = "person") -> None:
    """Raise BadInputError when a project with a list of people does not have this one."""
    people = {*project.annotators, *project.leads}
    if origin in ("person", "audit") and project.annotators and annotator not in people:
        raise BadInputError(
            f"'{annotator}' is not among the annotators of project '{project.name}'.",
            f"They are {', '.join(sorted(people))}; a lead can add others.",
        )


def check_decision(
    judging: Judging, project: Project, judgment: Judgment, seen: str | None = None
) -> None:
    """Refuse a decision by a person who is no lead, without a reason, after one by somebody else
    that was not ``seen`` (None for any), or that takes back nothing of its annotator's."""
    by, query_id, doc_id = judgment.annotator.strip(), *judgment.item
    if project.leads and by not in project.leads:
        raise BadInputError(
            f"'{by}' cannot adjudicate in project '{project.name}'.",
            f"Its leads are {', '.join(sorted(project.leads))}.",
        )
    if judgment.relevance is not None and not judgment.note.strip():
        raise BadInputError("The decision has no reason.", "Say in a few words why.")
    of_query = judging.latest(*project.key, query_id)
    decided = [j for j in of_query if j.doc_id == doc_id and j.origin == "adjudication"]
    last = decided[-1] if decided else None
    if last and seen is not None and last.annotator != by and last.event != seen:
        raise BadInputError(
            f"{last.annotator} decided about document '{doc_id}' for '{query_id}' in the meantime.",
            "Look at that decision, among those that are decided, and then change it. Nothing was "
            "changed.",
        )
    people = sorted({j.annotator for j in decided})
    is_new = judgment.verdict == "withdrawn" and by not in people
    if is_new and judging.find(judgment.event) is None:
        raise BadInputError(
            f"'{by}' decided nothing about document '{doc_id}' for '{query_id}'.",
            f"It was decided by {', '.join(people)}."
            if people
            else "There is nothing to take back.",
        )


def digest(*parts: str) -> str:
    """Names an event by what it is."""
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:24]


def store(judging: Judging, judgment: Judgment) -> None:
    """Keep a judgment; one that was sent before is there already."""
    if judging.add([judgment]):
        return
    stored = judging.find(judgment.event)
    if stored is None or _content(stored) != _content(judgment):
        raise BadInputError(
            f"The event '{judgment.event}' is stored already, and says something else.",
            "Say it again: what is new has another event. Nothing was changed.",
        )


_content = attrgetter(
    *("corpus", "project", "item", "annotator", "origin"),
    *("verdict", "relevance", "note", "marks"),
)
