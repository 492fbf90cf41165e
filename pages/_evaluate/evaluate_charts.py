"""Figures of evaluations and gaps: pure data in, Plotly out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from engine.types.evaluations import NDCG, Evaluation, Interval
from engine.types.reranking import Gap, GapPoint
from pages._common.chart_style import (
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

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "pentagon")
"""One per aspect, so that colour is never the only difference."""
SIGNED = "p-MRR"
ROW_HEIGHT, LEAST_HEIGHT = 50, 330
"""Pixels."""
JITTER = 0.3
"""Half the height over which the dots of a system are spread, in rows."""
Rows = list[list[object]]


def strip_plot(
    evaluation: Evaluation,
    measure: str,
    titles: Mapping[str, str],
    aspects: Sequence[str],
    *,
    dark: bool,
) -> go.Figure:
    """One dot a query per system, coloured by aspect; a line marks the mean.

    Args:
        titles: query_id -> what the hover says of the seed.
        aspects: in the order of the lens, which gives them their colours.
    """
    names = _best_last(evaluation, measure)
    figure = go.Figure()
    for aspect in [*aspects, None]:
        x, y, text, said = [], [], [], []
        for row, name in enumerate(names):
            for query in evaluation.systems[name].per_query:
                if query["aspect"] == aspect and query[measure] is not None:
                    x.append(query[measure])
                    y.append(row + _jitter(name, query["query_id"]))
                    text.append(label(titles.get(query["query_id"], query["query_id"]), 90))
                    said.append(number(query[measure], signed=measure == SIGNED))
        if x:
            figure.add_scatter(
                x=x, y=y, text=text, mode="markers", name=label(aspect or "queries"),
                marker=_marker(aspects, aspect, dark), customdata=said,
                hovertemplate="%{text}<br>%{customdata}<extra>%{fullData.name}</extra>",
            )  # fmt: skip
    for row, name in enumerate(names):
        _mean_line(figure, row, name, evaluation.systems[name].metrics[measure], measure, dark)
    return _rows_styled(figure, names, measure, dark)


def strip_rows(evaluation: Evaluation, measure: str, titles: Mapping[str, str]) -> Rows:
    """System, query, seed, aspect and value of every dot."""
    return [
        [name, q["query_id"], titles.get(q["query_id"], ""), q["aspect"] or "", q[measure]]
        for name in reversed(_best_last(evaluation, measure))
        for q in evaluation.systems[name].per_query
        if q[measure] is not None
    ]


def interval_plot(
    evaluation: Evaluation, measure: str, aspects: Sequence[str], *, dark: bool
) -> go.Figure:
    """The mean of every aspect per system, with its 95 % interval where there is one."""
    names = _best_last(evaluation, measure)
    shown = [a for a in aspects if any(a in s.by_aspect for s in evaluation.systems.values())]
    figure = go.Figure()
    for position, aspect in enumerate(shown):
        offset = 0.22 * ((len(shown) - 1) / 2 - position)
        points = [
            (row + offset, mean, scores.confidence_by_aspect.get(aspect, {}).get(measure))
            for row, scores in enumerate(evaluation.systems[name] for name in names)
            if (mean := scores.by_aspect.get(aspect, {}).get(measure)) is not None
        ]
        figure.add_scatter(
            x=[mean for _, mean, _ in points], y=[row for row, _, _ in points], mode="markers",
            name=label(aspect), marker=_marker(aspects, aspect, dark, size=9, opacity=1.0),
            error_x=_error_bars([m for _, m, _ in points], [b for *_, b in points], 1.3, 3),
            customdata=[
                [number(v, signed=measure == SIGNED) for v in (mean, *(bounds or (None, None)))]
                for _, mean, bounds in points
            ],
            hovertemplate="%{customdata[0]} (95 % interval %{customdata[1]} to "
            "%{customdata[2]})<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    return _rows_styled(figure, names, measure, dark)


def interval_rows(evaluation: Evaluation, measure: str, aspects: Sequence[str]) -> Rows:
    """System, aspect, mean and the bounds of its interval, "" where there is none."""
    return [
        [
            name,
            aspect,
            mean,
            *(scores.confidence_by_aspect.get(aspect, {}).get(measure) or ("", "")),
        ]
        for name in reversed(_best_last(evaluation, measure))
        for scores in [evaluation.systems[name]]
        for aspect in aspects
        if (mean := scores.by_aspect.get(aspect, {}).get(measure)) is not None
    ]


def trade_off(evaluation: Evaluation, *, dark: bool) -> go.Figure:
    """Relevance against instruction following, a point per system with both intervals."""
    figure = go.Figure()
    colour, quiet = ACCENT[dark], INK[dark]
    points = [(n, s) for n, s in evaluation.systems.items() if s.metrics[SIGNED] is not None]
    points.sort(key=lambda point: point[1].metrics[NDCG] or 0.0)
    means = [s.metrics[NDCG] or 0.0 for _, s in points]
    bounds = [b for _, s in points if (b := s.confidence[NDCG]) is not None]
    low, high = min([*means, *(b[0] for b in bounds)]), max([*means, *(b[1] for b in bounds)])
    room = 0.14 * max(high - low, 0.05)
    for position, (name, scores) in enumerate(points):
        x, y = scores.metrics[NDCG], scores.metrics[SIGNED]
        side = _side(means, position, (low, high))
        figure.add_scatter(
            x=[x], y=[y], mode="markers+text", text=[wrapped(name, 22)], name=label(name),
            textposition=f"{('top', 'bottom')[position % 2]} {side}",
            marker={
                "size": 10, "color": colour if scores.kind == "system" else quiet,
                "symbol": {"system": "circle", "human": "star", "run": "diamond"}[scores.kind],
            },
            error_x=_error_bars([x], [scores.confidence[NDCG]], 1, 3, quiet),
            error_y=_error_bars([y], [scores.confidence[SIGNED]], 1, 3, quiet),
            customdata=[[number(x), number(y, signed=True)]],
            hovertemplate=NDCG + " %{customdata[0]}<br>p-MRR %{customdata[1]}"
            "<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    return styled(
        figure, dark=dark, height=340, showlegend=False,
        margin={"l": 10, "r": 16, "t": 12, "b": 10},
        xaxis={"title": f"Relevance, {NDCG}", "zeroline": False,
               "range": [low - room, high + room]},
        yaxis={"title": "Instruction following, p-MRR", "zeroline": True, "tickformat": "+.2f"},
    )  # fmt: skip


def _side(means: Sequence[float], position: int, ends: tuple[float, float]) -> str:
    """On which side of a point its name stands: away from its nearest neighbour, if it fits."""
    mean, (low, high) = means[position], ends
    place = (mean - low) / ((high - low) or 1.0)
    if not 0.3 < place < 0.7:
        return "right" if place < 0.5 else "left"
    near = min((m for i, m in enumerate(means) if i != position), key=lambda m: abs(m - mean),
               default=mean)  # fmt: skip
    return "right" if near < mean else "left"


def trade_off_rows(evaluation: Evaluation) -> Rows:
    """System, then mean and bounds of nDCG@20 and of p-MRR; "" where there is no interval."""
    return [
        [
            name,
            *(scores.metrics[NDCG], *(scores.confidence[NDCG] or ("", ""))),
            *(scores.metrics[SIGNED], *(scores.confidence[SIGNED] or ("", ""))),
        ]
        for name, scores in evaluation.systems.items()
        if scores.metrics[SIGNED] is not None
    ]


def _error_bars(
    values: Sequence[float | None],
    bounds: Sequence[Interval],
    thickness: float,
    width: int,
    colour: str | None = None,
) -> dict[str, Any]:
    """Bars from the lower to the upper bounds; none where a value or its bounds are missing."""
    pairs = zip(values, bounds, strict=True)
    known = [(v, *(b or (v, v))) if v is not None else (0.0, 0.0, 0.0) for v, b in pairs]
    return {
        "type": "data", "symmetric": False, "array": [high - v for v, _, high in known],
        "arrayminus": [v - low for v, low, _ in known], "thickness": thickness, "width": width,
        "color": colour, "visible": any(high > low for _, low, high in known),
    }  # fmt: skip


def _best_last(evaluation: Evaluation, measure: str) -> list[str]:
    """Systems by their mean, the best at the end: Plotly draws rows from the bottom."""
    means = {n: s.metrics.get(measure) for n, s in evaluation.systems.items()}
    return sorted(means, key=lambda n: (means[n] is not None, means[n] or 0.0))


def _jitter(name: str, query_id: str) -> float:
    """The same place every time, so that an unchanged chart is not sent again."""
    digest = hashlib.sha256(f"{name} {query_id}".encode()).digest()
    return (digest[0] / 255 - 0.5) * 2 * JITTER


def _marker(
    aspects: Sequence[str], aspect: str | None, dark: bool, size: int = 7, opacity: float = 0.7
) -> dict[str, Any]:
    if aspect is None:
        return {"size": size, "color": INK[dark], "opacity": opacity}
    index = list(aspects).index(aspect) % len(SYMBOLS)
    return {
        "size": size, "color": ROLE_COLOURS[dark][index], "symbol": SYMBOLS[index],
        "opacity": opacity, "line": {"width": 0.5, "color": PAPER[dark]},
    }  # fmt: skip


def _mean_line(
    figure: go.Figure, row: int, name: str, mean: float | None, measure: str, dark: bool
) -> None:
    if mean is None:
        return
    said = number(mean, signed=measure == SIGNED)
    figure.add_scatter(
        x=[mean, mean], y=[row - JITTER - 0.1, row + JITTER + 0.1], mode="lines",
        line={"color": ACCENT[dark], "width": 2.5}, name=label(name), showlegend=False,
        # A name inside the template itself would have its own %{...} filled in.
        text=[label(name, 60)] * 2, customdata=[said] * 2,
        hovertemplate="mean of %{text}: %{customdata}<extra></extra>",
    )  # fmt: skip


def _rows_styled(figure: go.Figure, names: Sequence[str], measure: str, dark: bool) -> go.Figure:
    return styled(
        figure, dark=dark, height=max(LEAST_HEIGHT, 80 + ROW_HEIGHT * len(names)),
        margin={"l": 10, "r": 16, "t": 34, "b": 10},
        xaxis={"title": measure, "zeroline": measure == SIGNED,
               "range": [-1.03, 1.03] if measure == SIGNED else [-0.03, 1.03]},
        yaxis={"tickvals": list(range(len(names))), "ticktext": [row_label(n) for n in names],
               "range": [-0.6, len(names) - 0.4], "showgrid": False, "zeroline": False},
    )  # fmt: skip


def row_label(name: str) -> str:
    """A system's name beside its row; what reranks it stands below."""
    system, _, mode = name.partition("+")
    return f"{wrapped(system)}<br>+ {label(mode)}" if mode else wrapped(name)


# -- the gap -----------------------------------------------------------------------------

GAP_HEIGHT = 430
"""Pixels."""
NEAR = 0.045
"""Names of retrievers closer than this share of the axis would overlap."""
TINT = {False: "rgba(61, 90, 115, 0.10)", True: "rgba(143, 178, 208, 0.14)"}


def gap_chart(gap: Gap, *, dark: bool) -> go.Figure:
    """Both bounds against pool size, every retriever as a line, the gap marked at each pool.

    Pools stand side by side at equal distances, whatever their sizes.
    """
    figure = go.Figure()
    places = list(range(len(gap.points)))
    least, most = gap.extent
    room = 0.06 * max(most - least, 0.1)
    low, high = max(0.0, least - room), min(1.02, most + room)
    _retrievers(figure, gap, (low, high), dark)
    sides = (
        ("upper bound: with missing documents", "upper", COUNTER[dark], "diamond-open"),
        ("lower bound: as retrieved", "lower", ACCENT[dark], "circle"),
    )
    for name, side, colour, symbol in sides:
        values = [getattr(point, side) for point in gap.points]
        bounds = [getattr(point, f"{side}_interval") for point in gap.points]
        figure.add_scatter(
            x=places, y=values, name=name, mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={"color": colour, "size": 10, "symbol": symbol,
                    "line": {"width": 2, "color": colour}},
            error_y=_error_bars(values, bounds, 1, 4, colour),
            fill="tonexty" if side == "lower" else None, fillcolor=TINT[dark],
            customdata=[
                [f"{point.size:,}", *map(number, (value, *(interval or (None, None))))]
                for point, value, interval in zip(gap.points, values, bounds, strict=True)
            ],
            hovertemplate="pool %{customdata[0]}: %{customdata[1]}<br>95 % interval "
            "%{customdata[2]} to %{customdata[3]}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    _bracket(figure, gap, places[-1], dark)
    longest = max(len(label(name)) for name in gap.retrievers)
    return styled(
        figure, dark=dark, height=GAP_HEIGHT, legend_traceorder="normal",
        margin={"l": 10, "r": 64 + 7 * longest, "t": 36, "b": 10},
        xaxis={"title": "candidates per query", "tickvals": places,
               "ticktext": [_tick(gap, p) for p in gap.points], "zeroline": False,
               "range": [-0.45, len(places) - 0.42], "showgrid": False},
        yaxis={"title": gap.measure, "range": [low, high], "zeroline": False,
               "tickformat": ".2f"},
    )  # fmt: skip


def gap_rows(gap: Gap) -> Rows:
    """What is drawn: which line, the pool's size, the value and the bounds of its interval."""
    rows: Rows = [
        [f"{side} bound", point.size, getattr(point, side),
         *(getattr(point, f"{side}_interval") or ("", ""))]
        for side in ("upper", "lower")
        for point in gap.points
    ]  # fmt: skip
    alone = ([n, "", v, *(gap.retriever_intervals.get(n) or ("", ""))] for n, v in gap.best_first)
    return [*rows, *alone]


def _retrievers(figure: go.Figure, gap: Gap, ends: tuple[float, float], dark: bool) -> None:
    """A line for each, the best one solid; names on the right, none over another."""
    least = NEAR * (ends[1] - ends[0])
    place = ends[1] + least
    for name, value in gap.best_first:
        best = name == gap.best
        figure.add_hline(
            y=value, line={"color": INK[dark], "width": 1.8 if best else 1,
                           "dash": "solid" if best else "dot"}, opacity=1.0 if best else 0.65,
        )  # fmt: skip
        place = min(value, place - least)
        shown = f"{label(name)} {number(value)}"
        figure.add_annotation(
            x=1.0, xref="paper", xanchor="left", y=place, yanchor="middle", showarrow=False,
            text=f"<b>{shown}</b>" if best else shown, xshift=6,
            font={"size": 12, "color": INK[dark]},
        )  # fmt: skip


def _bracket(figure: go.Figure, gap: Gap, x: float, dark: bool) -> None:
    """Beside the largest pool: from the best retriever up to both bounds."""
    best, point = gap.retrievers[gap.best], gap.points[-1]
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


def _tick(gap: Gap, point: GapPoint) -> str:
    """The size of a pool, and the gap there."""
    low, high = (number(value, signed=True) for value in gap.gap(point))
    return f"{point.size:,}<br>gap {low}<br>to {high}"
