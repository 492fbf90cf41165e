"""Evaluations of one home: asked for by pages and commands, kept in the ledger, resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from engine.assist.model import Model, model_name
from engine.assist.model_systems import MODEL_SYSTEMS
from engine.collections.trec import run_lines
from engine.errors import BadInputError, SeedLensError, UnknownNameError
from engine.evaluate.collection_store import CollectionStore
from engine.evaluate.evaluation_run import EvaluationRun
from engine.evaluate.evaluation_store import EvaluationStore, in_one_order, record_of
from engine.evaluate.human import check_annotators
from engine.evaluate.model_runs import EvaluationEstimates, foreseen_runs, needs_model, run_names
from engine.evaluate.watch import Tell
from engine.jobs.runner import JobRunner
from engine.llm.endpoints import Connection, Endpoint
from engine.permissions import all_for_leads
from engine.rerank import MODES
from engine.search.reports import evaluation_from_report, evaluation_report
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.evaluations import (
    Evaluation,
    EvaluationProgress,
    EvaluationRecord,
    EvaluationReport,
    EvaluationRequest,
)
from engine.types.jobs import Job
from engine.types.people import ForPerson
from engine.types.reranking import CostEstimate
from engine.types.searches import Ranking
from storage.ledger import Ledger

Connect = Callable[[Endpoint | None, int | None], Connection]
"""Gives the connection of (endpoint, calls at most), or raises NoEndpointError."""
_JOB = "evaluation"
"""Key of the one evaluation that runs at a time."""
_PLAIN = EvaluationRequest("", ())


@all_for_leads
class Evaluations(ForPerson):
    """Evaluations of one home. Safe to share between threads.

    Results and rankings are kept in the ledger: an equal request is answered from there, and a
    system that was ranked before is not ranked again, whether a page or a command asks.

    Attributes:
        jobs: evaluations under way in this process.

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
        """The request with the model of the latest evaluation that is equal but for the model.

        The request as it is where there is none, or no model takes part.
        """
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

    def evaluate(
        self,
        request: EvaluationRequest,
        tell: Tell = tell_nobody,
        cancelled: Ask = never,
        connection: Connection | None = None,
    ) -> EvaluationReport:
        """Rank what was not ranked before with these settings, measure, and keep both.

        With a connection, questions to the model that failed before are asked again. The systems
        of the evaluation are in the order of the request.
        """
        if connection is not None:
            request = replace(request, model=model_name(connection))
        in_order = tuple(dict.fromkeys(request.systems))
        request = replace(self.checked(request), systems=in_order)
        searcher, store = self._open(request)
        model = None if connection is None else Model(connection, self._answers)
        report = self._run(request, searcher, store).compute(tell, cancelled, model)
        if report.evaluation is not None and not report.stopped:
            store.keep(report.evaluation)
        return report

    def start(
        self, request: EvaluationRequest, connection: Connection | None = None, owner: str = ""
    ) -> str:
        """:meth:`evaluate` in the background; returns the job's id, of an equal one under way too.

        Rankings are kept system by system as they are done.
        """
        if connection is not None:
            request = replace(request, model=model_name(connection))
        request = self.checked(request)

        def work(tell: Tell, cancelled: Ask) -> EvaluationReport:
            return self.evaluate(request, tell, cancelled, connection)

        return self.jobs.start(
            _JOB,
            work,
            EvaluationProgress(),
            request=request,
            owner=owner,
            busy="Another evaluation is running.",
        )

    def job(self) -> Job[EvaluationProgress, EvaluationReport] | None:
        """The evaluation that runs, or the last one that ran in this process."""
        return self.jobs.latest(_JOB)

    # -- the model ---------------------------------------------------------------------

    def model(self, endpoint: Endpoint | None = None) -> str:
        """Which model would be asked, and where; "" where none can be. Never raises.

        Evaluations are told apart by it: see :attr:`EvaluationRequest.model`.
        """
        connection = usable(self._connect, endpoint)
        return "" if connection is None else model_name(connection)

    def estimate(
        self, request: EvaluationRequest, endpoint: Endpoint | None = None
    ) -> CostEstimate | None:
        """What the model will be asked at most, or None where there is nothing to ask.

        Nothing is asked. Tokens only with an endpoint.
        """
        names = self.missing(request, with_failed=True)
        topics = self._collections.topics(request.collection, request.sample)
        searcher = self._searcher(self._collections.info(request.collection).corpus)
        ahead = foreseen_runs(names, request.depth, searcher, topics)
        key = (request.collection, request.sample, request.depth, names)
        connection = usable(self._connect, endpoint)
        estimate = self._estimates.estimate(key, request.depth, ahead, searcher, topics, connection)
        return estimate if estimate.calls else None

    # -- inside ------------------------------------------------------------------------

    def _open(self, request: EvaluationRequest) -> tuple[Searcher, EvaluationStore]:
        """What is searched, and what the ledger has."""
        searcher = self._searcher(self._collections.info(request.collection).corpus)
        return searcher, EvaluationStore(self._experiments, self._collections, searcher, request)

    def _run(
        self, request: EvaluationRequest, searcher: Searcher, store: EvaluationStore
    ) -> EvaluationRun:
        uploaded = self._collections.uploaded_runs(request.collection, request.sample)
        collection = self._collections.read(request.collection)
        return EvaluationRun(searcher, collection, request, store, uploaded)


def usable(connect: Connect, endpoint: Endpoint | None) -> Connection | None:
    """The connection to an endpoint; None where none can be made."""
    try:
        return connect(endpoint, None)
    except SeedLensError:
        return None
