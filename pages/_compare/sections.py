"""The right column of the Compare page, from the verdicts down to the frontier."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.comparisons import Comparison, Frontier, MoverEvidence, Variant
from engine.types.evaluations import CSFCUBE_NDCG
from pages._common import document_view
from pages._common.charts import FigureFile, number, to_csv
from pages._common.components import component, listen
from pages._common.kit import button, dim, el, empty, grid, html
from pages._common.shared import download, error_boundary, note, show_error, system_label
from pages._common.state import control
from pages._common.tables import SIMILARITY, floats, frame_chart, signed_number, table
from pages._common.waiting import beside, renew_when
from pages._compare import compare_charts
from pages._compare.compare_state import (
    DEPTHS,
    MATRICES,
    SHOWS,
    ComparePage,
    CompareView,
    kept,
    labelled,
    labels_of,
    short,
    wording_of,
)

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
PAIRS_SHOWN = 2
_FLOW = component("compare_flow", "figure")
_DOCUMENTS = component("compare_papers")
TRADE_OFF = "<h3>Relevance-adherence trade-off</h3>"


def titled(title: str, words: str) -> None:
    """A heading of a section, and what it is about."""
    st.html(html(el("h3", title), el("div.sl-dim", words)))


def heading(page: ComparePage, comparison: Comparison | None) -> None:
    """What the right column is about: one seed, or all of them."""
    with st.container(horizontal=True, vertical_alignment="center"):
        control(page.view, "show", st.segmented_control, "Scope", SHOWS, width="stretch", **_ROW)
        if comparison is not None and page.view.show == "seed":
            present: Any = (page.view.change, lambda now: replace(now, present=True))
            words = "Large type without controls, for slides and talks."
            button("Present", "compare_present_on", *present, help=words)
            _exports(page, comparison)


def presented(page: ComparePage, comparison: Comparison) -> None:
    """What an audience sees: the seed, what does best, the verdicts and the rank flow."""
    shown = labelled(comparison)
    with st.container(key="compare_present"):
        with st.container(horizontal=True, horizontal_alignment="right"):
            leave: Any = (page.view.change, lambda now: replace(now, present=False))
            button("Leave", "compare_present_off", *leave, shortcut="Escape")
        aspect = next((a.name for a in page.lens.aspects if a.key == comparison.aspect), "")
        title = comparison.seed.title or "Pasted text"
        st.html(el("div.cmp-seed", el("div.cmp-meta", f"Similar in {aspect}"), el("h2", title)))
        _verdicts(shown, {}, numbers=False)
        flow(page, shown, plain=True)


def _exports(page: ComparePage, comparison: Comparison) -> None:
    """The ranks, the runs, and the link."""
    explorer = page.explorer
    with st.popover("Export"):
        ranks, runs = (lambda: ranks_csv(explorer, comparison)), explorer.comparing.runs
        download("Ranks (CSV)", "ranks.csv", ranks, key="compare_csv", mime="text/csv")
        with error_boundary():  # ids with a space in them have no run
            file, key = "variants.run", "compare_runs"
            download("Rankings (TREC runs)", file, lambda: runs(comparison), key=key)
        st.caption("Copy the address to share this page.")
        if page.view.text_id or "stored" in st.query_params:
            st.caption("Pasted texts are stored here, so the link works in this installation only.")


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
    raw, labels = comparison, labels_of([v.variant for v in comparison.variants])
    comparison = labelled(raw)
    changes = {labels[name]: words for name, words in changes.items()}
    _grid(page, raw)
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


def _order(comparison: Comparison) -> list[str]:
    """The names of the variants, the best first; as given without ratings."""
    names = [v.variant.name for v in comparison.variants]
    return sorted(names, key=lambda name: -comparison.ratings.get(name, 0.0))


def grid_frame(comparison: Comparison) -> tuple[pd.DataFrame, list[list[str]]]:
    """Wordings by systems, the best wording first, with the figures of every cell.

    Returns:
        The table, and the names of the variants in its cells, "" where there is none.
    """
    ranked = {v.variant.name: v for v in comparison.variants}
    kinds = {v.variant: KINDS[v.kind][0] for v in comparison.verdicts}
    systems = list(dict.fromkeys(ranked[name].variant.system for name in _order(comparison)))
    places: dict[str, dict[str, str]] = {}
    for name in _order(comparison):
        variant, words = ranked[name].variant, wording_of(ranked[name].variant)
        if variant.system in places.get(words, {}):  # at another weight
            words = f"{words} · {variant.steer:.0%} · {name}"
        places.setdefault(words, {})[variant.system] = name

    def cell(name: str) -> str:
        if not name:
            return ""
        value, p_mrr = comparison.ratings.get(name), ranked[name].measures.get("p-MRR")
        following = "" if p_mrr is None else f"p-MRR {signed_number(p_mrr)}"
        parts = ["" if value is None else number(value), following, kinds[name]]
        return " · ".join(filter(None, parts))

    names = [[row.get(system, "") for system in systems] for row in places.values()]
    cells = [[words, *map(cell, own)] for words, own in zip(places, names, strict=True)]
    return pd.DataFrame(cells, columns=["Instruction", *map(system_label, systems)]), names


def _grid(page: ComparePage, comparison: Comparison) -> None:
    """Every wording on every system; a click on a cell opens its list."""
    if len(comparison.variants) < 2:
        return
    by = f"Best first, by {comparison.by}." if comparison.ratings else ""
    titled("Instructions and systems", f"{by} Select a cell to see its ranking.")
    frame, names = grid_frame(comparison)
    heads = list(frame.columns[1:])
    width: Any = "large" if len(heads) < 3 else "medium"
    open_ = _opened(page, comparison)
    opened = [[i, heads[own.index(open_)]] for i, own in enumerate(names) if open_ in own]

    def chosen(row: int, head: str) -> None:
        name = names[row][heads.index(head)] if head in heads else ""
        CompareView.change(lambda now: replace(now, cell=name))

    _clickable(
        *("grid", frame, "Instructions and systems", chosen),
        height="content",
        column_config={"Instruction": st.column_config.TextColumn(pinned=True, width=width)},
        selection_default={"selection": {"rows": [], "columns": [], "cells": opened}},
    )
    _list(page, comparison)


def _clickable(
    name: str, frame: pd.DataFrame, alt: str, do: Callable[[int, str], None], **options: Any
) -> None:
    """A table whose cells are clicked; ``do`` gets the row and the column."""
    key = f"compare_{name}_{hashlib.sha256(frame.to_json().encode()).hexdigest()[:12]}"

    def clicked() -> None:
        for row, head in st.session_state[key]["selection"]["cells"]:
            do(row, head)

    grid(frame, key, alt, on_select=clicked, selection_mode="single-cell", **options)


def _opened(page: ComparePage, comparison: Comparison) -> str:
    """The variant whose list is open: the one that was chosen, or the best."""
    order = _order(comparison)
    return page.view.cell if page.view.cell in order else order[0]


def _list(page: ComparePage, comparison: Comparison) -> None:
    """The ranking of the cell that is chosen; a click on a document opens its evidence."""
    name = _opened(page, comparison)
    ranked = next(v for v in comparison.variants if v.variant.name == name)
    doc_ids = ranked.ranking.doc_ids[: page.view.depth]
    rows = [
        {
            "Rank": rank,
            "Document": comparison.titles.get(doc_id) or doc_id,
            **({"Grade": comparison.grades.get(doc_id)} if comparison.grades else {}),
        }
        for rank, doc_id in enumerate(doc_ids, start=1)
    ]
    if not rows:
        empty("No results for this instruction. Try another system.")
        return
    words = f"{wording_of(ranked.variant)} · {system_label(ranked.variant.system)}"
    dim(words)

    def chosen(row: int, _: str) -> None:
        CompareView.change(lambda now: replace(now, document=doc_ids[row]))

    _clickable(
        *("list", pd.DataFrame(rows), f"Ranking of {words}", chosen),
        height=33 * 6 + 3,
        placeholder="–",
        column_config={
            "Rank": st.column_config.NumberColumn(width=60),
            "Document": st.column_config.TextColumn(width="large"),
            "Grade": st.column_config.NumberColumn(width=70),
        },
    )


def _verdicts(comparison: Comparison, changes: Mapping[str, str], *, numbers: bool = True) -> None:
    """One sentence a variant, the best first; ``numbers``: they unfold."""
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
    order = _order(comparison)
    for verdict in sorted(comparison.verdicts, key=lambda one: order.index(one.variant)):
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
            el(
                "span",
                *(el("strong", short(verdict.variant, 110), title=verdict.variant), " ", text),
                change and el("span.cmp-change", change),
            ),
            numbers and el("span.cmp-more", "numbers"),
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
            doc_id = page.view.document
            do = partial(page.explorer.comparing.evidence, page.request, doc_id)
            opened = kept(do, "evidence", page.request, page.stamp, doc_id)
        except SeedLensError as error:
            show_error(error)
    titles = {m.doc_id: m.title or m.doc_id for m in comparison.movers}
    if comparison.movers:
        words = "Weighted towards top ranks. Select a document to see its evidence per variant."
        titled("Largest rank changes", words)
    elif opened is not None:
        st.html("<h3>Selected document</h3>")
    else:
        return
    if opened is not None and opened.document.doc_id not in titles:
        titles = {opened.document.doc_id: document_view.title_of(opened.document), **titles}
    _DOCUMENTS(
        key="compare_papers",
        data={
            "columns": [v.variant.name for v in comparison.variants],
            "papers": [
                {"doc_id": d, "title": title, "ranks": list(comparison.ranks_of(d))}
                for d, title in titles.items()
            ],
            "opened": None if opened is None else _unfolded(page, comparison, opened),
        },
        on_open_change=listen("compare_papers", "open", _open),
    )


def flow(page: ComparePage, comparison: Comparison, *, plain: bool = False) -> None:
    """Documents through the variants' rankings, one line each; a click opens one.

    Args:
        plain: without hint and menu.
    """
    view, count = page.view, len(comparison.variants)
    ranks = compare_charts.rank_flow(comparison, view.depth)
    grades = [line["grade"] for line in ranks["lines"]]
    under = f" under {count} variants" if count > 1 else ""
    file = FigureFile(
        "rank flow",
        f"Rank flow: the top {view.depth}{under}",
        f"{page.about(comparison)} One line per document.",
        *compare_charts.flow_rows(ranks),
    )
    _FLOW(
        key="compare_flow",
        data={
            **ranks,
            **file.data(),
            "selected": view.document,
            "plain": plain,
            "inks": [compare_charts.flow_ink(grades, dark=dark) for dark in (False, True)],
            "file_ink": compare_charts.flow_ink(grades, dark=False, file=True),
        },
        on_open_change=listen("compare_flow", "open", _open),
    )


def _open(event: Mapping[str, Any]) -> None:
    """Open a document, or close the one that is open."""
    doc_id = event["doc_id"]
    CompareView.change(lambda now: replace(now, document="" if doc_id == now.document else doc_id))


def _unfolded(page: ComparePage, comparison: Comparison, opened: MoverEvidence) -> dict[str, Any]:
    """A document with its evidence under each variant."""
    document, lens, blocks = opened.document, page.lens, []
    ranks = comparison.ranks_of(document.doc_id)
    columns = zip(comparison.variants, ranks, opened.evidence, opened.gained, strict=True)
    for place, (ranking, rank, pairs, gained) in enumerate(columns):
        same = place > 0 and bool(pairs) and not gained
        # What is only here comes first: it is what changed.
        marked = sorted(((e, place > 0 and e in gained) for e in pairs), key=lambda p: not p[1])
        shown = [] if same else marked[:PAIRS_SHOWN]
        evidence = [{**document_view.evidence(e, lens), "gained": new} for e, new in shown]
        block = {"name": ranking.variant.name, "rank": rank, "same": same, "pairs": evidence}
        blocks.append(block)
    return {
        "doc_id": document.doc_id,
        "meta": document_view.meta(document),
        "blocks": blocks,
        "sentences": document_view.sentences(document, lens),
    }


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
    first, several = comparison.variants[0].variant.name, len(comparison.variants) > 1
    base, pairs = short(first, 40), {(p.first, p.second): p for p in comparison.pairs}
    measured = [m for m in MEASURED if any(m in v.measures for v in comparison.variants)]
    gain = f"Rank gain over {base}"
    heads = {key: f"{SIMILARITY[key][0]} to {base}" for key in ("rbo", "tau", "overlap")}
    rows = []
    for ranked in comparison.variants:
        name = ranked.variant.name
        row: dict[str, Any] = {"Instruction": name, "System": system_label(ranked.variant.system)}
        row |= {measure: ranked.measures.get(measure) for measure in measured}
        if several:
            row[gain] = pairs[name, first].rank_gain
            row |= {head: getattr(pairs[first, name], key) for key, head in heads.items()}
        rows.append(row)
    frame = floats(rows, *measured, gain, *heads.values())
    if several and frame[gain].isna().all():
        frame = frame.drop(columns=gain)
    text = st.column_config.TextColumn
    meanings: dict[str, Any] = {"Instruction": text(pinned=True, width="medium"), "System": text()}
    meanings[gain] = SIMILARITY["rank_gain"][1].replace("the column's variant", base)
    return frame, meanings | {head: SIMILARITY[key][1] for key, head in heads.items()}


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
        note(words, "Add a variant on the system “Aspect-aware”.")
        return
    variant = steered.get(view.steered) or next(iter(steered.values()))
    labels = labels_of(view.variants)
    if len(steered) > 1:
        names = {name: labels[name] for name in steered}
        control(view, "steered", st.selectbox, "Trade-off of", names, shown=variant.name)
    asked = replace(variant, name="steered", steer=0.5)
    key = (partial(beside, partial(explorer.comparing.frontier, page.request, asked)), "frontier")
    work = kept(*key, page.request, page.stamp, asked)  # beside the page: eleven rankings
    if not work.done():
        st.html(TRADE_OFF)
        st.html(el("div.sl-dim", "Ranking at eleven aspect weights …", role="status"))
        renew_when(work.done, every=0.5)
        return
    if work.exception() is not None:
        kept.clear(*key, page.request, page.stamp, asked)  # so that another visit tries again
    with error_boundary():
        words = "System only, without the model. " if by_model else ""
        named = replace(variant, name=short(labels[variant.name]))
        _draw_frontier(work.result(), named, words, page.about(comparison))


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
