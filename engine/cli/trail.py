"""``seedlens trail``: what was searched and kept while exploring, as lists and as files;
``seedlens export``: documents of a corpus."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.cli.common import ids_in, json_option, open_explorer
from engine.cli.terminal import print_json
from engine.errors import UnknownNameError
from engine.types.plurals import counted
from engine.types.trails import DOCUMENT_FORMATS, EXPORT_FORMATS, TrailInfo

if TYPE_CHECKING:
    from engine.explorer import Explorer


out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Default: stdout.",
)


@click.group()
def trail() -> None:
    """Trails: the searches made on Explore one after another, and their reading lists."""


@trail.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the latest 50 trails, the newest first.

    A single search of which nothing was kept is not listed.
    """
    trails = open_explorer().notebook.trails()
    if as_json:
        print_json([_report(one) for one in trails])
        return
    if not trails:
        click.echo("No trail yet. They are made on Explore: seedlens app", err=True)
    for one in trails:
        title = one.name or " > ".join(one.seeds[:3])
        click.echo(
            f"{one.trail_id:14} {one.time.astimezone():%Y-%m-%d %H:%M}  "
            f"{counted(one.searches, 'search', 'searches'):>14} {one.kept:>4,} kept  {title}"
        )


@trail.command()
@click.argument("trail_id", metavar="TRAIL")
def show(trail_id: str) -> None:
    """Print the searches and the reading list of TRAIL, as Markdown."""
    click.echo(_known(trail_id).notebook.export_trail(trail_id, "markdown"), nl=False)


@trail.command()
@click.argument("trail_id", metavar="TRAIL")
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(EXPORT_FORMATS)),
    default="bibtex",
    show_default=True,
    help="apa to nature: formatted citations as text, apa-html ...: as a page that has their "
    "italics. markdown and jsonl have the searches too.",
)
@out_option
def export(trail_id: str, kind: str, out: Path | None) -> None:
    """Export the reading list of TRAIL.

    BibTeX, RIS and CSL-JSON have entry types, DOIs and your notes; import reads BibTeX and
    RIS back.
    """
    write_out([_known(trail_id).notebook.export_trail(trail_id, kind)], out)


@click.command("export")
@click.argument("name")
@click.option(
    "--format",
    "kind",
    type=click.Choice(DOCUMENT_FORMATS),
    default="jsonl",
    show_default=True,
    help="jsonl and csv have all fields, and import reads them back; apa to nature: citations.",
)
@click.option(
    "--ids",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Only the documents that FILE names, an id on each line, in this order.",
)
@out_option
def export_corpus(name: str, kind: str, ids: Path | None, out: Path | None) -> None:
    """Write the documents of corpus NAME with all their fields."""
    doc_ids = None if ids is None else ids_in(ids)
    write_out(open_explorer().notebook.export_corpus(name, kind, doc_ids), out)


def write_out(parts: Iterable[str], out: Path | None) -> None:
    """Write a text to a file, or to stdout."""
    if out is None:
        for part in parts:
            click.echo(part, nl=False)
        return
    with out.open("w", encoding="utf-8") as file:
        file.writelines(parts)


def _known(trail_id: str) -> Explorer:
    explorer = open_explorer()
    if not explorer.notebook.trail(trail_id) and not explorer.notebook.kept(trail_id):
        raise UnknownNameError(f"There is no trail '{trail_id}'.", "List them: seedlens trail list")
    return explorer


def _report(one: TrailInfo) -> dict[str, object]:
    return {
        "trail_id": one.trail_id,
        "name": one.name,
        "seeds": list(one.seeds),
        "searches": one.searches,
        "kept": one.kept,
        "time": one.time.isoformat(),
    }
