"""The gap as a picture: drawn in the terminal, and as an SVG file that needs nothing else."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence

from engine.types.evaluations import Interval
from engine.types.reranking import Gap, GapPoint

WIDTH = 56
"""Characters of the terminal's axis."""
_NAME = 24
LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 64, 64, 560, 300
"""Pixels of the SVG file."""
Scale = Callable[[float], float]
"""From a value to its place, in pixels from the top."""
INK, ACCENT, COUNTER, QUIET, PAPER = "#23211c", "#7a2e3a", "#3d5a73", "#8a857a", "#fbfaf6"


def span(gap: Gap) -> tuple[float, float]:
    """From where to where the axis goes: round tenths around everything that is shown."""
    least, most = gap.extent
    low, high = math.floor(least * 10) / 10, math.ceil(most * 10) / 10
    return max(0.0, low), min(1.0, max(high, low + 0.1))


# -- in the terminal -----------------------------------------------------------------------


def drawn(gap: Gap) -> str:
    """Both bounds of every size on one axis, the best retriever as a line through them."""
    low, high = span(gap)

    def column(value: float) -> int:
        return round((value - low) / (high - low) * (WIDTH - 1))

    best = column(gap.retrievers[gap.best])
    steps = round((high - low) * 10)
    axis = [" "] * (WIDTH + 3)
    for step in range(0, steps + 1, max(1, steps // 4)):
        mark = f"{low + step / 10:.1f}"
        start = max(0, column(low + step / 10) - 1)
        axis[start : start + len(mark)] = mark
    lines = [" " * _NAME + "  " + "".join(axis).rstrip()]
    for name, value in gap.best_first:
        row = [" "] * WIDTH
        row[best] = "│"
        row[column(value)] = "◆"
        lines.append(_line(name, row, f"{value:.3f}"))
    lines += [_point_line(gap, p, column(p.lower), column(p.upper), best) for p in gap.points]
    said = f"◆ retriever alone   │ the best, {gap.best}   ● lower, ○ upper bound"
    return "\n".join([*lines, " " * _NAME + "  " + said])


def _point_line(gap: Gap, point: GapPoint, lower: int, upper: int, best: int) -> str:
    row = [" "] * WIDTH
    for place in range(min(lower, upper), max(lower, upper)):
        row[place] = "━"
    row[best] = "│" if row[best] == " " else "┿"
    row[upper] = "○"
    row[lower] = "◉" if lower == upper else "●"
    low, high = gap.gap(point)
    return _line(f"pool {point.size:,}", row, f"{low:+.3f} to {high:+.3f}")


def _line(name: str, row: Sequence[str], said: str) -> str:
    short = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
    return f"{short:>{_NAME}}  {''.join(row)}  {said}"


# -- as a file -----------------------------------------------------------------------------


def svg(gap: Gap) -> str:
    """The chart of the Evaluate page, without its machinery: one SVG document."""
    low, high = span(gap)
    count = len(gap.points)

    def x(number: int) -> float:
        return LEFT + PLOT_WIDTH * (number + 0.5) / count

    def y(value: float) -> float:
        return TOP + PLOT_HEIGHT * (high - value) / (high - low)

    parts = [_axes(gap, [x(i) for i in range(count)], y, (low, high)), _retrievers(gap, y)]
    for side, colour in (("upper", COUNTER), ("lower", ACCENT)):
        values = [getattr(point, side) for point in gap.points]
        places = [(x(i), y(value)) for i, value in enumerate(values)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for point, (a, b) in zip(gap.points, places, strict=True):
            parts.append(_interval(getattr(point, f"{side}_interval"), a, y, colour))
            parts.append(_marker(side, a, b, colour))
    parts += [_gap_text(gap, point, x(i), y) for i, point in enumerate(gap.points)]
    width, height = LEFT + PLOT_WIDTH + 150, TOP + PLOT_HEIGHT + 90
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Georgia, serif" font-size="13" fill="{INK}" role="img" '
        f'aria-label="{_escaped(_title(gap))}"><rect width="100%" height="100%" fill="{PAPER}"/>'
        + "".join(parts)
        + "</svg>\n"
    )


def _axes(gap: Gap, places: Sequence[float], y: Scale, ends: tuple[float, float]) -> str:
    low, high = ends
    right = LEFT + PLOT_WIDTH
    title = _escaped(_title(gap))
    parts = [
        f'<text x="{LEFT}" y="24" font-size="16" font-weight="600">{title}</text>',
        f'<text x="{LEFT}" y="44" fill="{QUIET}">{_escaped(_subtitle(gap))}</text>',
    ]
    for step in range(round((high - low) * 10) + 1):
        value = low + step / 10
        parts.append(
            f'<line x1="{LEFT}" x2="{right}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
            f'stroke="{QUIET}" stroke-opacity="0.25"/><text x="{LEFT - 8}" y="{y(value) + 4:.1f}" '
            f'text-anchor="end">{value:.1f}</text>'
        )
    bottom = TOP + PLOT_HEIGHT
    for place, point in zip(places, gap.points, strict=True):
        parts.append(
            f'<text x="{place:.1f}" y="{bottom + 20}" text-anchor="middle">{point.size:,}</text>'
        )
    middle = LEFT + PLOT_WIDTH / 2
    legend = (
        f'<tspan fill="{COUNTER}">◇ upper bound</tspan>  <tspan fill="{ACCENT}">● lower bound'
        "</tspan>  (bars: 95 % intervals)"
    )
    parts += [
        f'<text x="{middle}" y="{bottom + 44}" text-anchor="middle">candidates per query</text>',
        f'<text x="{middle}" y="{bottom + 70}" text-anchor="middle">{legend}</text>',
        f'<text x="18" y="{TOP + PLOT_HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 18 '
        f'{TOP + PLOT_HEIGHT / 2})">{_escaped(gap.measure)}</text>',
    ]
    return "".join(parts)


def _retrievers(gap: Gap, y: Scale) -> str:
    right = LEFT + PLOT_WIDTH
    parts, last = [], -math.inf
    for name, value in gap.best_first:
        best = name == gap.best
        dash = "" if best else ' stroke-dasharray="2 4"'
        last = max(last + 15, y(value) + 4)  # names of close ones stand below each other
        parts.append(
            f'<line x1="{LEFT}" x2="{right}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
            f'stroke="{INK}" stroke-width="{1.6 if best else 1}"{dash}/><text x="{right + 8}" '
            f'y="{last:.1f}" font-weight="{600 if best else 400}">{_escaped(name[:16])} '
            f"{value:.3f}</text>"
        )
    return "".join(parts)


def _interval(bounds: Interval, x: float, y: Scale, colour: str) -> str:
    if bounds is None:
        return ""
    low, high = bounds
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}" stroke="{colour}" '
        'stroke-opacity="0.6"/>'
    )


def _marker(side: str, x: float, y: float, colour: str) -> str:
    if side == "lower":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    return (
        f'<path d="M{x:.1f},{y - 6:.1f} l6,6 l-6,6 l-6,-6 z" fill="{PAPER}" stroke="{colour}" '
        'stroke-width="2"/>'
    )


def _gap_text(gap: Gap, point: GapPoint, x: float, y: Scale) -> str:
    low, high = gap.gap(point)
    return (
        f'<text x="{x + 10:.1f}" y="{(y(point.lower) + y(point.upper)) / 2 + 4:.1f}" '
        f'font-size="12">{low:+.2f} to {high:+.2f}</text>'
    )


def _title(gap: Gap) -> str:
    return f"Retrieval–verification gap: {gap.collection}"


def _subtitle(gap: Gap) -> str:
    return (
        f"{gap.queries:,} queries, verified by {gap.verifier} ({gap.report.model}); beside "
        "each pool: the gap to the best retriever"
    )


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)
