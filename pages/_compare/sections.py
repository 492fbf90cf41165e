"""The right column of the Compare page, from the verdicts down to the frontier."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.comparisons import Comparison, Frontier, Variant
from engine.types.evaluations import CSFCUBE_NDCG
from pages._common.charts import to_csv
from pages._common.kit import dim, el, html
from pages._common.shared import download, error_boundary, note, show_error
from pages._common.state import control
from pages._common.tables import SIMILARITY, floats, frame_chart, table
from pages._common.waiting import renew_when
from pages._compare import compare_charts
from pages._compare.compare_components import flow, moved_documents
from pages._compare.compare_state import DEPTHS, MATRICES, SHOWS, ComparePage, evidence, traded

KINDS = {
    "follows": ("follows", "full"),
    "costly": ("at a cost", "half"),
    "nothing": ("no effect", "empty"),
    "wrong way": ("wrong way", "swap"),
    "little": ("little", "quarter"),
    "different": ("different", "diamond"),
}
"""Kinds of verdicts: their words, and the icon that compare_page.css draws."""
MEASURED = (CSFCUBE_NDCG, "p-MRR", "Judged@20")
_ROW: dict[str, Any] = {"required": True, "label_visibility": "collapsed"}
TRADE_OFF = "<h3>Relevance-adherence trade-off</h3>"


def titled(title: str, words: str) -> None:
    """A heading of a section, and what it is about."""
    st.html(html(el("h3", title), el("div.sl-dim", words)))


def heading(page: ComparePage, comparison: Comparison | None) -> None:
    """What the right column is about: one seed, or all of them."""
    left, right = st.columns([4, 1.6], vertical_alignment="center")
    control(page.view, "show", left.segmented_control, "Scope", SHOWS, **_ROW)
    if comparison is not None and page.view.show == "seed":
        with right:
            _exports(page, comparison)


def _exports(page: ComparePage, comparison: Comparison) -> None:
    """The ranks, the runs, and the link."""
    explorer = page.explorer
    with st.popover("Export", width="stretch"):
        ranks, runs = (lambda: ranks_csv(explorer, comparison)), explorer.comparing.runs
        download("Ranks (CSV)", "ranks.csv", ranks, key="compare_csv", mime="text/csv")
        with error_boundary():  # ids with a space in them have no run
            file, key = "variants.run", "compare_runs"
            download("Rankings (TREC runs)", file, lambda: runs(comparison), key=key)
        st.caption("Copy the address to share this page.")
        if page.view.text_id or "stored" in st.query_params:
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


def all_sections(page: ComparePage, comparison: Comparison, changes: Mapping[str, str]) -> None:
    """Everything about one seed; what only makes sense for two variants waits for the second.

    Args:
        changes: for each variant that a model reranked, what that changed.
    """
    _verdicts(comparison, changes)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html("<h3>Rank flow</h3>")
        depths = {depth: f"Top {depth}" for depth in DEPTHS}
        row = {**_ROW, "width": "content"}
        control(page.view, "depth", st.segmented_control, "Ranks shown", depths, **row)
    flow(page, comparison)
    _movers(page, comparison)
    if len(comparison.variants) > 1:
        _similarity(page, comparison)
    _measures(comparison)
    _likeness(page, comparison)
    _frontier(page, comparison, by_model=bool(changes))


def _verdicts(comparison: Comparison, changes: Mapping[str, str]) -> None:
    """One sentence a variant, its numbers on demand."""
    rows: list[object] = []
    if changes:
        how = "an estimate (no judgments)" if comparison.unjudged_reason else "judged documents"
        words = (
            f"By {how}. Each variant is compared with the model’s reranking of the same system "
            "without an instruction."
        )
        rows += [el("h3.cmp-question", "Does the model follow the instruction?")]
        rows += [el("div.sl-dim", words)]
    rows += [comparison.best and el("div", el("strong", comparison.best))]
    for verdict in comparison.verdicts:
        word, mark = KINDS[verdict.kind]
        change = changes.get(verdict.variant, "")
        icon = el(f"span.cmp-mark.cmp-{mark}", aria_hidden="true")
        # A figure does not break at the end of a line.
        parts = re.split(r"(rank gain [+-][\d.]+\d|[\d.]+\d to [\d.]+\d)", verdict.text)
        text = [el("span.cmp-figure", part) if i % 2 else part for i, part in enumerate(parts)]
        summary = el(
            "summary",
            el(f"span.cmp-kind.cmp-{word.split()[0]}", icon, f" {word}"),
            " ",
            el("span", text, change and el("span.cmp-change", change)),
            el("span.cmp-more", "numbers"),
        )
        rows.append(el("details.cmp-verdict", summary, el("div", verdict.numbers)))
    if len(comparison.variants) == 1:
        rows.append(el("div.sl-dim", "Add a second variant to compare."))
    st.html(html(*rows))


def _movers(page: ComparePage, comparison: Comparison) -> None:
    """What moves most, and the evidence of the document that is open."""
    opened = None
    if page.view.document:
        try:
            opened = evidence(page.explorer, page.request, page.stamp, page.view.document)
        except SeedLensError as error:
            show_error(error)
    if comparison.movers:
        words = "Weighted towards top ranks. Select a document to see its evidence per variant."
        titled("Largest rank changes", words)
    elif opened is not None:
        st.html("<h3>Selected document</h3>")
    else:
        return
    moved_documents(page, comparison, opened)


# -- measures ------------------------------------------------------------------------------


def _similarity(page: ComparePage, comparison: Comparison) -> None:
    """Every variant against every other, by the measure that is chosen."""
    st.html("<h3>Rank similarity</h3>")
    measure = page.view.matrix
    measures = {key: SIMILARITY[key][0] for key in MATRICES}
    control(page.view, "matrix", st.segmented_control, "Measure", measures, **_ROW)
    values = {(p.first, p.second): getattr(p, measure) for p in comparison.pairs}
    if measure == "rank_gain" and all(v is None for v in values.values()):
        reason = comparison.unjudged_reason or "No document is relevant for exactly one aspect."
        note(reason, "RBO, tau and overlap need no judgments.")
        return
    names = [v.variant.name for v in comparison.variants]
    similarity_chart(
        *(names, values, measure, f"between {len(names)} variants"),
        words=SIMILARITY[measure][1],
        source=page.about(comparison),
        file=f"rank similarity {measure}",
        key="compare_matrix_chart",
    )


def similarity_chart(
    names: Sequence[str],
    values: compare_charts.Values,
    measure: str,
    between: str,
    *,
    words: str,
    source: str,
    file: str,
    key: str,
) -> None:
    """Every variant against every other as a chart with its file.

    Args:
        values: (first, second) -> value; None where there is none.
        between: what is compared, behind the measure's name in the title.
        words: under the chart; the file says ``source``, too.
    """
    title, frame = f"{SIMILARITY[measure][0]} {between}", compare_charts.matrix_frame(names, values)
    frame_chart(
        *(frame, partial(compare_charts.matrix, measure=measure), file, title),
        f"{words} {source}",
        words=words,
        alt=title,
        key=key,
    )


def measures_frame(comparison: Comparison) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What each variant reaches where judged, and how far it is from the first everywhere.

    Returns:
        The table, and its columns beside the usual ones.
    """
    first = comparison.variants[0].variant.name
    after = {p.second: p for p in comparison.pairs if p.first == first}
    before = {p.first: p for p in comparison.pairs if p.second == first}
    measured = [m for m in MEASURED if any(m in v.measures for v in comparison.variants)]
    columns: dict[str, tuple[str, Callable[[str], Any]]] = {}
    if len(comparison.variants) > 1:
        if any(p.rank_gain is not None for p in before.values()):
            columns[f"Rank gain over {first}"] = (
                SIMILARITY["rank_gain"][1].replace("the column's variant", first),
                lambda name: getattr(before.get(name), "rank_gain", None),
            )
        for key in ("rbo", "tau", "overlap"):
            columns[f"{SIMILARITY[key][0]} to {first}"] = (
                SIMILARITY[key][1],
                lambda name, key=key: getattr(after.get(name), key, None),  # type: ignore[misc]
            )
    rows = [
        {
            "Variant": v.variant.name,
            "System": v.variant.system,
            **{measure: v.measures.get(measure) for measure in measured},
            **{column: value(v.variant.name) for column, (_, value) in columns.items()},
        }
        for v in comparison.variants
    ]
    text = st.column_config.TextColumn
    meanings: dict[str, Any] = {"Variant": text(pinned=True), "System": text()}
    meanings |= {column: words for column, (words, _) in columns.items()}
    return floats(rows, *measured, *columns), meanings


def _measures(comparison: Comparison) -> None:
    frame, meanings = measures_frame(comparison)
    st.html("<h3>Measures</h3>")
    table(frame, "compare_measures", "Measures of every variant", meanings)
    words = "One seed has no interval. Use the whole collection for intervals."
    if comparison.unjudged_reason:
        words = f"{comparison.unjudged_reason} Comparing rankings only."
    dim(words)


def _likeness(page: ComparePage, comparison: Comparison) -> None:
    """In which aspects the top 20 came closer to the seed."""
    frame = compare_charts.likeness_frame(comparison)
    if frame.empty:
        return
    title = "Similarity of the top 20 by aspect"
    words = (
        "Estimate from sentence vectors: similarity gain of the top 20 over the same system "
        "without an instruction, in standard deviations over the corpus."
    )
    frame_chart(
        *(frame, partial(compare_charts.likeness, lens=page.lens), "similarity by aspect", title),
        f"{words} {page.about(comparison)}",
        heading=f"<h3>{title}</h3>",
        words=words,
        alt="Gain in similarity of the top 20 by aspect, for each variant (estimate)",
        key="compare_likeness_chart",
    )


# -- the frontier --------------------------------------------------------------------------


def _frontier(page: ComparePage, comparison: Comparison, *, by_model: bool) -> None:
    """What the aspect weight trades for what, for one variant whose system reads it."""
    view, explorer = page.view, page.explorer
    steered = {v.name: v for v in view.variants if explorer.reads_steer(v.system)}
    if not steered:
        st.html(TRADE_OFF)
        words = "None of these systems uses the aspect weight."
        note(words, "Add a variant on the system “aspect”.")
        return
    variant = steered.get(view.steered) or next(iter(steered.values()))
    if len(steered) > 1:
        names = {name: name for name in steered}
        control(view, "steered", st.selectbox, "Trade-off of", names, shown=variant.name)
    key = (explorer, page.request, replace(variant, name="steered", steer=0.5), page.stamp)
    work = traded(*key)
    if not work.done():
        st.html(TRADE_OFF)
        st.html(el("div.sl-dim", "Ranking at eleven aspect weights …", role="status"))
        renew_when(work.done, every=0.5)
        return
    if work.exception() is not None:
        traded.clear(*key)  # so that another visit tries again
    with error_boundary():
        words = "System only, without the model. " if by_model else ""
        _draw_frontier(work.result(), variant, words, page.about(comparison))


def _draw_frontier(curve: Frontier, variant: Variant, words: str, source: str) -> None:
    frame = compare_charts.frontier_frame(curve)
    if frame.empty:
        st.html(TRADE_OFF)
        note(
            "Instruction following is undefined for this seed.",
            "No document is relevant for exactly one aspect.",
        )
        return
    words += (
        "Aspect weight 0 % to 100 %; the ring is the weight in use. x: instruction following "
        "relative to 0 %. y: relevance (nDCG). Single seed."
        if curve.judged
        else "Estimate (no judgments). x: change of the top 20 relative to 0 %. y: overall "
        "similarity to the seed, in standard deviations over the corpus."
    )
    weight = variant.steer
    frame_chart(
        *(frame, partial(compare_charts.frontier, current=weight, judged=curve.judged)),
        *("trade-off", f"Relevance-adherence trade-off of “{variant.name}”"),
        f"{words} {source}",
        heading=TRADE_OFF,
        words=words,
        alt="Instruction following against relevance from aspect weight 0 to 100 %; "
        f"{weight:.0%} is in use",
        key="compare_frontier_chart",
    )
