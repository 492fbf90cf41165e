"""What an evaluation asks of a language model, said so that the laboratory needs to know none.

:mod:`engine.evaluate.model_evaluation` has the helper; the laboratory only keeps what it brings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.search.searcher import Searcher
from engine.search.topics import SystemRun
from engine.types.callbacks import Ask
from engine.types.collections import Topic
from engine.types.evaluations import EvaluationRequest
from engine.types.reranking import ModelReport

HELPED = ("rewrite", "multi-hop")
"""Systems that only a helper can rank."""
Told = Callable[[int, int, ModelReport], None]
"""Told (questions settled, questions at most, the figures so far)."""


@dataclass(frozen=True, slots=True)
class HelpedRun:
    """A run that a language model took part in, and what it was asked for it."""

    run: SystemRun
    report: ModelReport

    @property
    def whole(self) -> bool:
        """The model was asked everything that was meant to be asked."""
        return not self.report.stopped


class Helper(Protocol):
    """A language model within one evaluation; its budget is that of the whole evaluation."""

    @property
    def model(self) -> str:
        """Which model, and where: runs of another one are other runs."""
        ...

    def rank(
        self, searcher: Searcher, topics: Sequence[Topic], system: str, told: Told, cancelled: Ask
    ) -> HelpedRun:
        """The run of one of :data:`HELPED`.

        Raises:
            SeedLensError: the endpoint refused or failed, and there is not a single answer.
        """
        ...

    def rerank(
        self,
        searcher: Searcher,
        topics: Sequence[Topic],
        first: SystemRun,
        request: EvaluationRequest,
        told: Told,
        cancelled: Ask,
    ) -> HelpedRun:
        """``first`` in the model's order, called :func:`reranked_name`. Raises as ``rank``."""
        ...


def needs_model(request: EvaluationRequest) -> bool:
    """Whether a language model takes part."""
    return bool(request.rerank) or any(name in HELPED for name in request.systems)


def reranked_name(system: str, mode: str) -> str:
    """What a reranked system is called.

    >>> reranked_name("dense", "pairwise")
    'dense+pairwise'
    """
    return f"{system}+{mode}"


def run_names(request: EvaluationRequest) -> tuple[str, ...]:
    """The runs of a request in their order: every system, its reranking beside it."""
    if not request.rerank:
        return request.systems
    both = ((name, reranked_name(name, request.rerank)) for name in request.systems)
    return tuple(name for pair in both for name in pair)
