"""``seedlens evaluate``: systems side by side on a test collection."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    asking,
    budget_option,
    check_depth,
    depth_option,
    exit_code,
    rerank_option,
    say_what_it_took,
)
from engine.cli.terminal import bar_of, print_evaluation, print_json, progress
from engine.errors import BadInputError
from engine.search.reports import model_evaluation_report
from engine.types.reranking import ModelEvaluation

if TYPE_CHECKING:
    from engine.assist.reranking import Plan
    from engine.explorer import Explorer
    from engine.llm.endpoints import Connection
    from engine.search.searcher import Searcher
    from engine.types.collections import Collection
    from engine.types.evaluations import Evaluation


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
@click.option(
    "--ignore-labels",
    is_flag=True,
    help="Estimate the sentences' roles even where the source labels them, on a copy of the "
    "corpus that is derived once, without encoding it again.",
)
@rerank_option
@depth_option
@budget_option
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
    ignore_labels: bool,
    rerank: str | None,
    depth: int | None,
    budget_calls: int | None,
    run_out: Path | None,
    as_json: bool,
) -> None:
    """Measure systems side by side on the test collection at PATH.

    PATH is a CSFCube folder, a BEIR folder, an ImpliRet CSV, or a folder with topics.jsonl
    and TREC qrels.
    """
    from engine.collections.readers import read_collection
    from engine.evaluate.human import check_annotators
    from engine.search.topics import sampled

    collection = read_collection(path)
    names, plan = _names(systems), _plan(rerank, depth)
    check_steer(steer)
    if human:
        check_annotators(collection)
    explorer = open_explorer()
    connection = _connection(explorer, names, plan, budget_calls)
    if run_out is not None:
        _make_folder(run_out)
    for warning in collection.warnings:
        click.echo(f"Warning: {warning}", err=True)
    searcher = explorer.searcher(_corpus(explorer, collection, corpus, ignore_labels))
    total = len(names) * len(sampled(collection.topics, sample))
    options: dict[str, Any] = {"steer": steer, "sample": sample, "human": human}
    with bar_of("queries", total=total) as bar:
        options["on_query"] = bar.update
        found = _evaluated(explorer, searcher, collection, names, plan, connection, options)
    _say_what_happened(found)
    if run_out is not None:
        _write_runs(found.evaluation, run_out)
    if as_json:
        print_json(model_evaluation_report(found))
    else:
        print_evaluation(found.evaluation)
    if code := exit_code(*found.reports.values()):
        sys.exit(code)


def _names(systems: str) -> list[str]:
    """All systems of the list, those that need a model among them, checked before anything."""
    from engine.assist.model_systems import MODEL_SYSTEMS, names_of

    parts = list(dict.fromkeys(s.strip() for s in systems.split(",") if s.strip()))
    own, helped = names_of(parts)
    known = system_names(",".join(own)) if own or not helped else []
    return [name for name in parts if name in known or name in MODEL_SYSTEMS]


def _plan(rerank: str | None, depth: int | None) -> Plan | None:
    from engine.assist.reranking import DEFAULT_DEPTH, Plan

    check_depth(rerank, depth)
    return None if rerank is None else Plan(rerank, depth or DEFAULT_DEPTH)


def _connection(
    explorer: Explorer, names: Sequence[str], plan: Plan | None, most_calls: int | None
) -> Connection | None:
    """The connection to a model where one is needed; NoEndpointError before anything is done."""
    from engine.assist.model_systems import names_of

    needed = plan is not None or names_of(names)[1]
    return explorer.verifier.connection(most_calls=most_calls) if needed else None


def _evaluated(
    explorer: Explorer,
    searcher: Searcher,
    collection: Collection,
    names: Sequence[str],
    plan: Plan | None,
    connection: Connection | None,
    options: dict[str, Any],
) -> ModelEvaluation:
    from engine.evaluate.model_evaluation import evaluate_with_model
    from engine.evaluate.system_runs import evaluate as run

    if connection is None:
        return ModelEvaluation(run(searcher, collection, names, **options))
    with asking() as tell:
        model = explorer.verifier.model(connection, tell)
        return evaluate_with_model(searcher, collection, names, model, plan, **options)


def _corpus(
    explorer: Explorer, collection: Collection, corpus: str | None, ignore_labels: bool
) -> str:
    """Name of the corpus to search, indexed or derived now where it has to be."""
    name = corpus_of(explorer, collection, corpus)
    if not ignore_labels:
        return name
    with progress() as tell:
        return explorer.laboratory.without_labels(name, tell)


def _say_what_happened(found: ModelEvaluation) -> None:
    _say_what_is_missing(found.evaluation)
    for name, report in found.reports.items():
        say_what_it_took(name, report)


def _say_what_is_missing(found: Evaluation) -> None:
    missing = found.missing_documents
    if missing:
        which = (
            f"{missing:,} judged documents; they count"
            if missing > 1
            else ("1 judged document; it counts")
        )
        click.echo(f"Warning: the corpus lacks {which} as never found.", err=True)


def _write_runs(found: Evaluation, folder: Path) -> None:
    from engine.collections.trec import write_run

    for system, rankings in found.rankings.items():
        write_run(rankings, folder / f"{system}.run", system)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(
            f"The folder {path} cannot be made: {error.strerror or error}.",
            "Give a folder that you can write to.",
        ) from error
