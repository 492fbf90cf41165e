"""Pairs of documents that a model graded by aspect, and an encoder that was trained on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveInt

DOCUMENTS, CANDIDATES = 60, 8
"""Documents that are compared with others, and how many others for each of their aspects."""
MOST_CANDIDATES = 20


@dataclass(frozen=True, slots=True)
class PairRequest:
    """Pairs to be graded."""

    corpus: str
    # seeds, sampled from the corpus; the same ones, and more, with a larger number
    documents: int = DOCUMENTS
    # for each aspect of a seed, half of them the nearest by that aspect, half by the whole document
    candidates: int = CANDIDATES

    def __post_init__(self) -> None:
        if self.documents < 1:
            raise ValueError("at least 1 document has to be compared with others")
        if not 2 <= self.candidates <= MOST_CANDIDATES:
            raise ValueError(f"{self.candidates} candidates are not 2 to {MOST_CANDIDATES}")


@dataclass(frozen=True, slots=True)
class AspectGroup:
    """How alike in one aspect a seed and some other documents are."""

    seed: str
    aspect: str  # its key
    grades: Mapping[str, int]  # doc_id -> 0 (not alike) to 3 (the same)


@dataclass(frozen=True, slots=True)
class Tuning:
    """How an encoder is trained; ValueError for a value that nothing can be trained with.

    Options:
        epochs: How often every group is read.
        learning_rate: Of LoRA.
        rank: Of LoRA, on all linear layers.
        keep: Weight of staying what the encoder was, against the grades.
        seed --random-seed: Of chance.
    """

    epochs: PositiveInt = 3
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    rank: PositiveInt = 16
    keep: Annotated[float, Field(ge=0)] = 5.0
    seed: int = 7

    def __post_init__(self) -> None:
        if min(self.epochs, self.rank) < 1 or self.learning_rate <= 0 or self.keep < 0:
            raise ValueError(f"nothing can be trained with {self}")


@dataclass(frozen=True, slots=True)
class Tuned:
    """An encoder that was trained, and how well it does on seeds that it was not trained on."""

    folder: Path  # what `--encoder` takes
    base: str  # the encoder that it was
    # groups, held_out: groups learned from, and measured by; their seeds differ, and no seed
    # measured by was a candidate in training
    groups: int
    held_out: int
    # before, after: share of the held-out pairs with different grades that the aspect's vectors
    # order as graded, 0 to 1; the mean over the seeds
    before: float
    after: float
    interval: tuple[float, float] | None  # 95 % of `after - before`; None with fewer than two seeds
    kept: float  # mean cosine of the held-out documents' vectors before and after
    seconds: float
    cancelled: bool = False

    @property
    def recommended(self) -> bool:
        """True when held-out pairs are ordered better than before, chance aside."""
        return self.interval is not None and self.interval[0] > 0
