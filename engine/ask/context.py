"""Scenarios as further context for a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from engine.corpora.opened import OpenCorpus
from engine.corpora.scenario_store import ScenarioStore
from engine.llm.texts import cut_text
from engine.types.scenarios import Scenario

SCENARIO_TOKENS = 240
"""Of one document, all its scenarios together."""

PROBED = 50


class ScenarioTexts(Protocol):
    """Knows the scenarios of a corpus's documents."""

    def scenarios_of(self, doc_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """The scenarios of those that have any, a text each."""
        ...


class NoScenarios:
    """For readers that get the documents alone."""

    def scenarios_of(self, doc_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """None."""
        del doc_ids
        return {}


class StoredScenarios:
    """The scenarios that are stored beside a corpus."""

    def __init__(self, corpus: OpenCorpus) -> None:
        self._store = ScenarioStore(corpus)

    def scenarios_of(self, doc_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """See :class:`ScenarioTexts`."""
        found = self._store.of(doc_ids)
        return {doc_id: [scenario_text(s) for s in some] for doc_id, some in found.items()}


def scenario_text(scenario: Scenario) -> str:
    """A scenario in words.

    >>> scenario_text(Scenario("Bees", "dances", "Where are flowers?", "The dance tells."))
    'Topic: Bees. Somebody may need: Where are flowers? Why it helps: The dance tells.'
    """
    topic = scenario.topic.rstrip(". ")
    return (
        f"Topic: {topic}. Somebody may need: {scenario.need} Why it helps: {scenario.explanation}"
    )


def any_scenarios(known: ScenarioTexts, doc_ids: Sequence[str]) -> bool:
    """Whether any of these documents has scenarios."""
    # They are written in the order of the corpus: the first ones tell, as a rule.
    return bool(known.scenarios_of(doc_ids[:PROBED]) or known.scenarios_of(doc_ids[PROBED:]))


def fitting(scenarios: Sequence[str], tokens: int = SCENARIO_TOKENS) -> str:
    """Scenarios a line each, as far as they fit."""
    return cut_text("\n".join(" ".join(s.split()) for s in scenarios), tokens).text
