"""Scenarios as further context for a reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.corpora.opened import OpenCorpus
from engine.corpora.scenario_store import ScenarioStore
from engine.llm.texts import cut_text
from engine.types.scenarios import Scenario

SCENARIO_TOKENS = 240
"""Of one document, all its scenarios together."""

PROBED = 50
"""Documents looked at first for whether a corpus has scenarios."""


ScenarioTexts = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
"""The scenarios of those documents that have any, by doc_id, a text each."""


def stored_scenarios(corpus: OpenCorpus) -> ScenarioTexts:
    """The scenarios that are stored beside a corpus."""
    store = ScenarioStore(corpus)

    def texts(doc_ids: Sequence[str]) -> dict[str, list[str]]:
        return {
            doc_id: [scenario_text(scenario) for scenario in scenarios]
            for doc_id, scenarios in store.of(doc_ids).items()
        }

    return texts


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
    return bool(known(doc_ids[:PROBED]) or known(doc_ids[PROBED:]))


def fitting(scenarios: Sequence[str], tokens: int = SCENARIO_TOKENS) -> str:
    """Scenarios a line each, as far as they fit."""
    return cut_text("\n".join(" ".join(s.split()) for s in scenarios), tokens).text
