"""A model's words on why two documents are alike, held to what stands in them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.assist.assist_prompts import Explanation, Quote, explaining
from engine.llm.client import Client
from engine.llm.endpoint_errors import EndpointError
from engine.llm.endpoints import Connection
from engine.llm.judges import document_text
from engine.llm.run import complete
from engine.search.judging_criterion import criterion_for
from engine.search.queries import check_query
from engine.search.searcher import Searcher
from engine.types.documents import Document
from engine.types.reranking import GeneratedExplanation, QuotedText
from engine.types.searches import Query
from storage.answers import Answers


def explanation(
    searcher: Searcher, query: Query, doc_id: str, connection: Connection, store: Answers
) -> GeneratedExplanation:
    """Ask for it once; see :meth:`engine.assist.verifier.Verifier.explain_with_model`."""
    check_query(query, searcher.corpus.lens)
    seed = searcher.seed(query)
    document = searcher.corpus.document(doc_id)
    criterion = criterion_for(searcher, query, seed)
    prompt = explaining(criterion, document_text(seed.document), document_text(document))

    async def work(client: Client) -> Explanation | None:
        [answer] = await client.ask([prompt])
        if answer is None:
            client.raise_problem()
        return answer

    done = complete(connection, store, work)
    if done.value is None:
        raise EndpointError(
            "The model gave no explanation whose evidence stands in the two documents.",
            "Read the marked passages instead, or ask another model.",
        )
    said = done.value
    return GeneratedExplanation(
        doc_id=doc_id,
        similar=said.similar,
        text=said.text,
        seed_quotes=_placed(seed.document, said.seed_quotes),
        document_quotes=_placed(document, said.document_quotes),
        unfounded=said.unfounded,
        model=connection.endpoint.model,
        endpoint=connection.endpoint.address,
        cached=done.usage.cached > 0,
    )


def _placed(document: Document, quotes: Sequence[Quote]) -> tuple[QuotedText, ...]:
    """Quotes with their place in the stored text, which the judge read behind the title."""
    body = document.text.strip()
    shift = len(document_text(document)) - len(body) - document.text.find(body)
    placed = []
    for quote in quotes:
        start, end = quote.span[0] - shift, quote.span[1] - shift
        inside = body and start >= document.text.find(body)
        placed.append(QuotedText(quote.text, (start, end) if inside else None))
    return tuple(placed)
