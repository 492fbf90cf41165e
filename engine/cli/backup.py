"""``seedlens backup``, ``restore`` and ``verify``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.cli.common import import_command, json_option, open_explorer
from engine.cli.terminal import print_json
from engine.config import Settings
from engine.types.plurals import size
from storage.home import Home

if TYPE_CHECKING:
    from engine.corpora.backup import BackupReport, Only

file_argument = click.argument("file", type=click.Path(path_type=Path))


@click.command()
@file_argument
@click.option(
    "--only",
    type=click.Choice(("irreplaceable", "ledger")),
    help="irreplaceable: all but documents and vectors, which importing their sources makes "
    "again. ledger: judgments, trails and settings alone.",
)
@json_option
def backup(file: Path, only: Only | None, as_json: bool) -> None:
    """Write the home to FILE, a ZIP archive, while the app may run.

    It holds what people judged and kept, uploaded files, and the corpora.
    """  # fmt: skip
    from engine.corpora.backup import back_up

    explorer = open_explorer()
    _say(back_up(explorer.home, explorer.ledger, file.absolute(), only), "Written", as_json)


@click.command()
@file_argument
@json_option
def verify(file: Path, as_json: bool) -> None:
    """Check all of the backup FILE against its manifest."""  # fmt: skip
    from engine.corpora.backup import verify as verify_backup

    _say(verify_backup(file), "Sound", as_json)


@click.command()
@file_argument
@json_option
def restore(file: Path, as_json: bool) -> None:
    """Put the backup FILE into the home, SEEDLENS_HOME, which must be empty."""  # fmt: skip
    from engine.corpora.backup import restore as restore_backup

    settings = Settings()
    home = settings.home
    _say(restore_backup(file, Home(home)), f"Restored to {home}", as_json)
    if settings.ledger_url.get_secret_value():
        click.echo(
            f"Its ledger is {Home(home).ledger}. Copy it to an empty database: "
            "seedlens ledger copy server",
            err=True,
        )


def _say(report: BackupReport, done: str, as_json: bool) -> None:
    if as_json:
        print_json(asdict(report))
        return
    held = ", ".join(report.corpora) if report.corpora else "no corpora"
    click.echo(
        f"{done}: {report.file}, {report.files:,} files, {size(report.bytes)}, "
        f"made {report.made_at} by SeedLens {report.version} ({held})"
    )
    home = Home(Settings().home)
    for name, source in report.without:
        command = import_command(home.located(source), name)
        click.echo(f"Without documents: {name}. Import it again: {command}", err=True)
