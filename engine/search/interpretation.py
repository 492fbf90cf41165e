"""What a query asks of its seed: aspect, picked sentences and wording, read together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.corpora.contracts import Focus, Seed
from engine.errors import BadInputError
from engine.lenses.definitions import find_aspect
from engine.lenses.instructions import CLEAR, LensWords, Reading
from engine.numeric import FloatArray
from engine.types.lenses import Aspect, Lens
from engine.types.searches import Query

SHARPNESS = 12.0
"""How strongly wording separates sentences: weights go with ``exp(SHARPNESS * cosine)``.

Cosines of an instruction with a seed's sentences spread over about 0.2; this makes the best
sentence weigh some ten times the worst.
"""
QUOTED = 0.45
"""Cosine from which a wording that names no aspect is taken to speak of a sentence's content."""


def role_matrix(seed: Seed, lens: Lens) -> FloatArray:
    """Role probabilities (sentences, aspects) of the seed."""
    rows = [s.roles for s in seed.document.sentences]
    return np.array(rows, dtype=np.float32).reshape(len(rows), len(lens.aspects))


def focus_on_aspect(seed: Seed, lens: Lens, aspect: Aspect) -> Focus | None:
    """The sentences that serve ``aspect``; None when the seed has none."""
    index = lens.index(aspect.key)
    weights = role_matrix(seed, lens)[:, index]
    aspects = np.zeros(len(lens.aspects), dtype=np.float32)
    aspects[index] = 1.0
    return _focus(weights, aspects)


def focus_on_sentences(seed: Seed, lens: Lens, sentences: Sequence[int]) -> Focus | None:
    """Exactly these sentences of the seed; the aspects are the roles they serve.

    Raises:
        BadInputError: a sentence that the seed does not have.
    """
    count = len(seed.document.sentences)
    beyond = [i for i in sentences if not 0 <= i < count]
    if beyond:
        raise BadInputError(
            f"The seed has {count} sentences; there is no sentence {beyond[0]}.", "Count from 0."
        )
    weights = np.zeros(count, dtype=np.float32)
    weights[list(sentences)] = 1.0
    return _focus_by_roles(weights, seed, lens)


def focus_on_reading(
    seed: Seed, lens: Lens, reading: Reading, subject: FloatArray | None
) -> Focus | None:
    """Where a free wording points.

    A wording that names aspects focuses on their sentences, the ones closest to the wording
    most. One that names none may still speak of what some sentences say: then those are the
    focus. None when it does neither, or the seed has no such sentence.

    Args:
        subject: (d,) vector of what the wording asks for; None when it only rules out.
    """
    if reading.strength > 0:
        roles = role_matrix(seed, lens)
        weights = (roles @ reading.wants) * (1.0 - np.clip(roles @ reading.avoids, 0, 1))
        found = _focus(weights, reading.wants, reading.avoids, reading.strength)
        if found is None or subject is None:
            return found
        return reweigh_by_words(found, seed, subject)
    if subject is None:
        return None
    closeness = seed.sentences @ subject
    if not len(closeness) or float(closeness.max()) < QUOTED:
        return None
    return _focus_by_roles(np.exp(SHARPNESS * (closeness - closeness.max())), seed, lens)


def reweigh_by_words(focus: Focus, seed: Seed, subject: FloatArray) -> Focus:
    """Let a wording shift weight among the sentences in focus.

    Args:
        subject: (d,) vector of the person's words.
    """
    closeness = np.exp(SHARPNESS * (seed.sentences @ subject))
    weights = focus.sentence_weights * closeness
    return _focus(weights, focus.aspect_weights, focus.avoided, focus.strength) or focus


def avoid(focus: Focus, aspects: FloatArray) -> Focus:
    """Rule aspects out, except where likeness was asked for.

    Args:
        aspects: (a,) 0 to 1.
    """
    ruled_out = np.where(focus.aspect_weights > 0, 0.0, aspects).astype(np.float32)
    found = _focus(focus.sentence_weights, focus.aspect_weights, ruled_out, focus.strength)
    return found or focus


def _focus_by_roles(weights: FloatArray, seed: Seed, lens: Lens) -> Focus | None:
    aspects = weights @ role_matrix(seed, lens)
    if aspects.sum() <= 0:
        aspects = np.ones_like(aspects)
    return _focus(weights, aspects)


def _focus(
    sentences: FloatArray,
    aspects: FloatArray,
    avoided: FloatArray | None = None,
    strength: float = 1.0,
) -> Focus | None:
    total = float(sentences.sum())
    if total <= 0:
        return None
    return Focus(
        np.asarray(sentences / total, dtype=np.float32),
        np.asarray(aspects / aspects.sum(), dtype=np.float32),
        np.zeros(len(aspects), dtype=np.float32) if avoided is None else avoided,
        strength,
    )


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
        return self.lens_words().read(words)

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
