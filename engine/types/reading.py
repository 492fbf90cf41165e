"""What a language model read and answered: one question of a person, or a whole collection."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from engine.text import counted
from engine.types.documents import Document, Span
from engine.types.evaluations import Interval
from engine.types.jobs import Job, JobState
from engine.types.models import ModelReport, ModelUsage

MOST_PASSAGES = 20  # That a model is given for one question


@dataclass(frozen=True, slots=True)
class GivenPassage:
    """A passage that a model was given, by the number that it is cited with."""

    number: int  # counted from 1, in the order of the ranking
    document: Document
    span: Span  # where it stands in the document's text; the whole text where that is short
    matched: tuple[Span, ...] = ()  # sentences that match best
    scenarios: tuple[str, ...] = ()  # further context

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
    """A passage that an answer names."""

    number: int
    span: Span | None = None  # sentence of most shared words with the claim; None: too few


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """Some words of an answer, and the passages that they name in support."""

    text: str
    citations: tuple[Citation, ...] = ()
    unfounded: str = ""  # the sentence of them whose citation names no passage that was given


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question to a corpus."""

    question: str
    corpus: str
    system: str = "hybrid"  # finds the passages
    k: int = 6  # how many passages the model is given
    use_scenarios: bool = False  # the documents' scenarios go along as further context
    follows: str = ""  # id of the answer it follows up; "" for none


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as far as it is written; what is there is usable at any time."""

    passages: tuple[GivenPassage, ...]  # that the model was given
    parts: tuple[AnswerPart, ...]  # the answer so far, also where it broke off
    unknown: int  # citations of passages that were not given; they are left out of `parts`
    report: ModelReport  # the figures so far

    @property
    def text(self) -> str:
        """The answer's words without its citations."""
        return "".join(part.text for part in self.parts)

    @property
    def cited(self) -> tuple[int, ...]:
        """Numbers of the passages that it names, ascending."""
        return tuple(sorted({c.number for part in self.parts for c in part.citations}))


AskJob = Job[Answer, ModelUsage]
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
    if job.state == "done" and job.progress.parts and not job.progress.cited:
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
    """What a model answered to one query under one condition."""

    query_id: str
    doc_ids: tuple[str, ...]  # the documents that it was given, in their order
    gold: tuple[str, ...]  # those of them that are relevant
    answer: str | None = None  # None when there is none: a failed call, or a run that ended before
    rouge: float | None = None  # ROUGE-1 recall, 0 to 1
    grade: float | None = None  # by a judge, 0 to 100; None where none was asked for or given


@dataclass(frozen=True, slots=True)
class ReadingRow:
    """One condition of a reader test."""

    system: str  # what chose the documents; "" where the gold document stands among hard negatives
    k: int  # documents given at most; `documents` is how many there were on average
    scenarios: bool  # the documents' scenarios went along
    queries: int  # that were to be answered: `answered` of them were, the rest is not counted
    answered: int
    declined: int  # answers that say that the documents do not tell
    documents: float
    found: float  # share of the queries with a relevant document among those given, 0 to 1
    cut: int  # documents of which the model saw the beginning only, over all queries
    rouge: float | None  # mean ROUGE-1 recall over the answered queries; None without any
    rouge_interval: Interval
    words: float | None  # mean length of the answers; recall favours long ones
    graded: int = 0
    grade: float | None = None  # mean grade of the judge, 0 to 100, over `graded` answers
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
    """How well a model answers the questions of a collection from the documents it is given."""

    collection: str
    corpus: str
    queries: int  # of the collection that have a reference answer, cut to the sample
    without_answer: int  # queries left out because they have none
    negatives: str  # in words, where the hard negatives come from
    rows: tuple[ReadingRow, ...]
    report: ModelReport  # of the whole run; its `stopped` says whether it is partial
    notes: tuple[str, ...] = ()
