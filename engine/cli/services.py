"""Imports that services on the internet are part of: ``seedlens import openalex:...``, and
``seedlens update``."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.cli.common import json_option, open_explorer
from engine.cli.terminal import import_line, print_json, progress, say_notes, stop_requested
from engine.errors import BadInputError
from engine.types.corpora import ImportRequest
from engine.types.limits import SERVICE_DOCUMENTS
from engine.types.sources import DEFAULT_DOCUMENTS, ServiceQueries

if TYPE_CHECKING:
    from engine.explorer import Explorer

_SCHEME = re.compile(r"[A-Za-z0-9]{2,}:")
"""A word before a colon; one letter is a drive."""

limit_option = click.option(
    "--limit",
    type=click.IntRange(1, SERVICE_DOCUMENTS),
    metavar="N",
    help="Documents at most that a service is asked for. "
    f"Default: {DEFAULT_DOCUMENTS:,}, or as many as there are ids.",
)


def queries_of(source: str, limit: int | None, *, with_abstract: bool) -> ServiceQueries | None:
    """What a service is asked by ``openalex:WORDS``; None for the path of a file or a folder.

    Raises:
        BadInputError: the service cannot be asked this, or a file has no use for a limit.
    """
    from engine.sources.services import SERVICES, ids_of_file, names_service, read_query

    if not names_service(source):
        if _SCHEME.match(source) and not Path(source).exists():
            services = ", ".join(f"{service.key}:" for service in SERVICES)
            raise BadInputError(
                f"{source[:80]} does not exist, and is no service that SeedLens knows.",
                f"Services are {services}; ir: is for data sets.",
            )
        if limit is not None:
            raise BadInputError(
                "--limit is for services.", "Leave it out: files and data sets are read whole."
            )
        return None
    service, _, asked = source.partition(":")
    typed = not asked.startswith("@")
    text = asked if typed else ids_of_file(Path(asked[1:]))
    query = read_query(service.lower(), text, limit, typed=typed)
    return ServiceQueries((replace(query, with_abstract=with_abstract),))


def run_import(explorer: Explorer, request: ImportRequest, as_json: bool) -> None:
    """Import, and say what came of it."""
    from engine.search.reports import import_report

    with progress() as tell, stop_requested() as stopped:
        report = explorer.library.import_here(request, tell, stopped, "the command line")
    say_notes(report.warnings, "Warning")
    if as_json:
        print_json(import_report(report))
    else:
        click.echo(import_line(report))
    if report.cancelled:
        sys.exit(130)


@click.command()
@click.argument("name")
@json_option
def update(name: str, as_json: bool) -> None:
    """Ask the services that corpus NAME came from again, and add what is new.

    Documents that are there unchanged keep their vectors; what a service has changed takes the
    place of the former version, and nothing is taken out.
    """  # fmt: skip
    explorer = open_explorer()
    request = ImportRequest(explorer.library.sources_to_update(name), name)
    run_import(explorer, request, as_json)
