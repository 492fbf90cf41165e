"""Charts of comparisons: a frame each, which is also the file, and how it is drawn.

Names and titles come from people and documents: they are shortened, and what Plotly would
read as markup is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.colors import find_intermediate_color, hex_to_rgb, label_rgb

from engine.types.comparisons import Comparison, Frontier
from engine.types.evaluations import CSFCUBE_NDCG
from engine.types.lenses import Lens
from pages._common import charts
from pages._common.shared import system_label
from pages._common.tables import is_signed
from pages._compare.compare_state import short, wording_of

NAMED_COLUMNS = 3
"""With more, the columns of a matrix have numbers: names of any length fit beside its rows."""
Values = Mapping[tuple[str, str], float | None]

# -- the rank flow -------------------------------------------------------------------------


def rank_flow(comparison: Comparison, depth: int) -> dict[str, Any]:
    """The documents in anybody's top ``depth``, for the rank flow.

    Returns:
        ``columns``, ``depth`` (at most that of the longest ranking) and ``lines``, the latter in
        the order of the first ranking that shows them; ``moved`` is 0 (same rank throughout) to
        1 (in and out of the top), ``grade`` None where nobody judged the document.
    """
    rankings = comparison.variants
    depth = max(1, min(depth, max((len(r.ranking.doc_ids) for r in rankings), default=depth)))
    places = [{d: i for i, d in enumerate(r.ranking.doc_ids, start=1)} for r in rankings]
    lines = []
    for doc_id in dict.fromkeys(d for r in rankings for d in r.ranking.doc_ids[:depth]):
        ranks = [place.get(doc_id) for place in places]
        within = [min(rank or depth + 1, depth + 1) for rank in ranks]
        lines.append(
            {
                "doc_id": doc_id,
                "title": " ".join((comparison.titles.get(doc_id) or doc_id).split()),
                "ranks": ranks,
                "moved": round((max(within) - min(within)) / depth, 3),
                "grade": comparison.grades.get(doc_id),
            }
        )
    several = len({wording_of(r.variant) for r in rankings}) > 1
    columns = []
    for ranked in rankings:
        variant = ranked.variant
        words, system = short(wording_of(variant)), system_label(variant.system)
        name, below = (words, system) if several or len(rankings) == 1 else (system, words)
        columns.append(
            {
                "label": variant.name,
                "name": name,
                "system": below,
                "wording": variant.instruction,
            }
        )
    return {"columns": columns, "depth": depth, "lines": lines}


def flow_rows(flow: Mapping[str, Any]) -> tuple[list[str], list[list[object]]]:
    """Head and lines of the rank flow's data: ranks beyond what was ranked are empty."""
    head = ["doc_id", "title", "grade", *(column["label"] for column in flow["columns"])]
    rows = [
        ["" if v is None else v for v in (x["doc_id"], x["title"], x["grade"], *x["ranks"])]
        for x in flow["lines"]
    ]
    return head, rows


def grade_styles(grades: Iterable[int], *, dark: bool) -> dict[int, dict[str, Any]]:
    """How lines of documents with these grades are drawn: the higher, the stronger and wider.

    Returns:
        Per grade ``colour``, ``width`` (pixels) and ``dash`` (SVG's; "" for a solid line). Grade
        0 is dashed, so that it can be recognised without colours.
    """
    found = sorted(set(grades))
    top, steps = max([1, *found]), len(charts.GRADES[dark]) - 1
    return {
        grade: {
            "colour": charts.GRADES[dark][max(0, -(-grade * steps // top))],
            "width": round(1.6 + 2.2 * max(0, grade) / top, 2),
            "dash": "" if grade > 0 else "7 4",
        }
        for grade in found
    }


def flow_ink(grades: Sequence[int | None], *, dark: bool, file: bool = False) -> dict[str, Any]:
    """The colours of the rank flow: on the page, or (``file``) exported on white."""
    dark = dark and not file
    styles = grade_styles((g for g in grades if g is not None), dark=dark)
    return {
        "text": charts.INK[dark],
        "accent": charts.ACCENT[dark],
        "paper": charts.FILE_PAPER if file else charts.PAPER[dark],
        "faint": charts.GRID[dark],
        "unjudged": charts.UNJUDGED[dark],
        "grades": {str(grade): style for grade, style in styles.items()},
    }


# -- similarity of rankings ----------------------------------------------------------------


def matrix_frame(names: Sequence[str], values: Values) -> pd.DataFrame:
    """A row a variant: its name, then its value against every other."""
    rows = [[values.get((first, second)) for second in names] for first in names]
    frame = pd.DataFrame(rows, columns=list(names), dtype="float64")
    frame.insert(0, "variant", names, allow_duplicates=True)
    return frame


def matrix(frame: pd.DataFrame, measure: str, *, dark: bool) -> go.Figure:
    """Every variant against every other, with the numbers in the cells.

    Args:
        frame: of :func:`matrix_frame`.
        measure: one of ``rbo``, ``tau``, ``overlap``, ``rank_gain``.
    """
    signed, names = is_signed(measure), list(frame.iloc[:, 0])
    count, values = len(names), frame.iloc[:, 1:].to_numpy().tolist()
    places = list(range(count))
    cells = [(i, j) for i in places for j in places]
    colours = [_cell_colour(values[i][j], signed, dark) for i, j in cells]
    whole = [charts.wrapped(name, 60, 9) for name in names]
    # Bars, as a heat map would be an image in the exported file.
    figure = go.Figure(
        go.Bar(
            x=[j for _, j in cells],
            y=[0.95] * len(cells),
            base=[i - 0.475 for i, _ in cells],
            width=0.96,
            marker={"color": colours, "line": {"width": 0.5, "color": charts.GRID[dark]}},
            text=[charts.number(values[i][j], signed=signed) for i, j in cells],
            textposition="inside",
            insidetextanchor="middle",
            constraintext="none",
            textangle=0,
            insidetextfont={"size": 12, "color": [_on_cell(colour) for colour in colours]},
            hovertext=[f"{whole[i]}<br>against<br>{whole[j]}" for i, j in cells],
            hovertemplate="%{hovertext}: %{text}<extra></extra>",
        )
    )
    numbered = count > NAMED_COLUMNS
    columns = list(map(str, range(1, count + 1))) if numbered else names
    rows = [f"{i} · {name}" if numbered else name for i, name in enumerate(names, start=1)]
    beside = [charts.wrapped(row, 30) for row in rows]
    plain = {"tickvals": places, "showgrid": False, "zeroline": False}
    figure.update_xaxes(
        **plain,
        ticktext=[charts.wrapped(column, 13, 4) for column in columns],
        side="top",
        tickangle=0,
        range=[-0.5, count - 0.5],
    )
    figure.update_yaxes(**plain, ticktext=beside, range=[count - 0.5, -0.5])
    tallest = max(text.count("<br>") for text in beside) + 1
    return charts.styled(figure, dark=dark, height=84 + max(36, 17 * tallest) * count)


def _cell_colour(value: float, signed: bool, dark: bool) -> str:
    """Paler the more similar: the accent for what differs, its opposite for what is negative."""
    if value != value:
        return str(label_rgb(hex_to_rgb(charts.QUIET[dark])))
    end, strength = (charts.ACCENT, 1.0 - value)
    if signed:
        end, strength = (charts.COUNTER, value) if value > 0 else (charts.ACCENT, -value)
    ends = (label_rgb(hex_to_rgb(colour)) for colour in (charts.QUIET[dark], end[dark]))
    return str(find_intermediate_color(*ends, min(1.0, max(0.0, strength)), colortype="rgb"))


def _on_cell(colour: str) -> str:
    """Black or white, whichever has at least 4.5:1 on a cell of this colour: one always has."""
    parts = [float(part) / 255 for part in colour[4:-1].split(",")]
    red, green, blue = (v / 12.92 if v <= 0.04 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return "#000000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#ffffff"


# -- likeness by aspect --------------------------------------------------------------------


def likeness_frame(comparison: Comparison) -> pd.DataFrame:
    """Variant, aspect, gain in standard deviations."""
    rows = [
        {"variant": r.variant.name, "aspect": aspect, "gain (standard deviations)": gain}
        for r in comparison.variants
        for aspect, gain in r.likeness
    ]
    return pd.DataFrame(rows, columns=["variant", "aspect", "gain (standard deviations)"])


def likeness(frame: pd.DataFrame, lens: Lens, *, dark: bool) -> go.Figure:
    """In which aspects each variant's top 20 became more similar to the seed."""
    figure, variants = go.Figure(), list(dict.fromkeys(frame["variant"]))
    places = list(range(len(variants)))
    reach = 1.35 * max(frame.iloc[:, 2].abs().max(), 0.02) if len(frame) else 1.0
    for index, aspect in enumerate(lens.aspects):
        part = frame[frame["aspect"] == aspect.name]
        if len(part):
            letter = charts.label(aspect.letter)
            figure.add_bar(
                orientation="h",
                name=f"{letter} · {charts.label(aspect.name)}",
                x=part.iloc[:, 2].tolist(),
                y=[variants.index(name) for name in part["variant"]],
                marker_color=charts.ROLE_COLOURS[dark][index % len(charts.ROLE_COLOURS[dark])],
                text=[f"{letter} {charts.number(gain, signed=True)}" for gain in part.iloc[:, 2]],
                textposition="outside",
                cliponaxis=False,
                customdata=[charts.wrapped(name, 60, 9) for name in part["variant"]],
                hovertemplate="%{customdata}<br>%{text} standard deviations<extra></extra>",
            )
    figure.update_yaxes(
        tickvals=places,
        ticktext=[charts.wrapped(name) for name in variants],
        range=[len(variants) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )
    figure.update_xaxes(title_text="standard deviations", range=[-reach, reach], zeroline=True)
    height = 110 + max(36, 17 * len(figure.data)) * len(variants)
    return charts.styled(figure, dark=dark, height=height, barmode="group", bargap=0.2)


# -- the frontier --------------------------------------------------------------------------


def frontier_frame(found: Frontier) -> pd.DataFrame:
    """Aspect weight, instruction following and relevance of every point where all are defined."""
    meaning = "rank gain over" if found.judged else "share of the top 20 new at"
    following = f"instruction following: {meaning} aspect weight 0 %"
    relevance = CSFCUBE_NDCG if found.judged else "similarity to the whole seed (standardised)"
    points = [p for p in found.points if p.instruction_following is not None]
    points.sort(key=lambda p: p.steer)
    data = {
        "aspect weight": [f"{p.steer:.0%}" for p in points],
        following: [p.instruction_following for p in points],
        f"relevance: {relevance}": [p.relevance for p in points],
    }
    return pd.DataFrame(data)


def frontier(frame: pd.DataFrame, current: float, *, judged: bool, dark: bool) -> go.Figure:
    """What the aspect weight trades: one point per weight, the one in use in a ring.

    Args:
        frame: of :func:`frontier_frame`.
    """
    weights, following, relevance = (frame.iloc[:, i].tolist() for i in range(3))
    last = len(weights) - 1
    here = min(range(last + 1), key=lambda i: abs(float(weights[i][:-1]) / 100 - current))
    figure = go.Figure(
        go.Scatter(
            x=following,
            y=relevance,
            mode="lines+markers+text",
            line={"color": charts.ACCENT[dark], "width": 1.5},
            marker={"size": 7, "color": charts.ACCENT[dark]},
            text=[weight if i in (0, here, last) else "" for i, weight in enumerate(weights)],
            textposition=["bottom right", *["top right"] * (last - 1), "top left"][: last + 1],
            customdata=weights,
            hovertemplate="aspect weight %{customdata}<br>instruction following %{x:.3f}, "
            "relevance %{y:.3f}<extra></extra>",
        )
    )
    figure.add_scatter(
        x=[following[here]],
        y=[relevance[here]],
        mode="markers",
        marker={
            "size": 17,
            "symbol": "circle-open",
            "color": charts.INK[dark],
            "line": {"width": 2},
        },
        hoverinfo="skip",
    )
    figure.update_xaxes(title_text=frame.columns[1], zeroline=judged)
    figure.update_yaxes(title_text=frame.columns[2], zeroline=False)
    return charts.styled(figure, dark=dark, height=340, showlegend=False, margin={"t": 30, "r": 44})
