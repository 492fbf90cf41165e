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
from engine.assist.ranking_estimates import count_for_reranking, ranking_sizes
from engine.assist.reranking import Assignment, Finished, Plan, model_report, rerank_all, texts_of
from engine.errors import BadInputError
from engine.evaluate.measuring import MAIN_MEASURE, query_rows
from engine.evaluate.model_runs import ranking_of, topic_criterion
from engine.llm.client import Client
from engine.llm.run import Outcome, ask_model
from engine.measures.metrics import confidence_interval, mean
from engine.rerank.candidates import merged, shuffled
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.topics import Ranker, check_documents, sampled, usable_topics
from engine.types.callbacks import tell_nobody
from engine.types.collections import RELEVANT, Collection, Topic
from engine.types.evaluations import Interval
from engine.types.reranking import MOST_POOL, CostEstimate, Gap, GapPoint, GapRequest
from engine.types.searches import Ranking


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates of one query at one size, in the order that the verifier gets."""

    query_id: str
    size: int
    infused: bool
    doc_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
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
        return Plan(self.verifier, depth=10 * MOST_POOL)

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
    wrong = [size for size in sizes if not 1 <= size <= MOST_POOL]
    if wrong or not sizes:
        raise BadInputError(
            f"The pool sizes are {', '.join(map(str, sizes)) or 'missing'}.",
            f"Give numbers from 1 to {MOST_POOL:,}, like 20,50,100,200.",
        )


def prepare(
    searcher: Searcher,
    collection: Collection,
    verifier: str,
    systems: Sequence[str],
    sizes: Sequence[int],
    sample: int | None = None,
    on_query: Callable[[], None] = tell_nobody,
) -> Baseline:
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
    return Baseline(searcher, collection, topics, verifier, ordered, by_query)


async def verify(
    client: Client, baseline: Baseline, at_once: int, on_done: Callable[[], None] = tell_nobody
) -> dict[Pool, Finished]:
    """Every pool in the verifier's order; pools of the same documents are read once."""
    criteria = {t.query_id: topic_criterion(baseline.searcher, t) for t in baseline.topics}
    load = texts_of(baseline.searcher)
    pools = list(baseline.pools())
    assignments = [
        Assignment(query_id, criteria[query_id], doc_ids, load)
        for query_id, doc_ids in dict.fromkeys((p.query_id, p.doc_ids) for p in pools)
    ]
    finished = await rerank_all(client, assignments, baseline.plan, at_once, on_done)
    found = {(a.name, a.doc_ids): f for a, f in zip(assignments, finished, strict=True)}
    return {pool: found[pool.query_id, pool.doc_ids] for pool in pools}


def measure_gap(baseline: Baseline, outcome: Outcome[dict[Pool, Finished]]) -> Gap:
    """The bounds at every size."""
    verified, usage = outcome.value, outcome.usage
    different = list({id(f): f for f in verified.values()}.values())
    report = replace(model_report(baseline.plan, usage, different), depth=baseline.sizes[-1])
    lacking = sum(
        grade >= RELEVANT and doc_id not in baseline.searcher.corpus.row_of
        for topic in baseline.topics
        for doc_id, grade in baseline.collection.qrels.get(topic.query_id, {}).items()
    )
    alone = {n: _quality(baseline, list(r.values())) for n, r in baseline.rankings.items()}
    best = max(alone.values(), key=lambda quality: quality.mean)
    return Gap(
        collection=baseline.collection.name,
        corpus=baseline.searcher.corpus.name,
        queries=len(baseline.topics),
        verifier=baseline.verifier,
        measure=MAIN_MEASURE,
        retrievers={name: quality.mean for name, quality in alone.items()},
        points=tuple(_point(baseline, verified, size, best) for size in baseline.sizes),
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
    baseline: Baseline, verified: Mapping[Pool, Finished], size: int, best: _Quality
) -> GapPoint:
    of_size = {p: f for p, f in verified.items() if p.size == size}
    found = {p: f for p, f in of_size.items() if not p.infused}
    infused = {p: f for p, f in of_size.items() if p.infused}
    lower, upper = (_quality(baseline, _rankings(some)) for some in (found, infused))
    return GapPoint(
        size=size,
        documents=mean([len(p.doc_ids) for p in found]) or 0.0,
        documents_infused=mean([len(p.doc_ids) for p in infused]) or 0.0,
        found=mean([_share(baseline.relevant(p.query_id), p.doc_ids) for p in found]),
        lower=lower.mean,
        upper=upper.mean,
        lower_interval=lower.interval,
        upper_interval=upper.interval,
        gap_lower_interval=lower.above(best),
        gap_upper_interval=upper.above(best),
    )


def _rankings(verified: Mapping[Pool, Finished]) -> list[Ranking]:
    return [ranking_of(p.query_id, f.reranked.order) for p, f in verified.items()]


def _quality(baseline: Baseline, rankings: Sequence[Ranking]) -> _Quality:
    rows = query_rows(baseline.collection, baseline.topics, rankings)
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


def verify_and_measure(
    baseline: Baseline, model: Model, on_done: Callable[[], None] = tell_nobody
) -> Gap:
    """Ask the verifier and measure; a run that ends early counts as far as it came.

    Raises:
        EndpointError: the endpoint refused or failed, and there is not a single answer.
    """
    slots = model.connection.concurrency

    async def work(client: Client) -> dict[Pool, Finished]:
        return await verify(client, baseline, slots, on_done)

    outcome = ask_model(model.connection, model.store, work, model.tell, model.cancelled)
    return measure_gap(baseline, outcome)


def foreseen_pools(baseline: Baseline) -> CostEstimate:
    """What the verifier is asked about the pools that there are; equal ones are read once."""
    pools = {(p.query_id, p.doc_ids) for p in baseline.pools()}
    return count_for_reranking(baseline.plan, [len(doc_ids) for _, doc_ids in pools])


def foreseen_gap(
    request: GapRequest, searcher: Searcher, collection: Collection, topics: Sequence[Topic]
) -> CostEstimate:
    """What the verifier is asked at most, before anything is ranked.

    As if no retriever found any relevant document, so that all have to be put in.
    """
    known = searcher.corpus.row_of
    sizes = []
    for topic, most in zip(topics, ranking_sizes(searcher, topics), strict=True):
        grades = collection.qrels.get(topic.query_id, {})
        relevant = sum(d in known for d, grade in grades.items() if grade >= RELEVANT)
        for size in sorted(set(request.sizes)):
            found, infused = min(size, most), min(size + relevant, most)
            sizes += [found, infused] if found < infused else [found]
    return count_for_reranking(Plan(request.verifier, max(request.sizes) + MOST_POOL), sizes)
