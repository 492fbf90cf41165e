"""Teaching a small model to write scenarios: with which settings, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadInputError


@dataclass(frozen=True, slots=True)
class Training:
    """Hyper-parameters; the defaults are the paper's.

    Attributes:
        accumulation: batches per step of the optimiser.
        patience: epochs without a lower evaluation loss until training ends early.
        rank, alpha, dropout: of LoRA.
    """

    learning_rate: float = 2e-5
    weight_decay: float = 0.1
    batch: int = 4
    accumulation: int = 2
    epochs: int = 10
    patience: int = 4
    rank: int = 32
    alpha: int = 64
    dropout: float = 0.1
    seed: int = 7

    def __post_init__(self) -> None:
        counts = (self.batch, self.accumulation, self.epochs, self.patience, self.rank, self.alpha)
        if min(counts) < 1 or self.learning_rate <= 0 or not 0 <= self.dropout < 1:
            raise BadInputError(
                f"Nothing can be trained with {self}.", "Give counts of 1 or more, rates above 0."
            )


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
