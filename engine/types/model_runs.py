"""What every run over many items with a language model reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRunReport:
    """What a run took, and how it ended.

    Attributes:
        failed: items without a usable answer; they are asked about again in the next run.
        left: items that were not reached.
        model: that was asked; "" for none.
        calls, cached: requests sent, and answers that the ledger had.
        cost: None where no price is known.
        seconds: from beginning to end.
        stopped: "cancelled", "budget" or "endpoint": why it ended early; "" when it did not.
        problem: the words for it, or for the last failure.
        notes: plain sentences on what is odd.
    """

    failed: int = 0
    left: int = 0
    model: str = ""
    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    stopped: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()
