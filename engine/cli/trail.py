"""``seedlens trail``: what was searched and kept while exploring, as lists and as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.cli.common import json_option, open_explorer
from engine.cli.terminal import print_json
from engine.errors import UnknownNameError
from engine.types.plurals import counted
from engine.types.trails import EXPORT_FORMATS, TrailInfo

if TYPE_CHECKING:
    from engine.explorer import Explorer


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
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Default: stdout.",
)
def export(trail_id: str, kind: str, out: Path | None) -> None:
    """Export the reading list of TRAIL.

    BibTeX, RIS and CSL-JSON have entry types, DOIs and your notes; import reads BibTeX and
    RIS back.
    """
    text = _known(trail_id).notebook.export_trail(trail_id, kind)
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")


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
