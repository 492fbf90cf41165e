"""Vectors of short texts in files, so that a known wording needs no model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from engine.numeric import FloatArray
from storage.files import write_whole
from storage.removal import delete

FORMAT = 2  # Of the files; those of another one are not found
MOST_FILES = 1000  # Files of a home that are kept, of some 2 to 30 kB each
Embed = Callable[[Sequence[str]], FloatArray]  # Texts to unit rows (n, d)


class EmbeddedTexts:
    """Texts as vectors of the model of a fingerprint, in files of a folder; ``embed`` makes new
    ones."""

    def __init__(self, folder: Path, fingerprint: str, embed: Embed) -> None:
        self._folder, self._fingerprint, self._embed = folder, fingerprint, embed

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        """Unit rows (n, d) of one or more texts."""
        key = json.dumps([FORMAT, self._fingerprint, list(texts)]).encode()
        path = self._folder / f"{hashlib.sha256(key).hexdigest()}.f32"
        with suppress(OSError, ValueError):
            return np.fromfile(path, "<f4").reshape(len(texts), -1).astype(np.float32)
        vectors = np.asarray(self._embed(texts), dtype=np.float32)
        with suppress(OSError):  # a full or read-only disk costs time, not the search
            self._keep(path, vectors.astype("<f4").tobytes())
        return vectors

    def _keep(self, path: Path, values: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, values)
        files = sorted(self._folder.glob("*.f32"), key=lambda file: file.stat().st_mtime)
        for old in files[:-MOST_FILES]:
            delete(old)
