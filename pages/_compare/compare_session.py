"""What the Compare page asks the engine, remembered between reruns."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
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
from engine.types.lenses import Lens
from engine.types.models import Estimate
from engine.types.reranking import EndpointInfo
from engine.types.searches import Query
from pages._compare.compare_url import CompareView
from pages._login import login
from pages._model.beside import beside

Stamp = tuple[Any, ...]
"""What changes when a comparison would, part of the key; who is logged in (or None) goes first."""


def asked(explorer: Explorer, view: CompareView) -> ComparisonRequest:
    """What the view asks the engine for; BadInputError for filters that cannot be read."""
    text = explorer.notebook.text(view.text_id) if view.text_id else None
    seed = None if view.text_id else view.seed or None
    filters = explorer.parse_filters(view.where)
    return ComparisonRequest(
        view.corpus, seed, text, view.aspect, view.variants, filters, login.name()
    )


def stamp(explorer: Explorer, view: CompareView, lens: Lens) -> Stamp:
    """What a comparison rests on besides what was asked: the corpus as it is, and own grades."""
    who = login.name()
    grades = [
        tuple(sorted(explorer.notebook.grades(query, who).items()))
        for query in (Query(view.corpus, view.seed, aspect=a.key) for a in lens.aspects)
        if view.seed
    ]
    systems = [variant.system for variant in view.variants]
    return who, explorer.comparing.stamp(view.corpus, systems), *grades


@st.cache_resource(show_spinner=False, max_entries=64)
def compared(
    _explorer: Explorer,
    asked: ComparisonRequest,
    stamp: Stamp,  # noqa: ARG001 - part of the key
    which: tuple[str, str, int] | None = None,  # noqa: ARG001 - part of the key
    _orders: ModelOrders | None = None,
) -> Comparison:
    """The comparison, computed once; errors are not remembered.

    Args:
        which: tells a model's orders apart: id and state of the reranking, and how many
            variants are done.
    """
    return _explorer.comparing.compare(asked, _orders)


@st.cache_resource(show_spinner=False, max_entries=64)
def estimated(
    _explorer: Explorer,
    request: VariantsRequest,
    stamp: Stamp,  # noqa: ARG001 - part of the key
    info: EndpointInfo,  # noqa: ARG001 - part of the key
    _endpoint: Any,
) -> Estimate:
    """What reranking would cost at most; asks nothing."""
    return _explorer.comparing.by_model.estimate(request, _endpoint)


@st.cache_resource(show_spinner=False, max_entries=128)
def evidence(
    _explorer: Explorer,
    asked: ComparisonRequest,
    stamp: Stamp,  # noqa: ARG001 - part of the key
    doc_id: str,
) -> MoverEvidence:
    """One document's evidence under each variant."""
    return _explorer.comparing.evidence(asked, doc_id)


@st.cache_resource(show_spinner=False, max_entries=64)
def traded(
    _explorer: Explorer,
    asked: ComparisonRequest,
    variant: Variant,
    stamp: Stamp,  # noqa: ARG001 - part of the key
) -> Future[Frontier]:
    """The frontier of one variant, begun beside the page: it takes eleven rankings."""
    return beside(partial(_explorer.comparing.frontier, asked, variant))
