"""The reader test: does a model answer rightly from the documents that it is given?

Two tests of two papers. ImpliRet, section 4: the gold document stands among k - 1 hard negatives,
so that retrieval is out of the question and reading alone is measured, by ROUGE-1 recall. SPIKE,
section 4.4: the documents that a system finds are read, with and without scenarios as further
context, and a judge grades the answers against the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from pydantic import BaseModel, Field

from engine.ask.answering import SCENARIO_TOKENS, fitting, need_scenarios, scenarios_of
from engine.errors import BadInputError, check_between
from engine.llm.judges import document_text, halved
from engine.llm.messages import QUOTED_RULE, Message, Prompt, json_prompt, without_reasoning
from engine.llm.tasks import Estimator, ModelTask, TaskRun
from engine.llm.texts import PROMPTS, cut_text, fenced
from engine.measures.metrics import mean, rouge_1_recall
from engine.measures.significance import confidence_interval
from engine.rerank.candidates import merged, shuffled
from engine.search.model.reranking import usage_report
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.topics import Ranker, check_documents, sampled, usable_topics
from engine.types.callbacks import tell_nobody
from engine.types.evaluations import Collection, Topic
from engine.types.models import Estimate, TaskReport, summed
from engine.types.reading import ReadAnswer, ReadingRow, ReadingTest
from engine.types.searches import Filter

READING, GRADING = "reading/1", "answer-grading/1"
DOCUMENT_TOKENS = 1200  # Of one document; conversations and abstracts stay whole
ANSWER_TOKENS = 300
REFERENCE_TOKENS = 1000
NOT_STATED = "not stated"

READER = PROMPTS["reader"] + QUOTED_RULE

JUDGE = PROMPTS["reader-judge"]


class Grade(BaseModel):
    """A judge's opinion of an answer."""

    points: int = Field(ge=0, le=100, description="0 to 100")


def reading(
    question: str,
    documents: Sequence[str],
    scenarios: Sequence[Sequence[str]] = (),
    tokens: int = DOCUMENT_TOKENS,
) -> Prompt[str]:
    """A question with documents; read as the answer's text."""
    parts = []
    for number, text in enumerate(documents, start=1):
        parts.append(fenced(f"document {number}", cut_text(text, tokens).text))
        if scenarios and scenarios[number - 1]:
            notes = fitting(scenarios[number - 1], min(tokens, SCENARIO_TOKENS))
            parts.append(fenced(f"notes on document {number}", notes))
    if scenarios:
        parts.append("The notes say what a document may be of use for; its own words count more.")
    parts.append(f"{fenced('question', question)}\nAnswer this question from the documents.")
    return Prompt(
        name=READING,
        messages=(Message("system", READER), Message("user", "\n\n".join(parts))),
        read=lambda reply, _: without_reasoning(reply.text) or None,
        nudge=f"Answer the question in a few words, or: {NOT_STATED}",
        most_tokens=ANSWER_TOKENS,
        shorter=halved(tokens, lambda less: reading(question, documents, scenarios, less)),
    )


def grading(question: str, answer: str, reference: str) -> Prompt[Grade]:
    """How good an answer is, by the reference."""
    texts = {"question": question, "reference answer": reference, "answer to grade": answer}
    shown = [fenced(name, cut_text(text, REFERENCE_TOKENS).text) for name, text in texts.items()]
    user = "\n\n".join([*shown, "How many points does the answer deserve?"])
    return json_prompt(GRADING, JUDGE, user, Grade, most_tokens=60)


def declines(answer: str) -> bool:
    """Whether an answer says that the documents do not tell.

    >>> declines("Not stated."), declines("Henry")
    (True, False)
    """
    return answer.casefold().strip(" \n\"'*`.:") == NOT_STATED


POOL_FIELD = "tuple_set_id"
"""The field by which documents that were made together name their pool."""
CONFUSED_BY = ("bm25", "dense")
"""Systems whose best documents are taken where a collection has no pools."""
CONFUSED = f"what {' and '.join(CONFUSED_BY)} rank highest"
MOST_CONFUSED = 1_000


def _gold(searcher: Searcher, collection: Collection, topic: Topic) -> list[str]:
    """Relevant documents that the corpus holds, highest grades first."""
    grades, known = collection.qrels.get(topic.query_id, {}), searcher.corpus.row_of
    relevant = [
        d for d, grade in grades.items() if grade >= collection.relevant_from and d in known
    ]
    return sorted(relevant, key=lambda d: (-grades[d], d))


def _negatives(
    searcher: Searcher, collection: Collection, topic: Topic, gold: Sequence[str]
) -> tuple[list[str], str]:
    """Hard negatives of a query in the order in which they are taken, and in words where they came
    from: a sample of the pool, or the hardest first where there is none."""
    corpus, made_together = searcher.corpus, ""
    if topic.pool is None and gold:
        made_together = str(corpus.document(gold[0]).metadata.get(POOL_FIELD, ""))
    if topic.pool is not None:
        pool, source = list(topic.pool), "the query's judged pool"
    elif made_together:
        allowed = corpus.scope([Filter(POOL_FIELD, "=", made_together)]).allowed
        pool = corpus.doc_ids.at(allowed.nonzero()[0])
        source = f"the gold document's pool ({POOL_FIELD})"
    else:
        ranker = Ranker(searcher, [topic], None)
        rankings = [ranker.run(name).rankings[0].doc_ids for name in CONFUSED_BY]
        pool, source = merged(rankings, MOST_CONFUSED), CONFUSED
    grades = collection.qrels.get(topic.query_id, {})
    left_out = {d for d, grade in grades.items() if grade >= collection.relevant_from} | {
        topic.seed
    }
    wrong = [d for d in pool if d in corpus.row_of and d not in left_out]
    return (wrong if source == CONFUSED else list(shuffled(wrong, topic.query_id))), source


SIZES = (1, 10, 30)  # Documents given, as in ImpliRet's table 3
MOST_DOCUMENTS = 200
GOLD = ""
"""In place of a system: the gold document among hard negatives."""


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """What to test."""

    sizes: tuple[int, ...] = SIZES  # documents given, one condition each
    systems: tuple[str, ...] = ()  # whose best documents are read as well; every size of each
    scenarios: bool = False  # every condition once more, with the documents' scenarios
    grade: bool = False  # a judge grades the answers
    sample: int | None = None  # queries to ask; see :func:`engine.search.topics.sampled`

    def __post_init__(self) -> None:
        for size in self.sizes or [0]:
            check_between("The number of documents", size, 1, MOST_DOCUMENTS)
        for name in self.systems:
            find_system(name)


@dataclass(frozen=True, slots=True)
class Condition:
    """What a reader is given: ``system`` is :data:`GOLD` or what chose the documents."""

    system: str
    k: int
    scenarios: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """One query under one condition, with its documents in the order in which they are read."""

    query_id: str
    question: str
    reference: str
    doc_ids: tuple[str, ...]
    gold: tuple[str, ...]


SAMPLED = 20  # Questions of a condition from whose lengths its cost is estimated
READ = "read"
Read = tuple[Sequence[str | None], Sequence[float | None]]
"""The answers to one condition, None where there is none, and the points that they got."""


@dataclass(frozen=True, slots=True)
class PreparedReading(ModelTask[ReadingTest]):
    """All that is known before the model is asked, which is the task: it answers a collection's
    questions under every condition. A run that ends early is measured on what was answered."""

    searcher: Searcher
    collection: Collection
    plan: ReadingPlan
    given: Mapping[Condition, Sequence[Asked]]
    without_answer: int
    negatives: str

    @property
    def queries(self) -> int:
        return len(next(iter(self.given.values())))

    def prompts(self, condition: Condition, every: int = 1) -> list[Prompt[str]]:
        """The questions of a condition, or of every n-th query."""
        asked = self.given[condition][::every]
        texts = self._texts(asked)
        notes = scenarios_of(self.searcher.corpus, sorted(texts)) if condition.scenarios else {}
        prompts = []
        for one in asked:
            beside = [notes.get(d, ()) for d in one.doc_ids] if condition.scenarios else []
            prompts.append(reading(one.question, [texts[d] for d in one.doc_ids], beside))
        return prompts

    def cut(self, condition: Condition) -> int:
        """Documents of which a reader sees the beginning only, over all queries."""
        asked = self.given[condition]
        cut = {d for d, text in self._texts(asked).items() if cut_text(text, DOCUMENT_TOKENS).cut}
        return sum(d in cut for one in asked for d in one.doc_ids)

    def _texts(self, asked: Sequence[Asked]) -> dict[str, str]:
        doc_ids = sorted({d for one in asked for d in one.doc_ids})
        return {d.doc_id: document_text(d) for d in self.searcher.corpus.documents(doc_ids)}

    def estimate(self, known: Estimator) -> Estimate:
        given, every = self.given, max(1, self.queries // SAMPLED)
        parts = [known.estimate(self.prompts(c, every), self.queries) for c in given]
        if self.plan.grade:
            asked = next(iter(given.values()))[0]
            question = grading(asked.question, "?" * 200, asked.reference)
            parts.append(known.estimate([question], self.queries * len(parts)))
        grades, items = self.plan.grade, len(given) * self.queries
        return replace(
            summed(parts), items=items, rounds=len(given) * (1 + grades), exact=not grades
        )

    async def run(self, run: TaskRun) -> TaskReport[ReadingTest]:
        answers: dict[Condition, Read] = {}
        total = len(self.given) * self.queries
        run.progress(0, total)
        for number, condition in enumerate(self.given, start=1):
            if run.stopped:
                break
            answers[condition] = await self._read(run, condition)
            run.progress(number * self.queries, total)
        usage = run.usage
        rows = tuple(_row(self, condition, answers) for condition in self.given)
        unanswered = usage.asked - usage.answered - usage.cached
        depth = max(self.plan.sizes)
        test = ReadingTest(
            collection=self.collection.name,
            corpus=self.searcher.corpus.name,
            queries=self.queries,
            without_answer=self.without_answer,
            negatives=self.negatives,
            rows=rows,
            report=usage_report(READ, depth, self.queries, unanswered, usage),
            notes=tuple(_notes(self, rows, usage.stopped)),
        )
        left = sum(row.queries - row.answered for row in rows)
        return TaskReport(result=test, left=left if run.stopped else 0, failed=run.usage.failed)

    async def _read(self, run: TaskRun, condition: Condition) -> Read:
        answers = await run.ask(self.prompts(condition), self.queries)
        points: list[float | None] = [None] * len(answers)
        if self.plan.grade and not run.stopped:
            asked = self.given[condition]
            prompts: dict[int, Prompt[Grade]] = {
                at: grading(one.question, answer, one.reference)
                for at, (one, answer) in enumerate(zip(asked, answers, strict=True))
                if answer is not None
            }
            grades = await run.ask(list(prompts.values()))
            for at, grade in zip(prompts, grades, strict=True):
                points[at] = None if grade is None else float(grade.points)
        return answers, points


def prepare(
    searcher: Searcher,
    collection: Collection,
    plan: ReadingPlan,
    on_query: Callable[[], None] = tell_nobody,
) -> PreparedReading:
    """Choose the documents of every query under every condition."""
    readable = [t for t in collection.topics if t.answer and t.text]
    if not readable:
        raise BadInputError(
            f"No query of '{collection.name}' has both a question and a reference answer.",
            "Take a collection with answers, ImpliRet say, or add an 'answer' to the rows of "
            "topics.jsonl.",
        )
    topics = usable_topics(sampled(readable, plan.sample), searcher)
    check_documents(collection, searcher)
    if plan.scenarios:
        need_scenarios(searcher.corpus)
    gold = {t.query_id: _gold(searcher, collection, t) for t in topics}
    topics = [t for t in topics if gold[t.query_id]]
    if not topics:
        raise BadInputError(
            f"The corpus '{searcher.corpus.name}' holds no relevant document of these queries.",
            "Name the corpus that holds the collection's documents with --corpus.",
        )
    sizes, source = sorted(set(plan.sizes)), ""
    chosen: dict[tuple[str, int], dict[str, tuple[str, ...]]] = {(GOLD, k): {} for k in sizes}
    for topic in topics:
        right, wrong = gold[topic.query_id], list[str]()
        if len(right) < sizes[-1]:
            wrong, source = _negatives(searcher, collection, topic, right)
        for k in sizes:
            # The ids alone decide the order, another one for every number of documents.
            few = [*right, *wrong][:k]
            order = shuffled(few, f"{topic.query_id} of {len(few)}")
            chosen[GOLD, k][topic.query_id] = order
    ranker = Ranker(searcher, topics, None)
    for system in dict.fromkeys(plan.systems):
        rankings = ranker.run(system, on_query).rankings
        chosen |= {(system, k): {r.query_id: r.doc_ids[:k] for r in rankings} for k in sizes}
    given: dict[Condition, Sequence[Asked]] = {}
    for (system, k), by_query in chosen.items():
        asked = []
        for topic in topics:
            doc_ids = by_query[topic.query_id]
            relevant = tuple(d for d in doc_ids if d in gold[topic.query_id])
            question, reference = topic.text or "", topic.answer or ""
            asked.append(Asked(topic.query_id, question, reference, doc_ids, relevant))
        for along in (False, True) if plan.scenarios else (False,):
            given[Condition(system, k, along)] = asked
    without = len(collection.topics) - len(readable)
    return PreparedReading(searcher, collection, plan, given, without, source)


# -- measuring -----------------------------------------------------------------------------


def _row(
    prepared: PreparedReading, condition: Condition, read_so_far: Mapping[Condition, Read]
) -> ReadingRow:
    asked = prepared.given[condition]
    nothing: list[None] = [None] * len(asked)
    rows = zip(asked, *read_so_far.get(condition, (nothing, nothing)), strict=True)
    answers = [
        ReadAnswer(
            *(one.query_id, one.doc_ids, one.gold, answer),
            rouge=None if answer is None else rouge_1_recall(answer, one.reference),
            grade=points,
        )
        for one, answer, points in rows
    ]
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


def _notes(prepared: PreparedReading, rows: Sequence[ReadingRow], stopped: str) -> list[str]:
    notes = []
    if stopped:
        notes.append(
            "The run ended early (see the report): conditions may rest on different queries."
        )
    if any(not row.system and row.documents < row.k for row in rows):
        notes.append("Some queries have fewer hard negatives than asked for (see documents).")
    if prepared.without_answer:
        notes.append(f"{prepared.without_answer:,} queries have no reference answer; left out.")
    if prepared.plan.grade:
        notes.append(
            "The model that answered also graded the answers; it may favour its own words."
        )
    return notes
