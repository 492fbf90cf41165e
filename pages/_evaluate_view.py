"""What the Evaluate page shows, as the URL has it: the one source of truth of its state."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types import CollectionInfo, EvaluationRequest, Query

SYSTEMS = ("bm25", "dense", "aspect")
"""Chosen on a first visit."""
SAMPLES = (20, 40, 100)
SAMPLE = 40
"""Seeds asked for unless somebody says otherwise, of collections with many more."""
MANY_SEEDS = 60
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
_STEER = Query("").steer


@dataclass(frozen=True, slots=True)
class EvaluateView:
    """A request, and the measure that the charts show.

    Attributes:
        sample: seeds asked for; 0 for all, None where the collection's size decides.
    """

    collection: str = ""
    systems: tuple[str, ...] = SYSTEMS
    steer: float = _STEER
    sample: int | None = None
    human: bool = False
    ignore_labels: bool = False
    measure: str = CHARTED[0]

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
        }
        return {k: v for k, v in found.items() if v}

    def request(self, info: CollectionInfo) -> EvaluationRequest:
        """What the view asks to be evaluated."""
        return EvaluationRequest(
            collection=self.collection,
            systems=self.systems,
            steer=self.steer,
            sample=seeds_asked(self, info),
            human=self.human and bool(info.annotators),
            ignore_labels=self.ignore_labels,
        )


def seeds_asked(view: EvaluateView, info: CollectionInfo) -> int | None:
    """How many seeds are asked for; None for all."""
    if view.sample is None:
        return SAMPLE if info.seeds > MANY_SEEDS else None
    return view.sample or None


def of_request(request: EvaluationRequest, measure: str) -> EvaluateView:
    """The view that shows a former evaluation."""
    return EvaluateView(
        request.collection, request.systems, request.steer, request.sample or 0,
        request.human, request.ignore_labels, measure,
    )  # fmt: skip


def read_view(explorer: Explorer) -> EvaluateView:
    """The view of the URL.

    Raises:
        BadInputError: a parameter that cannot be read, named.
    """
    params = st.query_params
    try:
        systems = tuple(s for s in params.get("systems", ",".join(SYSTEMS)).split(",") if s)
        unknown = [name for name in systems if name not in explorer.systems]
        if unknown:
            raise ValueError(f"there is no system '{unknown[0]}'")
        steer = float(params.get("steer", _STEER))
        if not 0.0 <= steer <= 1.0:
            raise ValueError(f"steer is {steer:g}, not a number from 0 to 1")
        return EvaluateView(
            collection=params.get("collection", ""),
            systems=tuple(dict.fromkeys(systems)),
            steer=steer,
            sample=_sample(params.get("seeds")),
            human=params.get("human") == "1",
            ignore_labels=params.get("labels") == "estimated",
            measure=_measure(params.get("measure", CHARTED[0])),
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


def _measure(name: str) -> str:
    if name not in CHARTED:
        raise ValueError(f"'{name}' is none of {', '.join(CHARTED)}")
    return name


def write_view(view: EvaluateView) -> None:
    """Put a view into the URL; the browser's back button brings the former one back."""
    params = view.to_params()
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)


def with_collection(view: EvaluateView, key: str) -> EvaluateView:
    """Another collection with the same systems."""
    return replace(view, collection=key, sample=None)
