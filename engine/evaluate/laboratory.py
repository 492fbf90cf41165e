"""Evaluations as pages ask for them: which collections there are, runs, results that stay."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from threading import Event, Lock, Thread

from engine.collections.trec import run_lines
from engine.config import Settings
from engine.corpora.library import Library
from engine.errors import BadInputError, CorpusBusyError, SeedLensError, UnknownNameError
from engine.evaluate.bench import Bench, Step, StoppedError, Watch, failures
from engine.evaluate.collection_store import Shelf
from engine.evaluate.evaluation_records import evaluation_json, record_of, reports_of
from engine.evaluate.human import check_annotators
from engine.evaluate.model_runs import HELPED, Helper, needs_model, run_names
from engine.evaluate.unlabelled import Unlabelled
from engine.rerank import MODES
from engine.search.searcher import Searcher
from engine.search.systems import PREPARED, SYSTEMS, find_system
from engine.types.callbacks import Ask, Tell, never, tell_nobody
from engine.types.corpora import Progress
from engine.types.evaluations import (
    CollectionInfo,
    Evaluation,
    EvaluationJob,
    EvaluationRecord,
    EvaluationRequest,
    UploadedRun,
)
from engine.types.reranking import ModelReport
from engine.types.searches import Query, Ranking
from storage.home import Home
from storage.ledger import Ledger

log = logging.getLogger("seedlens")
_PLAIN = EvaluationRequest("", ())


class Laboratory:
    """Evaluations of one home. Safe to share between threads.

    Results and rankings are kept in the ledger: an equal request is answered from there, and a
    system that was ranked before is not ranked again.

    Args:
        searcher: gives the search engine of a corpus by name.
    """

    def __init__(
        self,
        home: Home,
        ledger: Ledger,
        settings: Settings,
        library: Library,
        searcher: Callable[[str], Searcher],
    ) -> None:
        self._experiments, self._library = ledger.experiments, library
        self._searcher = searcher
        self._unlabelled = Unlabelled(home, ledger, settings, library)
        self._shelf = Shelf(ledger, library)
        self._lock = Lock()
        self._job: EvaluationJob | None = None
        self._stop = Event()

    # -- collections -----------------------------------------------------------------------

    def collections(self) -> tuple[CollectionInfo, ...]:
        """The test collections of this home: those that corpora came from, and uploaded qrels.

        One whose files are broken is among them, with its ``problem``.
        """
        return self._shelf.collections()

    def collection(self, key: str) -> CollectionInfo:
        """One of them, or UnknownNameError."""
        return self._shelf.info(key)

    def add_qrels(self, corpus: str, name: str, content: bytes) -> CollectionInfo:
        """Keep uploaded TREC judgments; see :meth:`Shelf.add_qrels`."""
        return self._shelf.add_qrels(corpus, name, content)

    def remove_qrels(self, key: str) -> None:
        """Take out a collection of uploaded judgments."""
        self._shelf.remove_qrels(key)

    def query_titles(self, key: str) -> dict[str, str]:
        """query_id -> the seed's title, or the beginning of its text."""
        return self._shelf.query_titles(key)

    def queries(self, key: str) -> dict[str, Query]:
        """query_id -> what it asks of the collection's corpus."""
        corpus, topics = self.collection(key).corpus, self._shelf.topics(key, None)
        return {topic.query_id: topic.query(corpus) for topic in topics}

    def without_labels(self, corpus: str, tell: Tell = tell_nobody) -> str:
        """The corpus derived from another one whose sentence roles are all estimated.

        See :meth:`engine.evaluate.unlabelled.Unlabelled.derive`.
        """
        return self._unlabelled.derive(corpus, tell)

    # -- runs that people bring --------------------------------------------------------------

    def runs(self, key: str) -> tuple[UploadedRun, ...]:
        """The runs that were uploaded for a collection, in order of arrival."""
        return self._shelf.runs(key)

    def add_run(self, key: str, name: str, content: bytes) -> UploadedRun:
        """Keep an uploaded run; see :meth:`engine.evaluate.collection_store.Shelf.add_run`."""
        return self._shelf.add_run(key, name, content)

    def remove_run(self, run_id: int) -> None:
        """Take out an uploaded run."""
        self._experiments.remove_run(run_id)

    # -- evaluations -----------------------------------------------------------------------

    def checked(self, request: EvaluationRequest) -> EvaluationRequest:
        """The request in its one form: systems in one order, no sample that is no sample.

        Raises:
            UnknownNameError: no such collection or system.
            BadInputError: it cannot be evaluated; says why.
        """
        for name in request.systems:
            if name not in HELPED:
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
        info = self.collection(request.collection)
        if info.problem:
            raise BadInputError(info.problem)
        if request.human:
            check_annotators(self._shelf.read(request.collection))
        sample = request.sample if request.sample and request.sample < info.seeds else None
        systems = tuple(name for name in (*SYSTEMS, *PREPARED, *HELPED) if name in request.systems)
        request = replace(request, systems=systems, sample=sample)
        if not request.rerank:
            request = replace(request, depth=_PLAIN.depth)
        return request if needs_model(request) else replace(request, model="")

    def evaluation(self, request: EvaluationRequest) -> Evaluation | None:
        """The stored result of an equal request, without rankings; None when there is none."""
        bench = self._bench(self.checked(request))
        return None if bench is None else bench.stored()

    def missing(self, request: EvaluationRequest, *, with_failed: bool = False) -> tuple[str, ...]:
        """Runs that would have to be made first; see :meth:`Bench.missing`."""
        request = self.checked(request)
        bench = self._bench(request)
        return run_names(request) if bench is None else bench.missing(with_failed=with_failed)

    def answered_by(self, request: EvaluationRequest) -> EvaluationRequest:
        """The request with the model of the latest evaluation that is equal but for the model.

        The request as it is where there is none, or no model takes part.
        """
        asked = replace(self.checked(request), model="")
        former = (record.request for record in self.history(request.collection))
        return next((f for f in former if replace(f, model="") == asked), request)

    def evaluate(
        self,
        request: EvaluationRequest,
        watch: Watch = tell_nobody,
        cancelled: Ask = never,
        helper: Helper | None = None,
    ) -> Evaluation:
        """Answer a request now, from what is stored as far as possible.

        With a helper, questions to the model that failed before are asked again.

        Args:
            helper: the language model, where one takes part.

        Raises:
            StoppedError: it was cancelled, or its model left it unfinished.
            UnknownNameError: no such collection or system.
            BadInputError: it cannot be evaluated; says why.
        """
        request = self.checked(request)
        bench = self._bench(request)
        if bench is None:
            searcher = self._searcher(self._derive(request, watch))
            bench = Bench(self._experiments, self._shelf, searcher, request)
        stored = bench.stored()
        if stored is not None and (helper is None or not failures(stored)):
            return stored
        return bench.compute(watch, cancelled, helper)

    def start(self, request: EvaluationRequest, helper: Helper | None = None) -> EvaluationJob:
        """Evaluate in the background; rankings are stored system by system as they are done.

        Args:
            helper: the language model, where one takes part.

        Raises:
            CorpusBusyError: another evaluation is running.
        """
        if helper is not None:
            request = replace(request, model=helper.model)
        request = self.checked(request)
        with self._lock:
            running = self._job if self._job and self._job.state == "running" else None
            if running is not None and running.request == request:
                return running
            if running is not None:
                raise CorpusBusyError(
                    "Another evaluation is running.", "Wait until it is done, or cancel it."
                )
            self._job = EvaluationJob(secrets.token_hex(8), request, "running")
            self._stop = Event()
            work = Thread(
                target=self._work,
                args=(self._job, self._stop, helper),
                daemon=True,
                name="evaluation",
            )
            work.start()
            return self._job

    def job(self) -> EvaluationJob | None:
        """The evaluation that runs, or the last one that ran in this process."""
        return self._job

    def cancel(self, job_id: str) -> None:
        """Stop an evaluation after the query at hand; systems that are done stay ranked."""
        with self._lock:
            if self._job is not None and self._job.id == job_id:
                self._stop.set()

    def history(self, key: str) -> tuple[EvaluationRecord, ...]:
        """Former evaluations of a collection, the newest first."""
        return tuple(map(record_of, self._experiments.evaluations(key)))

    def reports(self, found: Evaluation) -> dict[str, ModelReport]:
        """system -> what a model was asked for it, of those that one took part in."""
        return reports_of(found)

    def report(self, found: Evaluation) -> str:
        """All of an evaluation as the JSON of ``seedlens evaluate --json``."""
        return json.dumps(evaluation_json(found), ensure_ascii=False, indent=2)

    def run_file(self, request: EvaluationRequest, system: str) -> str:
        """The rankings of one system (of ours, or brought) as a TREC run.

        Raises:
            BadInputError: it was not ranked with these settings.
        """
        rankings = self.rankings(request).get(system)
        if rankings is None:
            raise BadInputError(f"'{system}' was not ranked with these settings.", "Run it first.")
        return "".join(run_lines(rankings, "-".join(system.split())))

    def rankings(self, request: EvaluationRequest) -> dict[str, tuple[Ranking, ...]]:
        """run -> its rankings, of all runs that are ranked with these settings, brought ones too.

        Raises:
            UnknownNameError, BadInputError: as :meth:`checked`.
        """
        request = self.checked(request)
        bench = self._bench(request)
        runs = self._shelf.brought(request.collection, request.sample)
        if bench is not None:
            known = map(bench.known, run_names(request))
            runs += [run for run in known if run is not None]
        return {run.system: run.rankings for run in runs}

    # -- inside ------------------------------------------------------------------------

    def _bench(self, request: EvaluationRequest) -> Bench | None:
        """What answers a request; None when its corpus has to be derived first."""
        corpus: str | None = self.collection(request.collection).corpus
        if corpus is not None and request.ignore_labels:
            corpus = self._unlabelled.current(corpus)
        if corpus is None:
            return None
        return Bench(self._experiments, self._shelf, self._searcher(corpus), request)

    def _derive(self, request: EvaluationRequest, watch: Watch) -> str:
        def tell(told: Progress) -> None:
            watch(Step("Estimating sentence roles", told.done, told.total, "documents"))

        return self._unlabelled.derive(self.collection(request.collection).corpus, tell)

    def _work(self, job: EvaluationJob, stop: Event, helper: Helper | None) -> None:
        began, counted = time.monotonic(), (0, "")

        def watch(now: Step) -> None:
            nonlocal began, counted
            if counted != (now.total, now.unit):  # another count: the clock begins anew
                began, counted = time.monotonic(), (now.total, now.unit)
            seconds = time.monotonic() - began
            self._job = replace(
                job,
                step=now.step,
                done=now.done,
                total=now.total,
                unit=now.unit,
                report=now.report,
                seconds=seconds,
            )

        try:
            self.evaluate(job.request, watch, stop.is_set, helper)
            ended = replace(self._job or job, state="done", report=None)
        except StoppedError as stopped:
            ended = _stopped(self._job or job, stopped)
        except SeedLensError as error:
            ended = replace(job, state="failed", error=error.message, remedy=error.remedy)
        except Exception:
            log.exception("An evaluation failed in a way that SeedLens does not know")
            ended = replace(
                job,
                state="failed",
                error="Something went wrong in SeedLens itself.",
                remedy="The log in the terminal has the details.",
            )
        self._job = ended


def _stopped(job: EvaluationJob, stopped: StoppedError) -> EvaluationJob:
    """What is left of a job that was cancelled, or that its model left unfinished."""
    problem = stopped.problem
    if problem is None:
        return replace(job, state="cancelled", partial=stopped.found)
    return replace(
        job,
        state="failed",
        partial=stopped.found,
        error=problem.message,
        remedy=problem.remedy,
    )
