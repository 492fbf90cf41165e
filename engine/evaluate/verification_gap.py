"""The retrieval-verification gap: do retrievers fail to find what a verifier would recognise?

After OBLIQ-Bench, section 3. For every size, a query's candidates are drawn from all retrievers
in turn, put into an order that says nothing, and ranked by the verifier: a lower bound of what
the best system could do. With the relevant documents that nobody found put in, the same is
close to an upper bound. The best retriever's own quality below both is the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.assist.model import Model
from engine.assist.reranking import Assignment, Finished, Plan, model_report, rerank_all, texts_of
from engine.errors import BadInputError
from engine.evaluate.measuring import MAIN_MEASURE, query_rows
from engine.evaluate.model_evaluation import ranking_of, topic_criterion
from engine.llm.client import Client
from engine.llm.run import Outcome, complete
from engine.measures.metrics import confidence_interval, mean
from engine.rerank.candidates import merged, shuffled
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.topics import Ranker, check_documents, sampled, usable_topics
from engine.types.callbacks import tell_nobody
from engine.types.collections import RELEVANT, Collection, Topic
from engine.types.evaluations import Interval
from engine.types.reranking import Gap, GapPoint
from engine.types.searches import Ranking

MOST_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates of one query at one size, in the order that the verifier gets."""

    query_id: str
    size: int
    infused: bool
    doc_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ground:
    """What is known before the verifier is asked.

    Attributes:
        rankings: system -> query_id -> its ranking.
    """

    searcher: Searcher
    collection: Collection
    topics: Sequence[Topic]
    verifier: str
    sizes: tuple[int, ...]
    rankings: Mapping[str, Mapping[str, Ranking]]

    @property
    def plan(self) -> Plan:
        return Plan(self.verifier, depth=10 * MOST_SIZE)

    def pools(self) -> Iterator[Pool]:
        """Of every size and query, as found and infused."""
        for size in self.sizes:
            for topic in self.topics:
                query_id = topic.query_id
                found = merged([by[query_id].doc_ids for by in self.rankings.values()], size)
                missing = [d for d in self.relevant(query_id) if d not in set(found)]
                yield Pool(query_id, size, False, shuffled(found, query_id))
                yield Pool(query_id, size, True, shuffled([*found, *missing], query_id))

    def relevant(self, query_id: str) -> list[str]:
        """Relevant documents that the corpus holds."""
        grades = self.collection.qrels.get(query_id, {})
        known = self.searcher.corpus.row_of
        return [d for d, grade in grades.items() if grade >= RELEVANT and d in known]


def check_gap(verifier: str, systems: Sequence[str], sizes: Sequence[int]) -> None:
    """Raise UnknownNameError or BadInputError for what cannot be measured."""
    Plan(verifier)
    for name in systems:
        find_system(name)
    if not systems:
        raise BadInputError("No system is named.", "Name at least one, like bm25.")
    wrong = [size for size in sizes if not 1 <= size <= MOST_SIZE]
    if wrong or not sizes:
        raise BadInputError(
            f"The pool sizes are {', '.join(map(str, sizes)) or 'missing'}.",
            f"Give numbers from 1 to {MOST_SIZE:,}, like 20,50,100,200.",
        )


def prepare(
    searcher: Searcher,
    collection: Collection,
    verifier: str,
    systems: Sequence[str],
    sizes: Sequence[int],
    sample: int | None = None,
    on_query: Callable[[], None] = tell_nobody,
) -> Ground:
    """Rank every topic on every system.

    Raises:
        UnknownNameError, BadInputError: as :func:`check_gap` and :func:`evaluate`.
    """
    check_gap(verifier, systems, sizes)
    topics = usable_topics(sampled(collection.topics, sample), searcher)
    check_documents(collection, searcher)
    ranker = Ranker(searcher, topics, None)
    runs = {name: ranker.run(name, on_query) for name in dict.fromkeys(systems)}
    by_query = {n: {r.query_id: r for r in run.rankings} for n, run in runs.items()}
    ordered = tuple(sorted(set(sizes)))
    return Ground(searcher, collection, topics, verifier, ordered, by_query)


async def verify(
    client: Client, ground: Ground, at_once: int, on_done: Callable[[], None] = tell_nobody
) -> dict[Pool, Finished]:
    """Every pool in the verifier's order; pools of the same documents are read once."""
    criteria = {t.query_id: topic_criterion(ground.searcher, t) for t in ground.topics}
    load = texts_of(ground.searcher)
    pools = list(ground.pools())
    assignments = [
        Assignment(query_id, criteria[query_id], doc_ids, load)
        for query_id, doc_ids in dict.fromkeys((p.query_id, p.doc_ids) for p in pools)
    ]
    finished = await rerank_all(client, assignments, ground.plan, at_once, on_done)
    found = {(a.name, a.doc_ids): f for a, f in zip(assignments, finished, strict=True)}
    return {pool: found[pool.query_id, pool.doc_ids] for pool in pools}


def measure_gap(ground: Ground, outcome: Outcome[dict[Pool, Finished]]) -> Gap:
    """The bounds at every size."""
    verified, usage = outcome.value, outcome.usage
    different = list({id(f): f for f in verified.values()}.values())
    report = replace(model_report(ground.plan, usage, different), depth=ground.sizes[-1])
    lacking = sum(
        grade >= RELEVANT and doc_id not in ground.searcher.corpus.row_of
        for topic in ground.topics
        for doc_id, grade in ground.collection.qrels.get(topic.query_id, {}).items()
    )
    alone = {n: _quality(ground, list(r.values())) for n, r in ground.rankings.items()}
    best = max(alone.values(), key=lambda quality: quality.mean)
    return Gap(
        collection=ground.collection.name,
        corpus=ground.searcher.corpus.name,
        queries=len(ground.topics),
        verifier=ground.verifier,
        measure=MAIN_MEASURE,
        retrievers={name: quality.mean for name, quality in alone.items()},
        points=tuple(_point(ground, verified, size, best) for size in ground.sizes),
        report=report,
        lacking=lacking,
        notes=_notes(report.stopped, lacking),
        retriever_intervals={name: quality.interval for name, quality in alone.items()},
    )


@dataclass(frozen=True, slots=True)
class _Quality:
    """The main measure: its mean, the interval of that, and every query's."""

    mean: float
    interval: Interval
    values: tuple[float, ...]

    def above(self, other: _Quality) -> Interval:
        """The interval of the mean difference, query by query."""
        pairs = zip(self.values, other.values, strict=True)
        return confidence_interval([own - theirs for own, theirs in pairs])


def _point(
    ground: Ground, verified: Mapping[Pool, Finished], size: int, best: _Quality
) -> GapPoint:
    of_size = {p: f for p, f in verified.items() if p.size == size}
    found = {p: f for p, f in of_size.items() if not p.infused}
    infused = {p: f for p, f in of_size.items() if p.infused}
    lower, upper = (_quality(ground, _rankings(some)) for some in (found, infused))
    return GapPoint(
        size=size,
        documents=mean([len(p.doc_ids) for p in found]) or 0.0,
        documents_infused=mean([len(p.doc_ids) for p in infused]) or 0.0,
        found=mean([_share(ground.relevant(p.query_id), p.doc_ids) for p in found]),
        lower=lower.mean,
        upper=upper.mean,
        lower_interval=lower.interval,
        upper_interval=upper.interval,
        gap_lower_interval=lower.above(best),
        gap_upper_interval=upper.above(best),
    )


def _rankings(verified: Mapping[Pool, Finished]) -> list[Ranking]:
    return [ranking_of(p.query_id, f.reranked.order) for p, f in verified.items()]


def _quality(ground: Ground, rankings: Sequence[Ranking]) -> _Quality:
    rows = query_rows(ground.collection, ground.topics, rankings)
    values = tuple(float(row[MAIN_MEASURE]) for row in rows)
    return _Quality(mean(values) or 0.0, confidence_interval(values), values)


def _share(relevant: Sequence[str], doc_ids: Sequence[str]) -> float | None:
    return len(set(relevant) & set(doc_ids)) / len(relevant) if relevant else None


def _notes(stopped: str, lacking: int) -> tuple[str, ...]:
    notes = []
    if stopped:
        notes.append(
            "The verifier did not answer everything (see the report): the bounds are too low."
        )
    if lacking:
        notes.append(
            f"The corpus lacks {lacking:,} relevant documents; they can be neither found nor put "
            "in, so the upper bound is too low."
        )
    return tuple(notes)


def gap_now(ground: Ground, model: Model, on_done: Callable[[], None] = tell_nobody) -> Gap:
    """Ask the verifier and measure. Ctrl-C ends it, with what was answered until then.

    Raises:
        EndpointError: the endpoint refused or failed, and there is not a single answer.
    """
    slots = model.connection.concurrency

    async def work(client: Client) -> dict[Pool, Finished]:
        return await verify(client, ground, slots, on_done)

    return measure_gap(
        ground, complete(model.connection, model.store, work, model.tell, model.cancelled)
    )
