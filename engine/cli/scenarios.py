"""``seedlens scenarios`` and ``facts``: what a model adds to documents, to search by it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, datetime
from typing import TYPE_CHECKING, NoReturn

import click
from click.core import ParameterSource
from pydantic import PositiveInt

from engine.cli.common import open_explorer, parts_of
from engine.cli.model import ModelRun, end_run, outcome, run_task, task_fields
from engine.cli.options import printing_json
from engine.cli.terminal import show, table
from engine.errors import BadInputError
from engine.types.models import Estimate
from engine.types.scenarios import Component, ScenarioRequest, ScenarioSource, ScenarioState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.types.documents import Fact


@click.command()
@printing_json
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
    run: ModelRun,
) -> None:
    """Write scenarios for the documents of corpus NAME: which needs they meet, and why.

    With them, the system 'scenario' finds documents by what they only imply. Documents with
    scenarios are left as they are: the same command resumes a run that was stopped. --weight
    alone changes only the weight.

    Options:
        by_model --model/--extractive: Written by the language model (default), or title and key
            sentences.
        distilled FOLDER: Written by a small model from: seedlens distill scenarios.
        component: Embedded: main topic (M), need (I), explanation (E), or two. At first M+E.
        weight: Weight of a document against its best scenario, 0 to 1. At first 0.7.
        limit N: Write for at most N documents; the next run goes on from there.
        status: Print what there is.
        remove: Remove the scenarios of the corpus.
    """
    facade = open_explorer().scenarios
    if remove:
        facade.remove(name)
    only_show = status or remove
    if not only_show and weight is not None and _only_weight_given():
        only_show = facade.status(name).covered > 0
        if only_show:
            facade.set_weight(name, weight)
    if only_show:
        state = facade.status(name)
        show(state, *_state_lines(state))
        return
    source: ScenarioSource = "generated" if by_model else "extractive"
    if distilled is not None:
        if not by_model:
            raise BadInputError("--distilled and --extractive exclude each other.", "Name one.")
        source = "distilled"
    request = ScenarioRequest(name, source, component, weight, limit, distilled or "")
    estimate, report = run_task(
        *(facade, request, _to_write, run), unit="documents", made="scenarios"
    )
    made = report.result
    wrote = f"'{name}': {made.scenarios:,} scenarios written for {made.written:,} documents"
    embedded = (made.embedded, "scenarios embedded again")
    line = outcome(wrote, report, embedded, (made.without_text, "documents without text"))
    named = {"request": asdict(request)}
    announced = {**named, "documents": estimate.items, **task_fields(estimate)}
    end_run(announced, {**named, **task_fields(report)}, report, line)


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


def _state_lines(state: ScenarioState) -> Sequence[str]:
    counts = f"{state.scenarios:,} scenarios for {state.covered:,} of {state.documents:,} documents"
    weight = f"{state.component} is embedded, the weight of documents is {state.weight:g}"
    rows = [(one.source, one.model, one.scenarios, one.documents) for one in state.authors]
    outdated = f"{state.outdated:,} documents have changed since and are not counted."
    return (
        f"'{state.corpus}': {counts}; {weight}.",
        table(("source", "model", "scenarios", "documents"), rows),
        outdated if state.outdated else "",
    )


# -- facts ---------------------------------------------------------------------------------------


@click.command()
@printing_json
def facts(
    name: str | None = None,
    *,
    doc_id: str | None = None,
    text: str | None = None,
    written: str | None = None,
    by_model: bool = False,
    kinds: str | None = None,
    limit: PositiveInt | None = None,
    run: ModelRun,
) -> None:
    """Print dates, amounts and places that a document of corpus NAME, or a text, states or implies.

    What is only implied ("two days ago", "half that price") is resolved without a language
    model; each fact has the words it follows from and a confidence. With --model, the language
    model adds what takes knowledge of the world, such as the country of a landmark; the same
    command resumes a run that was stopped.

    Options:
        doc_id --doc DOC_ID: A document of corpus NAME.
        text: A text instead of a document.
        written --date YYYY-MM-DD: The day on which the text was written.
        by_model --model: Add facts by the language model to all documents of corpus NAME.
        kinds KINDS: With --model: of place,date,amount. Default: all.
        limit N: With --model: only the first N documents.
    """
    if by_model:
        if name is None or (doc_id, text, written) != (None, None, None):
            raise BadInputError(
                "--model is for all documents of a corpus.", "Write seedlens facts NAME --model."
            )
        _infer(name, kinds, limit, run)
    if kinds is not None or limit is not None or run.yes or run.budget_calls is not None:
        raise BadInputError(
            "--kinds, --limit, --yes and --budget-calls are for a model.", "Add --model."
        )
    if (text is None) == (doc_id is None) or (doc_id is None) != (name is None):
        raise BadInputError(
            "Facts are read from one document or one text.",
            "Write seedlens facts NAME --doc DOC_ID, or seedlens facts --text TEXT.",
        )
    from engine.facts import find_facts
    from engine.search.reports import fact_report

    if text is not None:
        found = find_facts(text, _day(written))
    else:
        found = open_explorer().facts(str(name), str(doc_id))
    report = [fact_report(fact) for fact in found]
    none = [] if found else ["No date, amount or place was found."]
    show(report, table(("", "", "", ""), map(_fact_row, found)), hints=none)


def _fact_row(fact: Fact) -> tuple[str, ...]:
    how = f"from {fact.derivation}" if fact.derivation else "stated"
    about = f"[{', '.join(fact.about)}]" if fact.about else ""
    made = ", generated" if fact.generated else ""
    return fact.kind, fact.text, about, f"({how}; {fact.confidence:.0%} sure{made})"


def _infer(name: str, kinds: str | None, limit: int | None, run: ModelRun) -> NoReturn:
    from engine.assist.infer_facts import KINDS, FactsByModel, InferRequest

    named = parts_of(kinds or ",".join(KINDS))
    if odd := [kind for kind in named if kind not in KINDS]:
        raise BadInputError(f"'{odd[0]}' is no kind of fact.", f"Name some of {','.join(KINDS)}.")
    request = InferRequest(name, tuple(kind for kind in KINDS if kind in named), limit)
    explorer = open_explorer()
    inferring = FactsByModel(explorer.home, explorer.ledger, explorer.settings, explorer.library)
    estimate, report = run_task(
        *(inferring, request, lambda estimate: f"{estimate.items:,} documents.", run),
        unit="documents",
        made="facts",
    )
    made = report.result
    line = outcome(
        f"'{name}': {made.facts:,} facts in {made.documents:,} documents by {report.model}",
        report,
        (made.known, "claims that were known already"),
        (made.unquoted, "claims whose quote is not in the text"),
        (made.unusable, "claims without a usable value"),
    )
    announced = {"documents": estimate.items, **task_fields(estimate)}
    done = {
        "request": request,
        "counts": {**asdict(made), "failed": report.failed},
        "left": report.left,
        "usage": report.figures,
    }
    end_run(announced, done, report, line)


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError as error:
        raise BadInputError(
            f"'{text}' is not a day of the calendar.", "Write --date 2024-02-29."
        ) from error
