"""Rounds of questions to a model: cached, concurrent, within a budget, to be cancelled any time.

A failing endpoint is no exception here: what was answered stays usable, the rest is None, and
:attr:`Client.stopped` says why. Callers that need an answer ask :meth:`Client.raise_problem`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from engine.llm.budget import Meter, RoundProgress, Stopped, Usage
from engine.llm.cache import AnswerCache
from engine.llm.capabilities import Capabilities
from engine.llm.capability_lookup import CapabilityLookup
from engine.llm.endpoint_errors import BudgetReachedError, EndpointError, UnsupportedError
from engine.llm.endpoints import Connection
from engine.llm.messages import Message, Prompt, ReasoningFilter, Reply
from engine.llm.questioner import Questioner
from engine.llm.run_control import RunControl
from engine.types.callbacks import Ask, never, tell_nobody
from storage.answers import Answers

if TYPE_CHECKING:
    from engine.llm.transport import Transport


Value = TypeVar("Value")

STREAMED_TOKENS = 1500


def _same_model(served: str, asked: str) -> bool:
    """Endpoints answer an alias with a dated name, a path with its last part, and so on."""
    served, asked = served.lower(), asked.lower()
    return asked in served or served in asked


def _text(reply: Reply, _: bool) -> str | None:
    return reply.text


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
        self._meter = Meter(connection.budget, connection.account)
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

    async def offered(self) -> list[str]:
        """Names of the models that the endpoint lists; empty where it does not tell."""
        return [card.name for card in await self._transport.models()]

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
        if self._transport.cut:
            notes.append("The answer was cut off: it reached the most that is asked for.")
        if lost := self._cache.lost:
            notes.append(f"{lost:,} answers could not be kept in the ledger.")
        return notes

    def _report(self, done: int, total: int) -> None:
        self._tell(RoundProgress(done, total, self.usage))

    def _count(self, what: str, known: Capabilities, prompt: Prompt[Any], reply: Reply) -> None:
        self._counts[what] += 1
        if known.mode(prompt) == "logprobs" and not reply.options:
            self._counts["without logprobs"] += 1
