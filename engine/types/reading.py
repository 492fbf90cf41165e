"""What a language model read and answered: one question of a person, or a whole collection."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from engine.types.documents import Document, Span
from engine.types.evaluations import Interval
from engine.types.jobs import Job, JobState
from engine.types.models import ModelReport
from engine.types.plurals import counted

MOST_PASSAGES = 20
"""That a model is given for one question."""


@dataclass(frozen=True, slots=True)
class GivenPassage:
    """A passage that a model was given, by the number that it is cited with.

    Attributes:
        number: counted from 1, in the order of the ranking.
        span: where it stands in the document's text; the whole text where that is short.
        matched: sentences in it that the question matched best, as spans of the text.
        scenarios: what went along as further context, a text each; empty when none did.
    """

    number: int
    document: Document
    span: Span
    matched: tuple[Span, ...] = ()
    scenarios: tuple[str, ...] = ()

    @property
    def doc_id(self) -> str:
        return self.document.doc_id

    @property
    def text(self) -> str:
        return self.document.text[self.span[0] : self.span[1]]

    @property
    def whole(self) -> bool:
        """True when it is all that the document says."""
        return self.text.strip() == self.document.text.strip()


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer names.

    Attributes:
        span: the sentence of the document that shares most words with what is claimed; None
            where none shares enough. A likeness of words, not a proof.
    """

    number: int
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """Some words of an answer, and the passages that they name in support.

    Attributes:
        unfounded: the sentence of them whose citation names no passage that was given.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    unfounded: str = ""


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question to a corpus.

    Attributes:
        system: finds the passages.
        k: how many passages the model is given.
        use_scenarios: the documents' scenarios go along as further context.
        follows: the id of the answer that the question is about; "" for a question by itself.
    """

    question: str
    corpus: str
    system: str = "hybrid"
    k: int = 6
    use_scenarios: bool = False
    follows: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as far as it is written; what is there is usable at any time.

    Attributes:
        passages: that the model was given.
        parts: the answer so far, also where it broke off.
        unknown: citations of passages that were not given; they are left out of ``parts``.
        report: the figures so far.
    """

    passages: tuple[GivenPassage, ...]
    parts: tuple[AnswerPart, ...]
    unknown: int
    report: ModelReport

    @property
    def text(self) -> str:
        """The answer's words without its citations."""
        return "".join(part.text for part in self.parts)

    @property
    def cited(self) -> tuple[int, ...]:
        """Numbers of the passages that it names, ascending."""
        return tuple(sorted({c.number for part in self.parts for c in part.citations}))


AskJob = Job[Answer, ModelReport]
"""The answer to an :class:`AskRequest`, in a thread of this process or as it was stored."""


def remarks(job: AskJob) -> list[str]:
    """Plain sentences about what is odd in an answer."""
    sentences = []
    if job.state == "cancelled":
        sentences.append("Cancelled. The answer is incomplete.")
    if job.state == "failed" and job.progress.parts:
        sentences.append("Failed. The answer is incomplete.")
    if job.progress.unknown:
        unknown = counted(job.progress.unknown, "citation")
        sentences.append(f"{unknown} without a passage (underlined).")
    if job.state == "done" and not job.progress.cited:
        sentences.append("No source cited.")
    return [*sentences, *job.progress.report.notes]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of the history; its answer is found by its id."""

    id: str
    corpus: str
    question: str
    state: JobState
    time: datetime


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer, which a follow-up is asked about."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """What a model answered to one query under one condition.

    Attributes:
        doc_ids: the documents that it was given, in their order.
        gold: those of them that are relevant.
        answer: None when there is none: a failed call, or a run that ended before.
        rouge: ROUGE-1 recall of the reference answer, 0 to 1; None without an answer.
        grade: by a judge, 0 to 100; None where none was asked for or given.
    """

    query_id: str
    doc_ids: tuple[str, ...]
    gold: tuple[str, ...]
    answer: str | None = None
    rouge: float | None = None
    grade: float | None = None


@dataclass(frozen=True, slots=True)
class ReadingRow:
    """One condition of a reader test.

    Attributes:
        system: what chose the documents; "" where the gold document stands among hard negatives.
        k: documents given at most; ``documents`` is how many there were on average.
        scenarios: the documents' scenarios went along.
        queries: that were to be answered: ``answered`` of them were, the rest is not counted.
        declined: answers that say that the documents do not tell.
        found: share of the queries with a relevant document among those given, 0 to 1.
        cut: documents of which the model saw the beginning only, over all queries.
        rouge: mean ROUGE-1 recall over the answered queries; None without any.
        words: mean length of the answers; recall favours long ones.
        grade: mean grade of the judge, 0 to 100, over ``graded`` answers.
    """

    system: str
    k: int
    scenarios: bool
    queries: int
    answered: int
    declined: int
    documents: float
    found: float
    cut: int
    rouge: float | None
    rouge_interval: Interval
    words: float | None
    graded: int = 0
    grade: float | None = None
    grade_interval: Interval = None
    answers: tuple[ReadAnswer, ...] = field(default=(), repr=False)

    @property
    def unanswered(self) -> int:
        return self.queries - self.answered

    @property
    def name(self) -> str:
        """``gold, k = 10``; ``bm25, k = 10, with scenarios``."""
        first = self.system or "gold"
        return f"{first}, k = {self.k}{', with scenarios' if self.scenarios else ''}"


@dataclass(frozen=True, slots=True)
class ReadingTest:
    """How well a model answers the questions of a collection from the documents it is given.

    Attributes:
        queries: of the collection that have a reference answer, cut to the sample.
        without_answer: queries left out because they have none.
        negatives: in words, where the hard negatives come from.
        report: of the whole run; its ``stopped`` says whether it is partial.
    """

    collection: str
    corpus: str
    queries: int
    without_answer: int
    negatives: str
    rows: tuple[ReadingRow, ...]
    report: ModelReport
    notes: tuple[str, ...] = ()
