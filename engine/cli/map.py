"""``seedlens map``: the documents of a corpus in the plane, made and written to a file."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.cli.common import open_explorer
from engine.cli.model import at_most, budget_option
from engine.cli.terminal import progress, stop_requested
from engine.errors import BadInputError
from engine.types.models import ModelUsage, summed
from engine.types.spreadsheets import spreadsheet_cell

if TYPE_CHECKING:
    from engine.maps.facade import Maps
    from engine.types.maps import CorpusMap, Layout

COLUMNS = ("layout", "doc_id", "x", "y", "coarse", "fine")


@click.command("map")
@click.argument("corpus")
@click.option("--rebuild", is_flag=True, help="Lay all documents out anew.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write positions and clusters to FILE.json or FILE.csv.",
)
@click.option(
    "--model-names",
    is_flag=True,
    help="Let a language model word the names of clusters: a question for each layout.",
)
@click.option("--own-names", is_flag=True, help="Take the names that a model gave back.")
@budget_option
def map_command(
    corpus: str,
    rebuild: bool,
    output: Path | None,
    model_names: bool,
    own_names: bool,
    budget_calls: int | None,
) -> None:
    """Lay the documents of CORPUS out in the plane: as a whole, and by each aspect.

    Documents that are on its map stay where they are; new ones are placed among them. With
    --rebuild all are laid out anew.
    """
    if model_names and own_names:
        raise BadInputError("--model-names and --own-names ask for opposites.", "Give one.")
    if output is not None and output.suffix.lower() not in (".json", ".csv"):
        raise BadInputError(f"A map cannot be written as {output.name}.", "Use .json or .csv.")
    maps = open_explorer().maps
    with progress() as tell, stop_requested() as stopped:
        report = maps.build(corpus, tell, stopped, rebuild=rebuild)
    if report.stopped:
        click.echo("Stopped; nothing was changed.", err=True)
        sys.exit(130)
    done = f"{len(report.layouts)} layouts made" if report.layouts else "the map is up to date"
    placed = f"; {report.placed:,} documents placed in it" if report.placed else ""
    click.echo(
        f"'{corpus}': {report.documents:,} documents, {done}{placed}, in {report.seconds:.1f} s."
    )
    found = maps.view(corpus)
    if found is not None and (model_names or own_names):
        _name(maps, corpus, found, model_names, budget_calls)
        found = maps.view(corpus)
    if output is not None and found is not None:
        _write(output, found)
        click.echo(f"Written to {output}.")


def _name(
    maps: Maps, corpus: str, found: CorpusMap, model_names: bool, most_calls: int | None
) -> None:
    """Have the clusters of every layout named by a model, or by their own words."""
    if not model_names:
        for name, layout in found.layouts.items():
            if layout.worded_by:
                maps.own_names(corpus, name)
        click.echo("Clusters are named by their own words.")
        return
    estimate = summed([maps.estimate_names(corpus, name) for name in found.layouts])
    click.echo(at_most(estimate), err=True)
    used: list[ModelUsage] = []
    for name in found.layouts:
        left = None if most_calls is None else most_calls - sum(one.calls for one in used)
        used.append(maps.word_names(corpus, name, most_calls=left))
    calls, cached = sum(one.calls for one in used), sum(one.cached for one in used)
    click.echo(f"Clusters are named by {used[0].model}: {calls:,} calls, {cached:,} known before.")


def _write(output: Path, found: CorpusMap) -> None:
    rows = [row for layout in found.layouts.values() for row in _rows(found.doc_ids, layout)]
    with output.open("w", encoding="utf-8", newline="") as file:
        if output.suffix.lower() == ".csv":
            cells = [[spreadsheet_cell(str(value)) for value in row] for row in rows]
            csv.writer(file).writerows([COLUMNS, *cells])
        else:
            records = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
            json.dump({"corpus": found.corpus, "documents": records}, file, ensure_ascii=False)


def _rows(doc_ids: Sequence[str], layout: Layout) -> Iterator[tuple[str | float, ...]]:
    """The values of :data:`COLUMNS` of each document that has a position."""
    for at, (x, y) in enumerate(layout.positions.tolist()):
        if not isnan(x):
            coarse, fine = (level.names[level.labels[at]] for level in layout.levels)
            yield layout.name, doc_ids[at], round(x, 5), round(y, 5), coarse, fine
