"""Tasks on test collections, whose reports are stored in the ledger by all that they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from engine.assist.ranking_estimates import KEPT
from engine.config import ASSETS, Settings, __version__
from engine.corpora.recent import Recent
from engine.errors import BadInputError
from engine.evaluate.collection_store import CollectionStore
from engine.llm.tasks import R, TaskRunner
from engine.search.searcher import Searcher
from engine.types.evaluations import EvaluationRequest
from engine.types.models import Estimate
from engine.types.reranking import GapRequest
from storage.ledger import Ledger
from storage.records import EvaluationRow

FITTED = (
    *("aspect/weights.json", "roles/classifier.json"),
    *("wordings/reader.npz", "wordings/glossary.txt"),
)
"""Assets that decide rankings."""
CollectionRequest = TypeVar("CollectionRequest", EvaluationRequest, GapRequest)


class ReportKey(NamedTuple):
    """What a report depends on, as columns of the ledger; the last two are JSON."""

    collection: str
    version: str  # of the corpus
    systems: str
    settings: str


class CollectionTasks(TaskRunner[CollectionRequest, R]):
    """Tasks on the test collections of one home; thread-safe.

    Args:
        searcher: corpus name -> search engine.
    """

    prefix = ""  # before a collection's key in the ledger

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

    def _report(self, key: ReportKey) -> dict[str, Any] | None:
        """The latest report, None without one."""
        row = self._experiments.evaluation(*key)
        report: dict[str, Any] | None = None if row is None else json.loads(row.result)
        return report

    def _store(self, key: ReportKey, corpus: str, summary: object, report: object) -> None:
        self._experiments.add_evaluation(
            EvaluationRow(
                collection=key.collection,
                corpus=corpus,
                corpus_version=key.version,
                systems=key.systems,
                settings=key.settings,
                summary=canonical_json(summary),
                result=json.dumps(report, ensure_ascii=False),  # systems stay in their order
                time=datetime.now(UTC),
            )
        )

    def _stored(self, collection: str) -> list[EvaluationRow]:
        """The newest of equal reports on a collection, the newest first, without the reports."""
        return self._experiments.evaluations(self.prefix + collection)


def corpus_version(searcher: Searcher) -> str:
    """Equal versions rank alike: the same documents and vectors, and the same SeedLens."""
    weights = hashlib.sha256()
    for name in FITTED:
        weights.update((ASSETS / name).read_bytes())
    return f"{searcher.corpus.identity} {__version__} {weights.hexdigest()[:12]}"


def model_name(model: str, address: str) -> str:
    """A model and its endpoint, as reports are told apart by it."""
    return f"{model} at {address}"


def canonical_json(value: object) -> str:
    """Equal values give equal texts."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
