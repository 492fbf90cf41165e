"""The shape of what a command prints as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]


def fraction(value: Any) -> bool:
    return isinstance(value, float) and 0.0 <= value <= 1.0


def span(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(i, int) for i in value)


def assert_shape(data: dict[str, Any], shape: dict[str, type | tuple[type, ...] | Check]) -> None:
    """Every key of the contract is there, with a value of its kind."""
    for key, kind in shape.items():
        assert key in data
        fits = isinstance(data[key], kind) if isinstance(kind, type | tuple) else kind(data[key])
        assert fits, f"{key}: {data[key]!r}"
