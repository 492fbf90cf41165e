"""The embedded model, all-MiniLM-L6-v2: BERT (Devlin et al. 2019) of six layers without PyTorch,
whose import takes 10 s. NumPy encodes queries, OpenVINO encodes corpora."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.encode.backends import openvino_module
from engine.encode.one_pass import IntArray
from engine.numeric import FloatArray

WIDTH = 384
HEADS = 12
LAYERS = 6
WINDOW = 256  # Tokens that the model was made to read at once
EPSILON = 1e-12  # Added to variances in layer normalisation
LINEAR = ("attention.self.query", "attention.self.key", "attention.self.value")


class MiniLmTokenizer:
    """The model's WordPiece tokenizer, called as those of transformers are; :meth:`read` cuts texts
    to ``window`` tokens, 0 for all of them."""

    pad_token_id = 0

    def __init__(self, folder: Path, window: int = 0) -> None:
        from tokenizers import Tokenizer

        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        if window:
            self._tokenizer.enable_truncation(window)
        self.unk_token_id = self._tokenizer.token_to_id("[UNK]")

    def __call__(
        self, text: str | Sequence[str], add_special_tokens: bool = True, **_: Any
    ) -> dict[str, Any]:
        """Ids and the characters (start, end) of each, of one text or several."""
        texts = [text] if isinstance(text, str) else list(text)
        found = self._tokenizer.encode_batch(texts, add_special_tokens=add_special_tokens)
        ids, spans = [one.ids for one in found], [one.offsets for one in found]
        if isinstance(text, str):
            return {"input_ids": ids[0], "offset_mapping": spans[0]}
        return {"input_ids": ids, "offset_mapping": spans}

    def convert_tokens_to_ids(self, tokens: Sequence[str]) -> list[int | None]:
        """The ids of tokens; None for what is none."""
        return [self._tokenizer.token_to_id(token) for token in tokens]

    def get_vocab(self) -> dict[str, int]:
        """All tokens with their ids."""
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        return vocabulary

    def read(
        self, texts: Sequence[str] | Sequence[Sequence[str]]
    ) -> tuple[list[Any], IntArray, IntArray]:
        """Encodings of texts, or of texts in words, with ids and mask (n, t), marks included."""
        words = bool(texts) and not isinstance(texts[0], str)
        found = self._tokenizer.encode_batch(list(texts), is_pretokenized=words)
        ids = np.zeros((len(found), max(len(one.ids) for one in found)), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(found):
            ids[row, : len(one.ids)] = one.ids
            mask[row, : len(one.ids)] = 1
        return found, ids, mask


class MiniLm:
    """The network on NumPy, in float32; ``changes`` by layer are added to its weights."""

    name = "numpy-fp32"

    def __init__(self, folder: Path, changes: Mapping[str, FloatArray] | None = None) -> None:
        from safetensors.numpy import load_file

        self.weights: dict[str, FloatArray] = load_file(folder / "model.safetensors")
        for layer, change in (changes or {}).items():
            self.weights[f"{layer}.weight"] = self.weights[f"{layer}.weight"] + change

    def forward(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        """See :class:`engine.encode.one_pass.Backend`."""
        return self.states(input_ids, attention_mask)[-1]

    def states(self, input_ids: IntArray, attention_mask: IntArray) -> list[FloatArray]:
        """Hidden states (n, t, 384) before the first layer and after each."""
        from scipy.special import erf

        rows, length = input_ids.shape
        embedded = (
            self.weights["embeddings.word_embeddings.weight"][input_ids]
            + self.weights["embeddings.position_embeddings.weight"][:length]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        states = [self._normalised(embedded, "embeddings")]
        hidden_from = np.where(attention_mask[:, None, None] > 0, 0, -1e9).astype(np.float32)
        for layer in range(LAYERS):
            at, inputs = f"encoder.layer.{layer}", states[-1]
            query, key, value = (
                self._linear(inputs, f"{at}.{name}")
                .reshape(rows, length, HEADS, -1)
                .transpose(0, 2, 1, 3)
                for name in LINEAR
            )
            scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(query.shape[-1]))
            scores = np.exp(scores + hidden_from - scores.max(axis=-1, keepdims=True))
            mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
            mixed = mixed.transpose(0, 2, 1, 3).reshape(inputs.shape)
            attended = self._linear(mixed, f"{at}.attention.output.dense")
            attended = self._normalised(inputs + attended, f"{at}.attention.output")
            wide = self._linear(attended, f"{at}.intermediate.dense")
            wide *= (1 + erf(wide / np.float32(np.sqrt(2)))) / 2  # GELU
            outputs = attended + self._linear(wide, f"{at}.output.dense")
            states.append(self._normalised(outputs, f"{at}.output"))
        return states

    def _linear(self, rows: FloatArray, name: str) -> FloatArray:
        return rows @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normalised(self, rows: FloatArray, name: str) -> FloatArray:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        weight = self.weights[f"{name}.LayerNorm.weight"]
        return np.asarray(centred / scale * weight + self.weights[f"{name}.LayerNorm.bias"])


def openvino_graph(weights: Mapping[str, FloatArray]) -> Any:
    """The same network as a model of OpenVINO: ids and mask (n, t) to hidden states (n, t, 384)."""
    openvino = openvino_module()
    ops = openvino.opset13
    ids, mask = (ops.parameter([-1, -1], np.int64, name) for name in ("input_ids", "mask"))

    def numbers(*values: int) -> Any:
        return ops.constant(np.array(values, dtype=np.int64))

    def linear(rows: Any, name: str) -> Any:
        weight, bias = (ops.constant(weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return ops.add(ops.matmul(rows, weight, False, True), bias)

    def normalised(rows: Any, name: str) -> Any:
        weight, bias = (
            ops.constant(weights[f"{name}.LayerNorm.{part}"]) for part in ("weight", "bias")
        )
        centred = ops.mvn(rows, numbers(-1), True, EPSILON, "inside_sqrt")
        return ops.add(ops.multiply(centred, weight), bias)

    def heads(rows: Any) -> Any:
        return ops.transpose(ops.reshape(rows, numbers(0, 0, HEADS, -1), True), numbers(0, 2, 1, 3))

    def table(name: str) -> Any:
        return ops.constant(weights[f"embeddings.{name}_embeddings.weight"])

    length = ops.gather(ops.shape_of(ids), numbers(1), numbers(0))
    positions = ops.slice(table("position"), numbers(0), length, numbers(1), numbers(0))
    kind = ops.gather(table("token_type"), numbers(0), numbers(0))
    embedded = ops.add(ops.gather(table("word"), ids, numbers(0)), ops.add(positions, kind))
    states = normalised(embedded, "embeddings")
    there = ops.unsqueeze(ops.convert(mask, "f32"), numbers(1, 2))
    hidden_from = ops.multiply(ops.subtract(there, np.float32(1)), np.float32(1e9))
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        query, key, value = (heads(linear(states, f"{at}.{name}")) for name in LINEAR)
        scores = ops.multiply(
            ops.matmul(query, key, False, True), np.float32((WIDTH / HEADS) ** -0.5)
        )
        mixed = ops.matmul(ops.softmax(ops.add(scores, hidden_from), -1), value, False, False)
        mixed = ops.reshape(ops.transpose(mixed, numbers(0, 2, 1, 3)), numbers(0, 0, -1), True)
        attended = linear(mixed, f"{at}.attention.output.dense")
        attended = normalised(ops.add(states, attended), f"{at}.attention.output")
        wide = ops.gelu(linear(attended, f"{at}.intermediate.dense"), "erf")
        states = normalised(ops.add(attended, linear(wide, f"{at}.output.dense")), f"{at}.output")
    return openvino.Model([ops.result(states)], [ids, mask], "all-MiniLM-L6-v2")
