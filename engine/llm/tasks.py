"""Tasks that ask a model about many items: what one takes, and running it now or as a job."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from engine.config import Settings
from engine.jobs.runner import CancelledWorkError, JobRunner, in_foreground
from engine.llm.client import Client, ask_model, connect, describe, finish
from engine.llm.endpoints import Connection, Endpoint, Price, RoundProgress
from engine.llm.messages import Capabilities, Prompt, remembered
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.models import Estimate, ModelUsage, TaskProgress, TaskReport
from engine.types.people import ForPerson
from storage.answers import Answers

R = TypeVar("R")
Request = TypeVar("Request")
Value = TypeVar("Value")
Item = TypeVar("Item")
OnProgress = Callable[[Any], None]
"""Called with a :class:`TaskProgress`, or what the task has in its place."""


@dataclass(slots=True)
class TaskRun:
    """A task under way."""

    client: Client | None = None  # None for a task without a model
    on_progress: OnProgress = tell_nobody  # called after every batch and answer
    cancelled: Ask = never  # True ends the task after the current batch
    partial: Callable[[], Any] = lambda: None  # the result so far, asked for at each report
    started: float = field(default_factory=time.perf_counter)
    latest: Any = field(default_factory=TaskProgress)  # what the task began with, at first
    # called after each answer, in place of counting it as progress
    on_questions: Callable[[RoundProgress], None] | None = None
    _began: float = field(default_factory=time.perf_counter)
    _asking: int = 0
    _settled: int | None = None

    @property
    def usage(self) -> ModelUsage:
        """What was asked so far."""
        return ModelUsage() if self.client is None else self.client.usage

    @property
    def model(self) -> str:
        """Its name; "" for none."""
        return self.usage.model

    async def ask(self, prompts: Sequence[Prompt[Value]], items: int = 0) -> list[Value | None]:
        """One round of questions about ``items`` items, which count as done while they are
        answered; see :meth:`Client.ask`."""
        if self.client is None:
            return [None] * len(prompts)
        self._asking = items
        try:
            return await self.client.ask(prompts)
        finally:
            self._asking = 0

    async def context(self) -> int | None:
        """Tokens for a question and its answer; None for unknown."""
        return None if self.client is None else await self.client.context()

    @property
    def stopped(self) -> str:
        """Why no more is to be done ("cancelled", "budget", "endpoint"); "" while more is."""
        if self.cancelled():
            return "cancelled"
        return "" if self.client is None else self.client.stopped

    def progress(
        self, done: int, total: int, *, failed: int = 0, made: int = 0, phase: str = ""
    ) -> None:
        """Report progress; ``failed`` of the done items have no usable answer, and the clock starts
        at 0 done."""
        usage, now = self.usage, time.perf_counter()
        if not done:
            self._began = now
        self.latest = TaskProgress(
            *(done, total, now - self._began, failed, usage.calls, usage.tokens),
            *(made, phase, usage.model, self.partial()),
        )
        self.on_progress(self.latest)

    def groups(self, items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
        """The items, ``size`` at a time, until the task is stopped."""
        for start in range(0, len(items), size):
            if self.stopped:
                return
            yield items[start : start + size]

    def counter(self, total: int, phase: str) -> Callable[..., None]:
        """A function that counts one more item as done, optionally in another phase;
        CancelledWorkError once the task is cancelled."""
        done = itertools.count(1)
        self.progress(0, total, phase=phase)

        def count(phase: str = phase) -> None:
            self.progress(next(done), total, phase=phase)
            if self.cancelled():
                raise CancelledWorkError

        return count

    def questions(self, ahead: int, phase: str) -> None:
        """Count settled questions as progress from now on; at most ``ahead`` are still to come."""
        settled = self.usage.settled
        if self._settled is None:
            self._settled = settled
        done = settled - self._settled
        self.progress(done, done + ahead, phase=phase)

    def heard(self, questions: RoundProgress) -> None:
        """Report an answer to the questions at hand."""
        if self.on_questions is not None:
            self.on_questions(questions)
            return
        last, usage = replace(self.latest, partial=self.partial()), questions.usage
        done, seconds = last.done, last.seconds
        if self._settled is not None:
            done = min(last.total, usage.settled - self._settled)
        elif self._asking and questions.total:
            done += self._asking * questions.done // questions.total
        if done > last.done:
            seconds = time.perf_counter() - self._began
        self.on_progress(
            replace(last, done=done, seconds=seconds, calls=usage.calls, tokens=usage.tokens)
        )


@dataclass(frozen=True, slots=True)
class Estimator:
    """Sizes of questions to one model."""

    known: Capabilities  # what the model can do, as far as found out
    price: Price | None = None  # None where none is set: no cost then
    model: str = ""  # "" where none is connected

    def estimate(self, sample: Sequence[Prompt[Any]], calls: int) -> Estimate:
        """What ``calls`` questions of the mean size of these would take, none in the ledger."""
        sizes = [self.known.size(prompt) for prompt in sample]
        each = calls / max(1, len(sizes))
        sent = round(each * sum(sent for sent, _ in sizes))
        answered = round(each * sum(answered for _, answered in sizes))
        cost = None if self.price is None else self.price.cost(sent, answered)
        return Estimate(calls=calls, input_tokens=sent, output_tokens=answered, cost=cost)

    def of_items(
        self,
        items: Sequence[Item],
        ask: Callable[[Sequence[Item]], Sequence[Prompt[Any]]],
        sample: int,
    ) -> Estimate:
        """What the questions about all items would take, by those about ``sample`` of them, evenly
        spread."""
        some = items[:: -(-len(items) // sample) or 1]
        prompts = ask(some)
        calls = round(len(prompts) * len(items) / max(1, len(some)))
        return replace(self.estimate(prompts, calls), items=len(items))


def estimator(connection: Connection | None, store: Answers) -> Estimator:
    """The estimator for a connection; for None one of a model that nothing is known of."""
    if connection is None:
        return Estimator(Capabilities())
    known = remembered(store, connection.endpoint) or Capabilities()
    return Estimator(known, connection.budget.price, connection.endpoint.model)


class ModelTask(ABC, Generic[R]):
    """One checked request to do something with a model."""

    request: Any = None  # by which pages know the job
    # of tasks with equal keys one runs as a job at a time; others get ``busy``
    key: Hashable = None
    busy: str = ""
    job_id: str = ""  # of its job, which joins no other; "" for a new one
    phase: str = ""  # until the first progress
    asks: bool = True  # whether it asks a model at all
    needs_model: bool = True  # can do nothing without one
    raises: bool = True  # raise the problem where no answer came; False where the result reports it

    @abstractmethod
    def estimate(self, known: Estimator) -> Estimate:
        """What there is left to do, and what that asks; nothing is asked for it."""

    @abstractmethod
    async def run(self, run: TaskRun) -> TaskReport[R]:
        """Do it, as far as it comes; :class:`TaskRunner` adds what the model was asked."""

    def begun(self, estimate: Estimate, usage: ModelUsage) -> Any:  # noqa: ARG002
        """The progress of a run that begins; ``usage`` says who is asked."""
        return TaskProgress(phase=self.phase)

    def job_key(self, endpoint: Endpoint | None) -> Hashable:  # noqa: ARG002
        """:attr:`key`, with the endpoint where another one's answers would do something else."""
        return self.key

    def kept(self) -> Any:
        """What is kept of the request once the job has ended."""
        return self.request

    def held(self) -> AbstractContextManager[None]:
        """What is held while it runs: a lock. Raises CorpusBusyError."""
        return nullcontext()


class TaskRunner(ForPerson, Generic[Request, R]):
    """Runs tasks, or the requests of a facade, which makes tasks of them; thread-safe. An
    ``endpoint`` of None is that of the settings."""

    def __init__(self, settings: Settings, answers: Answers) -> None:
        self._settings, self._answers = settings, answers
        self.jobs = JobRunner()  # in the background, by key: ``Job[TaskProgress, TaskReport]``

    def _task(self, request: Request) -> ModelTask[R]:
        """The task of a request, checked."""
        raise NotImplementedError

    def _made(self, request: Request | ModelTask[R]) -> ModelTask[R]:
        return request if isinstance(request, ModelTask) else self._task(request)

    def estimate(
        self, request: Request | ModelTask[R], endpoint: Endpoint | None = None
    ) -> Estimate:
        """Upper estimate of a request, or of a task, without asking; tokens and cost only with a
        connected model."""
        task = self._made(request)
        connection: Connection | None = None
        if task.asks and describe(self._settings, self._answers, endpoint).set_up:
            connection = connect(self._settings, endpoint, person=self.person)
        estimate = task.estimate(estimator(connection, self._answers))
        if connection is None:
            return replace(estimate, input_tokens=None, output_tokens=None, cost=None)
        return estimate

    def start(
        self,
        request: Request | ModelTask[R],
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        owner: str = "",
    ) -> str:
        """Run in the background; returns the job's id in :attr:`jobs`, that of the running job for
        an equal request. CorpusBusyError for another request of the same key."""
        task = self._made(request)
        connection, begun = self._prepared(task, endpoint, most_calls)
        place = None if connection is None else connection.endpoint
        return self.jobs.start(
            task.job_id or task.job_key(place),
            partial(self._perform, task, connection, begun),
            begun,
            request=task.kept(),
            owner=owner,
            job_id=task.job_id,
            busy=task.busy,
        )

    def run(
        self,
        request: Request | ModelTask[R],
        *,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        tell: OnProgress = tell_nobody,
    ) -> TaskReport[R]:
        """Run now. Ctrl-C ends it after the batch at hand; a second one is a KeyboardInterrupt."""
        task = self._made(request)
        connection, begun = self._prepared(task, endpoint, most_calls)
        return in_foreground(
            lambda cancelled: self._perform(task, connection, begun, tell, cancelled)
        )

    def _prepared(
        self, task: ModelTask[R], endpoint: Endpoint | None, most_calls: int | None
    ) -> tuple[Connection | None, Any]:
        """The connection, within what the estimate announces, and the progress to begin with."""
        asks = task.asks and (
            task.needs_model or describe(self._settings, self._answers, endpoint).set_up
        )
        if not asks:
            return None, task.begun(Estimate(), ModelUsage())
        connection = connect(self._settings, endpoint, most_calls, self.person)
        estimate = self.estimate(task, endpoint)
        connection = connection.within(estimate) if estimate.exact else connection
        place = connection.endpoint
        usage = ModelUsage(endpoint=place.address, model=place.model)
        return connection, task.begun(estimate, usage)

    def _perform(
        self,
        task: ModelTask[R],
        connection: Connection | None,
        begun: Any,
        on_progress: OnProgress,
        cancelled: Ask,
    ) -> TaskReport[R]:
        run = TaskRun(None, on_progress, cancelled, latest=begun)

        async def work(client: Client) -> TaskReport[R]:
            run.client = client
            return await task.run(run)

        with task.held():
            if connection is None:
                report, usage = finish(task.run(run)), ModelUsage()
            else:
                done = ask_model(
                    connection, self._answers, work, run.heard, cancelled, raises=task.raises
                )
                report, usage = done.value, done.usage
        stopped = report.stopped or usage.stopped
        if cancelled() and (report.left or stopped):
            stopped = "cancelled"
        known = {} if connection is None else usage.figures
        own = {
            "failed": report.failed,
            "seconds": time.perf_counter() - run.started,
            "stopped": stopped,
            "notes": tuple(dict.fromkeys((*report.notes, *usage.notes))),
            "problem": report.problem or usage.problem,
        }
        return replace(report, **{**known, **own})
