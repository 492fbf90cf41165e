"""One judgment: checked against its project, and stored as an event."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from engine.annotate.projects import check_annotator, printable
from engine.errors import BadInputError
from engine.types.annotating import Item, Judgment, Origin, Project, Verdict
from engine.types.limits import LONGEST_EVENT, LONGEST_NOTE
from engine.types.searches import Query
from storage.judgment_events import Judging
from storage.records import new_event

BY_MODEL, BUILT, IMPORTED = MADE = ("grading-", "build-", "import-")
"""What the ids of events begin with that nobody said here: that grading by a model makes; by which
a build says which documents it made a query from (they are its known positives, also where a model
labelled them, and also in a project that they are copied into); of judgments in files."""
GIVEN: tuple[Verdict, ...] = ("grade", "skip", "unsure", "withdrawn")
"""What a person can say of an item; an undo is asked for separately."""


def checked(project: Project, judgment: Judgment) -> Judgment:
    """The judgment for its project, with cleaned names, note and instruction; without ``rank`` and
    ``system`` in a blind project."""
    annotator = check_annotator(judgment.annotator, judgment.origin)
    check_event(judgment.event)
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


def check_event(event: str) -> None:
    """Raise BadInputError when the id of a judgment is too long."""
    if len(event) > LONGEST_EVENT:
        raise BadInputError(
            f"The event has {len(event):,} characters.", f"Use at most {LONGEST_EVENT:,}."
        )


def check_said(event: str) -> None:
    """Raise BadInputError where what somebody says here has an id that other things make."""
    check_event(event)
    if event.startswith(MADE):
        raise BadInputError(
            f"The event '{event}' begins as those that SeedLens makes itself.",
            "Give it another id, or none.",
        )


def checked_note(note: str) -> str:
    """The note without control characters; BadInputError when it is too long."""
    if len(note) > LONGEST_NOTE:
        raise BadInputError(
            f"The note has {len(note):,} characters.", f"Use at most {LONGEST_NOTE:,}."
        )
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


def check_decision(project: Project, judgment: Judgment) -> None:
    """Raise BadInputError for an adjudication by nobody who may, or a grade without a reason."""
    by = judgment.annotator
    if project.leads and by.strip() not in project.leads:
        raise BadInputError(
            f"'{by}' cannot adjudicate in project '{project.name}'.",
            f"Its leads are {', '.join(sorted(project.leads))}.",
        )
    if judgment.relevance is not None and not judgment.note.strip():
        raise BadInputError("The decision has no reason.", "Say in a few words why.")


def check_decided(judging: Judging, judgment: Judgment) -> None:
    """Raise BadInputError when a decision is taken back, and there is none by its annotator."""
    if judgment.verdict != "withdrawn" or judging.find(judgment.event) is not None:
        return
    standing = judging.latest(judgment.corpus, judgment.project, judgment.query_id)
    deciding = {
        j.annotator for j in standing if j.doc_id == judgment.doc_id and j.origin == "adjudication"
    }
    if judgment.annotator not in deciding:
        raise BadInputError(
            f"'{judgment.annotator}' decided nothing about document '{judgment.doc_id}' for "
            f"'{judgment.query_id}'.",
            f"It was decided by {', '.join(sorted(deciding))}."
            if deciding
            else "There is nothing to take back.",
        )


def check_seen(judging: Judging, project: Project, item: Item, by: str, seen: str) -> None:
    """BadInputError when somebody else decided an item since ``by`` saw it (``seen``: the
    decision's event, "" for none)."""
    query_id, doc_id = item
    standing = judging.latest(*project.key, query_id)
    decided = [j for j in standing if j.doc_id == doc_id and j.origin == "adjudication"]
    if decided and decided[-1].annotator != by and decided[-1].event != seen:
        raise BadInputError(
            f"{decided[-1].annotator} decided about document '{doc_id}' for '{query_id}' in the "
            "meantime.",
            "Look at that decision, among those that are decided, and then change it. Nothing was "
            "changed.",
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


def _content(judgment: Judgment) -> tuple[object, ...]:
    item = (judgment.corpus, judgment.project, judgment.query_id, judgment.doc_id)
    said = (judgment.verdict, judgment.relevance, judgment.note, judgment.marks)
    return (*item, judgment.annotator, judgment.origin, *said)
