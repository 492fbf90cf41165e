"""Train an encoder on graded pairs: documents graded alike in an aspect come to lie closer in it.

LoRA on all linear layers. A document's aspect is pooled as in the index: sentence vectors of one
pass over title and text, weighed by role, with a part of the document's direction taken out. The
loss of a group compares every two candidates of different grades (RankNet, Burges et al. 2005);
beside it stands how far document and token vectors have moved. What lies beyond the model's
window is not read. Importing this module loads torch.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.corpora.contracts import CONTEXT, role_matrix
from engine.corpora.opened import OpenCorpus
from engine.encode.loaders import check_here, locate, projection
from engine.encode.models import DIRECTIONS, check_modules, parts_of, read_directions
from engine.encode.one_pass import opening_and_closing, tokenize
from engine.encode.presets import resolve
from engine.errors import BadInputError, ModelMissingError
from engine.measures.metrics import mean
from engine.measures.significance import confidence_interval
from engine.numeric import FloatArray
from engine.scenarios.distillation import check_folder, loading, need_extra, save_trained
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
    check_tuning(corpus, out)
    tuning, started = tuning or Tuning(), time.perf_counter()
    parts = split([_known(corpus, group) for group in groups])
    lessons, held_out = _lessons(corpus, parts.train), _lessons(corpus, parts.held_out)
    encoder = Trainable(corpus.spec.source, tuning)
    before = _measured(encoder, held_out)
    steps, order = tuning.epochs * len(lessons), np.random.default_rng(tuning.seed)
    for step in range(steps):
        at = step % len(lessons)
        if at == 0:
            shuffled = order.permutation(len(lessons))
        tell(step + 1, steps, encoder.learn(lessons[shuffled[at]], 1.0 - step / steps))
        if cancelled():
            break
    after = _measured(encoder, held_out)
    seeds = {lesson.seed: lesson.passages[0] for lesson in held_out}
    done = Tuned(
        folder=out,
        base=corpus.spec.source,
        groups=len(lessons),
        held_out=len(held_out),
        before=mean(list(before.values())) or 0.0,
        after=mean(list(after.values())) or 0.0,
        interval=confidence_interval([after[seed] - before[seed] for seed in before]),
        kept=encoder.kept([seeds[seed] for seed in before]),
        seconds=time.perf_counter() - started,
        cancelled=cancelled(),
    )
    write = partial(encoder.save, out)
    save_trained(done, tuning, CARD, write, recommended=done.recommended)
    return done


@dataclass(frozen=True)
class Lesson:
    """A group as it is read in training. ``passages``: the seed's first, then the candidates';
    ``roles``: (sentences,) weights of each; ``grades``: of the candidates."""

    seed: str
    passages: Sequence[Passage]
    roles: Sequence[FloatArray]
    grades: Sequence[int]


def _known(corpus: OpenCorpus, group: AspectGroup) -> AspectGroup:
    known = {d: grade for d, grade in group.grades.items() if d in corpus.row_of}
    return AspectGroup(group.seed, group.aspect, known if group.seed in corpus.row_of else {})


def _lessons(corpus: OpenCorpus, groups: Sequence[AspectGroup]) -> list[Lesson]:
    wanted = dict.fromkeys(d for g in groups for d in (g.seed, *g.grades))
    passages, roles = {}, {}
    for document in corpus.documents(list(wanted)):
        spans = tuple(sentence.span for sentence in document.sentences)
        passages[document.doc_id] = Passage(document.title, document.text, spans)
        roles[document.doc_id] = role_matrix(document, len(corpus.aspects))
    lessons = []
    for group in groups:
        doc_ids, number = (group.seed, *group.grades), list(corpus.aspects).index(group.aspect)
        read, weights = [passages[d] for d in doc_ids], [roles[d][:, number] for d in doc_ids]
        lessons.append(Lesson(group.seed, read, weights, list(group.grades.values())))
    return lessons


def _measured(encoder: Trainable, lessons: Sequence[Lesson]) -> dict[str, float]:
    """seed -> share of pairs with different grades that are ordered as graded, ties half."""
    shares: dict[str, list[float]] = {}
    for lesson in lessons:
        share = concordance(encoder.similarities(lesson), lesson.grades)
        shares.setdefault(lesson.seed, []).append(share)
    return {seed: float(np.mean(values)) for seed, values in shares.items()}


def concordance(scores: Sequence[float], grades: Sequence[int]) -> float:
    """Share of pairs with different grades whose scores are in the order of the grades, ties half.

    >>> concordance([0.9, 0.2, 0.4], [3, 1, 0])
    0.6666666666666666
    """
    by_score = np.sign(np.subtract.outer(np.asarray(scores), np.asarray(scores)))
    by_grade = np.sign(np.subtract.outer(np.asarray(grades), np.asarray(grades)))
    return float((1 + (by_score * by_grade)[by_grade != 0]).mean() / 2)


# -- the model -----------------------------------------------------------------------------

TEMPERATURE = 0.05
"""Difference of cosines that makes one candidate e times as likely to be the better one."""
POOLINGS = ("mean", "cls")
unit = torch.nn.functional.normalize


class Trainable:
    """An encoder that learns, pooled as :class:`engine.encode.one_pass.OnePassEncoder` pools."""

    def __init__(self, source: str, tuning: Tuning) -> None:
        from peft import LoraConfig, get_peft_model
        from sentence_transformers import SentenceTransformer

        check_here(source)
        folder, embedded = locate(source)
        with loading(f"model '{source}'", "Import the corpus with a sentence-transformers model."):
            check_modules(folder)
            self._model = SentenceTransformer(
                folder, device="cpu", local_files_only=Path(folder).is_dir()
            ).float()
            self._parts = parts_of(self._model)
            self._directions = read_directions(folder)
        unread = bool(self._parts.prompts.document) and not self._parts.prompts.pooled
        if self._parts.decoder or self._parts.pooling not in POOLINGS or unread:
            raise ModelMissingError(
                f"The model '{source}' cannot be trained here.",
                f"It has to be an encoder with {' or '.join(POOLINGS)} pooling over all it reads.",
            )
        if embedded:
            self._directions = projection(self._parts.width, embedded=True)
        self._keep = tuning.keep
        marks = opening_and_closing(self._parts.tokenizer, self._parts.end_mark)
        self._before, self._after = marks
        torch.manual_seed(tuning.seed)
        lora = LoraConfig(r=tuning.rank, lora_alpha=2 * tuning.rank, target_modules="all-linear")
        self._network: Any = get_peft_model(self._parts.network, lora).eval()  # no dropout
        learned = [p for p in self._network.parameters() if p.requires_grad]
        self._rate = tuning.learning_rate
        self._optimiser = torch.optim.AdamW(learned, lr=tuning.learning_rate, weight_decay=0.01)

    # -- learning --------------------------------------------------------------------------

    def learn(self, lesson: Lesson, rate: float) -> float:
        """One step on one group, at a share of the learning rate (0 to 1); returns its loss."""
        passages, grades = lesson.passages, np.asarray(lesson.grades)
        states, masks, spans = self._run(passages)
        with torch.no_grad():
            held, _, _ = self._run(passages, adapted=False)
        scores = self._compare(states, masks, spans, lesson)
        better = torch.tensor(np.subtract.outer(grades, grades) > 0)
        margins = (scores[:, None] - scores[None, :])[better] / TEMPERATURE
        loss = torch.nn.functional.softplus(-margins).mean()
        moved = 1 - (self._whole(states, masks) * self._whole(held, masks)).sum(-1)
        moved_tokens = 1 - torch.cosine_similarity(states, held, dim=-1)[masks]
        loss = loss + self._keep * (moved.mean() + moved_tokens.mean())
        for group in self._optimiser.param_groups:
            group["lr"] = self._rate * rate
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        return float(loss.detach())

    # -- reading ---------------------------------------------------------------------------

    def similarities(self, lesson: Lesson) -> list[float]:
        """Cosine of the seed's aspect with that of each candidate."""
        with torch.no_grad():
            states, masks, spans = self._run(lesson.passages)
            scores: list[float] = self._compare(states, masks, spans, lesson).tolist()
        return scores

    def kept(self, passages: Sequence[Passage]) -> float:
        """Mean cosine of the passages' vectors with what they were before training, -1 to 1."""
        cosines: list[float] = []
        with torch.no_grad():
            for passage in passages:
                now, masks, _ = self._run([passage])
                then, _, _ = self._run([passage], adapted=False)
                cosines.append(float((self._whole(now, masks) * self._whole(then, masks)).sum()))
        return float(np.mean(cosines))

    def save(self, folder: Path) -> None:
        """Write a sentence-transformers model, as it is now; nothing can be learned afterwards."""
        self._network.merge_and_unload()
        folder.mkdir(parents=True, exist_ok=True)
        self._model.save(str(folder), create_model_card=False)
        if self._directions is not None:
            np.save(folder / DIRECTIONS, self._directions, allow_pickle=False)

    # -- inside ----------------------------------------------------------------------------

    def _run(
        self, passages: Sequence[Passage], *, adapted: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor, list[NDArray[np.int32]]]:
        """Hidden states (n, t, width), which of them are read (n, t), and where in the text each
        token begins; of the first window of each passage."""
        prompts = self._parts.prompts
        texts = tokenize(self._parts.tokenizer, prompts, prompts.document, passages)
        rows, starts = [], []
        for text in texts:
            lead = [*self._before, *text.prompt]
            room = max(1, self._parts.window - len(lead) - len(self._after))
            rows.append([*lead, *text.ids[:room], *self._after])
            outside = np.full(len(lead), -1, np.int32), np.full(len(self._after), -1, np.int32)
            starts.append(np.concatenate([outside[0], text.spans[:room, 0], outside[1]]))
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        masks = torch.zeros_like(ids, dtype=torch.bool)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
            masks[i, : len(row)] = True
        context: AbstractContextManager[Any] = (
            nullcontext() if adapted else self._network.disable_adapter()
        )
        with context:
            output = self._network(input_ids=ids, attention_mask=masks.long())
        return output.last_hidden_state, masks, starts

    def _whole(self, states: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """Document vectors (n, d)."""
        if self._parts.pooling == "cls":
            return self._headed(states[:, 0])
        weights = masks.float()[:, :, None]
        return self._headed((states * weights).sum(1) / weights.sum(1))

    def _headed(self, rows: torch.Tensor) -> torch.Tensor:
        features = {"sentence_embedding": rows}
        for module in self._parts.head:
            features = module(features)
        return unit(features["sentence_embedding"], dim=-1)

    def _compare(
        self,
        states: torch.Tensor,
        masks: torch.Tensor,
        starts: Sequence[NDArray[np.int32]],
        lesson: Lesson,
    ) -> torch.Tensor:
        """Cosines (n - 1,) of the first aspect with the others."""
        rows = [
            self._aspect(states[i, : len(starts[i])], starts[i], passage, lesson.roles[i])
            for i, passage in enumerate(lesson.passages)
        ]
        aspects = unit(torch.stack(rows) - CONTEXT * self._whole(states, masks), dim=-1)
        # As in the index: without a sentence of the aspect there is nothing to be alike in.
        there = torch.stack([row.norm() > 0 for row in rows])[:, None]
        aspects = torch.where(there, aspects, torch.zeros_like(aspects))
        return aspects[1:] @ aspects[0]

    def _aspect(
        self, states: torch.Tensor, starts: NDArray[np.int32], passage: Passage, roles: FloatArray
    ) -> torch.Tensor:
        """(d,): the mean of the sentence vectors, weighed by role; zeros without any."""
        total = torch.zeros_like(self._headed(states[:1])[0])
        for (start, end), weight in zip(passage.sentences, roles.tolist(), strict=True):
            inside = np.flatnonzero((starts >= start) & (starts < end))
            if weight > 0 and len(inside):
                total = total + weight * self._headed(states[inside].mean(0, keepdim=True))[0]
        return unit(total, dim=-1)
