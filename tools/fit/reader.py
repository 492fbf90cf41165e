"""Fit the network that reads wordings: ``assets/wordings/reader.npz`` and ``reader.json``.

Low-rank changes of the embedded model and the comparison of :mod:`engine.encode.wording_network`
are trained on all ``dev*.jsonl`` and on composed wordings (:mod:`tools.fit.reader_data`): of each
aspect of its lens, a wording asks for it, rules it out, or says nothing.

The ``test*.jsonl`` were written apart, share no wording with the others, and only measure. Run:
``python -m tools.fit.reader`` (about an hour on two cores); ``--more`` goes on from the
weights that are there, and takes the mean of both; ``--measure`` trains nothing.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from tqdm import tqdm

from engine.encode.loaders import load_embedded
from engine.encode.wording_network import CHANGES, DIRECTIONS, WINDOW
from engine.lenses.instructions import WEIGHTS, description
from engine.types.lenses import Lens
from tools.fit import reader_data

RECORD = reader_data.WORDINGS / "reader.json"
EPOCHS = 12
BATCH = 32
RANK = 16
SCALE = 2.0
DROPOUT = 0.05
RATES = 4e-4, 1e-3
"""Learning rates of the low-rank changes, and of the comparison."""
SMOOTHING = 0.02
"""Share of probability given to all three answers alike."""
WARM_UP = 50
"""Steps until the full rate."""
SEED = 0
Read = Callable[[reader_data.Row], tuple[set[str], set[str]]]
"""A wording to the aspects that it is read to want, and to rule out."""


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


def mean_state(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(n, width) means over the tokens (n, t, width) that ``mask`` (n, t) has."""
    return torch.as_tensor((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))


class Trainable(torch.nn.Module):
    """The network of :class:`WordingNetwork` with what is trained of it."""

    def __init__(self) -> None:
        super().__init__()
        model = load_embedded()
        self._tokenizer = model.tokenizer
        layers = r".*encoder\..*\.(query|key|value|dense)"
        scaled = {"lora_alpha": int(RANK * SCALE), "lora_dropout": DROPOUT}
        lora = LoraConfig(r=RANK, target_modules=layers, **scaled)
        self.network = get_peft_model(model.network.float(), lora)
        self.comparison = Comparison(model.width)
        self._dropout = torch.nn.Dropout(0.1)

    def forward(self, texts: Sequence[str], aspects: Sequence[str]) -> torch.Tensor:
        """(n, a, 3) log-odds: nothing said of the aspect, asked for, ruled out."""
        states, mask = self._states(texts)
        of_aspects = mean_state(*self._states(aspects))
        scores = self.comparison(self._dropout(states), of_aspects).float()
        scores = scores.masked_fill(mask[:, :, None, None] == 0, -1e4)
        count = mask.sum(1).log()[:, None, None]
        asked = torch.logsumexp(scores, dim=1) - count
        return torch.cat([torch.zeros_like(asked[..., :1]), asked], dim=-1)

    def _states(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        batch = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=WINDOW, return_tensors="pt"
        )
        found = self.network(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        return found.last_hidden_state, batch["attention_mask"]

    def trained(self) -> Iterator[tuple[str, float, torch.Tensor]]:
        """Of each weight that is trained: its name in the file, its scale there, itself."""
        for name, weight in self.comparison.named_parameters():
            yield name, 1.0, weight.data
        for name, weight in self.network.named_parameters():
            layer, _, side = name.removeprefix("base_model.model.").partition(".lora_")
            if side:
                down = side.startswith("A.")
                place = f"{CHANGES}{layer}.{'down' if down else 'up'}"
                yield place, 1.0 if down else SCALE, weight.data

    def weights(self) -> dict[str, np.ndarray]:
        """What :class:`WordingNetwork` reads from the file."""
        trained = self.trained()
        return {name: (scale * w).numpy().astype(np.float16) for name, scale, w in trained}

    def move_towards(self, path: Path, share: float) -> None:
        """Go this share of the way to the weights of a file; 1 takes them over."""
        with np.load(path, allow_pickle=False) as file:
            for name, scale, weight in self.trained():
                weight.lerp_(torch.from_numpy(file[name].astype(np.float32)) / scale, share)


def batches(
    wordings: Sequence[reader_data.Wording], rng: random.Random
) -> Iterator[list[reader_data.Wording]]:
    """All wordings once: those of a lens together, texts of about the same length together."""
    ordered = sorted(wordings, key=lambda w: (w.lens, len(w.text) * rng.uniform(0.8, 1.25)))
    found: list[list[reader_data.Wording]] = []
    for wording in ordered:
        if not found or found[-1][0].lens != wording.lens or len(found[-1]) == BATCH:
            found.append([])
        found[-1].append(wording)
    rng.shuffle(found)
    yield from found


def loss_of(
    net: Trainable, batch: Sequence[reader_data.Wording], lens: Lens, rng: random.Random
) -> torch.Tensor:
    """Cross-entropy, added over the aspects, mean over the batch."""
    aspects = [description(reader_data.described(aspect, rng)) for aspect in lens.aspects]
    keys = [aspect.key for aspect in lens.aspects]
    answers = torch.tensor(
        [[2 if key in w.avoids else int(key in w.wants) for key in keys] for w in batch]
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = net([reader_data.as_typed(w.text, rng) for w in batch], aspects)
    each = torch.nn.functional.cross_entropy(
        scores.float().flatten(0, 1), answers.flatten(), reduction="none", label_smoothing=SMOOTHING
    )
    weights = torch.tensor([w.weight for w in batch])
    return (each.view(answers.shape).sum(1) * weights).mean()


def train(wordings: Sequence[reader_data.Wording], epochs: int, *, more: bool) -> Trainable:
    """The network after so many epochs, the rate falling to 0."""
    torch.manual_seed(SEED)
    rng, known, net = random.Random(SEED), reader_data.lenses(), Trainable()
    if more:
        net.move_towards(WEIGHTS, 1.0)
    composer, composed = reader_data.Composer(rng), int(reader_data.COMPOSED * len(wordings))
    parts = net.network.parameters(), net.comparison.parameters()
    groups = [
        {"params": [p for p in part if p.requires_grad], "lr": rate}
        for part, rate in zip(parts, RATES, strict=True)
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    count = len(list(batches([*wordings, *(composer.compose() for _ in range(composed))], rng)))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / WARM_UP) * max(0.02, 1 - step / (epochs * count)),
    )
    for epoch in range(epochs):
        net.train()
        losses = []
        rest = [composer.compose() for _ in range(composed)]
        for batch in tqdm(list(batches([*wordings, *rest], rng)), desc=f"epoch {epoch + 1}"):
            loss = loss_of(net, batch, known[batch[0].lens], rng)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([p for g in groups for p in g["params"]], 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}", flush=True)
    if more:  # the mean with what was there misreads less than either (Wortsman et al. 2022)
        net.move_towards(WEIGHTS, 0.5)
    return net.eval()


# -- accuracy ------------------------------------------------------------------------


def reading(weights: Path) -> Read:
    """How wordings are read with these weights: the aspects wanted, and those ruled out."""
    read_row, known = reader_data.reader(weights), reader_data.lenses()

    def read(row: reader_data.Row) -> tuple[set[str], set[str]]:
        found, aspects = read_row(row), known[row["lens"]].aspects
        wants, avoids = np.flatnonzero(found.wants), np.flatnonzero(found.avoids)
        return {aspects[i].key for i in wants}, {aspects[i].key for i in avoids}

    return read


def shares(data: Sequence[reader_data.Row], read: Read) -> dict[str, float]:
    """Share of wordings that are read rightly; opposite: a wanted aspect ruled out, or reversed."""
    counts: Counter[str] = Counter()
    known = reader_data.lenses()
    for row in data:
        wants, avoids, (wanted, avoided) = {*row["wants"]}, {*row["avoids"]}, read(row)
        if avoids and not wants:  # one that only rules out asks for all the others
            wants = {a.key for a in known[row["lens"]].aspects} - avoids
        counts["wants"] += wanted == wants
        counts["avoids"] += avoided == avoids
        counts["both"] += (wanted, avoided) == (wants, avoids)
        counts["opposite"] += bool(set(row["wants"]) & avoided or avoids & wanted)
    return {name: round(count / len(data), 3) for name, count in counts.items()}


def report(data: Sequence[reader_data.Row], read: Read) -> str:
    """:func:`shares` in all, and by language, lens and kind."""
    lines = [f"all {len(data)}: {shares(data, read)}"]
    for field in ("language", "lens", "kind"):
        groups: dict[str, list[reader_data.Row]] = {}
        for row in data:
            groups.setdefault(str(row.get(field, "unmarked")), []).append(row)
        for value, group in sorted(groups.items()):
            lines.append(f"{field} {value}, {len(group)} wordings: {shares(group, read)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    for name in ("--more", "--measure"):
        parser.add_argument(name, action="store_true")
    given = parser.parse_args()
    dev, test = reader_data.rows("dev"), reader_data.rows("test")
    if not given.measure:
        weights = train(reader_data.written(dev), given.epochs, more=given.more).weights()
        np.savez_compressed(WEIGHTS, **weights)
    read = reading(WEIGHTS)
    print(report(test, read))
    data = {
        "made_by": "python -m tools.fit.reader",
        "trained_on": f"{len(dev)} wordings of dev*.jsonl; test*.jsonl only measure",
        "accuracy": {"dev": shares(dev, read), "test": shares(test, read)},
    }
    RECORD.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
