"""One question to a model: shortened where it must be, asked again where it cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from engine.llm.budget import Meter
from engine.llm.cache import AnswerCache
from engine.llm.capabilities import Capabilities
from engine.llm.endpoint_errors import TooLongError
from engine.llm.messages import Message, Prompt, Reply, answer_key, without_reasoning
from storage.answers import AnswerRow

if TYPE_CHECKING:
    from engine.llm.transport import Transport

Value = TypeVar("Value")


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


def _last_reading(prompt: Prompt[Value], replies: Sequence[Reply]) -> Answered[Value]:
    for reply in replies:
        value = prompt.read(reply, True)
        if value is not None:
            return Answered(value, reply, prompt)
    return Answered(None, replies[0], prompt)
