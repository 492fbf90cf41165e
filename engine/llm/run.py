"""Runs for callers that are not asynchronous: pages and the command line.

A run has an event loop of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from engine.jobs.runner import in_foreground
from engine.llm.budget import RoundProgress, Usage
from engine.llm.client import Client, open_client
from engine.llm.endpoints import Connection
from engine.types.callbacks import Ask, never, tell_nobody
from storage.answers import Answers

Value = TypeVar("Value")
Work = Callable[[Client], Awaitable[Value]]
"""What a run does with its client; it returns what it has when ``client.stopped`` is set."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What a run returned, and what it took. ``usage.stopped`` says whether it is partial."""

    value: Value
    usage: Usage


def finish(work: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine to its end: in this thread, or in one of its own where this one has a loop.

    That is so in a notebook.
    """
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
) -> Outcome[Value]:
    """Run ``work`` with a model in this thread, for a job that has a thread already. Raises
    EndpointError where the endpoint refused or failed and there is not a single answer."""

    async def run() -> Outcome[Value]:
        async with open_client(connection, store, cancelled, tell) as client:
            value = await work(client)
            usage = client.usage
            client.raise_if_nothing_came()
        return Outcome(value, usage)

    return finish(run())


def complete(
    connection: Connection,
    store: Answers,
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
