"""Requests for scenarios: checked, filled in, and who answers them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from engine.corpora.scenario_store import Recipe, ScenarioSettings, ScenarioStore
from engine.errors import BadInputError
from engine.llm.endpoints import Connection
from engine.llm.estimates import estimator
from engine.llm.texts import estimate_tokens, parts_of
from engine.scenarios.distilled import distilled_recipe, load_writer
from engine.scenarios.scenario_prompts import WRITING, most_tokens, writing
from engine.scenarios.writers import ExtractWriter, Writer, room_for_part
from engine.types.documents import Document
from engine.types.scenarios import ScenarioEstimate, ScenarioRequest
from storage.answers import Answers


def filled(
    store: ScenarioStore, request: ScenarioRequest
) -> tuple[ScenarioRequest, ScenarioSettings]:
    """A request, checked, with what it leaves open as the corpus is set to; and what it sets.

    Raises:
        BadInputError: no such component, weight or limit, or a folder without a model.
    """
    if request.limit is not None and request.limit < 1:
        raise BadInputError(f"The limit is {request.limit}.", "Ask for at least 1 document.")
    if request.source == "distilled" and not Path(request.folder).expanduser().is_dir():
        raise BadInputError(
            f"There is no folder '{request.folder}' with a distilled model.",
            "Train one with: seedlens distill scenarios NAME --base MODEL --out FOLDER",
        )
    now = store.settings
    settings = ScenarioSettings(
        request.component or now.component,
        now.weight if request.weight is None else request.weight,
    )
    return replace(request, component=settings.component, weight=settings.weight), settings


def recipe_of(store: ScenarioStore, request: ScenarioRequest, model: str) -> Recipe:
    """How a request writes.

    Args:
        model: at the endpoint, for requests that ask one.

    Raises:
        BadInputError: the folder holds no distilled model.
    """
    if request.source == "generated":
        return Recipe("generated", model, WRITING)
    if request.source == "extractive":
        return ExtractWriter(store.corpus).recipe
    return distilled_recipe(Path(request.folder))


def own_writer(store: ScenarioStore, request: ScenarioRequest) -> Writer:
    """Who writes without an endpoint.

    Raises:
        BadInputError, ModelMissingError: see :func:`engine.scenarios.distilled.load_writer`.
    """
    if request.source == "extractive":
        return ExtractWriter(store.corpus)
    return load_writer(Path(request.folder))


SAMPLE = 2000
"""Documents whose lengths are measured, evenly spread over all."""
READ_ROWS = 256


def estimated(
    store: ScenarioStore,
    request: ScenarioRequest,
    recipe: Recipe,
    connection: Connection | None,
    answers: Answers,
) -> ScenarioEstimate:
    """Documents, calls, tokens and cost. Asks nothing, whatever is known of the endpoint."""
    pending = store.pending(recipe)
    chosen = pending[: request.limit]
    component = request.component or store.settings.component
    rewritten = set(chosen)
    others = store.elsewise(component)
    estimate = ScenarioEstimate(
        request=request,
        documents=len(chosen),
        done=len(store.hashes) - len(pending),
        embedded=sum(s.scenarios for d, s in others.items() if d not in rewritten),
    )
    if recipe.source != "generated" or not chosen:
        return estimate
    sampled = chosen[:: -(-len(chosen) // SAMPLE)]
    factor = len(chosen) / len(sampled)
    if connection is None:
        calls = sum(len(parts_of(document)) for document in _documents(store, sampled))
        return replace(estimate, calls=round(calls * factor))
    known = estimator(connection, answers)
    tokens = room_for_part(known.known.room)
    calls = sent = answered = 0
    for document in _documents(store, sampled):
        for part in parts_of(document, tokens):
            calls += 1
            sent += estimate_tokens(part) + estimate_tokens(document.title)
            answered += most_tokens(part)
    blank = writing("", "")
    fixed_in, fixed_out = known.known.size(blank)  # of every question and answer
    cost = known.total(
        round(calls * factor),
        round((sent + calls * fixed_in) * factor),
        round((answered + calls * (fixed_out - blank.most_tokens)) * factor),
    )
    return replace(estimate, **asdict(cost))


def _documents(store: ScenarioStore, doc_ids: list[str]) -> Iterator[Document]:
    for start in range(0, len(doc_ids), READ_ROWS):
        yield from store.corpus.documents(doc_ids[start : start + READ_ROWS])
