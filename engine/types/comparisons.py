"""Wordings side by side, and what the differences between their rankings mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from engine.types.documents import Document
from engine.types.jobs import Job
from engine.types.models import Estimate, ModelReport, RunProgress, TaskProgress, TaskReport
from engine.types.searches import Evidence, Filter, Ranking, TermUse

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Variant:
    """One wording of an instruction, and what ranks by it."""

    name: str  # unique: base, generic, definition, paraphrase-1, subset, reverse, or an own name
    instruction: str  # the words; empty for none
    system: str = "aspect"
    steer: float = 0.5
    subset: bool = False  # only the seed's sentences of the aspect are used, the rest is left out
    aspect: str = ""  # key of the chosen aspect; "" to read the words alone
    focus: tuple[int, ...] = ()  # focus, reading: as `Query` has them
    reading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VariantRanking:
    """How one variant ranks."""

    variant: Variant
    ranking: Ranking
    understood: tuple[tuple[str, float], ...]  # (aspect name, weight) as read, sum to 1
    avoided: tuple[str, ...]  # names of the aspects that it rules out
    weights: tuple[float, ...]  # one per sentence of the seed, sum to 1; empty without an aspect
    notes: tuple[str, ...]  # plain sentences about anything a reader should know
    # CSFCube's nDCG@20, Judged@20 and p-MRR against the seed's other aspects, where judged
    measures: Mapping[str, float | None]
    # (aspect name, likeness of the top 20 above that without wording, in deviations), estimated
    likeness: tuple[tuple[str, float], ...]
    seconds: float
    terms: tuple[TermUse, ...] = ()  # how far the ranking obeys each term of the wording


@dataclass(frozen=True, slots=True)
class VariantPair:
    """How far two variants rank differently."""

    first: str  # first, second: names of the variants
    second: str
    rbo: float | None  # rank-biased overlap (p = 0.9), Kendall's tau-b, common share of the top 20
    tau: float | None
    overlap: float | None
    rank_gain: float | None  # of documents relevant only to the aspect, -1 to 1


@dataclass(frozen=True, slots=True)
class Mover:
    """A document that the wording moves."""

    doc_id: str
    title: str
    ranks: tuple[int | None, ...]  # one per variant, None where the ranking does not reach it
    change: float  # weighted move between best and worst rank, 0 to 1; more near the top


VerdictKind = Literal["follows", "costly", "nothing", "wrong way", "little", "different"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A sentence about a variant, with its numbers; ``costly`` loses much of what is relevant."""

    variant: str
    kind: VerdictKind
    text: str
    numbers: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Variants of one (seed, aspect) side by side."""

    corpus: str
    seed: Document
    aspect: str
    variants: tuple[VariantRanking, ...]
    pairs: tuple[VariantPair, ...]
    movers: tuple[Mover, ...]
    verdicts: tuple[Verdict, ...]
    titles: Mapping[str, str]  # of the documents in anybody's top 20
    judged: bool  # whether there are judgments for this seed and aspect
    unjudged_reason: str  # why there is no p-MRR, in a plain sentence; empty when there is
    seconds: float
    by_model: tuple[str, ...] = ()  # variants in a model's order
    grades: Mapping[str, int] = field(default_factory=dict)  # judged documents of any top 20
    best: str = ""  # which variant does best, and by what; "" for one only, and without ratings
    by: str = ""  # what orders the variants: a measure that all of them have, if any
    ratings: Mapping[str, float] = field(default_factory=dict)  # every variant -> its value of that

    def ranks_of(self, doc_id: str) -> tuple[int | None, ...]:
        """The document's rank under each variant, None where the ranking does not reach it."""
        rankings = (v.ranking.doc_ids for v in self.variants)
        return tuple(r.index(doc_id) + 1 if doc_id in r else None for r in rankings)

    def to_frame(self) -> pd.DataFrame:
        """Ranks of the documents of any top 20 under each variant: index ``doc_id``, then ``title``
        and a column of ``Int64`` per variant, missing beyond a ranking; sorted by the first
        variant."""
        import pandas as pd

        names = [v.variant.name for v in self.variants]
        ranks = [self.ranks_of(doc_id) for doc_id in self.titles]
        frame = pd.DataFrame(ranks, columns=names, index=list(self.titles), dtype="Int64")
        frame = frame.rename_axis("doc_id").sort_values(names[0])
        # A wording may be called "title" too.
        frame.insert(0, "title", [self.titles[d] for d in frame.index], allow_duplicates=True)
        return frame


@dataclass(frozen=True, slots=True)
class MoverEvidence:
    """Why one document stands where it does under each variant."""

    document: Document
    evidence: tuple[tuple[Evidence, ...], ...]  # one tuple of pairs per variant, strongest first
    gained: tuple[tuple[Evidence, ...], ...]  # not shown by the first variant


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """Relevance and instruction following at one steer."""

    steer: float
    relevance: float  # nDCG@20 where judged, else mean likeness of the top 20, in deviations
    instruction_following: float | None  # rank gain over steer 0, else new share of the top 20


@dataclass(frozen=True, slots=True)
class Frontier:
    """What steer trades for what; ``judged`` says which of the two meanings the axes have."""

    points: tuple[FrontierPoint, ...]
    judged: bool


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """One variant of one system over a collection."""

    variant: str
    # measure -> mean; rbo, tau, overlap@20 against base; SICR, WISE against no wording
    metrics: Mapping[str, float | None]
    by_aspect: Mapping[str, Mapping[str, float | None]]
    intervals: Mapping[str, tuple[float, float] | None]  # measure -> 95 % interval
    read_as_asked: float | None  # share of queries whose aspect was read off the wording, if any


@dataclass(frozen=True, slots=True)
class SystemSensitivity:
    """One system under all variants."""

    system: str
    rows: tuple[SensitivityRow, ...]
    matrix: Mapping[str, Mapping[str, Mapping[str, float | None]]]  # measure -> two variants
    seconds: float
    robustness: float | None = None  # Robustness@10 over base, definition and paraphrases


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far systems follow the wording, over a collection."""

    collection: str
    corpus: str
    queries: int
    systems: tuple[SystemSensitivity, ...]
    single_aspect: bool  # no seed is judged for two aspects, so there is no p-MRR
    asked: int = 0  # queries that were to be measured; ``queries`` are those that were
    stopped: str = ""  # "cancelled" where it ended early

    def to_frame(self) -> pd.DataFrame:
        """The measures, one row per system and variant (the index); undefined ones are missing."""
        import pandas as pd

        rows = {
            (found.system, row.variant): row.metrics for found in self.systems for row in found.rows
        }
        frame = pd.DataFrame.from_dict(rows, orient="index", dtype=float)
        return frame.rename_axis(["system", "variant"])


@dataclass(frozen=True, slots=True)
class SensitivityRequest:
    """A table of a whole collection."""

    corpus: str
    systems: tuple[str, ...]
    variants: tuple[str, ...]  # sets of built-in wordings
    sample: int | None = None  # how many seeds to ask for; None for all
    own: tuple[tuple[str, str], ...] = ()  # names and words of further wordings
    aspect: str = ""  # key of the aspect that these ask for


SensitivityJob = Job[RunProgress, Sensitivity]
"""A table of a whole collection that is being computed, by rankings."""


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """Variants to be compared for one seed."""

    corpus: str
    seed: str | None  # seed, text: one of them; a stored document, or a pasted text
    text: str | None
    aspect: str  # key of the aspect that is meant
    variants: tuple[Variant, ...] = ()
    filters: tuple[Filter, ...] = ()  # what documents must meet to be ranked
    annotator: str | None = None  # whose grades count as one's own; None for the person who asks


@dataclass(frozen=True, slots=True)
class VariantsRequest(ComparisonRequest):
    """What a model is asked to rerank: the rankings of variants for one seed."""

    mode: str = field(kw_only=True)  # how to rerank
    depth: int = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class ModelOrders:
    """Rankings in a model's order."""

    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by variant
    unworded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by system, seed alone


@dataclass(frozen=True, slots=True)
class VariantsSoFar:
    """What a model made of the rankings of variants."""

    estimate: Estimate  # of all its rankings together, without tokens
    orders: ModelOrders  # once the job has ended, also unfinished ones
    whole: tuple[str, ...]  # names of the variants that the model is done with
    report: ModelReport  # the figures so far


VariantsJob = Job[TaskProgress, TaskReport[VariantsSoFar]]
"""The variants of a :class:`VariantsRequest` by a model; ``partial`` is a
:class:`VariantsSoFar`."""
