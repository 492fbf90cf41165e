"""``seedlens scenarios`` and ``facts``: what a model adds to documents, to search by it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, datetime
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from pydantic import NonNegativeInt, PositiveInt

from engine.cli.common import open_explorer, parts_of
from engine.cli.model import end_run, run_task, taken, task_fields
from engine.cli.options import from_signature
from engine.cli.terminal import print_json, print_table, what_else
from engine.errors import BadInputError
from engine.types.models import Estimate, TaskReport
from engine.types.scenarios import (
    Component,
    ScenarioCounts,
    ScenarioRequest,
    ScenarioSource,
    ScenarioState,
)

if TYPE_CHECKING:
    from engine.assist.infer_claims import Counts


@click.command()
@from_signature
def scenarios(
    name: str,
    *,
    by_model: bool = True,
    distilled: str | None = None,
    component: Component | None = None,
    weight: float | None = None,
    limit: PositiveInt | None = None,
    status: bool = False,
    remove: bool = False,
    yes: bool = False,
    budget_calls: NonNegativeInt | None = None,
    as_json: bool = False,
) -> None:
    """Write scenarios for the documents of corpus NAME: which needs they meet, and why.

    Once they are there, the system 'scenario' finds documents by what they only imply. What
    writing will take is said before anything is asked. Documents that have their scenarios are
    left as they are: a run that was stopped goes on when the same command is run again. With
    nothing but --weight, only that is changed.

    Options:
        by_model --model/--extractive: Let the language model write (default), or put title and key
            sentences of the documents into the form, without a model.
        distilled FOLDER: Let a small model write that was trained with: seedlens distill scenarios.
        component: What is embedded: main topic (M), information need (I), explanation (E), or two
            of them. Default: what the corpus is set to, at first M+E.
        weight: What a document counts for against its best scenario, 0 to 1. Default: what the
            corpus is set to, at first 0.7.
        limit N: Write for N documents at most, and go on from there the next time.
        status: Only say what there is.
        remove: Remove the scenarios of the corpus.
    """
    facade = open_explorer().scenarios
    if status or remove:
        if remove:
            facade.remove(name)
        _show_state(facade.status(name), as_json)
        return
    if weight is not None and _only_weight_given() and facade.status(name).covered:
        facade.set_weight(name, weight)
        _show_state(facade.status(name), as_json)
        return
    source: ScenarioSource = "generated" if by_model else "extractive"
    if distilled is not None:
        if not by_model:
            raise BadInputError("--distilled and --extractive exclude each other.", "Name one.")
        source = "distilled"
    request = ScenarioRequest(name, source, component, weight, limit, distilled or "")
    estimate, report = run_task(
        facade,
        request,
        _to_write,
        unit="documents",
        made="scenarios",
        yes=yes,
        budget_calls=budget_calls,
    )
    asked = {"request": asdict(request)}
    announced = {**asked, "documents": estimate.items, **task_fields(estimate)}
    done = {**asked, **task_fields(report)}
    end_run(announced, done, report, _scenarios_line(name, report), as_json=as_json)


def _only_weight_given() -> bool:
    """True when no other option says how to write."""
    source = click.get_current_context().get_parameter_source
    others = ("by_model", "distilled", "component", "limit", "yes", "budget_calls")
    return all(source(other) is ParameterSource.DEFAULT for other in others)


def _to_write(estimate: Estimate) -> str:
    known, embedded = estimate.counts["done"], estimate.counts["embedded"]
    done = f"; {known:,} have them already" if known else ""
    text = f"{estimate.items:,} documents to write scenarios for{done}."
    return text + (f" {embedded:,} scenarios to be embedded again." if embedded else "")


def _scenarios_line(corpus: str, report: TaskReport[ScenarioCounts]) -> str:
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
        print_json(state)
        return
    click.echo(
        f"'{state.corpus}': {state.scenarios:,} scenarios for {state.covered:,} of "
        f"{state.documents:,} documents; {state.component} is embedded, a document counts for "
        f"{state.weight:g} against its best scenario."
    )
    rows = [(one.source, one.model, one.scenarios, one.documents) for one in state.authors]
    print_table(("source", "model", "scenarios", "documents"), rows)
    if state.outdated:
        click.echo(f"  {state.outdated:,} documents have changed since and are left aside.")


# -- facts ---------------------------------------------------------------------------------------


@click.command()
@from_signature
def facts(
    name: str | None = None,
    *,
    doc_id: str | None = None,
    text: str | None = None,
    written: str | None = None,
    by_model: bool = False,
    kinds: str | None = None,
    limit: PositiveInt | None = None,
    yes: bool = False,
    budget_calls: NonNegativeInt | None = None,
    as_json: bool = False,
) -> None:
    """Say which dates, amounts and places a document of corpus NAME, or a text, states or implies.

    What is only implied ("two days ago", "half that price") is resolved without a language
    model; each fact comes with the words it follows from and how sure it is.

    With --model the connected model adds what only knowledge of the world tells, such as the
    country of a landmark. What it will take is said before anything is asked; answers are kept,
    so that the same command goes on after a stop, and costs nothing the second time.

    Options:
        doc_id --doc DOC_ID: A document of corpus NAME.
        text: A text instead of a document.
        written --date YYYY-MM-DD: The day on which the text was written.
        by_model --model: Let the language model name what the documents of corpus NAME imply beyond
            that, and keep it with them.
        kinds KINDS: With --model: of place,date,amount. Default: all.
        limit N: With --model: only the first N documents.
        yes: With --model: do not ask before the model is asked.
    """
    if by_model:
        if name is None or (doc_id, text, written) != (None, None, None):
            raise BadInputError(
                "--model is for all documents of a corpus.", "Write seedlens facts NAME --model."
            )
        _infer(name, kinds, limit, yes, budget_calls, as_json)
        return
    if kinds is not None or limit is not None or yes or budget_calls is not None:
        raise BadInputError(
            "--kinds, --limit, --yes and --budget-calls are for a model.", "Add --model."
        )
    _show_facts(name, doc_id, text, written, as_json)


def _show_facts(
    name: str | None, doc_id: str | None, text: str | None, written: str | None, as_json: bool
) -> None:
    if (text is None) == (doc_id is None) or (doc_id is None) != (name is None):
        raise BadInputError(
            "Facts are read from one document or one text.",
            "Write seedlens facts NAME --doc DOC_ID, or seedlens facts --text TEXT.",
        )
    from engine.explorer import Explorer
    from engine.search.reports import fact_report

    shown = (
        Explorer.find_facts(text, _day(written))
        if text is not None
        else open_explorer().facts(str(name), str(doc_id))
    )
    if as_json:
        print_json([fact_report(fact) for fact in shown])
        return
    if not shown:
        click.echo("No date, amount or place was found.", err=True)
    for fact in shown:
        how = f"from {fact.derivation}" if fact.derivation else "stated"
        about = f"  [{', '.join(fact.about)}]" if fact.about else ""
        made = ", generated" if fact.generated else ""
        click.echo(f"{fact.kind:7} {fact.text}{about}  ({how}; {fact.confidence:.0%} sure{made})")


def _infer(
    name: str,
    kinds: str | None,
    limit: int | None,
    yes: bool,
    budget_calls: int | None,
    as_json: bool,
) -> None:
    from engine.assist.infer_claims import KINDS
    from engine.assist.infer_facts import FactsByModel, InferRequest

    named = parts_of(kinds or ",".join(KINDS))
    if odd := [kind for kind in named if kind not in KINDS]:
        raise BadInputError(f"'{odd[0]}' is no kind of fact.", f"Name some of {','.join(KINDS)}.")
    request = InferRequest(name, tuple(kind for kind in KINDS if kind in named), limit)
    explorer = open_explorer()
    inferring = FactsByModel(explorer.home, explorer.ledger, explorer.settings, explorer.library)
    estimate, report = run_task(
        inferring,
        request,
        lambda estimate: f"{estimate.items:,} documents.",
        unit="documents",
        made="facts",
        yes=yes,
        budget_calls=budget_calls,
    )
    announced = {"documents": estimate.items, **task_fields(estimate)}
    counts = {**asdict(report.result), "failed": report.failed}
    done = {"request": request, "counts": counts, "left": report.left, "usage": report.figures}
    end_run(announced, done, report, _facts_line(name, report), as_json=as_json)


def _facts_line(corpus: str, report: TaskReport[Counts]) -> str:
    """What a run did, in a sentence or two."""
    counts = report.result
    text = (
        f"'{corpus}': {counts.facts:,} facts in {counts.documents:,} documents by "
        f"{report.model}; {taken(report)}"
    )
    parts = [
        (counts.known, "claims that were known already"),
        (counts.unquoted, "claims whose quote is not in the text"),
        (counts.unusable, "claims without a usable value"),
        (report.failed, "documents without a usable answer"),
        (report.left, "documents not reached"),
    ]
    return text + what_else(parts, goes_on=bool(report.failed or report.left))


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError as error:
        raise BadInputError(
            f"'{text}' is not a day of the calendar.", "Write --date 2024-02-29."
        ) from error
