"""What people ask a language model to do with results: to rank, explain and read wordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from engine.config import Settings
from engine.corpora.recent import Recent
from engine.errors import UnknownNameError
from engine.jobs.runner import new_job_id
from engine.llm.client import HOW, ask_once, complete, connect, describe, try_endpoint
from engine.llm.endpoints import Connection, Endpoint, EndpointError, find_endpoint
from engine.llm.judges import document_text
from engine.llm.tasks import OnProgress, TaskRunner, estimator
from engine.llm.texts import Quoted
from engine.rerank.modes import MODES
from engine.search.model.prompts import explaining, read_wordings, reading_of_wording
from engine.search.model.reranking import KEPT, Estimates, KeptRanking, RankDocuments, recalled
from engine.search.model.systems import MODEL_SYSTEMS
from engine.search.scenario_index import ranked_from
from engine.search.searcher import Searcher
from engine.types.callbacks import tell_nobody
from engine.types.documents import Document
from engine.types.models import Estimate
from engine.types.reranking import (
    EndpointInfo,
    GeneratedExplanation,
    QuotedText,
    RankingProgress,
    Reranking,
    RerankJob,
    RerankRequest,
    WordingReadings,
)
from engine.types.searches import Query
from storage.ledger import Ledger


class Assistant(TaskRunner[RerankRequest, RankingProgress]):
    """A language model over one home; thread-safe. An ``endpoint`` of None is that of the
    environment; see :meth:`find_endpoint`. Its tasks are rankings: a cancelled one keeps its
    answers and its order so far."""

    how = HOW  # ways to connect a model, a line each
    # name -> one line for people
    modes: Mapping[str, str] = {mode.name: mode.description for mode in MODES.values()}
    systems = tuple(MODEL_SYSTEMS)

    def __init__(
        self, settings: Settings, ledger: Ledger, searcher: Callable[[str], Searcher]
    ) -> None:
        super().__init__(settings, ledger.answers)
        self._searcher = searcher
        self._estimates: Estimates = Recent(KEPT)

    # -- the endpoint --------------------------------------------------------------------

    def find_endpoint(
        self, session: Mapping[str, str], secrets: Mapping[str, str]
    ) -> Endpoint | None:
        """The endpoint that was set up, None for none; ``session`` is what was entered on a
        page."""
        return find_endpoint(self._settings, secrets, session, self.person)

    def endpoint(self, endpoint: Endpoint | None = None) -> EndpointInfo:
        """The endpoint that would be asked, without asking it, or the problem. Never raises for
        settings."""
        return describe(self._settings, self._answers, endpoint)

    def check(self, endpoint: Endpoint | None = None) -> EndpointInfo:
        """Ask the endpoint something tiny, and remember what it can do; ``problem`` says why it
        does not answer."""
        info = self.endpoint(endpoint)
        if not info.set_up:
            return info
        try:
            try_endpoint(self.connection(endpoint), self._answers)
        except EndpointError as error:
            return replace(info, tried=False, problem=str(error))
        return self.endpoint(endpoint)

    def offered(self, endpoint: Endpoint | None) -> list[str]:
        """Names of the models that an endpoint lists, whichever it names."""
        connection = self.connection(endpoint)
        return complete(connection, self._answers, lambda client: client.offered()).value

    def connection(
        self, endpoint: Endpoint | None = None, most_calls: int | None = None
    ) -> Connection:
        """The connection with the budget of the settings, and at most ``most_calls`` requests."""
        return connect(self._settings, endpoint, most_calls, self.person)

    # -- rankings --------------------------------------------------------------------------

    def _task(self, request: RerankRequest) -> RankDocuments:
        return RankDocuments(request, self._searcher(request.query.corpus), self._estimates)

    def running(self, request: RerankRequest, endpoint: Endpoint | None = None) -> str | None:
        """The id of anybody's running job with the same ranking, model and key, to be continued by
        a reopened page."""
        task, place = self._task(request), self.connection(endpoint).endpoint
        return self.jobs.running(task.job_key(place))

    def recall(self, request: RerankRequest, endpoint: Endpoint | None = None) -> str | None:
        """The id of a running job, or of one done from stored answers alone; None where the model
        would be asked. Sends nothing."""
        running = self.running(request, endpoint)
        if running is not None or not self.endpoint(endpoint).tried:
            return running  # an endpoint that was not tried out would be, and that asks it
        task = self._task(request)
        task.job_id = new_job_id()
        return recalled(self.jobs, self.start(task, endpoint, 0))

    def job(self, job_id: str) -> RerankJob:
        """How far a ranking is, the best order so far included."""
        return self._found(job_id)[0]

    def _found(self, job_id: str) -> tuple[RerankJob, Searcher]:
        job: RerankJob = self.jobs.job(job_id)
        kept: KeptRanking = job.request
        searcher = self._searcher(kept.query.corpus)
        if ranked_from(searcher.corpus, [kept.query.system]) != kept.identity:
            raise UnknownNameError(
                "The corpus has changed since this was ranked.", "Start it again: answers are kept."
            )
        return job, searcher

    def result(self, job_id: str, k: int | None = None, offset: int = 0) -> Reranking:
        """A page of the best order so far, ``k`` results from ``offset`` on; raises as job."""
        job, searcher = self._found(job_id)
        kept: KeptRanking = job.request
        page = replace(kept.query, k=kept.query.k if k is None else k, offset=offset)
        return kept.page(searcher, job.progress, page, partial=job.state != "done")

    def rerank(
        self,
        request: RerankRequest,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        tell: OnProgress = tell_nobody,
    ) -> Reranking:
        """Rank now. Ctrl-C ends it, and the result is the best order so far."""
        task = self._task(request)
        report = self.run(task, endpoint=endpoint, most_calls=most_calls, tell=tell)
        return task.page(report.result)

    # -- explanations ------------------------------------------------------------------------

    def explain_with_model(
        self, query: Query, doc_id: str, endpoint: Endpoint | None = None
    ) -> GeneratedExplanation:
        """A model's explanation why a document is similar to the seed, with checked quotes. To be
        shown as generated."""
        connection = self.connection(endpoint)
        searcher = self._searcher(query.corpus)
        searcher.check(query)
        seed, document = searcher.seed(query), searcher.corpus.document(doc_id)
        criterion = searcher.criterion(query, seed)
        prompt = explaining(criterion, document_text(seed.document), document_text(document))

        unfounded = EndpointError(
            "The model gave no explanation whose evidence stands in the two documents.",
            "Read the marked passages instead, or ask another model.",
        )
        answer, usage = ask_once(connection, self._answers, prompt, unfounded)
        return GeneratedExplanation(
            doc_id=doc_id,
            similar=answer.similar,
            text=answer.explanation,
            seed_quotes=_placed(seed.document, answer.from_start),
            document_quotes=_placed(document, answer.from_candidate),
            unfounded=answer.unfounded,
            model=connection.endpoint.model,
            endpoint=connection.endpoint.address,
            cached=usage.cached > 0,
        )

    # -- wordings ----------------------------------------------------------------------------

    def read_wordings(
        self,
        corpus: str,
        wordings: Sequence[str],
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
    ) -> WordingReadings:
        """A model's reading of free wordings under a corpus's lens, one question each; problems are
        in the result, as the built-in reading is the fallback."""
        lens = self._searcher(corpus).corpus.lens
        connection = self.connection(endpoint, most_calls)
        return read_wordings(lens, wordings, connection, self._answers)

    def estimate_reading(
        self, corpus: str, wordings: Sequence[str], endpoint: Endpoint | None = None
    ) -> Estimate:
        """What reading these wordings would take, none in the ledger; nothing is asked."""
        lens = self._searcher(corpus).corpus.lens
        known = estimator(self.connection(endpoint), self._answers)
        return known.estimate([reading_of_wording(lens, w) for w in wordings], len(wordings))


def _placed(document: Document, quotes: Sequence[str]) -> tuple[QuotedText, ...]:
    """Quotes with their place in the stored text; words of the title have none."""
    find = Quoted(document.text).find
    return tuple(QuotedText(quote, find(quote)) for quote in quotes)
