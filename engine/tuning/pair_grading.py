"""Pairs graded by a connected model: what pages and the command line call as
``explorer.pair_grading``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict

from engine.config import Settings
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.llm.client import Client
from engine.llm.connecting import connect, describe
from engine.llm.endpoints import Endpoint
from engine.llm.estimates import estimator
from engine.llm.run import complete
from engine.permissions import operator_only
from engine.tuning.aspect_pairs import Question, group_of, prompts_of, questions_for
from engine.types.callbacks import tell_nobody
from engine.types.models import Estimate, ModelRunProgress
from engine.types.people import ForPerson
from engine.types.tuning import AspectGroup, PairEstimate, PairReport, PairRequest
from storage.ledger import Ledger

BATCH = 32
"""Questions that go out together."""
SAMPLE = 50
"""Questions whose lengths an estimate is made from."""
TellPairs = Callable[[ModelRunProgress], None]


class PairGrading(ForPerson):
    """A model grades pairs of documents by aspect. Answers are kept in the ledger: what was asked
    before is not asked again. Safe to share between threads."""

    def __init__(self, ledger: Ledger, settings: Settings, library: Library) -> None:
        self._answers, self._settings, self._library = ledger.answers, settings, library

    @operator_only
    def estimate(self, request: PairRequest, endpoint: Endpoint | None = None) -> PairEstimate:
        """What a request would take at most; nothing is asked. Tokens only with an endpoint.

        Raises:
            UnknownNameError, BadInputError: no such corpus, or one without anything to compare.
        """
        corpus = self._library.open(request.corpus)
        questions = questions_for(corpus, request)
        cost = Estimate(calls=len(questions))
        if describe(self._settings, self._answers, endpoint).set_up:
            connection = connect(self._settings, endpoint, person=self.person)
            sampled = prompts_of(corpus, questions[:: -(-len(questions) // SAMPLE)])
            cost = estimator(connection, self._answers).estimate(sampled, len(questions))
        seeds = len({question.seed for question in questions})
        return PairEstimate(
            request=request, documents=seeds, questions=len(questions), **asdict(cost)
        )

    @operator_only
    def run(
        self,
        request: PairRequest,
        *,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        tell: TellPairs = tell_nobody,
    ) -> PairReport:
        """Ask now. Ctrl-C ends it with the groups that there are; a second one is a
        KeyboardInterrupt.

        Raises:
            EndpointError: the endpoint refused or failed, and there is not a single answer.
            NoEndpointError: no model is set up; says how to.
            UnknownNameError, BadInputError: as :meth:`estimate`.
        """
        connection = connect(self._settings, endpoint, most_calls, self.person)
        corpus = self._library.open(request.corpus)
        questions = questions_for(corpus, request)
        connection = connection.within(Estimate(calls=len(questions)))

        async def work(client: Client) -> PairReport:
            return await _grade(client, corpus, request, questions, tell)

        return complete(connection, self._answers, work).value


async def _grade(
    client: Client,
    corpus: OpenCorpus,
    request: PairRequest,
    questions: Sequence[Question],
    tell: TellPairs,
) -> PairReport:
    groups: list[AspectGroup] = []
    failed, started = 0, time.perf_counter()
    for start in range(0, len(questions), BATCH):
        if client.stopped:
            break
        batch = questions[start : start + BATCH]
        answers = await client.ask(await asyncio.to_thread(prompts_of, corpus, batch))
        found = [(q, a) for q, a in zip(batch, answers, strict=True) if a is not None]
        groups += [group_of(corpus, question, answer) for question, answer in found]
        if not client.stopped:  # else some were not asked
            failed += len(batch) - len(found)
        usage = client.usage
        seconds = time.perf_counter() - started
        done = len(groups) + failed
        tell(ModelRunProgress(done, len(questions), seconds, failed, usage.calls, usage.tokens))
    usage = client.usage
    return PairReport(
        request=request,
        groups=tuple(groups),
        failed=failed,
        left=len(questions) - len(groups) - failed,
        seconds=time.perf_counter() - started,
        stopped=usage.stopped,
        notes=usage.notes,
        **usage.taken,
    )
