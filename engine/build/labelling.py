"""Step 2: a model reads every document once and says what it shows of the attribute.

Here too: what all steps share while they run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from engine.build.build_prompts import Labelled, document_tokens, labelling
from engine.build.build_store import BuildStore
from engine.lenses.definitions import find_aspect
from engine.llm.client import Client
from engine.llm.messages import Prompt
from engine.types.builds import BuildLens, BuildStep, StepProgress
from engine.types.callbacks import Ask
from engine.types.documents import Document
from engine.types.lenses import Aspect, Lens
from storage.builds import LabelRow, StepRow

TellStep = Callable[[StepProgress], None]


@dataclass(frozen=True, slots=True)
class Made:
    """What a step did; see :class:`engine.types.StepReport` for the fields."""

    made: int = 0
    failed: int = 0
    left: int = 0
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Work:
    """A step under way.

    Attributes:
        client: None where the step does without a model.
        author: who started it.
        cancelled: True ends it after the batch at hand.
    """

    store: BuildStore
    lens: BuildLens
    step: BuildStep
    author: str
    client: Client | None
    model: str
    tell: TellStep
    cancelled: Ask
    _started: float = field(default_factory=time.perf_counter)

    @property
    def stopped(self) -> str:
        """Why no more is to be done ("cancelled", "budget", "endpoint"); "" while more is."""
        if self.cancelled():
            return "cancelled"
        return "" if self.client is None else self.client.stopped

    def say(self, done: int, total: int, seconds: float | None = None) -> None:
        """Tell how far it is, and what it took.

        Args:
            seconds: that ``done`` took; None for all since the beginning.
        """
        usage = None if self.client is None else self.client.usage
        self.tell(
            StepProgress(
                done,
                total,
                time.perf_counter() - self._started if seconds is None else seconds,
                calls=0 if usage is None else usage.calls,
                tokens=0 if usage is None else usage.tokens,
                step=self.step,
            )
        )

    def row(self, content: str, basis: str) -> StepRow:
        """A row of the ledger about this run; a run that is not complete has no basis."""
        return StepRow(
            self.lens.corpus, self.lens.name, self.step, "run", content, basis, 0, self.author,
            self.model, datetime.now(UTC),
        )  # fmt: skip


def counted(labels: Mapping[str, str], doc_ids: tuple[str, ...]) -> dict[str, int]:
    """label -> documents with it, the commonest first, then as they come."""
    counts: dict[str, int] = {}
    for doc_id in doc_ids:
        if label := labels.get(doc_id):
            counts[label] = counts.get(label, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


BATCH = 64
"""Documents that are asked about together; what a kill can cost at most."""


async def label(work: Work, client: Client) -> Made:
    """Label what has no label yet, or one that something has overtaken; batch by batch."""
    store, lens = work.store, work.lens
    corpus, bases = store.corpus(lens), store.bases(lens)
    pending = store.unlabelled(lens)
    before = len(bases) - len(pending)
    aspect = aspect_of(lens, corpus.lens)
    tokens = document_tokens(await client.context(), lens) if pending else 0
    made = failed = reached = 0
    work.say(before, len(bases))
    for start in range(0, len(pending), BATCH):
        if work.stopped:
            break
        documents = await asyncio.to_thread(corpus.documents, pending[start : start + BATCH])
        found = await _ask(client, [labelling_of(lens, d, aspect, tokens) for d in documents])
        said = [(d, answer) for d, answer in zip(documents, found, strict=True) if answer]
        rows = [_row(work, document, answer, bases) for document, answer in said]
        await asyncio.to_thread(store.rows.add_labels, rows)
        made += sum(bool(row.label) for row in rows)
        reached += len(documents) if not client.stopped else len(rows)
        failed += 0 if client.stopped else len(documents) - len(rows)
        work.say(before + reached, len(bases))
    store.rows.add_step(work.row("", ""))
    return Made(made, failed, len(pending) - reached, _notes(failed))


async def _ask(client: Client, prompts: Sequence[Prompt[Labelled] | None]) -> list[Labelled | None]:
    """The answers; a document without text is not asked about and shows nothing."""
    asked = [prompt for prompt in prompts if prompt is not None]
    said = await client.ask(asked)
    answers = iter(said)
    nothing = Labelled(shows=False, label="", quote="")
    return [nothing if prompt is None else next(answers) for prompt in prompts]


def labelling_of(
    lens: BuildLens, document: Document, aspect: tuple[Aspect, int] | None, tokens: int
) -> Prompt[Labelled] | None:
    """The question about a document; None for one without text."""
    if not f"{document.title}{document.text}".strip():
        return None
    return labelling(lens, document, aspect, tokens)


def aspect_of(lens: BuildLens, aspects: Lens) -> tuple[Aspect, int] | None:
    """The lens's aspect and its place; None when it has none, or the corpus's lens changed."""
    if lens.aspect not in [aspect.key for aspect in aspects.aspects]:
        return None
    return find_aspect(aspects, lens.aspect), aspects.index(lens.aspect)


def _row(work: Work, document: Document, answer: Labelled, bases: Mapping[str, str]) -> LabelRow:
    return LabelRow(
        work.lens.corpus, work.lens.name, document.doc_id, answer.label, answer.quote, "model",
        work.model, bases[document.doc_id], datetime.now(UTC),
    )  # fmt: skip


def _notes(failed: int) -> tuple[str, ...]:
    if not failed:
        return ()
    which = f"{failed:,} documents have" if failed > 1 else "1 document has"
    return (f"{which} no usable answer and will be asked about again.",)
