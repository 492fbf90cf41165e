"""Pure data to figures: nothing here knows Streamlit or the engine's machinery.

Names and titles come from people and documents: they are shortened, and what Plotly would
read as markup is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from engine.types.comparisons import Comparison, Frontier
from engine.types.evaluations import CSFCUBE_NDCG
from engine.types.lenses import Lens
from pages._common.chart_style import ACCENT, COUNTER, INK, PAPER, QUIET, ROLE_COLOURS, label

SIGNED = ("tau", "p_mrr")
"""Measures from -1 to 1; the others go from 0 to 1."""


def rank_flow(comparison: Comparison, depth: int) -> dict[str, Any]:
    """The documents in anybody's top ``depth``, for the rank flow.

    Returns:
        ``columns``, ``depth`` and ``lines``, the latter in the order of the first ranking that
        shows them; ``moved`` is 0 (same rank throughout) to 1 (in and out of the top).
    """
    rankings = comparison.variants
    tops = [r.ranking.doc_ids[:depth] for r in rankings]
    places = [{d: i for i, d in enumerate(r.ranking.doc_ids, start=1)} for r in rankings]
    ordered = dict.fromkeys(d for top in tops for d in top)
    lines = []
    for doc_id in ordered:
        ranks = [place.get(doc_id) for place in places]
        within = [min(rank or depth + 1, depth + 1) for rank in ranks]
        lines.append(
            {
                "doc_id": doc_id,
                "title": " ".join((comparison.titles.get(doc_id) or doc_id).split()),
                "ranks": ranks,
                "moved": round((max(within) - min(within)) / depth, 3),
            }
        )
    columns = [
        {"name": r.variant.name, "system": r.variant.system, "wording": r.variant.instruction}
        for r in rankings
    ]
    return {"columns": columns, "depth": depth, "lines": lines}


def matrix(
    names: Sequence[str],
    values: Mapping[tuple[str, str], float | None],
    measure: str,
    *,
    dark: bool,
) -> go.Figure:
    """Every variant against every other, with the numbers in the cells.

    Args:
        values: (first, second) -> value; what is missing or None stays empty.
        measure: one of ``rbo``, ``tau``, ``overlap``, ``p_mrr``.
    """
    signed = measure in SIGNED
    grid = [[values.get((row, column)) for column in names] for row in names]
    text = [["–" if v is None else _number(v, signed) for v in row] for row in grid]
    count = len(names)
    scale = [[0.0, ACCENT[dark]], [1.0, QUIET[dark]]]
    if signed:
        scale = [[0.0, ACCENT[dark]], [0.5, QUIET[dark]], [1.0, COUNTER[dark]]]
    figure = go.Figure(
        go.Heatmap(
            z=grid,
            x=list(range(count)),
            y=list(range(count)),
            zmin=-1.0 if signed else 0.0,
            zmax=1.0,
            colorscale=scale,
            showscale=False,
            xgap=2,
            ygap=2,
            hovertext=[[f"{label(r)} against {label(c)}" for c in names] for r in names],
            hovertemplate="%{hovertext}: %{z:.3f}<extra></extra>",
        )
    )
    for i, row in enumerate(text):
        for j, shown in enumerate(row):
            figure.add_annotation(
                x=j, y=i, text=shown, showarrow=False,
                font={"size": 12, "color": _on_cell(grid[i][j], signed, dark)},
            )  # fmt: skip
    ticks = {"tickvals": list(range(count)), "ticktext": [label(n) for n in names]}
    figure.update_xaxes(**ticks, side="top", showgrid=False, zeroline=False, fixedrange=True)
    figure.update_yaxes(
        **ticks, autorange="reversed", showgrid=False, zeroline=False, fixedrange=True
    )
    return _finished(figure, dark, height=84 + 34 * count)


def _on_cell(value: float | None, signed: bool, dark: bool) -> str:
    """Ink on pale cells, paper on strong ones."""
    strength = 0.0 if value is None else abs(value) if signed else 1.0 - value
    return PAPER[dark] if strength > 0.55 else INK[dark]


def _number(value: float, signed: bool) -> str:
    return f"{value:+.2f}" if signed else f"{value:.2f}"


def likeness(comparison: Comparison, lens: Lens, *, dark: bool) -> go.Figure | None:
    """In which aspects each variant's top 20 are more alike to the seed than without a wording.

    Returns:
        None when no variant has an estimate.
    """
    shown = [r for r in comparison.variants if r.likeness]
    if not shown:
        return None
    figure = go.Figure()
    by_name = [dict(r.likeness) for r in shown]
    for index, aspect in enumerate(lens.aspects):
        gains = [found.get(aspect.name) for found in by_name]
        if all(gain is None for gain in gains):
            continue
        figure.add_bar(
            orientation="h",
            name=f"{label(aspect.letter)} · {label(aspect.name)}",
            x=gains,
            y=list(range(len(shown))),
            marker_color=ROLE_COLOURS[dark][index % len(ROLE_COLOURS[dark])],
            text=["" if g is None else f"{label(aspect.letter)} {g:+.2f}" for g in gains],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x:+.2f} standard deviations<extra></extra>",
        )
    names = [label(r.variant.name) for r in shown]
    reach = max((abs(g) for found in by_name for g in found.values()), default=1.0)
    legend = {"orientation": "h", "y": 1.0, "yanchor": "bottom"}
    figure.update_layout(barmode="group", bargap=0.3, legend=legend)
    figure.update_yaxes(
        tickvals=list(range(len(shown))), ticktext=names, autorange="reversed", fixedrange=True
    )
    figure.update_xaxes(
        title="standard deviations", range=[-1.3 * reach - 0.1, 1.3 * reach + 0.1],
        zeroline=True, zerolinecolor=INK[dark], fixedrange=True,
    )  # fmt: skip
    return _finished(figure, dark, height=110 + 24 * len(lens.aspects) * len(shown))


def frontier(found: Frontier, current: float, *, dark: bool) -> go.Figure:
    """What steer trades: one point per steer, the one in use marked.

    Aspect weights whose instruction following is undefined have no place in it.
    """
    points = sorted(
        (p for p in found.points if p.instruction_following is not None), key=lambda p: p.steer
    )
    figure = go.Figure(
        go.Scatter(
            x=[p.instruction_following for p in points],
            y=[p.relevance for p in points],
            mode="lines+markers+text",
            text=[f"{p.steer:.0%}" for p in points],
            # Neighbours lie close where steer changes little: their labels take turns.
            textposition=[("top center", "bottom center")[i % 2] for i in range(len(points))],
            cliponaxis=False,
            line={"color": ACCENT[dark], "width": 1.5},
            marker={"size": 7, "color": ACCENT[dark]},
            hovertemplate="aspect weight %{text}<br>instruction following %{x:.3f}, "
            "relevance %{y:.3f}<extra></extra>",
            showlegend=False,
        )
    )
    here = min(points, key=lambda p: abs(p.steer - current), default=None)
    if here is not None:
        figure.add_scatter(
            x=[here.instruction_following], y=[here.relevance], mode="markers",
            name="aspect weight in use",
            marker={"size": 17, "symbol": "circle-open", "color": INK[dark], "line": {"width": 2}},
            hoverinfo="skip", showlegend=False,
        )  # fmt: skip
    meaning = "p-MRR" if found.judged else "share of the top 20 that aspect weight 0 % has not"
    relevance = CSFCUBE_NDCG if found.judged else "similarity to the whole seed (standardised)"
    figure.update_xaxes(title=f"instruction following: {meaning}", fixedrange=True)
    figure.update_yaxes(title=f"relevance: {relevance}", fixedrange=True)
    return _finished(figure, dark, height=340)


def _finished(figure: go.Figure, dark: bool, height: int) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 16, "t": 34, "b": 8},
        paper_bgcolor=PAPER[dark],
        plot_bgcolor=PAPER[dark],
        font={"color": INK[dark], "size": 12},
        hoverlabel={"namelength": -1},
        dragmode=False,
    )
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True)
    return figure
