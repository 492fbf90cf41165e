"""``seedlens agreement`` and ``grade``: how far people agree, and a model that grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from pydantic import PositiveInt

from engine.cli.common import ModelRun, end_run, open_explorer, outcome, run_task, task_fields
from engine.cli.options import command
from engine.cli.terminal import Figure, say, show, show_rows, table
from engine.errors import BadInputError
from engine.text import counted
from engine.types.annotating import (
    ANCHORS,
    Agreement,
    AgreementMeasure,
    GradeCounts,
    GradingRequest,
    ModelCheck,
    Project,
)
from engine.types.evaluations import NDCG, SystemScores
from engine.types.models import Estimate, TaskReport

if TYPE_CHECKING:
    from engine.annotate.annotation import Annotation

HUMAN_MEASURES = (NDCG, "p-MRR")
LISTED = 20
"""Differences that are listed in words; --json has them all."""


@command()
def agreement(
    name: str, *, project: str = "", disagreements: bool = False, include_audit: bool = False
) -> None:
    """Measure how far the annotators of a project on corpus NAME agree.

    Raw agreement, Fleiss' kappa and Krippendorff's alpha over all annotators and by aspect;
    Cohen's kappas and a confusion matrix for every pair. Language models are compared with people
    in pairs only. Intervals are bootstraps of 95 % over items. The measures of each annotator's
    grades as a ranking, against decisions made without them, bound what a system can reach.

    Options:
        disagreements: List what is to be adjudicated, widest spread first.
    """
    explorer = open_explorer()
    annotation = explorer.annotation
    opened = annotation.project(name, project)
    if disagreements:
        _show_disagreements(annotation, opened)
        return
    result = annotation.agreement(opened, audit=include_audit)
    rows = explorer.human_rows(opened)
    human = {who: dict(scores.metrics) for who, scores in rows.items()}
    lines = [*_agreement_lines(result), *_human_lines(rows)]
    show({**_agreement_report(result), "human": human}, *lines)
    say(result.notes)


def measures_report(measures: Sequence[AgreementMeasure]) -> dict[str, Any]:
    """Measures as JSON has them."""
    return {m.name: {"value": m.value, "interval": m.interval, "items": m.items} for m in measures}


def _agreement_report(result: Agreement) -> dict[str, Any]:
    return {
        "annotators": result.annotators,
        "grades": result.grades,
        "models": result.models,
        "measures": measures_report(result.measures),
        "by_aspect": {a or "any": measures_report(m) for a, m in result.by_aspect.items()},
        "pairs": [
            {
                "annotators": pair,
                "with_model": result.with_model(pair),
                "measures": measures_report(measures),
                "confusion": result.confusion[pair],
            }
            for pair, measures in result.pairs.items()
        ],
        "notes": result.notes,
    }


def _agreement_lines(result: Agreement) -> Iterator[str]:
    people = {
        "all": result.measures,
        **{aspect or "any": measures for aspect, measures in result.by_aspect.items()},
        **{" and ".join(p): m for p, m in result.pairs.items() if not result.with_model(p)},
    }
    models = {" and ".join(p): m for p, m in result.pairs.items() if result.with_model(p)}
    yield measures_table(people)
    if models:
        yield f"\nAgainst language models\n{measures_table(models)}"
    for (one, other), counts in result.confusion.items():
        yield f"\nrows: {one}, columns: {other}\n{confusion_table(result.grades, counts)}"


def _human_lines(rows: Mapping[str, SystemScores]) -> Iterator[str]:
    if rows:
        yield "\nLeave-one-out: an annotator's grades as a ranking, against others' decisions"
        values = [
            (who, *(scores.metrics[m] for m in HUMAN_MEASURES), len(scores.per_query))
            for who, scores in rows.items()
        ]
        yield table(("", *HUMAN_MEASURES, "queries"), values)


def measures_table(groups: Mapping[str, Sequence[AgreementMeasure]]) -> str:
    """A row per group and measure, with its interval and number of items."""
    undefined, none = Figure("undefined"), Figure("")
    rows = [
        (name, m.title, undefined if m.value is None else m.value, m.interval or none, m.items)
        for name, measures in groups.items()
        for m in measures
    ]
    return table(("", "", "", "95 %", "items"), rows)


def confusion_table(grades: Sequence[int], counts: Sequence[Sequence[int]]) -> str:
    """A matrix of counts, with grades in its head and first column."""
    rows = [(grade, *row) for grade, row in zip(grades, counts, strict=True)]
    return table(("", *map(str, grades)), rows)


def _show_disagreements(annotation: Annotation, project: Project) -> None:
    report, rows = [], []
    for one in annotation.disagreements(project):
        said = {j.annotator: j.verdict if j.relevance is None else j.relevance for j in one.said}
        decided = None if one.decided is None else one.decided.relevance
        item = {"query_id": one.query_id, "doc_id": one.doc_id}
        report.append({**item, "spread": one.spread, "said": said, "decided": decided})
        grades = ", ".join(f"{who} {grade}" for who, grade in said.items())
        rows.append((*item.values(), grades, "" if decided is None else f"-> {decided}"))
    show_rows(report, ("", "", "", ""), rows, "Nothing to adjudicate.")


# -- a model that grades ---------------------------------------------------------------------------


@command()
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
    report = asdict(found)
    del report["notes"]
    by_aspect = {a or "any": measures_report(m) for a, m in found.by_aspect.items()}
    return {**report, "measures": measures_report(found.measures), "by_aspect": by_aspect}


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
