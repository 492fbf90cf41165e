"""What a run of questions to a language model was like, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelReport:
    """What a model was asked and how it went. All counts are of one run over its queries.

    Attributes:
        queries: how many were asked about.
        questions: put by the algorithms; those to be answered from the ledger included.
        rounds: how often an algorithm waited for answers, summed over the queries.
        calls: requests sent: trying the endpoint out and repeats included.
        failed: requests without an answer in spite of repeats.
        unread: answers that could not be read, twice.
        unanswered: questions without a usable answer for whatever reason; they count for nobody.
        cached: answered by the ledger at no cost.
        guessed: calls whose tokens are estimated, as the endpoint reported none.
        position_bias: probability that the first of two equally good documents is preferred,
            the mean over the queries; 0.5 is none, None where nothing was compared.
        first_share: mean probability given to the document shown first.
        cut: documents of which the model saw the beginning only.
        shortened: questions with shorter texts than was meant: the model could not take those.
        empty: documents without text, of which nothing could be asked.
        stopped: "cancelled", "budget" or "endpoint": why it ended early; "" when it did not.
        problem: the words for it, or for the last failure.
    """

    mode: str
    depth: int
    endpoint: str
    model: str
    queries: int = 0
    questions: int = 0
    rounds: int = 0
    calls: int = 0
    repeats: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    guessed: int = 0
    failed: int = 0
    unread: int = 0
    unanswered: int = 0
    cached: int = 0
    cost: float | None = None
    seconds: float = 0.0
    position_bias: float | None = None
    first_share: float | None = None
    cut: int = 0
    empty: int = 0
    shortened: int = 0
    stopped: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()
