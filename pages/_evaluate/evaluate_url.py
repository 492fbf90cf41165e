"""What the Evaluate page shows, as the URL has it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from engine.explorer import Explorer
from engine.types.evaluations import CSFCUBE_NDCG, NDCG, CollectionInfo, EvaluationRequest
from engine.types.reranking import MOST_POOL, GapRecord, GapRequest
from pages._common.shared import engine
from pages._common.url_state import (
    UrlState,
    flag,
    integer,
    join,
    number,
    one_of,
    param,
    some_of,
    write_flag,
)

SYSTEMS = ("bm25", "dense", "aspect")
"""Chosen on a first visit."""
SAMPLES = (5, 10, 20, 40, 100)
SAMPLE = 40
"""Seeds asked for unless somebody says otherwise, of collections with many more."""
MANY_SEEDS = 60
GAP_SAMPLE, GAP_MANY_SEEDS = 10, 12
"""The same for the gap, for which a model reads eight pools a query."""
PARTS = {"systems": "Systems", "gap": "Retrieval–verification gap"}
"""What the page can measure."""
CHARTED = (NDCG, CSFCUBE_NDCG, "p-MRR", "RR", "R@100")
DEEPEST = 1_000
"""Documents of each ranking that a model may rerank."""
_PLAIN, _GAP = EvaluationRequest("", ()), GapRequest("")


def _sample(text: str) -> int:
    seeds = 0 if text == "all" else int(text)
    if seeds < 1 and text != "all":
        raise ValueError(f"seeds is {text}, not a number above 0")
    return seeds


def sizes_of(text: str) -> tuple[int, ...]:
    """``20, 50, 100`` as numbers, each once, ascending.

    Raises:
        ValueError: a part of it is no number from 1 to 2,000, or there is none.
    """
    parts = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
    wrong = [p for p in parts if not p.isdecimal() or not 1 <= int(p) <= MOST_POOL]
    if wrong or not parts:
        said = f"'{wrong[0]}' is not a pool size" if wrong else "no pool size"
        raise ValueError(f"{said}; use numbers from 1 to {MOST_POOL:,}, like 20, 50, 100, 200")
    return tuple(sorted(set(map(int, parts))))


@dataclass(frozen=True, slots=True)
class EvaluateView(UrlState):
    """A request, and the measure that the charts show.

    Attributes:
        sample: seeds asked for; 0 for all, None where the collection's size decides.
        rerank, depth: how a model reranks every system; "" not at all.
        model: whose answers are shown, as a previous run has it; "" for the one that is
            connected.
        part: one of :data:`PARTS`.
        verifier, retrievers, sizes: of the gap.
    """

    script = "evaluate"
    collection: str = param("collection", "")
    systems: tuple[str, ...] = param(
        "systems", SYSTEMS, some_of((*Explorer.known_systems, *Explorer.model_systems)), join
    )
    steer: float = param("steer", _PLAIN.steer, number("steer", 0, 1), "{:g}".format)
    sample: int | None = param("seeds", None, _sample, lambda seeds: str(seeds or "all"))
    human: bool = param("human", False, flag, write_flag)
    measure: str = param("measure", CHARTED[0], one_of(CHARTED))
    rerank: str = param("rerank", "", one_of(tuple(Explorer.rerank_modes)))
    depth: int = param("depth", _PLAIN.depth, integer("depth", 1, DEEPEST))
    model: str = param("model", "")
    part: str = param("part", "systems", one_of(tuple(PARTS)))
    verifier: str = param("verifier", _GAP.verifier, one_of(tuple(Explorer.rerank_modes)))
    retrievers: tuple[str, ...] = param(
        "retrievers", _GAP.systems, some_of(Explorer.known_systems), join
    )
    sizes: tuple[int, ...] = param("sizes", _GAP.sizes, sizes_of, join)

    def on_corpus(self, corpus: str) -> Self:
        """The same systems on the first collection over this corpus; as it is without one."""
        keys = [info.key for info in engine().collections.all() if info.corpus == corpus]
        return replace(self, collection=keys[0], sample=None, model="") if keys else self

    @property
    def needs_model(self) -> bool:
        """Whether what is asked for needs a language model."""
        by_model = any(name in Explorer.model_systems for name in self.systems)
        return self.part == "gap" or bool(self.rerank) or by_model

    def request(self, info: CollectionInfo, model: str = "") -> EvaluationRequest:
        """The evaluation that the view asks for.

        Args:
            model: which one is connected; see :attr:`EvaluationRequest.model`.
        """
        return EvaluationRequest(
            collection=self.collection,
            systems=self.systems,
            steer=self.steer,
            sample=seeds_asked(self, info),
            human=self.human and bool(info.annotators),
            rerank=self.rerank,
            depth=self.depth,
            model=self.model or model,
        )

    def gap_request(self, info: CollectionInfo) -> GapRequest:
        """The gap that the view asks for."""
        sample = seeds_asked(self, info)
        return GapRequest(self.collection, self.verifier, self.retrievers, self.sizes, sample)


def seeds_asked(view: EvaluateView, info: CollectionInfo) -> int | None:
    """How many seeds are asked for; None for all."""
    if view.sample is None and view.part == "gap":
        return GAP_SAMPLE if info.seeds > GAP_MANY_SEEDS else None
    if view.sample is None:
        return SAMPLE if info.seeds > MANY_SEEDS else None
    return view.sample or None


def of_request(request: EvaluationRequest, measure: str) -> EvaluateView:
    """The view that shows a previous run."""
    return EvaluateView(
        request.collection, request.systems, request.steer, request.sample or 0,
        request.human, measure, request.rerank, request.depth,
        request.model,
    )  # fmt: skip


def of_gap(view: EvaluateView, record: GapRecord) -> EvaluateView:
    """The view that shows a gap that was measured before."""
    request = record.request
    return replace(
        view, part="gap", sample=request.sample or 0, verifier=request.verifier,
        retrievers=request.systems, sizes=request.sizes, model=record.model,
    )  # fmt: skip
