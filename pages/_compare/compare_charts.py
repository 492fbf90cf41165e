"""Pure data to figures: nothing here knows Streamlit or the engine's machinery.

Names and titles come from people and documents: they are shortened, and what Plotly would
read as markup is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.colors import find_intermediate_color, hex_to_rgb, label_rgb

from engine.types.comparisons import Comparison, Frontier, FrontierPoint
from engine.types.evaluations import CSFCUBE_NDCG
from engine.types.lenses import Lens
from pages._common.chart_style import (
    ACCENT,
    COUNTER,
    FILE_PAPER,
    GRADES,
    GRID,
    INK,
    PAPER,
    QUIET,
    ROLE_COLOURS,
    UNJUDGED,
    label,
    number,
    styled,
    wrapped,
)

SIGNED = ("tau", "rank_gain")
"""Measures from -1 to 1; the others go from 0 to 1."""
BAR_GAP = 0.2
LABEL_ROOM = 0.08
"""Share of a chart between two labels that can both be read."""
NAMED_COLUMNS = 3
"""With more, the columns of a matrix have numbers: names of any length fit beside its rows."""
Values = Mapping[tuple[str, str], float | None]
Rows = list[list[object]]


def rank_flow(comparison: Comparison, depth: int) -> dict[str, Any]:
    """The documents in anybody's top ``depth``, for the rank flow.

    Returns:
        ``columns``, ``depth`` (at most that of the longest ranking) and ``lines``, the latter in
        the order of the first ranking that shows them; ``moved`` is 0 (same rank throughout) to
        1 (in and out of the top), ``grade`` None where nobody judged the document.
    """
    rankings = comparison.variants
    depth = max(1, min(depth, max((len(r.ranking.doc_ids) for r in rankings), default=depth)))
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
                "grade": comparison.grades.get(doc_id),
            }
        )
    columns = [
        {"name": r.variant.name, "system": r.variant.system, "wording": r.variant.instruction}
        for r in rankings
    ]
    return {"columns": columns, "depth": depth, "lines": lines}


def grade_styles(grades: Iterable[int], *, dark: bool) -> dict[int, dict[str, Any]]:
    """How lines of documents with these grades are drawn: the higher, the stronger and wider.

    Returns:
        Per grade ``colour``, ``width`` (pixels) and ``dash`` (SVG's; "" for a solid line). Grade
        0 is dashed, so that it is told apart without colours, too.
    """
    found = sorted(set(grades))
    top = max([1, *found])
    steps = len(GRADES[dark]) - 1
    return {
        grade: {
            "colour": GRADES[dark][max(0, -(-grade * steps // top))],
            "width": round(1.6 + 2.2 * max(0, grade) / top, 2),
            "dash": "" if grade > 0 else "7 4",
        }
        for grade in found
    }


def flow_ink(grades: Sequence[int | None], *, dark: bool, file: bool = False) -> dict[str, Any]:
    """The colours of the rank flow: on the page, or (``file``) exported on white.

    Returns:
        ``text``, ``accent``, ``paper``, ``faint`` and ``unjudged``, and the styles of ``grades``.
    """
    dark = dark and not file
    styles = grade_styles((g for g in grades if g is not None), dark=dark)
    return {
        "text": INK[dark],
        "accent": ACCENT[dark],
        "paper": FILE_PAPER if file else PAPER[dark],
        "faint": GRID[dark],
        "unjudged": UNJUDGED[dark],
        "grades": {str(grade): style for grade, style in styles.items()},
    }


def flow_rows(flow: Mapping[str, Any]) -> tuple[list[str], Rows]:
    """Head and lines of the rank flow's data: ranks beyond what was ranked are empty."""
    head = ["doc_id", "title", "grade", *(column["name"] for column in flow["columns"])]
    rows = [
        ["" if v is None else v for v in (x["doc_id"], x["title"], x["grade"], *x["ranks"])]
        for x in flow["lines"]
    ]
    return head, rows


def matrix(names: Sequence[str], values: Values, measure: str, *, dark: bool) -> go.Figure:
    """Every variant against every other, with the numbers in the cells.

    Args:
        values: (first, second) -> value; what is missing or None stays empty.
        measure: one of ``rbo``, ``tau``, ``overlap``, ``rank_gain``.
    """
    signed = measure in SIGNED
    count = len(names)
    cells = [(i, j, values.get((r, c))) for i, r in enumerate(names) for j, c in enumerate(names)]
    colours = [_cell_colour(value, signed, dark) for *_, value in cells]
    numbered = count > NAMED_COLUMNS
    # Bars, as a heat map would be an image in the exported file.
    figure = go.Figure(
        go.Bar(
            x=[j for _, j, _ in cells],
            y=[0.95] * len(cells),
            base=[i - 0.475 for i, *_ in cells],
            width=0.96,
            marker={"color": colours, "line": {"width": 0.5, "color": GRID[dark]}},
            text=[number(value, signed=signed) for *_, value in cells],
            textposition="inside",
            insidetextanchor="middle",
            constraintext="none",
            textangle=0,
            insidetextfont={"size": 12, "color": [_on_cell(colour) for colour in colours]},
            hovertext=[f"{label(names[i], 60)} against {label(names[j], 60)}" for i, j, _ in cells],
            hovertemplate="%{hovertext}: %{text}<extra></extra>",
        )
    )
    rows = [f"{i} · {name}" if numbered else name for i, name in enumerate(names, start=1)]
    columns = [str(i) if numbered else name for i, name in enumerate(names, start=1)]
    places = list(range(count))
    figure.update_xaxes(
        tickvals=places, ticktext=[wrapped(c, 13, 4) for c in columns], side="top", tickangle=0,
        showgrid=False, zeroline=False, range=[-0.5, count - 0.5],
    )  # fmt: skip
    beside = [wrapped(row, 30) for row in rows]
    figure.update_yaxes(
        tickvals=places, ticktext=beside, range=[count - 0.5, -0.5], showgrid=False, zeroline=False
    )
    tallest = max(text.count("<br>") for text in beside) + 1
    return styled(figure, dark=dark, height=84 + max(36, 17 * tallest) * count)


def matrix_rows(names: Sequence[str], values: Values) -> Rows:
    """A line a variant: its name, then its value against every other; "" where undefined."""
    cells = [[values.get((first, second)) for second in names] for first in names]
    return [
        [name, *("" if v is None else v for v in row)]
        for name, row in zip(names, cells, strict=True)
    ]


def _cell_colour(value: float | None, signed: bool, dark: bool) -> str:
    """Paler the more alike: the accent for what differs, its opposite for what is negative."""
    if value is None:
        return str(label_rgb(hex_to_rgb(QUIET[dark])))
    if signed:
        end, strength = (COUNTER, value) if value > 0 else (ACCENT, -value)
    else:
        end, strength = ACCENT, 1.0 - value
    ends = (label_rgb(hex_to_rgb(colour)) for colour in (QUIET[dark], end[dark]))
    return str(find_intermediate_color(*ends, min(1.0, max(0.0, strength)), colortype="rgb"))


def _on_cell(colour: str) -> str:
    """Black or white, whichever has at least 4.5:1 on a cell of this colour: one always has."""
    parts = [float(part) / 255 for part in colour[4:-1].split(",")]
    red, green, blue = (v / 12.92 if v <= 0.04 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return "#000000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#ffffff"


def likeness(comparison: Comparison, lens: Lens, *, dark: bool) -> go.Figure:
    """In which aspects each variant's top 20 are more alike to the seed than without a wording.

    Variants without an estimate have no place in it.
    """
    shown = [r for r in comparison.variants if r.likeness]
    figure = go.Figure()
    by_name = [dict(r.likeness) for r in shown]
    known = [a for a in lens.aspects if any(a.name in found for found in by_name)]
    for aspect in known:
        index = lens.aspects.index(aspect)
        gains = [found.get(aspect.name) for found in by_name]
        figure.add_bar(
            orientation="h",
            name=f"{label(aspect.letter)} · {label(aspect.name)}",
            x=gains,
            y=list(range(len(shown))),
            marker_color=ROLE_COLOURS[dark][index % len(ROLE_COLOURS[dark])],
            text=["" if g is None else f"{label(aspect.letter)} {number(g, signed=True)}"
                  for g in gains],
            textposition="none",
            hovertemplate="%{text} standard deviations<extra></extra>",
        )  # fmt: skip
    _numbers_beside(figure, [list(bar.text) for bar in figure.data], dark)
    reach = max((abs(g) for found in by_name for g in found.values()), default=1.0)
    figure.update_layout(barmode="group", bargap=BAR_GAP)
    figure.update_yaxes(
        tickvals=list(range(len(shown))), ticktext=[wrapped(r.variant.name) for r in shown],
        range=[len(shown) - 0.5, -0.5], showgrid=False, zeroline=False,
    )  # fmt: skip
    figure.update_xaxes(
        title="standard deviations", range=[-1.08 * reach - 0.02, 1.08 * reach + 0.02],
        zeroline=True,
    )  # fmt: skip
    height = 110 + max(36, 17 * len(known)) * len(shown)
    return styled(figure, dark=dark, height=height, margin={"l": 8, "r": 62, "t": 34, "b": 8})


def _numbers_beside(figure: go.Figure, texts: Sequence[Sequence[str]], dark: bool) -> None:
    """The numbers of grouped bars in a column on the right, where no bar can push them out."""
    step = (1 - BAR_GAP) / max(1, len(texts))
    for place, column in enumerate(texts):
        for row, text in enumerate(column):
            figure.add_annotation(
                x=1.0, xref="paper", xanchor="left", xshift=6, yanchor="middle",
                y=row + (place - (len(texts) - 1) / 2) * step, text=text, showarrow=False,
                font={"size": 11, "color": INK[dark]},
            )  # fmt: skip


def likeness_rows(comparison: Comparison) -> Rows:
    """Variant, aspect, gain in standard deviations."""
    return [
        [r.variant.name, aspect, gain] for r in comparison.variants for aspect, gain in r.likeness
    ]


def frontier(found: Frontier, current: float, *, dark: bool) -> go.Figure:
    """What steer trades: one point per steer, the one in use marked.

    Aspect weights whose instruction following is undefined have no place in it.
    """
    points = _traded(found)
    texts = [
        (
            number(p.instruction_following, signed=found.judged),
            number(p.relevance),
            f"{p.steer:.0%}",
        )
        for p in points
    ]
    here = min(points, key=lambda p: abs(p.steer - current), default=None)
    at = _scaled([(p.instruction_following or 0.0, p.relevance) for p in points])
    places, readable = _beside_curve(at), _with_room(at, points.index(here) if here else 0)
    figure = go.Figure(
        go.Scatter(
            x=[p.instruction_following for p in points],
            y=[p.relevance for p in points],
            mode="lines+markers+text",
            text=[
                f"{p.steer:.0%}" if i in readable and p is not here else ""
                for i, p in enumerate(points)
            ],
            textposition=places,
            cliponaxis=False,
            line={"color": ACCENT[dark], "width": 1.5},
            marker={"size": 7, "color": ACCENT[dark]},
            customdata=texts,
            hovertemplate="aspect weight %{customdata[2]}<br>instruction following "
            "%{customdata[0]}, relevance %{customdata[1]}<extra></extra>",
            showlegend=False,
        )
    )
    if here is not None:
        # The ring's own text keeps clear of it.
        figure.add_scatter(
            x=[here.instruction_following], y=[here.relevance], mode="markers+text",
            text=[f"{here.steer:.0%}"], textposition=places[points.index(here)],
            name="aspect weight in use", cliponaxis=False,
            marker={"size": 17, "symbol": "circle-open", "color": INK[dark], "line": {"width": 2}},
            hoverinfo="skip", showlegend=False,
        )  # fmt: skip
    following, relevance = frontier_axes(found)
    figure.update_xaxes(title=following, zeroline=found.judged)
    figure.update_yaxes(title=relevance, zeroline=False)
    return styled(figure, dark=dark, height=340, margin={"l": 8, "r": 16, "t": 16, "b": 8})


def _scaled(points: Sequence[tuple[float, float]]) -> list[complex]:
    """Points of a curve with both axes from 0 to 1."""
    spans = [max(axis) - min(axis) or 1.0 for axis in zip(*points, strict=True)]
    return [complex(x / spans[0], y / spans[1]) for x, y in points]


def _with_room(at: Sequence[complex], first: int) -> set[int]:
    """Points whose labels do not overprint each other: ``first`` is one, then both ends."""
    kept: list[int] = []
    for i in (first, len(at) - 1, *range(len(at))) if at else ():
        if all(abs(at[i] - at[k]) >= LABEL_ROOM for k in kept):
            kept.append(i)
    return set(kept)


def _beside_curve(at: Sequence[complex]) -> list[str]:
    """Where labels of a curve's points keep clear of it: opposite to both neighbours."""
    places = []
    for i, here in enumerate(at):
        ways = [other - here for other in (*at[max(0, i - 1) : i], *at[i + 1 : i + 2])]
        ways = [way / abs(way) for way in ways if abs(way) > 0]
        away = -sum(ways, 0j)
        if abs(away) < 0.2:  # on a straight piece
            away = ways[0] * 1j if ways else 1j
            away *= 1 if i % 2 else -1
        away /= abs(away)
        vertical = "top" if away.imag > 0.38 else "bottom" if away.imag < -0.38 else "middle"
        across = "right" if away.real > 0.38 else "left" if away.real < -0.38 else "center"
        places.append(f"{vertical} {across}")
    return places


def frontier_axes(found: Frontier) -> tuple[str, str]:
    """What the two axes are."""
    meaning = "rank gain over" if found.judged else "share of the top 20 new at"
    relevance = CSFCUBE_NDCG if found.judged else "similarity to the whole seed (standardised)"
    return f"instruction following: {meaning} aspect weight 0 %", f"relevance: {relevance}"


def frontier_rows(found: Frontier) -> Rows:
    """Aspect weight, instruction following and relevance of every point that is shown."""
    return [[f"{p.steer:.0%}", p.instruction_following, p.relevance] for p in _traded(found)]


def _traded(found: Frontier) -> list[FrontierPoint]:
    points = (p for p in found.points if p.instruction_following is not None)
    return sorted(points, key=lambda p: p.steer)
