"""Test collections built for an attribute, by the five steps of OBLIQ-Bench (section 4).

Attribute -> labels -> clusters -> queries -> grades. Every step is kept, so that a person can read
and correct what it made before the next one uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from engine.types.jobs import Job
from engine.types.models import TaskProgress, TaskReport

BuildStep = Literal["label", "collapse", "verbalise", "expand"]
"""The steps that run, in order; the attribute is described by a person."""
BUILD_STEPS: tuple[BuildStep, ...] = ("label", "collapse", "verbalise", "expand")
Maker = Literal["model", "person"]
Expression = Literal["implied", "stated", "reported"]
"""How a document has an attribute: shown without words for it, in its own words, or as a report of
what others do. Only implied ones are hard to find."""


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """What a collection is about, and how it is made (step 1).

    Options:
        attribute TEXT: What documents show without saying so.
        guidance TEXT: What counts and what does not.
        examples --example LABEL: A label as it should look. Repeatable.
        aspect KEY: Of the corpus's lens: where to look first.
        limit N: Read the first N documents only.
        distance D: Cosine distance up to which labels join.
        smallest N: Documents of a cluster that becomes a query.
        largest N: And at most.
        overlap X: Share of a query's words that its documents may have.
        depth K: Of the pool.
        gold: Labelled documents that can be relevant; the others are distractors.
    """

    corpus: str
    name: str  # of the collection, and of the annotation project it becomes
    attribute: str
    guidance: str = ""
    examples: tuple[str, ...] = ()
    aspect: str = ""  # its sentences are pointed out to the model
    limit: int | None = None
    distance: float = 0.35  # distance, overlap: 0 to 1
    smallest: int = 2
    largest: int = 50
    overlap: float = 0.3
    systems: tuple[str, ...] = ("bm25", "dense", "late-interaction")
    depth: int = 20
    gold: Literal["implied", "both"] = "implied"


@dataclass(frozen=True, slots=True)
class Label:
    """What one document shows of the attribute (step 2)."""

    doc_id: str
    text: str  # in a few words; "" when the document does not show it
    quote: str = ""  # the words of the document it rests on; "" when a person said so
    maker: Maker = "model"  # maker, author: who said so last: a model's name or a person's
    author: str = ""
    outdated: bool = False  # the document, or the attribute, has changed since
    expression: Expression = "implied"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Documents whose labels say the same (step 3)."""

    key: str  # stays the same however it is renamed
    name: str
    doc_ids: tuple[str, ...]  # in the order of the corpus
    dropped: bool = False  # a person or its size took it out: it becomes no query
    maker: Maker = "model"  # who made it what it is
    put: Mapping[str, str] = field(default_factory=dict)  # doc_id -> the person who put it there
    distractors: tuple[str, ...] = ()  # with its labels, but not implied


@dataclass(frozen=True, slots=True)
class Overlap:
    """How far a query gives its documents away."""

    share: float  # of its content words, those telling of its documents, 0 to 1; see `verbalising`
    words: tuple[str, ...] = ()  # these words, as the query has them


@dataclass(frozen=True, slots=True)
class BuildQuery:
    """A cluster put into words (step 4)."""

    key: str  # of its cluster
    text: str
    doc_ids: tuple[str, ...]
    overlap: Overlap
    maker: Maker = "model"
    tries: int = 1  # how often the model was asked
    dropped: bool = False  # a person took it out
    basis: str = ""  # a digest of what it was worded for


@dataclass(frozen=True, slots=True)
class StepState:
    """How one step stands."""

    step: BuildStep
    done: int  # done, total: documents, clusters, queries or candidates
    total: int
    stale: bool = False  # what it rests on has changed since; to be run again
    at: datetime | None = None  # when it ran last; None when it never did
    edits: int = 0  # what people changed in it
    model: str = ""  # that did it
    unfinished: bool = False  # its last run was stopped before the end; to be run on

    @property
    def is_complete(self) -> bool:
        """Run, or done by hand, to the end; and what it rests on has not changed since."""
        begun = self.at is not None or self.done > 0
        return begun and not (self.stale or self.unfinished) and self.done >= self.total


@dataclass(frozen=True, slots=True)
class BuildState:
    """How a build stands. `next`: the first step that is not complete; None when all are."""

    spec: BuildSpec
    author: str
    time: datetime
    steps: tuple[StepState, ...]

    @property
    def next(self) -> BuildStep | None:
        return next((s.step for s in self.steps if not s.is_complete), None)


@dataclass(frozen=True, slots=True)
class StepRequest:
    """A step of a build to run, and who starts it."""

    corpus: str
    build: str
    step: BuildStep
    author: str = ""


StepJob = Job[TaskProgress, TaskReport[int]]
"""A step in the background; its request is the step, its result how much it made."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a collection comes from; goes with every export, as ``provenance.json``."""

    spec: BuildSpec
    author: str
    time: datetime
    labelled: int  # documents with a label
    without: int
    clusters: int  # clusters, dropped: that there were, and those that became no query
    dropped: int
    queries: int
    overlap: float  # mean `share` of the queries
    positives: Mapping[str, int]  # query -> documents of its cluster
    found: Mapping[str, int]
    checked: int  # grades of a model that a person gave too
    edits: Mapping[str, int]  # step -> changes by people. models: step -> the model that did it.
    models: Mapping[str, str]
    expressions: Mapping[str, int]  # expression -> labelled documents
    # query -> documents of its cluster with the highest grade, and those with a lower one
    confirmed: Mapping[str, int]
    rejected: Mapping[str, tuple[str, ...]]
