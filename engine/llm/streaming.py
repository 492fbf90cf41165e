"""Answers for people, shown while they are written."""

from __future__ import annotations

import queue
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from engine.llm.cache import AnswerStore
from engine.llm.client import Client
from engine.llm.connection import Connection
from engine.llm.messages import Message, Prompt, Reply
from engine.llm.run import POLL_SECONDS, Run
from engine.llm.usage import Usage

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


class TextStream:
    """A streamed answer for callers that are not asynchronous: iterate over it once.

        stream = TextStream(connection, answers, messages)
        for piece in stream: ...

    Attributes:
        text: what has been said so far.
    """

    def __init__(
        self,
        connection: Connection,
        store: AnswerStore,
        messages: Sequence[Message],
        most_tokens: int = MOST_TOKENS,
    ) -> None:
        self._pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._usage: Usage | None = None
        self.text = ""

        async def work(client: Client) -> None:
            try:
                async for piece in stream_text(client, messages, most_tokens):
                    self.text += piece
                    self._pieces.put(piece)
            finally:
                self._usage = client.usage
                self._pieces.put(None)

        self._run = Run(connection, store, work)

    def __iter__(self) -> Iterator[str]:
        """The pieces as they come; raises as :func:`stream_text` after the last one."""
        try:
            while (piece := self._next()) is not None:
                yield piece
            self._run.result()
        finally:
            self._run.cancel()  # whoever stops listening pays for no more

    def _next(self) -> str | None:
        while True:
            try:
                return self._pieces.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if self._run.done:  # it could not even begin
                    return None

    def cancel(self) -> None:
        """End it soon; the iteration ends after what has come."""
        self._run.cancel()

    @property
    def usage(self) -> Usage | None:
        """What it took; None before its end."""
        return self._usage


def _read(reply: Reply, _: bool) -> str | None:
    return reply.text
