"""Fit the reader of wordings: ``assets/wordings/reader.json`` and ``kinds.npz``.

First the kinds of names and statements (:mod:`benchmarks.reader_kinds`).
Then the conditional logit of :mod:`engine.lenses.instructions`,
with an L2 penalty, on the clauses of all ``dev*.jsonl``, on the statements (as classifiers see
them that were not fitted on them), and on what abstracts negate, which names no aspect. Several
options of a clause may be right, since a wording says what it wants, not whether a clause names
or states it: their probabilities are added.

The ``test*.jsonl`` were written at the same time, share no wording with the others, and only
measure. Run: ``python -m benchmarks.fit_reader``; ``--check`` prints accuracies by cross-validation
on ``dev*.jsonl`` and writes nothing; ``--misses FILE`` writes what of ``test*.jsonl`` is misread.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
from scipy.optimize import minimize
from sklearn.model_selection import KFold

from benchmarks.fit_roles import training_set as abstracts
from benchmarks.reader_kinds import (
    WRITTEN,
    Kind,
    Row,
    fit_kinds,
    kinds_found,
    kinds_written,
    rows,
)
from engine.encode.loaders import load_encoder
from engine.lenses import instructions
from engine.lenses import kinds as kinds_module
from engine.lenses.clauses import Clause, split_clauses
from engine.lenses.definitions import SHIPPED
from engine.lenses.embedded_texts import Embed
from engine.lenses.glossary import gloss
from engine.lenses.instructions import FEATURES, WEIGHTS, LensWords
from engine.lenses.kinds import KINDS
from engine.numeric import FloatArray
from engine.types.encoders import Passage
from engine.types.lenses import Lens

PENALTY = 0.002
SHARES = {"written": 0.3, "negated": 0.3}
"""Weight of these examples in all, against 1 for the wordings."""
FOLDS = 5
STATED = ("content", "content-negation")
"""Kinds of wordings that state what sentences say."""
_NEGATED = re.compile(r"\b(?:not|no|without|instead|rather|than|never|\w+n't|nor|unlike)\b")
Read = Callable[[Row], tuple[set[str], set[str]]]
"""A wording to the aspects that it is read to want, and to rule out."""


class Example(NamedTuple):
    """A clause: its features (options, features), which options are right, and its weight."""

    features: FloatArray
    right: FloatArray
    weight: float


def shipped() -> list[Row]:
    """The wordings of the lenses, for Compare: each wants its aspect, the generic ones none."""
    found = [
        (text, [a.key], lens.key)
        for lens in SHIPPED
        for a in lens.aspects
        for text in (a.instruction, a.definition, *a.paraphrases)
    ]
    found += [
        (text.format(things), [], lens.key)
        for lens in SHIPPED
        for things in (lens.things, "articles")
        for text in ("Find similar {}.", "related {}", "more {} like this", "{} like this one")
    ]
    return [{"text": text, "wants": wants, "avoids": [], "lens": key} for text, wants, key in found]


def embedder() -> Embed:
    encoder = load_encoder()

    known: dict[str, FloatArray] = {}

    def embed(texts: Sequence[str]) -> FloatArray:
        new = list(dict.fromkeys(text for text in texts if text not in known))
        encoded = encoder.encode([Passage("", text, ()) for text in new])
        known.update({text: e.vector for text, e in zip(new, encoded, strict=True)})
        return np.stack([known[text] for text in texts])

    return embed


def lens_of(row: Row) -> Lens:
    return next(lens for lens in SHIPPED if lens.key == row["lens"])


# -- the conditional logit -----------------------------------------------------------


def of_wordings(wordings: Iterable[Row], lenses: dict[str, LensWords]) -> list[Example]:
    """The clauses of wordings, with what each may do."""
    examples = []
    for row in wordings:
        lens = lens_of(row)
        clauses = split_clauses(gloss(row["text"]))
        features = lenses[lens.key].features(clauses)
        several = {against: sum(c.against == against for c in clauses) > 1 for against in (0, 1)}
        for clause, of_clause in zip(clauses, features, strict=True):
            meant = row["avoids"] if clause.against else row["wants"]
            right = _right(lens, meant, states=not clause.against)
            if not meant and clause.against:
                right[len(lens.aspects) :] = 1.0
            elif not meant or several[clause.against]:
                right[-1] = 1.0
            examples.append(Example(of_clause, right, 1.0 / len(clauses)))
    return examples


def of_kinds(kinds: Sequence[Kind], lenses: dict[str, LensWords]) -> list[Example]:
    """Names and statements."""
    examples = []
    for lens in SHIPPED:
        of_lens = [kind for kind in kinds if kind.lens in (None, lens.key)]
        features = lenses[lens.key].features([_whole(kind.text) for kind in of_lens])
        for kind, of_kind in zip(of_lens, features, strict=True):
            right = _right(lens, [kind.aspect] if kind.aspect else [])
            half = slice(len(lens.aspects), None) if kind.names else slice(len(lens.aspects))
            right[half] = 0.0
            right[-1] = float(kind.aspect is None)
            examples.append(Example(of_kind, right, kind.weight))
    return examples


def of_negated(lenses: dict[str, LensWords]) -> list[Example]:
    """What abstracts and statements negate: no name of an aspect."""
    found = [("research", s, 1.0) for abstract in abstracts() for s in abstract.sentences]
    found += [(k.lens, k.text, WRITTEN) for k in kinds_written() if k.lens and not k.names]
    examples = []
    for lens in SHIPPED:
        clauses = [
            (clause, weight)
            for key, text, weight in found
            if key == lens.key and _NEGATED.search(text)
            for clause in split_clauses(text)
            if clause.against
        ]
        right = _right(lens, [a.key for a in lens.aspects])
        right[: len(lens.aspects)], right[-1] = 0.0, 1.0
        for (_, weight), features in zip(
            clauses, lenses[lens.key].features([c for c, _ in clauses]), strict=True
        ):
            examples.append(Example(features, right, weight))
    return examples


def _whole(text: str) -> Clause:
    return Clause(text, against=False, start=0, end=len(text))


def kinds_of(row: Row) -> list[Kind]:
    """The clauses of a wording whose meaning is beyond doubt, as names or statements."""
    kinds = []
    clauses = split_clauses(gloss(row["text"]))
    for against, aspects in ((False, row["wants"]), (True, row["avoids"])):
        texts = [c.text for c in clauses if c.against == against]
        if len(texts) == 1 and len(aspects) < 2 and (aspects or not against):
            aspect = aspects[0] if aspects else None
            names = against or row.get("kind") not in STATED
            kinds.append(Kind(texts[0], names, row["lens"] if aspect else None, aspect, WRITTEN))
    return kinds


def _right(lens: Lens, aspects: Iterable[str], *, states: bool = True) -> FloatArray:
    right = np.zeros(2 * len(lens.aspects) + 1)
    for aspect in aspects:
        right[lens.index(aspect)] = 1.0
        right[len(lens.aspects) + lens.index(aspect)] = float(states)
    return right


def weighed(examples: Sequence[Example], share: float) -> list[Example]:
    total = sum(e.weight for e in examples)
    return [e._replace(weight=share * e.weight / total) for e in examples]


def fit(examples: Sequence[Example]) -> FloatArray:
    """The weights by maximum likelihood with an L2 penalty."""

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        value, slope = PENALTY * float(weights @ weights), 2 * PENALTY * weights
        for features, right, weight in examples:
            utility = features @ weights
            odds = np.exp(utility - utility.max())
            chances = odds / odds.sum()
            among = chances * right / (chances @ right)
            value -= weight * float(np.log(chances @ right))
            slope = slope + weight * ((chances - among) @ features)
        return value, slope

    wide = [e._replace(features=e.features.astype(np.float64)) for e in examples]
    examples = wide
    start = np.zeros(len(FEATURES))
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x, dtype=np.float32)


class Fit:
    """Everything that is fitted on development wordings."""

    def __init__(self, embed: Embed, dev: Sequence[Row]) -> None:
        self._embed = embed
        found, written = kinds_found(), kinds_written()
        dev = [*dev, *shipped()]
        of_dev = [kinds_of(row) for row in dev]
        examples: list[Example] = []
        asked: list[Example] = []
        for fold in range(FOLDS):
            kept = [k for i, k in enumerate(written) if i % FOLDS != fold]
            kept += [k for i, kinds in enumerate(of_dev) if i % FOLDS != fold for k in kinds]
            lenses = self.lens_words(fit_kinds([*found, *kept], embed))
            examples += of_kinds([k for i, k in enumerate(written) if i % FOLDS == fold], lenses)
            asked += of_wordings([row for i, row in enumerate(dev) if i % FOLDS == fold], lenses)
        self.kinds = fit_kinds([*found, *written, *(k for kinds in of_dev for k in kinds)], embed)
        self.lenses = self.lens_words(self.kinds)
        negated = of_negated(self.lenses)
        self.weights = fit(
            weighed(asked, 1.0)
            + weighed(examples, SHARES["written"])
            + weighed(negated, SHARES["negated"])
        )

    def lens_words(self, kinds: dict[str, FloatArray]) -> dict[str, LensWords]:
        with mock.patch.object(kinds_module, "_fitted", return_value=kinds):
            return {lens.key: LensWords(lens, self._embed) for lens in SHIPPED}

    def read(self) -> Read:
        """How wordings are read."""
        return reading(self.lenses, self.weights)


# -- accuracy ------------------------------------------------------------------------


def reading(lenses: dict[str, LensWords], weights: FloatArray) -> Read:
    """How wordings are read with these weights: the aspects wanted, and those ruled out."""

    def read(row: Row) -> tuple[set[str], set[str]]:
        with mock.patch.object(instructions, "_fitted", return_value=weights):
            found = lenses[row["lens"]].read.__wrapped__(row["text"])
        keys = [a.key for a in lens_of(row).aspects]
        return (
            {keys[i] for i in np.flatnonzero(found.wants)},
            {keys[i] for i in np.flatnonzero(found.avoids)},
        )

    return read


def asked(row: Row) -> tuple[set[str], set[str]]:
    """What a wording wants and avoids; one that only rules out asks for all the others."""
    wants, avoids = set(row["wants"]), set(row["avoids"])
    if avoids and not wants:
        wants = {a.key for a in lens_of(row).aspects} - avoids
    return wants, avoids


def verdicts(row: Row, read: Read) -> dict[str, bool]:
    """Whether a wording is read rightly; opposite: a wanted aspect ruled out, or the reverse."""
    (wants, avoids), (wanted, avoided) = asked(row), read(row)
    return {
        "wants": wanted == wants,
        "avoids": avoided == avoids,
        "both": (wanted, avoided) == (wants, avoids),
        "opposite": bool(set(row["wants"]) & avoided or avoids & wanted),
    }


def shares(data: Sequence[Row], read: Read) -> dict[str, float]:
    """Share of wordings of each verdict."""
    counts: Counter[str] = Counter()
    for row in data:
        counts.update({name: int(true) for name, true in verdicts(row, read).items()})
    return {name: round(count / len(data), 3) for name, count in counts.items()}


def by(field: str, data: Sequence[Row], read: Read) -> dict[str, dict[str, float]]:
    """:func:`shares` for each value of a field, with the number of wordings."""
    groups: dict[str, list[Row]] = {}
    for row in data:
        groups.setdefault(str(row.get(field, "unmarked")), []).append(row)
    return {
        value: {"wordings": len(group), **shares(group, read)}
        for value, group in sorted(groups.items())
    }


def report(data: Sequence[Row], read: Read) -> str:
    """Accuracies in all, by language, lens and kind."""
    lines = [f"all {len(data)}: {shares(data, read)}"]
    for field in ("language", "lens", "kind"):
        lines += [f"{field} {value}: {found}" for value, found in by(field, data, read).items()]
    return "\n".join(lines)


def cross_validated(embed: Embed, dev: Sequence[Row]) -> dict[str, Read]:
    """How each wording is read by what was fitted without it."""
    reads = {}
    for rest, fold in KFold(FOLDS, shuffle=True, random_state=1).split(dev):
        read = Fit(embed, [dev[i] for i in rest]).read()
        reads.update({dev[i]["text"]: read for i in fold})
    return reads


def write_misses(path: Path, data: Sequence[Row], read: Read) -> None:
    """What is misread, and how, one wording a line."""
    with path.open("w", encoding="utf-8") as file:
        for row in data:
            wants, avoids = read(row)
            if (wants, avoids) != asked(row):
                found = {"read_as": {"wants": sorted(wants), "avoids": sorted(avoids)}}
                file.write(json.dumps({**row, **found}, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--misses", type=Path)
    given = parser.parse_args()
    embed, dev = embedder(), rows("dev")
    if given.check:
        reads = cross_validated(embed, dev)
        print(report(dev, lambda row: reads[row["text"]](row)))
        return
    fitted = Fit(embed, dev)
    read, test = fitted.read(), rows("test")
    data = {
        "made_by": "python -m benchmarks.fit_reader",
        "trained_on": f"{len(dev)} wordings of dev*.jsonl; test*.jsonl only measure",
        "accuracy": {"dev": shares(dev, read), "test": shares(test, read)},
        "features": list(FEATURES),
        "weights": [round(float(w), 4) for w in fitted.weights],
    }
    np.savez(KINDS, **{name: w.astype(np.float16) for name, w in fitted.kinds.items()})
    WEIGHTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(data, indent=1))
    print(report(test, read))
    if given.misses:
        write_misses(given.misses, test, read)


if __name__ == "__main__":
    main()
