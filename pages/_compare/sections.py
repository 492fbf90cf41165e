"""The right column of the Compare page, from the verdicts down to the frontier."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.comparisons import Comparison, ComparisonRequest, Frontier, Variant
from engine.types.lenses import Lens
from pages._common.components import chart
from pages._common.figure_file import FigureFile, to_csv
from pages._common.outside_text import escape, with_marks
from pages._common.shared import download, error_boundary, note, show_error
from pages._common.waiting import renew_when
from pages._compare import compare_charts
from pages._compare.compare_components import flow, moved_documents
from pages._compare.compare_session import Stamp, evidence, traded
from pages._compare.compare_tables import MEASURES, measures, similarity_chart
from pages._compare.compare_url import DEPTHS, MATRICES, SHOWS, CompareView

KINDS = {
    "follows": ("follows", "full"),
    "costly": ("at a cost", "half"),
    "nothing": ("no effect", "empty"),
    "wrong way": ("wrong way", "swap"),
    "little": ("little", "quarter"),
    "different": ("different", "diamond"),
}
"""Kinds of verdicts: their words, and the icon that compare_page.css draws."""
TRADE_OFF = "<h3>Relevance-adherence trade-off</h3>"


def heading(explorer: Explorer, view: CompareView, comparison: Comparison | None) -> str:
    """What the right column is about; returns the choice between one seed and all of them."""
    left, right = st.columns([4, 1.6], vertical_alignment="center")
    left.segmented_control(
        "Scope", SHOWS, **view.bound("show", "compare_show"), required=True,
        format_func={"seed": "This seed", "collection": "Whole collection"}.__getitem__,
        label_visibility="collapsed",
    )  # fmt: skip
    if comparison is not None and view.show == "seed":
        with right:
            exports(explorer, view, comparison)
    return view.show


def exports(explorer: Explorer, view: CompareView, comparison: Comparison) -> None:
    """The ranks, the runs, and the link."""
    with st.popover("Export", width="stretch"):
        download(
            "Ranks (CSV)", "ranks.csv", lambda: ranks_csv(explorer, comparison), key="compare_csv",
            mime="text/csv",
        )  # fmt: skip
        with error_boundary():  # ids with a space in them have no run
            download(
                "Rankings (TREC runs)", "variants.run", lambda: explorer.comparing.runs(comparison),
                key="compare_runs",
            )  # fmt: skip
        st.caption("Copy the address to share this page.")
        if view.text_id or "stored" in st.query_params:
            st.caption("Pasted texts are stored here, so the link works with this home only.")


def ranks_csv(explorer: Explorer, comparison: Comparison) -> str:
    """doc_id, title, and the rank under each variant; empty where a ranking does not reach."""
    opened = explorer.library.open(comparison.corpus)
    places = [{d: i for i, d in enumerate(v.ranking.doc_ids, start=1)} for v in comparison.variants]
    return to_csv(
        ["doc_id", "title", *(v.variant.name for v in comparison.variants)],
        (
            [doc_id, opened.titles[opened.row_of[doc_id]], *(p.get(doc_id, "") for p in places)]
            for doc_id in dict.fromkeys(d for place in places for d in place)
        ),
    )


def all_sections(
    explorer: Explorer,
    view: CompareView,
    comparison: Comparison,
    lens: Lens,
    asked: ComparisonRequest,
    stamp: Stamp,
    changes: Mapping[str, str],
) -> None:
    """Everything about one seed; what only makes sense for two variants waits for the second.

    Args:
        changes: for each variant that a model reranked, what that changed.
    """
    verdicts(comparison, changes)
    rank_flow(view, comparison, lens)
    movers(explorer, view, comparison, lens, asked, stamp)
    if len(comparison.variants) > 1:
        sensitivity_matrix(view, comparison, lens)
    measures(comparison)
    likeness(comparison, lens)
    of = about(comparison, lens)
    frontier(explorer, view, asked, stamp, by_model=bool(changes), of=of)


def about(comparison: Comparison, lens: Lens) -> str:
    """What a comparison is of, for the captions of exported figures."""
    aspect = next((a.name for a in lens.aspects if a.key == comparison.aspect), comparison.aspect)
    seed = " ".join((comparison.seed.title or "pasted text").split())
    return f"Seed: “{seed}”. Aspect: {aspect}. Corpus: {comparison.corpus}."


def verdicts(comparison: Comparison, changes: Mapping[str, str]) -> None:
    """One sentence a variant, its numbers on demand.

    Args:
        changes: for each variant that a model reranked, what that changed.
    """
    rows = [_question(comparison)] if changes else []
    if comparison.best:
        rows.append(f"<div><strong>{escape(comparison.best)}</strong></div>")
    for verdict in comparison.verdicts:
        word, mark = KINDS[verdict.kind]
        change = changes.get(verdict.variant, "")
        more = f'<span class="cmp-change">{escape(change)}</span>' if change else ""
        rows.append(
            f'<details class="cmp-verdict"><summary><span class="cmp-kind cmp-{word.split()[0]}">'
            f'<span class="cmp-mark cmp-{mark}" aria-hidden="true"></span> {word}</span> '
            f"<span>{_figures_whole(escape(verdict.text))}{more}</span>"
            '<span class="cmp-more">numbers</span></summary>'
            f"<div>{escape(verdict.numbers)}</div></details>"
        )
    if len(comparison.variants) == 1:
        rows.append('<div class="cmp-dim">Add a second variant to compare.</div>')
    st.html("".join(rows))


def _question(comparison: Comparison) -> str:
    judged = not comparison.unjudged_reason
    how = "judged documents" if judged else "an estimate (no judgments)"
    return (
        '<h3 class="cmp-question">Does the model follow the instruction?</h3>'
        f'<div class="cmp-dim">By {how}. Each variant is compared with the model’s reranking of '
        "the same system without an instruction.</div>"
    )


def _figures_whole(text: str) -> str:
    """A figure does not break at the end of a line."""
    return re.sub(
        r"rank gain [+-][\d.]+\d|[\d.]+\d to [\d.]+\d",
        r'<span class="cmp-figure">\g<0></span>',
        text,
    )


def rank_flow(view: CompareView, comparison: Comparison, lens: Lens) -> None:
    """The rank flow, and how deep it shows the rankings."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html("<h3>Rank flow</h3>")
        st.segmented_control(
            "Ranks shown", DEPTHS, **view.bound("depth", "compare_depth"), required=True,
            format_func=lambda depth: f"Top {depth}", label_visibility="collapsed",
            width="content",
        )  # fmt: skip
    flow(view, comparison, about(comparison, lens))


def movers(
    explorer: Explorer,
    view: CompareView,
    comparison: Comparison,
    lens: Lens,
    asked: ComparisonRequest,
    stamp: Stamp,
) -> None:
    """What moves most, and the evidence of the document that is open."""
    opened = None
    if view.document:
        try:
            opened = evidence(explorer, asked, stamp, view.document)
        except SeedLensError as error:
            show_error(error)
    if not comparison.movers and opened is None:
        return
    if comparison.movers:
        st.html(
            '<h3>Largest rank changes</h3><div class="cmp-dim">Weighted towards top ranks. Select '
            "a document to see its evidence per variant.</div>"
        )
    else:
        st.html("<h3>Selected document</h3>")
    moved_documents(comparison, lens, opened)


def sensitivity_matrix(view: CompareView, comparison: Comparison, lens: Lens) -> None:
    """Every variant against every other, by the measure that is chosen."""
    st.html("<h3>Rank similarity</h3>")
    st.segmented_control(
        "Measure", MATRICES, **view.bound("matrix", "compare_matrix"), required=True,
        format_func=lambda key: MEASURES[key][0], label_visibility="collapsed",
    )  # fmt: skip
    values = {(p.first, p.second): getattr(p, view.matrix) for p in comparison.pairs}
    if view.matrix == "rank_gain" and all(v is None for v in values.values()):
        reason = comparison.unjudged_reason or "No document is relevant for exactly one aspect."
        note(reason, "RBO, tau and overlap need no judgments.")
        return
    names = [v.variant.name for v in comparison.variants]
    similarity_chart(
        names, values, view.matrix, f"between {len(names)} variants",
        words=MEASURES[view.matrix][1], source=about(comparison, lens),
        file=f"rank similarity {view.matrix}", key="compare_matrix_chart",
    )  # fmt: skip


def likeness(comparison: Comparison, lens: Lens) -> None:
    """In which aspects the top 20 came closer to the seed."""
    if not any(ranked.likeness for ranked in comparison.variants):
        return
    title = "Similarity of the top 20 by aspect"
    words = (
        "Estimate from sentence vectors: similarity gain of the top 20 over the same system "
        "without an instruction, in standard deviations over the corpus."
    )
    chart(
        lambda dark: compare_charts.likeness(comparison, lens, dark=dark),
        FigureFile(
            "similarity by aspect",
            title,
            f"{words} {about(comparison, lens)}",
            ["variant", "aspect", "gain (standard deviations)"],
            compare_charts.likeness_rows(comparison),
        ),
        heading=f"<h3>{title}</h3>",
        words=words,
        alt="Gain in similarity of the top 20 by aspect, for each variant (estimate)",
        key="compare_likeness_chart",
    )


def frontier(
    explorer: Explorer,
    view: CompareView,
    asked: ComparisonRequest,
    stamp: Stamp,
    *,
    by_model: bool,
    of: str,
) -> None:
    """What steer trades for what, for one variant whose system reads it.

    Args:
        of: what the comparison is of, for the exported figure.
    """
    steered = [v for v in view.variants if explorer.reads_steer(v.system)]
    if not steered:
        st.html(TRADE_OFF)
        note(
            "None of these systems uses the aspect weight.",
            "Add a variant on the system “aspect”.",
        )
        return
    variant = _steered(view, steered)
    key = (explorer, asked, replace(variant, name="steered", steer=0.5), stamp)
    work = traded(*key)
    if not work.done():
        st.html(
            f'{TRADE_OFF}<div class="cmp-dim" role="status">'
            "Ranking at eleven aspect weights …</div>"
        )
        renew_when(work.done, every=0.5)
        return
    if work.exception() is not None:
        traded.clear(*key)  # so that another visit tries again
    with error_boundary():
        _draw_frontier(work.result(), variant, by_model=by_model, of=of)


def _draw_frontier(curve: Frontier, variant: Variant, *, by_model: bool, of: str) -> None:
    if all(point.instruction_following is None for point in curve.points):
        st.html(TRADE_OFF)
        note(
            "Instruction following is undefined for this seed.",
            "No document is relevant for exactly one aspect.",
        )
        return
    words = "System only, without the model. " if by_model else ""
    words += _frontier_words(curve.judged)
    chart(
        lambda dark: compare_charts.frontier(curve, variant.steer, dark=dark),
        FigureFile(
            "trade-off",
            f"Relevance-adherence trade-off of “{variant.name}”",
            f"{words} {of}",
            ["aspect weight", *compare_charts.frontier_axes(curve)],
            compare_charts.frontier_rows(curve),
        ),
        heading=TRADE_OFF,
        words=words,
        alt="Instruction following against relevance from aspect weight 0 to 100 %; "
        f"{variant.steer:.0%} is in use",
        key="compare_frontier_chart",
    )


def _steered(view: CompareView, steered: list[Variant]) -> Variant:
    by_name = {v.name: v for v in steered}
    current = by_name.get(view.steered, steered[0])
    if len(by_name) > 1:
        # Names are people's words, and a select box shows its options as they are.
        st.selectbox(
            "Trade-off of", list(by_name), format_func=with_marks,
            **view.bound("steered", "compare_steered", current.name),
        )  # fmt: skip
    return current


def _frontier_words(judged: bool) -> str:
    if judged:
        return (
            "Aspect weight 0 % to 100 %; the ring is the weight in use. x: instruction following "
            "relative to 0 %. y: relevance (nDCG). Single seed."
        )
    return (
        "Estimate (no judgments). x: change of the top 20 relative to 0 %. y: overall similarity "
        "to the seed, in standard deviations over the corpus."
    )
