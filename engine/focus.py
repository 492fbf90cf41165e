"""From what a person asked for to weights over the seed's sentences and the lens's aspects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.errors import BadInputError
from engine.instructions import Reading
from engine.numeric import FloatArray
from engine.retrieve.base import Focus, Seed
from engine.types import Aspect, Lens

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
