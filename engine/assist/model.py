"""A model with what was answered before, and what runs with it have in common."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from engine.errors import NotAllowedError
from engine.jobs.runner import JobRunner
from engine.llm.budget import Budget, RoundProgress
from engine.llm.endpoint_errors import EndpointError
from engine.llm.endpoints import Connection
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.models import ModelUsage
from storage.answers import Answers


@dataclass(frozen=True, slots=True)
class Model:
    """A model, and how a run with it is watched.

    Attributes:
        tell: called after every settled question.
        cancelled: asked many times a second.
    """

    connection: Connection
    store: Answers
    tell: Callable[[RoundProgress], None] = tell_nobody
    cancelled: Ask = never

    def after(self, used: ModelUsage) -> Model:
        """The same with what a run has left of the budget."""
        budget = self.connection.budget
        left = Budget(
            None if budget.calls is None else max(0, budget.calls - used.calls),
            None if budget.tokens is None else max(0, budget.tokens - used.tokens),
            None if budget.cost is None else max(0.0, budget.cost - (used.cost or 0.0)),
            budget.price,
        )
        return replace(self, connection=replace(self.connection, budget=left))


def model_name(connection: Connection) -> str:
    """Which model a connection leads to, and where, as evaluations are told apart by it."""
    return f"{connection.endpoint.model} at {connection.endpoint.address}"


def recalled(jobs: JobRunner, job_id: str) -> str | None:
    """Wait for a job that may send nothing; its id where the ledger had all answers, else None."""
    with suppress(EndpointError):
        if not jobs.result(job_id).stopped:
            return job_id
    with suppress(NotAllowedError):  # of somebody else, who asked for the same just now
        jobs.dismiss(job_id)
    return None
