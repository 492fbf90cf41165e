"""``seedlens generate``: test collections that SeedLens makes itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.cli.common import json_option, open_explorer
from engine.cli.model import FAILED, INTERRUPTED, asking, budget_option
from engine.cli.terminal import bar_of, print_json, stop_requested
from engine.generate.implicit_records import (
    CATEGORIES,
    DOCUMENTS,
    MOST_DOCUMENTS,
    MOST_SETS,
    STYLES,
    ImplicitRequest,
)

if TYPE_CHECKING:
    from engine.generate.generator import BuiltCollection
    from engine.llm.budget import Usage


@click.group()
def generate() -> None:
    """Generate test collections."""


@generate.command()
@click.option("--category", type=click.Choice(CATEGORIES), required=True, help="What is implied.")
@click.option(
    "--style",
    type=click.Choice(STYLES),
    default="multi",
    show_default=True,
    help="multi: posts of many people in a thread per set; uni: chats of one person per set.",
)
@click.option(
    "--sets",
    type=click.IntRange(1, MOST_SETS),
    default=10,
    show_default=True,
    help="Threads, or people.",
)
@click.option(
    "--documents",
    type=click.IntRange(1, MOST_DOCUMENTS),
    default=DOCUMENTS,
    show_default=True,
    help="Documents, and queries, per set.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The same seed gives the same files."
)
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Where to write the collection.",
)
@click.option("--overwrite", is_flag=True, help="Replace a collection that was generated in DIR.")
@click.option(
    "--model",
    "with_model",
    is_flag=True,
    help="Let the connected language model write the documents; each is verified by a second "
    "pass, and a template stands in where that fails.",
)
@click.option(
    "--tries",
    type=click.IntRange(1, 10),
    default=3,
    show_default=True,
    help="With --model: documents asked for per tuple at most.",
)
@budget_option
@json_option
def implicit(
    category: Any,
    style: Any,
    sets: int,
    documents: int,
    seed: int,
    folder: Path,
    overwrite: bool,
    with_model: bool,
    tries: int,
    budget_calls: int | None,
    as_json: bool,
) -> None:
    """Generate documents that only imply what their queries ask for, as ImpliRet does.

    "Two days ago" in a message stands for a date, "half the price of the other" for an amount,
    and a town for its country; the query names the date, the amount or the country. Every query
    has exactly one relevant document. Evaluate DIR with: seedlens evaluate DIR
    """
    from engine.generate.generator import generate_implicit

    request = ImplicitRequest(category, style, sets, seed, documents)
    explorer = open_explorer()
    connection = explorer.verifier.connection(most_calls=budget_calls) if with_model else None
    bar = bar_of("sets", "generating", total=sets)
    with bar, asking() as tell, stop_requested() as stopped:
        made = generate_implicit(
            explorer.ledger.answers,
            request,
            folder,
            overwrite=overwrite,
            connection=connection,
            tries=tries,
            on_set=lambda done: bar.update(done - bar.n),
            on_round=tell,
            cancelled=stopped,
        )
    _say_what_happened(made)
    if as_json:
        print_json(_report(made))
    elif made.folder is not None:
        click.echo(_line(made))
    sys.exit(_exit_code(made))


def _line(made: BuiltCollection) -> str:
    asked = made.request
    return (
        f"{made.folder}: {made.documents:,} documents and as many queries in {asked.sets:,} "
        f"sets ({asked.category}, {asked.style}-speaker, seed {asked.seed}), "
        f"in {made.seconds:.1f} s. Evaluate it with: seedlens evaluate {made.folder}"
    )


def _say_what_happened(made: BuiltCollection) -> None:
    usage, counts = made.usage, made.verification
    if made.folder is None:
        click.echo("Cancelled: nothing was written. Answers are kept for the next time.", err=True)
    if usage is None:
        return
    click.echo(
        f"model: {counts.by_model:,} documents written and verified, {counts.by_templates:,} by "
        f"templates; {sum(counts.rejected.values()):,} attempts rejected; {usage.calls:,} calls, "
        f"{usage.cached:,} from the ledger",
        err=True,
    )
    if usage.stopped or usage.failed:
        problem = " ".join(usage.problem.split()) or f"It ended early ({usage.stopped})."
        click.echo(f"Warning: {problem}", err=True)


def _exit_code(made: BuiltCollection) -> int:
    if made.folder is None:
        return INTERRUPTED
    return FAILED if made.usage is not None and made.usage.stopped == "endpoint" else 0


def _report(made: BuiltCollection) -> dict[str, Any]:
    asked, counts = made.request, made.verification
    return {
        "collection": made.name or None,
        "folder": None if made.folder is None else str(made.folder),
        "table": None if made.table is None else str(made.table),
        "category": asked.category,
        "style": asked.style,
        "sets": asked.sets,
        "documents": made.documents,
        "queries": made.documents,
        "seed": asked.seed,
        "constraints": list(made.constraints),
        "written": {"model": counts.by_model, "templates": counts.by_templates},
        "rejected": counts.rejected,
        "llm": _usage_report(made.usage),
        "seconds": round(made.seconds, 3),
    }


def _usage_report(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    names = ("model", "calls", "cached", "failed", "unread", "input_tokens", "output_tokens")
    return {name: getattr(usage, name) for name in (*names, "cost", "stopped")}
