"""The reader of wordings for a lens; its network is loaded when something new is to be read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engine.lenses.embedded_texts import EmbeddedTexts
from engine.lenses.glossary import gloss
from engine.lenses.instructions import TAGGER, WEIGHTS, LensWords, description
from engine.numeric import FloatArray
from engine.types.lenses import Lens

if TYPE_CHECKING:
    import torch

    from engine.encode.wording_network import WordingNetwork


def load_network() -> WordingNetwork:
    """The networks that read wordings, loaded once per process; torch is imported with them."""
    from engine.encode.wording_network import wording_network

    return wording_network(WEIGHTS, TAGGER)


def lens_words(lens: Lens, folder: Path) -> LensWords:
    """Reads wordings for a lens.

    Args:
        folder: of the home, for what was read before, see :class:`EmbeddedTexts`.
    """
    texts = [gloss(description(aspect)) for aspect in lens.aspects]

    @cache
    def aspects() -> torch.Tensor:
        return load_network().aspects(texts)

    def score(parts: Sequence[str]) -> FloatArray:
        return load_network().scores(parts, aspects())

    def tag(words: Sequence[str]) -> FloatArray:
        return load_network().tags(words)

    reader, tagger = (hashlib.sha256(f.read_bytes()).hexdigest() for f in (WEIGHTS, TAGGER))
    return LensWords(
        lens,
        EmbeddedTexts(folder, f"{reader} {texts}", score),
        EmbeddedTexts(folder, f"{reader} {tagger}", tag),
    )
