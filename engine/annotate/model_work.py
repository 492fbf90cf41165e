"""One run of a model over a project's candidates: batch by batch, stored as the grades come."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.annotate.intake import digest
from engine.annotate.judgment_records import make_judgment, to_row
from engine.annotate.model_plan import EVENT, GradingPlan, Item
from engine.annotate.model_prompts import Asked, Graded, grading, guidelines_for, in_words
from engine.assist.reranking import criterion_for
from engine.llm.client import Client
from engine.llm.messages import Prompt
from engine.llm.run import Run, ending
from engine.search.searcher import Searcher
from engine.types.annotating import Judgment
from engine.types.callbacks import Ask
from engine.types.documents import Document
from engine.types.grading import GradingJob, GradingProgress, GradingReport, GradingRequest
from storage.judging import Judging

BATCH = 32
"""Candidates that are graded together; what a kill costs at most."""
TellGrading = Callable[[GradingProgress], None]


class Material:
    """What questions are made of: documents and queries as a model reads them.

    Args:
        searcher: of the project's corpus.
    """

    def __init__(self, plan: GradingPlan, searcher: Searcher) -> None:
        self._plan, self._searcher = plan, searcher
        self._asked: dict[str, Asked] = {}
        self._anchors: dict[str, Document] = {}

    def prompts(self, items: Sequence[Item]) -> list[Prompt[Graded]]:
        """The questions about some candidates, in their order."""
        plan = self._plan
        candidates = self._documents(doc_id for _, doc_id in items)
        wanted = {a.doc_id for item in items for a in plan.anchors_of(item)}
        self._anchors |= self._documents(wanted - self._anchors.keys())
        return [
            grading(
                self._query(item[0]),
                [(self._anchors[a.doc_id], a.relevance) for a in plan.anchors_of(item)],
                candidates[item[1]],
            )
            for item in items
        ]

    def _documents(self, doc_ids: Iterable[str]) -> dict[str, Document]:
        wanted = list(dict.fromkeys(doc_ids))
        return {d.doc_id: d for d in self._searcher.corpus.documents(wanted)} if wanted else {}

    def _query(self, query_id: str) -> Asked:
        if query_id not in self._asked:
            query, project = self._plan.queries[query_id], self._plan.project
            if query.text is not None and not (query.aspect or query.instruction or query.focus):
                words = in_words(query.text)  # a text by itself needs no encoder
            else:
                seed = self._searcher.seed(query)
                focus, _ = self._searcher.focus(query, seed)
                words = criterion_for(self._searcher, query, seed, focus).text
            guidelines = guidelines_for(project, query.aspect)
            self._asked[query_id] = Asked(project.scale, words, guidelines)
        return self._asked[query_id]


@dataclass(slots=True)
class Grader:
    """Grades what a plan says, and stores it by the model's name."""

    plan: GradingPlan
    material: Material
    judging: Judging
    tell: TellGrading
    cancelled: Ask
    batch: int = BATCH
    grades: Counter[int] = field(default_factory=Counter)
    changed: int = 0
    failed: int = 0
    _started: float = field(default_factory=time.perf_counter)

    async def work(self, client: Client) -> GradingReport:
        """All of it, or as far as it comes; what was graded is stored batch by batch."""
        items = self.plan.candidates
        self._tell(client)
        for start in range(0, len(items), self.batch):
            if self.cancelled() or client.stopped:
                break
            group = items[start : start + self.batch]
            prompts = await asyncio.to_thread(self.material.prompts, group)
            answers = await client.ask(prompts)
            if not client.stopped:  # else some were not asked about
                self.failed += answers.count(None)
            said = {i: a for i, a in zip(group, answers, strict=True) if a is not None}
            await asyncio.to_thread(self._store, said)
            self._tell(client)
        return self._report(client)

    def _store(self, said: Mapping[Item, Graded]) -> None:
        judgments = [self._judgment(item, answer) for item, answer in said.items()]
        before = self.plan.before
        new = [j for j in judgments if not _same(j, before.get((j.query_id, j.doc_id)))]
        self.judging.add(map(to_row, new))
        for judgment in judgments:
            held = before.get((judgment.query_id, judgment.doc_id))
            self.changed += held is not None and held.relevance != judgment.relevance
            self.grades[judgment.relevance or 0] += 1

    def _judgment(self, item: Item, answer: Graded) -> Judgment:
        plan, held = self.plan, self.plan.before.get(item)
        # Two runs at once that get the same answer store it once.
        parts = (plan.project.corpus, plan.project.name, *item, plan.annotator)
        said = (str(answer.grade), answer.reason, "" if held is None else held.event)
        return make_judgment(
            plan.project,
            *item,
            plan.annotator,
            answer.grade,
            note=answer.reason,
            origin="model",
            instruction=plan.queries[item[0]].instruction or "",
            event=EVENT + digest(*parts, *said),
        )

    def _tell(self, client: Client) -> None:
        usage = client.usage
        self.tell(
            GradingProgress(
                done=self.grades.total() + self.failed,
                total=len(self.plan.candidates),
                failed=self.failed,
                seconds=time.perf_counter() - self._started,
                calls=usage.calls,
                tokens=usage.input_tokens + usage.output_tokens,
            )
        )

    def _report(self, client: Client) -> GradingReport:
        plan, usage = self.plan, client.usage
        left = len(plan.candidates) - self.grades.total() - self.failed
        cancelled = "cancelled" if left and self.cancelled() else ""
        return GradingReport(
            request=plan.request,
            annotator=plan.annotator,
            graded=self.grades.total(),
            changed=self.changed,
            grades={value: self.grades[value] for value in plan.project.scale.values},
            failed=self.failed,
            left=left,
            seconds=time.perf_counter() - self._started,
            stopped=usage.stopped or cancelled,
            notes=(*usage.notes, *_notes(plan)),
            **usage.taken,
        )


def _same(judgment: Judgment, held: Judgment | None) -> bool:
    return held is not None and (held.relevance, held.note) == (judgment.relevance, judgment.note)


def _notes(plan: GradingPlan) -> list[str]:
    notes = []
    if plan.without_anchors and plan.request.anchors:
        which = (
            f"{plan.without_anchors:,} queries have" if plan.without_anchors > 1 else "1 query has"
        )
        notes.append(f"{which} no document that is known to be relevant, and so no examples.")
    if plan.gone:
        which = f"{plan.gone:,} candidates are" if plan.gone > 1 else "1 candidate is"
        notes.append(f"{which} left out: the corpus does not hold the document or the seed.")
    return notes


@dataclass(slots=True)
class GradingWork:
    """A run under way, and how far it is, for :class:`engine.jobs.threads.Jobs`.

    Attributes:
        project: (corpus, name).
    """

    project: tuple[str, str]
    request: GradingRequest
    annotator: str
    progress: GradingProgress
    stopping: bool = False
    run: Run[GradingReport] = field(init=False)
    _started: float = field(default_factory=time.monotonic)
    _ended: float | None = None
    _round: int = 0

    def note(self, progress: GradingProgress) -> None:
        """Told after every batch."""
        now = getattr(self, "run", None) and self.run.progress  # the run may begin before it is set
        self._round = now.round if now else 0
        self.progress = progress

    def _so_far(self) -> GradingProgress:
        """The progress after the last batch, and what is settled of the one at hand."""
        found, now = self.progress, self.run.progress
        if now is None:
            return found
        usage, settled = now.usage, now.done if now.round > self._round else 0
        return replace(
            found,
            done=min(found.done + settled, found.total),
            seconds=max(found.seconds, usage.seconds),
            calls=max(found.calls, usage.calls),
            tokens=max(found.tokens, usage.input_tokens + usage.output_tokens),
        )

    def job(self, job_id: str) -> GradingJob:
        """What a page shows of it; never raises."""
        end = ending(self.run)
        if end.state != "running" and self._ended is None:
            self._ended = time.monotonic()
        return GradingJob(
            job_id,
            *self.project,
            self.request,
            self.annotator,
            end.state,
            self._so_far() if end.state == "running" else self.progress,
            elapsed=(self._ended or time.monotonic()) - self._started,
            stopping=self.stopping and end.state == "running",
            report=end.outcome.value if end.outcome else None,
            error=end.error,
            remedy=end.remedy,
        )
