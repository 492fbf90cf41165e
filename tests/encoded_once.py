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
        folder.mkdir(exist_ok=True)

    def encode(self, encoder: OnePassEncoder, passages: Sequence[Passage]) -> list[Encoding]:
        if not self.keeps:
            return self._encode(encoder, passages)
        files = [self._file(encoder, passage, "document") for passage in passages]
        new = {f: p for f, p in zip(files, passages, strict=True) if not f.exists()}
        for file, made in zip(new, self._encode(encoder, [*new.values()]), strict=True):
            _share(file, made)
        return [pickle.loads(file.read_bytes()) for file in files]  # noqa: S301

    def encode_query(
        self, encoder: OnePassEncoder, passage: Passage, instruction: str
    ) -> FloatArray:
        if not self.keeps:
            return self._encode_query(encoder, passage, instruction)
        file = self._file(encoder, passage, f"query: {instruction}")
        if not file.exists():
            _share(file, self._encode_query(encoder, passage, instruction))
        return cast(FloatArray, pickle.loads(file.read_bytes()))  # noqa: S301

    def _file(self, encoder: OnePassEncoder, passage: Passage, purpose: str) -> Path:
        key = repr((encoder.spec.fingerprint, encoder.backend, passage, purpose))
        return self._folder / hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def _share(file: Path, made: Any) -> None:
    half = file.with_name(f"{file.name}.{os.getpid()}-{threading.get_ident()}")
    half.write_bytes(pickle.dumps(made))
    half.replace(file)
