"""What is asked of a run that infers facts, what it will take, and what it did."""

from __future__ import annotations

from dataclasses import dataclass

from engine.llm.budget import Usage
from engine.types.facts import FactKind

KINDS: tuple[FactKind, ...] = ("place", "date", "amount")


@dataclass(frozen=True, slots=True)
class InferRequest:
    """Whose facts a model is to name.

    Attributes:
        kinds: of facts; those of other kinds stay as they are.
        limit: the first documents of the corpus, at most so many; None for all.
    """

    corpus: str
    kinds: tuple[FactKind, ...] = KINDS
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class InferEstimate:
    """What a run takes at most; answers that are in the ledger cost nothing.

    Attributes:
        cost: None where no price is known.
    """

    documents: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class InferProgress:
    """How far a run is, in documents."""

    done: int
    total: int
    facts: int


@dataclass(slots=True)
class Counts:
    """What a run found so far.

    Attributes:
        documents: that were read.
        facts: that were stored with them.
        unquoted, unusable, known: claims that were dropped: see
            :class:`engine.assist.infer_checks.Checked`.
        failed: documents without a usable answer.
    """

    documents: int = 0
    facts: int = 0
    unquoted: int = 0
    unusable: int = 0
    known: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class InferReport:
    """What a run did.

    Attributes:
        left: documents that were not reached.
    """

    request: InferRequest
    counts: Counts
    left: int
    usage: Usage
