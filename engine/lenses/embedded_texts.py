"""Vectors of short texts, kept in files: a wording that is searched with again needs no model.

Loading the model takes seconds, and so does embedding the words of a lens: a command pays for
both once, not with every call.
"""

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

FORMAT = 1
"""Counts the ways in which texts become vectors; a file of another one is not found."""
MOST_FILES = 1000
"""Files of a home that are kept, of some 2 to 30 kB each; then the oldest are deleted."""
_DIGEST = 32
"""Bytes of the SHA-256 before the vectors, by which a damaged file is told."""

Embed = Callable[[Sequence[str]], FloatArray]
"""Texts to unit rows (n, d)."""


class EmbeddedTexts:
    """Texts as vectors of one model, read from the folder where they were embedded before.

    A file is named by the digest of the texts and of the model. What cannot be read is embedded
    again; what cannot be written is embedded the next time too.

    Args:
        folder: of the home; made with the first file.
        fingerprint: of the model, see :class:`engine.types.encoders.EncoderSpec`.
        embed: asks the model; called only for what is not there.
    """

    def __init__(self, folder: Path, fingerprint: str, embed: Embed) -> None:
        self._folder, self._fingerprint, self._embed = folder, fingerprint, embed

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        """Unit rows (n, d) of n texts; n is not 0."""
        key = json.dumps([FORMAT, self._fingerprint, list(texts)]).encode()
        path = self._folder / f"{hashlib.sha256(key).hexdigest()}.f32"
        vectors = _read(path, len(texts))
        if vectors is None:
            vectors = np.asarray(self._embed(texts), dtype=np.float32)
            with suppress(OSError):  # a full or read-only disk costs time, not the search
                _write(path, vectors)
        return vectors


def _read(path: Path, rows: int) -> FloatArray | None:
    """The vectors in a file; None where there are none, or the file is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, values = content[:_DIGEST], content[_DIGEST:]
    if hashlib.sha256(values).digest() != digest or not values or len(values) % (4 * rows):
        return None
    return np.frombuffer(values, dtype="<f4").reshape(rows, -1).astype(np.float32)


def _write(path: Path, vectors: FloatArray) -> None:
    """Write the file, and delete the oldest ones beyond :data:`MOST_FILES`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = vectors.astype("<f4").tobytes()
    write_whole(path, hashlib.sha256(values).digest() + values)
    files = sorted(path.parent.glob("*.f32"), key=lambda file: file.stat().st_mtime)
    for old in files[:-MOST_FILES]:
        delete(old)
