"""What one run of the Compare page is about, and what it asks the engine, remembered."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import streamlit as st

from engine.explorer import Explorer
from engine.types.comparisons import (
    Comparison,
    ComparisonRequest,
    Frontier,
    ModelOrders,
    MoverEvidence,
    Variant,
    VariantsRequest,
)
from engine.types.models import Estimate
from engine.types.reranking import EndpointInfo
from engine.types.searches import Query
from pages._common.page import Page
from pages._compare.compare_state import CompareView
from pages._login import login
from pages._model.beside import beside

Stamp = tuple[Any, ...]
"""What changes when a comparison would, part of the key; who is logged in (or None) goes first."""
_remember = partial(st.cache_resource, show_spinner=False)


def request_of(explorer: Explorer, view: CompareView) -> ComparisonRequest:
    """What the view asks the engine for; BadInputError for filters that cannot be read."""
    text = explorer.notebook.text(view.text_id) if view.text_id else None
    seed, filters = None if view.text_id else view.seed or None, explorer.parse_filters(view.where)
    return ComparisonRequest(
        view.corpus, seed, text, view.aspect, view.variants, filters, login.name()
    )


@dataclass(frozen=True)
class ComparePage(Page[CompareView]):
    """A run of the page."""

    @cached_property
    def request(self) -> ComparisonRequest:
        """What the view asks for."""
        return request_of(self.explorer, self.view)

    @cached_property
    def stamp(self) -> Stamp:
        """What a comparison rests on besides: the corpus as it is, and own grades."""
        view, who, notebook = self.view, login.name(), self.explorer.notebook
        seeds = [Query(view.corpus, view.seed, aspect=a.key) for a in self.lens.aspects]
        grades = [tuple(sorted(notebook.grades(q, who).items())) for q in seeds if view.seed]
        systems = [variant.system for variant in view.variants]
        return who, self.explorer.comparing.stamp(view.corpus, systems), *grades

    def compared(
        self, which: tuple[str, str, int] | None = None, orders: ModelOrders | None = None
    ) -> Comparison:
        """The comparison, computed once; errors are not remembered.

        Args:
            which: tells a model's orders apart: id and state of the reranking, and how many
                variants are done.
        """
        return _compared(self.explorer, self.request, self.stamp, which, orders)

    def about(self, comparison: Comparison) -> str:
        """What a comparison is of, for the captions of exported figures."""
        key = comparison.aspect
        aspect = next((a.name for a in self.lens.aspects if a.key == key), key)
        seed = " ".join((comparison.seed.title or "pasted text").split())
        return f"Seed: “{seed}”. Aspect: {aspect}. Corpus: {comparison.corpus}."


@_remember(max_entries=64)
def _compared(
    _explorer: Explorer,
    request: ComparisonRequest,
    stamp: Stamp,  # noqa: ARG001 - part of the key
    which: tuple[str, str, int] | None,  # noqa: ARG001 - part of the key
    _orders: ModelOrders | None,
) -> Comparison:
    return _explorer.comparing.compare(request, _orders)


@_remember(max_entries=64)
def estimated(
    _explorer: Explorer,
    request: VariantsRequest,
    stamp: Stamp,  # noqa: ARG001 - part of the key
    info: EndpointInfo,  # noqa: ARG001 - part of the key
    _endpoint: Any,
) -> Estimate:
    """What reranking would cost at most; asks nothing."""
    return _explorer.comparing.by_model.estimate(request, _endpoint)


@_remember(max_entries=128)
def evidence(
    _explorer: Explorer,
    request: ComparisonRequest,
    stamp: Stamp,  # noqa: ARG001 - part of the key
    doc_id: str,
) -> MoverEvidence:
    """One document's evidence under each variant."""
    return _explorer.comparing.evidence(request, doc_id)


@_remember(max_entries=64)
def traded(
    _explorer: Explorer,
    request: ComparisonRequest,
    variant: Variant,
    stamp: Stamp,  # noqa: ARG001 - part of the key
) -> Future[Frontier]:
    """The frontier of one variant, begun beside the page: it takes eleven rankings."""
    return beside(partial(_explorer.comparing.frontier, request, variant))
