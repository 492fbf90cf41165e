"""Indexing: our one pass against the three plain passes that give the same vectors."""

from __future__ import annotations

import dataclasses
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from benchmarks.figures import Figure, Seconds, rounds, timed
from benchmarks.sources import abstracts
from engine.config import ROOT
from engine.corpora.indexing import encode_batch
from engine.encode.backends import TorchBackend
from engine.encode.loaders import load_encoder, locate, projection
from engine.encode.one_pass import OnePassEncoder
from engine.encode.presets import NO_PROMPTS
from engine.ingest import open_source, unique_documents
from engine.lenses.definitions import RESEARCH
from engine.sentences import split_sentences
from engine.types.documents import SourceDocument
from engine.types.encoders import EMBEDDED

PART = "indexing"
SHARD = 256
PLAIN = "three plain passes"


@dataclass(frozen=True)
class Sample:
    """Documents, their texts as models read them, and every sentence alone."""

    documents: list[SourceDocument]
    texts: list[str]
    sentences: list[str]

    def head(self, n: int) -> Sample:
        """The first documents, to warm up on."""
        return Sample(self.documents[:n], self.texts[:n], self.sentences[: 4 * n])


def measure(documents: int = 400, repeats: int = 3) -> list[Figure]:
    """All figures of this part."""
    source = abstracts()
    print(f"Indexing: {documents} documents of {source.words}", file=sys.stderr)
    sample = _sample(source.path, documents)
    ours = _our_encoders()
    plain = _PlainModels()
    works: dict[str, Any] = {name: _pass(encoder, sample) for name, encoder in ours.items()}
    works |= plain.passes(sample)
    for work in ({n: _pass(e, sample.head(32)) for n, e in ours.items()}
                 | plain.passes(sample.head(32))).values():  # fmt: skip
        work()
    seconds = rounds(works, repeats)
    figures = _speeds(seconds, list(ours), len(sample.documents))
    plain_vectors, plain_tokens = plain.vectors(sample), plain.tokens(sample)
    for name, encoder in ours.items():
        figures += _fidelity(name, encoder, sample, plain_vectors, plain_tokens)
    return [*figures, _whole_import(source.path, source.words)]


def _sample(path: Path, documents: int) -> Sample:
    everything = list(unique_documents(open_source(path, lens=RESEARCH)))
    chosen = random.Random(7).sample(everything, min(documents, len(everything)))
    sentences = [
        d.text[a:b]
        for d in chosen
        for a, b in (d.sentences if d.sentences is not None else split_sentences(d.text))
    ]
    return Sample(chosen, [NO_PROMPTS.for_title(d.title) + d.text for d in chosen], sentences)


# -- ours ------------------------------------------------------------------------------


def _our_encoders() -> dict[str, OnePassEncoder]:
    """The installed default first; PyTorch as well when that is another."""
    default = load_encoder(bulk=True)
    torch_backend = TorchBackend(_fresh_model()[0].auto_model)
    encoders = {f"one pass ({default.backend})": default}
    if default.backend != torch_backend.name:
        parts = dataclasses.replace(default.parts, backend=torch_backend)
        encoders[f"one pass ({torch_backend.name})"] = OnePassEncoder(parts)
    return encoders


def _batches(encoder: OnePassEncoder, sample: Sample) -> list[pa.RecordBatch]:
    """As an import does it: shard by shard."""
    shards = range(0, len(sample.documents), SHARD)
    return [encode_batch(sample.documents[i : i + SHARD], encoder, RESEARCH) for i in shards]


def _pass(encoder: OnePassEncoder, sample: Sample) -> Any:
    return lambda: _batches(encoder, sample)


# -- the plain way ---------------------------------------------------------------------


def _fresh_model() -> Any:
    """The embedded model as sentence-transformers loads it: float32, default settings."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(locate(EMBEDDED)[0], device="cpu")


def late_interaction_model(transformer: Any, dimension: int, *, embedded: bool) -> Any:
    """A PyLate ColBERT on ``transformer`` with our fixed projection, no prefixes, full length."""
    from pylate import models

    weight = torch.from_numpy(projection(dimension, embedded=embedded).T.copy())
    dense = models.Dense(
        in_features=dimension,
        out_features=weight.shape[0],
        bias=False,
        init_weight=weight,
        activation_function=torch.nn.Identity(),
    )
    limit = transformer.auto_model.config.max_position_embeddings
    length = int(min(transformer.max_seq_length or limit, limit))
    return models.ColBERT(
        modules=[transformer, dense],
        device="cpu",
        query_prefix="",
        document_prefix="",
        do_query_expansion=False,
        query_length=length,
        document_length=length,
    )


class _PlainModels:
    """sentence-transformers for documents and sentences, PyLate for tokens; batches of 32."""

    def __init__(self) -> None:
        self._dense = _fresh_model()
        transformer = _fresh_model()[0]
        width = int(transformer.get_word_embedding_dimension())
        self._tokens = late_interaction_model(transformer, width, embedded=True)
        self.window = int(self._dense.max_seq_length)

    def passes(self, sample: Sample) -> dict[str, Any]:
        return {
            "plain documents": lambda: self.vectors(sample),
            "plain sentences": lambda: self._encode(sample.sentences),
            "plain tokens (PyLate)": lambda: self.tokens(sample),
        }

    def vectors(self, sample: Sample) -> np.ndarray:
        """(n, d), unit rows."""
        return self._encode(sample.texts)

    def _encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.asarray(self._dense.encode(texts, batch_size=32, show_progress_bar=False))

    def tokens(self, sample: Sample) -> list[np.ndarray]:
        """One (t, p) per document."""
        return list(
            self._tokens.encode(
                sample.texts, batch_size=32, is_query=False, show_progress_bar=False
            )
        )


# -- figures ---------------------------------------------------------------------------


def _speeds(seconds: dict[str, Seconds], ours: Sequence[str], documents: int) -> list[Figure]:
    """The target is on the wall clock; CPU seconds suffer less when others use the machine."""
    plain = [name for name in seconds if name not in ours]
    wall, cpu = (sum(getattr(seconds[name], kind) for name in plain) for kind in ("wall", "cpu"))
    figures = []
    for name in ours:
        mine = seconds[name]
        figures += [
            Figure(PART, name, documents / mine.wall, "documents/s",
                   ratio=wall / mine.wall, baseline=PLAIN, target=5.0),
            Figure(PART, f"{name}, of one core", documents / mine.cpu, "documents/CPU s",
                   ratio=cpu / mine.cpu, baseline=PLAIN),
        ]  # fmt: skip
    figures.append(Figure(PART, PLAIN, documents / wall, "documents/s"))
    for name in plain:
        figures.append(Figure(PART, name, documents / seconds[name].wall, "documents/s"))
    return figures


def _fidelity(
    name: str,
    encoder: OnePassEncoder,
    sample: Sample,
    plain: np.ndarray,
    plain_tokens: Sequence[np.ndarray],
) -> list[Figure]:
    """Cosines of what we store to what plain float32 computes."""
    rows = pa.Table.from_batches(_batches(encoder, sample))
    stored = _unit(_matrix(rows["vector"], encoder.spec.dimension))
    lengths = _lengths(encoder, sample)
    short = lengths <= encoder.spec.window
    within = f"{int(short.sum())} of {len(short)} documents fit the window"
    figures = [*_cosines(f"{name}, within the window", stored[short], plain[short], 0.995, within)]
    if not short.all():
        exact = _float32_vectors(encoder, sample)
        figures += _cosines(f"{name}, longer, to the float32 mean over the same windows",
                          stored[~short], exact[~short], 0.999)  # fmt: skip
        figures += _cosines(f"{name}, longer, to plain, which cuts them",
                          stored[~short], plain[~short], None)  # fmt: skip
    pairs = [
        (_matrix(row.values, encoder.spec.token_dimension), theirs)
        for i, theirs in enumerate(plain_tokens)
        if short[i] and (row := rows["token_vectors"][i]) is not None
    ]
    same = [(a, b) for a, b in pairs if a.shape == b.shape]
    note = f"{len(same)} of {len(pairs)} documents have as many tokens as PyLate keeps"
    if same:
        a, b = (np.concatenate(side) for side in zip(*same, strict=True))
        figures += _cosines(f"{name}, tokens", _unit(a), _unit(np.asarray(b)), None, note)
    return figures


def _cosines(
    what: str, ours: np.ndarray, theirs: np.ndarray, target: float | None, note: str = ""
) -> list[Figure]:
    values = (ours * theirs).sum(axis=1)
    return [
        Figure(PART, f"{what}: lowest", float(values.min()), "cosine", target=target, note=note),
        Figure(PART, f"{what}: mean", float(values.mean()), "cosine"),
    ]


def _lengths(encoder: OnePassEncoder, sample: Sample) -> np.ndarray:
    """Tokens of each document, the model's marks included."""
    ids = encoder.parts.tokenizer(sample.texts, truncation=False, verbose=False)["input_ids"]
    return np.array([len(row) for row in ids])


def _float32_vectors(encoder: OnePassEncoder, sample: Sample) -> np.ndarray:
    backend = TorchBackend(_fresh_model()[0].auto_model, bfloat16=False)
    exact = OnePassEncoder(dataclasses.replace(encoder.parts, backend=backend))
    rows = pa.Table.from_batches(_batches(exact, sample))
    return _unit(_matrix(rows["vector"], encoder.spec.dimension))


def _matrix(column: Any, width: int) -> np.ndarray:
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    values = flat.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float32).reshape(-1, width)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _whole_import(path: Path, words: str) -> Figure:
    """The command as people run it: start, check, encode, store, build the indexes."""
    print("  whole import ...", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="seedlens-bench-") as home:
        command = [sys.executable, "-m", "engine.cli", "import", str(path), "--name", "bench"]
        environment = {**os.environ, "SEEDLENS_HOME": home}
        seconds = timed(
            lambda: subprocess.run(
                command, env=environment, cwd=ROOT, check=True, stdout=subprocess.DEVNULL
            )
        )
    return Figure(PART, "seedlens import, from start to end", seconds, "s", target=180.0,
                  at_least=False, note=words)  # fmt: skip
