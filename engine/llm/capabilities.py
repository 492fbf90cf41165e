"""What an endpoint accepts and gives with a model.

What an endpoint refuses (a limit's name, temperature, system message, JSON schema) is left out, one
thing at a time, and remembered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.llm.messages import Message, Prompt, Reply, read_choice, without_reasoning
from engine.llm.texts import estimate_tokens

if TYPE_CHECKING:
    from engine.llm.endpoints import Endpoint
    from storage.answers import Answers

FORM = 1  # Of what is remembered; another form is tried out again
REASONING_TOKENS = 4096  # Room for thinking before an answer, for models that do so
USUAL_REASONING = 800  # What such thinking takes on the whole: for estimates
TOKENS_PER_MESSAGE = 6
_JSON = "response_format|json_schema|json_object"
PROBE = Prompt(
    name="probe/1",
    messages=(
        Message("system", "Answer with exactly what is asked for."),
        Message("user", "Answer with the one letter A and nothing else."),
    ),
    read=lambda reply, _: read_choice(reply.text, ("A", "B")),
    nudge="",
    most_tokens=16,
    choices=("A", "B"),
)
"""By which an endpoint is tried out."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """How a model can be asked."""

    logprobs: int = 20  # alternatives per token; 0 for none
    schema: bool = True
    json_mode: bool = False  # takes no schema, but can be asked for JSON
    limit: str = "max_tokens"  # parameter that limits an answer; "" for none
    temperature: bool = True
    system: bool = True
    reasons: bool = False  # thinks before it answers
    context: int | None = None  # tokens read and written at once, where reported
    streams: bool = True
    stream_usage: bool = True  # reports the tokens of a streamed answer

    def to_json(self) -> str:
        """What the ledger remembers."""
        return json.dumps({"form": FORM, **asdict(self)}, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Capabilities | None:
        """What :meth:`to_json` wrote; None when that was another form."""
        fields = json.loads(text)
        fields.pop("doubtful", None)  # of earlier versions
        return Capabilities(**fields) if fields.pop("form", None) == FORM else None

    def mode(self, prompt: Prompt[Any]) -> str:
        """``logprobs`` or ``text``: where the answer's value comes from."""
        return "logprobs" if prompt.choices and self.logprobs and not self.reasons else "text"

    def parameters(self, model: str, prompt: Prompt[Any]) -> dict[str, Any]:
        """What decides the answer beside the messages; answers are kept by it."""
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
        elif prompt.schema is not None and self.json_mode:
            parameters["response_format"] = {"type": "json_object"}
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
        """The whole body of the request."""
        messages = [{"role": m.role, "content": m.content} for m in prompt.messages]
        if not self.system and len(messages) > 1 and messages[0]["role"] == "system":
            first = f"{messages[0]['content']}\n\n{messages[1]['content']}"
            messages = [{**messages[1], "content": first}, *messages[2:]]
        body = {**self.parameters(model, prompt), "messages": messages}
        if self.streams:
            body["stream"] = True
            if self.stream_usage:
                body["stream_options"] = {"include_usage": True}
        return body

    def without(self, hint: str, prompt: Prompt[Any]) -> Capabilities | None:
        """Without what a refusal (``hint``, lower case) names, else the likeliest cause; None where
        nothing is left to leave out or the question itself is to blame."""
        lesser = list(self._lesser(prompt))
        streamed = [(r"\bstream(?:s|ed|ing)?\b", replace(self, streams=False))]
        if self.stream_usage:
            whole = replace(self, stream_usage=False)
            streamed.insert(0, ("stream_options|include_usage", whole))
        named = [*lesser, *streamed] if self.streams else lesser
        for name, form in named:
            if re.search(name, hint):
                return form
        if prompt is not PROBE and not (lesser and lesser[0][0] == _JSON):
            return None
        if lesser:
            return lesser[0][1]
        # All of it once more, without a stream.
        return (
            replace(Capabilities(), context=self.context, streams=False) if self.streams else None
        )

    def _lesser(self, prompt: Prompt[Any]) -> Iterator[tuple[str, Capabilities]]:
        """Possible causes of a refusal and how to do without them; the likeliest first."""
        if prompt.schema is not None and (self.schema or self.json_mode):
            yield _JSON, replace(self, schema=False, json_mode=self.schema)
        if self.limit == "max_tokens":
            yield "max_tokens", replace(self, limit="max_completion_tokens")
        elif self.limit and not self.logprobs:
            yield "max_completion_tokens", replace(self, limit="")
        if self.logprobs:
            # Some endpoints give five alternatives at most; more than two are seldom needed.
            yield "logprobs", replace(self, logprobs=5 if self.logprobs > 5 else 0)
        if self.temperature:
            yield "temperature", replace(self, temperature=False)
        if self.system:
            yield "system", replace(self, system=False)
        if not self.reasons:  # some that think call it an error when there is no room to do so
            yield "output limit", replace(self, reasons=True)

    def after(self, reply: Reply) -> Capabilities:
        """With what the reply to :data:`PROBE` shows of the model."""
        thought = reply.reasoned or without_reasoning(reply.text) != reply.text.strip()
        return replace(
            self,
            logprobs=self.logprobs if reply.options else 0,
            reasons=self.reasons or thought or (reply.cut and not reply.text.strip()),
        )


def remembered(store: Answers, endpoint: Endpoint) -> Capabilities | None:
    """What was found out before; None where nothing was. Raises StorageError."""
    text = store.capabilities(endpoint.address, endpoint.model)
    return None if text is None else Capabilities.from_json(text)
