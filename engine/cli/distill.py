"""``seedlens distill``: small models and encoders that are trained on a model's answers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import click
from pydantic import Field, NonNegativeInt, PositiveInt

from engine.cli.common import open_explorer
from engine.cli.model import (
    INTERRUPTED,
    exit_code,
    run_task,
    say_problem,
    taken,
    task_fields,
)
from engine.cli.options import from_signature
from engine.cli.terminal import print_json, stop_requested, training, what_else
from engine.types.models import Estimate, TaskReport
from engine.types.scenarios import (
    CANDIDATES,
    DOCUMENTS,
    MOST_CANDIDATES,
    AspectGroup,
    Distilled,
    PairRequest,
    Training,
    Tuned,
    Tuning,
)


class _Distilling(click.Group):
    """``distill NAME`` stands for ``distill scenarios NAME``, which it was called at first."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = ["scenarios", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Distilling)
def distill() -> None:
    """Teach a small model what a large one answered.

    Needs the extra: pip install 'seedlens[distill]'.
    """


# -- a writer of scenarios -----------------------------------------------------------------------


@distill.command("scenarios")
@from_signature
def scenarios(
    name: str,
    *,
    base: str,
    out: Path,
    limit: Annotated[int | None, Field(ge=2)] = None,
    settings: Training,
    as_json: bool = False,
) -> None:
    """Teach a small model from the scenarios that a language model wrote for corpus NAME.

    The small one can then write for whole collections at no cost per document:
    seedlens scenarios NAME --distilled FOLDER. The defaults are those of SPIKE's paper.

    Options:
        base MODEL: The small causal language model to teach: a folder, or one that is on this
            machine.
        out FOLDER: Where what was learned is kept.
        limit N: Learn from the first N documents at most. Default: all that a model wrote for.
    """
    from engine.scenarios.distillation import check_folder, need_extra
    from engine.scenarios.distillation import distill as train

    need_extra()
    check_folder(out)
    out = out.expanduser().absolute()
    base = str(Path(base).expanduser().absolute()) if Path(base).expanduser().is_dir() else base
    lessons = open_explorer().scenarios.lessons(name, limit)
    with stop_requested() as stopped, training("steps") as tell:
        made = train(lessons, base, out, settings, tell, stopped)
    if as_json:
        print_json({**asdict(made), "training": settings})
    else:
        click.echo(_learned_line(made, name))
    if made.cancelled:
        sys.exit(INTERRUPTED)


def _learned_line(made: Distilled, name: str) -> str:
    return (
        f"Learned from {made.lessons:,} documents in {made.epochs:g} epochs "
        f"({made.seconds:.0f} s); loss {made.loss:.3f} on {made.held_out:,} others.\n"
        f"Use it with: seedlens scenarios {name} --distilled {made.folder}"
    )


# -- an encoder ----------------------------------------------------------------------------------


@distill.command()
@from_signature
def aspects(
    name: str,
    *,
    out: Path,
    documents: PositiveInt = DOCUMENTS,
    candidates: Annotated[int, Field(ge=2, le=MOST_CANDIDATES)] = CANDIDATES,
    only_estimate: bool = False,
    yes: bool = False,
    budget_calls: NonNegativeInt | None = None,
    tuning: Tuning,
    as_json: bool = False,
) -> None:
    """Train the encoder of corpus NAME on pairs that the language model grades by aspect.

    For sampled documents and each of their aspects, the model says how alike the nearest others
    are in that aspect; its answers are kept. A copy of the encoder learns from them (LoRA, merged
    in the end). Whether it orders pairs of other documents better than before is measured and
    said: where it does not, do not use it.

    Options:
        out FOLDER: Where the encoder is written; --encoder FOLDER imports with it.
        documents N: Documents, sampled, that are compared with others.
        candidates N: Others for each aspect of a document: the nearest by aspect, and by topic.
    """
    from engine.scenarios.aspect_training import check_tuning

    request = PairRequest(name, documents, candidates)
    out = out.expanduser().absolute()
    explorer = open_explorer()
    check_tuning(explorer.library.open(name), out)

    estimate, report = run_task(
        explorer.pair_grading,
        request,
        lambda estimate: (
            f"{estimate.items:,} questions about the aspects of "
            f"{estimate.counts['documents']:,} documents."
        ),
        unit="questions",
        yes=yes,
        budget_calls=budget_calls,
        only_estimate=only_estimate,
        announced=partial(_announced, request),
        as_json=as_json,
    )
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
    from engine.scenarios.aspect_training import train

    with stop_requested() as stopped, training("groups") as tell:
        return train(explorer.library.open(name), groups, out, tuning, tell, stopped)


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


def _announced(request: PairRequest, estimate: Estimate) -> dict[str, Any]:
    return {"request": request, "questions": estimate.items, **task_fields(estimate)}


def _report(
    request: PairRequest,
    estimate: Estimate,
    report: TaskReport[tuple[AspectGroup, ...]],
    tuned: Tuned,
    tuning: Tuning,
) -> dict[str, Any]:
    return {
        "estimate": _announced(request, estimate),
        "report": {"request": request, **task_fields(report, "groups")},
        "tuned": {**asdict(tuned), "recommended": tuned.recommended, "training": tuning},
    }
