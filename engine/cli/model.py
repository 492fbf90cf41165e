"""What commands share that ask a language model: options, progress, and what it cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from tqdm import tqdm

from engine.background import Report
from engine.errors import BadInputError
from engine.llm.usage import RoundProgress
from engine.types import ModelReport, Move, Reranking

INTERRUPTED, FAILED = 130, 1

rerank_option = click.option(
    "--rerank",
    metavar="MODE",
    help="Let a language model rerank: pairwise, pairwise-lite, pairwise-thorough, heapsort, "
    "allpair, sliding, pointwise, listwise or tournament.",
)
depth_option = click.option(
    "--depth",
    type=click.IntRange(min=1),
    metavar="N",
    help="Documents of the first stage that are reranked. Default: 100.",
)
budget_option = click.option(
    "--budget-calls",
    type=click.IntRange(min=0),
    metavar="N",
    help="Requests to the model at most. Default: SEEDLENS_LLM_MAX_CALLS, else no limit.",
)


def check_depth(rerank: str | None, depth: int | None) -> None:
    """Raise BadInputError for a depth of nothing."""
    if depth is not None and rerank is None:
        raise BadInputError("--depth is for reranking.", "Add --rerank pairwise, say.")


@contextmanager
def asking() -> Iterator[Callable[[RoundProgress], None]]:
    """A line on stderr about a run with a model, quiet when stderr is not a terminal."""
    bar = tqdm(unit=" questions", file=sys.stderr, disable=None, desc="model")

    def tell(progress: RoundProgress) -> None:
        usage = progress.usage
        settled = usage.answered + usage.cached + usage.failed + usage.unread
        if settled < bar.n:  # the next system began
            bar.reset()
        bar.update(settled - bar.n)
        bar.set_postfix_str(f"{usage.calls:,} calls, {usage.failed:,} failed", refresh=False)

    try:
        yield tell
    finally:
        bar.close()


def say_what_it_took(name: str, report: ModelReport) -> None:
    """What was asked and how it went, on stderr."""
    cost = "" if report.cost is None else f", cost {report.cost:.4g}"
    bias = "" if report.position_bias is None else f", first shown wins {report.position_bias:.0%}"
    click.echo(
        f"{name}: {report.questions:,} questions in {report.rounds:,} rounds; {report.calls:,} "
        f"calls, {report.cached:,} from the ledger, {report.unanswered:,} unanswered, "
        f"{report.input_tokens:,} + {report.output_tokens:,} tokens{cost}{bias}",
        err=True,
    )
    for note in report.notes:
        click.echo(f"Note: {note}", err=True)
    if report.stopped or report.failed:
        click.echo(f"Warning: {' '.join((report.problem or _early(report)).split())}", err=True)


def _early(report: ModelReport) -> str:
    if report.stopped == "cancelled":
        return "Cancelled: this is the best order so far. Answers are kept for the next time."
    return f"It ended early ({report.stopped})."


def exit_code(*reports: Report) -> int:
    """130 after Ctrl-C, 1 when the endpoint failed on the way, else 0."""
    stopped = {report.stopped for report in reports}
    return INTERRUPTED if "cancelled" in stopped else FAILED if "endpoint" in stopped else 0


def print_reranking(found: Reranking) -> None:
    """Results in the model's order, with how far each moved."""
    for result in found.results.results:
        move = found.moves.get(result.doc_id)
        title = result.document.title or result.document.text[:80]
        click.echo(f"{result.rank:>3}  {_moved(move):>9}  {title}  [{result.doc_id}]")
    for note in found.results.notes:
        click.echo(f"Note: {note}", err=True)


def _moved(move: Move | None) -> str:
    if move is None:
        return "new"
    sure = "" if move.confidence is None else f" {move.confidence:.0%}"
    return f"{move.moved:+d}{sure}" if move.moved else f"={sure}"


def query_options(options: dict[str, Any]) -> tuple[str | None, int | None, int | None]:
    """Take the model's options out of a command's: mode, depth, calls."""
    return options.pop("rerank"), options.pop("depth"), options.pop("budget_calls")
