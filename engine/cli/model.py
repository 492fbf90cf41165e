"""What commands share that ask a language model: options, progress, and what it cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NoReturn

import click

from engine.cli.terminal import bar_of, print_json, say_notes
from engine.errors import BadInputError
from engine.llm.budget import RoundProgress
from engine.types.models import (
    Estimate,
    ModelReport,
    ModelRunProgress,
    ModelUsage,
    TaskEstimate,
    TaskReport,
)
from engine.types.reranking import Move, Reranking
from engine.types.searches import Query

if TYPE_CHECKING:
    from engine.assist.verifier import Verifier

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

reading_option = click.option(
    "--model-reading",
    is_flag=True,
    help="Let a language model read the wording (--instruction): one question. Where it gives no "
    "answer, the built-in reading counts.",
)


def check_depth(rerank: str | None, depth: int | None) -> None:
    """Raise BadInputError for a depth of nothing."""
    if depth is not None and rerank is None:
        raise BadInputError("--depth is for reranking.", "Add --rerank pairwise, say.")


def confirm(asks: object, *, yes: bool) -> None:
    """Ask whether to go on, where a model would be asked and somebody is there to answer.

    Args:
        asks: whether, or how much of, anything would be asked.
        yes: it was agreed to before.
    """
    if asks and not yes and sys.stdin.isatty():
        click.confirm("Go on?", abort=True, err=True)


def read_by_model(
    verifier: Verifier, query: Query, most_calls: int | None
) -> tuple[Query, int | None]:
    """The query with a model's reading of its wording, and the calls that are left.

    What was asked and understood goes to stderr; without an answer, the query stays as it is.

    Raises:
        BadInputError: there is no wording, or its reading is given.
        NoEndpointError: no model is connected.
    """
    words = (query.instruction or "").strip()
    if not words:
        raise BadInputError("--model-reading is for a wording.", "Give one with --instruction.")
    if query.reading:
        raise BadInputError(
            "--reading says already what the wording is read as.",
            "Leave out either --reading or --model-reading.",
        )
    found = verifier.read_wordings(query.corpus, [words], most_calls=most_calls)
    left = None if most_calls is None else max(0, most_calls - found.usage.calls)
    model = found.usage.model
    click.echo(f"model-reading: {taken(found.usage)}", err=True)
    said = found.readings.get(words)
    if said is None:
        say_problem((), f"{model} did not read the wording; the built-in reading is used. "
                  f"{found.problem}")  # fmt: skip
        return query, left
    query = replace(query, reading=said.terms(query))
    how = f"as {','.join(query.reading)}" if query.reading else "to name no aspect"
    say_notes([f"{model} reads the wording {how}."])
    return query, left


@contextmanager
def asking() -> Iterator[Callable[[RoundProgress], None]]:
    """A line on stderr about a run with a model, quiet when stderr is not a terminal."""
    with bar_of("questions", "model") as bar:

        def tell(progress: RoundProgress) -> None:
            usage = progress.usage
            if usage.settled < bar.n:  # the next system began
                bar.reset()
            bar.update(usage.settled - bar.n)
            bar.set_postfix_str(f"{usage.calls:,} calls, {usage.failed:,} failed", refresh=False)

        yield tell


def say_what_it_took(name: str, report: ModelReport) -> None:
    """What was asked and how it went, on stderr."""
    bias = "" if report.position_bias is None else f", position bias {report.position_bias:.0%}"
    click.echo(
        f"{name}: {report.questions:,} questions in {report.rounds:,} rounds; {report.calls:,} "
        f"calls, {report.cached:,} from the ledger, {report.unanswered:,} unanswered, "
        f"{report.input_tokens:,} + {report.output_tokens:,} tokens{cost(report.cost)}{bias}",
        err=True,
    )
    lacks = report.stopped or report.failed
    say_problem(report.notes, (report.problem or _early(report)) if lacks else "")


def say_problem(notes: Sequence[str], problem: str) -> None:
    """What is odd about a run, and what went wrong in it ("" for nothing), on stderr."""
    say_notes(notes)
    say_notes([" ".join(problem.split())] if problem else [], "Warning")


def calls_so_far(progress: ModelRunProgress) -> str:
    """``358 calls, 2 failed``."""
    return f"{progress.calls:,} calls, {progress.failed:,} failed"


def end_run(estimate: Any, report: Any, usage: ModelUsage, line: str, *, as_json: bool) -> NoReturn:
    """Say what a run did, and end the command with its exit status.

    Args:
        estimate, report: records, printed with ``as_json``; ``line`` otherwise.
    """
    if as_json:
        print_json({"estimate": asdict(estimate), "report": asdict(report)})
    else:
        click.echo(line)
    say_problem(usage.notes, usage.problem)
    sys.exit(exit_code(usage))


def task_fields(record: TaskEstimate | TaskReport[Any], result: str = "result") -> dict[str, Any]:
    """A task's estimate or report as JSON has it, what it counts and what it made among the rest.

    Args:
        result: what is made is called so, unless it is a record or a dictionary.
    """
    fields = asdict(record)
    made = fields.pop("counts", None) or fields.pop("result", {})
    return {**fields, **(made if isinstance(made, dict) else {result: made})}


def at_most(estimate: Estimate) -> str:
    """``360 calls, at most 730 with repeats, 300,000 + 20,000 tokens, cost 1.2 (estimated).``"""
    text = f"{estimate.calls:,} calls, at most {estimate.most_calls:,} with repeats"
    if estimate.input_tokens is not None and estimate.output_tokens is not None:
        text += f", {estimate.input_tokens:,} + {estimate.output_tokens:,} tokens"
    return f"{text}{cost(estimate.cost)} (estimated)."


def taken(report: ModelUsage) -> str:
    """``358 calls, 2 answers from the ledger, 300,000 + 20,000 tokens, cost 1.2``."""
    return (
        f"{report.calls:,} calls, {report.cached:,} answers from the ledger, "
        f"{report.input_tokens:,} + {report.output_tokens:,} tokens{cost(report.cost)}"
    )


def cost(known: float | None) -> str:
    """``, cost 1.2``; empty where no price is known."""
    return "" if known is None else f", cost {known:.4g}"


def _early(report: ModelReport) -> str:
    if report.stopped == "cancelled":
        return "Cancelled: this is the best order so far. Answers are kept for the next time."
    return f"It ended early ({report.stopped})."


def exit_code(*reports: ModelUsage) -> int:
    """130 after Ctrl-C, 1 when the endpoint failed on the way, else 0."""
    stopped = {report.stopped for report in reports}
    return INTERRUPTED if "cancelled" in stopped else FAILED if "endpoint" in stopped else 0


def print_reranking(reranking: Reranking) -> None:
    """Results in the model's order, with how far each moved."""
    for result in reranking.results.results:
        move = reranking.moves.get(result.doc_id)
        title = result.document.title or result.document.text[:80]
        click.echo(f"{result.rank:>3}  {_moved(move):>9}  {title}  [{result.doc_id}]")
    say_notes(reranking.results.notes)


def _moved(move: Move | None) -> str:
    if move is None:
        return "new"
    sure = "" if move.confidence is None else f" {move.confidence:.0%}"
    return f"{move.moved:+d}{sure}" if move.moved else f"={sure}"


def query_options(options: dict[str, Any]) -> tuple[str | None, int | None, int | None]:
    """Take the model's options out of a command's: mode, depth, calls."""
    return options.pop("rerank"), options.pop("depth"), options.pop("budget_calls")
