"""``seedlens qrels``: judgments out of a project as files, and into it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.cli.annotate import include_audit_option, project_option
from engine.cli.common import json_option, open_explorer
from engine.cli.terminal import print_json, say_notes
from engine.errors import BadInputError
from engine.types.annotating import JUDGMENT_FORMATS

if TYPE_CHECKING:
    from engine.annotate.judgment_io import Exported


@click.group()
def qrels() -> None:
    """Export and import judgments."""


@qrels.command("export")
@click.argument("name")
@project_option
@click.option(
    "--format",
    "kind",
    type=click.Choice(JUDGMENT_FORMATS),
    default="trec",
    show_default=True,
    help="hand-over: all that one annotator did, with undos, queries and settings.",
)
@click.option(
    "--per-annotator",
    is_flag=True,
    help="Each one's own grades; the adjudicated ones otherwise.",
)
@click.option("--annotator", default="", metavar="WHO", help="Only this one's own.")
@click.option(
    "--median",
    is_flag=True,
    help="Where grades differ and nobody decided: their median, the lower of two. Otherwise "
    "such items are left out.",
)
@include_audit_option
@click.option(
    "--spreadsheet",
    is_flag=True,
    help="With csv: no text is a formula to a spreadsheet program. To read, not to import again.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A file or folder. Default: stdout, for a single file.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print what was written as JSON; needs --out."
)
def export(
    name: str,
    project: str,
    kind: str,
    per_annotator: bool,
    annotator: str,
    median: bool,
    include_audit: bool,
    spreadsheet: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Write the judgments of a project on corpus NAME.

    Query ids name seed and aspect. CSV and JSONL with --per-annotator have every field and can
    be imported elsewhere as they are. Grades that people gave to check a model are left out.
    """
    if as_json and out is None:
        raise BadInputError("--json says what was written where.", "Give --out PATH as well.")
    if spreadsheet and kind != "csv":
        raise BadInputError("--spreadsheet is for CSV.", "Add --format csv.")
    annotation = open_explorer().annotation
    asked = annotation.project(name, project)
    exported = annotation.exchange.export(
        asked,
        kind,
        per_annotator=per_annotator,
        annotator=annotator,
        median=median,
        spreadsheet=spreadsheet,
        audit=include_audit,
    )
    if out is None:
        _print(exported)
        written: tuple[Path, ...] = ()
    else:
        written = exported.write(out)
    if as_json:
        print_json(
            {
                "files": [str(path) for path in written],
                "judgments": exported.judgments,
                "notes": list(exported.notes),
            }
        )
    elif written:
        click.echo(f"{exported.judgments:,} judgments written: {', '.join(map(str, written))}")
    say_notes(exported.notes)


def _print(exported: Exported) -> None:
    if len(exported.files) != 1:
        raise BadInputError(
            f"This export has {len(exported.files)} files.", "Give a folder with --out DIR."
        )
    # Whole before it is printed: half an export on stdout would look like all of it.
    click.echo("".join(next(iter(exported.files.values()))), nl=False)


@qrels.command("import")
@click.argument("name")
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option(
    "--project",
    metavar="P",
    help="Default: the corpus's own, or the one that a hand-over is from.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(("auto", *JUDGMENT_FORMATS, "csfcube")),
    default="auto",
    show_default=True,
)
@click.option(
    "--annotator",
    default="",
    metavar="WHO",
    help="Whose judgments they are where the file does not say (needed for TREC and BEIR); for "
    "CSFCube, who adjudicated.",
)
@click.option("--adjudicated", is_flag=True, help="They are decisions between annotators.")
@click.option(
    "--by-model",
    is_flag=True,
    help="All of them are a language model's, which WHO names: no examples for models that grade.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Where an annotator said something else here, the file's counts from now on.",
)
@json_option
def import_(
    name: str,
    path: Path | None,
    project: str | None,
    kind: str,
    annotator: str,
    adjudicated: bool,
    by_model: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Take judgments from PATH into a project on corpus NAME.

    A corpus that came from CSFCube needs no PATH: every annotator's own grades come in, and
    the adjudicated ones as decisions. The last judgment of an annotator and item counts.
    Importing twice changes nothing; when any line is broken, nothing is imported.
    """
    imported = open_explorer().annotation.exchange.import_(
        name,
        path,
        project,
        kind=kind,
        annotator=annotator,
        adjudicated=adjudicated,
        by_model=by_model,
        overwrite=overwrite,
    )
    if as_json:
        print_json(asdict(imported))
    else:
        click.echo(f"{imported.added:,} judgments added; {imported.known:,} were there already.")
    say_notes((*imported.conflicts, *imported.warnings), "Warning")
