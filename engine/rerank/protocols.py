"""What a reranking algorithm asks of whoever judges: a model, a person, or a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class StopAsking(Exception):  # noqa: N818 - it is no error
    """A judge raises it when it will not answer any more: a budget is spent, a person gave up.

    Reranking then ends with the best order so far. What the judge knows of the round under way
    is lost with it; to keep that, return None for the rest of the round and raise in the next.
    """


class Judge(Protocol):
    """Answers about documents of one query.

    Every call of a method is one round: its questions do not depend on each other's answers and
    may be asked at once. The answers come in the order of the questions, one each. None says
    that there is no usable answer (a failed request, an unreadable one, an exhausted budget);
    algorithms go on without it and never take it for a judgment. A value that is not a number
    from 0 to 1 is read as None.

    Whether a pair is asked in one order or in both is the algorithm's business: ``(a, b)`` and
    ``(b, a)`` are different questions.
    """

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Probability, 0 to 1, that the first document of each pair is the better one.

        The first is shown first. A judge that only names one of the two gives 0 or 1.
        """
        ...

    async def grade_each(self, doc_ids: Sequence[str]) -> list[float | None]:
        """How relevant each document is, judged by itself: 0 (not at all) to 1."""
        ...

    async def order(self, lists: Sequence[Sequence[str]]) -> list[list[str] | None]:
        """Each list's documents, best first; they are shown in the order of the list.

        Documents may be missing from an answer; what was not asked about is ignored, and so is
        a document's second mention.
        """
        ...
