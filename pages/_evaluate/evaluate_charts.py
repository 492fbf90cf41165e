"""Charts of evaluations and gaps: a frame each, which is also the file, and how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from engine.types.evaluations import NDCG, Evaluation, Interval
from engine.types.reranking import Gap
from pages._common.charts import (
    ACCENT,
    COUNTER,
    INK,
    PAPER,
    ROLE_COLOURS,
    label,
    number,
    styled,
    wrapped,
)
from pages._common.tables import floats

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "pentagon")
"""One per aspect, so that colour is never the only difference."""
SIGNED = "p-MRR"
ROW_HEIGHT, LEAST_HEIGHT = 50, 330
"""Pixels."""
JITTER = 0.6
"""The height over which the dots of a system are spread, in rows."""
_KINDS = {"system": "circle", "human": "star", "run": "diamond"}


def _bounds(interval: Interval, prefix: str = "") -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {f"{prefix}low": low, f"{prefix}high": high}


def _best_last(evaluation: Evaluation, measure: str) -> list[str]:
    """Systems by their mean, the best at the end: Plotly draws rows from the bottom."""
    means = {n: s.metrics.get(measure) for n, s in evaluation.systems.items()}
    return sorted(means, key=lambda n: (means[n] is not None, means[n] or 0.0))


def _error_bars(frame: pd.DataFrame, value: str, prefix: str = "", **look: Any) -> dict[str, Any]:
    """Bars from ``low`` to ``high``; none where a value or its bounds are missing."""
    above = (frame[f"{prefix}high"] - frame[value]).fillna(0.0)
    below = (frame[value] - frame[f"{prefix}low"]).fillna(0.0)
    return {
        "type": "data",
        "symmetric": False,
        "array": above.tolist(),
        "arrayminus": below.tolist(),
        "visible": bool((above + below > 0).any()),
        **look,
    }


def _intervals(frame: pd.DataFrame, prefix: str = "") -> list[str]:
    """``(95 % interval 0.5 to 0.7)`` of every row; "" where there is none."""
    bounds = zip(frame[f"{prefix}low"], frame[f"{prefix}high"], strict=True)
    return [
        f"(95 % interval {number(low)} to {number(high)})" if low == low else ""
        for low, high in bounds
    ]


# -- queries -------------------------------------------------------------------------------


def strip_frame(rows: pd.DataFrame, evaluation: Evaluation, measure: str) -> pd.DataFrame:
    """System, query, title of the seed, aspect and value of every dot; ``rows`` is a table of
    queries with a column for each system."""
    names, same = _best_last(evaluation, measure)[::-1], ["Query", "Seed", "Aspect"]
    dots = rows.melt(same, names, "system", measure).dropna(subset=[measure])
    named = ["system", "query", "seed", "aspect", measure]
    return dots[["system", *same, measure]].set_axis(named, axis=1)


def strip_plot(
    frame: pd.DataFrame, evaluation: Evaluation, aspects: Sequence[str], *, dark: bool
) -> go.Figure:
    """One dot a query per system, coloured by aspect; a line marks the mean.

    Args:
        frame: of :func:`strip_frame`; its last column is the measure.
        aspects: in the order of the lens, which gives them their colours.
    """
    figure, measure = go.Figure(), str(frame.columns[-1])
    names, value = _best_last(evaluation, measure), f"%{{x:{_format(measure)}}}"
    for aspect in [*aspects, ""]:
        part = frame[frame["aspect"] == aspect]
        if len(part):
            # Spread over the height of a row, alike every time.
            dots = [
                names.index(n) + JITTER * (i * 0.618 % 1 - 0.5)
                for i, n in enumerate(part["system"])
            ]
            figure.add_scatter(
                x=part[measure].tolist(),
                y=dots,
                text=[label(seed, 90) for seed in part["seed"]],
                mode="markers",
                name=label(aspect or "queries"),
                marker=_marker(aspects, aspect, dark),
                hovertemplate=f"%{{text}}<br>{value}<extra>%{{fullData.name}}</extra>",
            )
    mark = {"symbol": "line-ns", "size": 36, "line": {"width": 2.5, "color": ACCENT[dark]}}
    figure.add_scatter(
        x=[evaluation.systems[name].metrics[measure] for name in names],
        y=list(range(len(names))),
        mode="markers",
        marker=mark,
        showlegend=False,
        # A name inside the template itself would have its own %{...} filled in.
        text=[label(name, 60) for name in names],
        hovertemplate=f"mean of %{{text}}: {value}<extra></extra>",
    )
    return _rows_styled(figure, names, measure, dark)


def _format(measure: str) -> str:
    """The format of a measure in Plotly's templates."""
    return "+.3f" if measure == SIGNED else ".3f"


def _marker(
    aspects: Sequence[str], aspect: str, dark: bool, size: int = 7, opacity: float = 0.7
) -> dict[str, Any]:
    if not aspect:
        return {"size": size, "color": INK[dark], "opacity": opacity}
    index = list(aspects).index(aspect) % len(SYMBOLS)
    return {
        "size": size,
        "color": ROLE_COLOURS[dark][index],
        "symbol": SYMBOLS[index],
        "opacity": opacity,
        "line": {"width": 0.5, "color": PAPER[dark]},
    }


def _rows_styled(figure: go.Figure, names: Sequence[str], measure: str, dark: bool) -> go.Figure:
    low = -1.03 if measure == SIGNED else -0.03
    texts = []
    for name in names:  # what reranks a system stands below its name
        system, _, mode = name.partition("+")
        texts.append(f"{wrapped(system)}<br>+ {label(mode)}" if mode else wrapped(name))
    return styled(
        figure,
        dark=dark,
        height=max(LEAST_HEIGHT, 80 + ROW_HEIGHT * len(names)),
        xaxis={"title": {"text": measure}, "zeroline": measure == SIGNED, "range": [low, 1.03]},
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": texts,
            "range": [-0.6, len(names) - 0.4],
            "showgrid": False,
            "zeroline": False,
        },
    )


# -- aspects -------------------------------------------------------------------------------


def interval_frame(evaluation: Evaluation, measure: str, aspects: Sequence[str]) -> pd.DataFrame:
    """System, aspect, mean and the bounds of its interval."""
    rows = [
        {
            "system": name,
            "aspect": aspect,
            measure: mean,
            **_bounds(scores.confidence_by_aspect.get(aspect, {}).get(measure)),
        }
        for name in reversed(_best_last(evaluation, measure))
        for scores in [evaluation.systems[name]]
        for aspect in aspects
        if (mean := scores.by_aspect.get(aspect, {}).get(measure)) is not None
    ]
    return floats(rows, measure, "low", "high")


def interval_plot(
    frame: pd.DataFrame, evaluation: Evaluation, aspects: Sequence[str], *, dark: bool
) -> go.Figure:
    """The mean of every aspect per system, with its 95 % interval where there is one."""
    measure = str(frame.columns[2])
    value = f"%{{x:{_format(measure)}}}"
    names = _best_last(evaluation, measure)
    shown = [aspect for aspect in aspects if aspect in set(frame["aspect"])]
    figure = go.Figure()
    for position, aspect in enumerate(shown):
        part = frame[frame["aspect"] == aspect]
        offset = 0.22 * ((len(shown) - 1) / 2 - position)
        figure.add_scatter(
            x=part[measure].tolist(),
            y=[names.index(name) + offset for name in part["system"]],
            mode="markers",
            name=label(aspect),
            marker=_marker(aspects, aspect, dark, size=9, opacity=1.0),
            error_x=_error_bars(part, measure, thickness=1.3, width=3),
            customdata=_intervals(part),
            hovertemplate=f"{value} %{{customdata}}<extra>%{{fullData.name}}</extra>",
        )
    return _rows_styled(figure, names, measure, dark)


# -- relevance against instruction following -----------------------------------------------


def trade_off_frame(evaluation: Evaluation) -> pd.DataFrame:
    """System, then mean and bounds of nDCG@20 and of p-MRR, by nDCG@20."""
    rows = [
        {
            "system": name,
            **{NDCG: scores.metrics[NDCG], **_bounds(scores.confidence[NDCG], f"{NDCG} ")},
            **{SIGNED: scores.metrics[SIGNED], **_bounds(scores.confidence[SIGNED], "p-MRR ")},
        }
        for name, scores in evaluation.systems.items()
        if scores.metrics[SIGNED] is not None
    ]
    return floats(rows, *list(rows[0])[1:]).sort_values(NDCG, ignore_index=True)


def trade_off(frame: pd.DataFrame, evaluation: Evaluation, *, dark: bool) -> go.Figure:
    """Relevance against instruction following, a point per system with both intervals."""
    kinds = [evaluation.systems[name].kind for name in frame["system"]]
    edges = pd.concat([frame[NDCG], frame[f"{NDCG} low"], frame[f"{NDCG} high"]])
    low, high = edges.min(), edges.max()
    room = 0.14 * max(high - low, 0.05)
    sides = ["right" if x <= (low + high) / 2 else "left" for x in frame[NDCG]]
    bars = {"thickness": 1, "width": 3, "color": INK[dark]}
    figure = go.Figure(
        go.Scatter(
            x=frame[NDCG].tolist(),
            y=frame[SIGNED].tolist(),
            mode="markers+text",
            text=[wrapped(name, 22) for name in frame["system"]],
            textposition=[f"{('top', 'bottom')[i % 2]} {side}" for i, side in enumerate(sides)],
            marker={
                "size": 10,
                "color": [ACCENT[dark] if kind == "system" else INK[dark] for kind in kinds],
                "symbol": [_KINDS[kind] for kind in kinds],
            },
            error_x=_error_bars(frame, NDCG, f"{NDCG} ", **bars),
            error_y=_error_bars(frame, SIGNED, f"{SIGNED} ", **bars),
            hovertemplate=f"%{{text}}<br>{NDCG} %{{x:.3f}}<br>p-MRR %{{y:+.3f}}<extra></extra>",
        )
    )
    return styled(
        figure,
        dark=dark,
        height=340,
        margin_t=12,
        xaxis={
            "title": {"text": f"Relevance, {NDCG}"},
            "zeroline": False,
            "range": [low - room, high + room],
        },
        yaxis={
            "title": {"text": "Instruction following, p-MRR"},
            "zeroline": True,
            "tickformat": "+.2f",
        },
    )


# -- the gap -----------------------------------------------------------------------------

GAP_HEIGHT = 430
"""Pixels."""
DASHES = ("dash", "dot", "dashdot", "longdash", "longdashdot") * 2
"""Of all retrievers but the best."""
_GAP_BOUNDS = "95 % "
TINT = {False: "rgba(61, 90, 115, 0.10)", True: "rgba(143, 178, 208, 0.14)"}


def gap_frame(gap: Gap) -> pd.DataFrame:
    """What is drawn: which line, the pool's size, the value and the bounds of its interval."""
    rows: list[dict[str, Any]] = [
        {
            "line": f"{side} bound",
            "pool": point.size,
            gap.measure: getattr(point, side),
            **_bounds(getattr(point, f"{side}_interval"), _GAP_BOUNDS),
        }
        for side in ("upper", "lower")
        for point in gap.points
    ]
    rows += [
        {"line": name, "pool": "", gap.measure: v, **_bounds(own, _GAP_BOUNDS)}
        for name, v in gap.best_first
        for own in [gap.retriever_intervals.get(name)]
    ]
    return floats(rows, *list(rows[0])[2:])


def gap_chart(frame: pd.DataFrame, gap: Gap, *, dark: bool) -> go.Figure:
    """Both bounds against pool size, and every retriever as a line.

    Pools stand side by side at equal distances, whatever their sizes.

    Args:
        frame: of :func:`gap_frame`.
    """
    figure, places = go.Figure(), list(range(len(gap.points)))
    sides = (
        ("upper bound: with missing documents", "upper", COUNTER[dark], "diamond-open"),
        ("lower bound: as retrieved", "lower", ACCENT[dark], "circle"),
    )
    for name, side, colour, symbol in sides:
        part = frame[frame["line"] == f"{side} bound"]
        figure.add_scatter(
            x=places,
            y=part[gap.measure].tolist(),
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={"size": 10, "symbol": symbol},
            error_y=_error_bars(part, gap.measure, _GAP_BOUNDS, thickness=1, width=4, color=colour),
            fill="tonexty" if side == "lower" else None,
            fillcolor=TINT[dark],
            text=[f"pool {size:,}" for size in part["pool"]],
            customdata=_intervals(part, _GAP_BOUNDS),
            hovertemplate="%{text}: %{y:.3f}<br>%{customdata}<extra>%{fullData.name}</extra>",
        )
    ends = [-0.4, len(places) - 0.6]
    for (name, value), dash in zip(gap.best_first, ("solid", *DASHES), strict=False):
        figure.add_scatter(
            x=ends,
            y=[value, value],
            name=f"{label(name)} {number(value)}",
            mode="lines",
            line={"color": INK[dark], "width": 1.8 if dash == "solid" else 1.2, "dash": dash},
            hovertemplate="%{y:.3f}<extra>%{fullData.name}</extra>",
        )
    ticks = []
    for point in gap.points:
        first, last = (number(value, signed=True) for value in gap.gap(point))
        ticks.append(f"{point.size:,}<br>gap {first}<br>to {last}")
    xaxis = {
        "tickvals": places,
        "ticktext": ticks,
        "zeroline": False,
        "range": [ends[0] - 0.1, ends[1] + 0.1],
    }
    return styled(
        figure,
        dark=dark,
        height=GAP_HEIGHT,
        legend_traceorder="normal",
        xaxis={"title": {"text": "candidates per query"}, **xaxis, "showgrid": False},
        yaxis={"title": {"text": gap.measure}, "zeroline": False, "tickformat": ".2f"},
    )
