"""Train an encoder on graded pairs: documents graded alike in an aspect come to lie closer in it.

LoRA on all linear layers. A document's aspect is pooled as in the index: sentence vectors of one
pass over title and text, weighed by role, with a part of the document's direction taken out. The
loss of a group compares every two candidates of different grades (RankNet, Burges et al. 2005);
beside it stands how far document and token vectors have moved. What lies beyond the model's
window is not read.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engine.corpora.contracts import role_matrix
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError
from engine.measures.metrics import mean
from engine.measures.significance import confidence_interval
from engine.scenarios.distillation import check_folder, need_extra, save_trained
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.encoders import EMBEDDED, Passage
from engine.types.scenarios import AspectGroup, Tuned, Tuning

CARD = "tuned.json"
"""What a folder with an encoder that was trained says of itself."""
FEWEST_GROUPS = 8  # Groups with different grades below which nothing can be learned
HELD_OUT = 4  # One seed in so many is measured by
TellLoss = Callable[[int, int, float], None]
"""Told (groups read, groups in all, loss of the last one)."""


def check_tuning(corpus: OpenCorpus, out: Path) -> None:
    """Refuse before anything is asked what could not be trained or written."""
    from engine.encode.presets import resolve

    need_extra("peft")
    check_folder(out, CARD, "encoder trained here")
    if Path(corpus.spec.source).absolute() == out.absolute():
        raise BadInputError(f"{out} is this corpus's own encoder.", "Name a new folder.")
    if resolve(corpus.spec.source).preset is not None:
        raise BadInputError(
            f"The encoder of '{corpus.name}', {corpus.spec.source}, cannot be trained here.",
            f"Import the corpus with {EMBEDDED} or a sentence-transformers model.",
        )


@dataclass(frozen=True)
class Split:
    """Groups to learn from and groups to measure by; no seed measured by is seen in training."""

    train: list[AspectGroup]
    held_out: list[AspectGroup]


def split(groups: Sequence[AspectGroup]) -> Split:
    """One seed in :data:`HELD_OUT`, drawn by its id, is measured by. Groups without two different
    grades say nothing and are left out."""
    seeds = sorted({g.seed for g in groups}, key=lambda s: hashlib.sha256(s.encode()).digest())
    measured = set(seeds[: max(2, len(seeds) // HELD_OUT)])
    train = [
        AspectGroup(g.seed, g.aspect, {d: v for d, v in g.grades.items() if d not in measured})
        for g in groups
        if g.seed not in measured
    ]
    train = [g for g in train if len(set(g.grades.values())) > 1]
    held_out = [g for g in groups if g.seed in measured and len(set(g.grades.values())) > 1]
    if len(train) < FEWEST_GROUPS or not held_out:
        raise BadInputError(
            f"{len(train)} groups of graded pairs to learn from and {len(held_out)} to measure by "
            f"are too few: {FEWEST_GROUPS} and 1 are needed in which grades differ.",
            "Compare more documents: --documents",
        )
    return Split(train, held_out)


def train(
    corpus: OpenCorpus,
    groups: Sequence[AspectGroup],
    out: Path,
    tuning: Tuning | None = None,
    tell: TellLoss = tell_nobody,
    cancelled: Ask = never,
) -> Tuned:
    """Train the corpus's encoder on groups, and write what came of it into a folder."""
    from engine.scenarios.trainable import Trainable

    check_tuning(corpus, out)
    tuning, started = tuning or Tuning(), time.perf_counter()
    parts = split([_known(corpus, group) for group in groups])
    documents = _documents(corpus, [*parts.train, *parts.held_out])
    encoder = Trainable(corpus.spec.source, tuning)
    before = _measured(encoder, parts.held_out, documents)
    steps, order = tuning.epochs * len(parts.train), np.random.default_rng(tuning.seed)
    for step in range(steps):
        at = step % len(parts.train)
        if at == 0:
            shuffled = order.permutation(len(parts.train))
        group = parts.train[shuffled[at]]
        rate = 1.0 - step / steps
        tell(step + 1, steps, encoder.learn(*_material(group, documents), rate))
        if cancelled():
            break
    after = _measured(encoder, parts.held_out, documents)
    done = Tuned(
        folder=out,
        base=corpus.spec.source,
        groups=len(parts.train),
        held_out=len(parts.held_out),
        before=mean(list(before.values())) or 0.0,
        after=mean(list(after.values())) or 0.0,
        interval=confidence_interval([after[seed] - before[seed] for seed in before]),
        kept=encoder.kept([documents[seed].passage for seed in before]),
        seconds=time.perf_counter() - started,
        cancelled=cancelled(),
    )
    write = partial(encoder.save, out)
    save_trained(done, tuning, CARD, write, recommended=done.recommended)
    return done


@dataclass(frozen=True)
class Material:
    """A document as it is read in training. ``roles``: aspect -> (sentences,) weights."""

    passage: Passage
    roles: Mapping[str, Any]


def _known(corpus: OpenCorpus, group: AspectGroup) -> AspectGroup:
    known = {d: grade for d, grade in group.grades.items() if d in corpus.row_of}
    return AspectGroup(group.seed, group.aspect, known if group.seed in corpus.row_of else {})


def _documents(corpus: OpenCorpus, groups: Sequence[AspectGroup]) -> dict[str, Material]:
    wanted = dict.fromkeys(d for g in groups for d in (g.seed, *g.grades))
    found = {}
    for document in corpus.documents(list(wanted)):
        spans = tuple(sentence.span for sentence in document.sentences)
        roles = role_matrix(document, len(corpus.aspects)).T
        found[document.doc_id] = Material(
            Passage(document.title, document.text, spans),
            dict(zip(corpus.aspects, roles, strict=True)),
        )
    return found


def _material(
    group: AspectGroup, documents: Mapping[str, Material]
) -> tuple[list[Passage], list[Any], list[int]]:
    """Passages (the seed's first), their sentences' weights, and the candidates' grades."""
    read = [documents[doc_id] for doc_id in (group.seed, *group.grades)]
    return (
        [material.passage for material in read],
        [material.roles[group.aspect] for material in read],
        list(group.grades.values()),
    )


def _measured(
    encoder: Any, groups: Sequence[AspectGroup], documents: Mapping[str, Material]
) -> dict[str, float]:
    """seed -> share of pairs with different grades that are ordered as graded, ties half."""
    shares: dict[str, list[float]] = {}
    for group in groups:
        passages, roles, grades = _material(group, documents)
        shares.setdefault(group.seed, []).append(
            concordance(encoder.similarities(passages, roles), grades)
        )
    return {seed: float(np.mean(values)) for seed, values in shares.items()}


def concordance(scores: Sequence[float], grades: Sequence[int]) -> float:
    """Share of pairs with different grades whose scores are in the order of the grades, ties half.

    >>> concordance([0.9, 0.2, 0.4], [3, 1, 0])
    0.6666666666666666
    """
    by_score = np.sign(np.subtract.outer(np.asarray(scores), np.asarray(scores)))
    by_grade = np.sign(np.subtract.outer(np.asarray(grades), np.asarray(grades)))
    return float((1 + (by_score * by_grade)[by_grade != 0]).mean() / 2)
