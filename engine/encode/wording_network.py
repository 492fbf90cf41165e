"""The networks that read wordings: what each word asks for or rules out, and which are terms.

The embedded model, its linear layers changed a little (low-rank, LoRA: Hu et al. 2022), reads the
wording and, apart, what each aspect of the lens is: name, phrases, definition. Every token of the
wording is then compared with every aspect twice, as asking for it and as ruling it out. Weights:
``assets/wordings/reader.npz``, fitted by ``benchmarks/fit_reader.py``; they are the same for all
aspects, so that they serve any lens.

:class:`TermTagger` finds the content words in them, on the states of the same network; weights:
``assets/wordings/tagger.npz``, fitted by ``benchmarks/fit_tagger.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine.encode.loaders import load_embedded
from engine.numeric import FloatArray

WINDOW = 96
"""Tokens of a wording, and of an aspect's text, that are read; some 70 words."""
DIRECTIONS = 128
"""Numbers of a token, and of an aspect, that are compared for asking, and for ruling out."""
CHANGES = "changes/"
"""Begins the names of the low-rank changes in the file: the layer, then ``.down`` or ``.up``."""


class Comparison(torch.nn.Module):
    """Compares tokens (n, t, width) with aspects (a, width)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_tokens = torch.nn.Linear(width, 2 * DIRECTIONS)
        self.of_aspects = torch.nn.Linear(width, 2 * DIRECTIONS)
        self.of_any = torch.nn.Linear(width, 2)
        self.sharpness = torch.nn.Parameter(torch.full((2,), 2.3))
        self.bias = torch.nn.Parameter(torch.tensor([-4.0, -5.0]))

    def forward(self, tokens: torch.Tensor, aspects: torch.Tensor) -> torch.Tensor:
        """(n, t, a, 2) log-odds against saying nothing, to be added up by log-mean-exp."""
        of_tokens = self.of_tokens(tokens).unflatten(-1, (2, DIRECTIONS))
        of_aspects = self.of_aspects(aspects).unflatten(-1, (2, DIRECTIONS))
        cosines = torch.einsum(
            "nthd,ahd->ntah",
            torch.nn.functional.normalize(of_tokens, dim=-1),
            torch.nn.functional.normalize(of_aspects, dim=-1),
        )
        weighed = cosines * self.sharpness.exp() + self.of_any(tokens)[:, :, None]
        return torch.as_tensor(weighed + self.bias)


LABELS = ("other", "carrier", "wanted", "unwanted")
"""What a word of a wording is: of a term that documents should have or should not, a word that
leads to one ("solved with"), or neither."""
LAYERS = (1, 3, 6)
"""Of the network, whose states the tagger reads."""
TAGGERS = 3
"""Networks that vote: of the terms of 201 wordings without part in their training, each alone finds
0.88 to 0.90, the three 0.91."""


class WordLabels(torch.nn.Module):
    """Tells what each word of a wording is, see :data:`LABELS`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.narrow = torch.nn.Linear(width * len(LAYERS), 128)
        self.recurrent = torch.nn.GRU(128, 96, batch_first=True, bidirectional=True)
        self.label = torch.nn.Linear(192, len(LABELS))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """(n, w, labels) scores of words (n, w, width * layers)."""
        narrow = torch.nn.functional.gelu(self.narrow(words))
        return torch.as_tensor(self.label(self.recurrent(narrow)[0]))


class TermTagger(torch.nn.Module):
    """The mean of :data:`TAGGERS` networks that were trained alike from different weights."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.networks = torch.nn.ModuleList(WordLabels(width) for _ in range(TAGGERS))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """(n, w, labels) probabilities of words (n, w, width * layers)."""
        return torch.stack([one(words).softmax(-1) for one in self.networks]).mean(0)


def mean_state(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(n, width) means over the tokens (n, t, width) that ``mask`` (n, t) has."""
    return torch.as_tensor((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The float32 weights of a file, by name."""
    with np.load(path, allow_pickle=False) as file:
        return {name: torch.from_numpy(file[name].astype(np.float32)) for name in file}


class WordingNetwork:
    """The fitted networks, as they read wordings of one lens after the other. Without a file of the
    ``tagger``, :meth:`tags` is of no use."""

    def __init__(self, weights: Path, tagger: Path | None = None) -> None:
        model = load_embedded()
        self._tokenizer, self._network = model.tokenizer, model.network.float().eval()
        self._comparison = Comparison(model.width).eval()
        self.tagger = TermTagger(model.width).eval()
        if tagger is not None:
            self.tagger.load_state_dict(read_weights(tagger))
        fitted = read_weights(weights)
        self._comparison.load_state_dict(
            {name: weight for name, weight in fitted.items() if not name.startswith(CHANGES)}
        )
        for name, down in fitted.items():
            if name.startswith(CHANGES) and name.endswith(".down"):
                layer = name.removeprefix(CHANGES).removesuffix(".down")
                change = fitted[f"{CHANGES}{layer}.up"] @ down
                self._network.get_parameter(f"{layer}.weight").data += change

    def aspects(self, texts: Sequence[str]) -> torch.Tensor:
        """(a, width): what the aspects that these texts describe are compared by."""
        batch, states = self._read(texts)
        return mean_state(states, batch["attention_mask"])

    def scores(self, parts: Sequence[str], aspects: torch.Tensor) -> FloatArray:
        """What the parts of one wording, which follow one another without a gap, say of each
        aspect of :meth:`aspects`: (parts, 2 a) log-odds against saying nothing of it, of asking for
        each aspect, then of ruling it out. Several parts together have the log-sum-exp of theirs.
        """
        batch, states = self._read(["".join(parts)], return_offsets_mapping=True)
        with torch.inference_mode():
            of_tokens = self._comparison(states, aspects)[0]
        of_tokens = (of_tokens - np.log(len(of_tokens))).permute(0, 2, 1).flatten(1).numpy()
        ends = list(accumulate(map(len, parts)))
        last = batch["offset_mapping"][0, :, 1].numpy()
        of_part = np.searchsorted(ends[:-1], last)  # the mark at the end has the offset 0
        of_part[-1] = of_part[-2]
        scores = np.full((len(parts), of_tokens.shape[1]), -np.inf, dtype=np.float32)
        np.logaddexp.at(scores, of_part, of_tokens)
        return np.maximum(scores, np.finfo(np.float32).min)

    def tags(self, words: Sequence[str]) -> FloatArray:
        """Scores (words, labels) of the words of one wording; those beyond the window are 0."""
        found = np.zeros((len(words), len(LABELS)), dtype=np.float32)
        with torch.inference_mode():
            scores = self.tagger(self.word_states([words])[0])[0].numpy()[: len(words)]
        found[: len(scores)] = scores
        return found

    def word_states(self, wordings: Sequence[Sequence[str]]) -> tuple[torch.Tensor, torch.Tensor]:
        """The states (n, w, width * layers) of words, and which (n, w) of them are there."""
        batch = self._tokenizer(
            list(map(list, wordings)),
            is_split_into_words=True,
            padding=True,
            truncation=True,
            max_length=WINDOW,
            return_tensors="pt",
        )
        with torch.inference_mode():
            layers = self._network(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                output_hidden_states=True,
            ).hidden_states
        states = torch.cat([layers[layer] for layer in LAYERS], dim=-1)
        of_word = [batch.word_ids(i) for i in range(len(wordings))]
        count = 1 + max(
            (word for words in of_word for word in words if word is not None), default=0
        )
        places = torch.tensor([[count if w is None else w for w in words] for words in of_word])
        sums = torch.zeros(len(wordings), count + 1, states.shape[-1])
        sums.scatter_add_(1, places[..., None].expand_as(states), states)
        tokens = torch.zeros(len(wordings), count + 1)
        tokens.scatter_add_(1, places, torch.ones_like(places, dtype=torch.float32))
        means = sums / tokens.clamp(min=1)[..., None]
        return means[:, :count], tokens[:, :count] > 0

    def _read(self, texts: Sequence[str], **settings: Any) -> tuple[Any, torch.Tensor]:
        batch = self._tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=WINDOW,
            return_tensors="pt",
            **settings,
        )
        with torch.inference_mode():
            states = self._network(
                input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
            ).last_hidden_state
        return batch, states


@functools.lru_cache(maxsize=1)
def wording_network(weights: Path, tagger: Path | None = None) -> WordingNetwork:
    """The networks, loaded once per process."""
    return WordingNetwork(weights, tagger)
