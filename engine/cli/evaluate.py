"""``seedlens evaluate``: systems side by side on a test collection."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.cli.common import (
    check_steer,
    corpus_of,
    corpus_option,
    json_option,
    open_explorer,
    sample_option,
    steer_option,
    system_names,
)
from engine.cli.model import (
    INTERRUPTED,
    budget_option,
    check_depth,
    depth_option,
    exit_code,
    rerank_option,
    say_what_it_took,
)
from engine.cli.terminal import advancing, print_evaluation, print_json, say_notes
from engine.errors import BadInputError, SeedLensError
from engine.search.reports import evaluation_report
from engine.types.evaluations import (
    Evaluation,
    EvaluationProgress,
    EvaluationReport,
    EvaluationRequest,
)
from engine.types.models import ModelReport
from engine.types.plurals import counted

if TYPE_CHECKING:
    from engine.explorer import Explorer
    from engine.llm.endpoints import Connection


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@corpus_option
@click.option(
    "--systems",
    default="bm25,dense,late-interaction,hybrid,aspect",
    show_default=True,
    help="Systems to compare, separated by commas; with a language model also rewrite and "
    "multi-hop.",
)
@steer_option
@sample_option
@click.option(
    "--human",
    is_flag=True,
    help="Also measure the annotators' own grades against the adjudicated ones.",
)
@rerank_option
@depth_option
@budget_option
@click.option(
    "--run",
    "own_runs",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A TREC run of your own, measured beside the systems on the queries that it ranks, and "
    "kept for the collection. Repeatable.",
)
@click.option(
    "--run-out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write one TREC run per system into DIR.",
)
@json_option
def evaluate(
    path: Path,
    corpus: str | None,
    systems: str,
    steer: float | None,
    sample: int | None,
    human: bool,
    rerank: str | None,
    depth: int | None,
    budget_calls: int | None,
    own_runs: tuple[Path, ...],
    run_out: Path | None,
    as_json: bool,
) -> None:
    """Measure systems side by side on the test collection at PATH.

    PATH is a CSFCube folder, a BEIR folder, an ImpliRet CSV, or a folder with topics.jsonl
    and TREC qrels. Rankings are kept: the same command again goes on where it was interrupted,
    and the Evaluate page shows the result, too.
    """
    from engine.collections.readers import read_collection
    from engine.evaluate.human import check_annotators
    from engine.jobs.runner import in_foreground

    collection = read_collection(path)
    names = _names(systems)
    check_depth(rerank, depth)
    check_steer(steer)
    if human:
        check_annotators(collection)
    request = EvaluationRequest("", tuple(names), sample=sample, human=human)
    request = replace(request, rerank=rerank or "")
    if steer is not None:
        request = replace(request, steer=steer)
    if depth is not None:
        request = replace(request, depth=depth)
    explorer = open_explorer()
    connection = _connection(explorer, request, budget_calls)
    if run_out is not None:
        _make_folder(run_out)
    say_notes(collection.warnings, "Warning")
    key = explorer.collections.key_of(path, corpus_of(explorer, collection, corpus))
    request = replace(request, collection=key)
    for file in own_runs:
        explorer.collections.add_run(key, file.name, file.read_bytes())
    with watched() as tell:
        report = in_foreground(
            lambda cancelled: explorer.evaluations.evaluate(request, tell, cancelled, connection)
        )
    evaluation = _result(report)
    _say_what_is_missing(evaluation)
    for name, asked in evaluation.model_reports.items():
        say_what_it_took(name, asked)
    if run_out is not None:
        _write_runs(evaluation, run_out)
    if as_json:
        print_json(evaluation_report(evaluation))
    else:
        print_evaluation(evaluation)
    sys.exit(exit_code(*evaluation.model_reports.values()))


def _names(systems: str) -> list[str]:
    """All systems of the list, those that need a model among them, checked before anything."""
    from engine.assist.model_systems import MODEL_SYSTEMS, names_of

    parts = list(dict.fromkeys(s.strip() for s in systems.split(",") if s.strip()))
    own, by_model = names_of(parts)
    known = system_names(",".join(own)) if own or not by_model else []
    return [name for name in parts if name in known or name in MODEL_SYSTEMS]


def _connection(
    explorer: Explorer, request: EvaluationRequest, most_calls: int | None
) -> Connection | None:
    """The connection to a model where one is needed; NoEndpointError before anything is done."""
    from engine.assist.reranking import Plan
    from engine.evaluate.model_runs import needs_model

    if request.rerank:
        Plan(request.rerank, request.depth)  # refuses a mode that does not exist
    return explorer.verifier.connection(most_calls=most_calls) if needs_model(request) else None


@contextmanager
def watched() -> Iterator[Callable[[EvaluationProgress], None]]:
    """A bar on stderr, quiet when stderr is not a terminal."""

    def step(now: EvaluationProgress) -> str:
        return now.step

    def counts(now: EvaluationProgress) -> str:
        asked = now.report
        return "" if asked is None else f"{asked.calls:,} calls, {asked.failed:,} failed"

    with advancing("done", "evaluating", step=step, counts=counts) as tell:
        yield tell


def _result(report: EvaluationReport) -> Evaluation:
    """The evaluation, with what was asked of a model in this run and not in previous ones.

    Raises:
        SeedLensError: a model refused before it answered anything.
    """
    evaluation, stopped = report.evaluation, report.stopped
    if evaluation is None:
        click.echo(
            "Cancelled: systems that were ranked are kept. Run the same command again to go on.",
            err=True,
        )
        sys.exit(INTERRUPTED)
    if stopped == "endpoint" and not any(r.stopped for r in evaluation.model_reports.values()):
        raise SeedLensError(report.problem, report.remedy)
    systems = {
        name: replace(scores, llm=_from_ledger(scores.llm))
        if scores.llm is not None and name in report.known
        else scores
        for name, scores in evaluation.systems.items()
    }
    return replace(evaluation, systems=systems)


def _from_ledger(report: ModelReport) -> ModelReport:
    """What a model was asked for a run that there was before: nothing."""
    cost = None if report.cost is None else 0.0
    return replace(
        report, calls=0, repeats=0, input_tokens=0, output_tokens=0, guessed=0, cost=cost,
        cached=report.questions - report.failed,
    )  # fmt: skip


def _say_what_is_missing(evaluation: Evaluation) -> None:
    missing = evaluation.missing_documents
    if missing:
        which = counted(missing, "judged document; it counts", "judged documents; they count")
        click.echo(f"Warning: the corpus lacks {which} as never found.", err=True)


def _write_runs(evaluation: Evaluation, folder: Path) -> None:
    """A file for every ranking; who uploaded a run has its file."""
    from engine.collections.trec import write_run

    for system, rankings in evaluation.rankings.items():
        scores = evaluation.systems.get(system)
        if scores is None or scores.kind != "run":
            write_run(rankings, folder / f"{system}.run", system)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(
            f"The folder {path} cannot be made: {error.strerror or error}.",
            "Give a folder that you can write to.",
        ) from error
