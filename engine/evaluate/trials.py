"""Measuring with a language model: evaluations that it takes part in, and the gap.

The facade over both, as :class:`engine.assist.verifier.Verifier` has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock

from engine.assist.model import Model, model_name
from engine.assist.ranking_estimates import (
    DOCUMENTS,
    SAMPLE,
    EstimateCache,
    QuestionCount,
    Sample,
    count_for_reranking,
    count_for_system,
    estimate_cost,
    ranking_sizes,
)
from engine.assist.reranking import Plan, texts_of
from engine.errors import BadInputError, CorpusBusyError, SeedLensError, UnknownNameError
from engine.evaluate.bench import corpus_version
from engine.evaluate.collection_store import Shelf
from engine.evaluate.gap_store import GapShelf, gap_json
from engine.evaluate.gap_work import GapWork, foreseen_gap, start_gap
from engine.evaluate.model_evaluation import ModelHelper, topic_criterion
from engine.evaluate.model_runs import HELPED
from engine.evaluate.verification_gap import MOST_SIZE, check_gap
from engine.jobs.threads import Jobs
from engine.llm.endpoints import Connection, Endpoint
from engine.search.searcher import Searcher
from engine.search.topics import sampled
from engine.types.collections import Collection, Topic
from engine.types.evaluations import EvaluationRequest
from engine.types.reranking import CostEstimate, Gap, GapJob, GapRecord, GapRequest
from storage.ledger import Ledger

Connect = Callable[[Endpoint | None, int | None], Connection]
"""Gives the connection of (endpoint, calls at most), or raises NoEndpointError."""


class Trials:
    """Measurements of one home that a model takes part in. Safe to share between threads.


    Args:
        connect: see :data:`Connect`.
        jobs: where work under way is kept.
    """

    def __init__(
        self,
        ledger: Ledger,
        shelf: Shelf,
        searcher: Callable[[str], Searcher],
        connect: Connect,
        jobs: Jobs,
    ) -> None:
        self._answers, self._shelf, self._searcher = ledger.answers, shelf, searcher
        self._connect, self._jobs = connect, jobs
        self._gaps = GapShelf(ledger.experiments)
        self._latest: dict[str, str] = {}
        self._starting = Lock()
        self._estimates = EstimateCache()

    def model(self, endpoint: Endpoint | None = None) -> str:
        """Which model would be asked, and where; "" where none can be. Never raises."""
        connection = self._usable(endpoint)
        return "" if connection is None else model_name(connection)

    # -- evaluations -------------------------------------------------------------------

    def helper(
        self, endpoint: Endpoint | None = None, most_calls: int | None = None
    ) -> ModelHelper:
        """The model for one evaluation; see :meth:`engine.evaluate.laboratory.Laboratory.start`.

        Args:
            most_calls: requests at most, over the whole evaluation.

        Raises:
            NoEndpointError: none is set up; says how to.
        """
        return ModelHelper(Model(self._connect(endpoint, most_calls), self._answers))

    def estimate_evaluation(
        self,
        request: EvaluationRequest,
        missing: Sequence[str],
        endpoint: Endpoint | None = None,
    ) -> CostEstimate:
        """What the model will be asked at most; nothing is asked. Tokens only with an endpoint.

        Args:
            missing: the runs that have to be made, others among them that need no model.

        Raises:
            UnknownNameError, BadInputError: no such collection or mode.
        """
        searcher, _, topics = self._ground(request.collection, request.sample)
        sizes = ranking_sizes(searcher, topics)
        ahead = []
        for name in missing:
            mode = name.partition("+")[2]
            if mode:
                ahead.append(count_for_reranking(Plan(mode, request.depth), sizes))
            elif name in HELPED:
                ahead.append(count_for_system(name, sizes))
        key = (request.collection, request.sample, request.depth, tuple(missing))
        return self._priced(key, request.depth, ahead, searcher, topics, endpoint)

    # -- the gap -----------------------------------------------------------------------

    def checked_gap(self, request: GapRequest) -> GapRequest:
        """The request in its one form.

        Raises:
            UnknownNameError, BadInputError: no such collection, system or verifier; sizes.
        """
        check_gap(request.verifier, request.systems, request.sizes)
        info = self._shelf.info(request.collection)
        if info.problem:
            raise BadInputError(info.problem)
        sample = request.sample if request.sample and request.sample < info.seeds else None
        systems = tuple(dict.fromkeys(request.systems))
        sizes = tuple(sorted(set(request.sizes)))
        return replace(request, systems=systems, sizes=sizes, sample=sample)

    def estimate_gap(self, request: GapRequest, endpoint: Endpoint | None = None) -> CostEstimate:
        """What the verifier will be asked at most; nothing is asked. Raises as checked_gap."""
        request = self.checked_gap(request)
        searcher, collection, topics = self._ground(request.collection, request.sample)
        ahead = [foreseen_gap(request, searcher, collection, topics)]
        depth = min(max(request.sizes), MOST_SIZE)
        return self._priced((request,), depth, ahead, searcher, topics, endpoint)

    def start_gap(
        self,
        request: GapRequest,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
    ) -> str:
        """Measure in the background and keep what was found; returns the job's id.

        The same gap is not measured twice at once: the job under way is returned.

        Raises:
            NoEndpointError: none is set up; says how to.
            UnknownNameError, BadInputError: as :meth:`checked_gap`.
            CorpusBusyError: another gap of this collection is being measured.
        """
        request = self.checked_gap(request)
        connection = self._connect(endpoint, most_calls)
        with self._starting:  # two people may press the button at once, and only one is to pay
            job_id, running = self._latest_gap(request.collection)
            if running is None or running.run.state.state != "running":
                return self._begin_gap(request, connection)
            if (running.request, running.model) == (request, model_name(connection)):
                return job_id
            raise CorpusBusyError(
                "Another gap of this collection is being measured.",
                "Wait until it is done, or cancel it.",
            )

    def gap_job(self, collection: str) -> GapJob | None:
        """The gap of a collection that is being measured, or the last one in this process."""
        job_id, work = self._latest_gap(collection)
        return None if work is None else work.job(job_id)

    def cancel_gap(self, job_id: str) -> None:
        """End a gap soon; every answer is kept."""
        self._jobs.cancel(job_id)

    def gap(self, request: GapRequest, model: str) -> Gap | None:
        """A gap that was measured before with the corpus as it is now; None when there is none.

        Raises:
            UnknownNameError, BadInputError: as :meth:`checked_gap`.
        """
        request = self.checked_gap(request)
        searcher = self._searcher(self._shelf.info(request.collection).corpus)
        return self._gaps.find(request, model, corpus_version(searcher), self._topics(request))

    def gaps(self, collection: str) -> tuple[GapRecord, ...]:
        """Gaps of a collection that were measured before, the newest first."""
        return self._gaps.records(collection)

    def report(self, found: Gap) -> str:
        """All of a gap as the JSON of ``seedlens gap --json``."""
        return json.dumps(gap_json(found), ensure_ascii=False, indent=2)

    # -- inside ------------------------------------------------------------------------

    def _begin_gap(self, request: GapRequest, connection: Connection) -> str:
        name = model_name(connection)
        searcher = self._searcher(self._shelf.info(request.collection).corpus)
        version, topics = corpus_version(searcher), self._topics(request)

        def keep(found: Gap) -> None:
            self._gaps.keep(request, name, version, topics, found)

        collection = self._shelf.read(request.collection)
        model = Model(connection, self._answers)
        job_id = self._jobs.add(start_gap(searcher, collection, request, model, keep, name))
        self._latest[request.collection] = job_id
        return job_id

    def _latest_gap(self, collection: str) -> tuple[str, GapWork | None]:
        job_id = self._latest.get(collection, "")
        try:
            return job_id, self._jobs.get(job_id, GapWork)
        except UnknownNameError:  # none yet, or forgotten among many others
            return job_id, None

    def _topics(self, request: GapRequest) -> str:
        return self._shelf.digest(request.collection, request.sample)

    def _ground(
        self, key: str, sample: int | None
    ) -> tuple[Searcher, Collection, tuple[Topic, ...]]:
        collection = self._shelf.read(key)
        searcher = self._searcher(self._shelf.info(key).corpus)
        return searcher, collection, sampled(collection.topics, sample)

    def _usable(self, endpoint: Endpoint | None) -> Connection | None:
        try:
            return self._connect(endpoint, None)
        except SeedLensError:
            return None

    def _priced(
        self,
        key: tuple[object, ...],
        depth: int,
        ahead: Sequence[QuestionCount],
        searcher: Searcher,
        topics: Sequence[Topic],
        endpoint: Endpoint | None,
    ) -> CostEstimate:
        connection = self._usable(endpoint)
        name, known = "", None
        if connection is not None:
            place = connection.endpoint
            name = model_name(connection)
            known = self._answers.capabilities(place.address, place.model)
        key = (*key, searcher.corpus.identity, name, known)

        def make() -> CostEstimate:
            some = _samples(searcher, topics) if connection is not None and ahead else []
            return estimate_cost(depth, ahead, some, connection, self._answers)

        return self._estimates.get(key, make)


def _samples(searcher: Searcher, topics: Sequence[Topic]) -> list[Sample]:
    """Queries spread over all, each with some of its candidates."""
    load = texts_of(searcher)
    found = []
    for topic in topics[:: max(1, len(topics) // SAMPLE)][:SAMPLE]:
        known = searcher.corpus.row_of
        pool = searcher.corpus.doc_ids if topic.pool is None else sorted(topic.pool)
        own = [doc_id for doc_id in pool if doc_id in known]
        texts = load(own[:: max(1, len(own) // DOCUMENTS)][:DOCUMENTS])
        found.append(Sample(topic_criterion(searcher, topic), texts))
    return found
