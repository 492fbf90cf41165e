"""``seedlens scenarios``: write what documents are of use for, to search by it."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click
from click.core import ParameterSource

from engine.cli.common import json_option, open_explorer
from engine.cli.model import (
    at_most,
    budget_option,
    confirm,
    exit_code,
    say_problem,
    taken,
    task_fields,
)
from engine.cli.terminal import advancing, print_json, what_else
from engine.errors import BadInputError
from engine.types.models import TaskEstimate, TaskProgress, TaskReport
from engine.types.scenarios import (
    COMPONENTS,
    ScenarioCounts,
    ScenarioRequest,
    ScenarioSource,
    ScenarioState,
)


@click.command()
@click.argument("name")
@click.option(
    "--model/--extractive",
    "by_model",
    default=True,
    help="Let the language model write (default), or put title and key sentences of the "
    "documents into the form, without a model.",
)
@click.option(
    "--distilled",
    metavar="FOLDER",
    help="Let a small model write that was trained with: seedlens distill scenarios.",
)
@click.option(
    "--component",
    type=click.Choice(COMPONENTS),
    help="What is embedded: main topic (M), information need (I), explanation (E), or two of "
    "them. Default: what the corpus is set to, at first M+E.",
)
@click.option(
    "--weight",
    type=float,
    help="What a document counts for against its best scenario, 0 to 1. Default: what the "
    "corpus is set to, at first 0.7.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Write for N documents at most, and go on from there the next time.",
)
@click.option("--status", is_flag=True, help="Only say what there is.")
@click.option("--remove", is_flag=True, help="Remove the scenarios of the corpus.")
@click.option("--yes", is_flag=True, help="Do not ask before a model is asked.")
@budget_option
@json_option
def scenarios(
    name: str,
    by_model: bool,
    distilled: str | None,
    component: str | None,
    weight: float | None,
    limit: int | None,
    status: bool,
    remove: bool,
    yes: bool,
    budget_calls: int | None,
    as_json: bool,
) -> None:
    """Write scenarios for the documents of corpus NAME: which needs they meet, and why.

    Once they are there, the system 'scenario' finds documents by what they only imply. What
    writing will take is said before anything is asked. Documents that have their scenarios are
    left as they are: a run that was stopped goes on when the same command is run again. With
    nothing but --weight, only that is changed.
    """
    facade = open_explorer().scenarios
    if status or remove:
        if remove:
            facade.remove(name)
        _show_state(facade.status(name), as_json)
        return
    if weight is not None and _is_only("weight") and facade.status(name).covered:
        facade.set_weight(name, weight)
        _show_state(facade.status(name), as_json)
        return
    source: ScenarioSource = "generated" if by_model else "extractive"
    if distilled is not None:
        if not by_model:
            raise BadInputError("--distilled and --extractive exclude each other.", "Name one.")
        source = "distilled"
    chosen = next((c for c in COMPONENTS if c == component), None)
    request = ScenarioRequest(name, source, chosen, weight, limit, distilled or "")
    estimate = facade.estimate(request)
    say_estimate(estimate)
    confirm(source == "generated" and estimate.items, yes=yes)
    with advancing("documents", "scenarios", step=_step, counts=_counts) as tell:
        report = facade.run(request, most_calls=budget_calls, tell=tell)
    if as_json:
        asked = {"request": asdict(request)}
        announced = {**asked, "documents": estimate.items, **task_fields(estimate)}
        print_json({"estimate": announced, "report": {**asked, **task_fields(report)}})
    else:
        click.echo(report_line(name, report))
    say_problem(report.notes, report.problem)
    sys.exit(exit_code(report))


def _is_only(option: str) -> bool:
    """True when this is all that was said about how to write."""
    said = click.get_current_context().get_parameter_source
    others = {"by_model", "distilled", "component", "weight", "limit", "yes", "budget_calls"}
    return all(said(other) is ParameterSource.DEFAULT for other in others - {option})


def say_estimate(estimate: TaskEstimate) -> None:
    """What is to be done, and what it will take at most, on stderr."""
    known, embedded = estimate.counts["done"], estimate.counts["embedded"]
    done = f"; {known:,} have them already" if known else ""
    text = f"{estimate.items:,} documents to write scenarios for{done}."
    if embedded:
        text += f" {embedded:,} scenarios to be embedded again."
    if estimate.calls:
        text += f" {at_most(estimate)}"
    click.echo(text, err=True)


def report_line(corpus: str, report: TaskReport[ScenarioCounts]) -> str:
    """What a run did, in a sentence or two."""
    made = report.result
    text = (
        f"'{corpus}': {made.scenarios:,} scenarios written for "
        f"{made.written:,} documents in {report.seconds:.1f} s"
    )
    if report.calls or report.cached:
        text += f"; {taken(report)}"
    parts = [
        (made.embedded, "scenarios embedded again"),
        (report.failed, "documents without a usable answer"),
        (made.without_text, "documents without text"),
        (report.left, "documents not reached"),
    ]
    return text + what_else(parts, goes_on=bool(report.failed or report.left))


def _show_state(state: ScenarioState, as_json: bool) -> None:
    if as_json:
        print_json(asdict(state))
        return
    click.echo(
        f"'{state.corpus}': {state.scenarios:,} scenarios for {state.covered:,} of "
        f"{state.documents:,} documents; {state.component} is embedded, a document counts for "
        f"{state.weight:g} against its best scenario."
    )
    for author in state.authors:
        model = f" by {author.model}" if author.model else ""
        click.echo(f"  {author.source}{model}: {author.scenarios:,} of {author.documents:,}")
    if state.outdated:
        click.echo(f"  {state.outdated:,} documents have changed since and are left aside.")


def _step(progress: TaskProgress) -> str:
    return progress.phase


def _counts(progress: TaskProgress) -> str:
    return f"{progress.made:,} written, {progress.failed:,} failed"
