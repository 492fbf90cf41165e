"""Views whose fields have readers and writers of their own, for pages that have not moved to
:mod:`pages._common.state`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from pages._common.state import BadParamError, PageView, corpus_box, join

__all__ = ["UrlState", "corpus_box", "flag", "integer", "join", "one_of", "param", "write_flag"]


def param(
    name: str,
    default: object,
    read: Callable[[str], Any] = str,
    write: Callable[[Any], str] = str,
    *,
    shared: bool = False,
) -> Any:
    """A field of a :class:`UrlState`, called ``name`` in the URL."""
    about = {"name": name, "read": read, "write": write, "shared": shared}
    return field(default=default, metadata=about)


def integer(name: str, low: int, high: int) -> Callable[[str], int]:
    """Reads a whole number from ``low`` to ``high``."""

    def read(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"{name} is {text}, not a number from {low} to {high}")
        return int(text)

    return read


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """Reads one of ``choices``."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"'{text}' is not one of {', '.join(choices)}")
        return text

    return read


def flag(text: str) -> bool:
    """Reads ``1`` as true, everything else as false."""
    return text == "1"


def write_flag(value: bool) -> str:
    """Writes what :func:`flag` reads."""
    return "1" if value else ""


@dataclass(frozen=True)
class UrlState(PageView):
    """Base of views whose fields are made by :func:`param`."""

    @classmethod
    def _shared(cls) -> tuple[str, ...]:
        return tuple(one.name for one in fields(cls) if one.metadata["shared"])

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out."""
        changed = [(o.metadata, getattr(self, o.name), o.default) for o in fields(self)]
        texts = {about["name"]: about["write"](v) for about, v, usual in changed if v != usual}
        return {name: text for name, text in texts.items() if text}

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> Self:
        """The state of URL parameters; others are left aside."""
        values = {}
        for one in fields(cls):
            name = one.metadata["name"]
            if name in params:
                try:
                    values[one.name] = one.metadata["read"](params[name])
                except ValueError as error:
                    raise BadParamError(name, str(error)) from error
        return cls(**values)
