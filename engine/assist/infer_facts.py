"""A model names facts implied by the documents of a corpus; valid ones are stored beside the rules'
facts.

In batches: a stop loses one batch at most, and stored answers are not asked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

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
from engine.corpora.importing import build_indexes
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.corpora.registry import READERS_GRACE, writing
from engine.corpora.stored_facts import (
    FACT_SOURCES,
    document_date,
    facts_of,
    in_reading_order,
    store_facts,
)
from engine.errors import BadInputError
from engine.llm.connecting import Estimator
from engine.llm.messages import Prompt, part_tokens
from engine.llm.tasks import ModelTask, TaskRun, TaskRunner
from engine.llm.texts import parts_of
from engine.types.documents import Document, Fact, FactKind
from engine.types.models import Estimate, TaskReport
from storage.home import Home
from storage.ledger import Ledger
from storage.vectors import DocumentTable

BATCH = 64  # Documents that are asked about together
SAMPLE = 2000  # A sample of documents, from whose lengths those of all are estimated


@dataclass(frozen=True, slots=True)
class InferRequest:
    """Whose facts a model is to name."""

    corpus: str
    kinds: tuple[FactKind, ...] = KINDS  # of facts; others stay as they are
    limit: int | None = None  # the first documents of the corpus at most; None for all


class FactsByModel(TaskRunner[InferRequest, Counts]):
    """Lets the connected model name facts. Of one home; safe to share between threads."""

    def __init__(self, home: Home, ledger: Ledger, settings: Settings, library: Library) -> None:
        super().__init__(settings, ledger.answers)
        self._home, self._ledger, self._library = home, ledger, library

    def _task(self, request: InferRequest) -> InferFacts:
        return InferFacts(request, self)


class InferFacts(ModelTask[Counts]):
    """Asks about documents and stores what holds, batch by batch."""

    def __init__(self, request: InferRequest, facade: FactsByModel) -> None:
        if not request.kinds or not set(request.kinds) <= set(KINDS):
            raise BadInputError(
                f"Kinds of facts are {', '.join(KINDS)}.", "Write --kinds place,date."
            )
        if request.limit is not None and request.limit < 1:
            raise BadInputError("The limit is below one document.", "Give 1 or more.")
        self.request, self.key, self._facade = request, request.corpus, facade
        self._open()

    def _open(self) -> tuple[OpenCorpus, list[str]]:
        """The corpus, and the documents to ask about."""
        corpus = self._facade._library.open(self.request.corpus)
        return corpus, corpus.doc_ids[: self.request.limit]

    def held(self) -> AbstractContextManager[None]:
        return writing(self._facade._home, self._facade._ledger, self.request.corpus)

    def estimate(self, known: Estimator) -> Estimate:
        corpus, doc_ids = self._open()
        tokens = _part_tokens(known.known.room)
        sampled = doc_ids[:: -(-len(doc_ids) // SAMPLE)] if doc_ids else []
        prompts = [
            prompt
            for start in range(0, len(sampled), BATCH)
            for document in corpus.documents(sampled[start : start + BATCH])
            for prompt in _prompts(document, self.request.kinds, tokens)
        ]
        calls = round(len(prompts) * len(doc_ids) / max(1, len(sampled)))
        return replace(known.estimate(prompts, calls), items=len(doc_ids))

    async def run(self, run: TaskRun) -> TaskReport[Counts]:
        corpus, doc_ids = self._open()
        table = DocumentTable.open(corpus.table.path)
        counts, failed = Counts(), 0
        run.progress(0, len(doc_ids))
        try:
            tokens = _part_tokens(await run.context())
            for start in range(0, len(doc_ids), BATCH):
                if run.stopped:
                    break
                group = doc_ids[start : start + BATCH]
                documents = await asyncio.to_thread(corpus.documents, group)
                claims = await _asked(run, documents, self.request.kinds, tokens)
                answered = {d: c for d, c in claims.items() if c is not None}
                if not run.stopped:  # else some were not asked about
                    failed += len(claims) - len(answered)
                await asyncio.to_thread(self._store, table, answered, run.model, counts)
                done = counts.documents + failed
                run.progress(done, len(doc_ids), failed=failed, made=counts.facts)
        finally:
            self._finish(corpus, table)
        left = len(doc_ids) - counts.documents - failed
        return TaskReport(result=counts, failed=failed, left=left)

    def _finish(self, corpus: OpenCorpus, table: DocumentTable) -> None:
        """Rebuild indexes that lost rows by the writes."""
        row = self._facade._ledger.corpus(corpus.name)
        if row is not None and not table.is_finished():
            build_indexes(table, row, corpus.lens, self._facade._settings, READERS_GRACE)

    def _store(
        self,
        table: DocumentTable,
        answered: dict[str, list[Claim]],
        model: str,
        counts: Counts,
    ) -> None:
        """Replace the model's earlier facts of these kinds by valid new ones."""
        kinds = self.request.kinds
        changed: dict[str, tuple[Fact, ...]] = {}
        for row in table.rows(list(answered), FACT_SOURCES).to_pylist():
            before = facts_of(row)
            kept = [f for f in before if not (f.generated and f.kind in kinds)]
            claims, text = answered[row["doc_id"]], row["text"]
            after = in_reading_order([*kept, *facts_in(claims, text, kept, kinds, model, counts)])
            if after != before:
                changed[row["doc_id"]] = after
        store_facts(table, changed)


async def _asked(
    run: TaskRun, documents: Sequence[Document], kinds: Sequence[FactKind], tokens: int
) -> dict[str, list[Claim] | None]:
    """The claims about each document; None where a part of it was not answered."""
    prompts = {d.doc_id: _prompts(d, kinds, tokens) for d in documents}
    asked: list[Prompt[Claims]] = [prompt for some in prompts.values() for prompt in some]
    replies = await run.ask(asked, len(documents))
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
    """Tokens for a part of a document in a model's context; None for unknown."""
    return part_tokens(context, inferring("", "", None, KINDS), most_tokens, FEWEST_TOKENS)
