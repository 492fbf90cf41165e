"""In which order one annotator is asked, what is left, and how fast it goes."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from engine.types.annotating import (
    Item,
    Judgment,
    PersonProgress,
    PoolItem,
    Project,
    ProjectProgress,
    QueueProgress,
)
from storage.leases import SECONDS, Lease

MOST_AHEAD = 60
"""Items that are leased at once: at ten keys a second, six seconds of them."""
PACE_OVER = 20
"""Judgments that the pace is measured over."""
LONGEST_PAUSE = 300.0
"""Seconds between two judgments that still count as work, not as a break."""
_ANNOTATIONS = ("grade", "unsure")
"""Verdicts that count as an annotation of an item."""


def ordered_items(project: Project, items: Iterable[PoolItem], annotator: str) -> list[PoolItem]:
    """The items in the order in which one annotator is asked.

    A query's items follow one another, so that the seed stays in view. Queries, and in a
    ``shuffled`` project items, go by a hash that differs between annotators: what tires or
    teaches them is not the same for all. ``disagreement`` asks first for what the sources
    disagree on most, ``rank`` for what any of them ranks best.
    """
    by_query: dict[str, list[PoolItem]] = {}
    for item in items:
        by_query.setdefault(item.query_id, []).append(item)
    sources = {
        query_id: len({source.name for item in of_query for source in item.sources})
        for query_id, of_query in by_query.items()
    }
    keys: dict[str, Callable[[PoolItem], tuple[float, str]]] = {
        "shuffled": lambda item: (0, _hash(annotator, item.query_id, item.doc_id)),
        "disagreement": lambda item: (
            -disagreement(item, sources[item.query_id]),
            item.doc_id,
        ),
        "rank": lambda item: (min((s.rank for s in item.sources), default=0), item.doc_id),
    }
    return [
        item
        for query_id in sorted(by_query, key=lambda q: _hash(annotator, q))
        for item in sorted(by_query[query_id], key=keys[project.order])
    ]


def disagreement(item: PoolItem, sources: int) -> float:
    """How far a query's sources disagree on an item: the spread of 1 / rank, 0 to 1.

    One that did not retrieve it counts as 0.

    Args:
        sources: how many retrieved anything for the query.

    >>> from engine.types.annotating import PoolItem, Source
    >>> disagreement(PoolItem("q", "d", (Source("a", 1), Source("b", 2))), sources=2)
    0.5
    >>> disagreement(PoolItem("q", "d", (Source("a", 1),)), sources=2)
    1.0
    """
    shares = [1.0 / source.rank for source in item.sources]
    if len(shares) < sources:
        shares.append(0.0)
    return max(shares) - min(shares) if len(shares) > 1 else 0.0


def _hash(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Queue:
    """One annotator's queue in one project.

    Attributes:
        items: all of the project, in the annotator's order.
        said: what the annotator said, by item; adjudications are not among it.
        others: by item, how many others graded it or were unsure.
    """

    project: Project
    annotator: str
    items: Sequence[PoolItem]
    said: Mapping[Item, Judgment]
    others: Mapping[Item, int]

    @classmethod
    def of(
        cls,
        project: Project,
        annotator: str,
        items: Iterable[PoolItem],
        judgments: Iterable[Judgment],
    ) -> Queue:
        """The queue as the standing judgments of the project leave it."""
        said: dict[Item, Judgment] = {}
        others: Counter[Item] = Counter()
        for judgment in judgments:
            if judgment.origin == "adjudication":
                continue
            item = judgment.item
            if judgment.annotator == annotator:
                said[item] = judgment
            elif judgment.verdict in _ANNOTATIONS and judgment.origin != "model":
                others[item] += 1
        return cls(project, annotator, ordered_items(project, items, annotator), said, others)

    def is_due(self, item: PoolItem) -> bool:
        """The annotator has said nothing of it, and it needs more people."""
        key = item.item
        return key not in self.said and self.others.get(key, 0) < self.project.per_item

    def next(self, after: Item | None = None) -> PoolItem | None:
        """The first item that is due (behind ``after``, else from the start); None at the end."""
        start = 0 if after is None else self.position(after)
        for item in (*self.items[start:], *self.items[:start]):
            if self.is_due(item):
                return item
        return None

    def position(self, item: Item) -> int:
        """Where an item stands in the annotator's order, from 1; 0 when it is not there."""
        for number, other in enumerate(self.items, start=1):
            if other.item == item:
                return number
        return 0

    def before(self, item: Item | None) -> Judgment | None:
        """What the annotator said last, or said last before they judged ``item``."""
        mine = list(self.said.values())  # in order of arrival, whatever the clocks said
        at = next((i for i, j in enumerate(mine) if j.item == item), len(mine))
        return mine[at - 1] if at else None

    def progress(self) -> QueueProgress:
        """How far the annotator is."""
        asked = {item.item for item in self.items}
        mine = [j for item, j in self.said.items() if item in asked]
        verdicts = Counter(judgment.verdict for judgment in mine)
        left = sum(map(self.is_due, self.items))
        return QueueProgress(
            done=len(mine),
            total=len(mine) + left,
            skipped=verdicts["skip"],
            unsure=verdicts["unsure"],
            per_minute=pace(mine),
        )


@dataclass(frozen=True)
class Share:
    """What of a queue is one annotator's to judge now, while others judge in the project.

    Attributes:
        next: the items that are leased to them, in their order.
        elsewhere: items they could judge, were they not leased to others.
        people: how many judge now, or wait for items, this annotator among them.
        progress: how far they are; what is left is shared among these people.
        beyond: the item at hand has, or gets from others, all the annotations it needs.
        minutes: after which a lease runs out that nobody renews.
    """

    queue: Queue
    next: Sequence[Item]
    elsewhere: int
    people: int
    progress: QueueProgress
    beyond: bool
    minutes: float = SECONDS / 60


def find_share(
    queue: Queue,
    items: Sequence[Item],
    others: Collection[Lease],
    shown: Set[Item] = frozenset(),
    at: Item | None = None,
) -> tuple[Share, Lease]:
    """What one annotator may judge next, and what is to be leased to them for that.

    An item is theirs where those who judged it and those who have it leased are fewer than it
    needs. Each gets half of an equal share of what is left, so that a slow annotator does not keep
    it all; where there are no more people than an item needs, nobody has to wait for another.

    Args:
        items: of the queue, those that can be judged, in its order.
        others: leases of other visits, the annotator's own ones among them.
        shown: what is leased to this visit, and may be on its screen still: it stays leased.
        at: the item at hand; the next ones are those behind it.
    """
    project, who = queue.project, queue.annotator
    leased = Counter(
        item
        for _, item in {(o.annotator, i) for o in others if o.annotator != who for i in o.items}
    )
    people = len({who, *(lease.annotator for lease in others)})
    start = items.index(at) if at in items else 0
    due, free, left = 0, [], 0
    for item in (*items[start:], *items[:start]):
        lacking = project.per_item - queue.others.get(item, 0)
        own = queue.said.get(item)
        left += max(0, lacking - (own is not None and own.verdict in _ANNOTATIONS))
        if own is None and lacking > 0:
            due += 1
            if leased[item] < lacking:
                free.append(item)
    crowded = people > project.per_item
    most = -(-left // (2 * people)) if crowded else MOST_AHEAD
    ahead = free[: min(most, MOST_AHEAD)]
    kept = dict.fromkeys([*ahead, *(item for item in shown if item not in queue.said)])
    beyond = False
    if at is not None and at in items:
        own = queue.said.get(at)
        if own is None or own.verdict not in _ANNOTATIONS:
            beyond = leased[at] >= project.per_item - queue.others.get(at, 0)
            kept.update({} if beyond else {at: None})
    progress = queue.progress()
    mine = min(due, -(-left // people)) if crowded else due
    progress = replace(progress, total=progress.done + mine)
    share = Share(queue, ahead, due - len(free), people, progress, beyond)
    return share, Lease(who, tuple(kept))


def pace(judgments: Iterable[Judgment]) -> float | None:
    """Judgments a minute over the last :data:`PACE_OVER`, breaks left out; None before there
    are two in a row."""
    times = sorted(judgment.time for judgment in judgments)[-PACE_OVER - 1 :]
    gaps = [(b - a).total_seconds() for a, b in itertools.pairwise(times)]
    worked = [gap for gap in gaps if gap <= LONGEST_PAUSE]
    return 60.0 * len(worked) / sum(worked) if sum(worked) > 0 else None


def find_progress(
    project: Project, items: Sequence[PoolItem], judgments: Sequence[Judgment]
) -> ProjectProgress:
    """How far a project is, and each of its people; models and decisions are left aside."""
    pooled = {item.item for item in items}
    own = [j for j in judgments if j.origin in ("person", "import") and j.item in pooled]
    said = Counter(judgment.annotator for judgment in own)
    annotated = Counter(j.item for j in own if j.verdict in _ANNOTATIONS)
    people = []
    for who in sorted({*project.annotators, *said}, key=str.casefold):
        times = [judgment.time for judgment in own if judgment.annotator == who]
        queue = Queue.of(project, who, items, judgments)
        share = said[who] / len(own) if own else 0.0
        people.append(PersonProgress(who, queue.progress(), share, max(times, default=None)))
    return ProjectProgress(
        people=tuple(people),
        items=len(items),
        complete=sum(count >= project.per_item for count in annotated.values()),
        annotations=sum(min(count, project.per_item) for count in annotated.values()),
        needed=len(items) * project.per_item,
        extra=sum(max(0, count - project.per_item) for count in annotated.values()),
    )
