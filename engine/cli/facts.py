"""``seedlens facts``: the dates, amounts and places that a document states or implies."""

from __future__ import annotations

from datetime import date, datetime

import click

from engine.cli.common import json_option, open_explorer
from engine.cli.terminal import print_json
from engine.errors import BadInputError


@click.command()
@click.argument("name", required=False)
@click.option("--doc", "doc_id", metavar="DOC_ID", help="A document of corpus NAME.")
@click.option("--text", help="A text instead of a document.")
@click.option(
    "--date", "written", metavar="YYYY-MM-DD", help="The day on which the text was written."
)
@json_option
def facts(
    name: str | None, doc_id: str | None, text: str | None, written: str | None, as_json: bool
) -> None:
    """Say which dates, amounts and places a document of corpus NAME, or a text, states or implies.

    What is only implied ("two days ago", "half that price") is resolved without a language
    model; each fact comes with the words it follows from and how sure it is.
    """  # fmt: skip
    if (text is None) == (doc_id is None) or (doc_id is None) != (name is None):
        raise BadInputError(
            "Facts are read from one document or one text.",
            "Write seedlens facts NAME --doc DOC_ID, or seedlens facts --text TEXT.",
        )
    from engine.explorer import Explorer
    from engine.reports import fact_report

    found = (
        Explorer.find_facts(text, _day(written))
        if text is not None
        else open_explorer().facts(str(name), str(doc_id))
    )
    if as_json:
        print_json([fact_report(fact) for fact in found])
        return
    if not found:
        click.echo("No date, amount or place was found.", err=True)
    for fact in found:
        how = f"from {fact.derivation}" if fact.derivation else "stated"
        about = f"  [{', '.join(fact.about)}]" if fact.about else ""
        click.echo(f"{fact.kind:7} {fact.text}{about}  ({how}; {fact.confidence:.0%} sure)")


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError as error:
        raise BadInputError(
            f"'{text}' is not a day of the calendar.", "Write --date 2024-02-29."
        ) from error
