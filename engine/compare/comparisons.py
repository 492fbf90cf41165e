"""Comparing wordings, as pages and the command line ask for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from engine.collections.trec import run_lines
from engine.compare.comparer import Comparer
from engine.compare.known_grades import (
    OwnGrades,
    collection_of,
    judgments_of,
    signature_of_judgments,
)
from engine.compare.model_comparisons import ModelComparisons
from engine.compare.sensitivity_table import sensitivity, topics_to_vary
from engine.corpora.library import Library
from engine.errors import BadInputError
from engine.jobs.runner import CancelledWorkError, JobRunner
from engine.lenses.variants import SETS, built_in_variants
from engine.permissions import check_sees
from engine.search.reports import sensitivity_report
from engine.search.scenario_index import ranked_from
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.types.callbacks import Ask
from engine.types.collections import Collection
from engine.types.comparisons import (
    Comparison,
    Frontier,
    ModelOrders,
    MoverEvidence,
    Sensitivity,
    SensitivityJob,
    Variant,
)
from engine.types.models import RunProgress
from engine.types.people import ForPerson
from engine.types.searches import Filter, Query

_Key = tuple[str, str, tuple[str, ...], tuple[str, ...]]
"""Corpus, its version, systems and sets of variants."""


class Comparisons(ForPerson):
    """Variants of an instruction side by side. Safe to share between threads.

    Attributes:
        by_model: rerankings of all variants by a language model.
        jobs: tables of whole collections. Cancelling ends one after the query at hand.

    Args:
        searcher: gives the search engine of a corpus by name.
    """

    def __init__(
        self, library: Library, own_grades: OwnGrades, searcher: Callable[[str], Searcher]
    ) -> None:
        self._library, self._own_grades, self._searcher = library, own_grades, searcher
        self.by_model = ModelComparisons(self._comparer)
        self.jobs = JobRunner()

    # -- one seed --------------------------------------------------------------------------

    def presets(
        self, corpus: str, aspect: str, system: str = "aspect", steer: float = 0.5
    ) -> tuple[Variant, ...]:
        """The built-in wordings of an aspect: base, generic, definition, paraphrases, subset."""
        return built_in_variants(self._library.lens(corpus), aspect, system, steer)

    def compare(
        self, corpus: str, seed: str | None, text: str | None, aspect: str,
        variants: Sequence[Variant], orders: ModelOrders | None = None,
        annotator: str | None = None, filters: Sequence[Filter] = (),
    ) -> Comparison:  # fmt: skip
        """Rank every variant for one seed (stored or pasted), with what differs and verdicts.

        Args:
            orders: a model's, from :attr:`by_model`; they take the place of the rankings.
            annotator: whose grades count as one's own.
            filters: what documents must meet to be ranked.
        """
        comparer = self._comparer(corpus, seed, text, aspect, annotator, filters)
        return comparer.compare(variants, orders)

    def evidence(
        self, corpus: str, seed: str | None, text: str | None, aspect: str,
        variants: Sequence[Variant], doc_id: str, annotator: str | None = None,
        filters: Sequence[Filter] = (),
    ) -> MoverEvidence:  # fmt: skip
        """Why one document stands where it does under each variant."""
        comparer = self._comparer(corpus, seed, text, aspect, annotator, filters)
        return comparer.evidence(variants, doc_id)

    def frontier(
        self, corpus: str, seed: str | None, text: str | None, aspect: str, variant: Variant,
        annotator: str | None = None, filters: Sequence[Filter] = (),
    ) -> Frontier:  # fmt: skip
        """Relevance and instruction following of one wording from steer 0 to 1."""
        comparer = self._comparer(corpus, seed, text, aspect, annotator, filters)
        return comparer.frontier(variant)

    def runs(self, comparison: Comparison) -> str:
        """All variants as one TREC run; the tag is the variant's name, spaces as hyphens.

        ``+model`` follows the name of one that a model reranked; its scores only tell the order.
        """
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
        """Changes with what comparisons of these systems rest on, own grades aside.

        That is the corpus as it is now, its scenarios where one of them ranks by these, and the
        files of its test collection.
        """
        judgments = signature_of_judgments(self._library.corpus(corpus))
        return f"{ranked_from(self._library.open(corpus), systems)} {judgments}"

    def _comparer(
        self, corpus: str, seed: str | None, text: str | None, aspect: str,
        annotator: str | None = None, filters: Sequence[Filter] = (),
    ) -> Comparer:  # fmt: skip
        annotator = annotator or self._own("") or None
        check_sees(self.person, annotator or "")
        searcher = self._searcher(corpus)
        judgments = {}
        if seed is not None:
            info = self._library.corpus(corpus)
            judgments = judgments_of(searcher.corpus, info, self._own_grades, seed, annotator)
        query = Query(corpus, seed=seed, text=text, filters=tuple(filters))
        return Comparer(searcher, query, aspect, judgments)

    # -- a whole collection ------------------------------------------------------------------

    def collection(self, corpus: str) -> Collection:
        """The test collection that a corpus came from.

        Raises:
            BadInputError: there is none.
        """
        collection = collection_of(self._library.corpus(corpus))
        if collection is None:
            raise BadInputError(
                f"The corpus '{corpus}' did not come from a test collection, or that is gone.",
                "Import a collection with judgments (CSFCube, or topics and qrels).",
            )
        return collection

    def start_sensitivity(
        self,
        corpus: str,
        systems: Sequence[str],
        variants: Sequence[str] = SETS,
        owner: str = "",
    ) -> str:
        """Compute the table of a whole collection in the background.

        Args:
            owner: who asks for it.

        Returns:
            the job's id; that of the running computation where the same is being computed.
        """
        for name in systems:
            find_system(name)
        collection = self.collection(corpus)
        progress = RunProgress(0, len(topics_to_vary(collection)) * len(systems))
        started = time.monotonic()

        def work(tell: Callable[[RunProgress], None], cancelled: Ask) -> Sensitivity:
            now = progress

            def step() -> None:
                nonlocal now
                if cancelled():
                    raise CancelledWorkError
                now = replace(now, done=now.done + 1, seconds=time.monotonic() - started)
                tell(now)

            searcher = self._searcher(corpus)
            return sensitivity(searcher, collection, systems, variants, on_query=step)

        key = self._key(corpus, systems, variants)
        return self.jobs.start(key, work, progress, request=key, owner=owner)

    def find_sensitivity(
        self, corpus: str, systems: Sequence[str], variants: Sequence[str] = SETS
    ) -> SensitivityJob | None:
        """The last computation of this table on the corpus as it is now; None without one."""
        return self.jobs.latest(self._key(corpus, systems, variants))

    def sensitivity_json(self, table: Sensitivity) -> str:
        """All of a table as the JSON of ``seedlens sensitivity --json``."""
        return json.dumps(sensitivity_report(table), ensure_ascii=False, indent=2)

    def _key(self, corpus: str, systems: Sequence[str], variants: Sequence[str]) -> _Key:
        return corpus, self.stamp(corpus, systems), tuple(systems), tuple(variants)
