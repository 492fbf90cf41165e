"""Comparing wordings, as pages and the command line ask for it, and in a model's order.

All rankings of a comparison by a model are one run with one budget and report. Each system is also
reranked for the seed alone, to show a wording's effect on the model.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast

from engine.collections.readers import cached_collection, signature_of
from engine.collections.trec import run_lines
from engine.compare.comparer import Comparer
from engine.compare.sensitivity_table import Begun, sensitivity
from engine.config import Settings
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.recent import Recent
from engine.errors import BadInputError
from engine.jobs.runner import JobRunner
from engine.lenses.definitions import built_in_variants, check_variants
from engine.llm.client import Client
from engine.llm.endpoints import Endpoint
from engine.llm.judges import Criterion
from engine.llm.tasks import Estimator, ModelTask, TaskRun, TaskRunner
from engine.permissions import check_sees
from engine.rerank.protocols import Progress, Reranked
from engine.search.model import reranking
from engine.search.reports import sensitivity_report
from engine.search.scenario_index import ranked_from
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.types.callbacks import Ask
from engine.types.comparisons import (
    Comparison,
    ComparisonRequest,
    Frontier,
    ModelOrders,
    MoverEvidence,
    Sensitivity,
    SensitivityJob,
    SensitivityRequest,
    Variant,
    VariantsRequest,
    VariantsSoFar,
)
from engine.types.evaluations import Collection
from engine.types.models import Estimate, RunProgress, TaskReport, summed
from engine.types.people import ForPerson
from engine.types.searches import Query
from storage.answers import Answers


@dataclass(slots=True)
class Reordering:
    """A ranking for the model to improve, and the model's order of it."""

    assignment: reranking.Assignment
    variants: list[str] = field(default_factory=list)  # names of the variants with this ranking
    # names of the systems with this ranking for the seed alone
    unworded: list[str] = field(default_factory=list)
    begun: Progress | None = None
    finished: reranking.Finished | None = None

    def order(self, *, ended: bool) -> tuple[str, ...] | None:
        """The model's order, an unfinished one once the run has ``ended``; None without answers."""
        begun: Progress | Reranked | None = self.begun if ended else None
        ranked = self.finished.reranked if self.finished else begun
        return None if ranked is None or 0 < ranked.calls <= ranked.unanswered else ranked.order


class ModelComparisons(TaskRunner[VariantsRequest, VariantsSoFar]):
    """Rerankings of variants; thread-safe. A cancelled one keeps its orders so far."""

    def __init__(
        self, settings: Settings, answers: Answers, comparer: Callable[[VariantsRequest], Comparer]
    ) -> None:
        super().__init__(settings, answers)
        self._comparer = comparer

    def recall(self, request: VariantsRequest, endpoint: Endpoint | None = None) -> str | None:
        """The id of a job that is done, from answers in the ledger alone; None without all."""
        return reranking.recalled(self.jobs, self.start(request, endpoint, most_calls=0))

    def _task(self, request: VariantsRequest) -> RerankVariants:
        return RerankVariants(self._comparer(request), request)


class RerankVariants(ModelTask[VariantsSoFar]):
    """All different rankings of a comparison, few at once; ``items`` are questions."""

    phase = "Reranking"

    def __init__(self, comparer: Comparer, request: VariantsRequest) -> None:
        self.request, self.key = request, object()  # several may run at once
        self._plan = reranking.Plan(request.mode, request.depth)
        self._rankings = rankings_of(comparer, request)
        sizes = [len(ranking.assignment.doc_ids) for ranking in self._rankings]
        self._counted = reranking.count_for_reranking(self._plan, sizes)[1]
        self._ended = False

    def estimate(self, known: Estimator) -> Estimate:
        every = [
            reranking.estimate_ranking(self._plan, "", r.assignment, known) for r in self._rankings
        ]
        return summed(every)

    async def run(self, run: TaskRun) -> TaskReport[VariantsSoFar]:
        client, counted = cast(Client, run.client), self._counted
        width = max(1.0, counted.calls / max(1, counted.rounds))  # questions of a ranking at once
        slots = asyncio.Semaphore(max(1, round(client.concurrency / width)))

        async def one(ranking: Reordering) -> None:
            async with slots:
                if not client.stopped:
                    ranking.finished = await reranking.rerank_one(
                        client, ranking.assignment, self._plan, partial(setattr, ranking, "begun")
                    )

        run.partial = partial(self._so_far, run)
        run.questions(counted.calls, self.phase)
        try:
            await asyncio.gather(*map(one, self._rankings))
        finally:
            self._ended = True
            run.questions(0, self.phase)
        return TaskReport(result=self._so_far(run), failed=run.usage.failed)

    def _so_far(self, run: TaskRun) -> VariantsSoFar:
        orders = [(r, r.order(ended=self._ended)) for r in self._rankings]
        known = [(ranking, order) for ranking, order in orders if order is not None]
        finished = [r.finished for r in self._rankings if r.finished is not None]
        whole = [r for r in self._rankings if r.finished and not r.finished.reranked.stopped]
        return VariantsSoFar(
            estimate=self._counted,
            orders=ModelOrders(
                {name: order for ranking, order in known for name in ranking.variants},
                {name: order for ranking, order in known for name in ranking.unworded},
            ),
            whole=tuple(name for ranking in whole for name in ranking.variants),
            report=reranking.model_report(self._plan, run.usage, finished if self._ended else ()),
        )


def rankings_of(comparer: Comparer, request: VariantsRequest) -> list[Reordering]:
    """All different rankings, each variant's after its system's without a wording, so that an early
    end leaves complete comparisons."""
    check_variants(request.variants)
    load = reranking.texts_of(comparer.searcher)
    found: dict[tuple[Criterion, Hashable], Reordering] = {}

    def add(variant: Variant, name: str) -> Reordering:
        ranked = comparer.rank(variant)
        criterion = comparer.searcher.criterion(comparer.asked(variant), ranked.seed)
        assignment = reranking.Assignment(name, criterion, ranked.doc_ids, load)
        return found.setdefault((criterion, ranked.doc_ids), Reordering(assignment))

    systems: set[str] = set()
    for variant in request.variants:
        if variant.system not in systems:
            systems.add(variant.system)
            plain = Variant(variant.name, "", variant.system, variant.steer)
            add(plain, variant.system).unworded.append(variant.system)
        add(variant, variant.name).variants.append(variant.name)
    return list(found.values())


MOST_BEGUN = 4
"""Cancelled tables whose rankings are kept."""
OwnGrades = Callable[[Query, str | None], Mapping[str, int]]
"""The grades, by doc_id, that an annotator gave for a query."""


class Comparisons(ForPerson):
    """Variants of an instruction side by side; thread-safe.

    Args:
        searcher: corpus name -> search engine.
    """

    def __init__(
        self,
        settings: Settings,
        answers: Answers,
        library: Library,
        own_grades: OwnGrades,
        searcher: Callable[[str], Searcher],
    ) -> None:
        self._library, self._own_grades, self._searcher = library, own_grades, searcher
        # rerankings of all variants by a language model
        self.by_model = ModelComparisons(settings, answers, self._comparer)
        # tables of whole collections; a cancelled one ends after the current query
        self.jobs = JobRunner()
        self._begun: Recent[Hashable, Begun] = Recent(MOST_BEGUN)

    # -- one seed --------------------------------------------------------------------------

    def presets(
        self, corpus: str, aspect: str, system: str = "aspect", steer: float = 0.5
    ) -> tuple[Variant, ...]:
        """The built-in wordings of an aspect: base, generic, definition, paraphrases, subset."""
        return built_in_variants(self._library.lens(corpus), aspect, system, steer)

    def compare(self, request: ComparisonRequest, orders: ModelOrders | None = None) -> Comparison:
        """Rank every variant for one seed, with differences and verdicts; ``orders`` of
        :attr:`by_model` replace the rankings."""
        return self._comparer(request).compare(request.variants, orders)

    def evidence(self, request: ComparisonRequest, doc_id: str) -> MoverEvidence:
        """Why one document is where it is under each variant."""
        return self._comparer(request).evidence(request.variants, doc_id)

    def frontier(self, request: ComparisonRequest, variant: Variant) -> Frontier:
        """Relevance and instruction following of one wording from steer 0 to 1."""
        return self._comparer(request).frontier(variant)

    def runs(self, comparison: Comparison) -> str:
        """All variants as one TREC run, tagged by variant (spaces as hyphens, ``+model`` for
        reranked ones, whose scores only give the order)."""
        query_id = f"{comparison.seed.doc_id or 'pasted-text'}_{comparison.aspect}"
        lines: dict[str, list[str]] = {}
        for ranked in comparison.variants:
            name = ranked.variant.name
            tag = "-".join(name.split()) + ("+model" if name in comparison.by_model else "")
            while tag in lines:  # "my wording" beside "my-wording"
                tag += "-"
            lines[tag] = list(run_lines([replace(ranked.ranking, query_id=query_id)], tag))
        return "".join(line for run in lines.values() for line in run)

    def stamp(self, corpus: str, systems: Sequence[str] = ()) -> str:
        """Changes with the input of comparisons of these systems, own grades aside: corpus,
        scenarios where used, and files of the test collection."""
        path = Path(self._library.corpus(corpus).source)
        files = repr(signature_of(path) if path.is_absolute() else ())
        judgments = hashlib.sha256(files.encode()).hexdigest()[:16]
        return f"{ranked_from(self._library.open(corpus), systems)} {judgments}"

    def _comparer(self, request: ComparisonRequest) -> Comparer:
        annotator = request.annotator or self._own("") or None
        check_sees(self.person, annotator or "")
        corpus, seed, searcher = request.corpus, request.seed, self._searcher(request.corpus)
        judgments = {} if seed is None else self._judgments(searcher.corpus, seed, annotator)
        query = Query(corpus, seed=seed, text=request.text, filters=request.filters)
        return Comparer(searcher, query, request.aspect, judgments)

    def _judgments(
        self, corpus: OpenCorpus, seed: str, annotator: str | None
    ) -> dict[str, dict[str, int]]:
        """aspect key -> doc_id -> grade, for one seed; own grades before the collection's, without
        empty aspects."""
        judgments: dict[str, dict[str, int]] = {}
        if collection := self._collection(corpus.name):
            unlisted = dict.fromkeys(corpus.doc_ids, 0) if collection.complete else {}
            for topic in collection.topics:
                if topic.seed == seed and topic.aspect:
                    listed = collection.qrels.get(topic.query_id, {})
                    judgments[topic.aspect] = {**unlisted, **listed}
        for aspect in corpus.aspects:
            own = self._own_grades(Query(corpus.name, seed=seed, aspect=aspect), annotator)
            judgments[aspect] = {**judgments.get(aspect, {}), **own}
        for grades in judgments.values():
            grades.pop(seed, None)
        return {aspect: grades for aspect, grades in judgments.items() if grades}

    # -- a whole collection ------------------------------------------------------------------

    def collection(self, corpus: str) -> Collection:
        """The test collection that a corpus came from."""
        collection = self._collection(corpus)
        if collection is None:
            raise BadInputError(
                f"The corpus '{corpus}' did not come from a test collection, or that is gone.",
                "Import a collection with judgments (CSFCube, or topics and qrels).",
            )
        return collection

    def _collection(self, corpus: str) -> Collection | None:
        """:meth:`collection`, or None; read again when a file has changed."""
        path = Path(self._library.corpus(corpus).source)
        try:
            return cached_collection(path) if path.is_absolute() else None
        except (BadInputError, OSError, ValueError):
            return None  # documents without judgments: most corpora

    def start_sensitivity(self, request: SensitivityRequest, owner: str = "") -> str:
        """Compute the table of a whole collection in the background; returns the job's id, that of
        an equal running one if any."""
        for name in request.systems:
            find_system(name)
        collection, key = self.collection(request.corpus), self._key(request)
        begun = self._begun.one(key, Begun)

        def work(tell: Callable[[RunProgress], None], cancelled: Ask) -> Sensitivity:
            return sensitivity(
                self._searcher(request.corpus),
                collection,
                request.systems,
                request.variants,
                sample=request.sample,
                own=dict(request.own),
                aspect=request.aspect,
                begun=begun,
                tell=tell,
                cancelled=cancelled,
            )

        return self.jobs.start(key, work, RunProgress(), request=key, owner=owner)

    def find_sensitivity(self, request: SensitivityRequest) -> SensitivityJob | None:
        """The last computation of this table on the corpus as it is now; None without one."""
        return self.jobs.latest(self._key(request))

    def sensitivity_json(self, table: Sensitivity) -> str:
        """All of a table as the JSON of ``seedlens sensitivity --json``."""
        return json.dumps(sensitivity_report(table), ensure_ascii=False, indent=2)

    def _key(self, request: SensitivityRequest) -> Hashable:
        return request, self.stamp(request.corpus, request.systems)
