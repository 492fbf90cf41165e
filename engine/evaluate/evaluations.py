"""Evaluations of one home: asked for by pages and commands, kept in the ledger, resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from engine.assist.model_systems import MODEL_SYSTEMS
from engine.assist.ranking_estimates import KEPT
from engine.collections.trec import run_lines
from engine.config import Settings
from engine.corpora.recent import Recent
from engine.errors import BadInputError, UnknownNameError
from engine.evaluate.collection_store import CollectionStore
from engine.evaluate.evaluation_run import EvaluationRun
from engine.evaluate.evaluation_store import EvaluationStore, in_one_order, record_of
from engine.evaluate.human import check_annotators
from engine.evaluate.model_runs import estimated, foreseen_runs, needs_model, run_names
from engine.llm.connecting import Estimator, describe
from engine.llm.endpoints import Endpoint
from engine.llm.tasks import ModelTask, TaskRun, TaskRunner
from engine.permissions import all_for_leads
from engine.rerank import MODES
from engine.search.reports import evaluation_from_report, evaluation_report
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.types.evaluations import (
    Evaluated,
    Evaluation,
    EvaluationJob,
    EvaluationRecord,
    EvaluationRequest,
)
from engine.types.models import Estimate, TaskReport
from engine.types.searches import Ranking
from storage.ledger import Ledger

_PLAIN = EvaluationRequest("", ())


@all_for_leads
class Evaluations(TaskRunner[EvaluationRequest, Evaluated]):
    """Evaluations of one home; thread-safe.

    Results and rankings are stored in the ledger, so that equal requests and rankings are computed
    once; failed questions to a model are asked again.

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

    # -- what is known -----------------------------------------------------------------

    def checked(self, request: EvaluationRequest) -> EvaluationRequest:
        """The request in its one form: systems in one order, no sample that is no sample."""
        for name in request.systems:
            if name not in MODEL_SYSTEMS:
                find_system(name)
        if request.rerank and request.rerank not in MODES:
            raise UnknownNameError(
                f"There is no reranking mode '{request.rerank}'.", f"Use one of {', '.join(MODES)}."
            )
        if request.depth < 1:
            raise BadInputError(f"The depth is {request.depth}.", "Rerank at least 1 document.")
        if not request.systems:
            raise BadInputError("No system is chosen.", "Choose at least one.")
        if not 0.0 <= request.steer <= 1.0:
            raise BadInputError(f"steer is {request.steer}.", "Give a number from 0 to 1.")
        info = self._collections.info(request.collection)
        if info.problem:
            raise BadInputError(info.problem)
        if request.human:
            check_annotators(self._collections.read(request.collection))
        sample = request.sample if request.sample and request.sample < info.seeds else None
        request = replace(request, systems=in_one_order(request.systems), sample=sample)
        if not request.rerank:
            request = replace(request, depth=_PLAIN.depth)
        return request if needs_model(request) else replace(request, model="")

    def find(self, request: EvaluationRequest) -> Evaluation | None:
        """The stored result of an equal request, without rankings; None when there is none."""
        _, store = self._open(self.checked(request))
        return store.evaluation()

    def missing(self, request: EvaluationRequest, *, with_failed: bool = False) -> tuple[str, ...]:
        """Runs that would have to be made first; see :meth:`EvaluationRun.missing`."""
        request = self.checked(request)
        return self._run(request, *self._open(request)).missing(with_failed=with_failed)

    def answered_by(self, request: EvaluationRequest) -> EvaluationRequest:
        """The request with the model of the latest otherwise equal evaluation; unchanged where
        there is none."""
        asked = replace(self.checked(request), model="")
        previous = (record.request for record in self.history(request.collection))
        return next((p for p in previous if replace(p, model="") == asked), request)

    def history(self, key: str) -> tuple[EvaluationRecord, ...]:
        """Previous evaluations of a collection, the newest first."""
        return tuple(map(record_of, self._experiments.evaluations(key)))

    def rankings(self, request: EvaluationRequest) -> dict[str, tuple[Ranking, ...]]:
        """run -> its rankings, of all runs with these settings, uploaded ones too."""
        request = self.checked(request)
        _, store = self._open(request)
        uploaded = self._collections.uploaded_runs(request.collection, request.sample)
        known = map(store.get, run_names(request))
        return {run.system: run.rankings for run in (*uploaded, *known) if run is not None}

    def stored(self, corpus: str) -> Iterator[tuple[EvaluationRequest, datetime, Evaluation]]:
        """All evaluations on a corpus, of former versions of it too, without rankings."""
        for collection in sorted(self._experiments.collections()):
            for row in self._experiments.evaluations(collection):
                if row.corpus == corpus:
                    asked = row.corpus_version, row.systems, row.settings
                    whole = self._experiments.evaluation(collection, *asked)
                    if whole is not None:
                        evaluation = evaluation_from_report(json.loads(whole.result))
                        yield record_of(row).request, row.time, evaluation

    def ranked(self, corpus: str) -> Iterator[tuple[EvaluationRequest, str, tuple[Ranking, ...]]]:
        """The runs of all evaluations on a corpus as it is now, each once."""
        known = set()
        for request, _, _ in self.stored(corpus):
            with suppress(BadInputError):  # its collection is gone
                for name, rankings in self.rankings(request).items():
                    run = (name, replace(request, systems=()))
                    if run not in known:
                        known.add(run)
                        yield request, name, rankings

    def run_file(self, request: EvaluationRequest, system: str) -> str:
        """The rankings of one system, or of an uploaded run, as a TREC run."""
        rankings = self.rankings(request).get(system)
        if rankings is None:
            raise BadInputError(f"'{system}' was not ranked with these settings.", "Run it first.")
        return "".join(run_lines(rankings, "-".join(system.split())))

    @staticmethod
    def to_json(evaluation: Evaluation) -> str:
        """All of an evaluation as the JSON of ``seedlens evaluate --json``."""
        return json.dumps(evaluation_report(evaluation), ensure_ascii=False, indent=2)

    # -- evaluating --------------------------------------------------------------------

    def measure(self, request: EvaluationRequest, owner: str = "") -> str:
        """:meth:`start` without asking a model anything: all is ranked already."""
        task = self._task(request)
        task.asks = False
        return self._start(task, None, None, owner)

    def job(self) -> EvaluationJob | None:
        """The evaluation that runs, or the last one that ran in this process."""
        return self.jobs.latest(MeasureSystems.key)

    def model(self, endpoint: Endpoint | None = None) -> str:
        """Which model would be asked, and where; "" for none. Never raises. Part of
        :attr:`EvaluationRequest.model`."""
        info = describe(self._settings, self._answers, endpoint)
        return model_name(info.model, info.address) if info.set_up else ""

    # -- inside ------------------------------------------------------------------------

    def _open(self, request: EvaluationRequest) -> tuple[Searcher, EvaluationStore]:
        searcher = self._searcher(self._collections.info(request.collection).corpus)
        return searcher, EvaluationStore(self._experiments, self._collections, searcher, request)

    def _run(
        self, request: EvaluationRequest, searcher: Searcher, store: EvaluationStore
    ) -> EvaluationRun:
        uploaded = self._collections.uploaded_runs(request.collection, request.sample)
        collection = self._collections.read(request.collection)
        return EvaluationRun(searcher, collection, request, store, uploaded)

    def _task(self, request: EvaluationRequest) -> MeasureSystems:
        return MeasureSystems(self.checked(request), self)

    def _estimate_of(self, request: EvaluationRequest, known: Estimator) -> Estimate:
        """An upper estimate for the runs that are to be made."""
        names = self.missing(request, with_failed=True)
        searcher = self._searcher(self._collections.info(request.collection).corpus)
        place = request.collection, request.sample, request.depth

        def make() -> Estimate:
            topics = self._collections.topics(request.collection, request.sample)
            ahead = foreseen_runs(names, request.depth, searcher, topics)
            return estimated(ahead, searcher, topics, known)

        return self._estimates.one((*place, names, searcher.corpus.identity, known), make)

    async def _compute(self, request: EvaluationRequest, run: TaskRun) -> TaskReport[Evaluated]:
        """Rank what is missing with these settings, measure, and store both."""
        if run.client is not None:
            place = run.usage
            request = replace(request, model=model_name(place.model, place.endpoint))
        searcher, store = self._open(request)
        report = await self._run(request, searcher, store).compute(run)
        if report.result.evaluation is not None and not report.stopped:
            store.keep(report.result.evaluation)
        return report


class MeasureSystems(ModelTask[Evaluated]):
    """Systems side by side on a test collection; one evaluation runs at a time. The request is
    checked."""

    key: Hashable = "evaluation"
    busy = "Another evaluation is running."
    needs_model = raises = False

    def __init__(self, request: EvaluationRequest, evaluations: Evaluations) -> None:
        self.request, self.asks = request, needs_model(request)
        self._evaluations = evaluations

    def estimate(self, known: Estimator) -> Estimate:
        return self._evaluations._estimate_of(self.request, known)

    async def run(self, run: TaskRun) -> TaskReport[Evaluated]:
        return await self._evaluations._compute(self.request, run)


def model_name(model: str, address: str) -> str:
    """A model and where it is, as evaluations are told apart by it."""
    return f"{model} at {address}"
