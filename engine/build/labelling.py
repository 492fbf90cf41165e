"""Step 2: a model reads every document once and labels it for the attribute; and what all steps
share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from engine.build.build_prompts import Labelled, document_tokens, labelling
from engine.build.opened_build import OpenBuild
from engine.lenses.definitions import find_aspect
from engine.llm.messages import Prompt
from engine.llm.tasks import TaskRun
from engine.text import counted
from engine.types.builds import BuildSpec, BuildStep
from engine.types.documents import Document
from engine.types.lenses import Aspect, Lens
from engine.types.models import TaskReport
from storage.builds import LabelRow, StepRow


@dataclass(frozen=True, slots=True)
class Work:
    """A step under way, started by ``author``."""

    build: OpenBuild
    step: BuildStep
    author: str  # who started it
    run: TaskRun

    @property
    def stopped(self) -> str:
        """Why the step ends; "" while it goes on."""
        return self.run.stopped

    def say(self, done: int, total: int) -> None:
        """Report how far it is."""
        self.run.progress(done, total, phase=self.step)

    def row(self, content: str, basis: str) -> StepRow:
        """A row of the ledger about this run; a run that is not complete has no basis."""
        spec, now = self.build.spec, datetime.now(UTC)
        place, model = (spec.corpus, spec.name, self.step), self.run.model
        return StepRow(*place, "run", content, basis, 0, self.author, model, now)


def label_counts(labels: Mapping[str, str], doc_ids: tuple[str, ...]) -> dict[str, int]:
    """label -> documents with it, the commonest first, then as they come."""
    counts: dict[str, int] = {}
    for doc_id in doc_ids:
        if label := labels.get(doc_id):
            counts[label] = counts.get(label, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


BATCH = 64
"""Documents that are asked about together; what a kill can cost at most."""


async def label(work: Work) -> TaskReport[int]:
    """Label what has no label yet, or one that something has overtaken; batch by batch."""
    build, spec = work.build, work.build.spec
    corpus, bases, pending = build.corpus, build.bases(), build.unlabelled()
    before = len(bases) - len(pending)
    aspect = aspect_of(spec, corpus.lens)
    tokens = document_tokens(await work.run.context(), spec) if pending else 0
    made = failed = reached = 0
    work.say(before, len(bases))
    for start in range(0, len(pending), BATCH):
        if work.stopped:
            break
        documents = await asyncio.to_thread(corpus.documents, pending[start : start + BATCH])
        answers = await _ask(work.run, [labelling_of(spec, d, aspect, tokens) for d in documents])
        rows = [
            _row(work, document, answer, bases[document.doc_id])
            for document, answer in zip(documents, answers, strict=True)
            if answer
        ]
        await asyncio.to_thread(build.rows.add_labels, rows)
        made += sum(bool(row.label) for row in rows)
        reached += len(rows) if work.stopped else len(documents)
        failed += 0 if work.stopped else len(documents) - len(rows)
        work.say(before + reached, len(bases))
    build.rows.add_step(work.row("", ""))
    left = len(pending) - reached
    notes = unusable(failed, "document")
    return TaskReport(result=made, failed=failed, left=left, notes=notes)


async def _ask(run: TaskRun, prompts: Sequence[Prompt[Labelled] | None]) -> list[Labelled | None]:
    """The answers; a document without text is not asked about and shows nothing."""
    asked = [prompt for prompt in prompts if prompt is not None]
    said = await run.ask(asked)
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
    said, place = (answer.label, answer.quote), (spec.corpus, spec.name, document.doc_id)
    return LabelRow(*place, *said, "model", work.run.model, basis, now)


def unusable(failed: int, what: str) -> tuple[str, ...]:
    """A note on questions without a usable answer, about so many documents or clusters."""
    if not failed:
        return ()
    which = counted(failed, f"{what} has", f"{what}s have")
    return (f"{which} no usable answer and will be asked about again.",)
