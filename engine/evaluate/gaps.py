"""Gaps of one home: measured in the background or for a command, and kept in the ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

from engine.assist.ranking_estimates import KEPT
from engine.config import Settings
from engine.corpora.recent import Recent
from engine.errors import BadInputError
from engine.evaluate.collection_store import CollectionStore
from engine.evaluate.evaluation_store import (
    canonical_json,
    check_scenarios,
    corpus_version,
)
from engine.evaluate.evaluations import model_name
from engine.evaluate.model_runs import estimated
from engine.evaluate.verification_gap import (
    check_gap,
    foreseen_gap,
    prepare,
    verify_and_measure,
)
from engine.jobs.runner import CancelledWorkError
from engine.llm.client import Client
from engine.llm.connecting import Estimator
from engine.llm.tasks import ModelTask, TaskRun, TaskRunner
from engine.permissions import all_for_leads
from engine.search.reports import gap_from_report, gap_report
from engine.search.scenario_index import scenarios_of
from engine.search.searcher import Searcher
from engine.search.topics import sampled
from engine.types.jobs import Job
from engine.types.models import Estimate, TaskProgress, TaskReport
from engine.types.reranking import Gap, GapRecord, GapRequest
from storage.ledger import Ledger
from storage.records import EvaluationRow

GapJob = Job[TaskProgress, TaskReport[Gap | None]]
_PREFIX = "gap:"
"""Of a collection's name in the table of evaluations; no corpus can be called so."""


@all_for_leads
class Gaps(TaskRunner[GapRequest, Gap | None]):
    """Gaps between retrievers and a verifier; stored when all was answered; thread-safe.

    Args:
        searcher: corpus name -> search engine.
    """

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        collections: CollectionStore,
        searcher: Callable[[str], Searcher],
    ) -> None:
        super().__init__(settings, ledger.answers)
        self._experiments, self._collections = ledger.experiments, collections
        self._searcher, self._estimates = searcher, Recent[Hashable, Estimate](KEPT)

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

    def _task(self, request: GapRequest) -> MeasureGap:
        return MeasureGap(self.checked(request), self)

    def job(self, collection: str) -> GapJob | None:
        """The gap of a collection that is being measured, or the last one in this process."""
        return self.jobs.latest(collection)

    # -- measuring ---------------------------------------------------------------------

    def _estimate_of(self, request: GapRequest, known: Estimator) -> Estimate:
        searcher = self._searcher_of(request)

        def make() -> Estimate:
            collection = self._collections.read(request.collection)
            topics = sampled(collection.topics, request.sample)
            ahead = [foreseen_gap(request, searcher, collection, topics)]
            return estimated(ahead, searcher, topics, known)

        return self._estimates.one((request, searcher.corpus.identity, known), make)

    async def _measure(self, request: GapRequest, run: TaskRun) -> TaskReport[Gap | None]:
        """Rank with the retrievers, ask the verifier, measure."""
        searcher, client = self._searcher_of(request), cast(Client, run.client)
        model = model_name(run.usage.model, run.usage.endpoint)
        # What it is kept by is of before, too: people may judge while a model is asked.
        scenarios = scenarios_of(searcher.corpus, request.systems)
        settings = self._settings_of(request, model, scenarios)
        collection = self._collections.read(request.collection)
        total = len(sampled(collection.topics, request.sample)) * len(request.systems)
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            run.progress(done, total, phase="Ranking with the retrievers")
            if run.cancelled():
                raise CancelledWorkError

        run.progress(0, total, phase="Ranking with the retrievers")
        try:
            baseline = prepare(searcher, collection, request, count)
        except CancelledWorkError:
            return TaskReport(result=None, stopped="cancelled")
        check_scenarios(searcher, request.systems, scenarios)
        run.questions(baseline.foreseen().calls, f"Verifying, {request.verifier}")
        gap = await verify_and_measure(baseline, client)
        if not gap.report.stopped:
            self._keep(request, model, settings, searcher, gap)
        return TaskReport(result=gap)

    # -- the ledger --------------------------------------------------------------------

    def find(self, request: GapRequest, model: str) -> Gap | None:
        """A gap that was measured before with the corpus as it is now; None when there is none."""
        request = self.checked(request)
        searcher = self._searcher_of(request)
        row = self._experiments.evaluation(
            _PREFIX + request.collection,
            corpus_version(searcher),
            canonical_json(request.systems),
            self._settings_of(request, model, scenarios_of(searcher.corpus, request.systems)),
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

    def _settings_of(self, request: GapRequest, model: str, scenarios: str) -> str:
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


class MeasureGap(ModelTask[Gap | None]):
    """The gap of one collection; one is measured at a time. The request is checked."""

    busy = "Another gap of this collection is being measured."

    def __init__(self, request: GapRequest, gaps: Gaps) -> None:
        self.request, self.key, self._gaps = request, request.collection, gaps

    def estimate(self, known: Estimator) -> Estimate:
        return self._gaps._estimate_of(self.request, known)

    async def run(self, run: TaskRun) -> TaskReport[Gap | None]:
        return await self._gaps._measure(self.request, run)
