"""Pairs graded by a connected model: what the command line calls as ``explorer.pair_grading``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.config import Settings
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.llm.connecting import Estimator
from engine.llm.tasks import ModelTask, TaskRun, TaskRunner
from engine.permissions import limited, operator_only
from engine.tuning.aspect_pairs import Question, group_of, prompts_of, questions_for
from engine.types.models import Estimate, TaskReport
from engine.types.scenarios import AspectGroup, PairRequest
from storage.ledger import Ledger

BATCH = 32
"""Questions that go out together."""
SAMPLE = 50
"""Questions whose lengths an estimate is made from."""
Groups = tuple[AspectGroup, ...]
"""In the order in which they were asked about."""


@limited(operator_only, "estimate", "run", "start")
class PairGrading(TaskRunner[PairRequest, Groups]):
    """A model grades pairs of documents by aspect. Answers are kept in the ledger: what was asked
    before is not asked again. Safe to share between threads.

    ``items`` of an estimate are questions, one for each aspect of a seed; ``counts["documents"]``
    are the seeds.
    """

    def __init__(self, ledger: Ledger, settings: Settings, library: Library) -> None:
        super().__init__(settings, ledger.answers)
        self._library = library

    def _task(self, request: PairRequest) -> _GradePairs:
        corpus = self._library.open(request.corpus)
        return _GradePairs(corpus, questions_for(corpus, request))


@dataclass(frozen=True, slots=True)
class _GradePairs(ModelTask[Groups]):
    corpus: OpenCorpus
    questions: Sequence[Question]

    def estimate(self, known: Estimator) -> Estimate:
        total = len(self.questions)
        cost = Estimate(calls=total)
        if known.model:  # else no text need be read
            sampled = self.questions[:: -(-total // SAMPLE)]
            cost = known.estimate(prompts_of(self.corpus, sampled), total)
        seeds = {question.seed for question in self.questions}
        return replace(cost, items=total, counts={"documents": len(seeds)})

    async def run(self, run: TaskRun) -> TaskReport[Groups]:
        groups: list[AspectGroup] = []
        failed, total = 0, len(self.questions)
        for start in range(0, total, BATCH):
            if run.stopped:
                break
            batch = self.questions[start : start + BATCH]
            prompts = await asyncio.to_thread(prompts_of, self.corpus, batch)
            answers = await run.ask(prompts, len(batch))
            found = [(q, a) for q, a in zip(batch, answers, strict=True) if a is not None]
            groups += [group_of(self.corpus, question, answer) for question, answer in found]
            if not run.stopped:  # else some were not asked
                failed += len(batch) - len(found)
            run.progress(len(groups) + failed, total, failed=failed)
        left = total - len(groups) - failed
        return TaskReport(result=tuple(groups), failed=failed, left=left)
