"""Encodings kept by model and passage, for all processes of a test run."""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from engine.numeric import FloatArray
from engine.types.encoders import Encoding, Passage

if TYPE_CHECKING:
    from engine.encode.one_pass import OnePassEncoder

LARGEST = 200_000_000
"""Bytes of token vectors that a process keeps in memory."""
Key = tuple[str, str, Passage, str]


class EncodedOnce:
    """The methods of ``OnePassEncoder`` that ask the model for what it was not given before.

    Args:
        encode, encode_query: what asks it.
        folder: what processes share. Each passage is a file.

    Attributes:
        keeps: false lets the model do all of it.
    """

    def __init__(
        self,
        encode: Callable[[OnePassEncoder, Sequence[Passage]], list[Encoding]],
        encode_query: Callable[[OnePassEncoder, Passage, str], FloatArray],
        folder: Path,
    ) -> None:
        self.keeps = True
        self._encode, self._encode_query = encode, encode_query
        self._folder = folder
        self._known: dict[Key, Any] = {}
        self._bytes = 0
        folder.mkdir(exist_ok=True)

    def encode(self, encoder: OnePassEncoder, passages: Sequence[Passage]) -> list[Encoding]:
        if not self.keeps:
            return self._encode(encoder, passages)
        keys = [_key(encoder, passage, "indexed") for passage in passages]
        found = {key: one for key in dict.fromkeys(keys) if (one := self._recall(key)) is not None}
        new = [key for key in dict.fromkeys(keys) if key not in found]
        made = dict(zip(new, self._encode(encoder, [key[2] for key in new]), strict=True))
        for key, encoding in made.items():
            self._share(key, encoding)
        for key, encoding in (found | made).items():
            for vectors in (encoding.vector, encoding.sentences, encoding.tokens):
                vectors.flags.writeable = False  # they are given to other tests, too
            self._keep(key, encoding, encoding.tokens.nbytes)
        return [found[key] if key in found else made[key] for key in keys]

    def encode_query(
        self, encoder: OnePassEncoder, passage: Passage, instruction: str
    ) -> FloatArray:
        if not self.keeps:
            return self._encode_query(encoder, passage, instruction)
        key = _key(encoder, passage, f"asked: {instruction}")
        vector = self._recall(key)
        if vector is None:
            vector = self._encode_query(encoder, passage, instruction)
            self._share(key, vector)
        vector.flags.writeable = False
        self._keep(key, vector, vector.nbytes)
        return cast(FloatArray, vector)

    def _recall(self, key: Key) -> Any:
        if key in self._known:
            return self._known[key]
        try:
            return pickle.loads(self._file(key).read_bytes())  # noqa: S301
        except FileNotFoundError:
            return None

    def _share(self, key: Key, made: Any) -> None:
        file = self._file(key)
        half = file.with_name(f"{file.name}.{os.getpid()}-{threading.get_ident()}")
        half.write_bytes(pickle.dumps(made))
        half.replace(file)

    def _keep(self, key: Key, made: Any, size: int) -> None:
        if key not in self._known and self._bytes < LARGEST:
            self._known[key] = made
            self._bytes += size

    def _file(self, key: Key) -> Path:
        return self._folder / hashlib.sha256(repr(key).encode(errors="surrogatepass")).hexdigest()


def _key(encoder: OnePassEncoder, passage: Passage, purpose: str) -> Key:
    return encoder.spec.fingerprint, encoder.backend, passage, purpose
