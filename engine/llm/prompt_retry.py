"""One prompt to a model: in the form that the endpoint accepts, with shorter texts where they are
too long, and once more where the answer cannot be read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from engine.llm.budget import Meter
from engine.llm.cache import AnswerCache
from engine.llm.capabilities import PROBE, Capabilities, remembered
from engine.llm.endpoint_errors import MOST_CHARS, RefusedError, TooLongError, UnsupportedError
from engine.llm.messages import Message, Prompt, Reply, answer_key, without_reasoning
from storage.answers import AnswerRow, Answers

if TYPE_CHECKING:
    from engine.llm.transport import Transport

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Answered(Generic[Value]):
    """What came of a prompt.

    Attributes:
        value: None when no reply could be read.
        reply: the one that it was read from.
        asked: the prompt as it was sent, with shorter texts where the model could not take those.
        kept: the ledger had the answer.
    """

    value: Value | None
    reply: Reply
    asked: Prompt[Value]
    kept: bool = False


class PromptRetry:
    """Sends the prompts of one run. For one event loop.

    Attributes:
        known: what the model can do; None until :meth:`recall` or :meth:`try_out`.
    """

    def __init__(
        self, transport: Transport, meter: Meter, cache: AnswerCache, store: Answers
    ) -> None:
        self._transport, self._meter, self._cache, self._store = transport, meter, cache, store
        self._endpoint = transport.endpoint
        self._adapting = asyncio.Lock()
        self._refused: int | None = None  # tokens of the shortest question that was too long
        self.known: Capabilities | None = None

    # -- what the model can do ---------------------------------------------------------

    @property
    def can(self) -> Capabilities:
        """What the model can do, as far as is known."""
        return self.known or Capabilities()

    async def recall(self) -> None:
        """Read what was found out in earlier runs. Raises StorageError."""
        self.known = await asyncio.to_thread(remembered, self._store, self._endpoint)

    async def try_out(self) -> None:
        """Find out what the model can do: one small question, or a few where it refuses parts."""
        model, cards = self._endpoint.model, await self._transport.models()
        context = next((card.context for card in cards if card.name == model), None)
        self.known = Capabilities(context=context)
        try:
            reply = await self._complete(PROBE)
        except RefusedError as error:
            names = sorted({card.name for card in cards})
            if not names or model in names:
                raise
            offered = ", ".join(name[:MOST_CHARS] for name in names[:8])
            more = " ..." * (len(names) > 8)
            raise RefusedError(
                error.message, f"{error.remedy} It offers: {offered}{more}."
            ) from None
        # This answer is short; it does not tell whether a question can be answered in time.
        self._transport.responsive = False
        await self._learn(self.can.after(reply))

    async def _learn(self, known: Capabilities) -> None:
        self.known = known
        place = self._endpoint.address, self._endpoint.model
        await asyncio.to_thread(self._store.remember_capabilities, *place, known.to_json())

    async def accepted(
        self, prompt: Prompt[Any], ask: Callable[[Capabilities], Awaitable[Value]]
    ) -> Value:
        """What ``ask`` returns for a form of the prompt that the endpoint accepts; what it refuses
        is left out from then on. Where it refuses every form, nothing is remembered."""
        form = self.can
        try:
            return await ask(form)
        except UnsupportedError as error:
            refusal = error
        async with self._adapting:  # one question finds out for all
            latest = refusal
            if form != self.can:
                form = self.can
                try:
                    return await ask(form)
                except UnsupportedError as error:
                    latest = error
            while (less := form.without(latest.hint, prompt)) is not None:
                form = less
                try:
                    value = await ask(form)
                except UnsupportedError as error:
                    latest = error
                else:
                    await self._learn(form)
                    return value
        raise refusal

    # -- asking ------------------------------------------------------------------------

    def key(self, prompt: Prompt[Any]) -> str:
        """What the answer is kept by: it covers all that is sent."""
        parameters = self.can.parameters(self._endpoint.model, prompt)
        return answer_key(self._endpoint.address, prompt, self.can.mode(prompt), parameters)

    def keep(self, answered: Answered[Any]) -> None:
        """Write an answer to the ledger, soon, as that to the question that was sent."""
        asked, reply = answered.asked, answered.reply
        self._cache.put(
            AnswerRow(
                self.key(asked),
                self._endpoint.address,
                self._endpoint.model,
                asked.name,
                reply.to_json(),
                *(reply.used or (0, 0)),
                datetime.now(UTC),
            )
        )

    async def answer(self, prompt: Prompt[Value]) -> Answered[Value]:
        """Ask, with texts as short as they must be.

        Texts are shortened before a question is sent where one of its length was too long, and
        the ledger is searched for the shortened question. None of this outlasts the run:
        tomorrow's model may take the texts as a whole. Raises as :meth:`Transport.complete`.
        """
        given = prompt
        while True:
            prompt = self._shortened(prompt)
            if prompt is not given and (kept := await self._kept(prompt)) is not None:
                return kept
            try:
                first = await self._complete(prompt)
            except TooLongError:
                if prompt.shorter is None:
                    raise
                size = sum(self.can.size(prompt))
                self._refused = min(size, self._refused or size)
            else:
                return await self._readable(prompt, first)

    def _shortened(self, prompt: Prompt[Value]) -> Prompt[Value]:
        while (
            self._refused is not None
            and prompt.shorter is not None
            and sum(self.can.size(prompt)) >= self._refused
        ):
            prompt = prompt.shorter()
        return prompt

    async def _kept(self, prompt: Prompt[Value]) -> Answered[Value] | None:
        key = self.key(prompt)
        reply = (await self._cache.find([key])).get(key)
        value = None if reply is None else prompt.read(reply, True)
        return None if reply is None or value is None else Answered(value, reply, prompt, kept=True)

    async def _readable(self, prompt: Prompt[Value], first: Reply) -> Answered[Value]:
        """The first reply if it can be read, else the one to the nudge, else the first at last."""
        value = prompt.read(first, False)
        if value is not None:
            return Answered(value, first, prompt)
        said = without_reasoning(first.text)[:200] or "(nothing)"
        turns = (Message("assistant", said), Message("user", prompt.nudge))
        again = replace(prompt, messages=(*prompt.messages, *turns), shorter=None)
        second = await self._complete(again)
        for reply in (second, first):
            if (value := prompt.read(reply, True)) is not None:
                return Answered(value, reply, prompt)
        return Answered(None, second, prompt)

    async def _complete(self, prompt: Prompt[Any]) -> Reply:
        async def ask(known: Capabilities) -> Reply:
            body = known.body(self._endpoint.model, prompt)
            choices = prompt.choices if known.mode(prompt) == "logprobs" else ()
            return await self._transport.complete(body, self._meter, known.size(prompt), choices)

        return await self.accepted(prompt, ask)
