"""The kinds of names and statements that the reader of wordings tells apart: data and fit.

Multinomial logistic regressions on embedded texts, of ``names.jsonl`` and ``statements.jsonl`` in
``assets/wordings`` and, for research, of the sentences in ``assets/roles`` and parts of them.
``benchmarks/fit_reader.py`` writes what comes out: ``assets/wordings/kinds.npz``.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.fit_roles import training_set as abstracts
from engine.config import ASSETS
from engine.lenses.definitions import SHIPPED
from engine.lenses.embedded_texts import Embed
from engine.lenses.kinds import NAMING, OUTSIDE, names_key, states_key
from engine.numeric import FloatArray

STRENGTH = 1.0
"""Inverse regularisation of the kinds."""
WRITTEN = 8.0
"""How much more a statement written for this counts than a sentence of an abstract."""
FRAMES = {
    False: ("the same {}", "similar {}", "{things} with this {}", "{} should be alike",
            "{} like this", "what matters is {}", "I am interested in {}",
            "Which {things} share {}?"),
    True: ("{things} that {}", "Which other {things} {}?", "Who else might {}?", "people who {}",
           "Give me any {things} that {}.", "I want to read others who {}"),
}  # fmt: skip
"""How names are asked for: nouns, and what begins with a verb."""
THINGS = ("papers", "studies", "articles", "work", "conversations", "dialogues", "posts",
          "threads")  # fmt: skip
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    """Wordings with what they want and avoid, of all files whose names begin so."""
    paths: list[Path] = sorted((ASSETS / "wordings").glob(f"{name}*.jsonl"))
    return [json.loads(line) for path in paths for line in path.open(encoding="utf-8")]


class Kind(NamedTuple):
    """A text, the lens and aspect that it names or states (None: none), and its weight."""

    text: str
    names: bool
    lens: str | None
    aspect: str | None
    weight: float = 1.0


def kinds_written() -> list[Kind]:
    """The names and statements that were written for this, names also as they are asked for."""
    rng, kinds = random.Random(2), []
    for row in rows("names"):
        bare = re.sub("^the ", "", row["text"])
        frames = FRAMES[row.get("verb", False)]
        framed = [
            frame.replace("{}", bare).replace("{things}", rng.choice(THINGS))
            for frame in rng.sample(frames, 3 if row["lens"] or row.get("verb") else 0)
        ]
        texts = dict.fromkeys([row["text"], bare, *framed])
        weight = WRITTEN / len(texts)
        kinds += [Kind(text, True, row["lens"], row["aspect"], weight) for text in texts]
    kinds += [Kind(r["text"], False, r["lens"], r["aspect"], WRITTEN) for r in rows("statements")]
    return kinds


def kinds_found() -> list[Kind]:
    """Sentences of abstracts, or parts of them, and the words of the lenses."""
    rng = random.Random(1)
    found = []
    for abstract in abstracts():
        for sentence, role in zip(abstract.sentences, abstract.roles, strict=True):
            aspect = ("background", "method", "result")[role]
            found.append(Kind(_part(sentence, rng), False, "research", aspect))
    for lens in SHIPPED:
        for a in lens.aspects:
            names = (a.name, *a.phrases, a.instruction)
            found += [Kind(text, True, lens.key, a.key, WRITTEN) for text in names]
            found += [Kind(text, False, lens.key, a.key, WRITTEN) for text in a.examples]
    return found


def _part(sentence: str, rng: random.Random) -> str:
    """The sentence, or one of its parts, or three to seven words in a row."""
    words, length = sentence.split(), rng.randint(3, 7)
    parts = [p.strip() for p in re.split(r"[,;:]|\b(?:and|which|that|while)\b", sentence)]
    start = rng.randrange(max(1, len(words) - length))
    return rng.choice(
        [sentence, max(parts, key=len), rng.choice(parts), " ".join(words[start : start + length])]
    )


def fit_kinds(kinds: Sequence[Kind], embed: Embed) -> dict[str, FloatArray]:
    """Weights (classes, d + 1) for each lens, and (d + 1,) for what is outside of them all."""
    fitted = {}
    for lens in SHIPPED:
        for key, names in ((names_key(lens), True), (states_key(lens), False)):
            own = [k for k in kinds if k.lens == lens.key and k.names == names]
            fitted[key] = _regression(own, [lens.index(str(k.aspect)) for k in own], embed)
    fitted[OUTSIDE] = _regression(kinds, [int(k.lens is None) for k in kinds], embed)[0]
    inside = [k for k in kinds if k.lens]
    fitted[NAMING] = _regression(inside, [int(k.names) for k in inside], embed)[0]
    return fitted


def _regression(kinds: Sequence[Kind], labels: Sequence[int], embed: Embed) -> FloatArray:
    model = LogisticRegression(C=STRENGTH, max_iter=500, class_weight="balanced")
    model.fit(embed([k.text for k in kinds]), labels, [k.weight for k in kinds])
    return np.column_stack([model.coef_, model.intercept_]).astype(np.float32)
