"""``seedlens sensitivity``: how far rankings obey the wording."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from tqdm import tqdm

from engine.cli.common import check_steer, json_option, open_explorer, system_names
from engine.cli.terminal import print_json, print_sensitivity, progress
from engine.compare.variants import SETS


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--corpus",
    help="The corpus that holds its documents. Default: the collection's own documents, "
    "indexed once under its name.",
)
@click.option(
    "--systems",
    default="dense,instructed,aspect",
    show_default=True,
    help="Systems to compare, separated by commas.",
)
@click.option(
    "--variants",
    default=",".join(SETS),
    show_default=True,
    help="Wordings of the instruction, separated by commas.",
)
@click.option("--steer", type=float, help="For systems that take it.")
@json_option
def sensitivity(
    path: Path, corpus: str | None, systems: str, variants: str, steer: float | None, as_json: bool
) -> None:
    """Measure how far systems obey the wording, on the test collection at PATH.

    Every (seed, aspect) query is asked in several wordings, which are read from their words
    alone: a short one that names the aspect (base), one that names none (generic), the
    aspect's definition, paraphrases, and base with the seed cut to the aspect's sentences.
    """  # fmt: skip
    from engine.collections import read_collection
    from engine.compare.variants import check_sets
    from engine.reports import sensitivity_report
    from engine.sensitivity import sensitivity as run

    collection = read_collection(path)
    names = system_names(systems)
    sets = check_sets([v.strip() for v in variants.split(",") if v.strip()])
    check_steer(steer)
    explorer = open_explorer()
    with progress() as tell:
        name = corpus or explorer.library.import_collection(collection, tell)
    searcher = explorer.searcher(name)
    bar = tqdm(
        total=len(names) * sum(t.aspect is not None for t in collection.topics),
        unit=" queries",
        file=sys.stderr,
        disable=None,
    )
    with bar:
        found = run(searcher, collection, names, sets, steer=steer, on_query=bar.update)
    if found.single_aspect:
        click.echo(
            "Note: no seed is judged for two aspects, so p-MRR is undefined; RBO, tau and the "
            "overlap say how far the wording changes the rankings.",
            err=True,
        )
    if as_json:
        print_json(sensitivity_report(found))
    else:
        print_sensitivity(found)
