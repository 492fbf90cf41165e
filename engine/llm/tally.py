"""Counting what happens during a run."""

from __future__ import annotations

import time
from collections import Counter

from engine.llm.budget import Spent
from engine.llm.endpoints import Endpoint
from engine.llm.usage import Stopped, Usage


class Tally:
    """The counters of one run. For one event loop.

    Attributes:
        counts: of questions, by the names of :class:`Usage`.
        served: of replies, by the model that the endpoint says has answered.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._started = time.perf_counter()
        self.counts: Counter[str] = Counter()
        self.served: Counter[str] = Counter()

    def usage(self, spent: Spent, repeats: int, lost: int, stopped: Stopped, problem: str) -> Usage:
        """The figures until now."""
        counts = self.counts
        return Usage(
            endpoint=self._endpoint.address,
            model=self._endpoint.model,
            rounds=counts["rounds"],
            asked=counts["asked"],
            answered=counts["answered"],
            cached=counts["cached"],
            failed=counts["failed"],
            unread=counts["unread"],
            calls=spent.calls,
            repeats=repeats,
            shortened=counts["shortened"],
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            guessed=spent.guessed,
            cost=spent.cost,
            seconds=time.perf_counter() - self._started,
            stopped=stopped,
            problem=problem,
            notes=tuple(self._notes(lost)),
        )

    def _notes(self, lost: int) -> list[str]:
        notes = []
        asked = self._endpoint.model
        others = [model for model in self.served if model and not _same_model(model, asked)]
        if others:
            notes.append(
                f"Asked for '{asked}', answered by '{others[0]}': the endpoint may have another "
                "model loaded."
            )
        if without := self.counts["without logprobs"]:
            notes.append(
                f"{without:,} answers came without log probabilities; they count as 0 or 1."
            )
        if lost:
            notes.append(f"{lost:,} answers could not be kept in the ledger.")
        return notes


def _same_model(served: str, asked: str) -> bool:
    """Endpoints answer an alias with a dated name, a path with its last part, and so on."""
    served, asked = served.lower(), asked.lower()
    return asked in served or served in asked
