"""Evaluations of one home: stored with their rankings, so that nothing is computed twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, TypeAdapter

from engine.collections.trec import run_lines
from engine.config import ASSETS, Settings, __version__
from engine.corpora.recent import Recent
from engine.errors import BadInputError
from engine.evaluate import evaluation_run
from engine.evaluate.collection_store import CollectionStore
from engine.evaluate.evaluation_run import needs_model
from engine.llm.client import describe
from engine.llm.endpoints import Endpoint
from engine.llm.tasks import Estimator, ModelTask, R, TaskRun, TaskRunner
from engine.measures.per_query import with_all_measures
from engine.permissions import all_for_leads
from engine.rerank.modes import DEFAULT_MODE
from engine.search.model.reranking import KEPT, Counted, Plan, estimate_cost
from engine.search.model.systems import MODEL_SYSTEMS
from engine.search.reports import evaluation_report, llm_report
from engine.search.scenario_index import scenarios_of
from engine.search.searcher import Searcher
from engine.search.systems import PREPARED, SYSTEMS, find_system
from engine.search.topics import SystemRun
from engine.types.evaluations import (
    Difference,
    Evaluated,
    Evaluation,
    EvaluationJob,
    EvaluationRecord,
    EvaluationRequest,
    Topic,
)
from engine.types.models import Estimate, ModelReport, TaskReport
from engine.types.reranking import GapRequest
from engine.types.searches import Ranking
from storage.documents import Stored, key_of
from storage.ledger import Ledger
from storage.rankings import Rankings, RunRow

FITTED = (
    *("aspect/weights.json", "roles/classifier.json"),
    *("wordings/reader.npz", "wordings/glossary.txt"),
)
"""Assets that decide rankings."""
MOST_LISTED = 50
"""Previous evaluations, or gaps, of a collection."""
LONGEST_NAME = 80
"""Characters of the name of one."""
CollectionRequest = TypeVar("CollectionRequest", EvaluationRequest, GapRequest)


class CollectionTasks(TaskRunner[CollectionRequest, R]):
    """Tasks on the test collections of one home, whose results are kept; thread-safe.

    Args:
        searcher: corpus name -> search engine.
    """

    kind: str
    """Of results in the ledger; their records, which lists show, are documents of their own."""
    record: Any
    result: Any

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        collections: CollectionStore,
        searcher: Callable[[str], Searcher],
    ) -> None:
        super().__init__(settings, ledger.answers)
        self._rankings, self._collections = ledger.rankings, collections
        self._searcher, self._estimates = searcher, Recent[Hashable, Estimate](KEPT)
        self._records = ledger.documents(self.kind, self.record)
        self._results = ledger.documents(f"{self.kind} result", self.result)

    def history(self, collection: str) -> tuple[Any, ...]:
        """Records of previous results on a collection, the newest first."""
        records = (replace(one.value, id=one.key) for one in self._records.all(collection))
        listed = [record for record in records if not record.removed]
        return tuple(sorted(listed, key=attrgetter("time"), reverse=True)[:MOST_LISTED])

    def rename(self, record: Any, name: str) -> None:
        """Give a previous result a name; "" takes it away."""
        self._record(record, name=" ".join(name.split())[:LONGEST_NAME])

    def remove(self, record: Any, *, removed: bool = True) -> None:
        """Take a previous result out of the list, or put it back."""
        self._record(record, removed=removed)

    def _record(self, record: Any, **changes: Any) -> None:
        collection = record.request.collection

        def changed(stored: Stored[Any] | None) -> Any:
            return None if stored is None else replace(stored.value, **changes)

        self._records.change(record.id, changed, scope=collection)

    def _searcher_of(self, collection: str) -> Searcher:
        return self._searcher(self._collections.info(collection).corpus)

    def _usable(self, request: CollectionRequest, systems: tuple[str, ...]) -> CollectionRequest:
        """The request with these systems, and without a sample of all; BadInputError where its
        collection cannot be read."""
        info = self._collections.info(request.collection)
        if info.problem:
            raise BadInputError(info.problem)
        sample = request.sample if request.sample and request.sample < info.seeds else None
        return replace(request, systems=systems, sample=sample)

    def _keep(self, key: str, record: Any, result: Any) -> None:
        collection = record.request.collection
        self._collections.remember(collection)
        self._results.put(key, result, scope=collection)
        before = self._records.value(key, collection)
        named = replace(record, name=before.name) if before else record
        self._records.put(key, named, scope=collection)

    def _estimate(
        self,
        request: Hashable,
        collection: str,
        topics: Sequence[Topic],
        known: Estimator,
        count: Callable[[Searcher], Sequence[Counted]],
    ) -> Estimate:
        """What a request asks, kept until the corpus or the model is another one."""
        searcher = self._searcher_of(collection)

        def make() -> Estimate:
            ahead = count(searcher)
            some = evaluation_run.samples(searcher, topics) if known.model and ahead else []
            return estimate_cost(ahead, some, known)

        return self._estimates.one((collection, request, searcher.corpus.identity, known), make)


def corpus_version(searcher: Searcher) -> str:
    """Equal versions rank alike: the same documents and vectors, and the same SeedLens."""
    weights = hashlib.sha256()
    for name in FITTED:
        weights.update((ASSETS / name).read_bytes())
    return f"{searcher.corpus.identity} {__version__} {weights.hexdigest()[:12]}"


def model_name(model: str, address: str) -> str:
    """A model and its endpoint, which distinguishes reports."""
    return f"{model} at {address}"


def canonical_json(value: object) -> str:
    """Equal values give equal texts."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def now() -> str:
    """The time as records have it: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@all_for_leads
class Evaluations(CollectionTasks[EvaluationRequest, Evaluated]):
    """Evaluations of one home. Failed questions to a model are asked again."""

    kind, record = "evaluation", EvaluationRecord
    result = Annotated[Evaluation, BeforeValidator(with_all_measures)]

    # -- what is known -----------------------------------------------------------------

    def checked(self, request: EvaluationRequest) -> EvaluationRequest:
        """The request in its one form: systems in one order, no sample of all."""
        for name in request.systems:
            if name not in MODEL_SYSTEMS:
                find_system(name)
        Plan(request.rerank or DEFAULT_MODE, request.depth)
        if not request.systems and not self._collections.runs(request.collection):
            raise BadInputError("No system is chosen.", "Choose at least one.")
        if not 0.0 <= request.steer <= 1.0:
            raise BadInputError(f"steer is {request.steer}.", "Give a number from 0 to 1.")
        ordered = tuple(n for n in (*SYSTEMS, *PREPARED, *MODEL_SYSTEMS) if n in request.systems)
        request = self._usable(request, ordered)
        self._collections.asked(request)  # or says which run is not there
        if request.human:
            evaluation_run.check_annotators(self._collections.read(request.collection))
        if not request.rerank:
            request = replace(request, depth=EvaluationRequest("", ()).depth)
        return request if needs_model(request) else replace(request, model="")

    def find(self, request: EvaluationRequest) -> Evaluation | None:
        """The stored result of an equal request, without rankings; None when there is none."""
        key = self._runs(self.checked(request)).key
        found: Evaluation | None = self._results.value(key, request.collection)
        return found

    def missing(self, request: EvaluationRequest, *, with_failed: bool = False) -> tuple[str, ...]:
        """Runs that would have to be made first; see :meth:`EvaluationRun.missing`."""
        return self._opened(self._runs(self.checked(request))).missing(with_failed=with_failed)

    def answered_by(self, request: EvaluationRequest) -> EvaluationRequest:
        """The request with the model of the latest otherwise equal evaluation; unchanged where
        there is none."""
        asked = replace(self.checked(request), model="")
        previous = (record.request for record in self.history(request.collection))
        return next((p for p in previous if replace(p, model="") == asked), request)

    def compared(self, first: EvaluationRecord, second: EvaluationRecord) -> tuple[Difference, ...]:
        """Two previous evaluations of a collection against each other."""
        collection = first.request.collection
        one, two = (self._results.value(r.id, collection) for r in (first, second))
        return evaluation_run.differences(one, two) if one and two else ()

    def rankings(self, request: EvaluationRequest) -> dict[str, tuple[Ranking, ...]]:
        """run -> its rankings, of all runs with these settings, uploaded ones too."""
        request = self.checked(request)
        uploaded = self._collections.uploaded_runs(request)
        known = map(self._runs(request).get, evaluation_run.run_names(request))
        return {run.system: run.rankings for run in (*uploaded, *known) if run is not None}

    def stored(self, corpus: str) -> Iterator[tuple[EvaluationRequest, datetime, Evaluation]]:
        """All evaluations on a corpus, of former versions of it too, without rankings."""
        known = [r for r in self._records.all() if r.value.corpus == corpus]
        known.sort(key=lambda one: one.value.time, reverse=True)
        for record in sorted(known, key=lambda one: one.value.request.collection):
            request = record.value.request
            found = self._results.value(record.key, request.collection)
            if found is not None and not record.value.removed:
                yield request, datetime.fromisoformat(record.value.time), found

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
        return self.start(task, owner=owner)

    def job(self) -> EvaluationJob | None:
        """The evaluation that runs, or the last one that ran in this process."""
        return self.jobs.latest(MeasureSystems.key)

    def model(self, endpoint: Endpoint | None = None) -> str:
        """Which model would be asked, and where; "" for none. Never raises. Part of
        :attr:`EvaluationRequest.model`."""
        info = describe(self._settings, self._answers, endpoint)
        return model_name(info.model, info.address) if info.set_up else ""

    # -- inside ------------------------------------------------------------------------

    def _task(self, request: EvaluationRequest) -> MeasureSystems:
        return MeasureSystems(self.checked(request), self)

    def _runs(self, request: EvaluationRequest) -> StoredRuns:
        searcher = self._searcher_of(request.collection)
        return StoredRuns(self._rankings, self._collections, searcher, request)

    def _opened(self, runs: StoredRuns) -> evaluation_run.EvaluationRun:
        request = runs.request
        uploaded = self._collections.uploaded_runs(request)
        collection = self._collections.asked(request)
        return evaluation_run.EvaluationRun(runs.searcher, collection, request, runs, uploaded)


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
        """An upper estimate for the runs that are to be made."""
        request, evaluations = self.request, self._evaluations
        names = evaluations.missing(request, with_failed=True)
        topics = evaluations._collections.topics(request)
        return evaluations._estimate(
            (names, request.depth, request.sample, request.runs),
            *(request.collection, topics, known),
            lambda searcher: evaluation_run.foreseen_runs(names, request.depth, searcher, topics),
        )

    async def run(self, run: TaskRun) -> TaskReport[Evaluated]:
        """Rank what is missing with these settings, measure, and store both."""
        request, evaluations = self.request, self._evaluations
        if run.client is not None:
            request = replace(request, model=model_name(run.usage.model, run.usage.endpoint))
        runs = evaluations._runs(request)
        # What it is about, whatever is judged or imported meanwhile.
        judgments = evaluations._collections.read(request.collection).digest
        version = corpus_version(runs.searcher)
        report = await evaluations._opened(runs).compute(run)
        found = report.result.evaluation
        if found is not None and not report.stopped:
            headline = {
                name: s.metrics[evaluation_run.MAIN_MEASURE] for name, s in found.systems.items()
            }
            fields = (request, found.corpus, found.queries, headline, now())
            record = EvaluationRecord(*fields, judgments=judgments, version=version)
            evaluations._keep(runs.key, record, replace(found, rankings={}))
        return report


class StoredRuns:
    """The ledger's rankings for one checked request on one version of a corpus: a
    :class:`engine.evaluate.evaluation_run.RunStore`. ``key`` is that of the evaluation."""

    def __init__(
        self,
        rankings: Rankings,
        collections: CollectionStore,
        searcher: Searcher,
        request: EvaluationRequest,
    ) -> None:
        self._rankings, self.searcher, self.request = rankings, searcher, request
        self._collections = collections
        self._topics = collections.digest(request)
        self._scenarios = scenarios_of(searcher.corpus, request.systems)
        settings: dict[str, Any] = {
            "request": _request_fields(request),
            "collection": self._topics,
            "runs": [run.id for run in collections.runs(request.collection)],
        }
        if self._scenarios:
            settings["scenarios"] = self._scenarios
        self._place = searcher.corpus.name, corpus_version(searcher)
        self.key = key_of(self._place[1], canonical_json(request.systems), canonical_json(settings))

    def __contains__(self, name: object) -> bool:
        return name in self._rankings.systems(*self._place, self._settings(str(name)))

    def get(self, name: str) -> SystemRun | None:
        """The rankings of a run; None when they are not there."""
        row = self._rankings.latest(*self._place, name, self._settings(name))
        if row is None:
            return None
        data = json.loads(row.run)
        if isinstance(data, list):
            data = {"rankings": data, "notes": (), "llm": None}
        rankings = tuple(Ranking(q, tuple(d), tuple(s)) for q, d, s in data["rankings"])
        llm = TypeAdapter(ModelReport | None).validate_python(data["llm"])
        return SystemRun(name, rankings, row.seconds, notes=tuple(data["notes"]), llm=llm)

    def __setitem__(self, name: str, run: SystemRun) -> None:
        """Add the rankings of a run, and what a model was asked for them."""
        data: object = [[r.query_id, r.doc_ids, r.scores] for r in run.rankings]
        if run.llm is not None:
            data = {"rankings": data, "notes": run.notes, "llm": llm_report(run.llm)}
        text, time = json.dumps(data, ensure_ascii=False), datetime.now(UTC)
        row = RunRow(*self._place, name, self._settings(name), run.seconds, text, time)
        self._collections.remember(self.request.collection)
        self._rankings.add(row)

    def _settings(self, name: str) -> str:
        """What a ranking depends on besides corpus and system."""
        system, mode = evaluation_run.system_and_mode(name)
        settings: dict[str, object] = {"topics": self._topics}
        if system not in MODEL_SYSTEMS:
            reads_steer = find_system(system).reads_aspect
            settings["steer"] = self.request.steer if reads_steer else None
        if system in PREPARED:
            settings["scenarios"] = self._scenarios
        if evaluation_run.asks_model(name):
            settings["model"] = self.request.model
        if mode:
            settings["depth"] = self.request.depth
        return canonical_json(settings)


def _request_fields(request: EvaluationRequest) -> dict[str, Any]:
    """As in evaluations of earlier versions; what is about a model only where one takes part."""
    data = {**asdict(request), "ignore_labels": False}
    absent = {*(() if request.model else ("rerank", "depth", "model"))}
    absent |= set() if request.runs else {"runs"}
    return {name: value for name, value in data.items() if name not in absent}
