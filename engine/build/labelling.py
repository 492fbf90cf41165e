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
from engine.build.opened_build import OpenBuild
from engine.lenses.definitions import find_aspect
from engine.llm.client import Client
from engine.llm.messages import Prompt
from engine.types.builds import BuildSpec, BuildStep, StepProgress, StepReport
from engine.types.callbacks import Ask
from engine.types.documents import Document
from engine.types.lenses import Aspect, Lens
from engine.types.plurals import counted
from storage.builds import LabelRow, StepRow

TellStep = Callable[[StepProgress], None]


@dataclass(slots=True)
class Work:
    """A step under way.

    Attributes:
        client: None where the step does without a model.
        author: who started it.
        cancelled: True ends it after the batch at hand.
    """

    build: OpenBuild
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
        spec, now = self.build.spec, datetime.now(UTC)
        return StepRow(
            spec.corpus, spec.name, self.step, "run", content, basis, 0, self.author, self.model,
            now,
        )  # fmt: skip


def label_counts(labels: Mapping[str, str], doc_ids: tuple[str, ...]) -> dict[str, int]:
    """label -> documents with it, the commonest first, then as they come."""
    counts: dict[str, int] = {}
    for doc_id in doc_ids:
        if label := labels.get(doc_id):
            counts[label] = counts.get(label, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


BATCH = 64
"""Documents that are asked about together; what a kill can cost at most."""


async def label(work: Work, client: Client) -> StepReport:
    """Label what has no label yet, or one that something has overtaken; batch by batch."""
    build, spec = work.build, work.build.spec
    corpus, bases, pending = build.corpus, build.bases(), build.unlabelled()
    before = len(bases) - len(pending)
    aspect = aspect_of(spec, corpus.lens)
    tokens = document_tokens(await client.context(), spec) if pending else 0
    made = failed = reached = 0
    work.say(before, len(bases))
    for start in range(0, len(pending), BATCH):
        if work.stopped:
            break
        documents = await asyncio.to_thread(corpus.documents, pending[start : start + BATCH])
        answers = await _ask(client, [labelling_of(spec, d, aspect, tokens) for d in documents])
        rows = [
            _row(work, document, answer, bases[document.doc_id])
            for document, answer in zip(documents, answers, strict=True)
            if answer
        ]
        await asyncio.to_thread(build.rows.add_labels, rows)
        made += sum(bool(row.label) for row in rows)
        reached += len(documents) if not client.stopped else len(rows)
        failed += 0 if client.stopped else len(documents) - len(rows)
        work.say(before + reached, len(bases))
    build.rows.add_step(work.row("", ""))
    left = len(pending) - reached
    return StepReport("label", made, failed=failed, left=left, notes=unusable(failed, "document"))


async def _ask(client: Client, prompts: Sequence[Prompt[Labelled] | None]) -> list[Labelled | None]:
    """The answers; a document without text is not asked about and shows nothing."""
    asked = [prompt for prompt in prompts if prompt is not None]
    said = await client.ask(asked)
    answers = iter(said)
    nothing = Labelled(shows=False, label="", quote="")
    return [nothing if prompt is None else next(answers) for prompt in prompts]


def labelling_of(
    spec: BuildSpec, document: Document, aspect: tuple[Aspect, int] | None, tokens: int
) -> Prompt[Labelled] | None:
    """The question about a document; None for one without text."""
    if not f"{document.title}{document.text}".strip():
        return None
    return labelling(spec, document, aspect, tokens)


def aspect_of(spec: BuildSpec, aspects: Lens) -> tuple[Aspect, int] | None:
    """The aspect that was set and its place; None when none was, or the corpus's lens changed."""
    if spec.aspect not in [aspect.key for aspect in aspects.aspects]:
        return None
    return find_aspect(aspects, spec.aspect), aspects.index(spec.aspect)


def _row(work: Work, document: Document, answer: Labelled, basis: str) -> LabelRow:
    spec, now = work.build.spec, datetime.now(UTC)
    return LabelRow(
        spec.corpus, spec.name, document.doc_id, answer.label, answer.quote, "model", work.model,
        basis, now,
    )  # fmt: skip


def unusable(failed: int, what: str) -> tuple[str, ...]:
    """A note on questions without a usable answer, about so many documents or clusters."""
    if not failed:
        return ()
    which = counted(failed, f"{what} has", f"{what}s have")
    return (f"{which} no usable answer and will be asked about again.",)
