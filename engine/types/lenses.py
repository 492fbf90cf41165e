"""Lenses and their aspects."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Aspect:
    """A named facet of a lens.

    Attributes:
        key: what people type (``method``); lower case, no spaces.
        letter: the mark that goes with the colour (``M``); one of its own in a lens.
        definition: one sentence that says which sentences serve this aspect.
        instruction: the built-in wording that asks for documents alike in it.
        examples: sentences that serve it.
        phrases: short noun phrases that people use for it ("evaluation set-up").
        paraphrases: further wordings of the instruction, in other words each.
    """

    key: str
    name: str
    letter: str
    definition: str
    instruction: str
    examples: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    paraphrases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lens:
    """A set of aspects for one kind of corpus.

    Attributes:
        things: what its documents are called, in the plural (``papers``).
        generic: a wording that asks for likeness and names no aspect.
        allows_none: a sentence that fits no aspect better than chance has none; otherwise every
            sentence whose role is estimated has one.
    """

    key: str
    name: str
    aspects: tuple[Aspect, ...]
    things: str = "documents"
    generic: str = "Find similar documents."
    allows_none: bool = False

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Lens:
        """The lens that ``dataclasses.asdict`` took apart, also after a way through JSON."""
        given: list[dict[str, Any]] = [
            {name: tuple(v) if isinstance(v, list) else v for name, v in aspect.items()}
            for aspect in fields["aspects"]
        ]
        return cls(**{**fields, "aspects": tuple(Aspect(**aspect) for aspect in given)})

    @property
    def texts(self) -> frozenset[str]:
        """Its own wordings: they name aspects, and nothing else."""
        own = ((a.instruction, a.definition, *a.paraphrases) for a in self.aspects)
        return frozenset((self.generic, *itertools.chain(*own)))

    def index(self, key: str) -> int:
        """Position of the aspect ``key``; ValueError when the lens has no such aspect."""
        return [aspect.key for aspect in self.aspects].index(key)
