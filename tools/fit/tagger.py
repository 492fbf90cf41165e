"""Fit the tagger that finds terms in wordings: ``assets/wordings/tagger.npz``.

The states of the reader's network stay as they are; :class:`TermTagger` is trained on wordings
composed of ``term-frames.jsonl`` and ``term-phrases.jsonl`` (:class:`TermComposer`), among
wordings without terms. ``terms-test.jsonl`` only measures. Run: ``python -m tools.fit.tagger``
(some 20 minutes on two cores); ``--measure`` trains nothing and lists what is misread.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from engine.encode.wording_network import LABELS, LAYERS, STATES, TAGGERS, WordingNetwork
from engine.lenses.instructions import TAGGER, WEIGHTS
from tools.fit.reader_data import Row, TaggedWords, TermComposer, lenses, reader, rows

COMPOSED, EPOCHS = 32_000, 12
BATCH, RATE, DROPOUT, SEED = 64, 3e-3, 0.2, 100


class WordLabels(torch.nn.Module):
    """Tells what each word of a wording is, see :data:`LABELS`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.narrow = torch.nn.Linear(width * len(LAYERS), 128)
        self.recurrent = torch.nn.GRU(128, STATES, batch_first=True, bidirectional=True)
        self.label = torch.nn.Linear(2 * STATES, len(LABELS))

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


class Batch(NamedTuple):
    """States (n, w, width * layers) and labels (n, w) of words; label -1 where there is none."""

    states: torch.Tensor
    labels: torch.Tensor


def read_states(wordings: Sequence[TaggedWords]) -> list[Batch]:
    """The words of wordings of about the same length together, as the network sees them."""
    network = WordingNetwork(WEIGHTS)
    ordered = sorted(wordings, key=lambda tagged: sum(map(len, tagged.words)))
    batches = []
    for start in tqdm(range(0, len(ordered), BATCH)):
        tagged = ordered[start : start + BATCH]
        states, there = map(torch.from_numpy, network.word_states([one.words for one in tagged]))
        labels = torch.full(there.shape, -1)
        for row, one in enumerate(tagged):
            kept = one.labels[: there.shape[1]]
            labels[row, : len(kept)] = torch.tensor(kept)
        batches.append(Batch(states.half(), labels.masked_fill(~there, -1)))
    return batches


def train(wordings: int, epochs: int) -> dict[str, np.ndarray]:
    """The weights of all networks, each after so many epochs, the rate falling to 0."""
    torch.manual_seed(SEED)
    composer = TermComposer(random.Random(SEED))
    batches = read_states([composer.compose() for _ in range(wordings)])
    tagger = TermTagger(batches[0].states.shape[-1] // len(LAYERS))
    for seed, network in enumerate(tagger.networks, 1):
        train_one(network, batches, epochs, seed)
    return {n: w.numpy().astype(np.float16) for n, w in tagger.state_dict().items()}


def train_one(network: torch.nn.Module, batches: Sequence[Batch], epochs: int, seed: int) -> None:
    """Train one network, with batches in an order of ``seed``."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.05)
    steps = epochs * len(batches)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps, pct_start=0.1)
    for epoch in range(epochs):
        losses = []
        for batch in rng.sample(batches, len(batches)):
            states = torch.nn.functional.dropout(batch.states.float(), DROPOUT)
            loss = torch.nn.functional.cross_entropy(
                network(states).flatten(0, 1),
                batch.labels.flatten(),
                ignore_index=-1,
                label_smoothing=0.02,
            )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"network {seed}, epoch {epoch + 1}: loss {np.mean(losses):.4f}", flush=True)


def measure(wordings: Sequence[Row]) -> None:
    """Print the shares of terms that are found with the right sign, and what is misread."""
    hits = misses = extra = aspects = 0
    for row, read in zip(wordings, map(reader(), wordings), strict=True):
        meant = {(term["text"].casefold(), term["wanted"]): term for term in row["terms"]}
        found = {(term.text.casefold(), term.wanted): term for term in read.terms}
        keys = [aspect.key for aspect in lenses()[row["lens"]].aspects]
        wants = {keys[i] for i in np.flatnonzero(read.wants)} if read.subject else set()
        right = meant.keys() & found.keys()
        hits, misses = hits + len(right), misses + len(meant.keys() - found.keys())
        extra += len(found.keys() - meant.keys())
        aspects += wants == set(row["wants"])
        if meant.keys() != found.keys() or wants != set(row["wants"]):
            terms = [f"{'+' if wanted else '-'}{text}" for text, wanted in meant]
            print(
                f"- {row['text']} | {[*row['wants'], *terms]} | {[*wants, *map(str, read.terms)]}"
            )
    print(
        f"{len(wordings)} wordings: {hits} of {hits + misses} terms found with the right sign "
        f"({hits / (hits + misses):.3f}), {extra} besides; aspects wanted right in {aspects}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--composed", type=int, default=COMPOSED)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    given = parser.parse_args()
    if not given.measure:
        np.savez_compressed(TAGGER, **train(given.composed, given.epochs))
    for name in ("terms-dev", "terms-test"):
        print(name)
        measure(rows(name))
