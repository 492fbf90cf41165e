"""Questions to a model as records, and how its replies are read.

A reply that cannot be read has no value.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, StringConstraints, ValidationError

from engine.llm.texts import PART_TOKENS, PROMPTS, estimate_tokens, harmless_line

if TYPE_CHECKING:
    from engine.llm.endpoints import Endpoint
    from storage.answers import Answers


Value = TypeVar("Value")
Record = TypeVar("Record", bound=BaseModel)

Line = Annotated[
    str, BeforeValidator(lambda value: harmless_line(value) if isinstance(value, str) else value)
]
"""A field of an answer: a text of one line."""
Words = Annotated[Line, StringConstraints(min_length=1)]
"""One that is not empty."""
LEAST_MASS = 0.5
"""Probability that the choices must have together for their shares to mean something."""
_OPENING = ("<think>", "<thinking>", "<reasoning>", "<thought>", "[think]", "<|channel|>analysis")
_CLOSING = (
    *("</think>", "</thinking>", "</reasoning>", "</thought>", "[/think]"),
    "<|channel|>final<|message|>",
)
"""How reasoning begins and ends; which of them belong together does not matter."""
_BEGINS = re.compile("|".join(map(re.escape, _OPENING)), re.IGNORECASE)
_ENDS = re.compile("|".join(map(re.escape, _CLOSING)), re.IGNORECASE)
_LONGEST = max(map(len, (*_OPENING, *_CLOSING)))
_AROUND = " \t\r\n\"'`*_()[]{}.:“”‘’Ġ▁"
_LEAD = re.compile(
    r"^(?:(?:the\s+)?(?:final\s+)?answer(?:\s+is)?|candidate|document|passage)[\s:*]+",
    re.IGNORECASE,
)
_ORDER = re.compile(r"\[?\d{1,4}\]?(?:\s*>\s*\[?\d{1,4}\]?)+")
_FENCE = "```"
MOST_TOKENS = 1000
QUOTED_RULE = PROMPTS["quoted"]
"""Stands in every system message; foreign texts go through :func:`engine.llm.texts.fenced`."""
_NUDGE = "That does not keep to the schema. Answer with one JSON object that does, nothing else."
_NOT_SENT = ("title", "default", "examples", "minLength", "maxLength", "uniqueItems")
"""Endpoints with strict schemas refuse some of these, and none tells a model what it needs."""
_BY_NAME = ("properties", "$defs")
"""Keywords whose keys are names of the schema's author, not keywords."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn; ``role`` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered."""

    text: str  # reasoning before it included
    # ((token, log probability), ...) at the place of the answer
    options: tuple[tuple[str, float], ...] = ()
    used: tuple[int, int] | None = None  # (input, output) tokens as reported
    model: str = ""
    cut: bool = False  # stopped at the limit of tokens
    reasoned: bool = False  # reasoning is reported outside of ``text``

    def to_json(self) -> str:
        """What is kept in the ledger: enough to read the answer again."""
        kept: dict[str, Any] = {"text": self.text}
        if self.options:
            kept["options"] = self.options
        return json.dumps(kept)  # in ASCII: halves of surrogate pairs cannot be stored

    @staticmethod
    def from_json(text: str) -> Reply:
        """What :meth:`to_json` wrote."""
        kept = json.loads(text)
        options = tuple((str(token), float(lp)) for token, lp in kept.get("options", ()))
        return Reply(str(kept["text"]), options)


@dataclass(frozen=True, slots=True)
class Prompt(Generic[Value]):
    """One question, and how to read its answer."""

    name: str  # kind and version of the wording (``pairwise/1``)
    messages: tuple[Message, ...]
    # the answer's value, None when it cannot be read. The second argument is True for the last
    # reading, where an incomplete answer is better than none.
    read: Callable[[Reply, bool], Value | None]
    nudge: str  # follows an answer that could not be read
    most_tokens: int  # of the answer, reasoning aside
    choices: tuple[str, ...] = ()  # answers to choose from, where one of a few words is asked for
    schema: Mapping[str, Any] | None = None  # JSON schema of the answer
    # the same question with shorter texts
    shorter: Callable[[], Prompt[Value]] | None = field(default=None, compare=False)


def answer_key(address: str, prompt: Prompt[Any], mode: str, parameters: Mapping[str, Any]) -> str:
    """64 hex digits for a question: endpoint, wording, mode, parameters (with the model) and texts
    as sent, in their order."""
    content = {
        "address": address,
        "prompt": prompt.name,
        "mode": mode,
        "parameters": parameters,
        "messages": [[m.role, m.content] for m in prompt.messages],
    }
    # Half of a surrogate pair cannot be sent either; here it must not stop the run.
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def without_reasoning(text: str) -> str:
    """What follows the reasoning; empty when that never ended. A closing sign alone ends it too, as
    some endpoints drop the opening one.

    >>> without_reasoning("<think>Is it A? No.</think> B")
    'B'
    >>> without_reasoning("<think>Is it A")
    ''
    """
    answer = _ENDS.split(text)[-1]
    if not answer.strip() and _BEGINS.search(text):  # the answer came first
        return _BEGINS.split(text)[0].strip()
    return "" if _BEGINS.search(answer) else answer.strip()


def answer_so_far(text: str, *, complete: bool = False) -> str:
    """What may be shown of a streamed reply: nothing of reasoning that it begins with, or may yet
    begin with while it is not ``complete``.

    >>> answer_so_far("<think>Is it A? No.</think> B"), answer_so_far("<thi")
    ('B', '')
    """
    shown = text.lstrip()
    head = shown[:_LONGEST].lower()
    if head.startswith(_OPENING):
        end = _ENDS.search(shown)
        return "" if end is None else shown[end.end() :].lstrip()
    undecided = any(opening.startswith(head) for opening in _OPENING)
    return "" if undecided and not complete else shown


def read_choice(text: str, choices: Sequence[str]) -> str | None:
    """The one of ``choices`` that is the whole answer, None when there is none.

    >>> read_choice("**B**", ("A", "B"))
    'B'
    >>> read_choice("A is less similar than B", ("A", "B")) is None
    True
    """
    answer = _LEAD.sub("", without_reasoning(text).strip(_AROUND)).strip(_AROUND)
    return next((c for c in choices if c.lower() == answer.lower()), None)


def read_probability(reply: Reply, choices: tuple[str, str]) -> float | None:
    """Probability of the first choice against the second: from log probabilities, else 1 or 0; None
    unless the answer is one of the choices."""
    answer = read_choice(reply.text, choices)
    if answer is None:
        return None
    mass = dict.fromkeys(choices, 0.0)
    for token, logprob in reply.options:
        spelled = read_choice(token, choices)
        if spelled is not None and math.isfinite(logprob):
            mass[spelled] += math.exp(min(logprob, 0.0))
    both = sum(mass.values())
    return mass[choices[0]] / both if both >= LEAST_MASS else float(answer == choices[0])


def read_order(text: str, count: int, *, incomplete: bool = False) -> list[int] | None:
    """The numbers 1 to ``count`` in the order of the answer, counted from 0.

    Args:
        incomplete: an answer that leaves some out is good enough.

    >>> read_order("[2] > [3] > [1]", 3)
    [1, 2, 0]
    """
    answer = without_reasoning(text).strip(" \t\r\n\"'`*.")
    if not _ORDER.fullmatch(answer):
        return None
    order = [int(number) - 1 for number in re.findall(r"\d+", answer)]
    if len(set(order)) < len(order) or not all(0 <= number < count for number in order):
        return None
    return order if incomplete or len(order) == count else None


def json_text(text: str) -> str:
    """The answer without reasoning and without a code block around it."""
    answer = without_reasoning(text)
    if len(answer) < 2 * len(_FENCE) or not (answer.startswith(_FENCE) and answer.endswith(_FENCE)):
        return answer
    return answer[len(_FENCE) : -len(_FENCE)].removeprefix("json").strip()


def part_tokens(
    context: int | None, blank: Prompt[Any], most_tokens: Callable[[str], int], fewest: int
) -> int:
    """Tokens for a part of a document in a model's context."""
    if context is None:
        return PART_TOKENS
    fixed = sum(estimate_tokens(message.content) for message in blank.messages)
    longest = most_tokens("x " * 2 * PART_TOKENS)
    return max(fewest, min(PART_TOKENS, context - fixed - longest))


def json_prompt(
    name: str,
    system: str,
    user: str,
    schema: type[Record],
    *,
    most_tokens: int = MOST_TOKENS,
    check: Callable[[Record], Record | None] | None = None,
    shorter: Callable[[], Prompt[Record]] | None = None,
) -> Prompt[Record]:
    """A question whose answer is a record; see :class:`Prompt`. ``name`` changes with the texts or
    ``check``, which sees what pydantic cannot, such as quotes that must occur in a text: it returns
    the record, repaired or as it is, or None for an unusable one."""
    form = sent_schema(schema)
    compact = json.dumps(form, separators=(",", ":"), ensure_ascii=False)
    asked = f"Answer with one JSON object and nothing else, of this JSON schema:\n{compact}"

    def read(reply: Reply, _: bool) -> Record | None:
        try:
            record = schema.model_validate_json(json_text(reply.text))
        except ValidationError:
            return None
        return record if check is None else check(record)

    return Prompt(
        name=name,
        messages=(
            Message("system", f"{system.strip()}\n{QUOTED_RULE}"),
            Message("user", f"{user.strip()}\n\n{asked}"),
        ),
        read=read,
        nudge=_NUDGE,
        most_tokens=most_tokens,
        schema=form,
        shorter=shorter,
    )


def lenient(schema: type[Record], value: Any) -> Record | None:
    """One entry of an answer's list, None where it does not keep to the schema, so that one odd
    entry does not spoil the others."""
    try:
        return schema.model_validate(value)
    except ValidationError:
        return None


def sent_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a record as strict endpoints accept it: all fields required, no others
    allowed, without descriptions and limits of length.

    >>> class Animal(BaseModel):
    ...     legs: int = 4
    >>> sent_schema(Animal)["required"]
    ['legs']
    """
    form = _strict(schema.model_json_schema())
    if form.get("type") != "object":
        raise TypeError(f"{schema.__name__} is no JSON object; use a model with named fields.")
    return dict(form)


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:  # nothing may stand beside it
        return {"$ref": node["$ref"]}
    strict = {
        "anyOf" if key == "oneOf" else key: (
            {name: _strict(inner) for name, inner in value.items()}
            if key in _BY_NAME
            else _strict(value)
        )
        for key, value in node.items()
        if key not in _NOT_SENT and key != "discriminator"
    }
    if "properties" in strict:
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict


FORM = 1  # Of what is remembered; another form is tried out again
REASONING_TOKENS = 4096  # Room for thinking before an answer, for models that do so
USUAL_REASONING = 800  # What such thinking takes on the whole: for estimates
TOKENS_PER_MESSAGE = 6
_JSON = "response_format|json_schema|json_object"
_USAGE, _STREAM = "stream_options|include_usage", r"\bstream(?:s|ed|ing)?\b"
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
        """Tokens for a question and its answer, thinking aside; None for unknown."""
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
        lesser = self._lesser(prompt)
        for name, less in lesser.items():
            if re.search(name, hint):
                return replace(self, **less)
        likeliest = next((name for name in lesser if name not in (_USAGE, _STREAM)), "")
        if prompt is not PROBE and likeliest != _JSON:
            return None
        if likeliest:
            return replace(self, **lesser[likeliest])
        # All of it once more, without a stream.
        whole = replace(Capabilities(), context=self.context, streams=False)
        return whole if self.streams else None

    def _lesser(self, prompt: Prompt[Any]) -> dict[str, dict[str, Any]]:
        """Possible causes of a refusal and how to do without them; the likeliest first."""
        takes_json = prompt.schema is not None and (self.schema or self.json_mode)
        other_limit = self.limit == "max_completion_tokens" and not self.logprobs
        table: tuple[tuple[str, bool, dict[str, Any]], ...] = (
            (_JSON, takes_json, {"schema": False, "json_mode": self.schema}),
            ("max_tokens", self.limit == "max_tokens", {"limit": "max_completion_tokens"}),
            ("max_completion_tokens", other_limit, {"limit": ""}),
            # Some endpoints give five alternatives at most; more than two are seldom needed.
            ("logprobs", self.logprobs > 0, {"logprobs": 5 if self.logprobs > 5 else 0}),
            ("temperature", self.temperature, {"temperature": False}),
            ("system", self.system, {"system": False}),
            # some that think call it an error when there is no room to do so
            ("output limit", not self.reasons, {"reasons": True}),
            (_USAGE, self.streams and self.stream_usage, {"stream_usage": False}),
            (_STREAM, self.streams, {"streams": False}),
        )
        return {name: less for name, applies, less in table if applies}

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
