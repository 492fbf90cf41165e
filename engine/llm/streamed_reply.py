"""A reply, put together from the chunks of a stream or read from a whole completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from engine.llm.endpoint_errors import MOST_CHARS
from engine.llm.messages import Reply, read_choice
from engine.types.limits import MOST_REPORTED


class StreamedReply:
    """A reply, put together from the chunks of a stream or read from a whole completion.

    Args:
        choices: the answers whose alternatives are wanted; of other tokens nothing is kept.

    Attributes:
        size: characters so far, reasoning included; every chunk counts as one at least.
        used: (input, output) tokens, once they are reported.
        cut: it stopped at the limit of tokens.
        complete: its end has come.
    """

    def __init__(self, choices: tuple[str, ...] = ()) -> None:
        self._choices = choices
        self._texts: list[str] = []
        self._options: tuple[tuple[str, float], ...] = ()
        self._model = ""
        self._reasoned = False
        self.size = 0
        self.used: tuple[int, int] | None = None
        self.cut = False
        self.complete = False

    def add(self, chunk: Any) -> str:
        """The text of a chunk; raises KeyError and its like where parts are missing."""
        usage = chunk.get("usage") or {}
        self.used = _used(usage) or self.used
        details = usage.get("completion_tokens_details") or {}
        self._model = _sound(str(chunk.get("model") or self._model)[:MOST_CHARS])
        choices = chunk["choices"]
        if not choices:  # the last chunk may carry the usage alone
            self.complete = self.complete or bool(usage)
            return ""
        choice = choices[0]
        message = choice.get("delta") or choice.get("message") or {}
        text = _text(message.get("content"))
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        self._reasoned |= bool(reasoning) or bool(details.get("reasoning_tokens"))
        self._texts.append(text)
        if self._choices and not self._options:
            tokens = (choice.get("logprobs") or {}).get("content") or []
            self._options = _options(tokens, self._choices)
        self.size += max(1, len(text) + len(str(reasoning)))
        self.cut |= choice.get("finish_reason") == "length"
        self.complete |= bool(choice.get("finish_reason")) or "message" in choice
        return _sound(text)

    def reply(self) -> Reply:
        """The reply, with the alternatives to the first token that is one of the choices."""
        return Reply(
            text=_sound("".join(self._texts)),
            options=self._options,
            used=self.used,
            model=self._model,
            cut=self.cut,
            reasoned=self._reasoned,
        )


def _text(content: Any) -> str:
    if content is not None and not isinstance(content, str):
        raise ValueError("the content is no text")
    return content or ""


def _sound(text: str) -> str:
    """A text that can be stored and sent: JSON can hold half a character, which becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _used(usage: Mapping[str, Any]) -> tuple[int, int] | None:
    sent, answered = usage.get("prompt_tokens"), usage.get("completion_tokens") or 0
    if not isinstance(sent, int) or not isinstance(answered, int | float):
        return None
    if not (0 <= sent <= MOST_REPORTED and 0 <= answered <= MOST_REPORTED):
        return None  # less than nothing would be given back to whoever has a budget
    return sent, int(answered)


def _options(
    tokens: Sequence[Mapping[str, Any]], choices: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    """The alternatives at the first token that spells one of the choices; none where they cannot
    be read, for the answer stands without them."""
    with suppress(TypeError, ValueError, KeyError, AttributeError, OverflowError):
        for token in tokens:
            if read_choice(token["token"], choices) is not None:
                top = token.get("top_logprobs") or []
                return tuple((str(o["token"]), float(o["logprob"])) for o in top)
    return ()
