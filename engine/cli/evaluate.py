"""``seedlens evaluate``: systems side by side on a test collection."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from tqdm import tqdm

from engine.cli.common import check_steer, json_option, open_explorer, system_names
from engine.cli.terminal import print_evaluation, print_json, progress
from engine.errors import BadInputError

if TYPE_CHECKING:
    from engine.collections import Collection
    from engine.explorer import Explorer
    from engine.types import Evaluation


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--corpus",
    help="The corpus that holds its documents. Default: the collection's "
    "own documents, indexed once under its name.",
)
@click.option(
    "--systems",
    default="bm25,dense,late-interaction,hybrid,aspect",
    show_default=True,
    help="Systems to compare, separated by commas.",
)
@click.option("--steer", type=float, help="For systems that take it.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask only the queries of N seeds, the same ones every time. Default: all.",
)
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
    run_out: Path | None,
    as_json: bool,
) -> None:
    """Measure systems side by side on the test collection at PATH.

    PATH is a CSFCube folder, a BEIR folder, an ImpliRet CSV, or a folder with topics.jsonl
    and TREC qrels.
    """
    from engine.collections import read_collection
    from engine.evaluate import evaluate as run
    from engine.evaluate import sampled
    from engine.lab.human import check_annotators
    from engine.reports import evaluation_report

    collection = read_collection(path)
    names = system_names(systems)
    check_steer(steer)
    if human:
        check_annotators(collection)
    if run_out is not None:
        _make_folder(run_out)
    for warning in collection.warnings:
        click.echo(f"Warning: {warning}", err=True)
    explorer = open_explorer()
    searcher = explorer.searcher(_corpus(explorer, collection, corpus, ignore_labels))
    total = len(names) * len(sampled(collection.topics, sample))
    with tqdm(total=total, unit=" queries", file=sys.stderr, disable=None) as bar:
        found = run(
            searcher, collection, names,
            steer=steer, sample=sample, human=human, on_query=bar.update,
        )  # fmt: skip
    _say_what_is_missing(found)
    if run_out is not None:
        _write_runs(found, run_out)
    if as_json:
        print_json(evaluation_report(found))
    else:
        print_evaluation(found)


def _corpus(
    explorer: Explorer, collection: Collection, corpus: str | None, ignore_labels: bool
) -> str:
    """Name of the corpus to search, indexed or derived now where it has to be."""
    with progress() as tell:
        name = corpus or explorer.library.import_collection(collection, tell)
        return explorer.laboratory.without_labels(name, tell) if ignore_labels else name


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
    from engine.runs import write_run

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
