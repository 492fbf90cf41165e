"""``seedlens backup``, ``restore``, ``verify`` and ``ledger``: the files of a home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

from engine.cli.common import import_command, open_explorer
from engine.cli.options import from_signature
from engine.cli.terminal import print_json
from engine.config import Settings
from engine.errors import BadInputError
from engine.text import size
from storage.home import Home

if TYPE_CHECKING:
    from engine.corpora.backup import BackupReport


@click.command()
@from_signature
def backup(
    file: Path,
    *,
    only: Literal["irreplaceable", "ledger"] | None = None,
    as_json: bool = False,
) -> None:
    """Write the home to FILE, a ZIP archive, while the app may run.

    It holds what people judged and kept, uploaded files, and the corpora.

    Options:
        only: irreplaceable: all but documents and vectors, which importing their sources makes
            again. ledger: judgments, trails and settings alone.
    """
    from engine.corpora.backup import back_up

    explorer = open_explorer()
    _say(back_up(explorer.home, explorer.ledger, file.absolute(), only), "Written", as_json)


@click.command()
@from_signature
def verify(file: Path, *, as_json: bool = False) -> None:
    """Check all of the backup FILE against its manifest."""
    from engine.corpora.backup import verify as verify_backup

    _say(verify_backup(file), "Sound", as_json)


@click.command()
@from_signature
def restore(file: Path, *, as_json: bool = False) -> None:
    """Put the backup FILE into the home, SEEDLENS_HOME, which must be empty."""
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
        print_json(report)
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


@click.group()
def ledger() -> None:
    """Judgments, trails and the list of corpora: a file of the home, or a PostgreSQL database."""


@ledger.command()
@from_signature
def copy(to: Annotated[Literal["server", "file"], "TO"], *, as_json: bool = False) -> None:
    """Copy the ledger TO the server of SEEDLENS_LEDGER_URL, or to the file of the home.

    What it is copied to has to be empty, and what it is copied from stays. Nobody can write to
    either meanwhile: end the apps, copy, and start them with or without SEEDLENS_LEDGER_URL.
    """
    from storage.ledger import Ledger
    from storage.sqlite import OLD_NAME

    settings = Settings()
    url = settings.ledger_url.get_secret_value()
    if not url:
        raise BadInputError(
            "SEEDLENS_LEDGER_URL is not set, so there is no server to copy to or from.",
            "Set it to postgresql://USER:PASSWORD@HOST:PORT/DATABASE.",
        )
    home = Home(settings.home)
    ledgers = (home.ledger, home.ledger.with_name(OLD_NAME))
    if to == "server" and not any(file.exists() for file in ledgers):
        raise BadInputError(
            f"There is no ledger {home.ledger}.", "Set SEEDLENS_HOME to the home that has it."
        )
    home.create()
    file = Ledger(home.ledger, settings.ledger_wait_seconds)
    server = Ledger(home.ledger, settings.ledger_wait_seconds, url)
    source, target = (file, server) if to == "server" else (server, file)
    rows = source.copy_to(target)
    if as_json:
        print_json({"from": source.name, "to": target.name, "rows": rows})
        return
    click.echo(f"Copied {sum(rows.values()):,} rows from {source.name} to {target.name}.")
