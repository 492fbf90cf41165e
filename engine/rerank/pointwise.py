"""Documents by the grade that each gets by itself."""

from __future__ import annotations

from engine.rerank.rounds import Asking


async def pointwise(asking: Asking) -> None:
    """One question per document, all at once; equals in the order of the first stage.

    A document without an answer keeps its first-stage rank: a failed request says nothing
    against it.
    """
    grades = await asking.grade_each()
    graded = [(-grade, i) for i, grade in enumerate(grades) if grade is not None]
    best_first = iter(sorted(graded))
    asking.tell([i if grade is None else next(best_first)[1] for i, grade in enumerate(grades)])
