"""The figure of the retrieval-verification gap: pure data in, Plotly out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from engine.types.evaluations import Interval
from engine.types.reranking import Gap, GapPoint
from pages._compare.compare_charts import ACCENT, COUNTER, INK, PAPER, label

HEIGHT = 430
"""Pixels."""
NEAR = 0.045
"""Names of retrievers closer than this share of the axis would overlap."""
TINT = {False: "rgba(61, 90, 115, 0.10)", True: "rgba(143, 178, 208, 0.14)"}


def gap_chart(found: Gap, *, dark: bool) -> go.Figure:
    """Both bounds against pool size, every retriever as a line, the gap marked at each pool.

    Pools stand side by side at equal distances, whatever their sizes.
    """
    figure = go.Figure()
    places = list(range(len(found.points)))
    low, high = _range(found)
    _retrievers(figure, found, (low, high), dark)
    sides = (
        ("upper bound: missing documents put in", "upper", COUNTER[dark], "diamond-open"),
        ("lower bound: as found", "lower", ACCENT[dark], "circle"),
    )
    for name, side, colour, symbol in sides:
        values = [getattr(point, side) for point in found.points]
        bounds = [getattr(point, f"{side}_interval") for point in found.points]
        figure.add_scatter(
            x=places, y=values, name=name, mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={"color": colour, "size": 10, "symbol": symbol,
                    "line": {"width": 2, "color": colour}},
            error_y=_errors(values, bounds, colour),
            fill="tonexty" if side == "lower" else None, fillcolor=TINT[dark],
            customdata=[[p.size, *_shown(b)] for p, b in zip(found.points, bounds, strict=True)],
            hovertemplate="pool %{customdata[0]:,}: %{y:.3f}<br>95 %% interval %{customdata[1]} to "
            "%{customdata[2]}<extra>%{fullData.name}</extra>".replace("%%", "%"),
        )  # fmt: skip
    _bracket(figure, found, places[-1], dark)
    figure.update_layout(
        height=HEIGHT, margin={"l": 10, "r": 128, "t": 36, "b": 10}, dragmode=False,
        paper_bgcolor=PAPER[dark], plot_bgcolor=PAPER[dark], font={"color": INK[dark]},
        hoverlabel={"bgcolor": PAPER[dark], "font": {"color": INK[dark]}, "align": "left",
                    "namelength": -1},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        xaxis={"title": "candidates per query", "tickvals": places, "fixedrange": True,
               "ticktext": [_tick(found, p) for p in found.points], "zeroline": False,
               "range": [-0.45, len(places) - 0.42], "showgrid": False},
        yaxis={"title": found.measure, "range": [low, high], "zeroline": False,
               "tickformat": ".2f", "fixedrange": True},
    )  # fmt: skip
    return figure


def _retrievers(figure: go.Figure, found: Gap, ends: tuple[float, float], dark: bool) -> None:
    """A line for each, the best one solid; names on the right, none over another."""
    ranked = sorted(found.retrievers.items(), key=lambda item: -item[1])
    least = NEAR * (ends[1] - ends[0])
    place = ends[1] + least
    for name, value in ranked:
        best = name == found.best
        figure.add_hline(
            y=value, line={"color": INK[dark], "width": 1.8 if best else 1,
                           "dash": "solid" if best else "dot"}, opacity=1.0 if best else 0.65,
        )  # fmt: skip
        place = min(value, place - least)
        shown = f"{label(name, 18)} {value:.3f}"
        figure.add_annotation(
            x=1.0, xref="paper", xanchor="left", y=place, yanchor="middle", showarrow=False,
            text=f"<b>{shown}</b>" if best else shown, xshift=6,
            font={"size": 12, "color": INK[dark]},
        )  # fmt: skip


def _bracket(figure: go.Figure, found: Gap, x: float, dark: bool) -> None:
    """Beside the largest pool: from the best retriever up to both bounds."""
    best, point = found.retrievers[found.best], found.points[-1]
    beside, reach = x + 0.13, 0.03
    line = {"color": INK[dark], "width": 1.2}
    ends = (best, point.lower, point.upper)
    figure.add_shape(type="line", x0=beside, x1=beside, y0=min(ends), y1=max(ends), line=line)
    for y in ends:
        figure.add_shape(type="line", x0=beside - reach, x1=beside, y0=y, y1=y, line=line)
    figure.add_annotation(
        x=beside, y=(min(ends) + max(ends)) / 2, xanchor="left", text="gap", showarrow=False,
        xshift=4, font={"size": 12, "color": INK[dark]},
    )  # fmt: skip


def _tick(found: Gap, point: GapPoint) -> str:
    """The size of a pool, and the gap there."""
    low, high = (f"{value:+.2f}".replace("-", "−") for value in found.gap(point))
    return f"{point.size:,}<br>gap {low} to {high}"


def _range(found: Gap) -> tuple[float, float]:
    values = [*found.retrievers.values()]
    for point in found.points:
        values += [point.lower, point.upper]
        for bounds in (point.lower_interval, point.upper_interval):
            values += bounds or ()
    room = 0.06 * max(max(values) - min(values), 0.1)
    return max(0.0, min(values) - room), min(1.02, max(values) + room)


def _errors(values: Sequence[float], bounds: Sequence[Interval], colour: str) -> dict[str, Any]:
    pairs = [(v, *(b or (v, v))) for v, b in zip(values, bounds, strict=True)]
    return {
        "type": "data", "symmetric": False, "array": [high - v for v, _, high in pairs],
        "arrayminus": [v - low for v, low, _ in pairs], "thickness": 1, "width": 4,
        "color": colour,
    }  # fmt: skip


def _shown(bounds: Interval) -> tuple[str, str]:
    return ("–", "–") if bounds is None else (f"{bounds[0]:.3f}", f"{bounds[1]:.3f}")
