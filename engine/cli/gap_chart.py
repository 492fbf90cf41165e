"""The gap as a picture: drawn in the terminal, and as an SVG file that needs nothing else."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence

from engine.cli.outlines import outlined, width_of, wrapped
from engine.types.evaluations import Interval
from engine.types.reranking import Gap, GapPoint

WIDTH = 56
"""Characters of the terminal's axis."""
_NAME = 24
WIDE, HIGH, SIDE = 1280, 720, 40
"""Pixels of the SVG file: a slide, as the app exports it."""
LEFT, TOP, TEXT, SMALL = 120, 120, 20, 16
Scale = Callable[[float], float]
"""From a value to its place, in pixels from the top."""
INK, ACCENT, COUNTER, GRID, PAPER = "#23211c", "#7a2e3a", "#3d5a73", "#dedacd", "#ffffff"
"""The colours of the app's charts on a light page."""


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
    """The chart of the Evaluate page as one SVG document, its letters as outlines."""
    (low, high), count = span(gap), len(gap.points)
    caption = wrapped(_caption(gap), WIDE - 2 * SIDE, SMALL)
    names = [f"{name} {value:.3f}" for name, value in gap.best_first]
    right = WIDE - SIDE - 12 - max(width_of(name, TEXT, 600) for name in names)
    bottom = HIGH - 120 - 22 * len(caption)

    def x(number: int) -> float:
        return LEFT + (right - LEFT) * (number + 0.5) / count

    def y(value: float) -> float:
        return TOP + (bottom - TOP) * (high - value) / (high - low)

    places = [x(i) for i in range(count)]
    parts = [_axes(gap, places, y, (low, high), right), _retrievers(gap, y, right)]
    for side, colour in (("upper", COUNTER), ("lower", ACCENT)):
        values = [getattr(point, side) for point in gap.points]
        path = " ".join(f"{a:.1f},{y(v):.1f}" for a, v in zip(places, values, strict=True))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="3"/>')
        for point, a, value in zip(gap.points, places, values, strict=True):
            parts.append(_interval(getattr(point, f"{side}_interval"), a, y, colour))
            parts.append(_marker(side, a, y(value), colour))
    first = HIGH - 14 - 22 * (len(caption) - 1)
    parts += [outlined(text, SIDE, first + 22 * i, SMALL) for i, text in enumerate(caption)]
    title = html.escape(_title(gap), quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" '
        f'height="{HIGH}" fill="{INK}" role="img" aria-label="{title}"><title>{title}</title>'
        f"<desc>{html.escape(_caption(gap))}</desc>"
        f'<rect width="{WIDE}" height="{HIGH}" fill="{PAPER}"/>' + "".join(parts) + "</svg>\n"
    )


def _axes(
    gap: Gap, places: Sequence[float], y: Scale, ends: tuple[float, float], right: float
) -> str:
    low, high = ends
    parts = [outlined(_title(gap), SIDE, 50, 28, weight=600), _legend()]
    for step in range(round((high - low) * 10) + 1):
        value = low + step / 10
        parts.append(
            f'<line x1="{LEFT}" x2="{right:.1f}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
            f'stroke="{GRID}"/>'
        )
        parts.append(outlined(f"{value:.1f}", LEFT - 12, y(value) + 6, TEXT, anchor="end"))
    bottom = y(low)
    for place, point in zip(places, gap.points, strict=True):
        from_, to = (f"{value:+.3f}".replace("-", "−") for value in gap.gap(point))
        for row, text in enumerate((f"{point.size:,}", f"gap {from_}", f"to {to}")):
            size = TEXT if row == 0 else SMALL
            parts.append(outlined(text, place, bottom + 26 + 20 * row, size, anchor="middle"))
    middle = LEFT + (right - LEFT) / 2
    parts.append(outlined("candidates per query", middle, bottom + 92, TEXT, anchor="middle"))
    turned = outlined(gap.measure, 0, 0, TEXT, anchor="middle")
    height = (TOP + bottom) / 2
    parts.append(f'<g transform="translate({SIDE + 16} {height:.1f}) rotate(-90)">{turned}</g>')
    return "".join(parts)


def _legend() -> str:
    words = {
        "upper": "upper bound: missing documents put in",
        "lower": "lower bound: as found",
    }
    parts, x = [], LEFT + 8.0
    for (side, text), colour in zip(words.items(), (COUNTER, ACCENT), strict=True):
        parts.append(_marker(side, x, 84, colour))
        parts.append(outlined(text, x + 16, 90, TEXT, fill=colour))
        x += 60 + width_of(text, TEXT)
    return "".join(parts) + outlined("bars: 95 % intervals", x, 90, TEXT)


def _retrievers(gap: Gap, y: Scale, right: float) -> str:
    parts, last = [], -math.inf
    for name, value in gap.best_first:
        best = name == gap.best
        dash = "" if best else ' stroke-dasharray="2 4"'
        last = max(last + TEXT + 4, y(value) + 6)  # names of close ones stand below each other
        parts.append(
            f'<line x1="{LEFT}" x2="{right:.1f}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
            f'stroke="{INK}" stroke-width="{2.4 if best else 1.4}"{dash}/>'
        )
        weight = 600 if best else 400
        parts.append(outlined(f"{name} {value:.3f}", right + 12, last, TEXT, weight=weight))
    return "".join(parts)


def _interval(bounds: Interval, x: float, y: Scale, colour: str) -> str:
    if bounds is None:
        return ""
    low, high = bounds
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}" stroke="{colour}" '
        'stroke-width="1.6"/>'
    )


def _marker(side: str, x: float, y: float, colour: str) -> str:
    if side == "lower":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="{colour}"/>'
    return (
        f'<path d="M{x:.1f},{y - 9:.1f} l9,9 l-9,9 l-9,-9 z" fill="{PAPER}" stroke="{colour}" '
        'stroke-width="3"/>'
    )


def _title(gap: Gap) -> str:
    return f"Retrieval–verification gap: {gap.collection}"


def _caption(gap: Gap) -> str:
    return (
        f"{gap.queries:,} queries, verified by {gap.verifier} ({gap.report.model}). Below each "
        "pool: the gap between the best retriever and the two bounds."
    )
