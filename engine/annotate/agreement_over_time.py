"""How agreement came about: over the first items, then over more and more of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from engine.annotate.agreement import group_measures, item_counts
from engine.types.annotating import AgreementPoint, AgreementStep, Item, Judgment, Scale


def agreement_over_time(
    judgments: Iterable[Judgment], scale: Scale, step: AgreementStep, most: int = 40
) -> list[AgreementPoint]:
    """Agreement of people over the items that two or more had graded, from the first on.

    Only what stands counts: a grade that was changed, as it is now and from when it was changed.
    The last point is what :func:`engine.annotate.agreement.find_agreement` says.

    Args:
        step: a point per day that brought such an item, or points at even numbers of items.
        most: points; of more days, the last ones.
    """
    own = [
        j
        for j in judgments
        if j.origin in ("person", "import") and j.relevance is not None
        and j.relevance in scale.values
    ]  # fmt: skip
    own.sort(key=lambda judgment: judgment.time)
    seen = Counter[Item]()
    shared = []  # where in ``own`` an item got its second grade
    for at, judgment in enumerate(own):
        seen[judgment.item] += 1
        if seen[judgment.item] == 2:
            shared.append(at)
    points = []
    for count in _cuts([own[at].time for at in shared], step, most):
        until = own[: shared[count] if count < len(shared) else None]
        grades: dict[Item, dict[str, int]] = {}
        for judgment in until:
            grades.setdefault(judgment.item, {})[judgment.annotator] = judgment.relevance or 0
        measures = group_measures(item_counts(grades, scale))
        points.append(AgreementPoint(count, until[-1].time, measures))
    return points


def _cuts(times: Sequence[datetime], step: AgreementStep, most: int) -> list[int]:
    """How many items each point is made of, ascending; the last one of all."""
    total = len(times)
    if step == "items":
        return sorted({-(-total * number // most) for number in range(1, most + 1)} - {0})
    ends = [at for at in range(1, total) if times[at].date() != times[at - 1].date()]
    return [*ends, *([total] if total else [])][-most:]
