"""Runs for callers that are not asynchronous: pages and the command line.

A run has a thread with an event loop of its own. Whoever started it looks at its progress,
cancels it, or waits for the outcome.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.jobs.runner import in_foreground
from engine.llm.budget import RoundProgress, Usage
from engine.llm.cache import AnswerStore
from engine.llm.client import Client, open_client
from engine.llm.endpoints import Connection
from engine.llm.messages import Message, Prompt, Reply
from engine.types.callbacks import Ask, never, tell_nobody

Value = TypeVar("Value")
Work = Callable[[Client], Awaitable[Value]]
"""What a run does with its client; it returns what it has when ``client.stopped`` is set."""
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What a run returned, and what it took. ``usage.stopped`` says whether it is partial."""

    value: Value
    usage: Usage


class Run(Generic[Value]):
    """Work with a model, under way in a thread. Safe to look at from any thread.

    Attributes:
        progress: of the current round; None before the first.
    """

    def __init__(
        self,
        connection: Connection,
        store: AnswerStore,
        work: Work[Value],
        tell: Callable[[RoundProgress], None] = tell_nobody,
        cancelled: Ask = never,
    ) -> None:
        self._connection, self._store, self._work = connection, store, work
        self._tell, self._cancelled = tell, cancelled
        self._flag = threading.Event()
        # Not the thread's own state: an interrupted join() makes that wrong before Python 3.13.
        self._ended = threading.Event()
        self._outcome: Outcome[Value] | None = None
        self._error: BaseException | None = None
        self.progress: RoundProgress | None = None
        # A daemon: closing the program cancels what is under way; what was answered is kept.
        self._thread = threading.Thread(target=self._main, name="seedlens-llm", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End it soon; requests under way are dropped. The outcome is what there is until then."""
        self._flag.set()

    @property
    def done(self) -> bool:
        """Whether :meth:`result` returns at once."""
        return self._ended.is_set()

    def result(self, timeout: float | None = None) -> Outcome[Value]:
        """The outcome; waits for it.

        Raises:
            TimeoutError: it is not there after ``timeout`` seconds; the run goes on.
            EndpointError: the endpoint refused or failed, and there is not a single answer.
            StorageError: the ledger cannot be read.
        """
        self._ended.wait(timeout)
        if self._error is not None:
            raise self._error
        if self._outcome is None:
            raise TimeoutError(f"the run is not done after {timeout} s")
        return self._outcome

    def _main(self) -> None:
        try:
            self._outcome = asyncio.run(self._run())
        except BaseException as error:  # raised again by result()
            self._error = error
        finally:
            self._ended.set()

    async def _run(self) -> Outcome[Value]:
        def cancelled() -> bool:
            return self._flag.is_set() or self._cancelled()

        def tell(progress: RoundProgress) -> None:
            self.progress = progress
            self._tell(progress)

        async with open_client(self._connection, self._store, cancelled, tell) as client:
            value = await self._work(client)
            usage = client.usage
            client.raise_if_nothing_came()
        return Outcome(value, usage)


def ask_model(
    connection: Connection,
    store: AnswerStore,
    work: Work[Value],
    tell: Callable[[RoundProgress], None] = tell_nobody,
    cancelled: Ask = never,
) -> Outcome[Value]:
    """Run ``work`` with a model in this thread, for a job that has a thread already.

    Raises:
        EndpointError: the endpoint refused or failed, and there is not a single answer.
        StorageError: the ledger cannot be read.
    """

    async def run() -> Outcome[Value]:
        async with open_client(connection, store, cancelled, tell) as client:
            value = await work(client)
            usage = client.usage
            client.raise_if_nothing_came()
        return Outcome(value, usage)

    return asyncio.run(run())


def complete(
    connection: Connection,
    store: AnswerStore,
    work: Work[Value],
    tell: Callable[[RoundProgress], None] = tell_nobody,
    cancelled: Ask = never,
) -> Outcome[Value]:
    """:func:`ask_model` for a command: Ctrl-C cancels it.

    The outcome is what there is until then. A second Ctrl-C is a KeyboardInterrupt.
    """
    return in_foreground(
        lambda stop: ask_model(connection, store, work, tell, lambda: stop() or cancelled())
    )


MOST_TOKENS = 1500
STREAMED = "streamed/1"
_OPENINGS = ("<think>", "<thinking>", "<reasoning>", "<thought>", "[think]")
_LONGEST = max(map(len, _OPENINGS))
_CLOSING = re.compile(r"</(?:think|thinking|reasoning|thought)>|\[/THINK\]", re.IGNORECASE)


async def stream_text(
    client: Client, messages: Sequence[Message], most_tokens: int = MOST_TOKENS
) -> AsyncGenerator[str]:
    """One answer, piece by piece, as the model writes it; reasoning before it is left out.

    Budget, waiting for a busy endpoint and ``client.usage`` are those of every question; the
    answer is not kept. When the run is cancelled the pieces end, and ``client.stopped`` says so.

    Args:
        messages: the conversation so far, system message first; foreign texts fenced.
        most_tokens: the answer's length, reasoning aside.

    Raises:
        EndpointError: the endpoint refused, failed, or broke off; the pieces so far stand.
        BudgetReachedError: the budget does not allow the answer.
    """
    prompt = Prompt(STREAMED, tuple(messages), _read, nudge="", most_tokens=most_tokens)
    visible = Visible()
    async with aclosing(client.stream(prompt)) as pieces:
        async for piece in pieces:
            if text := visible.add(piece):
                yield text
    if rest := visible.rest():
        yield rest


class Visible:
    """Lets through what stands behind the reasoning that a reply may begin with."""

    def __init__(self) -> None:
        self._held = ""
        self._begun = False

    def add(self, piece: str) -> str:
        """What may be shown now that ``piece`` has come."""
        if self._begun:
            return piece
        self._held += piece
        head = self._held.lstrip()[:_LONGEST].lower()
        if any(opening.startswith(head) for opening in _OPENINGS):
            return ""  # it may yet become an opening
        shown = self._behind() if head.startswith(_OPENINGS) else self._held.lstrip()
        self._begun = bool(shown)
        return shown

    def rest(self) -> str:
        """What was held back and turned out to be no reasoning."""
        held = "" if self._begun else self._held.strip()
        return "" if held.lower().startswith(_OPENINGS) else held

    def _behind(self) -> str:
        end = _CLOSING.search(self._held)
        return self._held[end.end() :].lstrip() if end else ""


def _read(reply: Reply, _: bool) -> str | None:
    return reply.text
