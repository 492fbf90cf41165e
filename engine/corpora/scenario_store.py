"""Scenarios beside the documents of a corpus, and the settings for searching by them."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter

from engine.corpora.indexing import fixed_vectors
from engine.corpora.opened import OpenCorpus
from engine.corpora.schema import to_batch, values_of
from engine.errors import BadInputError
from engine.numeric import FloatArray
from engine.types.encoders import Encoder, Passage
from engine.types.scenarios import (
    COMPONENTS,
    Component,
    Scenario,
    ScenarioAuthor,
    ScenarioSource,
    ScenarioState,
)
from storage.files import file_errors, folder_bytes, write_whole
from storage.removal import delete
from storage.vectors import PRIMARY_KEY, ScenarioTable

WEIGHT = 0.7  # What a document counts for against its best scenario, as in SPIKE, section 4.1
SETTINGS = "scenarios.json"


@dataclass(frozen=True, slots=True)
class ScenarioSettings:
    """How a corpus is searched by its scenarios."""

    component: Component = "M+E"  # what of a scenario is embedded
    weight: float = WEIGHT  # of the document against its best scenario, 0 to 1

    def __post_init__(self) -> None:
        if self.component not in COMPONENTS:
            raise BadInputError(
                f"There is no component '{self.component}' of a scenario.",
                f"Use one of {', '.join(COMPONENTS)}.",
            )
        if not 0.0 <= self.weight <= 1.0:
            raise BadInputError(f"The weight is {self.weight}.", "Give a number from 0 to 1.")


_SETTINGS = TypeAdapter(ScenarioSettings)


def read_settings(path: Path) -> ScenarioSettings:
    """The settings of the corpus in a folder."""
    try:
        return _SETTINGS.validate_json((path / SETTINGS).read_bytes())
    except FileNotFoundError:
        return ScenarioSettings()


def write_settings(path: Path, settings: ScenarioSettings) -> None:
    """Replace the settings of the corpus in a folder."""
    with file_errors(path / SETTINGS):
        write_whole(path / SETTINGS, _SETTINGS.dump_json(settings))


def carry_scenarios(source: Path, target: Path) -> None:
    """Copy the scenarios of a corpus to another folder with the same documents."""
    if ScenarioTable.is_stored(source):
        shutil.copytree(ScenarioTable.folder(source), ScenarioTable.folder(target))
    if (source / SETTINGS).is_file():
        write_settings(target, read_settings(source))


TEXT_COLUMNS = ["topic", "aspect", "need", "explanation", "source", "model"]  # Of a `Scenario`
_STATE_COLUMNS = ["doc_id", "content_hash", "source", "model", "prompt", "component"]
LARGE = 100_000  # Scenarios from which on an index proposes candidates
AUTHORITY: Mapping[ScenarioSource, int] = {"extractive": 0, "distilled": 1, "generated": 2}
"""Lower ones are replaced by higher ones only."""


class Recipe(NamedTuple):
    """How scenarios were written."""

    source: ScenarioSource
    model: str
    prompt: str


class Stored(NamedTuple):
    """What is stored of one document; all its rows were written together."""

    content_hash: str
    recipe: Recipe
    component: Component
    scenarios: int


class ScenarioStore:
    """Scenarios beside the documents of one corpus. Who writes holds the corpus's lock."""

    def __init__(self, corpus: OpenCorpus) -> None:
        self.corpus = corpus
        self.path = corpus.table.path

    # -- what is there -----------------------------------------------------------------

    @property
    def settings(self) -> ScenarioSettings:
        """The settings of the corpus."""
        return read_settings(self.path)

    def set(self, settings: ScenarioSettings) -> None:
        """Replace the settings of the corpus."""
        write_settings(self.path, settings)

    @cached_property
    def hashes(self) -> dict[str, str]:
        """doc_id -> hash of its content, in the order of the corpus."""
        return dict(zip(*values_of(self.corpus.table, "doc_id", "content_hash"), strict=True))

    def stored(self) -> dict[str, Stored]:
        """What is stored of which documents, outdated and deleted ones included."""
        if not ScenarioTable.is_stored(self.path):
            return {}
        counts: Counter[str] = Counter()
        found: dict[str, Stored] = {}
        for batch in ScenarioTable.open(self.path).columns(_STATE_COLUMNS):
            columns = (batch[name].to_pylist() for name in _STATE_COLUMNS)
            for doc_id, hash_, *recipe, component in zip(*columns, strict=True):
                counts[doc_id] += 1
                found[doc_id] = Stored(hash_, Recipe(*recipe), component, counts[doc_id])
        return found

    def fresh(self) -> dict[str, Stored]:
        """What is stored of documents as they are now."""
        stored = self.stored().items()
        return {d: one for d, one in stored if self.hashes.get(d) == one.content_hash}

    def pending(self, recipe: Recipe) -> list[str]:
        """Documents without scenarios by this recipe or a better author, in the order of the
        corpus."""
        least, fresh = AUTHORITY[recipe.source], self.fresh()
        kept = {d: s.recipe for d, s in fresh.items() if AUTHORITY[s.recipe.source] >= least}
        done = {d for d, own in kept.items() if own == recipe or AUTHORITY[own.source] > least}
        return [doc_id for doc_id in self.hashes if doc_id not in done]

    def elsewise(self, component: Component) -> dict[str, Stored]:
        """Documents whose scenarios are embedded by another component."""
        return {d: s for d, s in self.fresh().items() if s.component != component}

    def state(self) -> ScenarioState:
        """A summary for people."""
        stored, fresh, settings = self.stored(), self.fresh(), self.settings
        others = self.elsewise(settings.component).values()
        authors: dict[tuple[ScenarioSource, str], list[int]] = {}
        for one in fresh.values():
            authors.setdefault((one.recipe.source, one.recipe.model), []).append(one.scenarios)
        return ScenarioState(
            corpus=self.corpus.name,
            documents=len(self.corpus),
            covered=len(fresh),
            scenarios=sum(s.scenarios for s in fresh.values()),
            outdated=sum(d in self.hashes for d in stored) - len(fresh),
            authors=tuple(
                ScenarioAuthor(*key, len(counts), sum(counts))
                for key, counts in sorted(authors.items())
            ),
            component=settings.component,
            weight=settings.weight,
            other_components=sum(s.scenarios for s in others),
            bytes=folder_bytes(ScenarioTable.folder(self.path)),
        )

    def of(self, doc_ids: Sequence[str]) -> dict[str, tuple[Scenario, ...]]:
        """The scenarios of documents as they are now, by id; without those that have none."""
        if not ScenarioTable.is_stored(self.path):
            return {}
        names = ["doc_id", "content_hash", "position", *TEXT_COLUMNS]
        found: dict[str, list[Scenario]] = {}
        table = ScenarioTable.open(self.path).of(list(doc_ids), names)
        for row in table.sort_by("position").to_pylist():
            if self.hashes.get(row["doc_id"]) == row["content_hash"]:
                found.setdefault(row["doc_id"], []).append(to_scenario(row))
        return {doc_id: tuple(found[doc_id]) for doc_id in doc_ids if doc_id in found}

    # -- writing -----------------------------------------------------------------------

    def put(
        self,
        scenarios: Mapping[str, Sequence[Scenario]],
        recipe: Recipe,
        component: Component,
        encoder: Encoder,
        known: Mapping[str, Stored],
    ) -> None:
        """Replace all scenarios of these documents, in one or two commits."""
        key = pa.field("scenario_id", pa.string(), nullable=False, metadata=PRIMARY_KEY)
        names = ("doc_id", "content_hash", "position", *TEXT_COLUMNS, "prompt", "component")
        rest = {name: pa.int32() if name == "position" else pa.string() for name in names}
        vector = pa.list_(pa.float16(), self.corpus.spec.dimension)
        schema = pa.schema([key, *rest.items(), ("vector", vector)])
        table = ScenarioTable.open_or_create(self.path, schema)
        for new in (True, False):
            chosen = {d: s for d, s in scenarios.items() if (d not in known) == new}
            if not chosen:
                continue
            flat = [(d, n, s) for d, some in chosen.items() for n, s in enumerate(some)]
            columns: dict[str, object] = {
                "vector": fixed_vectors(embed([s for _, _, s in flat], component, encoder)),
                "scenario_id": [f"{n}:{d}" for d, n, _ in flat],
                "doc_id": [d for d, _, _ in flat],
                "content_hash": [self.hashes[d] for d, _, _ in flat],
                "position": [n for _, n, _ in flat],
                "prompt": [recipe.prompt] * len(flat),
                "component": [component] * len(flat),
                **{name: [getattr(s, name) for _, _, s in flat] for name in TEXT_COLUMNS},
            }
            table.put(list(chosen), to_batch(columns, schema), new=new)

    def finish(self, grace: timedelta) -> None:
        """Remove scenarios of deleted documents, compact, and build the indexes."""
        if not ScenarioTable.is_stored(self.path):
            return
        table = ScenarioTable.open(self.path)
        gone = [doc_id for doc_id in self.stored() if doc_id not in self.hashes]
        if gone:
            table.discard(gone)
        table.finish(["vector"] if table.count() >= LARGE else [], grace)

    def remove(self) -> None:
        """Remove all scenarios of the corpus, and its settings."""
        delete(ScenarioTable.folder(self.path))
        delete(self.path / SETTINGS)


def embed(scenarios: Sequence[Scenario], component: Component, encoder: Encoder) -> FloatArray:
    """Vectors (n, d) of one component of scenarios, by the model of the documents."""
    title, _, text = component.rpartition("+")  # the first of two is the title
    parts = [{"": "", "M": one.topic, "I": one.need, "E": one.explanation} for one in scenarios]
    passages = [Passage(of[title], of[text], ()) for of in parts]
    return np.stack([encoding.vector for encoding in encoder.encode(passages)])


def to_scenario(row: Mapping[str, Any]) -> Scenario:
    """One row of :data:`TEXT_COLUMNS`."""
    return Scenario(*(row[name] for name in TEXT_COLUMNS))
