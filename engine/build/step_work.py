"""What the steps share while they run: what they read, whom they ask, and what they tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from engine.build.build_store import Shelf
from engine.llm.client import Client
from engine.types.builds import BuildLens, BuildStep, StepProgress
from engine.types.callbacks import Ask
from storage.builds import StepRow

TellStep = Callable[[StepProgress], None]


@dataclass(frozen=True, slots=True)
class Made:
    """What a step did; see :class:`engine.types.StepReport` for the fields."""

    made: int = 0
    failed: int = 0
    left: int = 0
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Work:
    """A step under way.

    Attributes:
        client: None where the step does without a model.
        author: who started it.
        cancelled: True ends it after the batch at hand.
    """

    shelf: Shelf
    lens: BuildLens
    step: BuildStep
    author: str
    client: Client | None
    model: str
    tell: TellStep
    cancelled: Ask
    _started: float = field(default_factory=time.perf_counter)

    @property
    def stopped(self) -> str:
        """Why no more is to be done ("cancelled", "budget", "endpoint"); "" while more is."""
        if self.cancelled():
            return "cancelled"
        return "" if self.client is None else self.client.stopped

    def say(self, done: int, total: int, seconds: float | None = None) -> None:
        """Tell how far it is, and what it took.

        Args:
            seconds: that ``done`` took; None for all since the beginning.
        """
        usage = None if self.client is None else self.client.usage
        self.tell(
            StepProgress(
                self.step,
                done,
                total,
                time.perf_counter() - self._started if seconds is None else seconds,
                calls=0 if usage is None else usage.calls,
                tokens=0 if usage is None else usage.input_tokens + usage.output_tokens,
            )
        )

    def row(self, content: str, basis: str) -> StepRow:
        """A row of the ledger about this run; a run that is not complete has no basis."""
        return StepRow(
            self.lens.corpus, self.lens.name, self.step, "run", content, basis, 0, self.author,
            self.model, datetime.now(UTC),
        )  # fmt: skip


def counted(labels: Mapping[str, str], doc_ids: tuple[str, ...]) -> dict[str, int]:
    """label -> documents with it, the commonest first, then as they come."""
    counts: dict[str, int] = {}
    for doc_id in doc_ids:
        if label := labels.get(doc_id):
            counts[label] = counts.get(label, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))
