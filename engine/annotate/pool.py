"""Pools of items to judge, and queues of annotators: order, progress, pace, and shares.

Depth-k pooling as in TREC (Voorhees and Harman, 2005): the union of the top of systems, wordings
and runs. A pool knows the sources of each document; adding to it keeps what is in it.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from array import array
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from threading import Lock
from typing import NamedTuple, Protocol

from engine.corpora.contracts import RankedDocuments, Seed
from engine.corpora.opened import OpenCorpus
from engine.corpora.recent import Recent
from engine.errors import BadInputError, check_between, check_known
from engine.jobs.runner import JobRunner
from engine.lenses.definitions import built_in_variants
from engine.llm.judges import Criterion
from engine.measures.metrics import judged_at, mean
from engine.permissions import all_for_leads
from engine.types.annotating import (
    DEEPEST_POOL,
    FirstItems,
    Item,
    Judgment,
    PersonProgress,
    PoolFilled,
    PoolItem,
    PoolRequest,
    Project,
    ProjectProgress,
    QueueProgress,
    Unjudged,
)
from engine.types.callbacks import Ask
from engine.types.models import RunProgress
from engine.types.people import ForPerson
from engine.types.searches import WHOLE, Query, Ranking, Term
from storage.documents import key_of
from storage.judgment_events import CurrentJudgments, tally
from storage.people import SECONDS, Lease
from storage.projects import PoolRow

MOST_AHEAD = 60  # items leased at once: six seconds at ten keys a second
PACE_OVER = 20  # judgments that the pace is measured over
LONGEST_PAUSE = 300.0  # seconds between two judgments; longer ones are breaks
MOST_ORDERS = 64  # annotators whose orders are kept for a pool


def ordered_items(project: Project, items: Collection[PoolItem], annotator: str) -> list[PoolItem]:
    """The items in the order of one annotator's queue.

    Items of a query stay together. Queries, and in a ``shuffled`` project items, are ordered by a
    hash per annotator, against effects of order; ``same`` shuffles alike for all. ``disagreement``
    puts first what the sources disagree on most, ``rank`` what any source ranks best.
    """
    sources: dict[str, set[str]] = {}
    for item in items:
        sources.setdefault(item.query_id, set()).update(source.name for source in item.sources)
    who = "" if project.order == "same" else annotator
    places = {query_id: key_of(who, query_id) for query_id in sources}

    def key(item: PoolItem) -> tuple[str, float, str]:
        place = places[item.query_id]
        if project.order == "rank":
            return place, min((s.rank for s in item.sources), default=0), item.doc_id
        if project.order == "disagreement":
            return place, -disagreement(item, len(sources[item.query_id])), item.doc_id
        return place, 0, key_of(who, *item.item)

    return sorted(items, key=key)


def disagreement(item: PoolItem, sources: int) -> float:
    """How far a query's sources disagree on an item: the spread of 1 / rank, 0 to 1, 0 being its
    rank in ``sources`` that lack it."""
    shares = [1.0 / source.rank for source in item.sources]
    if len(shares) < sources:
        shares.append(0.0)
    return max(shares) - min(shares) if len(shares) > 1 else 0.0


def first_items(pool: Pool, chosen: Sequence[Item], number: int) -> list[Item]:
    """The items that everybody judges first: ``chosen`` ones of the pool, then others by a hash."""
    first = [item for item in chosen if item in pool]
    if len(first) < min(number, len(pool)):
        others = pool.numbers.keys() - {*first}
        first += heapq.nsmallest(number - len(first), others, key=lambda i: key_of("first", *i))
    return first[:number]


def shared_out(project: Project, sizes: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Queries of these sizes, each assigned to as many annotators as an item needs, evenly."""
    loads, assigned = dict.fromkeys(project.annotators, 0), {}
    for query_id in sorted(sizes, key=lambda name: (-sizes[name], name)):
        people = sorted(loads, key=loads.__getitem__)[: project.per_item]
        assigned[query_id] = tuple(people)
        for who in people:
            loads[who] += sizes[query_id]
    return assigned


class Order(NamedTuple):
    """The order of one annotator's queue; ``places`` are by number of the item in its pool."""

    items: Sequence[PoolItem]
    places: Sequence[int]


class Pool(Collection[Item]):
    """Items to be judged, numbered in order of arrival, and their orders; thread-safe."""

    def __init__(self, items: Iterable[PoolItem]) -> None:
        self.items = tuple(items)
        self.numbers = {pooled.item: number for number, pooled in enumerate(self.items)}
        self._orders: Recent[tuple[str, str, tuple[Item, ...]], Order] = Recent(MOST_ORDERS)
        self._lock = Lock()
        self._held_by: tuple[Container[str], Pool] = ((), self)
        self._without: Recent[tuple[frozenset[str], tuple[Item, ...]], Pool] = Recent(MOST_ORDERS)

    def __contains__(self, item: object) -> bool:
        return item in self.numbers

    def __iter__(self) -> Iterator[Item]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, item: Item) -> PoolItem:
        return self.items[self.numbers[item]]

    def held_by(self, doc_ids: Container[str], but: Callable[[], Container[str]]) -> Pool:
        """Without other documents and queries of ``but``; the same object for the same ones."""
        with self._lock:  # it takes a second for 50,000: once, not for everybody who waits for it
            held = self._held_by
            if held[0] is not doc_ids:
                out = but()
                kept = [p for p in self.items if p.doc_id in doc_ids and p.query_id not in out]
                held = (doc_ids, self if len(kept) == len(self.items) else Pool(kept))
                self._held_by = held
            return held[1]

    def of(self, project: Project, annotator: str, first: tuple[Item, ...] = ()) -> Pool:
        """Without queries assigned to others but for ``first``; the same object for the same."""
        out = frozenset(q for q, who in project.assigned.items() if who and annotator not in who)
        if not out:
            return self

        def mine() -> Pool:
            everybody = {*first}
            return Pool(p for p in self.items if p.query_id not in out or p.item in everybody)

        return self._without.one((out, first), mine)

    def among(self, only: Collection[Item]) -> Pool:
        """Of these items alone."""
        numbers = sorted(self.numbers[item] for item in only if item in self.numbers)
        return Pool(map(self.items.__getitem__, numbers))

    def order(self, project: Project, annotator: str, first: tuple[Item, ...] = ()) -> Order:
        """See :func:`ordered_items`, after those that everybody judges ``first``; kept."""

        def made() -> Order:
            # those for everybody: queries together, in a random order
            ahead = sorted(first, key=lambda item: (key_of("", item[0]), key_of("", *item)))
            everybody = {*first}
            others = [pooled for pooled in self.items if pooled.item not in everybody]
            items = (*map(self.__getitem__, ahead), *ordered_items(project, others, annotator))
            places = array("l", [0]) * len(items)
            for place, pooled in enumerate(items):
                places[self.numbers[pooled.item]] = place
            return Order(items, places)

        return self._orders.one((project.order, annotator, first), made)


class Queue:
    """One annotator's queue in one project, by the current judgments; without ``audit``, items that
    were graded to check a model are due. Those that everybody judges ``first`` are always due."""

    def __init__(
        self,
        project: Project,
        annotator: str,
        pool: Pool,
        current: CurrentJudgments,
        *,
        audit: bool = False,
        first: tuple[Item, ...] = (),
    ) -> None:
        self.project, self.annotator, self.pool = project, annotator, pool
        self._first, self.everybody = first, frozenset(first)
        self.annotated = current.annotated
        # own judgments by item, without adjudications, in order of arrival
        self.said, self._own, self._all = current.of(annotator, pool)
        if self._own["audit"] and not audit:
            self.said = {item: j for item, j in self.said.items() if j.origin != "audit"}
            self._own = tally(self.said.values(), pool, self.annotated)

    @property
    def items(self) -> Sequence[PoolItem]:
        """All of the project, in the annotator's order."""
        return self._order.items

    @cached_property
    def _order(self) -> Order:
        return self.pool.order(self.project, self.annotator, self._first)

    def lacking(self, item: Item) -> float:
        """How many annotations an item needs beyond those it has, at least 0."""
        if item in self.everybody:
            return math.inf
        return max(0, self.project.per_item - self.annotated.get(item, 0))

    @property
    def missing(self) -> int:
        """How many annotations the pool lacks, but for items that everybody judges."""
        needed, annotated = self.project.per_item, self.annotated
        first = sum(max(0, needed - annotated.get(item, 0)) for item in self._first)
        return sum((needed - n) * self._all[n] for n in range(needed)) - first

    @property
    def first_due(self) -> list[Item]:
        """The items for everybody that the annotator has not judged."""
        return [item for item in self._first if item not in self.said]

    def is_due(self, item: PoolItem) -> bool:
        """Whether the annotator has not judged it, and it needs more annotations."""
        return item.item not in self.said and self.lacking(item.item) > 0

    def due(self, start: int = 0) -> Iterator[PoolItem]:
        """The items that are due, in order: from this place on (from 0), then those before it."""
        places = itertools.chain(range(start, len(self.items)), range(start))
        return filter(self.is_due, map(self.items.__getitem__, places))

    def position(self, item: Item) -> int:
        """The place of an item in the annotator's order, from 1; 0 when it is not there."""
        number = self.pool.numbers.get(item)
        return 0 if number is None else self._order.places[number] + 1

    def progress(self) -> QueueProgress:
        """How far the annotator is."""
        own, needed = self._own, self.project.per_item
        done = own["grade"] + own["skip"] + own["unsure"]
        enough = sum(self.annotated.get(i, 0) >= needed for i in self.first_due)
        last = (j for item, j in reversed(self.said.items()) if item in self.pool)
        return QueueProgress(
            done=done,
            total=done + enough + sum(self._all[n] - own[n] for n in range(needed)),
            skipped=own["skip"],
            unsure=own["unsure"],
            per_minute=pace(itertools.islice(last, PACE_OVER + 1)),
        )


@dataclass(frozen=True)
class Share:
    """What of a queue is one annotator's to judge now, while others judge in the project."""

    queue: Queue
    next: Sequence[Item]  # leased items, in their order
    elsewhere: int  # items leased to others that they could judge; 0 while ``next`` has items
    people: int  # who judge or wait now, this annotator included
    progress: QueueProgress  # of the annotator; what is left is shared among these people
    beyond: bool  # the current item has, or gets from others, all the annotations it needs
    minutes: float = SECONDS / 60  # until an unrenewed lease runs out


def find_share(
    queue: Queue,
    others: Collection[Lease],
    shown: Set[Item] = frozenset(),
    at: Item | None = None,
) -> tuple[Share, Lease]:
    """What one annotator may judge next, following ``at``, and the lease for it; what is ``shown``
    stays leased.

    An item is free while judgments and leases are fewer than it needs. Each annotator gets half of
    an equal share of what is left, so that a slow one does not block; with no more people than an
    item needs, nobody waits.
    """
    needed, who = queue.project.per_item, queue.annotator
    place = 0 if at is None else queue.position(at)
    held: dict[str, set[Item]] = {}
    for lease in others:
        if lease.annotator != who:
            held.setdefault(lease.annotator, set()).update(lease.items)
    leased = Counter(itertools.chain.from_iterable(held.values()))
    # Those who judge other queries alone take no part in what is left; without items, one waits.
    pool = queue.pool
    beside = {o for o, items in held.items() if not items or not items.isdisjoint(pool)}
    people = len({who, *beside})

    def is_free(item: Item) -> bool:
        return item not in leased or leased[item] < queue.lacking(item)

    first = queue.first_due
    start = 0 if first and at not in queue.everybody else max(0, place - 1)
    free = (i.item for i in queue.due(start) if is_free(i.item))
    crowded = people > needed
    most = len(first) - (-queue.missing // (2 * people)) if crowded else MOST_AHEAD
    ahead = list(itertools.islice(free, min(most, MOST_AHEAD)))
    kept = dict.fromkeys([*ahead, *(item for item in shown if item not in queue.said)])
    beyond = False
    if at is not None and place and (at not in queue.said or not queue.said[at].is_annotation):
        beyond = leased[at] >= queue.lacking(at)
        if not beyond:
            kept[at] = None
    progress = queue.progress()
    mine = len(first) - (-queue.missing // people)
    mine = min(progress.left, mine) if crowded else progress.left
    progress = replace(progress, total=progress.done + mine)
    # To look at all that is leased takes long: only for who waits.
    waits_for = (i for i in leased if i in queue.pool and queue.is_due(queue.pool[i]))
    elsewhere = 0 if ahead else sum(not is_free(item) for item in waits_for)
    share = Share(queue, ahead, elsewhere, people, progress, beyond)
    return share, Lease(who, tuple(kept))


def pace(judgments: Iterable[Judgment]) -> float | None:
    """Judgments a minute over the last :data:`PACE_OVER`, without breaks; None before two."""
    times = sorted(judgment.time for judgment in judgments)[-PACE_OVER - 1 :]
    gaps = [(b - a).total_seconds() for a, b in itertools.pairwise(times)]
    worked = [gap for gap in gaps if gap <= LONGEST_PAUSE]
    return 60.0 * len(worked) / sum(worked) if sum(worked) > 0 else None


def find_progress(
    project: Project, pool: Pool, current: CurrentJudgments, first: tuple[Item, ...] = ()
) -> ProjectProgress:
    """How far a project is, and each of its people; models and decisions are left aside."""
    own = [j for j in current.judgments() if j.origin in ("person", "import") and j.item in pool]
    count = Counter(judgment.annotator for judgment in own)
    last: dict[str, datetime] = {}
    for judgment in own:
        last[judgment.annotator] = max(judgment.time, last.get(judgment.annotator, judgment.time))
    annotated = Counter(judgment.item for judgment in own if judgment.is_annotation)
    people = []
    for who in sorted({*project.annotators, *count}, key=str.casefold):
        mine = pool.of(project, who, first)
        progress = Queue(project, who, mine, current, first=first).progress()
        share = count[who] / len(own) if own else 0.0
        people.append(PersonProgress(who, progress, share, last.get(who)))
    here = {judgment.annotator for judgment in own if judgment.origin == "person"}
    judging = project.annotators or tuple(p.annotator for p in people if p.annotator in here)
    by_all = Counter(j.item for j in own if j.annotator in judging)
    needed = project.per_item
    # no more than people whom an item is assigned to
    assigned = {q: min(needed, len(people)) for q, people in project.assigned.items() if people}
    needs = {item: assigned.get(item[0], needed) for item in pool}
    needs |= {item: max(needed, len(judging)) for item in first}
    judged = sum(by_all[item] >= max(1, len(judging)) for item in first)
    return ProjectProgress(
        people=tuple(people),
        items=len(needs),
        complete=sum(annotated[item] >= many for item, many in needs.items()),
        annotations=sum(min(annotated[item], many) for item, many in needs.items()),
        needed=sum(needs.values()),
        extra=sum(max(0, n - needs[item]) for item, n in annotated.items()),
        first=FirstItems(len(first), judged, judging) if first else None,
    )


DEPTH = PoolRequest().depth


class Searcher(Protocol):
    """What annotation needs of :class:`engine.search.searcher.Searcher`."""

    @property
    def corpus(self) -> OpenCorpus: ...
    def seed(self, query: Query, /) -> Seed: ...
    def rank(
        self, query: Query, seed: Seed, pool: Sequence[str] | None = None, /
    ) -> RankedDocuments: ...
    def criterion(self, query: Query, seed: Seed, /) -> Criterion: ...


def check_pool(request: PoolRequest, systems: Collection[str]) -> None:
    """Raise BadInputError for a pool that cannot be made of these systems."""
    if not request.systems and not request.runs:
        raise BadInputError("The pool has no source.", "Name at least one system or run.")
    for name in request.systems:
        check_known("system", name, systems)
    check_between("The depth of the pool", request.depth, 1, DEEPEST_POOL)


def retrieved(
    searcher: Searcher, project: Project, query_id: str, query: Query, request: PoolRequest
) -> list[PoolRow]:
    """The top of every source for one query, as pool rows of documents that the corpus has."""
    corpus, now = searcher.corpus, datetime.now(UTC)
    query = replace(query, filters=(*query.filters, *request.filters))
    allowed = corpus.scope(query.filters, without=query.seed).allowed
    tops = _by_systems(searcher, query, request)
    for name, rankings in request.runs.items():
        of_query = (but_seed(r, query) for r in rankings if r.query_id == query_id)
        tops[f"run:{name}"] = next(of_query, [])
    return [
        PoolRow(*project.key, query_id, doc_id, source, rank, now)
        for source, doc_ids in tops.items()
        for rank, doc_id in enumerate(doc_ids[: request.depth], start=1)
        if doc_id in corpus.row_of and allowed[corpus.row_of[doc_id]]
    ]


def but_seed(ranking: Ranking, query: Query) -> list[str]:
    """The documents of an external run, without the seed, which our runs leave out."""
    return [doc_id for doc_id in ranking.doc_ids if doc_id != query.seed]


def not_held(
    known: Container[str],
    query_ids: Collection[str],
    runs: Mapping[str, Sequence[Ranking]],
    depth: int,
) -> dict[str, int]:
    """run -> number of documents in its top, for these queries, that are not ``known``; not 0."""
    counts = {
        name: sum(d not in known for r in run if r.query_id in query_ids for d in r.doc_ids[:depth])
        for name, run in runs.items()
    }
    return {name: count for name, count in counts.items() if count}


def unaskable(corpus: OpenCorpus, queries: Mapping[str, Query]) -> tuple[str, ...]:
    """query_ids that the corpus cannot answer: it lacks the seed, or its lens an aspect."""

    def is_lacking(query: Query) -> bool:
        parts = () if query.reading == WHOLE else query.reading
        terms = [(part, Term.parse(part)) for part in parts]
        read = (part[1:] if term is None else term.aspect for part, term in terms)
        named = {key.lower() for key in (query.aspect, *read) if key}
        has_seed = query.seed is None or query.seed in corpus.row_of
        return not (has_seed and named.issubset(corpus.aspects))

    return tuple(query_id for query_id, query in queries.items() if is_lacking(query))


def _by_systems(searcher: Searcher, query: Query, request: PoolRequest) -> dict[str, Sequence[str]]:
    if not request.systems or unaskable(searcher.corpus, {"": query}):
        return {}  # a text would be encoded for nothing
    seed = searcher.seed(query)
    tops: dict[str, Sequence[str]] = {}
    for system in request.systems:
        plain = replace(query, system=system)
        tops[system] = searcher.rank(plain, seed)[: request.depth].doc_ids
        if query.aspect is None or not request.variants:
            continue
        lens = searcher.corpus.lens
        for variant in built_in_variants(lens, query.aspect, system, query.steer, request.variants):
            if variant.name == "base" or variant.subset:
                continue  # the base is the aspect's own wording; a subset is another seed
            asked = replace(plain, aspect=None, instruction=variant.instruction)
            ranking = searcher.rank(asked, seed)[: request.depth]
            tops[f"{system} ({variant.name})"] = ranking.doc_ids
    return tops


def tops_of(
    searcher: Searcher, queries: Mapping[str, Query], systems: Sequence[str], k: int = DEPTH
) -> dict[str, dict[str, Sequence[str]]]:
    """system -> query_id -> the documents of its top ``k``, without :func:`unaskable` queries."""
    tops: dict[str, dict[str, Sequence[str]]] = {}
    for query_id, query in queries.items():
        found = _by_systems(searcher, query, PoolRequest(tuple(systems), k))
        for system, doc_ids in found.items():
            tops.setdefault(system, {})[query_id] = doc_ids
    return tops


def graded(project: Project, judgments: Iterable[Judgment]) -> dict[str, set[str]]:
    """query_id -> documents with a grade that counts: a model's only where the project says so."""
    documents: dict[str, set[str]] = {}
    left_out = ("audit",) if project.model_grades else ("audit", "model")
    for judgment in judgments:
        if judgment.relevance in project.scale.values and judgment.origin not in left_out:
            documents.setdefault(judgment.query_id, set()).add(judgment.doc_id)
    return documents


def find_unjudged(
    tops: Mapping[str, Mapping[str, Sequence[str]]],
    judged: Mapping[str, Collection[str]],
    k: int = DEPTH,
) -> tuple[Unjudged, ...]:
    """Unjudged documents in the top ``k`` of each system; ``judged`` is by query_id."""
    found = []
    for system, rankings in tops.items():
        shares, missing = [], {}
        for query_id, doc_ids in rankings.items():
            known = judged.get(query_id, ())
            shares.append(judged_at(doc_ids, dict.fromkeys(known, 1), k))
            if lacking := tuple(doc_id for doc_id in doc_ids[:k] if doc_id not in known):
                missing[query_id] = lacking
        found.append(Unjudged(system, k, mean(shares) or 0.0, missing))
    return tuple(found)


@all_for_leads
class PoolFilling(ForPerson):
    """Fills pools in the background; thread-safe."""

    def __init__(
        self,
        fill: Callable[[Project, PoolRequest, Sequence[str]], int],
        count: Callable[[Project], int],
    ) -> None:
        # jobs: by :attr:`Project.key`; a cancelled one ends after the current query
        self._fill, self._count, self.jobs = fill, count, JobRunner()

    def start(
        self, project: Project, request: PoolRequest, query_ids: Sequence[str], owner: str = ""
    ) -> str:
        """Pool these queries; returns the job's id."""
        total = len(query_ids)

        def work(on_progress: Callable[[RunProgress], None], cancelled: Ask) -> PoolFilled:
            started, before, done = time.perf_counter(), self._count(project), 0
            while done < total and not cancelled():
                self._fill(project, request, [query_ids[done]])
                done += 1
                on_progress(RunProgress(done, total, time.perf_counter() - started))
            added, left = self._count(project) - before, total - done
            return PoolFilled(done, left, added, "cancelled" if left else "")

        if self.jobs.running(project.key) is not None:
            raise BadInputError(
                f"The pool of '{project.name}' is being filled already.",
                "Wait until that is done, or cancel it.",
            )
        progress = RunProgress(0, total)
        return self.jobs.start(project.key, work, progress, request=request, owner=owner)
