"""What a query asks of its seed: aspect, picked sentences and wording, read together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.focus import (
    avoid,
    focus_on_aspect,
    focus_on_reading,
    focus_on_sentences,
    reweigh_by_words,
)
from engine.instructions import CLEAR, LensWords, Reading, read_instruction
from engine.lenses import find_aspect
from engine.numeric import FloatArray
from engine.retrieve.base import Focus, Seed
from engine.types import Lens, Query

Notes = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Turns queries into a :class:`Focus`.

    Attributes:
        lens_words: the lens as wordings are compared with it; loaded only for wordings.
        encode: a wording as a vector (d,) of the corpus's model.
    """

    lens: Lens
    lens_words: Callable[[], LensWords]
    encode: Callable[[str], FloatArray]

    def focus(self, query: Query, seed: Seed) -> tuple[Focus | None, Notes]:
        """How the query is read, and what a reader should know about that."""
        words = (query.instruction or "").strip()
        if query.focus:
            return self._picked(seed, query.focus, words), ()
        if query.aspect is None:
            return self._by_words(seed, words) if words else (None, ())
        aspect = find_aspect(self.lens, query.aspect)
        focus = focus_on_aspect(seed, self.lens, aspect)
        if focus is None:
            return None, (_lacks(aspect.name),)
        if not words or words == aspect.instruction:
            return focus, ()
        reading = self.read(words)
        focus = self._reworded(avoid(focus, reading.avoids), seed, reading.subject)
        return focus, self._contradicts(reading, self.lens.index(aspect.key))

    def read(self, words: str) -> Reading:
        """What a wording asks for by itself."""
        return read_instruction(words, self.lens_words())

    def _picked(self, seed: Seed, sentences: Sequence[int], words: str) -> Focus | None:
        focus = focus_on_sentences(seed, self.lens, sentences)
        if focus is None or not words:
            return focus
        reading = self.read(words)
        return self._reworded(avoid(focus, reading.avoids), seed, reading.subject)

    def _by_words(self, seed: Seed, words: str) -> tuple[Focus | None, Notes]:
        reading = self.read(words)
        subject = self.encode(reading.subject) if reading.subject else None
        focus = focus_on_reading(seed, self.lens, reading, subject)
        if focus is not None:
            return focus, ()
        if reading.strength > 0:
            wanted = " or ".join(self.lens.aspects[i].name for i in np.flatnonzero(reading.wants))
            return None, (_lacks(wanted),)
        known = ", ".join(aspect.name for aspect in self.lens.aspects)
        return None, (
            f"The wording asks for none of the aspects of this corpus ({known}) and quotes no "
            "sentence of the seed, so the ranking follows the whole text.",
        )

    def _reworded(self, focus: Focus, seed: Seed, subject: str) -> Focus:
        return reweigh_by_words(focus, seed, self.encode(subject)) if subject else focus

    def _contradicts(self, reading: Reading, chosen: int) -> Notes:
        if reading.strength < 1.0 or reading.wants[chosen] >= CLEAR * reading.wants.max():
            return ()
        name = self.lens.aspects[int(reading.wants.argmax())].name
        return (
            f"The wording seems to ask for {name}, but the aspect chosen is "
            f"{self.lens.aspects[chosen].name}: the aspect decides, the wording only weighs its "
            "sentences. Choose no aspect to let the wording decide.",
        )


def _lacks(name: str) -> str:
    return f"The seed has no {name} sentence, so the ranking follows the whole text."


def understood(focus: Focus | None, lens: Lens) -> tuple[tuple[str, float], ...]:
    """(aspect name, weight) of what a focus asks for; empty without one."""
    if focus is None:
        return ()
    pairs = zip(lens.aspects, focus.aspect_weights, strict=True)
    return tuple((aspect.name, float(weight)) for aspect, weight in pairs if weight > 0)


def avoided(focus: Focus | None, lens: Lens) -> tuple[str, ...]:
    """Names of the aspects that a focus rules out."""
    if focus is None:
        return ()
    pairs = zip(lens.aspects, focus.avoided, strict=True)
    return tuple(aspect.name for aspect, weight in pairs if weight > 0)
