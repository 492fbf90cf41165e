"""Scenarios, the writers that are distilled from a model, and encoders trained by aspect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass as checked

from engine.types.jobs import Job
from engine.types.models import TaskProgress, TaskReport

SCENARIO = "scenario"  # Name of the system that ranks by scenarios
ScenarioSource = Literal["generated", "distilled", "extractive"]
"""Written by a language model, a small model that learned from one, or sentences as they are."""
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
    other_components: int = 0  # scenarios embedded by another component, to be embedded again
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


DOCUMENTS, CANDIDATES = 60, 8
"""Documents that are compared with others, and how many others for each of their aspects."""
MOST_CANDIDATES = 20


@checked(frozen=True, slots=True)
class PairRequest:
    """Pairs to be graded."""

    corpus: str
    documents: PositiveInt = DOCUMENTS  # seeds sampled; a larger sample contains a smaller one
    # per aspect of a seed: half nearest by the aspect, half by the document
    candidates: Annotated[int, Field(ge=2, le=MOST_CANDIDATES)] = CANDIDATES


@dataclass(frozen=True, slots=True)
class AspectGroup:
    """How alike in one aspect a seed and some other documents are."""

    seed: str
    aspect: str  # its key
    grades: Mapping[str, int]  # doc_id -> 0 (not alike) to 3 (the same)


@checked(frozen=True, slots=True)
class Tuning:
    """How an encoder is trained.

    Options:
        epochs: How often every group is read.
        learning_rate: Of LoRA.
        rank: Of LoRA, on all linear layers.
        keep: Weight of staying what the encoder was, against the grades.
        seed --random-seed: Of chance.
    """

    epochs: PositiveInt = 3
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    rank: PositiveInt = 16
    keep: Annotated[float, Field(ge=0)] = 5.0
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Tuned:
    """An encoder that was trained, and how well it does on seeds that it was not trained on."""

    folder: Path  # what `--encoder` takes
    base: str  # the encoder that it was
    groups: int  # learned from and measured by; no seed or candidate in both
    held_out: int
    before: float  # before, after: share of held-out pairs ordered as graded, mean over seeds
    after: float
    interval: tuple[float, float] | None  # 95 % of `after - before`; None with fewer than two seeds
    kept: float  # mean cosine of the held-out documents' vectors before and after
    seconds: float
    cancelled: bool = False

    @property
    def recommended(self) -> bool:
        """True when held-out pairs are ordered better than before, chance aside."""
        return self.interval is not None and self.interval[0] > 0


@checked(frozen=True, slots=True)
class Training:
    """Hyper-parameters; the defaults are the paper's.

    Options:
        epochs: At most.
        batch: Documents read at once.
        accumulation: Batches per step of the optimiser.
        learning_rate: Of the optimiser.
        weight_decay: Of the optimiser.
        patience: Epochs without a lower evaluation loss until training ends early.
        rank: Of LoRA.
        alpha: Of LoRA.
        dropout: Of LoRA.
        seed --random-seed: Of chance.
    """

    epochs: PositiveInt = 10
    batch: PositiveInt = 4
    accumulation: PositiveInt = 2
    learning_rate: Annotated[float, Field(gt=0)] = 2e-5
    weight_decay: float = 0.1
    patience: PositiveInt = 4
    rank: PositiveInt = 32
    alpha: PositiveInt = 64
    dropout: Annotated[float, Field(ge=0, le=0.9)] = 0.1
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Distilled:
    """A model that was trained on ``lessons`` and measured on ``held_out`` documents (``loss`` per
    token, best of ``epochs``)."""

    folder: Path
    base: str
    lessons: int
    held_out: int
    epochs: float
    loss: float
    seconds: float
    cancelled: bool = False
