"""``seedlens agreement``: how far annotators agree, and what is to be adjudicated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from engine.cli.annotate import include_audit_option, project_option
from engine.cli.common import json_option, open_explorer
from engine.cli.terminal import print_json, say_notes
from engine.types.annotating import Agreement, AgreementMeasure, Disagreement, Judgment
from engine.types.evaluations import NDCG, SystemScores

HUMAN_MEASURES = (NDCG, "p-MRR")


@click.command()
@click.argument("name")
@project_option
@click.option(
    "--disagreements", is_flag=True, help="List what is to be adjudicated, widest spread first."
)
@include_audit_option
@json_option
def agreement(
    name: str, project: str, disagreements: bool, include_audit: bool, as_json: bool
) -> None:
    """Say how far the annotators of a project on corpus NAME agree.

    Raw agreement, Fleiss' kappa and Krippendorff's alpha over all of them and by aspect;
    Cohen's kappas, with a confusion matrix, of every pair. Language models stand apart: they
    are compared with people in pairs only. Intervals are bootstraps of 95 % over items. What
    each annotator's own grades reach as a ranking, held against what was decided without them,
    is what a system can be asked for at most.
    """
    explorer = open_explorer()
    annotation = explorer.annotation
    asked = annotation.project(name, project)
    if disagreements:
        _show_disagreements(annotation.disagreements(asked), as_json)
        return
    result = annotation.agreement(asked, audit=include_audit)
    rows = explorer.human_rows(asked)
    if as_json:
        human = {who: dict(scores.metrics) for who, scores in rows.items()}
        print_json({**_agreement_report(result), "human": human})
    else:
        _print_agreement(result)
        _print_human(rows)
    say_notes(result.notes)


def measures_report(measures: Sequence[AgreementMeasure]) -> dict[str, Any]:
    """Measures as JSON has them."""
    return {m.name: {"value": m.value, "interval": m.interval, "items": m.items} for m in measures}


def _agreement_report(result: Agreement) -> dict[str, Any]:
    return {
        "annotators": list(result.annotators),
        "grades": list(result.grades),
        "models": list(result.models),
        "measures": measures_report(result.measures),
        "by_aspect": {a or "any": measures_report(m) for a, m in result.by_aspect.items()},
        "pairs": [
            {
                "annotators": list(pair),
                "with_model": result.with_model(pair),
                "measures": measures_report(measures),
                "confusion": [list(row) for row in result.confusion[pair]],
            }
            for pair, measures in result.pairs.items()
        ],
        "notes": list(result.notes),
    }


def _print_agreement(result: Agreement) -> None:
    people = {
        "all": result.measures,
        **{aspect or "any": measures for aspect, measures in result.by_aspect.items()},
        **{" and ".join(p): m for p, m in result.pairs.items() if not result.with_model(p)},
    }
    models = {" and ".join(p): m for p, m in result.pairs.items() if result.with_model(p)}
    for title, groups in (("", people), ("Against language models", models)):
        if title and groups:
            click.echo(f"\n{title}")
        for group, measures in groups.items():
            click.echo(f"{group} ({measures[0].items:,} items)")
            for line in measure_lines(measures):
                click.echo(line)
    for (one, other), counts in result.confusion.items():
        click.echo(f"\nrows: {one}, columns: {other}")
        for line in confusion_lines(result.grades, counts):
            click.echo(line)


def _print_human(rows: Mapping[str, SystemScores]) -> None:
    if not rows:
        return
    click.echo(
        "\nLeave-one-out: an annotator's grades as a ranking, against what was decided without them"
    )
    click.echo(f"  {'':32}" + "".join(f"{measure:>9}" for measure in HUMAN_MEASURES) + "  queries")
    for who, scores in rows.items():
        values = (scores.metrics[measure] for measure in HUMAN_MEASURES)
        shown = "".join(f"{'–' if v is None else f'{v:.3f}':>9}" for v in values)
        click.echo(f"  {who:32}{shown}{len(scores.per_query):>9,}")


def measure_lines(measures: Sequence[AgreementMeasure]) -> Iterator[str]:
    """A line per measure, with its interval."""
    for measure in measures:
        yield f"  {measure.title:32}{_shown(measure)}"


def confusion_lines(grades: Sequence[int], counts: Sequence[Sequence[int]]) -> Iterator[str]:
    """A matrix of counts, grades at its head and side."""
    yield "     " + "".join(f"{grade:>7}" for grade in grades)
    for grade, row in zip(grades, counts, strict=True):
        yield f"  {grade:>3}" + "".join(f"{number:>7,}" for number in row)


def _shown(measure: AgreementMeasure) -> str:
    value = "undefined" if measure.value is None else f"{measure.value:.3f}"
    if measure.interval is None:
        return value
    low, high = measure.interval
    return f"{value}   {low:.3f} to {high:.3f}"


def _show_disagreements(items: Sequence[Disagreement], as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "query_id": d.query_id,
                    "doc_id": d.doc_id,
                    "spread": d.spread,
                    "said": {j.annotator: _said(j) for j in d.said},
                    "decided": None if d.decided is None else d.decided.relevance,
                }
                for d in items
            ]
        )
        return
    for d in items:
        said = ", ".join(f"{j.annotator} {_said(j)}" for j in d.said)
        decided = "" if d.decided is None else f"  -> {d.decided.relevance}"
        click.echo(f"{d.query_id}  {d.doc_id}  {said}{decided}")
    if not items:
        click.echo("Nothing to adjudicate.", err=True)


def _said(judgment: Judgment) -> int | str:
    return judgment.verdict if judgment.relevance is None else judgment.relevance
