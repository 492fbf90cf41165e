"""The facade over answers to questions."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from engine.ask.answering import ANSWER_TOKENS, ASK, AnswerWork, messages
from engine.ask.examples import example_questions
from engine.ask.exporting import Form, export
from engine.ask.history import History
from engine.ask.passages import any_scenarios, passages_of, stored_scenarios
from engine.config import Settings
from engine.errors import BadInputError, SeedLensError, UnknownNameError
from engine.jobs.runner import JobRunner, check_ends, new_job_id
from engine.llm.connecting import connect, estimator
from engine.llm.endpoints import Endpoint
from engine.llm.messages import Prompt
from engine.search.scenario_index import ranked_from
from engine.search.searcher import Searcher
from engine.types.callbacks import Ask
from engine.types.jobs import Job
from engine.types.limits import LONGEST_QUESTION
from engine.types.models import Estimate, ModelReport
from engine.types.people import ForPerson
from engine.types.reading import (
    MOST_PASSAGES,
    Answer,
    AskedQuestion,
    AskJob,
    AskRequest,
    Exchange,
)
from engine.types.searches import Query, Result
from storage.errors import StorageError
from storage.ledger import Ledger

log = logging.getLogger("seedlens")
MOST_FORMER = 3
"""Exchanges that a follow-up is shown."""
REMEMBERED = 32
"""Questions whose results are kept, and corpora whose examples are."""


class Reader(ForPerson):
    """Answers to questions from the documents of a corpus. Safe to share between threads.

    Where an ``endpoint`` is taken, None is the one of the environment.

    Attributes:
        jobs: answers under way, and the latest that have ended.

    Args:
        searcher: gives the search engine of a corpus by name.
    """

    def __init__(
        self, settings: Settings, ledger: Ledger, searcher: Callable[[str], Searcher]
    ) -> None:
        self._settings, self._answers, self._searcher = settings, ledger.answers, searcher
        self.jobs = JobRunner()
        self._history = History(ledger.asked)
        self._results = lru_cache(REMEMBERED)(self._search)
        self._examples = lru_cache(REMEMBERED)(self._made_examples)

    def has_scenarios(self, corpus: str) -> bool:
        """Whether any document of the corpus has scenarios that can go along."""
        opened = self._searcher(corpus).corpus
        return any_scenarios(stored_scenarios(opened), opened.doc_ids)

    def estimate(self, request: AskRequest, endpoint: Endpoint | None = None) -> Estimate:
        """What an answer costs at most; nothing is asked."""
        connection = connect(self._settings, endpoint, person=self.person)
        former = self._former(request)
        results, scenarios = self._find(request, former)
        asked = messages(request.question, passages_of(results, scenarios), former=former)
        prompt = Prompt(ASK, asked, lambda *_: "", nudge="", most_tokens=ANSWER_TOKENS)
        cost = estimator(connection, self._answers).estimate([prompt], 1)
        return replace(cost, items=len(results), rounds=1)

    def ask(
        self,
        request: AskRequest,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        owner: str = "",
    ) -> str:
        """Find passages now and have the answer written in the background; returns the job's id,
        by which :meth:`find` knows the answer from then on.

        Args:
            owner: who asks.
        """
        _check(request)
        connection = connect(self._settings, endpoint, most_calls, self.person)
        former = self._former(request)
        found = self._find(request, former)
        work = AnswerWork(request, *found, connection, self._answers, former)
        job: AskJob = Job(new_job_id(), request, "running", work.answer(), owner=self._own(owner))

        def write(tell: Callable[[Answer], None], cancelled: Ask) -> ModelReport:
            return self._kept(job, lambda: work.write(tell, cancelled), work.answer)

        return self.jobs.start(
            job.id, write, job.progress, request=request, owner=owner, job_id=job.id
        )

    def find(self, job_id: str) -> AskJob:
        """An answer: as it is now while it is written, as it is stored afterwards."""
        with suppress(UnknownNameError):
            return self.jobs.job(job_id)
        return self._history.find(job_id)

    def asked(self, owner: str = "") -> list[AskedQuestion]:
        """Somebody's questions, the newest first: those of ``owner`` where nobody is logged in."""
        return self._history.list(self._own(owner))

    def forget(self, job_id: str) -> None:
        """Delete an answer that has ended; one that is written is left alone."""
        with suppress(UnknownNameError):
            check_ends(self.person, self._history.find(job_id).owner)
        self.jobs.dismiss(job_id)
        self._history.remove(job_id)

    def export(self, job: AskJob, form: Form) -> str:
        """An answer with its citations as a file's text; see :mod:`engine.ask.exporting`."""
        return export(job, form)

    def examples(self, corpus: str) -> list[str]:
        """Questions that a corpus may answer; no model is asked for them."""
        return self._examples(corpus, self._searcher(corpus).corpus.identity)

    def _made_examples(self, corpus: str, _identity: str) -> list[str]:
        opened = self._searcher(corpus).corpus
        return example_questions(opened.titles, opened.lens)

    def _kept(
        self, job: AskJob, write: Callable[[], ModelReport], answer: Callable[..., Answer]
    ) -> ModelReport:
        """Write an answer, and keep it however it ends; an answer without words is not kept."""
        started, ended = time.monotonic(), job
        try:
            report = write()
            stopped = report.stopped == "cancelled"
            ended = replace(job, state="cancelled" if stopped else "done")
        except SeedLensError as error:
            ended = replace(job, state="failed", error=error.message, remedy=error.remedy)
            raise
        finally:
            said = answer(complete=True)
            seconds = time.monotonic() - started
            if said.parts and not ended.running:
                try:
                    self._history.keep(replace(ended, progress=said, seconds=seconds))
                except StorageError:
                    log.exception("An answer could not be kept; the page still has it.")
        return report

    def _former(self, request: AskRequest) -> tuple[Exchange, ...]:
        """What a question follows up, the first exchange first."""
        former: list[Exchange] = []
        follows = request.follows
        while follows and len(former) < MOST_FORMER:
            job = self.find(follows)
            former.insert(0, Exchange(job.request.question, job.progress.text))
            follows = job.request.follows
        return tuple(former)

    def _find(
        self, request: AskRequest, former: Sequence[Exchange] = ()
    ) -> tuple[tuple[Result, ...], Mapping[str, Sequence[str]]]:
        """What is retrieved for a question, with its scenarios by doc_id; a follow-up is searched
        for together with the question before it.

        The ranking is from memory while the corpus stays the same.
        """
        _check(request)
        searcher = self._searcher(request.corpus)
        text = "\n".join([*(e.question for e in former[-1:]), request.question])
        query = Query(request.corpus, text=text, system=request.system, k=request.k)
        results = self._results(query, ranked_from(searcher.corpus, [query.system]))
        if not request.use_scenarios:
            return results, {}
        scenarios = stored_scenarios(searcher.corpus)
        if not any_scenarios(scenarios, searcher.corpus.doc_ids):
            raise BadInputError(
                f"The corpus '{request.corpus}' has no scenarios.",
                "Write them first, or ask without them.",
            )
        return results, scenarios([r.doc_id for r in results])

    def _search(self, query: Query, _identity: str) -> tuple[Result, ...]:
        return self._searcher(query.corpus).search(query).results


def _check(request: AskRequest) -> None:
    length = len(request.question)
    if not request.question.strip():
        raise BadInputError("The question is empty.", "Write what you want to know.")
    if length > LONGEST_QUESTION:
        raise BadInputError(
            f"The question has {length:,} characters; at most {LONGEST_QUESTION:,} are read.",
            "Say it shorter.",
        )
    if not 1 <= request.k <= MOST_PASSAGES:
        raise BadInputError(
            f"{request.k} passages are asked for.", f"Give a number from 1 to {MOST_PASSAGES}."
        )
