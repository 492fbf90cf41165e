"""Scenarios: what somebody could need that a document meets without saying so, and why it does.

After SPIKE (Lee et al., 2025), section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.types.jobs import Job
from engine.types.models import TaskProgress, TaskReport

ScenarioSource = Literal["generated", "distilled", "extractive"]
"""Who wrote it: a language model, a small model that learned from one, or none (sentences of
the document itself)."""
Component = Literal["M", "I", "E", "M+E", "I+E"]
"""What of a scenario is embedded: main topic, information need, explanation, or two of them."""
COMPONENTS: tuple[Component, ...] = ("M", "I", "E", "M+E", "I+E")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way in which a document may be of use.

    Attributes:
        topic: M, what the document is about as a whole.
        aspect: K, the part of its content that this is about.
        need: I, what somebody wants to know.
        explanation: E, why and how the document meets the need.
        model: which model wrote it; "" for extracts.
    """

    topic: str
    aspect: str
    need: str
    explanation: str
    source: ScenarioSource = "extractive"
    model: str = ""

    @property
    def generated(self) -> bool:
        """True when a model wrote it, so that it may be wrong about the document."""
        return self.source != "extractive"


@dataclass(frozen=True, slots=True)
class ScenarioMatch:
    """The scenario by which a result was found.

    Attributes:
        score: cosine of the query and the scenario, -1 to 1.
        component: what of the scenario was compared.
        weight: what the document itself counted for; the scenario counted for the rest.
    """

    scenario: Scenario
    score: float
    component: Component
    weight: float


@dataclass(frozen=True, slots=True)
class ScenarioAuthor:
    """How many documents and scenarios of a corpus one source has."""

    source: ScenarioSource
    model: str
    documents: int
    scenarios: int


@dataclass(frozen=True, slots=True)
class ScenarioState:
    """What there is for a corpus.

    Attributes:
        documents: of the corpus.
        covered: documents whose scenarios are of the text as it is now.
        scenarios: of those documents.
        outdated: documents that have changed since; their scenarios are left aside.
        component, weight: what the corpus is set to.
        other_components: scenarios embedded by another component, to be embedded anew.
    """

    corpus: str
    documents: int
    covered: int
    scenarios: int
    outdated: int
    authors: tuple[ScenarioAuthor, ...]
    component: Component
    weight: float
    other_components: int = 0
    bytes: int = 0

    @property
    def generated(self) -> int:
        """Scenarios that a model wrote."""
        return sum(a.scenarios for a in self.authors if a.source != "extractive")


@dataclass(frozen=True, slots=True)
class ScenarioRequest:
    """Scenarios to write for a corpus.

    Attributes:
        component: what is embedded; None for what the corpus is set to.
        weight: of the document against its best scenario, 0 to 1; None as above.
        limit: documents at most in this run; None for all.
        folder: of the distilled model, for that source.
    """

    corpus: str
    source: ScenarioSource = "generated"
    component: Component | None = None
    weight: float | None = None
    limit: int | None = None
    folder: str = ""


@dataclass(frozen=True, slots=True)
class ScenarioCounts:
    """What a run wrote.

    Attributes:
        written: documents that have scenarios now.
        scenarios: of those documents.
        embedded: scenarios that were only embedded again.
        without_text: documents of which nothing can be said.
    """

    written: int = 0
    scenarios: int = 0
    embedded: int = 0
    without_text: int = 0


ScenarioJob = Job[TaskProgress, TaskReport[ScenarioCounts]]
"""Scenarios being written; its request is a :class:`ScenarioRequest`."""
