"""From what a person asked for to weights over the seed's sentences and the lens's aspects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.errors import BadInputError
from engine.numeric import FloatArray
from engine.retrieve.base import Focus, Seed
from engine.types import Aspect, Lens

SHARPNESS = 12.0
"""How strongly wording separates sentences: weights go with ``exp(SHARPNESS * cosine)``.

Cosines of an instruction with a seed's sentences spread over about 0.2; this makes the best
sentence weigh some ten times the worst.
"""


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
    roles = role_matrix(seed, lens)
    beyond = [i for i in sentences if not 0 <= i < len(roles)]
    if beyond:
        raise BadInputError(
            f"The seed has {len(roles)} sentences; there is no sentence {beyond[0]}.",
            "Count from 0.",
        )
    weights = np.zeros(len(roles), dtype=np.float32)
    weights[list(sentences)] = 1.0
    aspects = weights @ roles
    if aspects.sum() <= 0:
        aspects = np.ones_like(aspects)
    return _focus(weights, aspects)


def reweigh_by_words(focus: Focus, seed: Seed, instruction: FloatArray) -> Focus:
    """Let a wording shift weight among the sentences in focus.

    Args:
        instruction: (d,) vector of the person's words.
    """
    closeness = np.exp(SHARPNESS * (seed.sentences @ instruction))
    return _focus(focus.sentence_weights * closeness, focus.aspect_weights) or focus


def focus_from_words(
    seed: Seed, lens: Lens, instruction: FloatArray, definitions: FloatArray
) -> Focus | None:
    """Read an aspect off a free wording: which definitions is it closest to?

    Args:
        instruction: (d,).  definitions: (a, d), one per aspect of the lens.
    """
    odds = np.exp(SHARPNESS * (definitions @ instruction))
    aspects = odds / odds.sum()
    focus = _focus(role_matrix(seed, lens) @ aspects, aspects)
    return focus and reweigh_by_words(focus, seed, instruction)


def _focus(sentences: FloatArray, aspects: FloatArray) -> Focus | None:
    total = float(sentences.sum())
    if total <= 0:
        return None
    return Focus(
        np.asarray(sentences / total, dtype=np.float32),
        np.asarray(aspects / aspects.sum(), dtype=np.float32),
    )
