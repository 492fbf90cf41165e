"""``seedlens sensitivity``: how far rankings follow the wording."""

from __future__ import annotations

from pathlib import Path

import click

from engine.cli.common import (
    check_steer,
    corpus_of,
    corpus_option,
    json_option,
    open_explorer,
    steer_option,
    system_names,
)
from engine.cli.terminal import bar_of, print_json, print_sensitivity
from engine.lenses.variants import ALL_SETS, SETS


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@corpus_option
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
    help=f"Wordings of the instruction, separated by commas: of {', '.join(ALL_SETS)}.",
)
@steer_option
@json_option
def sensitivity(
    path: Path, corpus: str | None, systems: str, variants: str, steer: float | None, as_json: bool
) -> None:
    """Measure how far systems follow the wording, on the test collection at PATH.

    Every (seed, aspect) query is asked in several wordings, which are read from their words
    alone: a short one that names the aspect (base), one that names none (generic), the
    aspect's definition, paraphrases, and base with the seed cut to the aspect's sentences.
    SICR and WISE (InfoSearch, ICLR 2025) tell how far relevant documents rise with a wording,
    against none, and fall with one that rules the aspect out (reverse). Robustness@10 is the
    lowest nDCG@10 of any wording that asks for the aspect, averaged over queries.
    """  # fmt: skip
    from engine.collections.readers import read_collection
    from engine.compare.sensitivity_table import sensitivity as run
    from engine.lenses.variants import check_sets
    from engine.search.reports import sensitivity_report

    collection = read_collection(path)
    names = system_names(systems)
    sets = check_sets([v.strip() for v in variants.split(",") if v.strip()])
    check_steer(steer)
    explorer = open_explorer()
    searcher = explorer.searcher(corpus_of(explorer, collection, corpus))
    total = len(names) * sum(topic.aspect is not None for topic in collection.topics)
    with bar_of("queries", total=total) as bar:
        table = run(searcher, collection, names, sets, steer=steer, on_query=bar.update)
    if table.single_aspect:
        click.echo(
            "Note: no seed is judged for two aspects, so p-MRR is undefined; RBO, tau and the "
            "overlap say how far the wording changes the rankings.",
            err=True,
        )
    if as_json:
        print_json(sensitivity_report(table))
    else:
        print_sensitivity(table)
