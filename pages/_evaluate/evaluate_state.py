"""What the Evaluate page shows, as the URL has it, and what one run of the page is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import streamlit as st
from pydantic import BeforeValidator, Field, PlainSerializer

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.text import counted
from engine.types.evaluations import (
    CSFCUBE_NDCG,
    NDCG,
    CollectionInfo,
    Evaluation,
    EvaluationRequest,
    UploadedRun,
)
from engine.types.jobs import Job
from engine.types.reranking import MOST_POOL, GapRecord, GapRequest
from pages._common.shared import engine, show_error, system_label
from pages._common.state import Commas, PageView, one_of, some_of
from pages._common.tasks import TaskPanel
from pages._model.model_settings import chosen, endpoint

SYSTEMS = ("bm25", "dense", "aspect")
"""Chosen on a first visit."""
SAMPLES = (5, 10, 20, 40, 100)
SAMPLE = 40
"""Seeds by default, of collections with many more."""
MANY_SEEDS = 60
GAP_SAMPLE, GAP_MANY_SEEDS = 5, 6
"""The same for the gap, for which a model reads eight pools a query."""
PARTS = {"systems": "Systems", "gap": "Retrieval–verification gap"}
"""What the page can measure."""
CHARTED = (NDCG, CSFCUBE_NDCG, "p-MRR", "RR", "R@100")
DEEPEST = 1_000
"""Documents of each ranking that a model may rerank."""
_PLAIN, _GAP = EvaluationRequest("", ()), GapRequest("")


def _seeds(value: object) -> object:
    if value in ("all", None) or (str(value).isdecimal() and int(str(value)) > 0):
        return 0 if value == "all" else value
    raise ValueError(f"seeds is {value}, not a number above 0")


def sizes_of(text: object) -> object:
    """``20, 50, 100`` as numbers, each once, ascending; ValueError for others than 1 to 2,000."""
    if not isinstance(text, str):
        return text
    parts = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
    wrong = [p for p in parts if not p.isdecimal() or not 1 <= int(p) <= MOST_POOL]
    if wrong or not parts:
        problem = f"'{wrong[0]}' is not a pool size" if wrong else "no pool size"
        raise ValueError(f"{problem}; use numbers from 1 to {MOST_POOL:,}, like 20, 50, 100, 200")
    return tuple(sorted(set(map(int, parts))))


_Systems = Annotated[
    tuple[str, ...], Commas, some_of((*Explorer.known_systems, *Explorer.model_systems))
]
_Seeds = Annotated[
    int | None, BeforeValidator(_seeds), PlainSerializer(lambda seeds: str(seeds or "all"))
]
_Mode = one_of(tuple(Explorer.rerank_modes))


@dataclass(frozen=True)
class EvaluateView(PageView):
    """A request, and the measure that the charts show.

    Attributes:
        seeds: how many are asked for; 0 for all, None where the collection's size decides.
        rerank, depth: how a model reranks every system; "" not at all.
        model: whose answers are shown, as a previous run has it; "" for the one that is
            connected.
        part: one of :data:`PARTS`.
        verifier, retrievers, sizes: of the gap.
        runs: uploaded runs whose judged queries are asked; none for those of the collection.
        pair: ids of two previous evaluations that are compared.
    """

    script = "evaluate"
    renewed: ClassVar[Mapping[str, Any]] = {"model": ""}
    collection: str = ""
    systems: _Systems = SYSTEMS
    steer: Annotated[float, Field(ge=0, le=1)] = _PLAIN.steer
    seeds: _Seeds = None
    human: bool = False
    measure: Annotated[str, one_of(CHARTED)] = CHARTED[0]
    rerank: Annotated[str, _Mode] = ""
    depth: Annotated[int, Field(ge=1, le=DEEPEST)] = _PLAIN.depth
    model: str = ""
    part: Annotated[str, one_of(PARTS)] = "systems"
    verifier: Annotated[str, _Mode] = _GAP.verifier
    retrievers: Annotated[tuple[str, ...], Commas, some_of(Explorer.known_systems)] = _GAP.systems
    sizes: Annotated[tuple[int, ...], BeforeValidator(sizes_of)] = _GAP.sizes
    runs: Annotated[tuple[str, ...], Commas] = ()
    pair: Annotated[tuple[str, ...], Commas] = ()

    def on_corpus(self, corpus: str) -> Self:
        """The same systems on the first collection over this corpus; as it is without one."""
        keys = [info.key for info in engine().collections.all() if info.corpus == corpus]
        return replace(self, collection=keys[0], seeds=None, model="", runs=()) if keys else self

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out but for the verifier, whose default may change."""
        params = PageView.to_params(self)
        return {**params, "verifier": self.verifier} if self.part == "gap" else params

    @property
    def needs_model(self) -> bool:
        """Whether what is asked for needs a language model."""
        by_model = any(name in Explorer.model_systems for name in self.systems)
        return self.part == "gap" or bool(self.rerank) or by_model


@dataclass(frozen=True)
class EvaluatePage:
    """What one run of the page is about."""

    explorer: Explorer
    view: EvaluateView
    collections: Sequence[CollectionInfo]

    @cached_property
    def info(self) -> CollectionInfo:
        """The collection of the view."""
        return next(one for one in self.collections if one.key == self.view.collection)

    @cached_property
    def connected(self) -> str:
        """Which model would be asked, part of the key of an evaluation; "" for none."""
        explorer = self.explorer
        return explorer.evaluations.model(chosen(explorer)) if endpoint(explorer).set_up else ""

    @property
    def lacks_model(self) -> bool:
        """Whether a model is needed, and none is connected."""
        return self.view.needs_model and not self.connected

    @cached_property
    def uploaded(self) -> dict[str, UploadedRun]:
        """The runs that people brought for the collection, by name."""
        return {run.name: run for run in self.explorer.collections.runs(self.info.key)}

    @property
    def seeds(self) -> int | None:
        """How many seeds are asked for; None for all."""
        if self.view.seeds is not None or self.view.runs:
            return self.view.seeds or None
        usual, many = (GAP_SAMPLE, GAP_MANY_SEEDS) if self.gap else (SAMPLE, MANY_SEEDS)
        return usual if self.info.seeds > many else None

    @cached_property
    def request(self) -> EvaluationRequest:
        """What the view asks for; without a model, as the one that answered it last did."""
        view, evaluations = self.view, self.explorer.evaluations
        request = EvaluationRequest(
            collection=view.collection,
            systems=view.systems,
            steer=view.steer,
            sample=self.seeds,
            human=view.human and bool(self.info.annotators),
            rerank=view.rerank,
            depth=view.depth,
            model=view.model or self.connected,
            runs=view.runs,
        )
        if view.needs_model and not request.model and view.systems:
            return evaluations.answered_by(request)
        return evaluations.checked(request) if self.has_systems else request

    @property
    def has_systems(self) -> bool:
        """Whether there is something to be measured."""
        return bool(self.view.retrievers if self.gap else self.view.systems or self.uploaded)

    @cached_property
    def gap_request(self) -> GapRequest:
        """The gap that the view asks for."""
        view = self.view
        return GapRequest(view.collection, view.verifier, view.retrievers, view.sizes, self.seeds)

    @property
    def gap(self) -> bool:
        """Whether the gap is measured, not systems."""
        return self.view.part == "gap"

    @property
    def tasks(self) -> Any:
        """What measures it."""
        return self.explorer.gaps if self.gap else self.explorer.evaluations

    @property
    def asked(self) -> EvaluationRequest | GapRequest:
        """The request of :attr:`tasks`."""
        return self.gap_request if self.gap else self.request

    @property
    def panel(self) -> TaskPanel[Any, Any]:
        """The measurement as a task."""
        gap, doing = self.gap, "Reading the collection"
        return TaskPanel(
            *(self.tasks, self.info.key if gap else "evaluation"),
            "evaluate_gap" if gap else "evaluate",
            doing=lambda job: (job.progress.phase or doing, ""),
            outcome=lambda *_: (),
        )

    @cached_property
    def job(self) -> Job[Any, Any] | None:
        """The measurement that runs, or the last one, as this run of the page found it."""
        return self.panel.job()

    def latest_job(self) -> Job[Any, Any] | None:
        """:attr:`job` as it is now; the page is drawn again where the job ended meanwhile: what
        is above is out of date."""
        now = self.panel.job()
        if self.job is not None and self.job.running and not (now is not None and now.running):
            st.rerun()
        return now

    @cached_property
    def aspects(self) -> list[str]:
        """As in the lens, which gives aspects their colours everywhere."""
        return [aspect.key for aspect in self.explorer.library.lens(self.info.corpus).aspects]

    @cached_property
    def titles(self) -> dict[str, str]:
        """query_id -> the title of its seed."""
        return dict(self.explorer.collections.query_titles(self.info.key))

    @property
    def hidden(self) -> list[str]:
        """Measures that only CSFCube has."""
        return [] if self.info.source_format == "csfcube" else [CSFCUBE_NDCG]

    def renewed(self) -> EvaluatePage:
        """The page of the model that is connected now, once that is in the address."""
        view = replace(self.view, model="")
        view.write()
        return replace(self, view=view)


def open_view(explorer: Explorer, collections: Sequence[CollectionInfo]) -> EvaluatePage:
    """The page of the address, with a collection that is there."""
    known = {info.key: info for info in collections}
    view = EvaluateView.opened()
    try:
        if st.query_params and view.collection and view.collection not in known:
            explorer.collections.info(view.collection)  # says why not
    except SeedLensError as error:
        show_error(error)
    if view.collection not in known:
        first = explorer.demo_corpus if explorer.demo_corpus in known else collections[0].key
        view = replace(view, collection=first)
    view.write()
    return EvaluatePage(explorer, view, collections)


def of_request(request: EvaluationRequest, measure: str) -> EvaluateView:
    """The view that shows a previous run."""
    same = ("collection", "systems", "steer", "human", "rerank", "depth", "model")
    values = {name: getattr(request, name) for name in same}
    return EvaluateView(**values, seeds=request.sample or 0, measure=measure, runs=request.runs)


def of_gap(view: EvaluateView, record: GapRecord) -> EvaluateView:
    """The view that shows a gap that was measured before."""
    request = record.request
    return replace(
        view,
        part="gap",
        seeds=request.sample or 0,
        verifier=request.verifier,
        retrievers=request.systems,
        sizes=request.sizes,
        model=record.model,
    )


def collection_label(info: CollectionInfo) -> str:
    """``csfcube``, or ``mine.qrels on demo`` for judgments that the corpus did not come with."""
    by_itself = info.uploaded or info.key.startswith(f"{info.corpus}@")
    if info.source_format == "project" and not info.key.endswith(":"):
        return f"{info.corpus}:{info.name}"  # which may have been renamed
    return f"{Path(info.source).name} on {info.corpus}" if by_itself else info.key


def run_label(name: str) -> str:
    """``Word match (bm25) + pairwise``: a run by what it does; one of people by its name."""
    system, _, mode = name.rpartition("+")
    if system and mode in Explorer.rerank_modes:
        return f"{run_label(system)} + {mode}"
    return "People" if name == "human" else system_label(name)


def labelled(evaluation: Evaluation) -> Evaluation:
    """With systems by what they do, as the page shows them."""
    tests = [
        {**row, "systems": [run_label(name) for name in row["systems"]]}
        for row in evaluation.significance
    ]
    systems = {run_label(name): scores for name, scores in evaluation.systems.items()}
    return replace(evaluation, systems=systems, significance=tuple(tests))


def moment(time: str) -> str:
    """A time of the ledger on the clock of this machine: ``2026-11-22 14:05``."""
    return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}"


def seeds_of(sample: int | None) -> str:
    """Of how many seeds a measurement is."""
    return counted(sample, "seed") if sample else "all seeds"
