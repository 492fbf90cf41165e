"""One pass of a transformer per document, pooled three ways.

Document vector: the model's own pooling. Sentence vectors: means over their tokens in the context
of the document ("late chunking"). Token vectors: late-interaction projections, as in PyLate.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.encode.presets import NO_PROMPTS, Pooling, Prompts
from engine.errors import BadInputError
from engine.numeric import FloatArray, unit
from engine.types.encoders import EncoderSpec, Encoding, Passage

IntArray = NDArray[np.int64]


class Backend(Protocol):
    """Token ids and mask, both (batch, length), to hidden states (batch, length, width)."""

    name: str

    def forward(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray: ...


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens ``[start, stop)`` of document ``document``, of which ``[keep_from, keep_to)`` count:
    every token once, in the window where it has the most context."""

    document: int
    start: int
    stop: int
    keep_from: int
    keep_to: int

    def __len__(self) -> int:
        return self.stop - self.start


def plan_windows(document: int, length: int, size: int, overlap: int) -> Iterator[Window]:
    """Cover a document of ``length`` tokens with windows of at most ``size`` tokens, which share
    ``overlap`` tokens.

    >>> [(w.start, w.stop, w.keep_from, w.keep_to) for w in plan_windows(0, 10, 6, 2)]
    [(0, 6, 0, 5), (4, 10, 5, 10)]
    """
    start = keep_from = 0
    while (stop := start + size) < length:
        keep_to = stop - overlap // 2
        yield Window(document, start, stop, keep_from, keep_to)
        start, keep_from = stop - overlap, keep_to
    yield Window(document, start, length, keep_from, length)


def batch_windows(windows: Sequence[Window], budget: int) -> list[list[Window]]:
    """Group windows of like length into batches of at most ``budget`` tokens, padding included; a
    longer window is a batch alone. The longest come first, so that memory peaks at once."""
    batches: list[list[Window]] = []
    for window in sorted(windows, key=len, reverse=True):
        if batches and (len(batches[-1]) + 1) * len(batches[-1][0]) <= budget:
            batches[-1].append(window)
        else:
            batches.append([window])
    return batches


@dataclass(frozen=True, slots=True)
class Tokens:
    """One passage behind a prompt, without the tokenizer's marks."""

    prompt: NDArray[np.int64]  # (p,) its tokens
    ids: NDArray[np.int64]  # (n,) the tokens of title and text
    # (n, 2) place of a token in the text, without white space; (-1, -1) for the title's
    spans: NDArray[np.int32]


def tokenize(
    tokenizer: Any, prompts: Prompts, prompt: str, passages: Sequence[Passage]
) -> list[Tokens]:
    """Tokens of ``prompt + title + text``, cut into prompt and passage.

    They are tokenized together, as tokenizers join across borders ("Query: " and "Bees" share a
    piece); such a token belongs to the passage.
    """
    heads = [prompt + prompts.for_title(p.title) for p in passages]
    encoded = tokenizer(
        [head + p.text for head, p in zip(heads, passages, strict=True)],
        add_special_tokens=False,
        truncation=False,
        return_offsets_mapping=True,
        return_attention_mask=False,
        verbose=False,
    )
    out = []
    for i, passage in enumerate(passages):
        ids = np.asarray(encoded["input_ids"][i], dtype=np.int64)
        offsets = np.asarray(encoded["offset_mapping"][i], dtype=np.int32).reshape(-1, 2)
        beyond = np.flatnonzero(offsets[:, 1] > len(prompt)) if prompt else np.arange(len(ids))
        first = int(beyond[0]) if len(beyond) else len(ids)
        spans = _in_text(offsets[first:] - len(heads[i]), passage.text)
        out.append(Tokens(ids[:first], ids[first:], spans))
    return out


def _in_text(offsets: NDArray[np.int32], text: str) -> NDArray[np.int32]:
    """Spans into ``text``, of offsets that are negative before it begins."""
    spans = offsets.copy()
    spans[(offsets[:, 0] < 0) & (offsets[:, 1] > 0), 0] = 0  # a piece shared with the title
    spans[spans[:, 0] < 0] = -1
    for row in np.flatnonzero(spans[:, 0] >= 0):
        start, end = spans[row]
        while start < end - 1 and text[start].isspace():
            start += 1
        spans[row, 0] = start
    return spans


def opening_and_closing(tokenizer: Any, end_mark: str) -> tuple[list[int], list[int]]:
    """Ids that the tokenizer puts around a text, with ``end_mark`` (if any) as the last."""
    marked = tokenizer("a")["input_ids"]
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    at = marked.index(bare[0])
    opening, closing = list(marked[:at]), list(marked[at + len(bare) :])
    if end_mark:
        end = tokenizer.get_vocab().get(end_mark)
        if end is None:
            raise ValueError(f"its tokenizer has no '{end_mark}'")
        if closing[-1:] != [end]:
            closing.append(end)
    return opening, closing


OVERLAP = 64  # Tokens that neighbouring windows of a long document share
BATCH_TOKENS = 4096  # Per forward pass, padding included; 1024 to 8192 are as fast on 2 cores


@dataclass(frozen=True, kw_only=True)
class TextReading:
    """How a model reads and pools texts."""

    tokenizer: Any
    pooling: Pooling
    width: int  # of the hidden states
    prompts: Prompts = NO_PROMPTS
    document_marks: tuple[int, ...] = ()  # after the tokenizer's first mark: "[D]"
    query_marks: tuple[int, ...] = ()  # "[Q]"
    end_mark: str = ""  # that ends every text; "" for what the tokenizer does
    skipped: tuple[int, ...] | None = None  # without a vector; None for punctuation


@dataclass(frozen=True, kw_only=True)
class ModelParts(TextReading):
    """What the one-pass encoder needs of a loaded model."""

    backend: Backend
    # token states (n, width) to unit late-interaction vectors (n, p)
    project: Callable[[FloatArray], FloatArray]
    head: Callable[[FloatArray], FloatArray]  # after pooling: (n, width) to (n, d)
    spec: EncoderSpec
    query_backend: Backend | None = None  # another model for queries under an instruction


class OnePassEncoder:
    """Implements :class:`engine.types.encoders.Encoder` with a single forward pass."""

    def __init__(self, parts: ModelParts) -> None:
        self.parts = parts
        opening, self._after = opening_and_closing(parts.tokenizer, parts.end_mark)
        self._before = [*opening[:1], *parts.document_marks, *opening[1:]]
        self._before_query = [*opening[:1], *parts.query_marks, *opening[1:]]
        self._pad = int(parts.tokenizer.pad_token_id or 0)
        skipped = parts.skipped if parts.skipped is not None else punctuation(parts.tokenizer)
        self._skipped = np.array(skipped, dtype=np.int64)

    @property
    def spec(self) -> EncoderSpec:
        return self.parts.spec

    @property
    def backend(self) -> str:
        """Name of what runs the forward pass, for reports."""
        return self.parts.backend.name

    def encode(self, passages: Sequence[Passage]) -> list[Encoding]:
        """See :class:`engine.types.encoders.Encoder`."""
        if not passages:
            return []
        prompts = self.parts.prompts
        texts = tokenize(self.parts.tokenizer, prompts, prompts.document, passages)
        states, pooled = self._run(texts)
        vectors = unit(self.parts.head(pooled))
        out = []
        for i, passage in enumerate(passages):
            spans, kept = self._spans(texts[i], len(states[i]))
            out.append(
                Encoding(
                    vector=vectors[i],
                    sentences=self._sentence_vectors(states[i], spans, passage),
                    tokens=self.parts.project(states[i][kept]),
                    token_spans=spans[kept],
                )
            )
        return out

    def encode_query(self, passage: Passage, instruction: str) -> FloatArray:
        """See :class:`engine.types.encoders.Encoder`."""
        parts = self.parts
        prompt = parts.prompts.for_query(instruction)
        text = tokenize(parts.tokenizer, parts.prompts, prompt, [passage])[0]
        lead = [*self._before_query, *text.prompt]
        room = self.spec.window - len(lead) - len(self._after)
        if room < min(1, len(text.ids)):
            raise BadInputError(
                f"The instruction leaves no room for the seed: the model '{self.spec.source}' "
                f"reads {self.spec.window} tokens, the instruction has {len(text.prompt)}.",
                "Use a shorter instruction.",
            )
        ids = np.array([[*lead, *text.ids[:room], *self._after]], dtype=np.int64)
        backend = parts.query_backend or parts.backend
        row = backend.forward(ids, np.ones_like(ids))[0]
        pooled, count = self._pool(row, len(lead))
        vector: FloatArray = unit(parts.head((pooled / count)[None].astype(np.float32)))[0]
        return vector

    def _run(self, texts: list[Tokens]) -> tuple[list[FloatArray], FloatArray]:
        """Hidden states of every token (prompt and marks at both ends), and pooled rows."""
        marks = len(self._before) + len(self._after)
        width = self.parts.width
        around = [marks + len(text.prompt) for text in texts]
        states = [
            np.zeros((len(text.ids) + extra, width), dtype=np.float32)
            for text, extra in zip(texts, around, strict=True)
        ]
        sums = np.zeros((len(texts), width), dtype=np.float32)
        counts = np.zeros((len(texts), 1), dtype=np.float32)
        for batch in batch_windows(self._windows(texts), BATCH_TOKENS):
            hidden = self._forward(batch, texts)
            for row, window in zip(hidden, batch, strict=True):
                document = window.document
                row = row[: len(window) + around[document]]
                lead = len(self._before) + len(texts[document].prompt)
                self._keep(states[document], row, window, lead)
                pooled, count = self._pool(row, lead)
                sums[document] += pooled
                counts[document] += count
        return states, np.asarray(sums / np.maximum(counts, 1.0), dtype=np.float32)

    def _windows(self, texts: list[Tokens]) -> list[Window]:
        """Windows over each text; prompt and marks are read again in every one of them."""
        windows: list[Window] = []
        for document, text in enumerate(texts):
            taken = len(self._before) + len(self._after) + len(text.prompt)
            size = max(self.spec.window - taken, 1)
            windows += plan_windows(document, len(text.ids), size, min(OVERLAP, size // 2))
        return windows

    def _forward(self, batch: list[Window], texts: list[Tokens]) -> FloatArray:
        rows = []
        for window in batch:
            text = texts[window.document]
            body = text.ids[window.start : window.stop]
            rows.append([*self._before, *text.prompt, *body, *self._after])
        inputs = np.full((len(rows), max(map(len, rows))), self._pad, dtype=np.int64)
        mask = np.zeros_like(inputs)
        for i, row in enumerate(rows):
            inputs[i, : len(row)] = row
            mask[i, : len(row)] = 1
        return self.parts.backend.forward(inputs, mask)

    def _keep(self, states: FloatArray, row: FloatArray, window: Window, lead: int) -> None:
        kept = row[lead + window.keep_from - window.start : lead + window.keep_to - window.start]
        states[lead + window.keep_from : lead + window.keep_to] = kept
        if window.start == 0:
            states[:lead] = row[:lead]
        if self._after and window.stop == len(states) - lead - len(self._after):
            states[-len(self._after) :] = row[-len(self._after) :]

    def _pool(self, row: FloatArray, lead: int) -> tuple[FloatArray, float]:
        """A weighted sum of states (n, width) and the sum of the weights; the first ``lead`` are
        opening marks and prompt."""
        first = 0 if self.parts.prompts.pooled or len(row) <= lead else lead
        match self.parts.pooling:
            case "mean":
                return row[first:].sum(axis=0), float(len(row) - first)
            case "weightedmean":
                weights = np.arange(first + 1, len(row) + 1, dtype=np.float32)
                return weights @ row[first:], float(weights.sum())
            case "cls":
                return row[0], 1.0
            case "lasttoken":
                return row[-1], 1.0

    def _spans(self, text: Tokens, states: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Spans of all states, marks included, and which of them late interaction keeps."""
        spans = np.full((states, 2), -1, dtype=np.int32)
        lead = len(self._before) + len(text.prompt)
        spans[lead : lead + len(text.ids)] = text.spans
        kept = np.ones(states, dtype=np.bool_)
        kept[len(self._before) : lead] = False
        kept[lead : lead + len(text.ids)] = ~np.isin(text.ids, self._skipped)
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
        if not len(means):
            return np.zeros((0, self.spec.dimension), dtype=np.float32)
        vectors = unit(self.parts.head(means))
        # A head with a bias makes something of nothing.
        vectors[~means.any(axis=1)] = 0.0
        return vectors


def punctuation(tokenizer: Any) -> tuple[int, ...]:
    """Ids of ASCII punctuation, also where the tokenizer writes a space before it."""
    marks = [lead + mark for mark in string.punctuation for lead in ("", "▁", "Ġ")]
    ids = tokenizer.convert_tokens_to_ids(marks)
    return tuple(sorted({i for i in ids if i is not None and i != tokenizer.unk_token_id}))
