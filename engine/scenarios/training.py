"""Teaching a small model to write scenarios: with which settings, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass as checked


@checked(frozen=True, slots=True)
class Training:
    """Hyper-parameters; the defaults are the paper's.

    Options:
        epochs: At most.
        batch: Documents read at once.
        accumulation: Batches per step of the optimiser.
        learning_rate: Of the optimiser.
        weight_decay: Of the optimiser.
        patience: Epochs without a lower evaluation loss until training ends early.
        rank: Of LoRA.
        alpha: Of LoRA.
        dropout: Of LoRA.
        seed --random-seed: Of chance.
    """

    epochs: PositiveInt = 10
    batch: PositiveInt = 4
    accumulation: PositiveInt = 2
    learning_rate: Annotated[float, Field(gt=0)] = 2e-5
    weight_decay: float = 0.1
    patience: PositiveInt = 4
    rank: PositiveInt = 32
    alpha: PositiveInt = 64
    dropout: Annotated[float, Field(ge=0, le=0.9)] = 0.1
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Distilled:
    """A model that was trained.

    Attributes:
        folder: give it to ``seedlens scenarios NAME --distilled``.
        lessons, held_out: documents learned from, and documents measured by.
        epochs: until it ended, the best one's weights are kept.
        loss: per token on the held-out documents, of the best epoch.
    """

    folder: Path
    base: str
    lessons: int
    held_out: int
    epochs: float
    loss: float
    seconds: float
    cancelled: bool = False
