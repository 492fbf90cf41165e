"""Variants of an instruction whose rankings a language model puts into an order of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.types.comparisons import Variant
from engine.types.model_reports import ModelReport
from engine.types.reranking import CostEstimate, ModelJobState


@dataclass(frozen=True, slots=True)
class VariantsRequest:
    """What a model is asked to rerank: the rankings of variants for one seed.

    Attributes:
        seed, text: one of them; a stored document, or a pasted text.
        aspect: key of the aspect that is meant.
        mode: how to rerank.  depth: documents of each ranking that are reranked.
    """

    corpus: str
    seed: str | None
    text: str | None
    aspect: str
    variants: tuple[Variant, ...]
    mode: str
    depth: int


@dataclass(frozen=True, slots=True)
class ModelOrders:
    """Rankings in a model's order.

    Attributes:
        variants: name of a variant -> ids, all of its ranking; those not reranked are missing.
        unworded: name of a system -> the model's order of its ranking for the seed alone. What
            a wording does to the model shows against this.
    """

    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unworded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VariantsJob:
    """A reranking of variants in the background of this process.

    Attributes:
        estimate: of all its rankings together; rounds are summed over them.
        orders: those that are there; once the job has ended, also those begun, as far as they
            came.
        whole: names of the variants that the model is done with.
        settled: questions that need not be asked any more, answered or not.
        report: the figures so far.
        error, remedy: why it failed, and what to do.
    """

    id: str
    request: VariantsRequest
    state: ModelJobState
    estimate: CostEstimate
    orders: ModelOrders
    whole: tuple[str, ...]
    settled: int
    report: ModelReport
    error: str = ""
    remedy: str = ""
