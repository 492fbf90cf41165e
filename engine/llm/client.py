"""Rounds of questions to a model: cached, concurrent, within a budget, to be cancelled any time.

A failing endpoint is no exception here: what was answered stays usable, the rest is None, and
:attr:`Client.stopped` says why. Callers that need an answer ask :meth:`Client.raise_problem`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from engine.callbacks import Ask, never, tell_nobody
from engine.llm.answering import Answering
from engine.llm.budget import Estimate, Meter
from engine.llm.cache import AnswerCache, AnswerStore
from engine.llm.capabilities import REASONING_TOKENS, Capabilities
from engine.llm.connection import Connection
from engine.llm.course import Course
from engine.llm.errors import BudgetReachedError, EndpointError, UnsupportedError
from engine.llm.learning import Learner
from engine.llm.messages import Prompt, Reply
from engine.llm.tally import Tally
from engine.llm.usage import RoundProgress, Stopped, Usage

if TYPE_CHECKING:
    from engine.llm.transport import Transport

Value = TypeVar("Value")


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
        self._cache = AnswerCache(store, self._endpoint)
        self._course = Course(cancelled)
        self._tell = tell
        self._slots = asyncio.Semaphore(max(1, connection.concurrency))
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tally = Tally(self._endpoint)
        self.meter = Meter(connection.budget)
        self._learner = Learner(transport, store, self._course, self.meter)
        self._answering = Answering(transport, self.meter, self._cache)

    @property
    def stopped(self) -> Stopped:
        """Why no more questions go out; "" while they do."""
        return self._course.stopped

    async def close(self) -> None:
        """Write what is left to write, and let the connections go."""
        await self._cache.flush()
        await self._transport.close()

    # -- asking ------------------------------------------------------------------------

    async def ask(self, prompts: Sequence[Prompt[Value]]) -> list[Value | None]:
        """One round: the answers in the order of the questions, None where there is none.

        Equal questions are asked once, those of rounds under way at the same time included.

        Raises:
            StorageError: the ledger cannot be read; nothing was asked.
        """
        if not prompts:
            return []
        self._tally.counts["rounds"] += 1
        known = await self._learner.capabilities()
        if known is None:
            self._tally.counts["asked"] += len(prompts)
            return [None] * len(prompts)
        keys = [self._answering.key(known, prompt) for prompt in prompts]
        replies = await self._held(keys)
        if known.doubtful and len(replies) < len(set(keys)):
            known = await self._learner.capabilities(sure=True) or known
            keys = [self._answering.key(known, prompt) for prompt in prompts]
            replies = await self._held(keys)
        questions = dict(zip(keys, prompts, strict=True))
        self._tally.counts["asked"] += len(questions)
        read = {key: self._read(known, questions[key], reply) for key, reply in replies.items()}
        answers = {key: value for key, value in read.items() if value is not None}
        missing = {key: p for key, p in questions.items() if key not in answers}
        await self._ask_all(known, missing, answers, len(questions))
        return [answers.get(key) for key in keys]

    async def stream(self, prompt: Prompt[str]) -> AsyncGenerator[str]:
        """The text of one answer, piece by piece, as the model sends it; nothing is kept.

        Ends early, without an error, when the run is cancelled.

        Raises:
            EndpointError: the endpoint refused, failed, or broke off; what came before stands.
            BudgetReachedError: the budget does not allow it.
        """
        self._tally.counts["rounds"] += 1
        self._tally.counts["asked"] += 1
        known = await self._learner.capabilities(sure=True)
        if known is None:
            self.raise_problem()
            return
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        pump = asyncio.create_task(self._course.together([self._pump(known, prompt, pieces)]))
        pump.add_done_callback(lambda _: pieces.put_nowait(None))
        failures = self._tally.counts["failed"]
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            await pump
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
        if self._tally.counts["failed"] > failures or self.stopped in ("budget", "endpoint"):
            self.raise_problem()

    async def _pump(
        self, known: Capabilities, prompt: Prompt[str], pieces: asyncio.Queue[str | None]
    ) -> None:
        """Ask, and pass on what comes."""
        model, size = self._endpoint.model, known.size(prompt)
        async with self._slots:
            if self.stopped:
                return
            try:
                try:
                    await self._pass_on(known.stream_body(model, prompt), size, pieces)
                except UnsupportedError as refusal:
                    if "stream_options" not in refusal.hint or not known.stream_usage:
                        raise
                    less = replace(known, stream_usage=False)
                    await self._learner.correct(less)
                    await self._pass_on(less.stream_body(model, prompt), size, pieces)
            except BudgetReachedError as error:
                self._course.stop("budget", error)
            except EndpointError as error:
                await self._failed(error)
            else:
                self._course.succeeded()
                self._tally.counts["answered"] += 1

    async def _pass_on(
        self, body: Mapping[str, Any], size: tuple[int, int], pieces: asyncio.Queue[str | None]
    ) -> None:
        async with aclosing(self._transport.stream(body, self.meter, size)) as arriving:
            async for piece in arriving:
                pieces.put_nowait(piece)

    async def context(self) -> int | None:
        """Tokens for a question and its answer, thinking aside; None where nobody knows."""
        known = await self._learner.capabilities()
        if known is None or known.context is None:
            return None
        return max(0, known.context - (REASONING_TOKENS if known.reasons else 0))

    async def try_out(self) -> None:
        """Find out anew what the model can do; what was known stays where that fails."""
        await self._learner.renew()

    async def estimate(self, prompt: Prompt[Any], calls: int) -> Estimate:
        """What ``calls`` questions like this one would take if none was in the ledger."""
        known = await self._learner.capabilities() or Capabilities()
        size_in, size_out = known.size(prompt)
        return self.meter.estimate(calls, calls * size_in, calls * size_out)

    def raise_problem(self) -> None:
        """Raise what stopped the run, or else the last failure, if there was any."""
        if self._course.problem is not None:
            raise self._course.problem

    def raise_if_nothing_came(self) -> None:
        """Raise what went wrong where there is not a single answer, and nobody cancelled."""
        usage = self.usage
        failed = usage.failed > 0 or usage.stopped == "endpoint"
        if failed and usage.stopped != "cancelled" and not usage.answered + usage.cached:
            self.raise_problem()

    async def _held(self, keys: Collection[str]) -> dict[str, Reply]:
        return {} if self.stopped == "cancelled" else await self._cache.find(keys)

    def _read(self, known: Capabilities, prompt: Prompt[Value], reply: Reply) -> Value | None:
        """The value of a reply that was kept."""
        value = prompt.read(reply, True)
        if value is not None:
            self._count("cached", known, prompt, reply)
        return value

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
        await self._course.together(work)

    async def _one(self, known: Capabilities, key: str, prompt: Prompt[Value]) -> Value | None:
        # Of equal questions under way at once, the others wait for the answer to the first.
        async with self._turns.setdefault(key, asyncio.Lock()):
            if (reply := self._cache.own(key)) is not None:
                return self._read(known, prompt, reply)
            async with self._slots:
                if self.stopped:
                    return None
                return await self._asked(known, prompt)

    async def _asked(self, known: Capabilities, prompt: Prompt[Value]) -> Value | None:
        try:
            answered = await self._answering.answer(known, prompt)
        except BudgetReachedError as error:
            self._course.stop("budget", error)
            return None
        except EndpointError as error:
            await self._failed(error)
            return None
        counts = self._tally.counts
        counts["shortened"] += answered.asked is not prompt
        if answered.kept:
            self._count("cached", known, answered.asked, answered.reply)
            return answered.value
        self._course.succeeded()
        self._tally.served[answered.reply.model] += 1
        if answered.value is None:
            counts["unread"] += 1
            return None
        self._count("answered", known, answered.asked, answered.reply)
        self._answering.keep(known, answered)
        return answered.value

    async def _failed(self, error: EndpointError) -> None:
        self._tally.counts["failed"] += 1
        if isinstance(error, UnsupportedError):  # it could yesterday, or the question is odd
            await self._learner.doubt()
        self._course.failed(error)

    # -- counting ----------------------------------------------------------------------

    @property
    def usage(self) -> Usage:
        """The figures until now."""
        problem = "" if self._course.problem is None else str(self._course.problem)
        lost, repeats = self._cache.lost, self._transport.repeats
        return self._tally.usage(self.meter.spent, repeats, lost, self.stopped, problem)

    def _report(self, done: int, total: int) -> None:
        self._tell(RoundProgress(self._tally.counts["rounds"], done, total, self.usage))

    def _count(self, what: str, known: Capabilities, prompt: Prompt[Any], reply: Reply) -> None:
        self._tally.counts[what] += 1
        if known.mode(prompt) == "logprobs" and not reply.options:
            self._tally.counts["without logprobs"] += 1
