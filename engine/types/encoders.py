"""What an encoder takes and gives, whatever model stands behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.types.documents import Span

EMBEDDED = "all-MiniLM-L6-v2"  # The model that ships with SeedLens
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of its published weights (model.safetensors), and its fingerprint."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What is encoded: a title (may be empty), a text, and sentence spans into the text."""

    title: str
    text: str
    sentences: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Encoding:
    """The vectors of one passage; every row has unit length."""

    vector: NDArray[np.float32]  # (d,) float32, the whole passage
    sentences: NDArray[np.float32]  # (s, d) float32, in context; zeros without tokens
    tokens: NDArray[np.float32]  # (t, p) float32, one row per token that is not punctuation
    token_spans: NDArray[np.int32]  # (t, 2) int32, in the text; (-1, -1) of the title and marks


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """What a corpus remembers of its model: enough to load it again and to refuse another."""

    source: str  # a model or preset name, or the folder it was loaded from
    fingerprint: str  # SHA-256 of the weights, pooling and prompts, in hex
    dimension: int  # dimension, token_dimension: width of document and token vectors
    token_dimension: int
    window: int  # tokens that the model sees at once, its own marks included

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> EncoderSpec:
        return cls(**json.loads(text))


class Encoder(Protocol):
    """Anything that turns passages into vectors."""

    def __hash__(self) -> int: ...

    @property
    def spec(self) -> EncoderSpec:
        """What to record with a corpus."""
        ...

    def encode(self, passages: Sequence[Passage]) -> list[Encoding]:
        """Encode passages; the result is in their order and does not depend on other calls."""
        ...

    def encode_query(self, passage: Passage, instruction: str) -> NDArray[np.float32]:
        """A passage as a query under ``instruction`` ("" for none): (d,) float32, unit length. What
        does not fit is cut from the end of the passage."""
        ...
