"""Requests for scenarios: checked, filled in, and who answers them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from engine.errors import BadInputError
from engine.scenarios.distilled import distilled_recipe, load_writer
from engine.scenarios.prompts import WRITING
from engine.scenarios.settings import ScenarioSettings
from engine.scenarios.store import Recipe, ScenarioStore
from engine.scenarios.writers import ExtractWriter, Writer
from engine.types.scenarios import ScenarioRequest


@dataclass(frozen=True, slots=True)
class Plan:
    """A request with what it leaves open filled in."""

    request: ScenarioRequest
    settings: ScenarioSettings


def make_plan(store: ScenarioStore, request: ScenarioRequest) -> Plan:
    """Check a request, and fill in what the corpus is set to.

    Raises:
        BadInputError: no such component, weight or limit, or a folder without a model.
    """
    if request.limit is not None and request.limit < 1:
        raise BadInputError(f"The limit is {request.limit}.", "Ask for at least 1 document.")
    if request.source == "distilled" and not Path(request.folder).expanduser().is_dir():
        raise BadInputError(
            f"There is no folder '{request.folder}' with a distilled model.",
            "Train one with: seedlens distill NAME --base MODEL --out FOLDER",
        )
    now = store.settings
    settings = ScenarioSettings(
        request.component or now.component,
        now.weight if request.weight is None else request.weight,
    )
    filled = replace(request, component=settings.component, weight=settings.weight)
    return Plan(filled, settings)


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
