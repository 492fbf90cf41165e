"""``seedlens distill aspects``: train a corpus's encoder on pairs that a model graded by aspect."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from engine.cli.common import json_option, open_explorer
from engine.cli.model import (
    INTERRUPTED,
    at_most,
    budget_option,
    calls_so_far,
    confirm,
    exit_code,
    say_problem,
    taken,
    task_fields,
)
from engine.cli.terminal import advancing, print_json, stop_requested, training, what_else
from engine.types.models import TaskEstimate, TaskReport
from engine.types.tuning import (
    CANDIDATES,
    DOCUMENTS,
    MOST_CANDIDATES,
    AspectGroup,
    PairRequest,
    Tuned,
    Tuning,
)

DEFAULTS = Tuning()
COUNT, RATE = click.IntRange(min=1), click.FloatRange(min=0, min_open=True)


@click.command()
@click.argument("name")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where the encoder is written; --encoder FOLDER imports with it.",
)
@click.option(
    "--documents",
    type=click.IntRange(min=1),
    default=DOCUMENTS,
    show_default=True,
    metavar="N",
    help="Documents, sampled, that are compared with others.",
)
@click.option(
    "--candidates",
    type=click.IntRange(min=2, max=MOST_CANDIDATES),
    default=CANDIDATES,
    show_default=True,
    metavar="N",
    help="Others for each aspect of a document: the nearest by aspect, and by topic.",
)
@click.option("--estimate", "only_estimate", is_flag=True, help="Only say what it would take.")
@click.option("--yes", is_flag=True, help="Do not ask before the model is asked.")
@budget_option
@click.option("--epochs", type=COUNT, default=DEFAULTS.epochs, show_default=True)
@click.option("--learning-rate", type=RATE, default=DEFAULTS.learning_rate, show_default=True)
@click.option("--rank", type=COUNT, default=DEFAULTS.rank, show_default=True, help="Of LoRA.")
@click.option(
    "--keep",
    type=click.FloatRange(min=0),
    default=DEFAULTS.keep,
    show_default=True,
    help="Weight of staying what the encoder was, against the grades.",
)
@click.option("--random-seed", "seed", type=int, default=DEFAULTS.seed, show_default=True)
@json_option
def aspects(
    name: str,
    out: Path,
    documents: int,
    candidates: int,
    only_estimate: bool,
    yes: bool,
    budget_calls: int | None,
    as_json: bool,
    **values: float,
) -> None:
    """Train the encoder of corpus NAME on pairs that the language model grades by aspect.

    For sampled documents and each of their aspects, the model says how alike the nearest others
    are in that aspect; its answers are kept. A copy of the encoder learns from them (LoRA, merged
    in the end). Whether it orders pairs of other documents better than before is measured and
    said: where it does not, do not use it.
    """
    from engine.tuning.aspect_training import check_tuning

    tuning = Tuning(**values)  # type: ignore[arg-type]  # click knows which are whole numbers
    request = PairRequest(name, documents, candidates)
    out = out.expanduser().absolute()
    explorer = open_explorer()
    check_tuning(explorer.library.open(name), out)
    estimate = explorer.pair_grading.estimate(request)
    _say_estimate(estimate)
    if only_estimate:
        if as_json:
            print_json({"estimate": _announced(request, estimate)})
        return
    confirm(estimate.items, yes=yes)
    with advancing("questions", "grading", counts=calls_so_far) as tell:
        report = explorer.pair_grading.run(request, most_calls=budget_calls, tell=tell)
    click.echo(_graded_line(report), err=True)
    say_problem(report.notes, report.problem)
    if report.stopped == "cancelled":
        sys.exit(INTERRUPTED)
    tuned = _train(explorer, name, report.result, out, tuning)
    if as_json:
        print_json(_report(request, estimate, report, tuned, tuning))
    else:
        click.echo(tuned_line(tuned))
    sys.exit(INTERRUPTED if tuned.cancelled else exit_code(report))


def _train(
    explorer: Any, name: str, groups: Sequence[AspectGroup], out: Path, tuning: Tuning
) -> Tuned:
    from engine.tuning.aspect_training import train

    with stop_requested() as stopped, training("groups") as tell:
        return train(explorer.library.open(name), groups, out, tuning, tell, stopped)


def _say_estimate(estimate: TaskEstimate) -> None:
    click.echo(
        f"{estimate.items:,} questions about the aspects of {estimate.counts['documents']:,} "
        f"documents. {at_most(estimate)}",
        err=True,
    )


def _graded_line(report: TaskReport[tuple[AspectGroup, ...]]) -> str:
    pairs = sum(len(group.grades) for group in report.result)
    parts = [
        (report.failed, "questions without a usable answer"),
        (report.left, "questions not reached"),
    ]
    graded = f"{pairs:,} pairs graded; {taken(report)}"
    return graded + what_else(parts, goes_on=bool(report.failed or report.left))


def tuned_line(tuned: Tuned) -> str:
    """What came of a training, and whether to use it."""
    interval = ""
    if tuned.interval is not None:
        low, high = (100 * bound for bound in tuned.interval)
        interval = f", 95 % interval of the difference {low:+.1f} to {high:+.1f}"
    text = (
        f"Learned from {tuned.groups:,} groups of pairs ({tuned.seconds:.0f} s). Of "
        f"{tuned.held_out:,} groups of other documents, {100 * tuned.after:.1f} % of the pairs are "
        f"ordered as graded; before {100 * tuned.before:.1f} %{interval}. Document vectors keep a "
        f"cosine of {tuned.kept:.3f} with what they were.\n"
    )
    if not tuned.recommended:
        return text + (
            f"Not recommended: nothing shows that it is better than {tuned.base}. More documents "
            f"(--documents) may help. It is in {tuned.folder}."
        )
    return f"{text}Use it with: seedlens import SOURCE --name NEW --encoder {tuned.folder}"


def _announced(request: PairRequest, estimate: TaskEstimate) -> dict[str, Any]:
    return {"request": asdict(request), "questions": estimate.items, **task_fields(estimate)}


def _report(
    request: PairRequest,
    estimate: TaskEstimate,
    report: TaskReport[tuple[AspectGroup, ...]],
    tuned: Tuned,
    tuning: Tuning,
) -> dict[str, Any]:
    graded = task_fields(report, "groups")
    return {
        "estimate": _announced(request, estimate),
        "report": {"request": asdict(request), **graded},
        "tuned": {
            **asdict(tuned),
            "folder": str(tuned.folder),
            "recommended": tuned.recommended,
            "training": asdict(tuning),
        },
    }
