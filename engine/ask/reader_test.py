"""The reader test: does a model answer rightly from the documents that it is given?

Two tests of two papers. ImpliRet, section 4: the gold document stands among k - 1 hard negatives,
so that retrieval is out of the question and reading alone is measured, by ROUGE-1 recall. SPIKE,
section 4.4: the documents that a system finds are read, with and without scenarios as further
context, and a judge grades the answers against the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from engine.ask.reading_plans import Asked, Condition, PreparedReading
from engine.ask.reading_prompts import Grade, declines, grading
from engine.assist.reranking import usage_report
from engine.llm.connecting import Estimator
from engine.llm.messages import Prompt
from engine.llm.tasks import ModelTask, TaskRun, TaskRunner
from engine.measures.metrics import mean, rouge_1_recall
from engine.measures.significance import confidence_interval
from engine.types.models import Estimate, ModelUsage, TaskReport, summed
from engine.types.reading import ReadAnswer, ReadingRow, ReadingTest

SAMPLED = 20  # Questions of a condition from whose lengths its cost is estimated
READ = "read"
_OWN_JUDGE = "The model that answered also graded the answers; it may favour its own words."
_FEW_NEGATIVES = "Some queries have fewer hard negatives than asked for (see documents)."


@dataclass(frozen=True, slots=True)
class Read:
    """The answers to one condition, None where there is none, and the points that they got."""

    answers: Sequence[str | None]
    points: Sequence[float | None]


class ReaderTest(TaskRunner[PreparedReading, ReadingTest]):
    """Lets a model answer a collection's questions under every condition.

    Answers are kept: the same test again asks nothing. A run that ends early (Ctrl-C, budget,
    endpoint) is measured on what was answered, and its report says so.
    """

    def _task(self, request: PreparedReading) -> _Reading:
        return _Reading(request)


@dataclass(frozen=True)
class _Reading(ModelTask[ReadingTest]):
    prepared: PreparedReading

    def estimate(self, known: Estimator) -> Estimate:
        prepared = self.prepared
        given, every = prepared.given, max(1, prepared.queries // SAMPLED)
        parts = [known.estimate(prepared.prompts(c, every), prepared.queries) for c in given]
        if prepared.plan.grade:
            asked = next(iter(given.values()))[0]
            question = grading(asked.question, "?" * 200, asked.reference)
            parts.append(known.estimate([question], prepared.queries * len(parts)))
        grades, items = prepared.plan.grade, len(given) * prepared.queries
        return replace(
            summed(parts), items=items, rounds=len(given) * (1 + grades), exact=not grades
        )

    async def run(self, run: TaskRun) -> TaskReport[ReadingTest]:
        prepared, answers = self.prepared, {}
        total = len(prepared.given) * prepared.queries
        run.progress(0, total)
        for number, condition in enumerate(prepared.given, start=1):
            if run.stopped:
                break
            answers[condition] = await _read(run, prepared, condition)
            run.progress(number * prepared.queries, total)
        test = _measured(prepared, answers, run.usage)
        left = sum(row.queries - row.answered for row in test.rows)
        return TaskReport(result=test, left=left if run.stopped else 0, failed=run.usage.failed)


async def _read(run: TaskRun, prepared: PreparedReading, condition: Condition) -> Read:
    answers = await run.ask(prepared.prompts(condition), prepared.queries)
    points: list[float | None] = [None] * len(answers)
    if prepared.plan.grade and not run.stopped:
        asked = prepared.given[condition]
        prompts: dict[int, Prompt[Grade]] = {
            at: grading(one.question, answer, one.reference)
            for at, (one, answer) in enumerate(zip(asked, answers, strict=True))
            if answer is not None
        }
        grades = await run.ask(list(prompts.values()))
        for at, grade in zip(prompts, grades, strict=True):
            points[at] = None if grade is None else float(grade.points)
    return Read(answers, points)


# -- measuring -----------------------------------------------------------------------------


def _measured(
    prepared: PreparedReading, answers: Mapping[Condition, Read], usage: ModelUsage
) -> ReadingTest:
    rows = tuple(_row(prepared, condition, answers) for condition in prepared.given)
    unanswered = usage.asked - usage.answered - usage.cached
    report = usage_report(READ, max(prepared.plan.sizes), prepared.queries, unanswered, usage)
    return ReadingTest(
        collection=prepared.collection.name,
        corpus=prepared.searcher.corpus.name,
        queries=prepared.queries,
        without_answer=prepared.without_answer,
        negatives=prepared.negatives,
        rows=rows,
        report=report,
        notes=tuple(_notes(prepared, rows, report.stopped)),
    )


def _row(
    prepared: PreparedReading, condition: Condition, read_so_far: Mapping[Condition, Read]
) -> ReadingRow:
    asked = prepared.given[condition]
    nothing: list[None] = [None] * len(asked)
    read = read_so_far.get(condition, Read(nothing, nothing))
    rows = zip(asked, read.answers, read.points, strict=True)
    answers = [_answer(one, answer, points) for one, answer, points in rows]
    said = [a for a in answers if a.answer is not None]
    rouge = [a.rouge for a in said]
    grades = [a.grade for a in said if a.grade is not None]
    return ReadingRow(
        system=condition.system,
        k=condition.k,
        scenarios=condition.scenarios,
        queries=len(asked),
        answered=len(said),
        declined=sum(declines(a.answer or "") for a in said),
        documents=fmean(len(one.doc_ids) for one in asked),
        found=fmean(bool(one.gold) for one in asked),
        cut=prepared.cut(condition),
        rouge=mean(rouge),
        rouge_interval=confidence_interval(rouge),
        words=mean([len((a.answer or "").split()) for a in said]),
        graded=len(grades),
        grade=mean(grades),
        grade_interval=confidence_interval(grades),
        answers=tuple(answers),
    )


def _answer(asked: Asked, answer: str | None, points: float | None) -> ReadAnswer:
    rouge = None if answer is None else rouge_1_recall(answer, asked.reference)
    return ReadAnswer(asked.query_id, asked.doc_ids, asked.gold, answer, rouge, points)


def _notes(prepared: PreparedReading, rows: Sequence[ReadingRow], stopped: str) -> list[str]:
    notes = []
    if stopped:
        notes.append(
            "The run ended early (see the report): conditions may rest on different queries."
        )
    if any(not row.system and row.documents < row.k for row in rows):
        notes.append(_FEW_NEGATIVES)
    if prepared.without_answer:
        notes.append(f"{prepared.without_answer:,} queries have no reference answer; left out.")
    if prepared.plan.grade:
        notes.append(_OWN_JUDGE)
    return notes
