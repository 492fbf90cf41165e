"""What a run used and how it went, while it runs and afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Stopped = Literal["", "cancelled", "budget", "endpoint"]
"""Why no more questions are asked; empty while they are, or when all were."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Real figures of one run so far.

    Attributes:
        rounds: batches of questions.
        asked: different questions: ``answered + cached + failed + unread`` of them are settled,
            the rest were not reached.
        answered: by the model, in this run.
        cached: answered by the ledger, at no cost.
        failed: no answer in spite of repeated requests.
        unread: answered twice in a form that could not be read; counted for nobody.
        calls: requests sent, whatever for: trying the endpoint out and repeats included.
        repeats: requests sent again after an error.
        shortened: questions with shorter texts than was meant: the model could not take those.
        input_tokens, output_tokens: as the endpoint reported them; ``guessed`` calls reported
            none and count with an estimate.
        cost: None where no price is known.
        stopped: why the run ended early.
        problem: the words for it, or else for the last failure; empty when all went well.
        notes: plain sentences about what else was odd.
    """

    endpoint: str
    model: str
    rounds: int = 0
    asked: int = 0
    answered: int = 0
    cached: int = 0
    failed: int = 0
    unread: int = 0
    calls: int = 0
    repeats: int = 0
    shortened: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    guessed: int = 0
    cost: float | None = None
    seconds: float = 0.0
    stopped: Stopped = ""
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def taken(self) -> dict[str, Any]:
        """What a :class:`engine.types.model_runs.ModelRunReport` says of it."""
        return {
            "model": self.model,
            "calls": self.calls,
            "cached": self.cached,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """How far the current round is: ``done`` of ``total`` questions are settled."""

    round: int
    done: int
    total: int
    usage: Usage
