"""Gaps of one home: measured in the background or for a command, and kept in the ledger."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from engine.assist.model import Model, model_name
from engine.assist.reranking import Plan, model_report
from engine.errors import BadInputError
from engine.evaluate.collection_store import CollectionStore
from engine.evaluate.evaluation_store import (
    canonical_json,
    check_scenarios,
    corpus_version,
)
from engine.evaluate.evaluations import Connect, usable
from engine.evaluate.model_runs import EvaluationEstimates
from engine.evaluate.verification_gap import (
    check_gap,
    foreseen_gap,
    prepare,
    verify_and_measure,
)
from engine.evaluate.watch import Tell, Watch
from engine.jobs.runner import CancelledWorkError, JobRunner
from engine.llm.budget import RoundProgress
from engine.llm.endpoints import Connection, Endpoint
from engine.permissions import all_for_leads
from engine.search.reports import gap_from_report, gap_report
from engine.search.scenario_index import scenarios_of
from engine.search.searcher import Searcher
from engine.search.topics import sampled
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.evaluations import EvaluationProgress
from engine.types.jobs import Job
from engine.types.models import Estimate
from engine.types.people import ForPerson
from engine.types.reranking import Gap, GapRecord, GapReport, GapRequest
from storage.ledger import Ledger
from storage.records import EvaluationRow

_PREFIX = "gap:"
"""Of a collection's name in the table of evaluations; no corpus can be called so."""


@all_for_leads
class Gaps(ForPerson):
    """Gaps between retrievers and a verifier. Safe to share between threads.

    Attributes:
        jobs: gaps that are being measured in this process.

    Args:
        searcher: gives the search engine of a corpus by name.
    """

    def __init__(
        self,
        ledger: Ledger,
        collections: CollectionStore,
        searcher: Callable[[str], Searcher],
        connect: Connect,
    ) -> None:
        self._experiments, self._answers = ledger.experiments, ledger.answers
        self._collections, self._searcher, self._connect = collections, searcher, connect
        self._estimates = EvaluationEstimates(ledger.answers)
        self.jobs = JobRunner()

    def checked(self, request: GapRequest) -> GapRequest:
        """The request in its one form."""
        check_gap(request)
        info = self._collections.info(request.collection)
        if info.problem:
            raise BadInputError(info.problem)
        sample = request.sample if request.sample and request.sample < info.seeds else None
        systems = tuple(dict.fromkeys(request.systems))
        return replace(
            request, systems=systems, sizes=tuple(sorted(set(request.sizes))), sample=sample
        )

    def estimate(self, request: GapRequest, endpoint: Endpoint | None = None) -> Estimate:
        """What the verifier will be asked at most; nothing is asked. Raises as :meth:`checked`."""
        request = self.checked(request)
        collection = self._collections.read(request.collection)
        searcher = self._searcher_of(request)
        topics = sampled(collection.topics, request.sample)
        ahead = [foreseen_gap(request, searcher, collection, topics)]
        connection = usable(self._connect, endpoint)
        return self._estimates.estimate(request, ahead, searcher, topics, connection)

    # -- measuring ---------------------------------------------------------------------

    def measure(
        self,
        request: GapRequest,
        connection: Connection,
        tell: Tell = tell_nobody,
        cancelled: Ask = never,
    ) -> GapReport:
        """Rank with the retrievers, ask the verifier, measure; kept when all was answered."""
        request = self.checked(request)
        searcher = self._searcher_of(request)
        # What it is kept by is of before, too: people may judge while a model is asked.
        scenarios = scenarios_of(searcher.corpus, request.systems)
        settings = self._settings(request, model_name(connection), scenarios)
        collection = self._collections.read(request.collection)
        watch, verifier = Watch(tell, cancelled), request.verifier
        rankings = len(sampled(collection.topics, request.sample)) * len(request.systems)
        watch.later = None
        watch.begin("Ranking with the retrievers", rankings, "rankings")
        try:
            baseline = prepare(searcher, collection, request, watch.count)
        except CancelledWorkError:
            return GapReport(None, "cancelled")
        check_scenarios(searcher, request.systems, scenarios)
        pools = len(baseline.distinct_pools())
        watch.later = 0
        watch.begin(f"Verifying, {verifier}", baseline.foreseen().calls, "questions at most")
        verified = 0

        def done() -> None:
            nonlocal verified
            verified += 1

        def told(progress: RoundProgress) -> None:
            step = f"Verifying, {verifier}: {verified:,} of {pools:,} pools"
            report = model_report(Plan(verifier, request.sizes[-1]), progress.usage)
            watch.update(progress.usage.settled, step=step, report=report)

        model = Model(connection, self._answers, told, cancelled)
        gap = verify_and_measure(baseline, model, done)
        if not gap.report.stopped:
            self._keep(request, model_name(connection), settings, searcher, gap)
        return GapReport(gap, gap.report.stopped)

    def start(self, request: GapRequest, connection: Connection, owner: str = "") -> str:
        """:meth:`measure` in the background; returns the job's id.

        The same gap is not measured twice at once: the id is that of the job under way.
        """
        request = self.checked(request)
        asked = (request, model_name(connection))

        def work(tell: Tell, cancelled: Ask) -> GapReport:
            return self.measure(request, connection, tell, cancelled)

        return self.jobs.start(
            request.collection,
            work,
            EvaluationProgress(),
            request=asked,
            owner=owner,
            busy="Another gap of this collection is being measured.",
        )

    def job(self, collection: str) -> Job[EvaluationProgress, GapReport] | None:
        """The gap of a collection that is being measured, or the last one in this process.

        Its request is the :class:`GapRequest` and the model's name.
        """
        return self.jobs.latest(collection)

    # -- the ledger --------------------------------------------------------------------

    def find(self, request: GapRequest, model: str) -> Gap | None:
        """A gap that was measured before with the corpus as it is now; None when there is none."""
        request = self.checked(request)
        searcher = self._searcher_of(request)
        row = self._experiments.evaluation(
            _PREFIX + request.collection,
            corpus_version(searcher),
            canonical_json(request.systems),
            self._settings(request, model, scenarios_of(searcher.corpus, request.systems)),
        )
        return None if row is None else gap_from_report(json.loads(row.result))

    def history(self, collection: str) -> tuple[GapRecord, ...]:
        """Gaps of a collection, the newest first; of equal ones only the newest."""
        records = []
        for row in self._experiments.evaluations(_PREFIX + collection):
            asked, summary = json.loads(row.settings), json.loads(row.summary)
            request = GapRequest(
                collection,
                asked["verifier"],
                tuple(json.loads(row.systems)),
                tuple(asked["sizes"]),
                asked["sample"],
            )
            low, high = summary["bounds"]
            time = row.time.isoformat(timespec="seconds")
            records.append(GapRecord(request, summary["model"], (low, high), time))
        return tuple(records)

    @staticmethod
    def to_json(gap: Gap) -> str:
        """All of a gap as the JSON of ``seedlens gap --json``."""
        return json.dumps(gap_report(gap), ensure_ascii=False, indent=2)

    def _keep(
        self, request: GapRequest, model: str, settings: str, searcher: Searcher, gap: Gap
    ) -> None:
        bounds = gap.gap(gap.points[-1])
        self._experiments.add_evaluation(
            EvaluationRow(
                collection=_PREFIX + request.collection,
                corpus=gap.corpus,
                corpus_version=corpus_version(searcher),
                systems=canonical_json(request.systems),
                settings=settings,
                summary=canonical_json({"bounds": bounds, "model": model}),
                result=canonical_json(gap_report(gap)),
                time=datetime.now(UTC),
            )
        )

    def _settings(self, request: GapRequest, model: str, scenarios: str) -> str:
        return canonical_json(
            {
                "verifier": request.verifier,
                "sizes": request.sizes,
                "sample": request.sample,
                "model": model,
                "topics": self._collections.digest(request.collection, request.sample),
                **({"scenarios": scenarios} if scenarios else {}),
            }
        )

    def _searcher_of(self, request: GapRequest) -> Searcher:
        return self._searcher(self._collections.info(request.collection).corpus)
