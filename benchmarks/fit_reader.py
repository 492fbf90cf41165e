"""Fit the reader of wordings: ``assets/wordings/reader.json``.

A conditional logit over the aspects of a lens and "none", fitted with an L2 penalty on the
clauses of ``assets/wordings/dev.jsonl`` whose meaning is beyond doubt: wordings that want one
aspect, and clauses of wordings that want none. ``test.jsonl`` was written at the same time,
shares no wording with it, and only measures. Run: ``python -m benchmarks.fit_reader``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from engine.config import ASSETS
from engine.encode.loaders import load_encoder
from engine.lenses.definitions import SHIPPED
from engine.lenses.instructions import (
    WEIGHTS,
    LensWords,
    combine_clauses,
    probabilities,
    split_clauses,
)
from engine.numeric import FloatArray
from engine.types.encoders import Passage

PENALTY = 0.003
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    """Wordings with what they want and avoid."""
    path: Path = ASSETS / "wordings" / f"{name}.jsonl"
    return [json.loads(line) for line in path.open(encoding="utf-8")]


def embedder() -> Any:
    encoder = load_encoder()

    def embed(texts: Sequence[str]) -> FloatArray:
        return np.stack([e.vector for e in encoder.encode([Passage("", t, ()) for t in texts])])

    return embed


def training_set(dev: list[Row], lenses: dict[str, LensWords]) -> list[tuple[FloatArray, int]]:
    """Features (options, features) of a clause, and the option that it means."""
    examples = []
    for row in dev:
        lens = next(x for x in SHIPPED if x.key == row["lens"])
        for clause in split_clauses(row["text"]):
            meant = row["avoids"] if clause.against else row["wants"]
            if len(meant) > 1:
                continue
            option = lens.index(meant[0]) if meant else len(lens.aspects)
            examples.append((lenses[lens.key].features([clause.text])[0], option))
    return examples


def fit(examples: list[tuple[FloatArray, int]]) -> FloatArray:
    """Six weights by maximum likelihood with an L2 penalty."""

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        value, slope = PENALTY * float(weights @ weights), 2 * PENALTY * weights
        for features, option in examples:
            chances = probabilities(features.astype(np.float64), weights)
            value -= float(np.log(chances[option])) / len(examples)
            slope = slope - (features[option] - chances @ features) / len(examples)
        return value, slope

    solution = minimize(loss, np.zeros(examples[0][0].shape[1]), jac=True, method="L-BFGS-B")
    return np.asarray(solution.x, dtype=np.float32)


def accuracy(
    data: list[Row], lenses: dict[str, LensWords], weights: FloatArray
) -> dict[str, float]:
    """Share of wordings whose wanted, avoided, and both sets of aspects are all right."""
    right = {"wants": 0, "avoids": 0, "both": 0}
    for row in data:
        lens = next(x for x in SHIPPED if x.key == row["lens"])
        clauses = split_clauses(row["text"])
        chances = probabilities(lenses[lens.key].features([c.text for c in clauses]), weights)
        reading = combine_clauses(clauses, chances[:, :-1])
        wants = {lens.aspects[i].key for i in np.flatnonzero(reading.wants)}
        avoids = {lens.aspects[i].key for i in np.flatnonzero(reading.avoids)}
        asked = set(row["wants"])
        if row["avoids"] and not asked:  # only ruling out asks for all the others
            asked = {a.key for a in lens.aspects} - set(row["avoids"])
        right["wants"] += wants == asked
        right["avoids"] += avoids == set(row["avoids"])
        right["both"] += wants == asked and avoids == set(row["avoids"])
    return {name: round(count / len(data), 3) for name, count in right.items()}


def main() -> None:
    embed = embedder()
    lenses = {lens.key: LensWords(lens, embed) for lens in SHIPPED}
    dev, test = rows("dev"), rows("test")
    weights = fit(training_set(dev, lenses))
    accuracies = {
        name: accuracy(data, lenses, weights) for name, data in (("dev", dev), ("test", test))
    }
    data = {
        "made_by": "python -m benchmarks.fit_reader",
        "trained_on": f"{len(dev)} wordings of dev.jsonl; test.jsonl only measures",
        "accuracy": accuracies,
        "features": ["best phrase", "best phrases", "sayings", "examples", "stems", "none"],
        "weights": [round(float(w), 4) for w in weights],
    }
    WEIGHTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(data, indent=1))


if __name__ == "__main__":
    main()
