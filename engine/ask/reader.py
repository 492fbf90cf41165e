"""The facade over answers to questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from engine.ask.answering import ANSWER_TOKENS, ASK, AnswerWork, messages
from engine.ask.passages import any_scenarios, passages_of, stored_scenarios
from engine.config import Settings
from engine.errors import BadInputError
from engine.jobs.runner import JobRunner
from engine.llm.connecting import connect
from engine.llm.endpoints import Endpoint
from engine.llm.estimates import estimator
from engine.llm.messages import Prompt
from engine.search.searcher import Searcher
from engine.types.reading import LONGEST_QUESTION, MOST_PASSAGES, AskRequest
from engine.types.reranking import CostEstimate
from engine.types.searches import Query, Result
from storage.ledger import Ledger

REMEMBERED = 32
"""Questions whose results are kept."""


class Reader:
    """Answers to questions from the documents of a corpus. Safe to share between threads.

    Where an ``endpoint`` is taken, None is the one of the environment.

    Attributes:
        jobs: answers under way, and those that have ended.

    Args:
        searcher: gives the search engine of a corpus by name.
    """

    def __init__(
        self, settings: Settings, ledger: Ledger, searcher: Callable[[str], Searcher]
    ) -> None:
        self._settings, self._answers, self._searcher = settings, ledger.answers, searcher
        self.jobs = JobRunner()
        self._results: dict[tuple[Query, str], tuple[Result, ...]] = {}

    def has_scenarios(self, corpus: str) -> bool:
        """Whether any document of the corpus has scenarios that can go along."""
        opened = self._searcher(corpus).corpus
        return any_scenarios(stored_scenarios(opened), opened.doc_ids)

    def estimate(self, request: AskRequest, endpoint: Endpoint | None = None) -> CostEstimate:
        """What an answer costs at most; nothing is asked. Raises as :meth:`ask`."""
        connection = connect(self._settings, endpoint, None)
        results, scenarios = self._find(request)
        asked = messages(request.question, passages_of(results, scenarios))
        prompt = Prompt(ASK, asked, lambda *_: "", nudge="", most_tokens=ANSWER_TOKENS)
        cost = estimator(connection, self._answers).estimate([prompt], 1)
        return CostEstimate(ASK, len(results), rounds=1, exact=True, **asdict(cost))

    def ask(
        self,
        request: AskRequest,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        owner: str = "",
    ) -> str:
        """Find passages now and have the answer written in the background; returns the job's id.

        Args:
            owner: who asks.

        Raises:
            NoEndpointError: none is set up; says how to.
            UnknownNameError: no such corpus or system.
            BadInputError: the question is blank or too long, too many passages are asked for, or
                there are no scenarios to go along.
        """
        _check(request)
        connection = connect(self._settings, endpoint, most_calls)
        work = AnswerWork(request, *self._find(request), connection, self._answers)
        return self.jobs.start(object(), work.write, work.answer(), request=request, owner=owner)[0]

    def _find(self, request: AskRequest) -> tuple[tuple[Result, ...], Mapping[str, Sequence[str]]]:
        """What is retrieved for a question, with its scenarios by doc_id.

        The ranking is from memory while the corpus stays the same.
        """
        _check(request)
        searcher = self._searcher(request.corpus)
        query = Query(request.corpus, text=request.question, system=request.system, k=request.k)
        key = (query, searcher.corpus.identity)
        if key not in self._results:
            results = searcher.search(query).results
            while len(self._results) >= REMEMBERED:
                self._results.pop(next(iter(self._results)), None)
            self._results[key] = results
        results = self._results[key]
        if not request.use_scenarios:
            return results, {}
        scenarios = stored_scenarios(searcher.corpus)
        if not any_scenarios(scenarios, searcher.corpus.doc_ids):
            raise BadInputError(
                f"The corpus '{request.corpus}' has no scenarios.",
                "Write them first, or ask without them.",
            )
        return results, scenarios([r.doc_id for r in results])


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
