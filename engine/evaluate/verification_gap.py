"""The retrieval-verification gap: do retrievers miss what a verifier would recognise?

After OBLIQ-Bench, section 3. For every size, candidates are drawn from all retrievers in turn, put
into an uninformative order, and ranked by the verifier: a lower bound of the best system. With
unfound relevant documents added, it is close to an upper bound. The gap is the distance of the best
retriever from both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from engine.errors import BadInputError
from engine.evaluate.evaluation_run import MAIN_MEASURE, ranking_of, topic_criterion
from engine.evaluate.evaluations import (
    CollectionTasks,
    canonical_json,
    corpus_version,
    model_name,
    now,
)
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

    def pools(self) -> Iterator[Pool]:
        """Of every size and query, as found and infused."""
        for size in self.request.sizes:
            for topic in self.topics:
                query_id = topic.query_id
                drawn = merged([by[query_id].doc_ids for by in self.rankings.values()], size)
                missing = [d for d in self.relevant(query_id) if d not in set(drawn)]
                yield Pool(query_id, size, False, shuffled(drawn, query_id))
                yield Pool(query_id, size, True, shuffled([*drawn, *missing], query_id))

    def relevant(self, query_id: str) -> list[str]:
        """Relevant documents that the corpus holds."""
        return _relevant(self.searcher, self.collection, query_id)

    def values(self, rankings: Iterable[Ranking]) -> list[float]:
        """The main measure of each query."""
        rows = query_rows(self.collection, self.topics, list(rankings))
        return [float(row[MAIN_MEASURE]) for row in rows]


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


async def verify_and_measure(
    baseline: Baseline, client: Client, announce: Callable[[int], None] = tell_nobody
) -> Gap:
    """Ask the verifier for the order of every pool, and measure the bounds at every size; a run may
    end early. ``announce`` gets the number of questions at most."""
    searcher, collection, request = baseline.searcher, baseline.collection, baseline.request
    load, plan = texts_of(searcher), Plan(request.verifier, depth=10 * MOST_POOL)
    criteria = {t.query_id: topic_criterion(searcher, t) for t in baseline.topics}
    pools = list(baseline.pools())
    # Those of the same documents are verified once.
    distinct = list(dict.fromkeys((pool.query_id, pool.doc_ids) for pool in pools))
    announce(count_for_reranking(plan, [len(doc_ids) for _, doc_ids in distinct])[1].calls)
    assignments = [Assignment(q, criteria[q], doc_ids, load) for q, doc_ids in distinct]
    finished = await rerank_all(client, assignments, plan)
    orders = {pool: f.reranked.order for pool, f in zip(distinct, finished, strict=True)}
    usage = client.raise_if_nothing_came()
    report = replace(model_report(plan, usage, finished), depth=request.sizes[-1])
    alone = {n: baseline.values(r.values()) for n, r in baseline.rankings.items()}
    best = max(alone.values(), key=_mean)

    def point(size: int) -> GapPoint:
        drawn, infused = ([p for p in pools if (p.size, p.infused) == (size, i)] for i in (0, 1))
        lower, upper = (
            baseline.values(ranking_of(p.query_id, orders[p.query_id, p.doc_ids]) for p in some)
            for some in (drawn, infused)
        )
        gap_lower, gap_upper = (
            confidence_interval([own - theirs for own, theirs in zip(values, best, strict=True)])
            for values in (lower, upper)
        )
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
            gap_lower_interval=gap_lower,
            gap_upper_interval=gap_upper,
        )

    lacking = sum(
        grade >= RELEVANT and doc_id not in searcher.corpus.row_of
        for query_id in criteria
        for doc_id, grade in collection.qrels.get(query_id, {}).items()
    )
    return Gap(
        collection=collection.name,
        corpus=searcher.corpus.name,
        queries=len(baseline.topics),
        verifier=request.verifier,
        measure=MAIN_MEASURE,
        retrievers={name: _mean(values) for name, values in alone.items()},
        points=tuple(map(point, request.sizes)),
        report=report,
        lacking=lacking,
        notes=_notes(report, lacking),
        retriever_intervals={name: confidence_interval(own) for name, own in alone.items()},
    )


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
        announce = partial(run.questions, phase=f"Verifying, {request.verifier}")
        gap = await verify_and_measure(baseline, cast(Client, run.client), announce)
        if not gap.report.stopped:
            gaps._keep(key, GapRecord(request, model, gap.gap(gap.points[-1]), now()), gap)
        return TaskReport(result=gap, failed=run.usage.failed)
