"""Questions to a corpus: the facade over answers, their export as files, and example questions."""

from __future__ import annotations

import json
import logging
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Literal

from engine.ask.answering import AnswerQuestion, need_scenarios, scenarios_of
from engine.config import ASSETS, Settings
from engine.errors import (
    BadInputError,
    SeedLensError,
    UnknownNameError,
    check_between,
    check_length,
)
from engine.jobs.runner import check_ends, new_job_id
from engine.llm.tasks import TaskRunner
from engine.search.scenario_index import ranked_from
from engine.search.searcher import Searcher
from engine.text import plain
from engine.types.documents import paper_link, reference
from engine.types.jobs import Job, JobState
from engine.types.lenses import Lens
from engine.types.limits import LONGEST_QUESTION
from engine.types.models import Estimate, ModelUsage
from engine.types.reading import (
    MOST_PASSAGES,
    Answer,
    AskedQuestion,
    AskJob,
    AskRequest,
    Exchange,
    remarks,
)
from engine.types.searches import Query, Result
from storage.errors import StorageError
from storage.ledger import Ledger
from storage.vectors import ScenarioTable

MOST_LISTED = 100  # Questions of a history


@dataclass(frozen=True, slots=True)
class _Stored:
    """What is stored of an answer beside its question."""

    request: AskRequest
    answer: Answer
    error: str = ""
    remedy: str = ""
    seconds: float = 0.0


READ = 2_000  # Titles that are read, evenly spread over all
FEWEST = 2  # Titles that must share a topic
LONGEST_TITLE = 90
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@lru_cache(maxsize=1)
def _examples() -> tuple[frozenset[str], dict[str, str]]:
    """Words that no topic has, and questions by aspect; other aspects go by their names."""
    data = tomllib.loads((ASSETS / "questions.toml").read_text(encoding="utf-8"))
    return frozenset(_WORD.findall(data["linking"])), data["by_aspect"]


def example_questions(titles: Sequence[str], lens: Lens, most: int = 3) -> list[str]:
    """Questions about what several titles speak of, one for each aspect in turn; where titles
    share nothing, about single documents.

    >>> from engine.types.lenses import Aspect
    >>> lens = Lens("l", "L", (Aspect("method", "Method", "M", "", ""),), things="papers")
    >>> example_questions(["Honey bees in winter", "Mites of honey bees"], lens, most=1)
    ['Which methods are used for honey bees?']
    """
    step = max(1, -(-len(titles) // READ))
    read = [" ".join(title.split()) for title in titles[::step] if title.strip()]
    topics = _topics(read)[:most]
    topics += [f"“{t}”" for t in read if len(t) <= LONGEST_TITLE][: most - len(topics)]
    return [_question(topic, lens, at) for at, topic in enumerate(topics)]


def _question(topic: str, lens: Lens, at: int) -> str:
    if not lens.aspects:
        return f"What is said about {topic}?"
    aspect = lens.aspects[at % len(lens.aspects)]
    own = _examples()[1].get(aspect.key)
    if own is None:
        return f"What is said about {topic} ({aspect.name.lower()})?"
    return own.format(topic=topic)


def _topics(titles: Sequence[str]) -> list[str]:
    """Two or three words in a row that several titles have, the most frequent first; none that
    shares a word with one before it."""
    counts: Counter[str] = Counter()
    linking, _ = _examples()
    for title in titles:
        words = _WORD.findall(title.lower())
        phrases = {
            " ".join(words[at : at + length])
            for length in (2, 3)
            for at in range(len(words) - length + 1)
            if linking.isdisjoint(words[at : at + length])
            and min(map(len, words[at : at + length])) > 2
        }
        counts.update(phrases)
    # Of phrases as frequent, the longer one says more.
    found = sorted(counts, key=lambda phrase: (-counts[phrase], -len(phrase), phrase))
    topics: list[str] = []
    used: set[str] = set()
    for phrase in found:
        if counts[phrase] >= FEWEST and used.isdisjoint(phrase.split()):
            topics.append(phrase)
            used.update(phrase.split())
    return topics


# -- answers as files -----------------------------------------------------------------------------

Form = Literal["md", "json"]
LONGEST_QUOTE = 600
"""Characters of a passage that stand beneath its source where no sentence of it is cited."""


def export(job: AskJob, form: Form) -> str:
    """An answer, whole or as far as it was written, with the sources that it cites: Markdown to
    read, JSON to work with.

    Texts of documents and of the model are text in Markdown, too: no markup of theirs counts.
    """
    passages = {passage.number: passage for passage in job.progress.passages}
    quotes: dict[int, list[str]] = {}  # of each cited passage, the sentences that are cited
    for citation in (c for part in job.progress.parts for c in part.citations):
        own = quotes.setdefault(citation.number, [])
        if citation.span is not None and citation.number in passages:
            quote = passages[citation.number].document.text[slice(*citation.span)].strip()
            own += [] if quote in own else [quote]
    if form == "md":
        return _markdown(job, quotes)
    return json.dumps(_record(job, quotes), ensure_ascii=False, indent=2)


def _record(job: AskJob, quotes: Mapping[int, Sequence[str]]) -> dict[str, Any]:
    asked, answer = job.request, job.progress
    return {
        "question": asked.question,
        "answer": _text(job, str, " [{}]"),
        "state": job.state,
        "remarks": remarks(job),
        "model": answer.report.model,
        "corpus": asked.corpus,
        "system": asked.system,
        "follows": asked.follows or None,
        "parts": [
            {"text": part.text, "citations": [c.number for c in part.citations]}
            for part in answer.parts
        ],
        "sources": [
            {
                "number": passage.number,
                "doc_id": passage.doc_id,
                "title": passage.document.title,
                "authors": list(passage.document.authors),
                "year": passage.document.year,
                "link": paper_link(passage.document),
                "cited": passage.number in quotes,
                "quotes": quotes.get(passage.number, []),
                "passage": passage.text,
            }
            for passage in answer.passages
        ],
    }


def _text(job: AskJob, words: Callable[[str], str], mark: str) -> str:
    """The answer with the numbers of its passages, or that one is missing, behind each part."""
    text = ""
    for part in job.progress.parts:
        missing = ["no such passage"] if part.unfounded else []
        numbers = [*(c.number for c in part.citations), *missing]
        text += words(part.text) + "".join(map(mark.format, numbers))
    return text.strip()


def _markdown(job: AskJob, quotes: Mapping[int, Sequence[str]]) -> str:
    asked, answer = job.request, job.progress
    said = _text(job, partial(plain, lines=True), r" \[{}\]")
    made = f"Generated by {plain(answer.report.model)} from {len(answer.passages)} passages of "
    made += f"{plain(asked.corpus)}, found by {plain(asked.system)}. It may be wrong: check it."
    lines = [f"# {plain(asked.question)}", "", said or "Nothing was written.", "", f"*{made}*"]
    for remark in remarks(job):
        lines += ["", f"*{plain(remark)}*"]
    cited = [passage for passage in answer.passages if passage.number in quotes]
    lines += ["", "## Sources", ""] if cited else []
    for passage in cited:
        source = reference(passage.document, paper_link(passage.document))
        lines.append(rf"- \[{passage.number}\] {source}")
        beginning = " ".join(passage.text.split())
        if len(beginning) > LONGEST_QUOTE:
            beginning = f"{beginning[:LONGEST_QUOTE].rstrip()} …"
        lines += [f"  > {plain(quote)}\n" for quote in quotes[passage.number] or [beginning]]
    return "\n".join(line.rstrip() for line in lines) + "\n"


# -- the facade -----------------------------------------------------------------------------------

log = logging.getLogger("seedlens")
MOST_FORMER = 3  # Exchanges that a follow-up is shown
REMEMBERED = 32  # Questions whose results are kept, and corpora whose examples are


class Reader(TaskRunner[AskRequest, Answer]):
    """Answers to questions from the documents of a corpus; :meth:`find` knows one by the id of its
    job, from :meth:`start` on. Safe to share between threads."""

    def __init__(
        self, settings: Settings, ledger: Ledger, searcher: Callable[[str], Searcher]
    ) -> None:
        super().__init__(settings, ledger.answers)
        self._searcher = searcher
        self._questions = ledger.documents("question", AskedQuestion)
        self._stored = ledger.documents("answer", _Stored)
        self._results = lru_cache(REMEMBERED)(self._search)
        self._examples = lru_cache(REMEMBERED)(self._made_examples)

    def has_scenarios(self, corpus: str) -> bool:
        """Whether documents of the corpus have scenarios that can go along."""
        return ScenarioTable.is_stored(self._searcher(corpus).corpus.table.path)

    def _task(self, request: AskRequest) -> AnswerQuestion:
        _check(request)
        former = self._former(request)
        task = AnswerQuestion(request, *self._find(request, former), former)
        task.job_id = new_job_id()
        task.keep = partial(self._keep, task.job_id)
        return task

    def passages(self, request: AskRequest) -> AskJob:
        """The passages that an answer would rest on, as an answer without words; no model is
        asked."""
        task = self._task(request)
        return Job("", request, "done", task.begun(Estimate(), ModelUsage()))

    def _keep(
        self, job_id: str, answer: Answer, state: JobState, error: SeedLensError | None
    ) -> None:
        """Keep the answer of a job, which has ended, with the passages that it rests on."""
        with suppress(UnknownNameError):  # an answer that is waited for has no job
            job: AskJob = self.jobs.job(job_id)
            asked, words = job.request, (error.message, error.remedy) if error else ("", "")
            question = AskedQuestion(job_id, asked.corpus, asked.question, state, datetime.now(UTC))
            try:
                self._stored.put(job_id, _Stored(asked, answer, *words, job.seconds), job.owner)
                self._questions.put(job_id, question, job.owner)
            except StorageError:
                log.exception("An answer could not be kept; the page still has it.")

    def find(self, job_id: str) -> AskJob:
        """An answer: as it is now while it is written, as it is stored afterwards."""
        with suppress(UnknownNameError):
            return self.jobs.job(job_id)
        question, found = self._questions.get(job_id), self._stored.get(job_id)
        if question is None or found is None:
            raise UnknownNameError(
                "This answer is not stored here.",
                "Links to answers work only with the home that they were made in. Ask again.",
            )
        stored = found.value
        return Job(
            id=job_id,
            request=stored.request,
            state=question.value.state,
            progress=stored.answer,
            report=stored.answer.report,
            error=stored.error,
            remedy=stored.remedy,
            owner=question.owner,
            seconds=stored.seconds,
        )

    def asked(self, owner: str = "") -> list[AskedQuestion]:
        """Somebody's questions, the newest first: those of ``owner`` where nobody is logged in."""
        questions = self._questions.newest(self._own(owner))
        return [question.value for question in islice(questions, MOST_LISTED)]

    def forget(self, job_id: str) -> None:
        """Delete an answer that has ended; one that is written is left alone."""
        question = self._questions.get(job_id)
        if question is not None:
            check_ends(self.person, question.owner)
        self.jobs.dismiss(job_id)
        self._questions.remove(job_id)
        self._stored.remove(job_id)

    export = staticmethod(export)

    def examples(self, corpus: str) -> list[str]:
        """Questions that a corpus may answer; no model is asked for them."""
        return self._examples(corpus, self._searcher(corpus).corpus.identity)

    def _made_examples(self, corpus: str, _identity: str) -> list[str]:
        opened = self._searcher(corpus).corpus
        return example_questions(opened.titles, opened.lens)

    def _former(self, request: AskRequest) -> tuple[Exchange, ...]:
        """What a question follows up, the first exchange first."""
        former: list[Exchange] = []
        follows = request.follows
        with suppress(UnknownNameError):  # one that was deleted
            while follows and len(former) < MOST_FORMER:
                job = self.find(follows)
                former.insert(0, Exchange(job.request.question, job.progress.text))
                follows = job.request.follows
        return tuple(former)

    def _find(
        self, request: AskRequest, former: Sequence[Exchange]
    ) -> tuple[tuple[Result, ...], Mapping[str, Sequence[str]]]:
        """What is retrieved for a question, with its scenarios by doc_id; a follow-up is searched
        for together with the question before it.

        The ranking is from memory while the corpus stays the same.
        """
        searcher = self._searcher(request.corpus)
        text = "\n".join([*(e.question for e in former[-1:]), request.question])
        query = Query(request.corpus, text=text, system=request.system, k=request.k)
        results = self._results(query, ranked_from(searcher.corpus, [query.system]))
        if not request.use_scenarios:
            return results, {}
        need_scenarios(searcher.corpus)
        return results, scenarios_of(searcher.corpus, [r.doc_id for r in results])

    def _search(self, query: Query, _identity: str) -> tuple[Result, ...]:
        return self._searcher(query.corpus).search(query).results


def _check(request: AskRequest) -> None:
    if not request.question.strip():
        raise BadInputError("The question is empty.", "Write what you want to know.")
    check_length("question", request.question, LONGEST_QUESTION)
    check_between("The number of passages", request.k, 1, MOST_PASSAGES)
