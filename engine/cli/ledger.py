"""``seedlens ledger``: where judgments, trails and the list of corpora are kept."""

from __future__ import annotations

from pathlib import Path

import click

from engine.cli.common import json_option
from engine.cli.terminal import print_json
from engine.config import Settings
from engine.errors import BadInputError
from storage.home import Home


@click.group()
def ledger() -> None:
    """Judgments, trails and the list of corpora: a file of the home, or a PostgreSQL database."""


@ledger.command()
@click.argument("to", metavar="TO", type=click.Choice(("server", "file")))
@json_option
def copy(to: str, as_json: bool) -> None:
    """Copy the ledger TO the server of SEEDLENS_LEDGER_URL, or to the file of the home.

    What it is copied to has to be empty, and what it is copied from stays. Nobody can write to
    either meanwhile: end the apps, copy, and start them with or without SEEDLENS_LEDGER_URL.
    """
    from storage.ledger import Ledger

    settings = Settings()
    url = settings.ledger_url.get_secret_value()
    if not url:
        raise BadInputError(
            "SEEDLENS_LEDGER_URL is not set, so there is no server to copy to or from.",
            "Set it to postgresql://USER:PASSWORD@HOST:PORT/DATABASE.",
        )
    home = Home(settings.home)
    _check_there(home.ledger, to)
    home.create()
    file = Ledger(home.ledger, settings.ledger_wait_seconds)
    server = Ledger(home.ledger, settings.ledger_wait_seconds, url)
    source, target = (file, server) if to == "server" else (server, file)
    rows = source.copy_to(target)
    if as_json:
        print_json({"from": source.name, "to": target.name, "rows": rows})
        return
    click.echo(f"Copied {sum(rows.values()):,} rows from {source.name} to {target.name}.")


def _check_there(file: Path, to: str) -> None:
    from storage.sqlite import OLD_NAME

    if to == "server" and not file.exists() and not file.with_name(OLD_NAME).exists():
        raise BadInputError(
            f"There is no ledger {file}.", "Set SEEDLENS_HOME to the home that has it."
        )
