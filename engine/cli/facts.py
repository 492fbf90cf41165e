"""``seedlens facts``: the dates, amounts and places that a document states or implies."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

import click

from engine.cli.common import json_option, open_explorer
from engine.cli.model import at_most, budget_option, confirm, end_run, taken
from engine.cli.terminal import advancing, print_json, what_else
from engine.errors import BadInputError

if TYPE_CHECKING:
    from engine.assist.infer_facts import InferProgress, InferReport


@click.command()
@click.argument("name", required=False)
@click.option("--doc", "doc_id", metavar="DOC_ID", help="A document of corpus NAME.")
@click.option("--text", help="A text instead of a document.")
@click.option(
    "--date", "written", metavar="YYYY-MM-DD", help="The day on which the text was written."
)
@click.option(
    "--model",
    "by_model",
    is_flag=True,
    help="Let the language model name what the documents of corpus NAME imply beyond that, and "
    "keep it with them.",
)
@click.option("--kinds", metavar="KINDS", help="With --model: of place,date,amount. Default: all.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --model: only the first N documents.",
)
@click.option("--yes", is_flag=True, help="With --model: do not ask before the model is asked.")
@budget_option
@json_option
def facts(
    name: str | None,
    doc_id: str | None,
    text: str | None,
    written: str | None,
    by_model: bool,
    kinds: str | None,
    limit: int | None,
    yes: bool,
    budget_calls: int | None,
    as_json: bool,
) -> None:
    """Say which dates, amounts and places a document of corpus NAME, or a text, states or implies.

    What is only implied ("two days ago", "half that price") is resolved without a language
    model; each fact comes with the words it follows from and how sure it is.

    With --model the connected model adds what only knowledge of the world tells, such as the
    country of a landmark. What it will take is said before anything is asked; answers are kept,
    so that the same command goes on after a stop, and costs nothing the second time.
    """  # fmt: skip
    if by_model:
        if name is None or (doc_id, text, written) != (None, None, None):
            raise BadInputError(
                "--model is for all documents of a corpus.", "Write seedlens facts NAME --model."
            )
        _infer(name, kinds, limit, yes, budget_calls, as_json)
        return
    if kinds is not None or limit is not None or yes or budget_calls is not None:
        raise BadInputError(
            "--kinds, --limit, --yes and --budget-calls are for a model.", "Add --model."
        )
    _show(name, doc_id, text, written, as_json)


def _show(
    name: str | None, doc_id: str | None, text: str | None, written: str | None, as_json: bool
) -> None:
    if (text is None) == (doc_id is None) or (doc_id is None) != (name is None):
        raise BadInputError(
            "Facts are read from one document or one text.",
            "Write seedlens facts NAME --doc DOC_ID, or seedlens facts --text TEXT.",
        )
    from engine.explorer import Explorer
    from engine.search.reports import fact_report

    shown = (
        Explorer.find_facts(text, _day(written))
        if text is not None
        else open_explorer().facts(str(name), str(doc_id))
    )
    if as_json:
        print_json([fact_report(fact) for fact in shown])
        return
    if not shown:
        click.echo("No date, amount or place was found.", err=True)
    for fact in shown:
        how = f"from {fact.derivation}" if fact.derivation else "stated"
        about = f"  [{', '.join(fact.about)}]" if fact.about else ""
        made = ", generated" if fact.generated else ""
        click.echo(f"{fact.kind:7} {fact.text}{about}  ({how}; {fact.confidence:.0%} sure{made})")


def _infer(
    name: str,
    kinds: str | None,
    limit: int | None,
    yes: bool,
    budget_calls: int | None,
    as_json: bool,
) -> None:
    from engine.assist.infer_claims import KINDS
    from engine.assist.infer_facts import FactsByModel, InferRequest

    named = [kind.strip() for kind in (kinds or ",".join(KINDS)).split(",") if kind.strip()]
    if odd := [kind for kind in named if kind not in KINDS]:
        raise BadInputError(f"'{odd[0]}' is no kind of fact.", f"Name some of {','.join(KINDS)}.")
    request = InferRequest(name, tuple(kind for kind in KINDS if kind in named), limit)
    explorer = open_explorer()
    inferring = FactsByModel(explorer.home, explorer.ledger, explorer.settings, explorer.library)
    estimate = inferring.estimate(request)
    click.echo(f"{estimate.documents:,} documents. {at_most(estimate)}", err=True)
    confirm(estimate.calls, yes=yes)
    with advancing("documents", "facts", counts=_counts) as tell:
        report = inferring.run(request, most_calls=budget_calls, tell=tell)
    end_run(estimate, report, report.usage, _report_line(report), as_json=as_json)


def _report_line(report: InferReport) -> str:
    """What a run did, in a sentence or two."""
    counts, usage = report.counts, report.usage
    text = (
        f"'{report.request.corpus}': {counts.facts:,} facts in {counts.documents:,} documents by "
        f"{usage.model}; {taken(usage)}"
    )
    parts = [
        (counts.known, "claims that were known already"),
        (counts.unquoted, "claims whose quote is not in the text"),
        (counts.unusable, "claims without a usable value"),
        (counts.failed, "documents without a usable answer"),
        (report.left, "documents not reached"),
    ]
    return text + what_else(parts, goes_on=bool(counts.failed or report.left))


def _counts(progress: InferProgress) -> str:
    return f"{progress.facts:,} facts"


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError as error:
        raise BadInputError(
            f"'{text}' is not a day of the calendar.", "Write --date 2024-02-29."
        ) from error
