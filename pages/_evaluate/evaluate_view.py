"""What the Evaluate page shows, as the URL has it: the one source of truth of its state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.evaluations import CollectionInfo, EvaluationRequest
from engine.types.reranking import GapRecord, GapRequest
from engine.types.searches import Query

SYSTEMS = ("bm25", "dense", "aspect")
"""Chosen on a first visit."""
SAMPLES = (5, 10, 20, 40, 100)
SAMPLE = 40
"""Seeds asked for unless somebody says otherwise, of collections with many more."""
MANY_SEEDS = 60
GAP_SAMPLE, GAP_MANY_SEEDS = 10, 12
"""The same for the gap, for which a model reads eight pools a query."""
MOST_SIZE = 2_000
"""Candidates per query that a pool of the gap may have."""
PARTS = {"systems": "Systems side by side", "gap": "Retrieval–verification gap"}
"""What the page can measure."""
MEASURES = {
    "nDCG@20": "Relevance of the top 20 by graded judgments, best order = 1.",
    "nDCG@20 (CSFCube)": "The same as CSFCube's own script has it: ranks 1 and 2 count alike.",
    "p-MRR": "Obedience: how far documents relevant to this aspect only stand higher here than "
    "in the ranking for another aspect of the seed; −1 to 1, 0 when nothing moves.",
    "RR": "1 divided by the rank of the first relevant document (grade 1 or more).",
    "R@100": "Share of the relevant documents that are in the top 100.",
    "Judged@20": "Share of the top 20 that anybody judged; what is unjudged counts as 0.",
}
CHARTED = ("nDCG@20", "nDCG@20 (CSFCube)", "p-MRR", "RR", "R@100")
_STEER, _DEPTH = Query("").steer, EvaluationRequest("", ()).depth
_GAP = GapRequest("")


@dataclass(frozen=True, slots=True)
class EvaluateView:
    """A request, and the measure that the charts show.

    Attributes:
        sample: seeds asked for; 0 for all, None where the collection's size decides.
        rerank, depth: how a model reranks every system; "" not at all.
        model: whose answers are shown, as a former evaluation has it; "" for the one that is
            connected.
        part: one of :data:`PARTS`.
        verifier, retrievers, sizes: of the gap.
    """

    collection: str = ""
    systems: tuple[str, ...] = SYSTEMS
    steer: float = _STEER
    sample: int | None = None
    human: bool = False
    ignore_labels: bool = False
    measure: str = CHARTED[0]
    rerank: str = ""
    depth: int = _DEPTH
    model: str = ""
    part: str = "systems"
    verifier: str = _GAP.verifier
    retrievers: tuple[str, ...] = _GAP.systems
    sizes: tuple[int, ...] = _GAP.sizes

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out."""
        found = {
            "collection": self.collection,
            "systems": "" if self.systems == SYSTEMS else ",".join(self.systems),
            "steer": "" if self.steer == _STEER else f"{self.steer:g}",
            "seeds": "" if self.sample is None else str(self.sample or "all"),
            "human": "1" if self.human else "",
            "labels": "estimated" if self.ignore_labels else "",
            "measure": "" if self.measure == CHARTED[0] else self.measure,
            "rerank": self.rerank,
            "depth": "" if self.depth == _DEPTH else str(self.depth),
            "model": self.model,
            "part": "" if self.part == "systems" else self.part,
            "verifier": "" if self.verifier == _GAP.verifier else self.verifier,
            "retrievers": "" if self.retrievers == _GAP.systems else ",".join(self.retrievers),
            "sizes": "" if self.sizes == _GAP.sizes else ",".join(map(str, self.sizes)),
        }
        return {k: v for k, v in found.items() if v}

    def request(self, info: CollectionInfo, model: str = "") -> EvaluationRequest:
        """What the view asks to be evaluated.

        Args:
            model: which one is connected; see :attr:`EvaluationRequest.model`.
        """
        return EvaluationRequest(
            collection=self.collection,
            systems=self.systems,
            steer=self.steer,
            sample=seeds_asked(self, info),
            human=self.human and bool(info.annotators),
            ignore_labels=self.ignore_labels,
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
    """The view that shows a former evaluation."""
    return EvaluateView(
        request.collection, request.systems, request.steer, request.sample or 0,
        request.human, request.ignore_labels, measure, request.rerank, request.depth,
        request.model,
    )  # fmt: skip


def of_gap(view: EvaluateView, record: GapRecord) -> EvaluateView:
    """The view that shows a former gap."""
    request = record.request
    return replace(
        view, part="gap", sample=request.sample or 0, verifier=request.verifier,
        retrievers=request.systems, sizes=request.sizes, model=record.model,
    )  # fmt: skip


def read_view(explorer: Explorer) -> EvaluateView:
    """The view of the URL.

    Raises:
        BadInputError: a parameter that cannot be read, named.
    """
    params = st.query_params
    try:
        helped = explorer.verifier.systems
        systems = _names(
            params.get("systems", ",".join(SYSTEMS)), (*explorer.known_systems, *helped)
        )
        retrievers = _names(
            params.get("retrievers", ",".join(_GAP.systems)), explorer.known_systems
        )
        steer = float(params.get("steer", _STEER))
        if not 0.0 <= steer <= 1.0:
            raise ValueError(f"steer is {steer:g}, not a number from 0 to 1")
        return EvaluateView(
            collection=params.get("collection", ""),
            systems=systems,
            steer=steer,
            sample=_sample(params.get("seeds")),
            human=params.get("human") == "1",
            ignore_labels=params.get("labels") == "estimated",
            measure=_one_of(params.get("measure", CHARTED[0]), CHARTED),
            rerank=_one_of(params.get("rerank", ""), ("", *explorer.verifier.modes)),
            depth=_depth(params.get("depth")),
            model=params.get("model", ""),
            part=_one_of(params.get("part", "systems"), tuple(PARTS)),
            verifier=_one_of(params.get("verifier", _GAP.verifier), tuple(explorer.verifier.modes)),
            retrievers=retrievers,
            sizes=sizes_of(params.get("sizes", ",".join(map(str, _GAP.sizes)))),
        )
    except ValueError as error:
        raise BadInputError(
            f"This link cannot be read: {error}.", "Open the page without it and start again."
        ) from error


def _sample(text: str | None) -> int | None:
    if text is None:
        return None
    number = 0 if text == "all" else int(text)
    if number < 1 and text != "all":
        raise ValueError(f"seeds is {text}, not a number above 0")
    return number


def _names(text: str, known: Sequence[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name for name in text.split(",") if name))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"there is no system '{unknown[0]}'")
    return names


def _depth(text: str | None) -> int:
    depth = _DEPTH if text is None else int(text)
    if depth < 1:
        raise ValueError(f"depth is {depth}, not a number above 0")
    return depth


def sizes_of(text: str) -> tuple[int, ...]:
    """``20, 50, 100`` as numbers, each once, ascending.

    Raises:
        ValueError: a part of it is no number from 1 to 2,000, or there is none.
    """
    parts = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
    wrong = [p for p in parts if not p.isdecimal() or not 1 <= int(p) <= MOST_SIZE]
    if wrong or not parts:
        said = f"'{wrong[0]}' is no pool size" if wrong else "there is no pool size"
        raise ValueError(f"{said}; give numbers from 1 to {MOST_SIZE:,}, like 20, 50, 100, 200")
    return tuple(sorted(set(map(int, parts))))


def _one_of(name: str, known: Sequence[str]) -> str:
    if name not in known:
        raise ValueError(f"'{name}' is none of {', '.join(filter(None, known))}")
    return name


def write_view(view: EvaluateView) -> None:
    """Put a view into the URL; the browser's back button brings the former one back."""
    params = view.to_params()
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)


def with_collection(view: EvaluateView, key: str) -> EvaluateView:
    """Another collection with the same systems."""
    return replace(view, collection=key, sample=None, model="")
