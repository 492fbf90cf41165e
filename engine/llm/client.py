"""Rounds of questions to a model: cached, concurrent, within a budget, to be cancelled any time.

A failing endpoint is no exception here: what was answered stays usable, the rest is None, and
:attr:`Client.stopped` says why. Callers that need an answer ask :meth:`Client.raise_problem`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from engine.callbacks import Ask, never, tell_nobody
from engine.errors import StorageError
from engine.llm.budget import Estimate, Meter
from engine.llm.cache import AnswerCache, AnswerStore
from engine.llm.capabilities import Capabilities, try_out
from engine.llm.connection import Connection
from engine.llm.errors import (
    BudgetReachedError,
    EndpointError,
    RefusedError,
    TooLongError,
    UnsupportedError,
)
from engine.llm.messages import Message, Prompt, Reply, answer_key
from engine.llm.parsing import without_reasoning
from engine.llm.tally import Tally
from engine.llm.usage import RoundProgress, Stopped, Usage
from storage.answers import AnswerRow

if TYPE_CHECKING:
    from engine.llm.transport import Transport

Value = TypeVar("Value")

GIVE_UP_AFTER = 8
"""Questions that fail one after the other, without one success, until the run stops."""
WATCH_SECONDS = 0.05


@asynccontextmanager
async def open_client(
    connection: Connection,
    store: AnswerStore,
    cancelled: Ask = never,
    tell: Callable[[RoundProgress], None] = tell_nobody,
) -> AsyncIterator[Client]:
    """A client for one run, in the event loop that runs now.

    Args:
        cancelled: asked many times a second; True ends the run, requests under way included.
        tell: called after every settled question.
    """
    from engine.llm.transport import Transport  # the openai client: half a second to load

    transport = Transport(connection.endpoint, connection.patience)
    client = Client(connection, transport, store, cancelled, tell)
    try:
        yield client
    finally:
        await client.close()


class Client:
    """Asks one model for one run. See :func:`open_client`.

    Attributes:
        stopped: why no more questions go out; "" while they do.
        meter: what the run has used.
    """

    def __init__(
        self,
        connection: Connection,
        transport: Transport,
        store: AnswerStore,
        cancelled: Ask,
        tell: Callable[[RoundProgress], None],
    ) -> None:
        self._endpoint = connection.endpoint
        self._transport = transport
        self._store = store
        self._cache = AnswerCache(store)
        self._cancelled = cancelled
        self._tell = tell
        self._slots = asyncio.Semaphore(max(1, connection.concurrency))
        self._known: Capabilities | None = None
        self._learning = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._tally = Tally(self._endpoint)
        self._failures_in_a_row = 0
        self._problem: EndpointError | None = None
        self.stopped: Stopped = ""
        self.meter = Meter(connection.budget)

    async def close(self) -> None:
        """Write what is left to write, and let the connections go."""
        await self._cache.flush()
        await self._transport.close()

    # -- asking ------------------------------------------------------------------------

    async def ask(self, prompts: Sequence[Prompt[Value]]) -> list[Value | None]:
        """One round: the answers in the order of the questions, None where there is none.

        Equal questions are asked once.

        Raises:
            StorageError: the ledger cannot be read; nothing was asked.
        """
        if not prompts:
            return []
        self._tally.counts["rounds"] += 1
        known = await self._capabilities()
        if known is None:
            self._tally.counts["asked"] += len(prompts)
            return [None] * len(prompts)
        keys = [self._key(known, prompt) for prompt in prompts]
        questions = dict(zip(keys, prompts, strict=True))
        self._tally.counts["asked"] += len(questions)
        answers = await self._kept(questions)
        missing = {key: p for key, p in questions.items() if key not in answers}
        await self._ask_all(known, missing, answers, len(questions))
        return [answers.get(key) for key in keys]

    async def context(self) -> int | None:
        """Tokens that the model can read and write at once, None where nobody knows."""
        known = await self._capabilities()
        return known.context if known else None

    async def estimate(self, prompt: Prompt[Any], calls: int) -> Estimate:
        """What ``calls`` questions like this one would take if none was in the ledger."""
        known = await self._capabilities() or Capabilities()
        size_in, size_out = known.size(prompt)
        return self.meter.estimate(calls, calls * size_in, calls * size_out)

    def raise_problem(self) -> None:
        """Raise what stopped the run, or else the last failure, if there was any."""
        if self._problem is not None:
            raise self._problem

    async def _kept(self, questions: Mapping[str, Prompt[Value]]) -> dict[str, Value]:
        if self.stopped == "cancelled":
            return {}
        found: dict[str, Value] = {}
        for key, reply in (await self._cache.find(questions)).items():
            value = questions[key].read(reply, True)
            if value is not None:
                found[key] = value
        self._tally.counts["cached"] += len(found)
        return found

    async def _ask_all(
        self,
        known: Capabilities,
        missing: Mapping[str, Prompt[Value]],
        answers: dict[str, Value],
        total: int,
    ) -> None:
        self._report(total - len(missing), total)
        if not missing or self.stopped:
            return

        async def settle(key: str, prompt: Prompt[Value]) -> None:
            value = await self._one(known, key, prompt)
            if value is not None:
                answers[key] = value
            settled.append(key)
            self._report(total - len(missing) + len(settled), total)

        settled: list[str] = []
        work = [settle(key, prompt) for key, prompt in missing.items()]
        await self._together(work)

    async def _together(self, work: Sequence[Coroutine[Any, Any, None]]) -> None:
        """Run all at once; on a stop, those under way are let go."""
        tasks = {asyncio.create_task(one) for one in work}
        self._tasks |= tasks
        watcher = asyncio.create_task(self._watch())
        try:
            done, _ = await asyncio.wait(tasks)
            for task in done:
                if not task.cancelled():
                    task.result()  # a mistake of ours is not to be swallowed
        finally:
            for task in (watcher, *tasks):
                task.cancel()
            await asyncio.gather(watcher, *tasks, return_exceptions=True)
            self._tasks -= tasks

    async def _one(self, known: Capabilities, key: str, prompt: Prompt[Value]) -> Value | None:
        async with self._slots:
            if self.stopped:
                return None
            try:
                answered = await self._answer(known, prompt)
            except BudgetReachedError as error:
                self._stop("budget", error)
                return None
            except EndpointError as error:
                self._failed(error)
                return None
        value, reply = answered
        self._failures_in_a_row = 0
        self._tally.served[reply.model] += 1
        if value is None:
            self._tally.counts["unread"] += 1
            return None
        self._tally.counts["answered"] += 1
        if known.mode(prompt) == "logprobs" and not reply.options:
            self._tally.counts["without logprobs"] += 1
        self._cache.put(self._row(key, prompt, reply))
        return value

    async def _answer(
        self, known: Capabilities, prompt: Prompt[Value]
    ) -> tuple[Value | None, Reply]:
        """The value and the reply that it was read from: the first, or the one to the nudge."""
        prompt, first = await self._fitting(known, prompt)
        value = prompt.read(first, False)
        if value is not None:
            return value, first
        said = without_reasoning(first.text)[:200] or "(nothing)"
        turns = (Message("assistant", said), Message("user", prompt.nudge))
        again = replace(prompt, messages=(*prompt.messages, *turns), shorter=None)
        second = await self._complete(known, again)
        for reply in (second, first):
            value = prompt.read(reply, True)
            if value is not None:
                return value, reply
        return None, second

    async def _fitting(
        self, known: Capabilities, prompt: Prompt[Value]
    ) -> tuple[Prompt[Value], Reply]:
        """The reply, with shorter texts when the model cannot take them all."""
        while True:
            try:
                return prompt, await self._complete(known, prompt)
            except TooLongError:
                if prompt.shorter is None:
                    raise
                self._tally.counts["shortened"] += 1
                prompt = prompt.shorter()

    async def _complete(self, known: Capabilities, prompt: Prompt[Any]) -> Reply:
        body = known.body(self._endpoint.model, prompt)
        choices = prompt.choices if known.mode(prompt) == "logprobs" else ()
        return await self._transport.complete(body, self.meter, known.size(prompt), choices)

    # -- stopping ----------------------------------------------------------------------

    def _failed(self, error: EndpointError) -> None:
        self._tally.counts["failed"] += 1
        self._failures_in_a_row += 1
        self._problem = error
        if isinstance(error, UnsupportedError):  # it could yesterday: try it out anew next time
            with suppress(StorageError):
                self._remember(None)
        if isinstance(error, RefusedError) or self._failures_in_a_row >= GIVE_UP_AFTER:
            self._stop("endpoint", error)
            self._let_go()

    def _stop(self, reason: Stopped, problem: EndpointError | None = None) -> None:
        if not self.stopped:
            self.stopped, self._problem = reason, problem or self._problem

    def _let_go(self) -> None:
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()

    async def _watch(self) -> None:
        while not self._cancelled():
            await asyncio.sleep(WATCH_SECONDS)
        self._stop("cancelled")
        self._let_go()

    # -- knowing the endpoint ----------------------------------------------------------

    async def _capabilities(self) -> Capabilities | None:
        """What the model can do, tried out on first use; None when that failed (it stopped)."""
        async with self._learning:
            if self._cancelled():
                self._stop("cancelled")
            if self._known is None:
                self._known = await asyncio.to_thread(self._remembered)
            if self._known is None and not self.stopped:
                await self._together([self._try_out()])
            return self._known

    async def _try_out(self) -> None:
        try:
            self._known = await try_out(self._transport, self.meter)
        except BudgetReachedError as error:
            self._stop("budget", error)
        except EndpointError as error:
            self._stop("endpoint", error)
        else:
            await asyncio.to_thread(self._remember, self._known)

    def _remembered(self) -> Capabilities | None:
        text = self._store.capabilities(self._endpoint.address, self._endpoint.model)
        return None if text is None else Capabilities.from_json(text)

    def _remember(self, known: Capabilities | None) -> None:
        text = None if known is None else known.to_json()
        self._store.remember_capabilities(self._endpoint.address, self._endpoint.model, text)

    # -- counting ----------------------------------------------------------------------

    @property
    def usage(self) -> Usage:
        """The figures until now."""
        problem = "" if self._problem is None else str(self._problem)
        lost, repeats = self._cache.lost, self._transport.repeats
        return self._tally.usage(self.meter.spent, repeats, lost, self.stopped, problem)

    def _report(self, done: int, total: int) -> None:
        self._tell(RoundProgress(self._tally.counts["rounds"], done, total, self.usage))

    def _key(self, known: Capabilities, prompt: Prompt[Any]) -> str:
        parameters = known.parameters(self._endpoint.model, prompt)
        return answer_key(self._endpoint.address, prompt, known.mode(prompt), parameters)

    def _row(self, key: str, prompt: Prompt[Any], reply: Reply) -> AnswerRow:
        used = reply.used or (0, 0)
        place = (self._endpoint.address, self._endpoint.model)
        return AnswerRow(key, *place, prompt.name, reply.to_json(), *used, datetime.now(UTC))
