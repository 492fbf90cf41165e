"""Fit the fixed projection of the late-interaction encoder: ``assets/models/projection.npy``.

The 128 leading directions (uncentred principal components) of the embedded model's token
states over texts written for this project: the demo corpus (for the file that is shipped,
the first one, of 360 abstracts) and the role abstracts. No benchmark text is used.
Run: ``python -m tools.fit.projection``.
"""

from __future__ import annotations

import dataclasses
import json

import numpy as np

from engine.config import ASSETS, DEMO
from engine.encode.loaders import PROJECTION, TOKEN_DIMENSION, load_encoder
from engine.encode.one_pass import OnePassEncoder
from engine.numeric import unit
from engine.types.encoders import Passage


def texts() -> list[str]:
    """Abstracts as plain strings."""
    files = [ASSETS / "roles" / "abstracts.jsonl", DEMO / "corpus.jsonl"]
    lines = [line for file in files if file.exists() for line in file.open(encoding="utf-8")]
    return [" ".join(json.loads(line)["sentences"]) for line in lines]


def main() -> None:
    PROJECTION.parent.mkdir(exist_ok=True)
    if not PROJECTION.exists():
        np.save(PROJECTION, np.eye(384, TOKEN_DIMENSION, dtype=np.float32))
    encoder = OnePassEncoder(dataclasses.replace(load_encoder().parts, project=unit))
    encoded = encoder.encode([Passage("", text, ()) for text in texts()])
    tokens = np.concatenate([e.tokens for e in encoded]).astype(np.float64)
    values, vectors = np.linalg.eigh(tokens.T @ tokens)
    leading = vectors[:, ::-1][:, :TOKEN_DIMENSION]
    # Signs of eigenvectors are arbitrary; fix them so that a refit gives the same file.
    leading = leading * np.sign(leading[np.abs(leading).argmax(axis=0), range(TOKEN_DIMENSION)])
    np.save(PROJECTION, leading.astype(np.float32))
    kept = values[::-1][:TOKEN_DIMENSION].sum() / values.sum()
    print(f"{len(tokens)} token states, {kept:.1%} of their energy in {TOKEN_DIMENSION} directions")


if __name__ == "__main__":
    main()
