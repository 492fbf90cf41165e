"""The networks that read wordings, on NumPy: what each word asks for or rules out, and terms.

The embedded model with low-rank changes (LoRA: Hu et al. 2022) reads the wording and, separately,
name, phrases and definition of each aspect. Every token of the wording is compared with every
aspect twice, as asking for it and as ruling it out; the weights serve any lens
(``assets/wordings/reader.npz``, fitted by ``tools/fit/reader.py``). A tagger finds content
words on the states of the same network (``tagger.npz``, fitted by ``tools/fit/tagger.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, expit, softmax

from engine.encode.loaders import locate
from engine.encode.minilm import MiniLm, MiniLmTokenizer
from engine.numeric import FloatArray, unit
from engine.types.encoders import EMBEDDED

Weights = Mapping[str, FloatArray]
WINDOW = 96  # Tokens of a wording, and of an aspect's text, that are read; some 70 words
DIRECTIONS = 128  # Dimensions of a token and an aspect, for asking, and for ruling out
CHANGES = "changes/"  # Prefix of low-rank changes in the file: then the layer, ``.down`` or ``.up``
LABELS = ("other", "carrier", "wanted", "unwanted")
"""Of words: of a term that documents should have or should not, leading to one ("solved with"), or
neither."""
LAYERS = (1, 3, 6)  # Of the network, whose states the tagger reads
TAGGERS = 3
"""Networks that vote: of the terms of 201 unseen wordings each alone finds 0.88 to 0.90, the three
0.91."""
STATES = 96  # Dimensions of a tagger's state, in each direction


def read_weights(path: Path) -> dict[str, FloatArray]:
    """The float32 weights of a file, by name."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name].astype(np.float32) for name in file}


def _linear(rows: FloatArray, weights: Weights, name: str) -> FloatArray:
    return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _compare(tokens: FloatArray, aspects: FloatArray, weights: Weights) -> FloatArray:
    """(t, a, 2) log-odds of tokens (t, width) for aspects (a, width) against neither, to be added
    by log-mean-exp."""
    of_tokens, of_aspects = (
        unit(_linear(rows, weights, name).reshape(len(rows), 2, DIRECTIONS))
        for rows, name in ((tokens, "of_tokens"), (aspects, "of_aspects"))
    )
    cosines = np.einsum("thd,ahd->tah", of_tokens, of_aspects)
    of_any = _linear(tokens, weights, "of_any")[:, None]
    return np.asarray(cosines * np.exp(weights["sharpness"]) + of_any + weights["bias"])


def _tag(words: FloatArray, weights: Weights) -> FloatArray:
    """(w, labels) probabilities of words (w, width * layers): the mean of all taggers."""
    votes = []
    for tagger in range(TAGGERS):
        at = f"networks.{tagger}"
        narrow = _linear(words, weights, f"{at}.narrow")
        narrow = narrow * (1 + erf(narrow / np.float32(np.sqrt(2)))) / 2  # GELU
        forth = _recurrent(narrow, weights, f"{at}.recurrent", "l0")
        back = _recurrent(narrow[::-1], weights, f"{at}.recurrent", "l0_reverse")[::-1]
        votes.append(softmax(_linear(np.hstack([forth, back]), weights, f"{at}.label"), axis=-1))
    return np.asarray(np.mean(votes, axis=0))


def _recurrent(rows: FloatArray, weights: Weights, name: str, layer: str) -> FloatArray:
    """A gated recurrent unit (Cho et al. 2014) over rows (n, width): its states (n, STATES)."""
    of_input = rows @ weights[f"{name}.weight_ih_{layer}"].T + weights[f"{name}.bias_ih_{layer}"]
    weight, bias = (weights[f"{name}.{part}_hh_{layer}"] for part in ("weight", "bias"))
    state = np.zeros(STATES, dtype=np.float32)
    states = np.zeros((len(rows), STATES), dtype=np.float32)
    for at, entering in enumerate(of_input.reshape(len(rows), 3, STATES)):
        before = (weight @ state + bias).reshape(3, STATES)
        reset, update = expit(entering[:2] + before[:2])
        new = np.tanh(entering[2] + reset * before[2])
        states[at] = state = (1 - update) * new + update * state
    return states


class WordingNetwork:
    """The fitted networks; :meth:`tags` needs a ``tagger``."""

    def __init__(self, weights: Path, tagger: Path | None = None) -> None:
        self._weights = read_weights(weights)
        self._tagger = {} if tagger is None else read_weights(tagger)
        changes = {}
        for name, down in self._weights.items():
            if name.startswith(CHANGES) and name.endswith(".down"):
                layer = name.removeprefix(CHANGES).removesuffix(".down")
                changes[layer] = self._weights[f"{CHANGES}{layer}.up"] @ down
        folder = Path(locate(EMBEDDED)[0])
        self._tokenizer, self._network = MiniLmTokenizer(folder, WINDOW), MiniLm(folder, changes)

    def aspects(self, texts: Sequence[str]) -> FloatArray:
        """(a, width): what the aspects that these texts describe are compared by."""
        _, ids, mask = self._tokenizer.read(texts)
        states = self._network.forward(ids, mask) * mask[..., None].astype(np.float32)
        return np.asarray(states.sum(axis=1) / mask.sum(axis=1, keepdims=True, dtype=np.float32))

    def scores(self, parts: Sequence[str], aspects: FloatArray) -> FloatArray:
        """(parts, 2 a) log-odds of the adjacent parts of one wording: of asking for each of
        :meth:`aspects`, then of ruling it out, against neither; together their log-sum-exp."""
        (read,), ids, mask = self._tokenizer.read(["".join(parts)])
        of_tokens = _compare(self._network.forward(ids, mask)[0], aspects, self._weights)
        of_tokens = (
            (of_tokens - np.log(len(of_tokens))).transpose(0, 2, 1).reshape(ids.shape[1], -1)
        )
        ends = list(accumulate(map(len, parts)))
        last = np.array([end for _, end in read.offsets])
        of_part = np.searchsorted(ends[:-1], last)  # the mark at the end has the offset 0
        of_part[-1] = of_part[-2]
        scores = np.full((len(parts), of_tokens.shape[1]), -np.inf, dtype=np.float32)
        np.logaddexp.at(scores, of_part, of_tokens)
        return np.maximum(scores, np.finfo(np.float32).min)

    def tags(self, words: Sequence[str]) -> FloatArray:
        """Scores (words, labels) of the words of one wording; those beyond the window are 0."""
        found = np.zeros((len(words), len(LABELS)), dtype=np.float32)
        scores = _tag(self.word_states([words])[0][0], self._tagger)[: len(words)]
        found[: len(scores)] = scores
        return found

    def word_states(
        self, wordings: Sequence[Sequence[str]]
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The states (n, w, width * layers) of words, and which (n, w) of them are there."""
        read, ids, mask = self._tokenizer.read(wordings)
        layers = self._network.states(ids, mask)
        states = np.concatenate([layers[layer] for layer in LAYERS], axis=-1)
        words = [[-1 if word is None else word for word in one.word_ids] for one in read]
        count = 1 + max((max(one) for one in words), default=-1)
        sums = np.zeros((len(read), count, states.shape[-1]), dtype=np.float32)
        tokens = np.zeros((len(read), count), dtype=np.float32)
        for row, of_words in enumerate(words):
            there = [at for at, word in enumerate(of_words) if word >= 0]
            places = [of_words[at] for at in there]
            np.add.at(sums[row], places, states[row, there])
            np.add.at(tokens[row], places, 1)
        sums /= np.maximum(tokens, 1)[..., None]
        return sums, tokens > 0


@functools.lru_cache(maxsize=1)
def wording_network(weights: Path, tagger: Path | None = None) -> WordingNetwork:
    """The networks, loaded once per process."""
    return WordingNetwork(weights, tagger)
