"""``seedlens grade``: let a language model grade a pool, and compare it with people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

import click
from pydantic import PositiveInt

from engine.cli.annotate import confusion_table, measures_report, measures_table
from engine.cli.common import open_explorer
from engine.cli.model import ModelRun, end_run, outcome, run_task, task_fields
from engine.cli.options import printing_json
from engine.cli.terminal import say, show
from engine.errors import BadInputError
from engine.text import counted
from engine.types.annotating import ANCHORS, GradeCounts, GradingRequest, ModelCheck
from engine.types.models import Estimate, TaskReport

LISTED = 20
"""Differences that are listed in words; --json has them all."""


@click.command()
@printing_json
def grade(
    name: str,
    *,
    project: str = "",
    query_ids: Sequence[str] = (),
    anchors: int = ANCHORS,
    limit: PositiveInt | None = None,
    judged: bool = False,
    again: bool = False,
    only_estimate: bool = False,
    check: bool = False,
    run: ModelRun,
) -> None:
    """Let the language model grade the pool of a project on corpus NAME.

    It reads the query, the guidelines, documents known to be relevant, and one candidate at a
    time. Its grades are stored under model:<name>; people's are kept, and count alone unless the
    project takes its grades (seedlens project change --model-grades). The same command resumes a
    run that was stopped.

    Options:
        query_ids --query QID: Only this query. Repeatable.
        anchors N: Most known relevant documents beside each candidate.
        limit N: Grade at most N candidates; the next run goes on from there.
        judged: Also candidates that people graded, to compare the model.
        again: Also candidates that this model graded before.
        check: Grade nothing; measure how far people agree with the model.
    """
    if not project:
        raise BadInputError(
            "What is judged while exploring has no pool.", "Name a project with --project."
        )
    from engine.annotate.projects import model_annotator

    explorer = open_explorer()
    opened, grading = explorer.annotation.project(name, project), explorer.annotation.grading
    if check:
        found = grading.check(opened)
        say(found.notes)
        show(_check_report(found), *_check_lines(found))
        return
    request = GradingRequest(opened, tuple(query_ids), anchors, again, limit, judged)
    settings = {f.name: getattr(request, f.name) for f in fields(request) if f.name != "project"}

    def announced(estimate: Estimate) -> dict[str, Any]:
        model = explorer.verifier.endpoint().model
        annotator = model and model_annotator(model)
        candidates = {"candidates": estimate.items, **task_fields(estimate)}
        return {"request": settings, "annotator": annotator, **candidates}

    estimate, report = run_task(
        *(grading, request, _to_grade, run),
        unit="candidates",
        announced=announced if only_estimate else None,
    )
    done = {"request": settings, **task_fields(report)}
    end_run(announced(estimate), done, report, report_line(report))


def _to_grade(estimate: Estimate) -> str:
    """What is to be done."""
    counts = estimate.counts
    text = f"{estimate.items:,} candidates of {counted(counts['queries'], 'query', 'queries')}"
    if counts["done"]:
        text += f"; {counts['done']:,} have this model's grade already"
    if counts["judged"]:
        text += f"; {counts['judged']:,} left out, as people graded them"
    return f"{text}."


def report_line(report: TaskReport[GradeCounts]) -> str:
    """What a run did, in a sentence or two."""
    made = report.result
    each = ", ".join(f"{number:,} x {value}" for value, number in made.grades.items() if number)
    graded = f"{made.annotator}: {made.graded:,} candidates graded{f' ({each})' if each else ''}"
    changed = (made.changed, "graded otherwise than before")
    return outcome(graded, report, changed, unit="candidates")


def _check_report(found: ModelCheck) -> dict[str, Any]:
    return {
        "annotator": found.annotator,
        "graded": found.graded,
        "items": found.items,
        "undecided": found.undecided,
        "grades": found.grades,
        "measures": measures_report(found.measures),
        "by_aspect": {a or "any": measures_report(m) for a, m in found.by_aspect.items()},
        "confusion": found.confusion,
        "differences": [asdict(difference) for difference in found.differences],
    }


def _check_lines(found: ModelCheck) -> Iterator[str]:
    if not found.annotator:
        yield "No model has graded anything in this project."
        return
    both = f"people graded {found.items:,} of them"
    yield f"{found.annotator} graded {found.graded:,} items; {both}."
    if not found.items:
        return
    by_aspect = {aspect or "any": measures for aspect, measures in found.by_aspect.items()}
    yield measures_table({"all": found.measures, **(by_aspect if len(by_aspect) > 1 else {})})
    yield f"rows: people, columns: the model\n{confusion_table(found.grades, found.confusion)}"
    for one in found.differences[:LISTED]:
        grades = [f"{who} {grade}" for who, grade in one.said.items()]
        if one.decided_by:
            grades.append(f"decided by {one.decided_by}: {one.people}")
        item = f"{one.query_id}  {one.doc_id}"
        yield f"{item}  {', '.join(grades)}, model {one.model}: {one.reason}"
    if (more := len(found.differences) - LISTED) > 0:
        yield f"And {more:,} more differences; --json has them all."
