"""Retrieval with a language model: one rewording, or several hops with notes.

After OBLIQ-Bench, section 5. Both search dense vectors; without the model's answer the seed's
vector is used and the question counts as unanswered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from engine.corpora.contracts import RankedDocuments, Request, VectorPart
from engine.errors import check_known
from engine.llm.client import Client
from engine.llm.judges import Criterion, document_text
from engine.llm.texts import estimate_tokens
from engine.numeric import FloatArray, distinct
from engine.search.model.prompts import NOTED_TOKENS, QUESTION_TOKENS, noting, rewording
from engine.search.searcher import Searcher

HOPS = 4
PER_HOP = 25
LEAST_TOKENS = 100
"""Of a document that a hop reads; where so many do not fit, fewer documents are read."""
_FENCE_TOKENS = 30


@dataclass(frozen=True, slots=True)
class SystemRanking:
    """A ranking by a system that asks a model."""

    ranking: RankedDocuments
    unanswered: int = 0  # questions without an answer
    queries: tuple[str, ...] = ()  # used instead of the seed, in order


ModelSystem = Callable[[Client, Searcher, Request, Criterion], Awaitable[SystemRanking]]


async def rewrite(
    client: Client, searcher: Searcher, request: Request, criterion: Criterion
) -> SystemRanking:
    """One rewording of the query, then dense retrieval with it."""
    [answer] = await client.ask([rewording(question(criterion), 1)])
    if answer is None:
        return SystemRanking(_dense(searcher, request, request.seed.vector), unanswered=1)
    return SystemRanking(
        _dense_by(searcher, request, answer.wordings[0]), queries=tuple(answer.wordings)
    )


async def multi_hop(
    client: Client, searcher: Searcher, request: Request, criterion: Criterion
) -> SystemRanking:
    """Four hops of 25 documents, less in small contexts: the first is searched for by a rewording
    of the query, each other by the question in the last notes, or further down without a new one.

    Order: documents with notes, by hop; others that were read; then the seed's ranking.
    """
    read: dict[str, None] = {}  # read, selected: ordered sets of doc_ids
    selected: dict[str, None] = {}
    notes: list[str] = []
    own = _dense(searcher, request, request.seed.vector)
    first = await rewrite(client, searcher, request, criterion)
    ranking, unanswered, queries = first.ranking, first.unanswered, [*first.queries]
    count, tokens = room(question(criterion), await client.context())
    for _ in range(HOPS):
        batch = [doc_id for doc_id in ranking.doc_ids if doc_id not in read][:count]
        if not batch or client.stopped:
            break
        documents = {d.doc_id: document_text(d) for d in searcher.corpus.documents(batch)}
        [answer] = await client.ask([noting(question(criterion), notes, documents, tokens)])
        read |= dict.fromkeys(documents)
        if answer is None:
            unanswered += 1
            continue
        doc_ids = list(documents)
        selected |= dict.fromkeys(doc_ids[note.document - 1] for note in answer.notes)
        notes += [note.note for note in answer.notes]
        if answer.next_query:
            queries.append(answer.next_query)
            ranking = _dense_by(searcher, request, answer.next_query)
    rows = distinct([searcher.corpus.rows([*selected, *read]), own.rows])
    order = RankedDocuments(own.corpus_ids, rows, np.arange(len(rows), 0.0, -1.0))
    return SystemRanking(order, unanswered, tuple(queries))


def room(wish: str, context: int | None) -> tuple[int, int]:
    """How many documents a hop reads, and tokens of each; ``context`` None for unknown.

    >>> room("How are bees counted?", 128_000), room("How are bees counted?", 4096)
    ((25, 300), (19, 100))
    """
    if context is None:
        return PER_HOP, NOTED_TOKENS
    each = _free(wish, context, NOTED_TOKENS) // PER_HOP
    tokens = (each - _FENCE_TOKENS) * 3 // 4  # what is noted takes a third of what is read
    if tokens >= LEAST_TOKENS:
        return PER_HOP, min(NOTED_TOKENS, tokens)
    count = _free(wish, context, LEAST_TOKENS) // (_FENCE_TOKENS + LEAST_TOKENS * 4 // 3)
    return max(1, min(PER_HOP, count)), LEAST_TOKENS


def _free(wish: str, context: int, tokens: int) -> int:
    """Tokens of a context left for documents and the notes on them."""
    bare = noting(wish, ["as many notes as there may be " * QUESTION_TOKENS], {}, tokens)
    return context - bare.most_tokens - sum(estimate_tokens(m.content) for m in bare.messages)


MODEL_SYSTEMS: Mapping[str, ModelSystem] = {"rewrite": rewrite, "multi-hop": multi_hop}
"""Like :data:`engine.search.systems.SYSTEMS`, for those that cannot rank without an endpoint."""


def find_model_system(name: str) -> ModelSystem:
    """The system called ``name``, or UnknownNameError that lists them."""
    check_known("system with a language model called", name, MODEL_SYSTEMS)
    return MODEL_SYSTEMS[name]


def question(criterion: Criterion) -> str:
    """The criterion as a search in words."""
    wish = criterion.instruction or "Find documents that are like this one as a whole."
    if criterion.aspect:
        wish += f" ({criterion.aspect}: {criterion.definition})"
    return f"{wish}\nThe document to start from:\n{criterion.seed}"


def _dense_by(searcher: Searcher, request: Request, wording: str) -> RankedDocuments:
    return _dense(searcher, request, searcher.encode_text(wording).vector)


def _dense(searcher: Searcher, request: Request, vector: FloatArray) -> RankedDocuments:
    plain = replace(request, focus=None, instructed=None)
    return searcher.corpus.by_vectors([VectorPart("vector", vector, 1.0)], plain)
