"""Indexing: our one pass against the three plain passes that give the same vectors."""

from __future__ import annotations

import dataclasses
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

from benchmarks.figures import Figure, rounds, timed
from benchmarks.homes import abstracts, seedlens
from engine.corpora.indexing import encode_batch
from engine.corpora.schema import matrix, rows_of
from engine.encode.backends import TorchBackend
from engine.encode.loaders import load_encoder, locate, projection
from engine.encode.one_pass import OnePassEncoder
from engine.encode.presets import NO_PROMPTS
from engine.ingest.source import open_source, unique_documents
from engine.lenses.definitions import RESEARCH
from engine.numeric import unit
from engine.sentences import split_sentences
from engine.types.documents import SourceDocument
from engine.types.encoders import EMBEDDED

SHARD = 256
PLAIN = "three plain passes"


class Sample(NamedTuple):
    """Documents, their texts as models read them, and every sentence alone."""

    documents: list[SourceDocument]
    texts: list[str]
    sentences: list[str]

    def head(self, n: int) -> Sample:
        """The first documents, to warm up on."""
        return Sample(self.documents[:n], self.texts[:n], self.sentences[: 4 * n])


def measure(documents: int = 400, repeats: int = 3) -> list[Figure]:
    """Speed and fidelity on a sample of so many abstracts; the whole import."""
    sample, ours, plain = _sample(documents), _our_encoders(), _PlainModels()

    def works(of: Sample) -> dict[str, Callable[[], object]]:
        passes = {name: (lambda e=encoder: _stored(e, of)) for name, encoder in ours.items()}
        return passes | plain.passes(of)

    for work in works(sample.head(32)).values():
        work()
    seconds = rounds(works(sample), repeats)
    # The target is on the wall clock; CPU seconds suffer less when others use the machine.
    count, names = len(sample.documents), [name for name in seconds if name not in ours]
    wall, cpu = (sum(times) for times in zip(*(seconds[name] for name in names), strict=True))
    figures = []
    for name in ours:
        mine = seconds[name]
        fast, cheap = wall / mine.wall, cpu / mine.cpu
        figures += [
            Figure(name, count / mine.wall, "documents/s", "", 5.0, None, fast, PLAIN),
            Figure(
                f"{name}, of one core",
                count / mine.cpu,
                "documents/CPU s",
                ratio=cheap,
                baseline=PLAIN,
            ),
        ]
    figures.append(Figure(PLAIN, count / wall, "documents/s"))
    figures += [Figure(name, count / seconds[name].wall, "documents/s") for name in names]
    plain_vectors, plain_tokens = plain.vectors(sample), plain.tokens(sample)
    for name, encoder in ours.items():
        figures += _fidelity(name, encoder, sample, plain_vectors, plain_tokens)
    with tempfile.TemporaryDirectory(prefix="seedlens-bench-") as home:
        # As people run it: start, check, encode, store, build the indexes.
        took = timed(lambda: seedlens("import", abstracts(), "--name", "bench", home=Path(home)))
    return [*figures, Figure("seedlens import, from start to end", took, "s", most=180.0)]


def _sample(documents: int) -> Sample:
    everything = list(unique_documents(open_source(abstracts(), lens=RESEARCH)))
    chosen = random.Random(7).sample(everything, min(documents, len(everything)))
    sentences = [
        d.text[a:b]
        for d in chosen
        for a, b in (d.sentences if d.sentences is not None else split_sentences(d.text))
    ]
    return Sample(chosen, [NO_PROMPTS.for_title(d.title) + d.text for d in chosen], sentences)


def _our_encoders() -> dict[str, OnePassEncoder]:
    """The installed default first; PyTorch as well when that is another."""
    default = load_encoder(bulk=True)
    torch_backend = TorchBackend(_fresh_model()[0].auto_model)
    encoders = {f"one pass ({default.backend})": default}
    if default.backend != torch_backend.name:
        parts = dataclasses.replace(default.parts, backend=torch_backend)
        encoders[f"one pass ({torch_backend.name})"] = OnePassEncoder(parts)
    return encoders


def _stored(encoder: OnePassEncoder, sample: Sample) -> pa.Table:
    """The rows of an import, encoded shard by shard."""
    shards = range(0, len(sample.documents), SHARD)
    return pa.Table.from_batches(
        [encode_batch(sample.documents[i : i + SHARD], encoder, RESEARCH) for i in shards]
    )


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

    def passes(self, sample: Sample) -> dict[str, Callable[[], object]]:
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
        encode = self._tokens.encode
        return list(encode(sample.texts, batch_size=32, is_query=False, show_progress_bar=False))


# -- fidelity --------------------------------------------------------------------------


def _fidelity(
    name: str,
    encoder: OnePassEncoder,
    sample: Sample,
    plain: np.ndarray,
    plain_tokens: Sequence[np.ndarray],
) -> list[Figure]:
    """Cosines of what we store to what plain float32 computes."""
    rows = _stored(encoder, sample)
    stored = _vectors(rows, encoder)
    ids = encoder.parts.tokenizer(sample.texts, truncation=False, verbose=False)["input_ids"]
    short = np.array([len(row) for row in ids]) <= encoder.spec.window
    note = f"{int(short.sum())} of {len(short)} documents fit the window"
    figures = _cosines(f"{name}, within the window", stored[short], plain[short], 0.995, note)
    if not short.all():
        backend = TorchBackend(_fresh_model()[0].auto_model, bfloat16=False)
        parts = dataclasses.replace(encoder.parts, backend=backend)
        exact = _vectors(_stored(OnePassEncoder(parts), sample), encoder)
        long = f"{name}, longer"
        what = f"{long}, to the float32 mean over the same windows"
        figures += _cosines(what, stored[~short], exact[~short], 0.999)
        figures += _cosines(f"{long}, to plain, which cuts them", stored[~short], plain[~short])
    tokens = rows_of(rows["token_vectors"], encoder.spec.token_dimension)
    pairs = [(a, b) for a, b, fits in zip(tokens, plain_tokens, short, strict=True) if fits]
    same = [(a, b) for a, b in pairs if a.shape == b.shape]
    note = f"{len(same)} of {len(pairs)} documents have as many tokens as PyLate keeps"
    if same:
        a, b = (np.concatenate(side).astype(np.float32) for side in zip(*same, strict=True))
        figures += _cosines(f"{name}, tokens", unit(a), unit(b), None, note)
    return figures


def _vectors(rows: pa.Table, encoder: OnePassEncoder) -> np.ndarray:
    return unit(matrix(rows["vector"].combine_chunks(), encoder.spec.dimension))


def _cosines(
    what: str, ours: np.ndarray, theirs: np.ndarray, least: float | None = None, note: str = ""
) -> list[Figure]:
    values = (ours * theirs).sum(axis=1)
    return [
        Figure(f"{what}: lowest", float(values.min()), "cosine", note, least),
        Figure(f"{what}: mean", float(values.mean()), "cosine"),
    ]
