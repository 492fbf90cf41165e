"""Gaps of one home, stored when the verifier answered everything."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import cast

from engine.evaluate.model_runs import estimated
from engine.evaluate.stored_reports import (
    CollectionTasks,
    ReportKey,
    canonical_json,
    corpus_version,
    model_name,
)
from engine.evaluate.verification_gap import check_gap, foreseen_gap, prepare, verify_and_measure
from engine.jobs.runner import CancelledWorkError
from engine.llm.client import Client
from engine.llm.connecting import Estimator
from engine.llm.tasks import ModelTask, TaskRun
from engine.permissions import all_for_leads
from engine.search.reports import gap_from_report, gap_report
from engine.search.scenario_index import scenarios_of
from engine.search.topics import sampled
from engine.types.jobs import Job
from engine.types.models import Estimate, TaskProgress, TaskReport
from engine.types.reranking import Gap, GapRecord, GapRequest

GapJob = Job[TaskProgress, TaskReport[Gap | None]]


@all_for_leads
class Gaps(CollectionTasks[GapRequest, Gap | None]):
    """Gaps between retrievers and a verifier."""

    prefix = "gap:"

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
        report = self._report(self._key(self.checked(request), model))
        return None if report is None else gap_from_report(report)

    def history(self, collection: str) -> tuple[GapRecord, ...]:
        """Gaps of a collection, the newest first; of equal ones only the newest."""
        records = []
        for row in self._stored(collection):
            asked, summary = json.loads(row.settings), json.loads(row.summary)
            systems, sizes = tuple(json.loads(row.systems)), tuple(asked["sizes"])
            request = GapRequest(collection, asked["verifier"], systems, sizes, asked["sample"])
            low, high = summary["bounds"]
            time = row.time.isoformat(timespec="seconds")
            records.append(GapRecord(request, summary["model"], (low, high), time))
        return tuple(records)

    @staticmethod
    def to_json(gap: Gap) -> str:
        """All of a gap as the JSON of ``seedlens gap --json``."""
        return json.dumps(gap_report(gap), ensure_ascii=False, indent=2)

    def _task(self, request: GapRequest) -> MeasureGap:
        return MeasureGap(self.checked(request), self)

    def _key(self, request: GapRequest, model: str) -> ReportKey:
        searcher = self._searcher_of(request.collection)
        scenarios = scenarios_of(searcher.corpus, request.systems)
        settings = {
            "verifier": request.verifier,
            "sizes": request.sizes,
            "sample": request.sample,
            "model": model,
            "topics": self._collections.digest(request.collection, request.sample),
            **({"scenarios": scenarios} if scenarios else {}),
        }
        return ReportKey(
            self.prefix + request.collection,
            corpus_version(searcher),
            canonical_json(request.systems),
            canonical_json(settings),
        )


class MeasureGap(ModelTask[Gap | None]):
    """The gap of one collection; one is measured at a time. The request is checked."""

    busy = "Another gap of this collection is being measured."

    def __init__(self, request: GapRequest, gaps: Gaps) -> None:
        self.request, self.key, self._gaps = request, request.collection, gaps

    def estimate(self, known: Estimator) -> Estimate:
        request, collection = self.request, self._gaps._collections.read(self.request.collection)
        searcher = self._gaps._searcher_of(request.collection)

        def make() -> Estimate:
            topics = sampled(collection.topics, request.sample)
            ahead = [foreseen_gap(request, searcher, collection, topics)]
            return estimated(ahead, searcher, topics, known)

        return self._gaps._estimates.one((request, searcher.corpus.identity, known), make)

    async def run(self, run: TaskRun) -> TaskReport[Gap | None]:
        """Rank with the retrievers, ask the verifier, measure."""
        request, gaps = self.request, self._gaps
        searcher, usage = gaps._searcher_of(request.collection), run.usage
        model = model_name(usage.model, usage.endpoint)
        key = gaps._key(request, model)  # before the model is asked: people may judge meanwhile
        collection = gaps._collections.read(request.collection)
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
        run.questions(baseline.foreseen().calls, f"Verifying, {request.verifier}")
        gap = await verify_and_measure(baseline, cast(Client, run.client))
        if not gap.report.stopped:
            summary = {"bounds": gap.gap(gap.points[-1]), "model": model}
            gaps._store(key, gap.corpus, summary, gap_report(gap))
        return TaskReport(result=gap, failed=run.usage.failed)
