"""The word lists and tables of ``assets/facts``."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Any

from engine.config import ASSETS


@cache
def table(name: str) -> dict[str, Any]:
    """All of ``assets/facts/{name}.toml``."""
    return tomllib.loads((ASSETS / "facts" / f"{name}.toml").read_text(encoding="utf-8"))


def word_lists(name: str) -> dict[str, frozenset[str]]:
    """The lists of words of a table, by their names."""
    return {key: word_set(words) for key, words in table(name).items() if isinstance(words, str)}


def word_set(words: str) -> frozenset[str]:
    """The words of a line of words."""
    return frozenset(words.split())
