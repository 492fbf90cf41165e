"""Lenses and their aspects."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Aspect:
    """A named facet of a lens."""

    key: str  # what people type (`method`); lower case, no spaces
    name: str
    letter: str  # the mark that goes with the colour (`M`); one of its own in a lens
    definition: str  # one sentence that says which sentences serve this aspect
    instruction: str  # the built-in wording that asks for documents alike in it
    examples: tuple[str, ...] = ()  # sentences that serve it
    phrases: tuple[str, ...] = ()  # short noun phrases that people use for it ("evaluation set-up")
    paraphrases: tuple[str, ...] = ()  # further wordings of the instruction, in other words each


@dataclass(frozen=True, slots=True)
class Lens:
    """A set of aspects for one kind of corpus."""

    key: str
    name: str
    aspects: tuple[Aspect, ...]
    things: str = "documents"  # what its documents are called, in the plural (`papers`)
    generic: str = "Find similar documents."  # a wording that asks for likeness and names no aspect
    allows_none: bool = False  # a sentence near no aspect has none; else every sentence has one

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Lens:
        """The lens that ``dataclasses.asdict`` took apart, also after a way through JSON."""
        return TypeAdapter(cls).validate_python(fields)

    @property
    def texts(self) -> frozenset[str]:
        """Its own wordings: they name aspects, and nothing else."""
        own = ((a.instruction, a.definition, *a.paraphrases) for a in self.aspects)
        return frozenset((self.generic, *itertools.chain(*own)))

    def index(self, key: str) -> int:
        """Position of the aspect ``key``; ValueError when the lens has no such aspect."""
        return [aspect.key for aspect in self.aspects].index(key)
