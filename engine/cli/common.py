"""The engine, opened late; values of options, checked early; and runs with a language model."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Container, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from pydantic import NonNegativeInt

from engine.cli.terminal import advancing, say, show
from engine.config import Settings
from engine.errors import BadInputError, UnknownNameError, check_between
from engine.types.models import Estimate, ModelReport, ModelUsage, TaskReport
from storage.home import Home, is_corpus_name

if TYPE_CHECKING:
    from engine.explorer import Explorer
    from engine.llm.tasks import TaskRunner
    from engine.types.evaluations import Collection
    from engine.types.searches import Filter


def open_explorer(**settings: Any) -> Explorer:
    """The engine, loaded late, so that ``--help`` and bad options do not wait for databases.

    Args:
        settings: in place of the environment.
    """
    from engine.explorer import Explorer

    return Explorer(Settings(**settings))


def parsed_filters(texts: Sequence[str]) -> tuple[Filter, ...]:
    """The filters of ``--filter``."""
    from engine.queries import parse_filter

    return tuple(map(parse_filter, texts))


def selection_of(explorer: Explorer, corpus: str, file: Path | None) -> tuple[Filter, ...]:
    """The filter of ``--within``, if it was given."""
    if file is None:
        return ()
    explorer.library.corpus(corpus)
    doc_ids = ids_in(file)
    try:
        return (explorer.select(corpus, doc_ids),)
    except (BadInputError, UnknownNameError) as error:
        raise type(error)(f"{file}: {error.message}", error.remedy) from error


def ids_in(file: Path) -> list[str]:
    """The ids in a file, one on each line."""
    from engine.collections.judgment_formats import text_of

    return [line.strip() for line in text_of(file).split("\n") if line.strip()]


def stored_name(name: str) -> str:
    """The name under which a corpus is stored, of any of its names."""
    settings = Settings()
    home, url = Home(settings.home), settings.ledger_url.get_secret_value()
    is_stored = is_corpus_name(name) and (home.corpora / name).is_dir()
    if is_stored or not (url or home.ledger.exists()):
        return name
    from storage.ledger import Ledger  # late: help and bad options do not wait for it

    return Ledger(home.ledger, settings.ledger_wait_seconds, url).stored_name(name)


def import_command(source: str, name: str) -> str:
    """The command that imports a source again under its name.

    Args:
        source: of a query whose end was left out, the command is not known.
    """
    if source.endswith(" …"):
        return "with the command of the first import."
    return f"seedlens import {shlex.quote(source)} --name {shlex.quote(name)}"


def author_or_own(author: str | None) -> str:
    """The name that ``--author`` or ``--annotator`` gave, or that of the settings."""
    return Settings().annotator if author is None else author


def parts_of(text: str) -> list[str]:
    """The different parts of a list between commas, in their order."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def whole_numbers(text: str, what: str, example: str) -> tuple[int, ...]:
    """Numbers between commas; ``what`` they are, in the plural, for the error."""
    try:
        return tuple(map(int, parts_of(text)))
    except ValueError as error:
        raise BadInputError(f"The {what} '{text}' are no numbers.", f"Write {example}.") from error


def system_names(text: str, *, by_model: bool = False) -> list[str]:
    """The systems of a comma-separated list, checked before anything is indexed.

    Args:
        by_model: those that need a language model too.
    """
    from engine.search.systems import find_system

    asking: Container[str] = ()
    if by_model:
        from engine.search.model.systems import MODEL_SYSTEMS

        asking = MODEL_SYSTEMS
    names = parts_of(text)
    if not names:
        raise BadInputError("--systems names no system.", "Write --systems bm25,dense.")
    return [name if name in asking else find_system(name).name for name in names]


def corpus_of(explorer: Explorer, collection: Collection, corpus: str | None) -> str:
    """The corpus that was named, or that of the collection's own documents, indexed if needed."""
    with advancing("documents", "checking") as tell:
        return corpus or explorer.library.import_collection(collection, tell)


def check_weight(weight: float | None) -> None:
    """Raise BadInputError for an aspect weight out of range."""
    check_between("steer", weight, 0, 1)


R = TypeVar("R")
Request = TypeVar("Request")
INTERRUPTED, FAILED = 130, 1


@dataclass(frozen=True, slots=True)
class ModelRun:
    """Options of commands that ask a model about many items.

    Options:
        yes:
        budget_calls:
    """

    yes: bool = False
    budget_calls: NonNegativeInt | None = None


def check_depth(rerank: str | None, depth: int | None) -> None:
    """Raise BadInputError for a depth of nothing."""
    if depth is not None and rerank is None:
        raise BadInputError("--depth is for reranking.", "Add --rerank pairwise, say.")


def run_task(
    facade: TaskRunner[Request, R],
    request: Request,
    line: Callable[[Estimate], str],
    run: ModelRun,
    *,
    unit: str,
    made: str = "",
    announced: Callable[[Estimate], Any] | None = None,
) -> tuple[Estimate, TaskReport[R]]:
    """Print what a request takes, ask whether to go on, and run it beside a bar.

    Args:
        line: what there is to do, in words.
        unit, made: what is done and what comes of it, in the plural.
        announced: makes JSON of the estimate, with which the command ends; None to go on.
    """
    estimate = facade.estimate(request)
    say([to_do(line(estimate), estimate)], "")
    if announced is not None:
        show({"estimate": announced(estimate)})
        sys.exit(0)
    if estimate.calls and not run.yes and sys.stdin.isatty():
        click.confirm("Go on?", abort=True, err=True)
    with advancing(unit, made or unit, made) as tell:
        return estimate, facade.run(request, most_calls=run.budget_calls, tell=tell)


def end_run(estimate: Any, report: Any, usage: ModelUsage, *lines: str) -> NoReturn:
    """Print the lines, or the two records, and end the command with the run's exit status."""
    show({"estimate": estimate, "report": report}, *lines)
    say_problem(usage)
    sys.exit(exit_code(usage))


def task_fields(record: Estimate | TaskReport[Any], result: str = "result") -> dict[str, Any]:
    """A task's estimate or report as JSON has it: counts and result among the other fields.

    Args:
        result: the name of a result that is neither a record nor a dictionary.
    """
    fields = asdict(record)
    made = fields.pop("counts", None) or fields.pop("result", {})
    return {**fields, **(made if isinstance(made, dict) else {result: made})}


def to_do(line: str, estimate: Estimate) -> str:
    """What there is to do, and what that asks of a model at most."""
    return f"{line} {at_most(estimate)}" if estimate.calls else line


def at_most(estimate: Estimate) -> str:
    """``360 calls, at most 730 with repeats, 300,000 + 20,000 tokens, cost 1.2 (estimated).``"""
    text = f"{estimate.calls:,} calls, at most {estimate.most_calls:,} with repeats"
    if estimate.input_tokens is not None and estimate.output_tokens is not None:
        text += f", {_tokens(estimate)}"
    return f"{text} (estimated)."


def taken(report: ModelUsage) -> str:
    """``358 calls, 2 answers from the ledger, 300,000 + 20,000 tokens, cost 1.2``."""
    return f"{report.calls:,} calls, {report.cached:,} answers from the ledger, {_tokens(report)}"


def _tokens(known: Estimate | ModelUsage) -> str:
    cost = "" if known.cost is None else f", cost {known.cost:.4g}"
    return f"{known.input_tokens or 0:,} + {known.output_tokens or 0:,} tokens{cost}"


def outcome(
    done: str, report: TaskReport[Any], *more: tuple[int, str], unit: str = "documents"
) -> str:
    """What a run did: ``done``, seconds, calls, further counts, and whether to go on."""
    text = f"{done} in {report.seconds:.1f} s"
    if report.calls or report.cached:
        text += f"; {taken(report)}"
    failures = [
        (report.failed, f"{unit} without a usable answer"),
        (report.left, f"{unit} not reached"),
    ]
    text += "".join(f"; {count:,} {what}" for count, what in (*more, *failures) if count)
    goes_on = report.failed or report.left
    return f"{text}.{' Run the same command again to go on.' if goes_on else ''}"


def say_what_it_took(name: str, report: ModelReport) -> None:
    """Print what was asked and how it went, on stderr."""
    bias = "" if report.position_bias is None else f", position bias {report.position_bias:.0%}"
    line = (
        f"{name}: {report.questions:,} questions in {report.rounds:,} rounds; {taken(report)}, "
        f"{report.unanswered:,} unanswered{bias}"
    )
    say([line], "")
    say_problem(report, early=bool(report.stopped or report.failed))


def say_problem(usage: ModelUsage, *, early: bool = False) -> None:
    """Print notes on a run, and what went wrong in it, on stderr.

    Args:
        early: it lacks something, also where no problem is named.
    """
    say(usage.notes)
    problem = " ".join(usage.problem.split())
    if early and usage.stopped == "cancelled":
        problem = problem or "Cancelled. Answers are kept."
    elif early:
        problem = problem or f"It ended early ({usage.stopped})."
    say([problem] if problem else [], "Warning")


def exit_code(*reports: ModelUsage) -> int:
    """130 after Ctrl-C, 1 when the endpoint failed on the way, else 0."""
    stopped = {report.stopped for report in reports}
    return INTERRUPTED if "cancelled" in stopped else FAILED if "endpoint" in stopped else 0
