"""``seedlens backup``, ``restore``, ``verify``, ``ledger`` and ``sql``: what a home holds."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click
from pydantic import Field
from pydantic_core import to_jsonable_python

from engine.cli.common import import_command, open_explorer
from engine.cli.options import command
from engine.cli.terminal import Figure, say, show, table, wants_json
from engine.config import Settings
from engine.errors import BadInputError
from engine.text import size
from storage.home import Home

if TYPE_CHECKING:
    from engine.corpora.backup import BackupReport


@command()
def backup(file: Path, *, only: Literal["irreplaceable", "ledger"] | None = None) -> None:
    """Write the home to FILE, a ZIP archive, while the app may run.

    It has judgments, trails, reading lists, uploaded files and corpora.

    Options:
        only: irreplaceable: no documents and vectors. ledger: judgments, trails and settings only.
    """
    from engine.corpora.backup import back_up

    explorer = open_explorer()
    _show(back_up(explorer.home, explorer.ledger, file.absolute(), only), "Written")


@command()
def verify(file: Path) -> None:
    """Check all of the backup FILE against its manifest."""
    from engine.corpora.backup import verify as verify_backup

    _show(verify_backup(file), "Sound")


@command()
def restore(file: Path) -> None:
    """Restore the backup FILE into the home, SEEDLENS_HOME, which must be empty."""
    from engine.corpora.backup import restore as restore_backup

    settings = Settings()
    home = Home(settings.home)
    _show(restore_backup(file, home), f"Restored to {settings.home}")
    if settings.ledger_url.get_secret_value():
        copy = "Copy it to an empty database: seedlens ledger copy server"
        say([f"Its ledger is {home.ledger}. {copy}"], "")


def _show(report: BackupReport, done: str) -> None:
    line = (
        f"{done}: {report.file}, {report.files:,} files, {size(report.bytes)}, made "
        f"{report.made_at} by SeedLens {report.version} "
        f"({', '.join(report.corpora) or 'no corpora'})"
    )
    home = Home(Settings().home)
    again = [(name, import_command(home.located(source), name)) for name, source in report.without]
    hints = [f"Without documents: {name}. Import it again: {how}" for name, how in again]
    show(report, line, hints=hints)


@click.group()
def ledger() -> None:
    """Judgments, trails and the list of corpora: a file, or a PostgreSQL database."""


@command(ledger)
def copy(to: Annotated[Literal["server", "file"], "TO"]) -> None:
    """Copy the ledger TO the server of SEEDLENS_LEDGER_URL, or to the home's file.

    The target must be empty; the source is kept. Stop the apps before, and start them afterwards
    with or without SEEDLENS_LEDGER_URL.
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
    line = f"Copied {sum(rows.values()):,} rows from {source.name} to {target.name}."
    show({"from": source.name, "to": target.name, "rows": rows}, line)


@command()
def sql(
    name: str,
    query: str,
    *,
    csv_file: Path | None = None,
    parquet_file: Path | None = None,
    seconds: Annotated[float, Field(gt=0)] = 60.0,
) -> None:
    """Run QUERY, one SELECT in the SQL of DuckDB, over corpus NAME.

    Views: documents, sentences, facts, judgments, pools, runs and measures; DESCRIBE VIEW lists
    the columns of each. A query changes nothing, and reads no files and no network.

    Options:
        csv_file --csv FILE: Write the result to a CSV file.
        parquet_file --parquet FILE: Write the result to a Parquet file.
        seconds: Stop the query after this time.
    """
    found = open_explorer().analysis.run(name, query, seconds=seconds)
    columns, rows = found.table.column_names, found.table.num_rows
    if found.truncated:
        say([f"The result is too large: its first {rows:,} rows are shown."])
    if csv_file is not None:
        with csv_file.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *found.rows()])
    if parquet_file is not None:
        parquet_file.write_bytes(found.to_parquet())
    written = [file for file in (csv_file, parquet_file) if file is not None]
    say([f"{rows:,} rows written to {file}." for file in written], "")
    if wants_json():
        report = {
            "corpus": name,
            "columns": columns,
            "rows": to_jsonable_python(
                found.table.to_pylist(), inf_nan_mode="null", bytes_mode="base64"
            ),
            "truncated": found.truncated,
            "seconds": round(found.seconds, 3),
        }
        show(report)
    elif not written:
        click.echo(table(columns, [[*map(_cell, row)] for row in found.rows()]), nl=bool(rows))
        say([] if rows else ["The result has no rows."])


def _cell(value: object) -> object:
    """Whole numbers without commas: they may be years."""
    return Figure(value) if isinstance(value, int) and not isinstance(value, bool) else value
