"""A gap measured in a thread: first the retrievers rank, then the verifier is asked."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.assist.model import Model, settled
from engine.assist.ranking_estimates import QuestionCount, count_for_reranking, ranking_sizes
from engine.assist.reranking import Plan, model_report
from engine.errors import SeedLensError
from engine.evaluate.bench import StoppedError
from engine.evaluate.verification_gap import Ground, gap_now, prepare
from engine.jobs.threads import UNEXPECTED
from engine.llm.budget import RoundProgress
from engine.search.searcher import Searcher
from engine.search.topics import sampled
from engine.types.callbacks import tell_nobody
from engine.types.collections import RELEVANT, Collection, Topic
from engine.types.reranking import Gap, GapJob, GapRequest

log = logging.getLogger("seedlens.llm")


class GapRun:
    """The thread that measures one gap. Safe to look at from any thread.

    Attributes:
        state: how it stands, under the id "".

    Args:
        keep: called with the gap when the verifier answered everything it was asked.
    """

    def __init__(
        self,
        searcher: Searcher,
        collection: Collection,
        request: GapRequest,
        model: Model,
        keep: Callable[[Gap], None],
    ) -> None:
        self._searcher, self._collection = searcher, collection
        self._request, self._keep = request, keep
        self._model = replace(model, tell=self._tell, cancelled=self._asked_to_stop)
        self._stop, self._ended = threading.Event(), threading.Event()
        self._began = time.monotonic()
        topics = len(sampled(collection.topics, request.sample))
        step, total = "Ranking with the retrievers", topics * len(set(request.systems))
        self.state = GapJob("", request, "running", total=total, step=step)
        # A daemon: closing the program cancels what is under way; what was answered is kept.
        threading.Thread(target=self._main, name="seedlens-gap", daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether the state is the last one."""
        return self._ended.is_set()

    def cancel(self) -> None:
        """End it soon; every answer is kept."""
        self._stop.set()

    def _main(self) -> None:
        try:
            self._measure()
        except StoppedError:
            self._set(state="cancelled")
        except SeedLensError as error:
            self._set(state="failed", error=error.message, remedy=error.remedy)
        except Exception:  # whoever looks must learn of it
            log.exception("A gap could not be measured.")
            self._set(state="failed", error=UNEXPECTED)
        finally:
            self._ended.set()

    def _measure(self) -> None:
        request = self._request
        ground = prepare(
            self._searcher, self._collection, request.verifier, request.systems, request.sizes,
            request.sample, self._ranked,
        )  # fmt: skip
        ahead = foreseen_pools(ground)
        self._began = time.monotonic()
        pools = len({(p.query_id, p.doc_ids) for p in ground.pools()})
        step = f"Verifying, {request.verifier}"
        self._set(done=0, total=pools, step=step, at_most=ahead.calls)
        found = gap_now(ground, self._model, self._verified)
        if not found.report.stopped:
            self._keep(found)
        state = "cancelled" if found.report.stopped == "cancelled" else "done"
        self._set(state=state, gap=found, report=found.report)

    def _ranked(self) -> None:
        if self._stop.is_set():
            raise StoppedError
        self._verified()

    def _verified(self) -> None:
        self._set(done=self.state.done + 1)

    def _tell(self, progress: RoundProgress) -> None:
        usage = progress.usage
        plan = Plan(self._request.verifier, max(self._request.sizes))
        self._set(settled=settled(usage), report=model_report(plan, usage))

    def _asked_to_stop(self) -> bool:
        return self._stop.is_set()

    def _set(self, **changes: object) -> None:
        # Written by one thread after the other, never by two at once.
        seconds = time.monotonic() - self._began
        self.state = replace(self.state, seconds=seconds, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class GapWork:
    """A gap under way, for :class:`engine.jobs.threads.Jobs`.

    Attributes:
        model: which model verifies, and where.
    """

    request: GapRequest
    model: str
    run: GapRun

    def job(self, job_id: str) -> GapJob:
        """What a page shows of it."""
        return replace(self.run.state, id=job_id)


def start_gap(
    searcher: Searcher,
    collection: Collection,
    request: GapRequest,
    model: Model,
    keep: Callable[[Gap], None] = tell_nobody,
    name: str = "",
) -> GapWork:
    """Measure in the background.

    Args:
        keep: see :class:`GapRun`.
        name: of the model.
    """
    return GapWork(request, name, GapRun(searcher, collection, request, model, keep))


def foreseen_pools(ground: Ground) -> QuestionCount:
    """What the verifier is asked about the pools that there are; equal ones are read once."""
    pools = {(p.query_id, p.doc_ids) for p in ground.pools()}
    sizes = [len(doc_ids) for _, doc_ids in pools]
    return count_for_reranking(ground.plan, sizes)


def foreseen_gap(
    request: GapRequest, searcher: Searcher, collection: Collection, topics: Sequence[Topic]
) -> QuestionCount:
    """What the verifier is asked at most, before anything is ranked.

    As if no retriever found any relevant document, so that all have to be put in.
    """
    known = searcher.corpus.row_of
    sizes = []
    for topic, most in zip(topics, ranking_sizes(searcher, topics), strict=True):
        grades = collection.qrels.get(topic.query_id, {})
        relevant = sum(d in known for d, grade in grades.items() if grade >= RELEVANT)
        for size in sorted(set(request.sizes)):
            found, infused = min(size, most), min(size + relevant, most)
            sizes += [found, infused] if found < infused else [found]
    return count_for_reranking(Plan(request.verifier, max(request.sizes) + 2_000), sizes)
