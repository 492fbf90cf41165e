"""The retrieval-verification gap: do retrievers miss what a verifier would recognise?

After OBLIQ-Bench, section 3. For every size, candidates are drawn from all retrievers in turn, put
into an uninformative order, and ranked by the verifier: a lower bound of the best system. With
unfound relevant documents added, it is close to an upper bound. The gap is the distance of the best
retriever from both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from engine.errors import BadInputError
from engine.evaluate.evaluation_run import topic_criterion
from engine.evaluate.evaluations import (
    CollectionTasks,
    canonical_json,
    corpus_version,
    model_name,
    now,
)
from engine.evaluate.measuring import MAIN_MEASURE, ranking_of
from engine.jobs.runner import CancelledWorkError
from engine.llm.client import Client
from engine.llm.tasks import Estimator, ModelTask, TaskRun
from engine.measures.metrics import mean
from engine.measures.per_query import query_rows
from engine.measures.significance import confidence_interval
from engine.permissions import all_for_leads
from engine.rerank.candidates import merged, shuffled
from engine.search.model.reranking import (
    Assignment,
    Counted,
    Finished,
    Plan,
    count_for_reranking,
    model_report,
    ranking_sizes,
    rerank_all,
    texts_of,
)
from engine.search.reports import gap_report
from engine.search.scenario_index import scenarios_of
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.topics import Ranker, check_documents, sampled, usable_topics
from engine.types.callbacks import tell_nobody
from engine.types.evaluations import (
    RELEVANT,
    Collection,
    EvaluationRequest,
    Interval,
    Topic,
)
from engine.types.jobs import Job
from engine.types.models import Estimate, ModelReport, TaskProgress, TaskReport
from engine.types.reranking import MOST_POOL, Gap, GapPoint, GapRecord, GapRequest
from engine.types.searches import Ranking
from storage.documents import key_of


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates of one query at one size, in the order that the verifier gets."""

    query_id: str
    size: int
    infused: bool
    doc_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The state before the verifier is asked."""

    searcher: Searcher
    collection: Collection
    topics: Sequence[Topic]
    request: GapRequest
    rankings: Mapping[str, Mapping[str, Ranking]]  # system -> query_id -> its ranking

    @property
    def plan(self) -> Plan:
        return Plan(self.request.verifier, depth=10 * MOST_POOL)

    def pools(self) -> Iterator[Pool]:
        """Of every size and query, as found and infused."""
        for size in self.request.sizes:
            for topic in self.topics:
                query_id = topic.query_id
                drawn = merged([by[query_id].doc_ids for by in self.rankings.values()], size)
                missing = [d for d in self.relevant(query_id) if d not in set(drawn)]
                yield Pool(query_id, size, False, shuffled(drawn, query_id))
                yield Pool(query_id, size, True, shuffled([*drawn, *missing], query_id))

    def distinct_pools(self) -> list[tuple[str, tuple[str, ...]]]:
        """Query and documents of every pool; those of the same documents are verified once."""
        return list(dict.fromkeys((p.query_id, p.doc_ids) for p in self.pools()))

    def foreseen(self) -> Estimate:
        """What the verifier is asked at most."""
        return count_for_reranking(self.plan, [len(ids) for _, ids in self.distinct_pools()])[1]

    def relevant(self, query_id: str) -> list[str]:
        """Relevant documents that the corpus holds."""
        return _relevant(self.searcher, self.collection, query_id)


def check_gap(request: GapRequest) -> None:
    """Raise UnknownNameError or BadInputError for what cannot be measured."""
    Plan(request.verifier)
    for name in request.systems:
        find_system(name)
    if not request.systems:
        raise BadInputError("No system is named.", "Name at least one, like bm25.")
    wrong = [size for size in request.sizes if not 1 <= size <= MOST_POOL]
    if wrong or not request.sizes:
        raise BadInputError(
            f"The pool sizes are {', '.join(map(str, request.sizes)) or 'missing'}.",
            f"Give numbers from 1 to {MOST_POOL:,}, like 20,50,100,200.",
        )


def prepare(
    searcher: Searcher,
    collection: Collection,
    request: GapRequest,
    on_query: Callable[[], None] = tell_nobody,
) -> Baseline:
    """Rank every topic on every system; the request's sizes are ascending."""
    topics = usable_topics(sampled(collection.topics, request.sample), searcher)
    check_documents(collection, searcher)
    ranker = Ranker(searcher, topics, None)
    runs = {name: ranker.run(name, on_query) for name in request.systems}
    by_query = {n: {r.query_id: r for r in run.rankings} for n, run in runs.items()}
    return Baseline(searcher, collection, topics, request, by_query)


async def verify_and_measure(baseline: Baseline, client: Client) -> Gap:
    """Ask the verifier for the order of every pool, and measure the bounds at every size; a run may
    end early."""
    load = texts_of(baseline.searcher)
    criteria = {t.query_id: topic_criterion(baseline.searcher, t) for t in baseline.topics}
    assignments = [
        Assignment(query_id, criteria[query_id], doc_ids, load)
        for query_id, doc_ids in baseline.distinct_pools()
    ]
    finished = await rerank_all(client, assignments, baseline.plan)
    by_pool = {(a.name, a.doc_ids): f for a, f in zip(assignments, finished, strict=True)}
    verified = {pool: by_pool[pool.query_id, pool.doc_ids] for pool in baseline.pools()}
    usage, sizes = client.raise_if_nothing_came(), baseline.request.sizes
    report = replace(model_report(baseline.plan, usage, finished), depth=sizes[-1])
    return _measured(baseline, verified, report)


def _measured(baseline: Baseline, verified: Mapping[Pool, Finished], report: ModelReport) -> Gap:
    lacking = sum(
        grade >= RELEVANT and doc_id not in baseline.searcher.corpus.row_of
        for topic in baseline.topics
        for doc_id, grade in baseline.collection.qrels.get(topic.query_id, {}).items()
    )
    alone = {n: _values(baseline, list(r.values())) for n, r in baseline.rankings.items()}
    best = max(alone.values(), key=_mean)
    return Gap(
        collection=baseline.collection.name,
        corpus=baseline.searcher.corpus.name,
        queries=len(baseline.topics),
        verifier=baseline.request.verifier,
        measure=MAIN_MEASURE,
        retrievers={name: _mean(values) for name, values in alone.items()},
        points=tuple(_point(baseline, verified, size, best) for size in baseline.request.sizes),
        report=report,
        lacking=lacking,
        notes=_notes(report, lacking),
        retriever_intervals={name: confidence_interval(own) for name, own in alone.items()},
    )


def _point(
    baseline: Baseline, verified: Mapping[Pool, Finished], size: int, best: Sequence[float]
) -> GapPoint:
    """``best``: the best retriever's value for each query."""
    of_size = [pool for pool in verified if pool.size == size]
    drawn, infused = ([p for p in of_size if p.infused is put_in] for put_in in (False, True))
    lower, upper = (
        _values(baseline, [ranking_of(p.query_id, verified[p].reranked.order) for p in pools])
        for pools in (drawn, infused)
    )

    def above_best(values: Sequence[float]) -> Interval:
        pairs = zip(values, best, strict=True)
        return confidence_interval([own - theirs for own, theirs in pairs])

    relevant = [({*baseline.relevant(p.query_id)}, p.doc_ids) for p in drawn]
    return GapPoint(
        size=size,
        documents=_mean([len(p.doc_ids) for p in drawn]),
        documents_infused=_mean([len(p.doc_ids) for p in infused]),
        found=mean([len(own & {*ids}) / len(own) if own else None for own, ids in relevant]),
        lower=_mean(lower),
        upper=_mean(upper),
        lower_interval=confidence_interval(lower),
        upper_interval=confidence_interval(upper),
        gap_lower_interval=above_best(lower),
        gap_upper_interval=above_best(upper),
    )


def _values(baseline: Baseline, rankings: Sequence[Ranking]) -> list[float]:
    """The main measure of each query."""
    rows = query_rows(baseline.collection, baseline.topics, rankings)
    return [float(row[MAIN_MEASURE]) for row in rows]


def _mean(values: Sequence[float]) -> float:
    return mean(values) or 0.0


def _notes(report: ModelReport, lacking: int) -> tuple[str, ...]:
    unanswered = "The verifier did not answer everything (see the report): the bounds are too low."
    absent = (
        f"The corpus lacks {lacking:,} relevant documents; they can be neither found nor put in, "
        "so the upper bound is too low."
    )
    incomplete = report.stopped or report.failed or report.unread
    return (*([unanswered] if incomplete else []), *([absent] if lacking else []))


def foreseen_gap(
    request: GapRequest, searcher: Searcher, collection: Collection, topics: Sequence[Topic]
) -> Counted:
    """An upper estimate of the verifier's questions: as if retrievers found nothing relevant."""
    sizes = []
    for topic, most in zip(topics, ranking_sizes(searcher, topics), strict=True):
        relevant = len(_relevant(searcher, collection, topic.query_id))
        for size in request.sizes:
            drawn, infused = min(size, most), min(size + relevant, most)
            sizes += [drawn, infused] if drawn < infused else [drawn]
    return count_for_reranking(Plan(request.verifier, max(request.sizes) + MOST_POOL), sizes)


def _relevant(searcher: Searcher, collection: Collection, query_id: str) -> list[str]:
    grades, known = collection.qrels.get(query_id, {}), searcher.corpus.row_of
    return [d for d, grade in grades.items() if grade >= RELEVANT and d in known]


GapJob = Job[TaskProgress, TaskReport[Gap | None]]


@all_for_leads
class Gaps(CollectionTasks[GapRequest, Gap | None]):
    """Gaps between retrievers and a verifier."""

    kind, record, result = "gap", GapRecord, Gap

    def checked(self, request: GapRequest) -> GapRequest:
        """The request in its one form."""
        check_gap(request)
        sizes = tuple(sorted(set(request.sizes)))
        return replace(self._usable(request, tuple(dict.fromkeys(request.systems))), sizes=sizes)

    def job(self, collection: str) -> GapJob | None:
        """The gap of a collection that is being measured, or the last one in this process."""
        return self.jobs.latest(collection)

    def find(self, request: GapRequest, model: str) -> Gap | None:
        """A gap that was measured before with the corpus as it is now; None when there is none."""
        key = self._key(self.checked(request), model)
        found: Gap | None = self._results.value(key, request.collection)
        return found

    @staticmethod
    def to_json(gap: Gap) -> str:
        """All of a gap as the JSON of ``seedlens gap --json``."""
        return json.dumps(gap_report(gap), ensure_ascii=False, indent=2)

    def _task(self, request: GapRequest) -> MeasureGap:
        return MeasureGap(self.checked(request), self)

    def _key(self, request: GapRequest, model: str) -> str:
        searcher = self._searcher_of(request.collection)
        scenarios = scenarios_of(searcher.corpus, request.systems)
        settings = {
            "verifier": request.verifier,
            "sizes": request.sizes,
            "sample": request.sample,
            "model": model,
            "topics": self._collections.digest(
                EvaluationRequest(request.collection, (), sample=request.sample)
            ),
            **({"scenarios": scenarios} if scenarios else {}),
        }
        systems = canonical_json(request.systems)
        return key_of(corpus_version(searcher), systems, canonical_json(settings))


class MeasureGap(ModelTask[Gap | None]):
    """The gap of one collection; one is measured at a time. The request is checked."""

    busy = "Another gap of this collection is being measured."

    def __init__(self, request: GapRequest, gaps: Gaps) -> None:
        self.request, self.key, self._gaps = request, request.collection, gaps

    def estimate(self, known: Estimator) -> Estimate:
        request, gaps = self.request, self._gaps
        collection = gaps._collections.read(request.collection)
        topics = sampled(collection.topics, request.sample)
        return gaps._estimate(
            *(request, request.collection, topics, known),
            lambda searcher: [foreseen_gap(request, searcher, collection, topics)],
        )

    async def run(self, run: TaskRun) -> TaskReport[Gap | None]:
        """Rank with the retrievers, ask the verifier, measure."""
        request, gaps = self.request, self._gaps
        searcher, usage = gaps._searcher_of(request.collection), run.usage
        model = model_name(usage.model, usage.endpoint)
        key = gaps._key(request, model)  # before the model is asked: people may judge meanwhile
        collection = gaps._collections.read(request.collection)
        total = len(sampled(collection.topics, request.sample)) * len(request.systems)
        count = run.counter(total, "Ranking with the retrievers")
        try:
            baseline = prepare(searcher, collection, request, count)
        except CancelledWorkError:
            return TaskReport(result=None, stopped="cancelled")
        run.questions(baseline.foreseen().calls, f"Verifying, {request.verifier}")
        gap = await verify_and_measure(baseline, cast(Client, run.client))
        if not gap.report.stopped:
            gaps._keep(key, GapRecord(request, model, gap.gap(gap.points[-1]), now()), gap)
        return TaskReport(result=gap, failed=run.usage.failed)
