"""The reader of wordings for a lens; its network is loaded when something new is to be read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engine.lenses.embedded_texts import EmbeddedTexts
from engine.lenses.glossary import gloss
from engine.lenses.instructions import WEIGHTS, LensWords, description
from engine.numeric import FloatArray
from engine.types.lenses import Lens

if TYPE_CHECKING:
    import torch

    from engine.encode.wording_network import WordingNetwork


def load_network() -> WordingNetwork:
    """The network that reads wordings, loaded once per process; torch is imported with it.

    Raises:
        ModelMissingError: the embedded model is not installed.
    """
    from engine.encode.wording_network import wording_network

    return wording_network(WEIGHTS)


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

    weights = hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()
    return LensWords(lens, EmbeddedTexts(folder, f"{weights} {texts}", score))
