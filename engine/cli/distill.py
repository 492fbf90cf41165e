"""``seedlens distill``: teach a small model what a large one answered."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from engine.cli.common import json_option, open_explorer
from engine.cli.distill_aspects import aspects
from engine.cli.model import INTERRUPTED
from engine.cli.terminal import print_json, stop_requested
from engine.cli.terminal import training as training_bar
from engine.scenarios.training import Distilled, Training

PAPER = Training()


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


distill.add_command(aspects)


@distill.command("scenarios")
@click.argument("name")
@click.option(
    "--base",
    required=True,
    metavar="MODEL",
    help="The small causal language model to teach: a folder, or one that is on this machine.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where what was learned is kept.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=2),
    metavar="N",
    help="Learn from the first N documents at most. Default: all that a model wrote for.",
)
@click.option("--epochs", type=int, default=PAPER.epochs, show_default=True)
@click.option("--batch", type=int, default=PAPER.batch, show_default=True)
@click.option("--accumulation", type=int, default=PAPER.accumulation, show_default=True)
@click.option("--learning-rate", type=float, default=PAPER.learning_rate, show_default=True)
@click.option("--weight-decay", type=float, default=PAPER.weight_decay, show_default=True)
@click.option(
    "--patience",
    type=int,
    default=PAPER.patience,
    show_default=True,
    help="Epochs without a lower evaluation loss until training ends early.",
)
@click.option("--rank", type=int, default=PAPER.rank, show_default=True, help="Of LoRA.")
@click.option("--alpha", type=int, default=PAPER.alpha, show_default=True, help="Of LoRA.")
@click.option("--dropout", type=float, default=PAPER.dropout, show_default=True, help="Of LoRA.")
@click.option("--random-seed", "seed", type=int, default=PAPER.seed, show_default=True)
@json_option
def scenarios_(
    name: str, base: str, out: Path, limit: int | None, as_json: bool, **values: float
) -> None:
    """Teach a small model from the scenarios that a language model wrote for corpus NAME.

    The small one can then write for whole collections at no cost per document:
    seedlens scenarios NAME --distilled FOLDER. The defaults are those of SPIKE's paper.
    """
    from engine.scenarios.distillation import check_folder, need_extra
    from engine.scenarios.distillation import distill as train

    need_extra()
    training = Training(**values)  # type: ignore[arg-type]  # click knows which are whole numbers
    check_folder(out)
    out = out.expanduser().absolute()
    base = str(Path(base).expanduser().absolute()) if Path(base).expanduser().is_dir() else base
    lessons = open_explorer().scenarios.lessons(name, limit)
    with stop_requested() as stopped, training_bar("steps") as tell:
        made = train(lessons, base, out, training, tell, stopped)
    if as_json:
        print_json({**asdict(made), "folder": str(made.folder), "training": asdict(training)})
    else:
        click.echo(_line(made, name))
    if made.cancelled:
        sys.exit(INTERRUPTED)


def _line(made: Distilled, name: str) -> str:
    return (
        f"Learned from {made.lessons:,} documents in {made.epochs:g} epochs "
        f"({made.seconds:.0f} s); loss {made.loss:.3f} on {made.held_out:,} others.\n"
        f"Use it with: seedlens scenarios {name} --distilled {made.folder}"
    )
