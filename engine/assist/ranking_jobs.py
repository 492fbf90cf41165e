"""Rerankings and gaps under way, by id, for pages that come back to look."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from engine.assist.model_results import helped, reranking
from engine.assist.model_systems import Found
from engine.assist.reranking import Assignment, Finished, Plan, model_report, usage_report
from engine.jobs.threads import standing_of
from engine.llm.budget import Usage
from engine.llm.endpoints import Endpoint
from engine.llm.run import Outcome, Run
from engine.rerank import Progress
from engine.search.searcher import FirstStage, Searcher
from engine.types.reranking import CostEstimate, ModelJobState, ModelReport, Reranking, RerankJob
from engine.types.searches import Query

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Ending(Generic[Value]):
    """How a run stands: its outcome when it is done and has one."""

    state: ModelJobState
    outcome: Outcome[Value] | None = None
    error: str = ""
    remedy: str = ""


def ending(run: Run[Value]) -> Ending[Value]:
    """How a run stands now; never raises."""
    now = standing_of(run.done, lambda: run.result(0), lambda outcome: outcome.usage.stopped)
    return Ending(now.state, now.report, now.error, now.remedy)


@dataclass(frozen=True, slots=True)
class Task:
    """What a model is asked to rank: of equal ones under way, one is enough.

    Attributes:
        query: of any page of results.
        plan: how to rerank; None for a system that asks a model by itself.
        endpoint: with its key: who may not ask it is not shown what others asked.
        corpus: the identity of the version that is ranked.
    """

    query: Query
    plan: Plan | None
    endpoint: Endpoint
    corpus: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "query", replace(self.query, k=1, offset=0))


@dataclass(slots=True)
class RankingWork(ABC):
    """A ranking under way: what it began with.

    Attributes:
        stage: the ranking without the model.
        usage: of the run when nothing was asked yet.
    """

    task: Task
    searcher: Searcher
    stage: FirstStage
    estimate: CostEstimate
    usage: Usage
    run: Run[Any] = field(init=False)

    @property
    def own_stage(self) -> FirstStage:
        """For a page in the model's order: no change of rank in it is due to the aspect."""
        return replace(self.stage, before=None)

    @abstractmethod
    def job(self, job_id: str) -> RerankJob:
        """What a page shows of it."""

    @abstractmethod
    def reranking(self, query: Query) -> Reranking:
        """A page of the best order so far, with its evidence."""


@dataclass(slots=True)
class RerankWork(RankingWork):
    """One reranking, and how far it is.

    Attributes:
        progress: set by the run's thread after every round.
    """

    plan: Plan
    assignment: Assignment
    progress: Progress | None = None
    run: Run[Finished] = field(init=False)

    def note(self, progress: Progress) -> None:
        """Told after every round."""
        self.progress = progress

    def job(self, job_id: str) -> RerankJob:
        """What a page shows of it."""
        end, now = ending(self.run), self.run.progress
        asked = end.outcome.value.reranked if end.outcome else self.progress
        return RerankJob(
            id=job_id,
            query=self.stage.query,
            mode=self.plan.mode,
            depth=self.plan.depth,
            state=end.state,
            estimate=self.estimate,
            order=asked.order if asked else self.assignment.doc_ids,
            rounds=asked.rounds if asked else 0,
            done=now.done if now else 0,
            total=now.total if now else 0,
            report=self._report(end),
            error=end.error,
            remedy=end.remedy,
        )

    def reranking(self, query: Query) -> Reranking:
        """A page of the best order so far, with its evidence."""
        end = ending(self.run)
        asked = end.outcome.value.reranked if end.outcome else self.progress
        report = self._report(end)
        return reranking(
            self.searcher,
            self.own_stage,
            asked.order if asked else self.assignment.doc_ids,
            report,
            confidence=end.outcome.value.reranked.confidence if end.outcome else None,
            depth=self.plan.depth,
            partial=end.state != "done" or bool(report.stopped),
            query=query,
        )

    def _report(self, end: Ending[Finished]) -> ModelReport:
        if end.outcome is not None:
            return model_report(self.plan, end.outcome.usage, [end.outcome.value])
        now = self.run.progress
        return model_report(self.plan, now.usage if now else self.usage)


@dataclass(slots=True)
class SearchWork(RankingWork):
    """One search that a model helps with; ``dense`` stands in until it is done.

    Attributes:
        query: what was asked, with the name of the system that asks a model.
    """

    query: Query
    run: Run[Found] = field(init=False)

    def job(self, job_id: str) -> RerankJob:
        """What a page shows of it."""
        end, now = ending(self.run), self.run.progress
        ranking = end.outcome.value.ranking if end.outcome else self.stage.ranking
        return RerankJob(
            id=job_id,
            query=self.query,
            mode=self.query.system,
            depth=0,
            state=end.state,
            estimate=self.estimate,
            order=tuple(ranking.doc_ids),
            rounds=end.outcome.usage.rounds if end.outcome else 0,
            done=now.done if now else 0,
            total=now.total if now else 0,
            report=self._report(end),
            error=end.error,
            remedy=end.remedy,
        )

    def reranking(self, query: Query) -> Reranking:
        """A page of what was found, or of the first stage until then."""
        end = ending(self.run)
        found = end.outcome.value if end.outcome else Found(self.stage.ranking)
        paged = replace(self.stage.query, k=query.k, offset=query.offset)
        asked = replace(self.query, k=query.k, offset=query.offset)
        stage, report = replace(self.own_stage, query=paged), self._report(end)
        page = helped(self.searcher, stage, found, report, asked)
        return replace(page, partial=end.state != "done" or bool(report.stopped))

    def _report(self, end: Ending[Found]) -> ModelReport:
        name = self.query.system
        if end.outcome is not None:
            return usage_report(name, 0, 1, end.outcome.value.unanswered, end.outcome.usage)
        now = self.run.progress
        return usage_report(name, 0, 1, 0, now.usage if now else self.usage)
