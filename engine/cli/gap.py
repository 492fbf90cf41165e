"""``seedlens gap``: how much better a verifier knows than retrievers find."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from engine.cli.common import (
    corpus_of,
    corpus_option,
    json_option,
    open_explorer,
    sample_option,
    system_names,
    whole_numbers,
)
from engine.cli.evaluate import watched
from engine.cli.model import INTERRUPTED, budget_option, exit_code, say_what_it_took
from engine.cli.terminal import print_json, say_notes
from engine.search.reports import gap_report
from engine.types.evaluations import Interval
from engine.types.plurals import counted
from engine.types.reranking import Gap, GapRequest


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@corpus_option
@click.option(
    "--verifier", default="pairwise", show_default=True, help="How the model ranks a pool."
)
@click.option(
    "--pool-sizes",
    default="20,50,100,200",
    show_default=True,
    help="Candidates per query, separated by commas.",
)
@click.option(
    "--systems",
    default="bm25,dense,aspect",
    show_default=True,
    help="Retrievers, separated by commas; candidates are drawn from all of them in turn.",
)
@sample_option
@budget_option
@json_option
def gap(
    path: Path,
    corpus: str | None,
    verifier: str,
    pool_sizes: str,
    systems: str,
    sample: int | None,
    budget_calls: int | None,
    as_json: bool,
) -> None:
    """Estimate the retrieval-verification gap on the test collection at PATH.

    A language model ranks the candidates that the retrievers return (lower bound), and the same
    with the missing relevant documents put in (upper bound). What lies between these and the
    best retriever is what retrieval still misses although it can be recognised.
    """
    from engine.collections.readers import read_collection
    from engine.evaluate.verification_gap import check_gap
    from engine.jobs.runner import in_foreground

    collection = read_collection(path)
    sizes = whole_numbers(pool_sizes, "pool sizes", "--pool-sizes 20,50,100,200")
    request = GapRequest("", verifier, tuple(system_names(systems)), sizes, sample)
    check_gap(request)
    explorer = open_explorer()
    connection = explorer.verifier.connection(most_calls=budget_calls)
    key = explorer.collections.key_of(path, corpus_of(explorer, collection, corpus))
    request = replace(request, collection=key)
    with watched() as tell:
        report = in_foreground(
            lambda cancelled: explorer.gaps.measure(request, connection, tell, cancelled)
        )
    measured = report.gap
    if measured is None:
        click.echo("Cancelled before the model was asked anything.", err=True)
        sys.exit(INTERRUPTED)
    say_what_it_took(verifier, measured.report)
    if as_json:
        print_json(gap_report(measured))
    else:
        print_gap(measured)
    sys.exit(exit_code(measured.report))


def print_gap(gap: Gap) -> None:
    """A row per size with both bounds, and the retrievers."""
    queries = counted(gap.queries, "query", "queries")
    click.echo(
        f"{gap.collection}: {queries} on corpus '{gap.corpus}', {gap.measure}, "
        f"verified by {gap.verifier} ({gap.report.model})\n"
    )
    heads = ("pool", "found", "lower", "upper", "gap, lower", "gap, upper")
    widths = (8, 8, 25, 25, 27, 27)
    click.echo("".join(f"{head:>{w}}" for head, w in zip(heads, widths, strict=True)))
    for point in gap.points:
        lower, upper = gap.gap(point)
        values = (
            f"{point.size:,}",
            "–" if point.found is None else f"{point.found:.3f}",
            f"{point.lower:.3f}{_bounds(point.lower_interval)}",
            f"{point.upper:.3f}{_bounds(point.upper_interval)}",
            f"{lower:+.3f}{_bounds(point.gap_lower_interval, '+')}",
            f"{upper:+.3f}{_bounds(point.gap_upper_interval, '+')}",
        )
        click.echo("".join(f"{value:>{w}}" for value, w in zip(values, widths, strict=True)))
    click.echo("")
    for name, value in gap.best_first:
        best = "  best retriever" if name == gap.best else ""
        click.echo(f"{name:>20}{value:>8.3f}{best}")
    say_notes(gap.notes)


def _bounds(interval: Interval, sign: str = "") -> str:
    """`` (0.552 to 0.661)``: 95 %, or nothing."""
    if interval is None:
        return ""
    low, high = (f"{value:{sign}.3f}" for value in interval)
    return f" ({low} to {high})"
