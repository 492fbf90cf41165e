"""Rounds of questions to a model: cached, concurrent, within a budget, cancellable.

A failing endpoint raises nothing here: missing answers are None, :attr:`Client.stopped` says why,
and :meth:`Client.raise_problem` raises it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from engine.config import Settings
from engine.errors import StorageError
from engine.jobs.runner import in_foreground
from engine.llm.endpoints import (
    ADDRESS,
    KEY,
    MODEL,
    MOST_CHARS,
    Account,
    Budget,
    BudgetReachedError,
    Connection,
    Endpoint,
    EndpointError,
    Meter,
    NoEndpointError,
    Price,
    RefusedError,
    RoundProgress,
    Stopped,
    TooLongError,
    UnsupportedError,
    find_endpoint,
)
from engine.llm.messages import (
    PROBE,
    Capabilities,
    Message,
    Prompt,
    Reply,
    answer_key,
    remembered,
    without_reasoning,
)
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.models import ModelUsage
from engine.types.people import OPERATOR, Person
from engine.types.reranking import EndpointInfo
from storage.answers import AnswerRow, Answers
from storage.home import Home
from storage.ledger import Ledger
from storage.people import Spending

Value = TypeVar("Value")
log = logging.getLogger("seedlens.llm")
GIVE_UP_AFTER = 8
"""Questions that fail one after the other, without one success, until the run stops."""
WATCH_SECONDS = 0.05  # Between two looks at whether the run was cancelled


class AnswerCache:
    """A store as one run uses it, off the event loop; an answer that cannot be written still
    counts."""

    def __init__(self, store: Answers) -> None:
        self._store = store
        self.own: dict[str, Reply] = {}  # of this run, written already or not
        self._waiting: list[AnswerRow] = []
        self._writer: asyncio.Task[None] | None = None
        # answers that could not be written (a full disk, say); they count in this run
        self.lost = 0

    async def find(self, keys: Collection[str]) -> dict[str, Reply]:
        """Replies that are there, by key. Raises StorageError, before anything was paid for."""
        own = {key: self.own[key] for key in keys if key in self.own}
        others = [key for key in keys if key not in own]
        stored = await asyncio.to_thread(self._store.find, others) if others else {}
        return own | {key: Reply.from_json(answer) for key, answer in stored.items()}

    def put(self, row: AnswerRow, reply: Reply) -> None:
        """Write an answer, together with those that come in while others are written."""
        self._waiting.append(row)
        self.own[row.key] = reply
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def flush(self) -> None:
        """Return when everything is written."""
        if self._writer is not None:
            # Shielded: a run that is cancelled keeps the answers that it has paid for.
            await asyncio.shield(self._writer)

    async def _write(self) -> None:
        while self._waiting:
            rows, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._store.add, rows)
            except StorageError as error:
                self.lost += len(rows)
                log.warning("Answers could not be kept: %s", error)


class Client:
    """Asks one model for one run, in the running event loop; close it there. While :meth:`watch`
    runs, ``cancelled`` ends the run, requests under way included; ``tell`` hears of settled
    questions."""

    def __init__(
        self,
        connection: Connection,
        store: Answers,
        cancelled: Ask,
        tell: Callable[[RoundProgress], None],
    ) -> None:
        self._endpoint, self._store = connection.endpoint, store
        from engine.llm.transport import Transport  # late: openai takes a second

        self._transport = Transport(connection)
        self._cancelled, self._tell = cancelled, tell
        self._cache = AnswerCache(store)
        self._meter = Meter(connection.budget, connection.account)
        self._known: Capabilities | None = None  # what the model can do, once that is found out
        self._refused = math.inf  # tokens of the shortest question that was too long
        self.concurrency = max(1, connection.concurrency)  # questions that are under way at once
        self._slots = asyncio.Semaphore(self.concurrency)
        self._learning, self._adapting = asyncio.Lock(), asyncio.Lock()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._started = time.perf_counter()
        self._counts: Counter[str] = Counter()  # questions, by the names of ModelUsage
        self._served: Counter[str] = Counter()  # replies, by the model said to have answered
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures_in_a_row = 0
        self._unread = ""  # the first answer that could not be read
        self._problem: EndpointError | None = None  # what stopped the run, else the last failure
        self.stopped: Stopped = ""  # why no more questions go out; "" while they do

    async def close(self) -> None:
        """Write what is left to write, and let the connections go."""
        await self._cache.flush()
        await self._transport.close()

    # -- asking ------------------------------------------------------------------------

    async def ask(self, prompts: Sequence[Prompt[Value]]) -> list[Value | None]:
        """Answers in the order of the questions, None where there is none; equal questions are
        asked once. StorageError, with nothing asked, where the ledger cannot be read."""
        if not prompts:
            return []
        self._counts["rounds"] += 1
        if await self._capabilities() is None:
            self._counts["asked"] += len(prompts)
            return [None] * len(prompts)
        keys = [self._key(prompt) for prompt in prompts]
        questions = dict(zip(keys, prompts, strict=True))
        self._counts["asked"] += len(questions)
        replies = {} if self.stopped == "cancelled" else await self._cache.find(questions)
        read = {key: self._read(questions[key], reply) for key, reply in replies.items()}
        answers = {key: value for key, value in read.items() if value is not None}
        missing = {key: p for key, p in questions.items() if key not in answers}
        self._report(len(answers), len(questions))

        async def settle(key: str, prompt: Prompt[Value]) -> None:
            value = await self._answer_once(key, prompt)
            if value is not None:
                answers[key] = value
            settled.append(key)
            self._report(len(questions) - len(missing) + len(settled), len(questions))

        settled: list[str] = []
        if not self.stopped:
            await self._run_all([settle(key, prompt) for key, prompt in missing.items()])
        return [answers.get(key) for key in keys]

    async def say(
        self, messages: Sequence[Message], on_piece: Callable[[str], None], most_tokens: int
    ) -> None:
        """One answer, given to ``on_piece`` as it comes, reasoning included; nothing is kept. Ends
        early when the run is cancelled; what came before an EndpointError stays valid."""
        prompt = Prompt("streamed/1", tuple(messages), lambda *_: "", "", most_tokens)
        self._counts["rounds"] += 1
        self._counts["asked"] += 1
        failures = self._counts["failed"]

        async def listen() -> None:
            async with self._slots:
                if not self.stopped:
                    with self._noting_failures():
                        reply = await self._complete(prompt, on_piece)
                        self._failures_in_a_row = 0
                        self._counts["answered"] += 1
                        self._counts["cut"] += reply.cut

        known = await self._capabilities()
        if known is not None:
            await self._run_all([listen()])
        failed = known is None or self._counts["failed"] > failures
        if failed or self.stopped in ("budget", "endpoint"):
            self.raise_problem()

    async def context(self) -> int | None:
        """Tokens for a question and its answer, thinking aside; None for unknown."""
        known = await self._capabilities()
        return None if known is None else known.room

    async def offered(self) -> list[str]:
        """Names of the models that the endpoint lists; empty where it lists none."""
        return list(await self._transport.models())

    async def try_out(self) -> None:
        """Find out again what the model can do; what was remembered stays where that fails."""
        async with self._learning:
            await self._run_all([self._find_out()])

    # -- what the model can do ---------------------------------------------------------

    async def _capabilities(self) -> Capabilities | None:
        """What the model can do, remembered or tried out once; None where the run stopped."""
        async with self._learning:
            if self._cancelled():
                self._stop("cancelled")
            if self._known is None:
                self._known = await asyncio.to_thread(remembered, self._store, self._endpoint)
            if self._known is None and not self.stopped:
                await self._run_all([self._find_out()])
            return self._known

    async def _find_out(self) -> None:
        """Try out what the model can do: one small question, or a few where it refuses parts."""
        model, contexts = self._endpoint.model, await self._transport.models()
        self._known = Capabilities(context=contexts.get(model))
        try:
            reply = await self._complete(PROBE)
            # This answer is short; it does not tell whether a question can be answered in time.
            self._transport.responsive = False
            await self._learn(self._can.after(reply))
        except EndpointError as error:
            self._known = None
            if isinstance(error, RefusedError) and contexts and model not in contexts:
                offered = ", ".join(name[:MOST_CHARS] for name in sorted(contexts)[:8])
                offered += " ..." * (len(contexts) > 8)
                error = RefusedError(error.message, f"{error.remedy} It offers: {offered}.")
            self._stop("budget" if isinstance(error, BudgetReachedError) else "endpoint", error)

    @property
    def _can(self) -> Capabilities:
        return self._known or Capabilities()

    async def _learn(self, known: Capabilities) -> None:
        self._known = known
        place = self._endpoint.address, self._endpoint.model
        await asyncio.to_thread(self._store.remember_capabilities, *place, known.to_json())

    def _key(self, prompt: Prompt[Any]) -> str:
        parameters = self._can.parameters(self._endpoint.model, prompt)
        return answer_key(self._endpoint.address, prompt, self._can.mode(prompt), parameters)

    # -- one question ------------------------------------------------------------------

    async def _complete(
        self, prompt: Prompt[Any], on_piece: Callable[[str], None] | None = None
    ) -> Reply:
        """The reply to the first form of the prompt that is accepted, which is remembered."""

        async def send(form: Capabilities) -> Reply:
            body, size = form.body(self._endpoint.model, prompt), form.size(prompt)
            choices = prompt.choices if form.mode(prompt) == "logprobs" else ()
            return await self._transport.complete(body, self._meter, size, choices, on_piece)

        form = self._can
        try:
            return await send(form)
        except UnsupportedError as error:
            refusal = error
        async with self._adapting:  # one question finds out for all
            less = self._can if form != self._can else form.without(refusal.hint, prompt)
            while less is not None:
                try:
                    reply = await send(less)
                except UnsupportedError as error:
                    less = less.without(error.hint, prompt)
                    continue
                if less != self._can:
                    await self._learn(less)
                return reply
        raise refusal

    async def _answer_once(self, key: str, prompt: Prompt[Value]) -> Value | None:
        # Of equal questions under way at once, the others wait for the answer to the first.
        async with self._locks.setdefault(key, asyncio.Lock()):
            if (reply := self._cache.own.get(key)) is not None:
                return self._read(prompt, reply)
            async with self._slots:
                if not self.stopped:
                    with self._noting_failures():
                        return await self._answer(prompt)
        return None

    async def _answer(self, prompt: Prompt[Value]) -> Value | None:
        """Ask with texts as short as needed: shortened lengths are remembered for this run only."""
        given = prompt
        while True:
            while prompt.shorter is not None and sum(self._can.size(prompt)) >= self._refused:
                prompt = prompt.shorter()
            if prompt is not given:
                key = self._key(prompt)
                kept = (await self._cache.find([key])).get(key)
                value = None if kept is None else self._read(prompt, kept)
                if value is not None:
                    self._counts["shortened"] += 1
                    return value
            try:
                first = await self._complete(prompt)
                break
            except TooLongError:
                if prompt.shorter is None:
                    raise
                self._refused = min(sum(self._can.size(prompt)), self._refused)
        reading = self._readable(prompt, first)  # by itself, for the type of its value
        answer, reply = await reading
        self._counts["shortened"] += prompt is not given
        self._failures_in_a_row = 0
        self._served[reply.model] += 1
        if answer is None:
            self._counts["unread"] += 1
            self._unread = self._unread or _brief(reply)
            return None
        self._count("answered", prompt, reply)
        place = self._key(prompt), self._endpoint.address, self._endpoint.model
        used = reply.used or (0, 0)
        row = AnswerRow(*place, prompt.name, reply.to_json(), *used, datetime.now(UTC))
        self._cache.put(row, reply)
        return answer

    async def _readable(self, prompt: Prompt[Value], first: Reply) -> tuple[Value | None, Reply]:
        """The value from the first reply, else from the nudged one, else the first as it is."""
        value = prompt.read(first, False)
        if value is not None:
            return value, first
        turns = (Message("assistant", _brief(first)), Message("user", prompt.nudge))
        again = replace(prompt, messages=(*prompt.messages, *turns), shorter=None)
        second = await self._complete(again)
        for reply in (second, first):
            if (value := prompt.read(reply, True)) is not None:
                return value, reply
        return None, second

    def _read(self, prompt: Prompt[Value], reply: Reply) -> Value | None:
        value = prompt.read(reply, True)
        if value is not None:
            self._count("cached", prompt, reply)
        return value

    # -- stopping ----------------------------------------------------------------------

    def raise_problem(self) -> None:
        """Raise what stopped the run, or else the last failure, if there was any."""
        if self._problem is not None:
            raise self._problem

    def raise_if_nothing_came(self, since: ModelUsage | None = None) -> ModelUsage:
        """ModelUsage, since then; raises the problem where there is no answer at all and nobody
        cancelled."""
        usage = self.usage if since is None else self.usage.since(since)
        failed = usage.failed > 0 or usage.stopped == "endpoint"
        if failed and usage.stopped != "cancelled" and not usage.answered + usage.cached:
            self.raise_problem()
        return usage

    async def watch(self) -> None:
        """Stop the run once it is cancelled."""
        while not self._cancelled():
            await asyncio.sleep(WATCH_SECONDS)
        self._stop("cancelled")

    def _stop(self, reason: Stopped, problem: EndpointError | None = None) -> None:
        """Ask nothing more; the first reason counts. But for a budget, what is under way ends."""
        if not self.stopped:
            self.stopped, self._problem = reason, problem or self._problem
        if reason != "budget":
            for task in self._tasks - {asyncio.current_task()}:
                task.cancel()

    @contextmanager
    def _noting_failures(self) -> Iterator[None]:
        """Stop the run after a failure that makes further questions useless."""
        try:
            yield
        except BudgetReachedError as error:
            self._stop("budget", error)
        except EndpointError as error:
            self._counts["failed"] += 1
            self._failures_in_a_row += 1
            self._problem = error
            if isinstance(error, RefusedError) or self._failures_in_a_row >= GIVE_UP_AFTER:
                self._stop("endpoint", error)

    async def _run_all(self, work: Sequence[Coroutine[Any, Any, None]]) -> None:
        """Run all concurrently; :meth:`_stop` cancels them."""
        tasks = {asyncio.create_task(one) for one in work}
        self._tasks |= tasks
        try:
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(result, BaseException) and not isinstance(
                    result, asyncio.CancelledError
                ):
                    raise result  # no error of the endpoint
        finally:
            self._tasks -= tasks

    # -- counting ----------------------------------------------------------------------

    @property
    def usage(self) -> ModelUsage:
        """The figures until now."""
        own = ("rounds", "asked", "answered", "cached", "failed", "unread", "shortened")
        return replace(
            self._meter.usage,
            endpoint=self._endpoint.address,
            model=self._endpoint.model,
            repeats=self._transport.repeats,
            seconds=time.perf_counter() - self._started,
            stopped=self.stopped,
            problem="" if self._problem is None else str(self._problem),
            notes=tuple(self._notes()),
            **{name: self._counts[name] for name in own},
        )

    def _notes(self) -> list[str]:
        notes = []
        asked = self._endpoint.model
        # Endpoints answer an alias with a dated name, a path with its end.
        pairs = ((model, model.lower(), asked.lower()) for model in self._served)
        others = [model for model, one, other in pairs if one not in other and other not in one]
        if others:
            notes.append(
                f"Asked for '{asked}', answered by '{others[0]}': the endpoint may have another "
                "model loaded."
            )
        if without := self._counts["without logprobs"]:
            notes.append(
                f"{without:,} answers came without log probabilities; they count as 0 or 1."
            )
        if self._unread:
            shown = "".join(c if c.isprintable() else " " for c in self._unread)
            example = " ".join(shown.split())
            notes.append(f"Example of an invalid response: “{example}”")
        if self._counts["cut"]:
            notes.append("The answer was cut off: it reached the most that is asked for.")
        if lost := self._cache.lost:
            notes.append(f"{lost:,} answers could not be kept in the ledger.")
        return notes

    def _report(self, done: int, total: int) -> None:
        self._tell(RoundProgress(done, total, self.usage))

    def _count(self, what: str, prompt: Prompt[Any], reply: Reply) -> None:
        self._counts[what] += 1
        if self._can.mode(prompt) == "logprobs" and not reply.options:
            self._counts["without logprobs"] += 1


def _brief(reply: Reply) -> str:
    """The beginning of an answer."""
    return without_reasoning(reply.text)[:200] or "(nothing)"


# -- for callers that are not asynchronous: pages and the command line --------------------


async def ask_groups(
    ask: Callable[[Sequence[Prompt[Value]]], Awaitable[Sequence[Value | None]]],
    groups: Sequence[Sequence[Prompt[Value]]],
) -> list[list[Value] | None]:
    """One round about groups of questions, such as the parts of documents; None for a group without
    an answer to one of them."""
    answers = iter(await ask([prompt for group in groups for prompt in group]))
    found = [[next(answers) for _ in group] for group in groups]
    whole = [[answer for answer in group if answer is not None] for group in found]
    return [w if len(w) == len(group) else None for w, group in zip(whole, groups, strict=True)]


Work = Callable[[Client], Awaitable[Value]]
"""What a run does with its client; it returns what it has when ``client.stopped`` is set."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What a run returned, and what it took. ``usage.stopped`` says whether it is partial."""

    value: Value
    usage: ModelUsage


def finish(work: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine to its end; in a new thread where this one has a loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as other:
        return other.submit(asyncio.run, work).result()


def ask_model(
    connection: Connection,
    store: Answers,
    work: Work[Value],
    tell: Callable[[RoundProgress], None] = tell_nobody,
    cancelled: Ask = never,
    *,
    raises: bool = True,
) -> Outcome[Value]:
    """Run ``work`` with a model in this thread; with ``raises`` EndpointError where no answer
    came."""

    async def run() -> Outcome[Value]:
        client = Client(connection, store, cancelled, tell)
        watching = asyncio.create_task(client.watch())
        try:
            value = await work(client)
            if raises:
                client.raise_if_nothing_came()
            return Outcome(value, client.usage)
        finally:
            watching.cancel()
            await client.close()

    return finish(run())


def complete(
    connection: Connection,
    store: Answers,
    work: Work[Value],
    tell: Callable[[RoundProgress], None] = tell_nobody,
    cancelled: Ask = never,
) -> Outcome[Value]:
    """:func:`ask_model` for a command: Ctrl-C cancels and gives the outcome so far, a second one is
    a KeyboardInterrupt."""
    return in_foreground(
        lambda stop: ask_model(connection, store, work, tell, lambda: stop() or cancelled())
    )


def ask_once(
    connection: Connection, store: Answers, prompt: Prompt[Value], nothing: EndpointError
) -> tuple[Value, ModelUsage]:
    """The answer to one question; raises ``nothing`` where it cannot be used."""

    async def work(client: Client) -> Value | None:
        [answer] = await client.ask([prompt])
        if answer is None:
            client.raise_problem()
        return answer

    done = complete(connection, store, work)
    if done.value is None:
        raise nothing
    return done.value, done.usage


# -- how to connect an endpoint --------------------------------------------------------------------

HOW = (
    f"Hosted: set {ADDRESS} to the provider's address (https://api.openai.com/v1, say), {KEY} "
    f"and {MODEL}.",
    f"vLLM: run `vllm serve MODEL`, then set {ADDRESS}=http://localhost:8000/v1 and {MODEL}=MODEL.",
    f"Ollama: run `ollama pull MODEL`, then set {ADDRESS}=http://localhost:11434/v1 and "
    f"{MODEL}=MODEL.",
)
_ENTER = (
    f"Set {ADDRESS} (http://localhost:11434/v1, say), {KEY} if it needs one, and {MODEL}; or enter "
    "them on the page."
)


def connect(
    settings: Settings,
    endpoint: Endpoint | None = None,
    most_calls: int | None = None,
    person: Person = OPERATOR,
) -> Connection:
    """The connection to an endpoint, with the budgets of the settings for the run and the person's
    day."""
    endpoint = endpoint or find_endpoint(settings)
    if endpoint is None:
        raise NoEndpointError("This needs a language model, and none is connected.", _ENTER)
    if not person.is_operator:
        endpoint = replace(endpoint, person=person)
    price, prices = None, (settings.llm_input_price, settings.llm_output_price)
    if prices != (None, None):
        price = Price(*(one or 0.0 for one in prices))
    account = None
    daily = settings.llm_daily_calls, settings.llm_daily_tokens, settings.llm_daily_cost
    if daily != (None, None, None) and not endpoint.person.is_operator:
        home, url = Home(settings.home), settings.ledger_url.get_secret_value()
        spending = _spending(home, settings.ledger_wait_seconds, url)
        account = Account(endpoint.person.address, Budget(*daily, price), spending)
    limits = [limit for limit in (most_calls, settings.llm_max_calls) if limit is not None]
    calls = min(limits, default=None)
    return Connection(
        endpoint,
        Budget(calls, settings.llm_max_tokens, settings.llm_max_cost, price),
        settings.llm_concurrency,
        settings.llm_timeout_seconds,
        settings.llm_retries,
        account,
    )


@lru_cache(maxsize=8)
def _spending(home: Home, wait_seconds: float, url: str) -> Spending:
    return Ledger(home.ledger, wait_seconds, url).spending


def describe(settings: Settings, store: Answers, endpoint: Endpoint | None = None) -> EndpointInfo:
    """What is known of an endpoint (None: of the settings') without asking it."""
    problem = "No language model is connected."
    try:
        endpoint = endpoint or find_endpoint(settings)
    except EndpointError as error:
        problem = str(error)
    if endpoint is None:
        return EndpointInfo("", "", set_up=False, problem=problem, how=HOW)
    info = EndpointInfo(endpoint.address, endpoint.model, set_up=True, how=HOW)
    known = remembered(store, endpoint)
    if known is None:
        return info
    return replace(
        info, tried=True, logprobs=known.logprobs > 0, reasons=known.reasons, context=known.context
    )


def try_endpoint(connection: Connection, store: Answers) -> None:
    """Find out again what the endpoint can do; what is remembered stays on an EndpointError."""

    async def work(client: Client) -> None:
        await client.try_out()
        client.raise_problem()

    complete(connection, store, work)
