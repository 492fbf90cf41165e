"""What an endpoint can do with a model: tried out once, then remembered.

Endpoints differ in what they accept (``max_tokens`` or ``max_completion_tokens``, a temperature,
a system message), in what they give (log probabilities, which some drop without a word) and in
whether the model thinks before it answers. One question with everything is sent; what is
refused is left out, one thing at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.llm.budget import Meter
from engine.llm.endpoint_errors import (
    MOST_CHARS,
    RefusedError,
    TooLongError,
    UnsupportedError,
)
from engine.llm.messages import Message, Prompt, Reply, read_choice, read_object, without_reasoning
from engine.llm.texts import estimate_tokens

if TYPE_CHECKING:
    from engine.llm.endpoints import Endpoint
    from engine.llm.transport import Transport
    from storage.answers import Answers

FORM = 1
"""Of what is remembered; another form is tried out anew."""
REASONING_TOKENS = 4096
"""Room for thinking before an answer, for models that do so."""
USUAL_REASONING = 800
"""What such thinking takes on the whole: for estimates."""
TOKENS_PER_MESSAGE = 6
_QUESTION = (
    Message("system", "Answer with exactly what is asked for."),
    Message("user", "Answer with the one letter A and nothing else."),
)
_SCHEMA = {
    "type": "object",
    "properties": {"letter": {"type": "string"}},
    "required": ["letter"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """How a model can be asked.

    Attributes:
        logprobs: how many alternatives it tells per token; 0 when it tells none.
        schema: it can be held to a JSON schema.
        limit: the parameter that limits an answer, or "" when there is none.
        temperature: it accepts one.
        system: it accepts a system message.
        reasons: it thinks before it answers.
        streams: it streams its answers.
        stream_usage: it tells what a streamed answer took.
        context: tokens that it can read and write at once, where the endpoint tells.
        doubtful: a request in this form was refused since: it is to be tried out anew.
    """

    logprobs: int = 20
    schema: bool = False
    limit: str = "max_tokens"
    temperature: bool = True
    system: bool = True
    reasons: bool = False
    context: int | None = None
    streams: bool = True
    stream_usage: bool = True
    doubtful: bool = False

    def to_json(self) -> str:
        """What the ledger remembers."""
        return json.dumps({"form": FORM, **asdict(self)}, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Capabilities | None:
        """What :meth:`to_json` wrote; None when that was another form."""
        fields = json.loads(text)
        return Capabilities(**fields) if fields.pop("form", None) == FORM else None

    def mode(self, prompt: Prompt[Any]) -> str:
        """``logprobs`` or ``text``: where the answer's value comes from."""
        return "logprobs" if prompt.choices and self.logprobs and not self.reasons else "text"

    def parameters(self, model: str, prompt: Prompt[Any]) -> dict[str, Any]:
        """The body of the request but for its messages."""
        parameters: dict[str, Any] = {"model": model}
        if self.temperature:
            parameters["temperature"] = 0
        if self.limit:
            parameters[self.limit] = prompt.most_tokens + (REASONING_TOKENS if self.reasons else 0)
        if self.mode(prompt) == "logprobs":
            parameters |= {"logprobs": True, "top_logprobs": self.logprobs}
        if prompt.schema is not None and self.schema:
            parameters["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": dict(prompt.schema)},
            }
        return parameters

    @property
    def room(self) -> int | None:
        """Tokens for a question and its answer, thinking aside; None where nobody knows."""
        if self.context is None:
            return None
        return max(0, self.context - (REASONING_TOKENS if self.reasons else 0))

    def size(self, prompt: Prompt[Any]) -> tuple[int, int]:
        """Tokens (input, output) that a question is expected to take."""
        sent = sum(estimate_tokens(m.content) + TOKENS_PER_MESSAGE for m in prompt.messages)
        return sent, prompt.most_tokens + (USUAL_REASONING if self.reasons else 0)

    def body(self, model: str, prompt: Prompt[Any]) -> dict[str, Any]:
        """The whole body of the request, but for what :class:`Transport` adds for a stream."""
        messages = [{"role": m.role, "content": m.content} for m in prompt.messages]
        if not self.system and len(messages) > 1 and messages[0]["role"] == "system":
            first = f"{messages[0]['content']}\n\n{messages[1]['content']}"
            messages = [{**messages[1], "content": first}, *messages[2:]]
        return {**self.parameters(model, prompt), "messages": messages}


def remembered(store: Answers, endpoint: Endpoint) -> Capabilities | None:
    """What was found out before; None where nothing was. Raises StorageError."""
    text = store.capabilities(endpoint.address, endpoint.model)
    return None if text is None else Capabilities.from_json(text)


async def try_out(transport: Transport, meter: Meter) -> Capabilities:
    """Find out what the endpoint can do; two to ten small requests.

    Raises:
        RefusedError: it does not answer even the plainest request, or has no such model.
        TransientError, BudgetReachedError: as in :meth:`Transport.complete`.
    """
    model = transport.endpoint.model
    transport.streams = transport.stream_usage = True
    cards = await transport.models()
    try:
        accepted, reply = await _accepted(transport, meter, Capabilities())
    except RefusedError as error:
        names = sorted({card.name for card in cards})
        if not names or model in names:
            raise
        offered = ", ".join(name[:MOST_CHARS] for name in names[:8]) + " ..." * (len(names) > 8)
        raise RefusedError(error.message, f"{error.remedy} It offers: {offered}.") from None
    reasons = (
        accepted.reasons or reply.reasoned or without_reasoning(reply.text) != reply.text.strip()
    )
    reasons = reasons or (reply.cut and not reply.text.strip())
    context = next((card.context for card in cards if card.name == model), None)
    known = replace(
        accepted,
        logprobs=accepted.logprobs if reply.options else 0,
        reasons=reasons,
        context=context,
        streams=transport.streams,
        stream_usage=transport.stream_usage,
    )
    known = replace(known, schema=await _keeps_schema(transport, meter, known))
    # These answers are short; they do not tell whether a question can be answered in time.
    transport.responsive = False
    return known


async def _accepted(
    transport: Transport, meter: Meter, wanted: Capabilities
) -> tuple[Capabilities, Reply]:
    """Leave out what is refused until a request is accepted."""
    probe = _probe()
    while True:
        body = wanted.body(transport.endpoint.model, probe)
        try:
            size = wanted.size(probe)
            return wanted, await transport.complete(body, meter, size, probe.choices)
        except UnsupportedError as refusal:
            reduced = list(_reduced(wanted))
            if reduced:
                # The one that the message speaks of, else the likeliest.
                wanted = next((c for name, c in reduced if name in refusal.hint), reduced[0][1])
            elif transport.streams:  # all of it once more, without a stream
                transport.streams, wanted = False, Capabilities()
            else:
                transport.streams = True  # that was not to blame
                raise


def _reduced(wanted: Capabilities) -> Iterator[tuple[str, Capabilities]]:
    """What may be to blame, and how to do without it; the likeliest first."""
    if wanted.limit == "max_tokens":
        yield "max_tokens", replace(wanted, limit="max_completion_tokens")
    elif wanted.limit and not wanted.logprobs:
        yield "max_completion_tokens", replace(wanted, limit="")
    if wanted.logprobs:
        # Some endpoints tell five alternatives at most; more than two are seldom needed.
        yield "logprobs", replace(wanted, logprobs=5 if wanted.logprobs > 5 else 0)
    if wanted.temperature:
        yield "temperature", replace(wanted, temperature=False)
    if wanted.system:
        yield "system", replace(wanted, system=False)
    if not wanted.reasons:  # some that think call it an error when there is no room to do so
        yield "output limit", replace(wanted, reasons=True)


async def _keeps_schema(transport: Transport, meter: Meter, known: Capabilities) -> bool:
    probe = replace(_probe(), choices=(), schema=_SCHEMA, most_tokens=64)
    body = replace(known, schema=True).body(transport.endpoint.model, probe)
    try:
        reply = await transport.complete(body, meter, known.size(probe))
    except (UnsupportedError, TooLongError):
        return False
    value = read_object(reply.text)
    return value is not None and set(value) == {"letter"}


def _probe() -> Prompt[str]:
    return Prompt(
        name="probe/1",
        messages=_QUESTION,
        read=lambda reply, _: read_choice(reply.text, ("A", "B")),
        nudge="",
        most_tokens=16,
        choices=("A", "B"),
    )
