"""What commands share that ask a language model: progress, and what it cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from engine.cli.terminal import advancing, print_json, say_notes
from engine.errors import BadInputError
from engine.llm.budget import RoundProgress
from engine.types.models import (
    Estimate,
    ModelReport,
    ModelUsage,
    TaskProgress,
    TaskReport,
)
from engine.types.reranking import RankingProgress

if TYPE_CHECKING:
    from engine.llm.tasks import TaskRunner

R = TypeVar("R")
Request = TypeVar("Request")
INTERRUPTED, FAILED = 130, 1


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


def asking(
    doing: str, unit: str = "done", made: str = ""
) -> AbstractContextManager[Callable[[TaskProgress], None]]:
    """A bar on stderr about a task, quiet when stderr is not a terminal."""

    def counts(progress: TaskProgress) -> str:
        said = f"{progress.made:,} {made}, " if made else ""
        return f"{said}{progress.calls:,} calls, {progress.failed:,} failed"

    return advancing(unit, doing, counts=counts)


def asking_questions() -> AbstractContextManager[Callable[[RoundProgress | RankingProgress], None]]:
    """A bar on stderr about rounds of questions to a model."""

    def counts(progress: RoundProgress | RankingProgress) -> str:
        return f"{progress.usage.calls:,} calls, {progress.usage.failed:,} failed"

    return advancing("questions", "model", counts=counts)


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


def run_task(
    facade: TaskRunner[Request, R],
    request: Request,
    line: Callable[[Estimate], str],
    *,
    unit: str,
    made: str = "",
    yes: bool,
    budget_calls: int | None,
    only_estimate: bool = False,
    announced: Callable[[Estimate], Any] = lambda estimate: estimate,
    as_json: bool = False,
) -> tuple[Estimate, TaskReport[R]]:
    """Print what a request takes, ask whether to go on, and run it beside a bar.

    Args:
        line: what there is to do, in words.
        unit, made: what is done and what comes of it, in the plural.
        only_estimate: ends the command with the estimate, ``announced`` in JSON.
    """
    estimate = facade.estimate(request)
    asked = f" {at_most(estimate)}" if estimate.calls else ""
    click.echo(f"{line(estimate)}{asked}", err=True)
    if only_estimate:
        if as_json:
            print_json({"estimate": announced(estimate)})
        sys.exit(0)
    confirm(estimate.calls, yes=yes)
    with asking(made or unit, unit, made) as tell:
        return estimate, facade.run(request, most_calls=budget_calls, tell=tell)


def end_run(estimate: Any, report: Any, usage: ModelUsage, line: str, *, as_json: bool) -> NoReturn:
    """Print ``line``, or the two records, and end the command with the run's exit status."""
    if as_json:
        print_json({"estimate": estimate, "report": report})
    else:
        click.echo(line)
    say_problem(usage.notes, usage.problem)
    sys.exit(exit_code(usage))


def task_fields(record: Estimate | TaskReport[Any], result: str = "result") -> dict[str, Any]:
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
