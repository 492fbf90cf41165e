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
    """One way in which a document may be of use."""

    topic: str  # M, what the document is about as a whole
    aspect: str  # K, the part of its content that this is about
    need: str  # I, what somebody wants to know
    explanation: str  # E, why and how the document meets the need
    source: ScenarioSource = "extractive"
    model: str = ""  # which model wrote it; "" for extracts

    @property
    def generated(self) -> bool:
        """True when a model wrote it, so that it may be wrong about the document."""
        return self.source != "extractive"


@dataclass(frozen=True, slots=True)
class ScenarioMatch:
    """The scenario by which a result was found."""

    scenario: Scenario
    score: float  # cosine of the query and the scenario, -1 to 1
    component: Component  # what of the scenario was compared
    weight: float  # what the document itself counted for; the scenario counted for the rest


@dataclass(frozen=True, slots=True)
class ScenarioAuthor:
    """How many documents and scenarios of a corpus one source has."""

    source: ScenarioSource
    model: str
    documents: int
    scenarios: int


@dataclass(frozen=True, slots=True)
class ScenarioState:
    """What there is for a corpus."""

    corpus: str
    documents: int  # of the corpus
    covered: int  # documents whose scenarios are of the text as it is now
    scenarios: int  # of those documents
    outdated: int  # documents that have changed since; their scenarios are left aside
    authors: tuple[ScenarioAuthor, ...]
    component: Component  # component, weight: what the corpus is set to
    weight: float
    other_components: int = 0  # scenarios embedded by another component, to be embedded anew
    bytes: int = 0

    @property
    def generated(self) -> int:
        """Scenarios that a model wrote."""
        return sum(a.scenarios for a in self.authors if a.source != "extractive")


@dataclass(frozen=True, slots=True)
class ScenarioRequest:
    """Scenarios to write for a corpus."""

    corpus: str
    source: ScenarioSource = "generated"
    component: Component | None = None  # what is embedded; None for what the corpus is set to
    weight: float | None = None  # of the document against its best scenario, 0 to 1; None as above
    limit: int | None = None  # documents at most in this run; None for all
    folder: str = ""  # of the distilled model, for that source


@dataclass(frozen=True, slots=True)
class ScenarioCounts:
    """What a run wrote."""

    written: int = 0  # documents that have scenarios now
    scenarios: int = 0  # of those documents
    embedded: int = 0  # scenarios that were only embedded again
    without_text: int = 0  # documents of which nothing can be said


ScenarioJob = Job[TaskProgress, TaskReport[ScenarioCounts]]
"""Scenarios being written; its request is a :class:`ScenarioRequest`."""
