"""One pass of a transformer per document, pooled three ways.

Document vector: the model's own pooling. Sentence vectors: mean over the sentence's tokens
in the context of the whole document ("late chunking"). Token vectors: the late-interaction
projection of each token, as PyLate's ColBERT computes it.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.encode.protocols import EncoderSpec, Encoding, Passage
from engine.encode.windows import Window, batch_windows, plan_windows
from engine.numeric import FloatArray, unit

if TYPE_CHECKING:
    from engine.encode.backends import Backend

Pooling = Literal["mean", "cls", "lasttoken"]

OVERLAP = 64
"""Tokens that neighbouring windows of a long document share."""
BATCH_TOKENS = 4096
"""Tokens per forward pass, padding included; 1024 to 8192 measured alike on 2 cores."""


@dataclass(frozen=True)
class ModelParts:
    """What the one-pass encoder needs of a loaded model.

    Attributes:
        project: token states (n, width) to late-interaction vectors (n, p), unit length.
        head: whatever the model does after pooling, (n, width) to (n, d), before normalising.
        width: columns of the hidden states.
    """

    tokenizer: Any
    backend: Backend
    pooling: Pooling
    project: Callable[[FloatArray], FloatArray]
    head: Callable[[FloatArray], FloatArray]
    width: int
    spec: EncoderSpec


class OnePassEncoder:
    """Implements :class:`engine.encode.protocols.Encoder` with a single forward pass."""

    def __init__(self, parts: ModelParts) -> None:
        self.parts = parts
        with_marks = parts.tokenizer("a")["input_ids"]
        bare = parts.tokenizer("a", add_special_tokens=False)["input_ids"]
        at = with_marks.index(bare[0])
        self._before: list[int] = with_marks[:at]
        self._after: list[int] = with_marks[at + len(bare) :]
        self._pad = int(parts.tokenizer.pad_token_id or 0)
        ids = parts.tokenizer.convert_tokens_to_ids(list(string.punctuation))
        self._punctuation = np.array([i for i in ids if i is not None], dtype=np.int64)

    @property
    def spec(self) -> EncoderSpec:
        return self.parts.spec

    @property
    def backend(self) -> str:
        """Name of what runs the forward pass, for reports."""
        return self.parts.backend.name

    def encode(self, passages: Sequence[Passage]) -> list[Encoding]:
        """See :class:`engine.encode.protocols.Encoder`."""
        if not passages:
            return []
        prefixes = [_title_prefix(p.title) for p in passages]
        tokenized = self.parts.tokenizer(
            [prefix + p.text for prefix, p in zip(prefixes, passages, strict=True)],
            add_special_tokens=False,
            truncation=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            verbose=False,
        )
        ids = [np.asarray(row, dtype=np.int64) for row in tokenized["input_ids"]]
        states, pooled = self._run(ids)
        vectors = unit(self.parts.head(pooled))
        out = []
        for i, passage in enumerate(passages):
            offsets = np.asarray(tokenized["offset_mapping"][i], dtype=np.int32).reshape(-1, 2)
            offsets = offsets - len(prefixes[i])
            spans, kept = self._spans(ids[i], offsets, len(states[i]))
            out.append(
                Encoding(
                    vector=vectors[i],
                    sentences=self._sentence_vectors(states[i], spans, passage),
                    tokens=self.parts.project(states[i][kept]),
                    token_spans=spans[kept],
                )
            )
        return out

    def _run(self, ids: list[NDArray[np.int64]]) -> tuple[list[FloatArray], FloatArray]:
        """Hidden states of every token (the model's marks at both ends), and pooled rows."""
        marks = len(self._before) + len(self._after)
        size = self.spec.window - marks
        windows = plan_windows([len(row) for row in ids], size, min(OVERLAP, size // 2))
        width = self.parts.width
        states = [np.zeros((len(row) + marks, width), dtype=np.float32) for row in ids]
        sums = np.zeros((len(ids), width), dtype=np.float32)
        counts = np.zeros((len(ids), 1), dtype=np.float32)
        for batch in batch_windows(windows, BATCH_TOKENS):
            hidden = self._forward(batch, ids)
            for row, window in zip(hidden, batch, strict=True):
                row = row[: len(window) + marks]
                self._keep(states[window.document], row, window, len(ids[window.document]))
                pooled, count = self._pool(row)
                sums[window.document] += pooled
                counts[window.document] += count
        return states, np.asarray(sums / np.maximum(counts, 1.0), dtype=np.float32)

    def _forward(self, batch: list[Window], ids: list[NDArray[np.int64]]) -> FloatArray:
        longest = max(map(len, batch)) + len(self._before) + len(self._after)
        inputs = np.full((len(batch), longest), self._pad, dtype=np.int64)
        mask = np.zeros_like(inputs)
        for row, window in enumerate(batch):
            tokens = [
                *self._before,
                *ids[window.document][window.start : window.stop],
                *self._after,
            ]
            inputs[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        return self.parts.backend.forward(inputs, mask)

    def _keep(self, states: FloatArray, row: FloatArray, window: Window, length: int) -> None:
        lead = len(self._before)
        kept = row[lead + window.keep_from - window.start : lead + window.keep_to - window.start]
        states[lead + window.keep_from : lead + window.keep_to] = kept
        if window.start == 0:
            states[:lead] = row[:lead]
        if window.stop == length and self._after:
            states[-len(self._after) :] = row[-len(self._after) :]

    def _pool(self, row: FloatArray) -> tuple[FloatArray, float]:
        match self.parts.pooling:
            case "mean":
                return row.sum(axis=0), float(len(row))
            case "cls":
                return row[0], 1.0
            case "lasttoken":
                return row[-1], 1.0

    def _spans(
        self, ids: NDArray[np.int64], offsets: NDArray[np.int32], states: int
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Spans of all states, marks included, and which of them late interaction keeps."""
        spans = np.full((states, 2), -1, dtype=np.int32)
        lead = len(self._before)
        in_text = offsets[:, 0] >= 0
        spans[lead : lead + len(ids)][in_text] = offsets[in_text]
        kept = np.ones(states, dtype=np.bool_)
        kept[lead : lead + len(ids)] = ~np.isin(ids, self._punctuation)
        return spans, kept

    def _sentence_vectors(
        self, states: FloatArray, spans: NDArray[np.int32], passage: Passage
    ) -> FloatArray:
        means = np.zeros((len(passage.sentences), states.shape[1]), dtype=np.float32)
        starts = spans[:, 0]
        for i, (start, end) in enumerate(passage.sentences):
            inside = (starts >= start) & (starts < end)
            if inside.any():
                means[i] = states[inside].mean(axis=0)
        return unit(self.parts.head(means)) if len(means) else means


def _title_prefix(title: str) -> str:
    """What stands before the text: the title and a full stop, unless it ends in one."""
    title = title.strip()
    if not title:
        return ""
    return f"{title} " if title[-1] in ".?!:" else f"{title}. "
