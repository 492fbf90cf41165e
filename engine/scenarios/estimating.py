"""What writing scenarios will take, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator

from engine.llm.budget import Estimate
from engine.llm.cache import AnswerStore
from engine.llm.client import Client
from engine.llm.connection import Connection
from engine.llm.run import complete
from engine.llm.texts import estimate_tokens
from engine.scenarios.prompts import most_tokens, parts_of, writing
from engine.scenarios.store import Recipe, ScenarioStore
from engine.scenarios.writers import part_tokens
from engine.types import Document
from engine.types.scenarios import ScenarioEstimate, ScenarioRequest

SAMPLE = 2000
"""Documents whose lengths stand for all."""
READ_ROWS = 256


def estimated(
    store: ScenarioStore,
    request: ScenarioRequest,
    recipe: Recipe,
    connection: Connection | None,
    answers: AnswerStore,
) -> ScenarioEstimate:
    """Documents, calls, tokens and cost. Asks nothing, whatever is known of the endpoint."""
    pending = store.pending(recipe)
    chosen = pending[: request.limit]
    component = request.component or store.settings.component
    rewritten = set(chosen)
    others = store.elsewise(component)
    found = ScenarioEstimate(
        request=request,
        documents=len(chosen),
        done=len(store.hashes) - len(pending),
        embedded=sum(s.scenarios for d, s in others.items() if d not in rewritten),
    )
    if recipe.source != "generated" or not chosen:
        return found
    step = -(-len(chosen) // SAMPLE)
    sampled = chosen[::step]
    factor = len(chosen) / len(sampled)
    if connection is None:
        calls = sum(len(parts_of(document)) for document in _documents(store, sampled))
        return _with(found, Estimate(round(calls * factor), 0, 0), priced=False)

    async def work(client: Client) -> Estimate:
        tokens = part_tokens(await client.context())
        calls = sent = answered = 0
        for document in _documents(store, sampled):
            for part in parts_of(document, tokens):
                calls += 1
                sent += estimate_tokens(part) + estimate_tokens(document.title)
                answered += most_tokens(part)
        blank = writing("", "")
        one = await client.estimate(blank, 1)  # the fixed part of a question and of an answer
        fixed_out = one.output_tokens - blank.most_tokens
        return client.meter.estimate(
            round(calls * factor),
            round((sent + calls * one.input_tokens) * factor),
            round((answered + calls * fixed_out) * factor),
        )

    # Cancelled from the start: what is remembered of the endpoint is used, nothing is sent.
    priced = complete(connection, answers, work, cancelled=lambda: True).value
    return _with(found, priced, priced=True)


def _with(found: ScenarioEstimate, cost: Estimate, *, priced: bool) -> ScenarioEstimate:
    return ScenarioEstimate(
        request=found.request,
        documents=found.documents,
        done=found.done,
        embedded=found.embedded,
        calls=cost.calls,
        input_tokens=cost.input_tokens if priced else None,
        output_tokens=cost.output_tokens if priced else None,
        cost=cost.cost,
    )


def _documents(store: ScenarioStore, doc_ids: list[str]) -> Iterator[Document]:
    for start in range(0, len(doc_ids), READ_ROWS):
        yield from store.corpus.documents(doc_ids[start : start + READ_ROWS])
