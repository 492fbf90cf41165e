"""``seedlens grade``: let a language model grade what is pooled, and hold it against people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import click
from pydantic import NonNegativeInt, PositiveInt

from engine.cli.annotate import confusion_lines, measure_lines, measures_report
from engine.cli.common import open_explorer
from engine.cli.model import end_run, run_task, taken, task_fields
from engine.cli.options import from_signature
from engine.cli.terminal import print_json, say_notes, what_else
from engine.errors import BadInputError
from engine.text import counted
from engine.types.annotating import ANCHORS, GradeCounts, GradingRequest, ModelCheck
from engine.types.models import Estimate, TaskReport

LISTED = 20
"""Differences that are listed in words; --json has them all."""


@click.command()
@from_signature
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
    yes: bool = False,
    budget_calls: NonNegativeInt | None = None,
    as_json: bool = False,
) -> None:
    """Let the language model grade the pool of a project on corpus NAME.

    It reads the query, the guidelines, documents that are known to be relevant, and one
    candidate at a time, and grades by a name of its own, model:<name>. People's grades stay as
    they are, and its own count only where the project says so (seedlens project change
    --model-grades). What it will take is said before anything is asked. A run that was stopped
    goes on when the same command is run again.

    Options:
        query_ids --query QID: Only this query. Repeatable.
        anchors N: Documents known to be relevant that are shown beside each candidate, at most.
        limit N: Grade N candidates at most, and go on from there the next time.
        judged: Also what people graded, to compare the model.
        again: Also what this model graded before.
        check: Only say how far people agree with the model.
    """
    if not project:
        raise BadInputError(
            "What is judged while exploring has no pool.", "Name a project with --project."
        )
    from engine.annotate.projects import model_annotator

    explorer = open_explorer()
    annotation = explorer.annotation
    asked, grading = annotation.project(name, project), annotation.grading
    if check:
        _show_check(grading.check(asked), as_json)
        return
    request = GradingRequest(asked, tuple(query_ids), anchors, again, limit, judged)
    settings = {f.name: getattr(request, f.name) for f in fields(request) if f.name != "project"}

    def announced(estimate: Estimate) -> dict[str, Any]:
        model = explorer.verifier.endpoint().model
        asked = {"request": settings, "annotator": model and model_annotator(model)}
        return {**asked, "candidates": estimate.items, **task_fields(estimate)}

    estimate, report = run_task(
        grading,
        request,
        _to_grade,
        unit="candidates",
        yes=yes,
        budget_calls=budget_calls,
        only_estimate=only_estimate,
        announced=announced,
        as_json=as_json,
    )
    done = {"request": settings, **task_fields(report)}
    end_run(announced(estimate), done, report, report_line(report), as_json=as_json)


def _to_grade(estimate: Estimate) -> str:
    """What is to be done."""
    counts = estimate.counts
    queries = counted(counts["queries"], "query", "queries")
    text = f"{estimate.items:,} candidates of {queries} to grade"
    if counts["done"]:
        text += f"; {counts['done']:,} have this model's grade already"
    if counts["judged"]:
        text += f"; {counts['judged']:,} are left to people, who graded them"
    return f"{text}."


def report_line(report: TaskReport[GradeCounts]) -> str:
    """What a run did, in a sentence or two."""
    made = report.result
    each = ", ".join(f"{number:,} x {value}" for value, number in made.grades.items() if number)
    text = (
        f"{made.annotator}: {made.graded:,} candidates graded{f' ({each})' if each else ''} in "
        f"{report.seconds:.1f} s; {taken(report)}"
    )
    parts = [
        (made.changed, "graded otherwise than before"),
        (report.failed, "candidates without a usable answer"),
        (report.left, "candidates not reached"),
    ]
    return text + what_else(parts, goes_on=bool(report.failed or report.left))


# -- people against the model --------------------------------------------------------------------


def _show_check(comparison: ModelCheck, as_json: bool) -> None:
    say_notes(comparison.notes)
    if as_json:
        print_json(
            {
                "annotator": comparison.annotator,
                "graded": comparison.graded,
                "items": comparison.items,
                "undecided": comparison.undecided,
                "grades": list(comparison.grades),
                "measures": measures_report(comparison.measures),
                "by_aspect": {
                    a or "any": measures_report(m) for a, m in comparison.by_aspect.items()
                },
                "confusion": [list(row) for row in comparison.confusion],
                "differences": [asdict(difference) for difference in comparison.differences],
            }
        )
        return
    if not comparison.annotator:
        click.echo("No model has graded anything in this project.", err=True)
        return
    click.echo(
        f"{comparison.annotator} graded {comparison.graded:,} items; people graded "
        f"{comparison.items:,} of them."
    )
    if not comparison.items:
        return
    for line in measure_lines(comparison.measures):
        click.echo(line)
    if len(comparison.by_aspect) > 1:
        for aspect, measures in comparison.by_aspect.items():
            click.echo(f"{aspect or 'any'} ({measures[0].items:,} items)")
            for line in measure_lines(measures):
                click.echo(line)
    click.echo("rows: people, columns: the model")
    for line in confusion_lines(comparison.grades, comparison.confusion):
        click.echo(line)
    for one in comparison.differences[:LISTED]:
        said = [f"{who} {grade}" for who, grade in one.said.items()]
        if one.decided_by:
            said.append(f"decided by {one.decided_by}: {one.people}")
        click.echo(
            f"{one.query_id}  {one.doc_id}  {', '.join(said)}, model {one.model}: {one.reason}"
        )
    if (more := len(comparison.differences) - LISTED) > 0:
        click.echo(f"And {more:,} more differences; --json has them all.", err=True)
