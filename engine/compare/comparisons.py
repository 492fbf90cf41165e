"""Comparing wordings, as pages and the command line ask for it."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event, Lock, Thread

from engine.collections.trec import run_lines
from engine.compare.comparer import Comparer
from engine.compare.frontier import find_frontier
from engine.compare.known_grades import (
    OwnGrades,
    collection_of,
    judgments_of,
    signature_of_judgments,
)
from engine.compare.model_comparisons import ModelComparisons
from engine.compare.sensitivity_table import sensitivity
from engine.corpora.library import Library
from engine.errors import BadInputError, SeedLensError
from engine.lenses.variants import SETS, built_in_variants
from engine.search.reports import sensitivity_report
from engine.search.searcher import Searcher
from engine.search.systems import find_system
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
from engine.types.searches import Query

log = logging.getLogger("seedlens")

FINISHED_KEPT = 8
"""Tables of whole collections that stay in memory, besides those being computed."""
_Asked = tuple[str, str, tuple[str, ...], tuple[str, ...]]
"""Corpus, its version, systems and sets of variants."""


class _StoppedError(Exception):
    """Raised inside a computation that nobody waits for any more."""


class Comparisons:
    """Variants of an instruction side by side. Safe to share between threads.

    Attributes:
        by_model: rerankings of all variants by a language model.

    Args:
        searcher: gives the search engine of a corpus by name.
    """

    def __init__(
        self, library: Library, own_grades: OwnGrades, searcher: Callable[[str], Searcher]
    ) -> None:
        self._library, self._own_grades, self._searcher = library, own_grades, searcher
        self.by_model = ModelComparisons(self._comparer)
        self._jobs: dict[str, SensitivityJob] = {}
        self._asked: dict[str, _Asked] = {}
        self._stop: dict[str, Event] = {}
        self._lock = Lock()

    # -- one seed --------------------------------------------------------------------------

    def presets(
        self, corpus: str, aspect: str, system: str = "aspect", steer: float = 0.5
    ) -> tuple[Variant, ...]:
        """The built-in wordings of an aspect: base, generic, definition, paraphrases, subset."""
        return built_in_variants(self._library.lens(corpus), aspect, system, steer)

    def compare(
        self, corpus: str, seed: str | None, text: str | None, aspect: str,
        variants: Sequence[Variant], orders: ModelOrders | None = None,
        annotator: str | None = None,
    ) -> Comparison:  # fmt: skip
        """Rank every variant for one seed (stored or pasted), with what differs and verdicts.

        Args:
            orders: a model's, as :attr:`by_model` found them; they stand for the rankings.
            annotator: whose grades count as one's own.
        """
        return self._comparer(corpus, seed, text, aspect, annotator).compare(variants, orders)

    def evidence(
        self, corpus: str, seed: str | None, text: str | None, aspect: str,
        variants: Sequence[Variant], doc_id: str, annotator: str | None = None,
    ) -> MoverEvidence:  # fmt: skip
        """Why one document stands where it does under each variant."""
        return self._comparer(corpus, seed, text, aspect, annotator).evidence(variants, doc_id)

    def frontier(
        self, corpus: str, seed: str | None, text: str | None, aspect: str, variant: Variant,
        annotator: str | None = None,
    ) -> Frontier:  # fmt: skip
        """Relevance and obedience of one wording from steer 0 to 1."""
        return find_frontier(self._comparer(corpus, seed, text, aspect, annotator), variant)

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

    def stamp(self, corpus: str) -> str:
        """Changes with what comparisons on a corpus rest on, own grades aside.

        That is the corpus as it is now, and the files of its test collection.
        """
        judgments = signature_of_judgments(self._library.corpus(corpus))
        return f"{self._library.open(corpus).identity} {judgments}"

    def _comparer(
        self, corpus: str, seed: str | None, text: str | None, aspect: str,
        annotator: str | None = None,
    ) -> Comparer:  # fmt: skip
        searcher = self._searcher(corpus)
        judgments = {}
        if seed is not None:
            info = self._library.corpus(corpus)
            judgments = judgments_of(searcher.corpus, info, self._own_grades, seed, annotator)
        return Comparer(searcher, Query(corpus, seed=seed, text=text), aspect, judgments)

    # -- a whole collection ------------------------------------------------------------------

    def collection(self, corpus: str) -> Collection:
        """The test collection that a corpus came from.

        Raises:
            BadInputError: there is none.
        """
        found = collection_of(self._library.corpus(corpus))
        if found is None:
            raise BadInputError(
                f"The corpus '{corpus}' did not come from a test collection, or that is gone.",
                "Import a collection with judgments (CSFCube, or topics and qrels).",
            )
        return found

    @property
    def sets(self) -> tuple[str, ...]:
        """Names of the sets of variants that a whole collection can be asked in."""
        return SETS

    def start_sensitivity(
        self, corpus: str, systems: Sequence[str], variants: Sequence[str] = SETS
    ) -> str:
        """Compute the table of a whole collection in the background.

        Returns:
            the id to ask :meth:`sensitivity_state` for; that of the running computation where
            the same is being computed already.
        """
        for name in systems:
            find_system(name)
        collection = self.collection(corpus)
        topics = [t for t in collection.topics if t.aspect and t.seed and not t.instruction]
        asked = self._request(corpus, systems, variants)
        with self._lock:
            same = self._latest(asked)
            if same is not None and not _ended(same) and not self._stop[same.id].is_set():
                return same.id
            job = SensitivityJob(secrets.token_hex(8), corpus, 0, len(topics) * len(systems))
            self._jobs[job.id], self._asked[job.id], self._stop[job.id] = job, asked, Event()
        work = (job.id, collection, tuple(systems), tuple(variants))
        Thread(target=self._run, args=work, daemon=True, name="sensitivity").start()
        return job.id

    def find_sensitivity(
        self, corpus: str, systems: Sequence[str], variants: Sequence[str] = SETS
    ) -> SensitivityJob | None:
        """The last computation of this table on the corpus as it is now; None without one."""
        asked = self._request(corpus, systems, variants)
        with self._lock:
            return self._latest(asked)

    def _request(self, corpus: str, systems: Sequence[str], variants: Sequence[str]) -> _Asked:
        return corpus, self.stamp(corpus), tuple(systems), tuple(variants)

    def _latest(self, asked: _Asked) -> SensitivityJob | None:
        same = [job for key, job in self._jobs.items() if self._asked[key] == asked]
        running = [job for job in same if not _ended(job)]
        latest = running or same
        return latest[-1] if latest else None

    def sensitivity_state(self, job_id: str) -> SensitivityJob | None:
        """How far a table is, with its result once done; None for an id that is unknown."""
        with self._lock:
            return self._jobs.get(job_id)

    def stop_sensitivity(self, job_id: str) -> None:
        """Give up a table that is being computed."""
        with self._lock:
            if job_id in self._stop:
                self._stop[job_id].set()

    def sensitivity_json(self, found: Sensitivity) -> str:
        """All of a table as the JSON of ``seedlens sensitivity --json``."""
        return json.dumps(sensitivity_report(found), ensure_ascii=False, indent=2)

    def _run(
        self, job_id: str, collection: Collection, systems: Sequence[str], sets: Sequence[str]
    ) -> None:
        stop = self._stop[job_id]

        def step() -> None:
            if stop.is_set():
                raise _StoppedError
            self._update(job_id, steps=1)

        try:
            searcher = self._searcher(self._jobs[job_id].corpus)
            result = sensitivity(searcher, collection, systems, sets, on_query=step)
            self._update(job_id, result=result)
        except _StoppedError:
            self._update(job_id, error="Stopped.")
        except SeedLensError as error:
            self._update(job_id, error=str(error))
        except Exception:
            log.exception("The sensitivity table failed")
            self._update(job_id, error="It failed; the log in the terminal has the details.")

    def _update(
        self, job_id: str, *, steps: int = 0, result: Sensitivity | None = None, error: str = ""
    ) -> None:
        with self._lock:
            before = self._jobs[job_id]
            job = replace(
                before,
                done=before.done + steps,
                result=result or before.result,
                error=error or before.error,
            )
            if _ended(job):
                del self._jobs[job_id]  # to the end: they are kept in the order they ended in
            self._jobs[job_id] = job
            ended = [key for key, job in self._jobs.items() if _ended(job)]
            for old in ended[:-FINISHED_KEPT]:
                del self._jobs[old], self._asked[old], self._stop[old]


def _ended(job: SensitivityJob) -> bool:
    return job.result is not None or bool(job.error)
