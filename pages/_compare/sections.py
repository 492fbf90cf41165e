"""The right column of the Compare page, from the verdicts down to the frontier."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.comparisons import Comparison, Frontier, Variant
from engine.types.lenses import Lens
from pages._common.components import chart, dark
from pages._common.shared import attempt, error_boundary, note, show_error
from pages._compare import compare_charts
from pages._compare.compare_components import flow, papers
from pages._compare.compare_session import Asked, Stamp, evidence, traded
from pages._compare.compare_verdicts import verdicts
from pages._compare.compare_view import DEPTHS, MATRICES, SHOWS, CompareView, change_view
from pages._compare.exports import exports
from pages._compare.measures import MEASURES, measures


def heading(explorer: Explorer, view: CompareView, comparison: Comparison | None) -> str:
    """What the right column is about; returns the choice between one seed and all of them."""

    def switch() -> None:
        chosen = st.session_state["compare_show"]
        change_view(explorer, lambda now: replace(now, show=chosen or now.show))

    left, right = st.columns([4, 1.6], vertical_alignment="center")
    st.session_state["compare_show"] = view.show
    left.segmented_control(
        "What to compare on",
        SHOWS,
        format_func={"seed": "This seed", "collection": "Whole collection"}.__getitem__,
        key="compare_show",
        on_change=attempt,
        args=(switch,),
        label_visibility="collapsed",
    )
    if comparison is not None and view.show == "seed":
        with right:
            exports(explorer, view, comparison)
    return view.show


def all_sections(
    explorer: Explorer,
    view: CompareView,
    comparison: Comparison,
    lens: Lens,
    asked: Asked,
    stamp: Stamp,
    changes: Mapping[str, str],
) -> None:
    """Everything about one seed; what only makes sense for two variants waits for the second.

    Args:
        changes: for each variant that a model reranked, what that changed.
    """
    verdicts(comparison, changes)
    rank_flow(explorer, view, comparison)
    movers(explorer, view, comparison, lens, asked, stamp)
    if len(comparison.variants) > 1:
        sensitivity_matrix(explorer, view, comparison)
    measures(comparison)
    likeness(comparison, lens)
    frontier(explorer, view, asked, stamp, by_model=bool(changes))


def rank_flow(explorer: Explorer, view: CompareView, comparison: Comparison) -> None:
    """The rank flow, and how deep it shows the rankings."""

    def deepen() -> None:
        depth = st.session_state["compare_depth"]
        change_view(explorer, lambda now: replace(now, depth=depth or now.depth))

    left, right = st.columns([3, 1.2], vertical_alignment="center")
    left.html("<h3>Rank flow</h3>")
    st.session_state["compare_depth"] = view.depth
    right.segmented_control(
        "Ranks shown",
        DEPTHS,
        format_func=lambda depth: f"Top {depth}",
        key="compare_depth",
        on_change=attempt,
        args=(deepen,),
        label_visibility="collapsed",
    )
    flow(
        comparison,
        view.depth,
        view.document,
        on_open=lambda doc_id: _open(explorer, doc_id),
        key="compare_flow",
    )


def _open(explorer: Explorer, doc_id: str) -> None:
    """Open a document, or close the one that is open."""
    change_view(
        explorer, lambda now: replace(now, document="" if doc_id == now.document else doc_id)
    )


def movers(
    explorer: Explorer,
    view: CompareView,
    comparison: Comparison,
    lens: Lens,
    asked: Asked,
    stamp: Stamp,
) -> None:
    """What moves most, and the evidence of the document that is open."""
    opened = None
    if view.document:
        try:
            opened = evidence(explorer, asked, view.variants, stamp, view.document)
        except SeedLensError as error:
            show_error(error)
    if not comparison.movers and opened is None:
        return
    title = "Largest rank changes" if comparison.movers else "The document you opened"
    st.html(
        f'<h3>{title}</h3><div class="cmp-dim">Places near the top count more. Open one '
        "for its evidence under each wording; what the first variant does not show is marked.</div>"
        if comparison.movers
        else f"<h3>{title}</h3>"
    )
    papers(
        comparison,
        lens,
        opened,
        on_open=lambda doc_id: _open(explorer, doc_id),
        key="compare_papers",
    )


def sensitivity_matrix(explorer: Explorer, view: CompareView, comparison: Comparison) -> None:
    """Every variant against every other, by the measure that is chosen."""

    def switch() -> None:
        chosen = st.session_state["compare_matrix"]
        change_view(explorer, lambda now: replace(now, matrix=chosen or now.matrix))

    st.html("<h3>Rank similarity</h3>")
    st.session_state["compare_matrix"] = view.matrix
    st.segmented_control(
        "Measure",
        MATRICES,
        format_func=lambda key: MEASURES[key][0],
        key="compare_matrix",
        on_change=attempt,
        args=(switch,),
        label_visibility="collapsed",
    )
    values = {(p.first, p.second): getattr(p, view.matrix) for p in comparison.pairs}
    if view.matrix == "p_mrr" and all(v is None for v in values.values()):
        reason = comparison.unjudged_reason or "No document is judged alike in one aspect only."
        note(reason, "RBO, tau and overlap need no judgments.")
        return
    names = [v.variant.name for v in comparison.variants]
    chart(
        compare_charts.matrix(names, values, view.matrix, dark=dark()),
        heading="",
        words=MEASURES[view.matrix][1],
        name=f"matrix-{view.matrix}",
        alt=f"{MEASURES[view.matrix][0]} between {len(names)} variants",
        key="compare_matrix_chart",
    )


def likeness(comparison: Comparison, lens: Lens) -> None:
    """In which aspects the top 20 came closer to the seed."""
    figure = compare_charts.likeness(comparison, lens, dark=dark())
    if figure is None:
        return
    chart(
        figure,
        heading="<h3>What the top 20 are more similar in</h3>",
        words="An estimate from sentence vectors: how much more alike to the seed the top 20 are "
        "than those of the same system without a wording.",
        name="likeness",
        alt="Gain in likeness of the top 20 by aspect, for each variant (estimate)",
        key="compare_likeness_chart",
    )


def frontier(
    explorer: Explorer, view: CompareView, asked: Asked, stamp: Stamp, *, by_model: bool
) -> None:
    """What steer trades for what, for one variant whose system reads it."""
    steered = [v for v in view.variants if explorer.reads_steer(v.system)]
    if not steered:
        st.html("<h3>Relevance-adherence trade-off</h3>")
        note(
            "None of these systems reads the aspect weight.",
            "Add a variant on the system “aspect”.",
        )
        return
    variant = _steered(explorer, view, steered)
    key = (explorer, asked, replace(variant, name="steered", steer=0.5), stamp)
    found = traded(*key)
    if not found.done():
        st.html(
            "<h3>Relevance-adherence trade-off</h3>"
            '<div class="cmp-dim" role="status">Ranking at eleven aspect weights …</div>'
        )
        st.fragment(_wait, run_every=0.5)(found)
        return
    if found.exception() is not None:
        traded.clear(*key)  # so that another visit tries again
    with error_boundary():
        _draw_frontier(found.result(), variant, by_model=by_model)


def _wait(found: Future[Frontier]) -> None:
    if found.done():
        st.rerun(scope="app")


def _draw_frontier(found: Frontier, variant: Variant, *, by_model: bool) -> None:
    if all(point.instruction_following is None for point in found.points):
        st.html("<h3>Relevance-adherence trade-off</h3>")
        note(
            "Instruction following is undefined for this seed: there is nothing to set against "
            "relevance.",
            "It takes documents that are judged alike in one aspect only.",
        )
        return
    chart(
        compare_charts.frontier(found, variant.steer, dark=dark()),
        heading="<h3>Relevance-adherence trade-off</h3>",
        words=("Of the system alone, without the model. " if by_model else "")
        + _frontier_words(found.judged),
        name="frontier",
        alt="Instruction following against relevance from aspect weight 0 to 100 %; "
        f"{variant.steer:.0%} is in use",
        key="compare_frontier_chart",
    )


def _steered(explorer: Explorer, view: CompareView, steered: list[Variant]) -> Variant:
    by_name = {v.name: v for v in steered}
    current = by_name.get(view.steered, steered[0])
    if len(by_name) == 1:
        return current

    def change() -> None:
        chosen = st.session_state["compare_steered"]
        change_view(explorer, lambda now: replace(now, steered=chosen))

    # Names are people's words, and a select box shows its options as they are.
    st.session_state["compare_steered"] = current.name
    st.selectbox(
        "Trade-off of", list(by_name), key="compare_steered", on_change=attempt, args=(change,)
    )
    return current


def _frontier_words(judged: bool) -> str:
    if judged:
        return (
            "From aspect weight 0 % (the whole document) to 100 % (the aspect only); the ring is "
            "the weight in use. Right: documents judged alike only in the aspect stand higher "
            "than at 0 %. Up: the better graded lead. One seed; another one's may bend otherwise."
        )
    return (
        "An estimate, as nobody judged two aspects of this seed. Right: more of the top 20 are "
        "others than at 0 %. Up: they are more alike to the seed as a whole."
    )
