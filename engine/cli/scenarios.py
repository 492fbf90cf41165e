"""``seedlens scenarios``, ``facts`` and ``distill``: what a model adds to documents, and models
trained on it."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import click
from click.core import ParameterSource
from pydantic import Field, PositiveInt

from engine.cli.common import (
    INTERRUPTED,
    ModelRun,
    end_run,
    exit_code,
    open_explorer,
    outcome,
    parts_of,
    run_task,
    say_problem,
    task_fields,
)
from engine.cli.options import command
from engine.cli.terminal import say, show, show_rows, stop_requested, table, training
from engine.errors import BadInputError
from engine.types.models import Estimate
from engine.types.scenarios import (
    CANDIDATES,
    DOCUMENTS,
    MOST_CANDIDATES,
    Component,
    PairRequest,
    ScenarioRequest,
    ScenarioSource,
    ScenarioState,
    Training,
    Tuned,
    Tuning,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.types.documents import Fact


@command()
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
    source_of = click.get_current_context().get_parameter_source
    others = ("by_model", "distilled", "component", "limit", "yes", "budget_calls")
    alone = all(source_of(other) is ParameterSource.DEFAULT for other in others)
    only_weight = weight is not None and alone and not status and not remove
    only_weight = only_weight and facade.status(name).covered > 0
    if weight is not None and only_weight:
        facade.set_weight(name, weight)
    if status or remove or only_weight:
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


@command()
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

    if text is not None:
        found = find_facts(text, _day(written))
    else:
        found = open_explorer().facts(str(name), str(doc_id))
    none = "No date, amount or place was found."
    show_rows(found, ("", "", "", ""), map(_fact_row, found), none)


def _fact_row(fact: Fact) -> tuple[str, ...]:
    how = f"from {fact.derivation}" if fact.derivation else "stated"
    about = f"[{', '.join(fact.about)}]" if fact.about else ""
    made = ", generated" if fact.generated else ""
    return fact.kind, fact.text, about, f"({how}; {fact.confidence:.0%} sure{made})"


def _infer(name: str, kinds: str | None, limit: int | None, run: ModelRun) -> NoReturn:
    from engine.assist.infer_facts import KINDS, Counts, InferFacts, InferRequest
    from engine.llm.tasks import TaskRunner

    named = parts_of(kinds or ",".join(KINDS))
    if odd := [kind for kind in named if kind not in KINDS]:
        raise BadInputError(f"'{odd[0]}' is no kind of fact.", f"Name some of {','.join(KINDS)}.")
    request = InferRequest(name, tuple(kind for kind in KINDS if kind in named), limit)
    explorer = open_explorer()
    parts = explorer.home, explorer.ledger, explorer.settings, explorer.library
    runner: TaskRunner[Any, Counts] = TaskRunner(explorer.settings, explorer.ledger.answers)
    task = InferFacts(request, *parts)
    estimate, report = run_task(
        *(runner, task, lambda estimate: f"{estimate.items:,} documents.", run),
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
    try:
        return None if text is None else datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError as error:
        raise BadInputError(
            f"'{text}' is not a day of the calendar.", "Write --date 2024-02-29."
        ) from error


# -- training ------------------------------------------------------------------------------------


class _Distilling(click.Group):
    """``distill NAME`` is short for ``distill scenarios NAME``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = ["scenarios", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Distilling)
def distill() -> None:
    """Train a small model on the answers of a large one.

    Needs the extra: pip install 'seedlens[distill]'.
    """


@command(distill, "scenarios")
def distill_scenarios(
    name: str,
    *,
    base: str,
    out: Path,
    limit: Annotated[int | None, Field(ge=2)] = None,
    settings: Training,
) -> None:
    """Train a small model on the scenarios that a language model wrote for corpus NAME.

    It then writes for whole collections without cost: seedlens scenarios NAME --distilled FOLDER.
    The defaults are those of SPIKE's paper.

    Options:
        base MODEL: The small causal language model: a folder, or one on this machine.
        out FOLDER: Where the trained model is written.
        limit N: Train on the first N documents at most. Default: all with scenarios.
    """
    from engine.scenarios.distillation import check_folder, need_extra
    from engine.scenarios.distillation import distill as train

    need_extra()
    check_folder(out)
    out = out.expanduser().absolute()
    base = str(Path(base).expanduser().absolute()) if Path(base).expanduser().is_dir() else base
    lessons = open_explorer().scenarios.lessons(name, limit)
    with stop_requested() as stopped, training("steps") as tell:
        made = train(lessons, base, out, settings, tell, stopped)
    given = f"{shlex.quote(name)} --distilled {shlex.quote(str(made.folder))}"
    line = (
        f"Trained on {made.lessons:,} documents in {made.epochs:g} epochs "
        f"({made.seconds:.0f} s); loss {made.loss:.3f} on {made.held_out:,} others.\n"
        f"Use it with: seedlens scenarios {given}"
    )
    show({**asdict(made), "training": settings}, line)
    if made.cancelled:
        sys.exit(INTERRUPTED)


@command(distill)
def aspects(
    name: str,
    *,
    out: Path,
    documents: PositiveInt = DOCUMENTS,
    candidates: Annotated[int, Field(ge=2, le=MOST_CANDIDATES)] = CANDIDATES,
    only_estimate: bool = False,
    tuning: Tuning,
    run: ModelRun,
) -> None:
    """Train the encoder of corpus NAME on pairs that the language model grades by aspect.

    For sampled documents and each aspect, the model grades how alike the nearest others are; its
    answers are kept. A copy of the encoder is trained on them (LoRA, merged afterwards), and
    measured on pairs of other documents: use it only where it orders these better than before.

    Options:
        out FOLDER: Where the encoder is written; --encoder FOLDER imports with it.
        documents N: Sampled documents to compare with others.
        candidates N: Others for each aspect of a document: nearest by aspect and by topic.
    """
    from engine.scenarios.aspect_training import check_tuning, train

    request = PairRequest(name, documents, candidates)
    out = out.expanduser().absolute()
    explorer = open_explorer()
    check_tuning(explorer.library.open(name), out)

    def announced(estimate: Estimate) -> dict[str, Any]:
        return {"request": request, "questions": estimate.items, **task_fields(estimate)}

    def to_ask(estimate: Estimate) -> str:
        documents = f"{estimate.counts['documents']:,} documents"
        return f"{estimate.items:,} questions about the aspects of {documents}."

    estimate, report = run_task(
        *(explorer.pair_grading, request, to_ask, run),
        unit="questions",
        announced=announced if only_estimate else None,
    )
    pairs = sum(len(group.grades) for group in report.result)
    say([outcome(f"{pairs:,} pairs graded", report, unit="questions")], "")
    say_problem(report)
    if report.stopped == "cancelled":
        sys.exit(INTERRUPTED)
    with stop_requested() as stopped, training("groups") as tell:
        tuned = train(explorer.library.open(name), report.result, out, tuning, tell, stopped)
    data = {
        "estimate": announced(estimate),
        "report": {"request": request, **task_fields(report, "groups")},
        "tuned": {**asdict(tuned), "recommended": tuned.recommended, "training": tuning},
    }
    show(data, tuned_line(tuned))
    sys.exit(INTERRUPTED if tuned.cancelled else exit_code(report))


def tuned_line(tuned: Tuned) -> str:
    """What came of a training, and whether to use it."""
    interval = ""
    if tuned.interval is not None:
        low, high = tuned.interval
        interval = f", 95 % interval of the difference {100 * low:+.1f} to {100 * high:+.1f}"
    text = (
        f"Trained on {tuned.groups:,} groups of pairs ({tuned.seconds:.0f} s). Of "
        f"{tuned.held_out:,} groups of other documents, {100 * tuned.after:.1f} % of the pairs are "
        f"ordered as graded; before {100 * tuned.before:.1f} %{interval}. The cosine of document "
        f"vectors with those of before is {tuned.kept:.3f}.\n"
    )
    if not tuned.recommended:
        return text + (
            f"Not recommended: nothing shows that it is better than {tuned.base}. More documents "
            f"(--documents) may help. It is in {tuned.folder}."
        )
    return f"{text}Use it with: seedlens import SOURCE --name NEW --encoder {tuned.folder}"
