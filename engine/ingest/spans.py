"""Sentence splits that a source brings along, as spans into the text."""

from __future__ import annotations

from typing import Any

from engine.errors import BadInputError
from engine.ingest.values import clean
from engine.types.documents import Span


def join(where: str, parts: list[Any], corrected: set[str]) -> tuple[str, tuple[Span, ...]]:
    """Sentences joined by one space, with their spans; blank ones get empty spans."""
    cleaned: list[str] = []
    spans: list[Span] = []
    at = 0
    for part in parts:
        if not isinstance(part, str):
            raise BadInputError(
                f"{where}: a sentence of the text is {kind(part)}.",
                "Give the text as a string or a list of strings.",
            )
        sentence = clean(part, corrected).strip()
        if sentence and cleaned:
            at += 1
        spans.append((at, at + len(sentence)))
        at += len(sentence)
        if sentence:
            cleaned.append(sentence)
    return " ".join(cleaned), tuple(spans)


def locate(where: str, text: str, given: list[Any], corrected: set[str]) -> tuple[Span, ...]:
    """Spans of given sentences in the text: strings are looked up in order, pairs checked."""
    spans: list[Span] = []
    at = 0
    for number, item in enumerate(given, start=1):
        if isinstance(item, str):
            sentence = clean(item, corrected).strip()
            start = text.find(sentence, at)
            span = (start, start + len(sentence))
        elif isinstance(item, list | tuple) and len(item) == 2 and _whole(item):
            span = (item[0], item[1])
        else:
            span = (-1, -1)
        if not at <= span[0] <= span[1] <= len(text):
            shown = repr(item)[:60]
            raise BadInputError(
                f"{where}: sentence {number} ({shown}) is not in the text after position {at}.",
                f"Give sentences in order, as in the text, or as offsets from 0 to {len(text)}.",
            )
        spans.append(span)
        at = span[1]
    return tuple(spans)


def _whole(pair: list[Any] | tuple[Any, ...]) -> bool:
    return all(isinstance(item, int) and not isinstance(item, bool) for item in pair)


def without_blanks(
    text: str, spans: tuple[Span, ...] | None, roles: tuple[str | None, ...] | None
) -> tuple[tuple[Span, ...] | None, tuple[str | None, ...] | None]:
    # Only now: a blank sentence has a role in the list of roles, and both go together.
    if spans is None:
        return None, roles
    kept = [n for n, (start, end) in enumerate(spans) if text[start:end].strip()]
    if not kept:
        return None, None
    return tuple(spans[n] for n in kept), roles and tuple(roles[n] for n in kept)


def kind(value: Any) -> str:
    """What a value is, in a person's words."""
    kinds = {list: "a list", dict: "an object", bool: "a boolean", str: "text"}
    return kinds.get(type(value), f"of type {type(value).__name__}")
