"""``seedlens distill``: small models and encoders that are trained on a model's answers."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import click
from pydantic import Field, PositiveInt

from engine.cli.common import open_explorer
from engine.cli.model import (
    INTERRUPTED,
    ModelRun,
    exit_code,
    outcome,
    run_task,
    say_problem,
    task_fields,
)
from engine.cli.options import printing_json
from engine.cli.terminal import say, show, stop_requested, training
from engine.types.models import Estimate
from engine.types.scenarios import (
    CANDIDATES,
    DOCUMENTS,
    MOST_CANDIDATES,
    PairRequest,
    Training,
    Tuned,
    Tuning,
)


class _Distilling(click.Group):
    """``distill NAME`` is short for ``distill scenarios NAME``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = ["scenarios", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Distilling)
def distill() -> None:
    """Train a small model on the answers of a large one.

    Needs the extra: pip install 'seedlens[distill]'.
    """


@distill.command("scenarios")
@printing_json
def scenarios(
    name: str,
    *,
    base: str,
    out: Path,
    limit: Annotated[int | None, Field(ge=2)] = None,
    settings: Training,
) -> None:
    """Train a small model on the scenarios that a language model wrote for corpus NAME.

    It then writes for whole collections without cost: seedlens scenarios NAME --distilled FOLDER.
    The defaults are those of SPIKE's paper.

    Options:
        base MODEL: The small causal language model: a folder, or one on this machine.
        out FOLDER: Where the trained model is written.
        limit N: Train on the first N documents at most. Default: all with scenarios.
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
    line = (
        f"Trained on {made.lessons:,} documents in {made.epochs:g} epochs "
        f"({made.seconds:.0f} s); loss {made.loss:.3f} on {made.held_out:,} others.\n"
        f"Use it with: seedlens scenarios {name} --distilled {made.folder}"
    )
    show({**asdict(made), "training": settings}, line)
    if made.cancelled:
        sys.exit(INTERRUPTED)


@distill.command()
@printing_json
def aspects(
    name: str,
    *,
    out: Path,
    documents: PositiveInt = DOCUMENTS,
    candidates: Annotated[int, Field(ge=2, le=MOST_CANDIDATES)] = CANDIDATES,
    only_estimate: bool = False,
    tuning: Tuning,
    run: ModelRun,
) -> None:
    """Train the encoder of corpus NAME on pairs that the language model grades by aspect.

    For sampled documents and each aspect, the model grades how alike the nearest others are; its
    answers are kept. A copy of the encoder is trained on them (LoRA, merged afterwards), and
    measured on pairs of other documents: use it only where it orders these better than before.

    Options:
        out FOLDER: Where the encoder is written; --encoder FOLDER imports with it.
        documents N: Sampled documents to compare with others.
        candidates N: Others for each aspect of a document: nearest by aspect and by topic.
    """
    from engine.scenarios.aspect_training import check_tuning, train

    request = PairRequest(name, documents, candidates)
    out = out.expanduser().absolute()
    explorer = open_explorer()
    check_tuning(explorer.library.open(name), out)

    def announced(estimate: Estimate) -> dict[str, Any]:
        return {"request": request, "questions": estimate.items, **task_fields(estimate)}

    estimate, report = run_task(
        *(explorer.pair_grading, request, _to_ask, run),
        unit="questions",
        announced=announced if only_estimate else None,
    )
    pairs = sum(len(group.grades) for group in report.result)
    say([outcome(f"{pairs:,} pairs graded", report, unit="questions")], "")
    say_problem(report)
    if report.stopped == "cancelled":
        sys.exit(INTERRUPTED)
    with stop_requested() as stopped, training("groups") as tell:
        tuned = train(explorer.library.open(name), report.result, out, tuning, tell, stopped)
    data = {
        "estimate": announced(estimate),
        "report": {"request": request, **task_fields(report, "groups")},
        "tuned": {**asdict(tuned), "recommended": tuned.recommended, "training": tuning},
    }
    show(data, tuned_line(tuned))
    sys.exit(INTERRUPTED if tuned.cancelled else exit_code(report))


def _to_ask(estimate: Estimate) -> str:
    documents = f"{estimate.counts['documents']:,} documents"
    return f"{estimate.items:,} questions about the aspects of {documents}."


def tuned_line(tuned: Tuned) -> str:
    """What came of a training, and whether to use it."""
    interval = ""
    if tuned.interval is not None:
        low, high = (100 * bound for bound in tuned.interval)
        interval = f", 95 % interval of the difference {low:+.1f} to {high:+.1f}"
    text = (
        f"Trained on {tuned.groups:,} groups of pairs ({tuned.seconds:.0f} s). Of "
        f"{tuned.held_out:,} groups of other documents, {100 * tuned.after:.1f} % of the pairs are "
        f"ordered as graded; before {100 * tuned.before:.1f} %{interval}. The cosine of document "
        f"vectors with those of before is {tuned.kept:.3f}.\n"
    )
    if not tuned.recommended:
        return text + (
            f"Not recommended: nothing shows that it is better than {tuned.base}. More documents "
            f"(--documents) may help. It is in {tuned.folder}."
        )
    return f"{text}Use it with: seedlens import SOURCE --name NEW --encoder {tuned.folder}"
