"""A model names what the documents of a corpus imply; what holds is stored beside the rules' facts.

Batch by batch: a stop at any moment costs one batch at most, and answers that came are in the
ledger, so that running again goes on from there without asking again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace

from engine.assist.infer_claims import (
    FEWEST_TOKENS,
    KINDS,
    Claim,
    Claims,
    Counts,
    facts_in,
    inferring,
    most_tokens,
)
from engine.config import Settings
from engine.corpora.folders import READERS_GRACE
from engine.corpora.importing import build_indexes
from engine.corpora.indexing import table_schema
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.sharing import writing
from engine.corpora.stored_facts import (
    FACT_COLUMNS,
    SOURCE_COLUMNS,
    document_date,
    facts_of,
    in_reading_order,
    store_facts,
)
from engine.errors import BadInputError
from engine.llm.budget import Usage
from engine.llm.client import Client
from engine.llm.connecting import connect
from engine.llm.endpoints import Endpoint
from engine.llm.estimates import Estimator, estimator
from engine.llm.messages import Prompt, part_tokens
from engine.llm.run import complete
from engine.llm.texts import parts_of
from engine.types.callbacks import Ask, never, tell_nobody
from engine.types.documents import Document, Fact, FactKind
from engine.types.models import Estimate
from storage.home import Home
from storage.ledger import Ledger
from storage.vectors import DocumentTable

BATCH = 64
"""Documents that are asked about together."""
SAMPLE = 2000
"""A sample of documents, from whose lengths those of all are estimated."""


@dataclass(frozen=True, slots=True)
class InferRequest:
    """Whose facts a model is to name.

    Attributes:
        kinds: of facts; those of other kinds stay as they are.
        limit: the first documents of the corpus, at most so many; None for all.
    """

    corpus: str
    kinds: tuple[FactKind, ...] = KINDS
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class InferEstimate(Estimate):
    """What a run takes at most; answers that are in the ledger cost nothing."""

    documents: int


@dataclass(frozen=True, slots=True)
class InferProgress:
    """How far a run is, in documents."""

    done: int
    total: int
    facts: int


@dataclass(frozen=True, slots=True)
class InferReport:
    """What a run did.

    Attributes:
        left: documents that were not reached.
    """

    request: InferRequest
    counts: Counts
    left: int
    usage: Usage


TellInferring = Callable[[InferProgress], None]


@dataclass(frozen=True)
class FactsByModel:
    """Lets the connected model name facts. Of one home; safe to share between threads."""

    home: Home
    ledger: Ledger
    settings: Settings
    library: Library

    def estimate(self, request: InferRequest, endpoint: Endpoint | None = None) -> InferEstimate:
        """What a run takes at most; nothing is asked."""
        corpus, doc_ids = self._plan(request)
        known = estimator(connect(self.settings, endpoint), self.ledger.answers)
        cost = _estimated(known, corpus, doc_ids, request.kinds)
        return InferEstimate(len(doc_ids), **asdict(cost))

    def run(
        self,
        request: InferRequest,
        *,
        endpoint: Endpoint | None = None,
        most_calls: int | None = None,
        tell: TellInferring = tell_nobody,
        cancelled: Ask = never,
    ) -> InferReport:
        """Ask and store now. Ctrl-C ends it; what was stored, and every answer, stays."""
        self._plan(request)
        connection = connect(self.settings, endpoint, most_calls)
        connection = connection.within(self.estimate(request, endpoint))
        with self._writing(request.corpus):
            corpus, doc_ids = self._plan(request)
            schema = table_schema(corpus.spec, corpus.lens)
            table = DocumentTable.open_or_create(corpus.table.path, schema)
            job = _Job(corpus, table, request.kinds, connection.endpoint.model, tell)
            try:
                outcome = complete(
                    connection,
                    self.ledger.answers,
                    lambda client: job.work(client, doc_ids),
                    cancelled=cancelled,
                )
            finally:
                self._finish(corpus, table)
        counts = job.counts
        left = len(doc_ids) - counts.documents - counts.failed
        return InferReport(request, replace(counts), left, outcome.usage)

    def _plan(self, request: InferRequest) -> tuple[OpenCorpus, list[str]]:
        """The corpus, and the documents that are to be asked about."""
        if not request.kinds or not set(request.kinds) <= set(KINDS):
            raise BadInputError(
                f"Kinds of facts are {', '.join(KINDS)}.", "Write --kinds place,date."
            )
        if request.limit is not None and request.limit < 1:
            raise BadInputError("The limit is below one document.", "Give 1 or more.")
        corpus = self.library.open(request.corpus)
        return corpus, corpus.doc_ids[: request.limit]

    def _finish(self, corpus: OpenCorpus, table: DocumentTable) -> None:
        """Build the indexes where what was written took rows out of them."""
        row = self.ledger.corpus(corpus.name)
        if row is not None and not table.is_finished():
            build_indexes(table, row, corpus.lens, self.settings, READERS_GRACE)

    def _writing(self, corpus: str) -> AbstractContextManager[None]:
        return writing(
            self.home,
            self.ledger,
            corpus,
            f"The corpus '{corpus}' is being written to by another process.",
            "Wait until that is done, or cancel it.",
        )


@dataclass
class _Job:
    """One run under way; the caller holds the corpus's lock."""

    corpus: OpenCorpus
    table: DocumentTable
    kinds: Sequence[FactKind]
    model: str
    tell: TellInferring
    counts: Counts = field(default_factory=Counts)

    async def work(self, client: Client, doc_ids: Sequence[str]) -> None:
        """Ask about these documents and store what holds."""
        self._tell(len(doc_ids))
        tokens = _part_tokens(await client.context())
        for start in range(0, len(doc_ids), BATCH):
            if client.stopped:
                return
            group = doc_ids[start : start + BATCH]
            documents = await asyncio.to_thread(self.corpus.documents, group)
            claims = await _asked(client, documents, self.kinds, tokens)
            answered = {d: c for d, c in claims.items() if c is not None}
            if not client.stopped:  # else some were not asked about
                self.counts.failed += len(claims) - len(answered)
            await asyncio.to_thread(self._store, answered)
            self._tell(len(doc_ids))

    def _store(self, answered: dict[str, list[Claim]]) -> None:
        """Put what holds in place of what a model said of these kinds before."""
        rows = self.table.rows(list(answered), [*SOURCE_COLUMNS, *FACT_COLUMNS]).to_pylist()
        changed: dict[str, tuple[Fact, ...]] = {}
        for row in rows:
            before = facts_of(row)
            kept = [f for f in before if not (f.generated and f.kind in self.kinds)]
            claims, text = answered[row["doc_id"]], row["text"]
            claimed = facts_in(claims, text, kept, self.kinds, self.model, self.counts)
            after = in_reading_order([*kept, *claimed])
            if after != before:
                changed[row["doc_id"]] = after
        store_facts(self.table, changed)

    def _tell(self, total: int) -> None:
        done = self.counts.documents + self.counts.failed
        self.tell(InferProgress(done, total, self.counts.facts))


async def _asked(
    client: Client, documents: Sequence[Document], kinds: Sequence[FactKind], tokens: int
) -> dict[str, list[Claim] | None]:
    """The claims about each document; None where a part of it was not answered."""
    prompts = {d.doc_id: _prompts(d, kinds, tokens) for d in documents}
    asked: list[Prompt[Claims]] = [prompt for some in prompts.values() for prompt in some]
    replies = await client.ask(asked)
    answers = iter(replies)
    claims: dict[str, list[Claim] | None] = {}
    for doc_id, some in prompts.items():
        parts = [part for _ in some if (part := next(answers)) is not None]
        settled = len(parts) == len(some)
        claims[doc_id] = [claim for part in parts for claim in part.facts] if settled else None
    return claims


def _prompts(document: Document, kinds: Sequence[FactKind], tokens: int) -> list[Prompt[Claims]]:
    written = document_date(document.metadata)
    return [
        inferring(document.title, part, written, kinds, tokens)
        for part in parts_of(document, tokens)
    ]


def _part_tokens(context: int | None) -> int:
    """Room for a part of a document in a model's context; None where nobody knows that."""
    return part_tokens(context, inferring("", "", None, KINDS), most_tokens, FEWEST_TOKENS)


def _estimated(
    known: Estimator, corpus: OpenCorpus, doc_ids: Sequence[str], kinds: Sequence[FactKind]
) -> Estimate:
    """What asking about these documents takes at most, from a sample of their lengths."""
    tokens = _part_tokens(known.known.room)
    sampled = doc_ids[:: -(-len(doc_ids) // SAMPLE)] if doc_ids else []
    prompts = [
        prompt
        for start in range(0, len(sampled), BATCH)
        for document in corpus.documents(sampled[start : start + BATCH])
        for prompt in _prompts(document, kinds, tokens)
    ]
    return known.estimate(prompts, round(len(prompts) * len(doc_ids) / max(1, len(sampled))))
