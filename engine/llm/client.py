"""Rounds of questions to a model: cached, concurrent, within a budget, to be cancelled any time.

A failing endpoint is no exception here: what was answered stays usable, the rest is None, and
:attr:`Client.stopped` says why. Callers that need an answer ask :meth:`Client.raise_problem`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakValueDictionary

from engine.errors import StorageError
from engine.llm.budget import Meter, RoundProgress, Stopped, Usage
from engine.llm.cache import AnswerCache
from engine.llm.capabilities import Capabilities, remembered, try_out
from engine.llm.endpoint_errors import (
    BudgetReachedError,
    EndpointError,
    RefusedError,
    TooLongError,
    UnsupportedError,
)
from engine.llm.endpoints import Connection
from engine.llm.messages import (
    Message,
    Prompt,
    ReasoningFilter,
    Reply,
    answer_key,
    without_reasoning,
)
from engine.types.callbacks import Ask, never, tell_nobody
from storage.answers import AnswerRow, Answers

if TYPE_CHECKING:
    from engine.llm.transport import Transport

Value = TypeVar("Value")

STREAMED_TOKENS = 1500
GIVE_UP_AFTER = 8
"""Questions that fail one after the other, without one success, until the run stops."""
WATCH_SECONDS = 0.05
"""Between two looks at whether the run was cancelled."""


class RunControl:
    """When one run stops, and what stops with it. For one event loop.

    Attributes:
        stopped: why no more questions go out; "" while they do.
        problem: what stopped the run, or else the last failure.

    Args:
        cancelled: asked many times a second; True ends the run.
    """

    def __init__(self, cancelled: Ask) -> None:
        self._cancelled = cancelled
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures_in_a_row = 0
        self.problem: EndpointError | None = None
        self.stopped: Stopped = ""

    def check_cancelled(self) -> None:
        """Stop if the run was cancelled."""
        if self._cancelled():
            self.stop("cancelled")

    def stop(self, reason: Stopped, problem: EndpointError | None = None) -> None:
        """Ask nothing more; the first reason counts."""
        if not self.stopped:
            self.stopped, self.problem = reason, problem or self.problem

    def succeeded(self) -> None:
        """A question was answered."""
        self._failures_in_a_row = 0

    def failed(self, error: EndpointError) -> None:
        """A question was not answered; the run stops where asking on is no use."""
        self._failures_in_a_row += 1
        self.problem = error
        if isinstance(error, RefusedError) or self._failures_in_a_row >= GIVE_UP_AFTER:
            self.stop("endpoint", error)
            self._cancel_tasks()

    async def run_all(self, work: Sequence[Coroutine[Any, Any, None]]) -> None:
        """Run all at once; on a stop, those under way are cancelled."""
        tasks = {asyncio.create_task(one) for one in work}
        self._tasks |= tasks
        watcher = asyncio.create_task(self._watch())
        try:
            done, _ = await asyncio.wait(tasks)
            for task in done:
                if not task.cancelled():
                    task.result()  # raise what is no error of the endpoint
        finally:
            for task in (watcher, *tasks):
                task.cancel()
            await asyncio.gather(watcher, *tasks, return_exceptions=True)
            self._tasks -= tasks

    def _cancel_tasks(self) -> None:
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()

    async def _watch(self) -> None:
        while not self._cancelled():
            await asyncio.sleep(WATCH_SECONDS)
        self.stop("cancelled")
        self._cancel_tasks()


class CapabilityLookup:
    """What the model can do: remembered, or else tried out. For one event loop."""

    def __init__(
        self, transport: Transport, store: Answers, control: RunControl, meter: Meter
    ) -> None:
        self._transport, self._store = transport, store
        self._control, self._meter = control, meter
        self._known: Capabilities | None = None
        self._lock = asyncio.Lock()
        self._doubtful = False

    async def capabilities(self, *, sure: bool = False) -> Capabilities | None:
        """What the model can do; None when that could not be found out (the run stopped).

        Args:
            sure: try it out anew if that is in doubt. Where the trial fails, the run stops and
                what is in doubt is returned: kept answers are found by it.

        Raises:
            StorageError: the ledger cannot be read.
        """
        async with self._lock:
            self._control.check_cancelled()
            if self._known is None:
                self._known = await asyncio.to_thread(
                    remembered, self._store, self._transport.endpoint
                )
                if self._known is not None:
                    self._transport.streams = self._known.streams
                    self._transport.stream_usage = self._known.stream_usage
            if self._known is None or (sure and self._known.doubtful):
                await self._try_out()
            return self._known

    async def try_out(self) -> None:
        """Try out what the model can do even if that is known; it stays known on a failure."""
        async with self._lock:
            self._control.check_cancelled()
            await self._try_out()

    def mark_doubtful(self) -> None:
        """Have it tried out anew before the next run's first question: it may have changed.

        What is known stays until then, for the answers in the ledger are kept by it.
        """
        self._doubtful = True

    async def close(self) -> None:
        """Remember what this run has found out besides: doubts, and how streams were refused."""
        if self._known is None:
            return
        now = replace(
            self._known,
            streams=self._transport.streams,
            stream_usage=self._transport.stream_usage,
            doubtful=self._known.doubtful or self._doubtful,
        )
        if now != self._known:
            with suppress(StorageError):
                await asyncio.to_thread(self._remember, now)

    async def _try_out(self) -> None:
        if not self._control.stopped:
            await self._control.run_all([self._trial()])

    async def _trial(self) -> None:
        try:
            self._known = await try_out(self._transport, self._meter)
        except BudgetReachedError as error:
            self._control.stop("budget", error)
        except EndpointError as error:
            self._control.stop("endpoint", error)
        else:
            self._doubtful = False
            await asyncio.to_thread(self._remember, self._known)

    def _remember(self, known: Capabilities) -> None:
        endpoint = self._transport.endpoint
        self._store.remember_capabilities(endpoint.address, endpoint.model, known.to_json())


def _same_model(served: str, asked: str) -> bool:
    """Endpoints answer an alias with a dated name, a path with its last part, and so on."""
    served, asked = served.lower(), asked.lower()
    return asked in served or served in asked


@dataclass(frozen=True, slots=True)
class Answered(Generic[Value]):
    """What came of a question.

    Attributes:
        value: None when no reply could be read.
        reply: the one that it was read from.
        asked: the question as it was sent: with shorter texts than the one that was put, where
            the model could not take those.
        kept: the ledger knew the answer.
    """

    value: Value | None
    reply: Reply
    asked: Prompt[Value]
    kept: bool = False


class Questioner:
    """Sends the questions of one run. For one event loop."""

    def __init__(self, transport: Transport, meter: Meter, cache: AnswerCache) -> None:
        self._transport, self._meter, self._cache = transport, meter, cache
        self._endpoint = transport.endpoint
        self._refused: int | None = None  # tokens of the shortest question that was too long

    def key(self, known: Capabilities, prompt: Prompt[Any]) -> str:
        """What the answer is kept by: it covers all that is sent."""
        parameters = known.parameters(self._endpoint.model, prompt)
        return answer_key(self._endpoint.address, prompt, known.mode(prompt), parameters)

    def keep(self, known: Capabilities, answered: Answered[Any]) -> None:
        """Write an answer to the ledger, soon, as that to the question that was sent."""
        place = (self._endpoint.address, self._endpoint.model)
        asked, reply = answered.asked, answered.reply
        row = AnswerRow(
            self.key(known, asked),
            *place,
            asked.name,
            reply.to_json(),
            *(reply.used or (0, 0)),
            datetime.now(UTC),
        )
        self._cache.put(row)

    async def answer(self, known: Capabilities, prompt: Prompt[Value]) -> Answered[Value]:
        """Ask, with texts as short as they must be.

        Texts are shortened before a question is sent where one of its length was too long, and
        the ledger is looked into for the shortened question. None of this outlasts the run:
        tomorrow's model may take the texts as a whole.

        Raises:
            EndpointError: there is no answer; see :meth:`Transport.complete`.
        """
        given = prompt
        while True:
            prompt = self._shortened(known, prompt)
            if prompt is not given and (kept := await self._kept(known, prompt)) is not None:
                return kept
            try:
                first = await self._complete(known, prompt)
            except TooLongError:
                if prompt.shorter is None:
                    raise
                size = sum(known.size(prompt))
                self._refused = min(size, self._refused or size)
            else:
                return await self._readable(known, prompt, first)

    def _shortened(self, known: Capabilities, prompt: Prompt[Value]) -> Prompt[Value]:
        while (
            self._refused is not None
            and prompt.shorter is not None
            and sum(known.size(prompt)) >= self._refused
        ):
            prompt = prompt.shorter()
        return prompt

    async def _kept(self, known: Capabilities, prompt: Prompt[Value]) -> Answered[Value] | None:
        key = self.key(known, prompt)
        reply = (await self._cache.find([key])).get(key)
        value = None if reply is None else prompt.read(reply, True)
        return None if reply is None or value is None else Answered(value, reply, prompt, kept=True)

    async def _readable(
        self, known: Capabilities, prompt: Prompt[Value], first: Reply
    ) -> Answered[Value]:
        """The first reply if it can be read, else the one to the nudge, else the first at last."""
        value = prompt.read(first, False)
        if value is not None:
            return Answered(value, first, prompt)
        said = without_reasoning(first.text)[:200] or "(nothing)"
        turns = (Message("assistant", said), Message("user", prompt.nudge))
        again = replace(prompt, messages=(*prompt.messages, *turns), shorter=None)
        second = await self._complete(known, again)
        return _last_reading(prompt, (second, first))

    async def _complete(self, known: Capabilities, prompt: Prompt[Any]) -> Reply:
        body = known.body(self._endpoint.model, prompt)
        choices = prompt.choices if known.mode(prompt) == "logprobs" else ()
        return await self._transport.complete(body, self._meter, known.size(prompt), choices)


def _text(reply: Reply, _: bool) -> str | None:
    return reply.text


def _last_reading(prompt: Prompt[Value], replies: Sequence[Reply]) -> Answered[Value]:
    for reply in replies:
        value = prompt.read(reply, True)
        if value is not None:
            return Answered(value, reply, prompt)
    return Answered(None, replies[0], prompt)


@asynccontextmanager
async def open_client(
    connection: Connection,
    store: Answers,
    cancelled: Ask = never,
    tell: Callable[[RoundProgress], None] = tell_nobody,
) -> AsyncIterator[Client]:
    """A client for one run, in the event loop that runs now.

    Args:
        cancelled: asked many times a second; True ends the run, requests under way included.
        tell: called after every settled question.
    """
    from engine.llm.transport import Transport  # the openai client: half a second to load

    transport = Transport(connection.endpoint, connection.retries)
    client = Client(connection, transport, store, cancelled, tell)
    try:
        yield client
    finally:
        await client.close()


class Client:
    """Asks one model for one run. See :func:`open_client`."""

    def __init__(
        self,
        connection: Connection,
        transport: Transport,
        store: Answers,
        cancelled: Ask,
        tell: Callable[[RoundProgress], None],
    ) -> None:
        self._endpoint = connection.endpoint
        self._transport = transport
        self._cache = AnswerCache(store, self._endpoint)
        self._control = RunControl(cancelled)
        self._tell = tell
        self._slots = asyncio.Semaphore(max(1, connection.concurrency))
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._started = time.perf_counter()
        self._counts: Counter[str] = Counter()  # questions, by the names of Usage
        self._served: Counter[str] = Counter()  # replies, by the model said to have answered
        self._meter = Meter(connection.budget)
        self._lookup = CapabilityLookup(transport, store, self._control, self._meter)
        self._questioner = Questioner(transport, self._meter, self._cache)

    @property
    def stopped(self) -> Stopped:
        """Why no more questions go out; "" while they do."""
        return self._control.stopped

    async def close(self) -> None:
        """Write what is left to write, and let the connections go."""
        await self._cache.flush()
        await self._lookup.close()
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
        self._counts["rounds"] += 1
        known = await self._lookup.capabilities()
        if known is None:
            self._counts["asked"] += len(prompts)
            return [None] * len(prompts)
        keys = [self._questioner.key(known, prompt) for prompt in prompts]
        replies = await self._kept(keys)
        if known.doubtful and len(replies) < len(set(keys)):
            known = await self._lookup.capabilities(sure=True) or known
            keys = [self._questioner.key(known, prompt) for prompt in prompts]
            replies = await self._kept(keys)
        questions = dict(zip(keys, prompts, strict=True))
        self._counts["asked"] += len(questions)
        read = {key: self._read(known, questions[key], reply) for key, reply in replies.items()}
        answers = {key: value for key, value in read.items() if value is not None}
        missing = {key: p for key, p in questions.items() if key not in answers}
        await self._ask_all(known, missing, answers, len(questions))
        return [answers.get(key) for key in keys]

    async def stream(
        self, messages: Sequence[Message], most_tokens: int = STREAMED_TOKENS
    ) -> AsyncGenerator[str]:
        """One answer, piece by piece, as the model writes it; reasoning before it is left out.

        Nothing is kept. Ends early, without an error, when the run is cancelled.

        Args:
            messages: the conversation so far, system message first; foreign texts fenced.
            most_tokens: the answer's length, reasoning aside.

        Raises:
            EndpointError: the endpoint refused, failed, or broke off; what came before stands.
            BudgetReachedError: the budget does not allow it.
        """
        prompt = Prompt("streamed/1", tuple(messages), _text, nudge="", most_tokens=most_tokens)
        reasoning = ReasoningFilter()
        async with aclosing(self._pieces(prompt)) as pieces:
            async for piece in pieces:
                if text := reasoning.add(piece):
                    yield text
        if rest := reasoning.rest():
            yield rest

    async def _pieces(self, prompt: Prompt[str]) -> AsyncGenerator[str]:
        """The text of one answer, reasoning included, as it comes."""
        self._counts["rounds"] += 1
        self._counts["asked"] += 1
        known = await self._lookup.capabilities(sure=True)
        if known is None:
            self.raise_problem()
            return
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        forwarding = asyncio.create_task(
            self._control.run_all([self._forward(known, prompt, pieces)])
        )
        forwarding.add_done_callback(lambda _: pieces.put_nowait(None))
        failures = self._counts["failed"]
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            await forwarding
        finally:
            forwarding.cancel()
            await asyncio.gather(forwarding, return_exceptions=True)
        if self._counts["failed"] > failures or self.stopped in ("budget", "endpoint"):
            self.raise_problem()

    async def _forward(
        self, known: Capabilities, prompt: Prompt[str], pieces: asyncio.Queue[str | None]
    ) -> None:
        """Ask, and put what comes into ``pieces``."""
        body, size = known.body(self._endpoint.model, prompt), known.size(prompt)
        async with self._slots:
            if self.stopped:
                return
            try:
                async with aclosing(self._transport.stream(body, self._meter, size)) as arriving:
                    async for piece in arriving:
                        pieces.put_nowait(piece)
            except BudgetReachedError as error:
                self._control.stop("budget", error)
            except EndpointError as error:
                self._failed(error)
            else:
                self._control.succeeded()
                self._counts["answered"] += 1

    async def context(self) -> int | None:
        """Tokens for a question and its answer, thinking aside; None where nobody knows."""
        known = await self._lookup.capabilities()
        return None if known is None else known.room

    async def try_out(self) -> None:
        """Find out anew what the model can do; what was known stays where that fails."""
        await self._lookup.try_out()

    def raise_problem(self) -> None:
        """Raise what stopped the run, or else the last failure, if there was any."""
        if self._control.problem is not None:
            raise self._control.problem

    def raise_if_nothing_came(self) -> None:
        """Raise what went wrong where there is not a single answer, and nobody cancelled."""
        usage = self.usage
        failed = usage.failed > 0 or usage.stopped == "endpoint"
        if failed and usage.stopped != "cancelled" and not usage.answered + usage.cached:
            self.raise_problem()

    async def _kept(self, keys: Collection[str]) -> dict[str, Reply]:
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
            value = await self._answer_once(known, key, prompt)
            if value is not None:
                answers[key] = value
            settled.append(key)
            self._report(total - len(missing) + len(settled), total)

        settled: list[str] = []
        work = [settle(key, prompt) for key, prompt in missing.items()]
        await self._control.run_all(work)

    async def _answer_once(
        self, known: Capabilities, key: str, prompt: Prompt[Value]
    ) -> Value | None:
        # Of equal questions under way at once, the others wait for the answer to the first.
        async with self._locks.setdefault(key, asyncio.Lock()):
            if (reply := self._cache.own(key)) is not None:
                return self._read(known, prompt, reply)
            async with self._slots:
                if self.stopped:
                    return None
                return await self._answer(known, prompt)

    async def _answer(self, known: Capabilities, prompt: Prompt[Value]) -> Value | None:
        try:
            answered = await self._questioner.answer(known, prompt)
        except BudgetReachedError as error:
            self._control.stop("budget", error)
            return None
        except EndpointError as error:
            self._failed(error)
            return None
        self._counts["shortened"] += answered.asked is not prompt
        if answered.kept:
            self._count("cached", known, answered.asked, answered.reply)
            return answered.value
        self._control.succeeded()
        self._served[answered.reply.model] += 1
        if answered.value is None:
            self._counts["unread"] += 1
            return None
        self._count("answered", known, answered.asked, answered.reply)
        self._questioner.keep(known, answered)
        return answered.value

    def _failed(self, error: EndpointError) -> None:
        self._counts["failed"] += 1
        if isinstance(error, UnsupportedError):  # it could yesterday, or the question is odd
            self._lookup.mark_doubtful()
        self._control.failed(error)

    # -- counting ----------------------------------------------------------------------

    @property
    def usage(self) -> Usage:
        """The figures until now."""
        problem = self._control.problem
        own = ("rounds", "asked", "answered", "cached", "failed", "unread", "shortened")
        return replace(
            self._meter.usage,
            endpoint=self._endpoint.address,
            model=self._endpoint.model,
            repeats=self._transport.repeats,
            seconds=time.perf_counter() - self._started,
            stopped=self.stopped,
            problem="" if problem is None else str(problem),
            notes=tuple(self._notes()),
            **{name: self._counts[name] for name in own},
        )

    def _notes(self) -> list[str]:
        notes = []
        asked = self._endpoint.model
        others = [model for model in self._served if model and not _same_model(model, asked)]
        if others:
            notes.append(
                f"Asked for '{asked}', answered by '{others[0]}': the endpoint may have another "
                "model loaded."
            )
        if without := self._counts["without logprobs"]:
            notes.append(
                f"{without:,} answers came without log probabilities; they count as 0 or 1."
            )
        if lost := self._cache.lost:
            notes.append(f"{lost:,} answers could not be kept in the ledger.")
        return notes

    def _report(self, done: int, total: int) -> None:
        self._tell(RoundProgress(done, total, self.usage))

    def _count(self, what: str, known: Capabilities, prompt: Prompt[Any], reply: Reply) -> None:
        self._counts[what] += 1
        if known.mode(prompt) == "logprobs" and not reply.options:
            self._counts["without logprobs"] += 1
