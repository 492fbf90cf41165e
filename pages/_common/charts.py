"""Charts: their colours and labels, a Plotly template for all, and the files that they become."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd
import plotly.graph_objects as go

from engine.text import spreadsheet_cell
from pages._common.shared import escape

LONGEST_LABEL = 24
ROLE_COLOURS = {
    False: ("#1d5f9e", "#964400", "#0a5c3c", "#7e1be1", "#510c4b", "#271290", "#6f5775", "#691803"),
    True: ("#8cc1f5", "#f2ac6b", "#9be8a4", "#f06cc3", "#dbea30", "#84f3e7", "#c3a212", "#78a893"),
}
"""The roles' colours of ``assets/style.css``, light (False) and dark."""
PAPER = {False: "#fbfaf6", True: "#191815"}
INK = {False: "#23211c", True: "#ece8dd"}
ACCENT = {False: "#7a2e3a", True: "#e39aa5"}
QUIET = {False: "#f1eee5", True: "#2a2924"}
GRID = {False: "#dedacd", True: "#403e38"}
COUNTER = {False: "#3d5a73", True: "#8fb2d0"}
"""Opposite of the accent, where a measure may be negative."""
UNJUDGED = {False: "#85806f", True: "#8d8877"}
GRADES = {
    False: ("#85806f", "#b9731f", "#a8443a", "#6b1f4d"),
    True: ("#8d8877", "#c98f4a", "#ee9f8f", "#f3c9ee"),
}
"""From not relevant to the highest grade: each further from the paper than the one before."""
FILE_PAPER = "#ffffff"
FONT = "Source Sans, system-ui, sans-serif"
FILE_FONT = "SeedLens Figure"
"""``assets/figures/font.json``: exported figures hold its outlines."""


def _template(dark: bool) -> go.layout.Template:
    ink, paper = INK[dark], PAPER[dark]
    axis = {
        "automargin": True,
        "fixedrange": True,
        "gridcolor": GRID[dark],
        "linecolor": GRID[dark],
        "zerolinecolor": UNJUDGED[dark],
        "tickfont": {"color": ink},
        "title": {"standoff": 9, "font": {"color": ink, "size": 12.5}},
    }
    return go.layout.Template(
        layout={
            "dragmode": False,
            "margin": {"l": 8, "r": 16, "t": 34, "b": 8},
            "paper_bgcolor": paper,
            "plot_bgcolor": paper,
            "font": {"family": FONT, "color": ink, "size": 12},
            "hoverlabel": {
                "bgcolor": paper,
                "bordercolor": ink,
                "align": "left",
                "namelength": -1,
                "font": {"color": ink, "family": FONT},
            },
            "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"},
            "xaxis": axis,
            "yaxis": axis,
        }
    )


_TEMPLATES = {dark: _template(dark) for dark in (False, True)}


def styled(figure: go.Figure, *, dark: bool, height: float, **layout: Any) -> go.Figure:
    """A figure in the look of all charts, of a height in pixels; ``layout``: Plotly's."""
    figure.update_layout(template=_TEMPLATES[dark], height=height, **layout)
    return figure


def label(text: str, longest: int = LONGEST_LABEL) -> str:
    """``text`` on one line, shortened, as Plotly shows it literally.

    >>> label("<b>R&D</b>")
    '&lt;b&gt;R&amp;D&lt;/b&gt;'
    """
    line = " ".join(text.split())
    short = line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
    return escape(short, quote=False)


def wrapped(text: str, width: int = LONGEST_LABEL, lines: int = 3) -> str:
    """``text`` on up to so many lines of ``width`` characters, as Plotly shows it literally.

    >>> wrapped("a wording of several words", width=12)
    'a wording of<br>several<br>words'
    """
    parts = textwrap.wrap(" ".join(text.split()), width, max_lines=lines, placeholder="…")
    return "<br>".join(escape(part, quote=False) for part in parts)


def number(value: float | None, *, signed: bool = False) -> str:
    """A figure with the three digits that it has everywhere; a dash where it is undefined.

    >>> number(-0.01049, signed=True), number(-0.0001, signed=True), number(None)
    ('−0.010', '0.000', '–')
    """
    if value is None or value != value:
        return "–"
    value = round(value, 3) + 0.0  # −0.0 becomes 0.0
    return (f"{value:+.3f}" if signed and value else f"{value:.3f}").replace("-", "−")


# -- files ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FigureFile:
    """What is exported of a chart."""

    name: str  # of the files, without an ending, and of the chart in the labels of its menu
    title: str  # above the drawing, plain text as the caption below
    caption: str
    head: Sequence[str]  # of the data
    rows: Sequence[Sequence[object]]

    @classmethod
    def of(cls, name: str, title: str, caption: str, frame: pd.DataFrame) -> Self:
        """The file of a chart of this frame."""
        return cls(name, title, caption, list(frame), list(_cells(frame)))

    def data(self) -> dict[str, str]:
        """For the component that makes the files."""
        shown = ([f"{v:.3f}" if isinstance(v, float) else v for v in row] for row in self.rows)
        named = {"name": self.name, "title": self.title, "caption": self.caption}
        return {**named, "csv": to_csv(self.head, shown)}


def to_csv(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A table as CSV, in which no text is a formula to a spreadsheet program."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in (head, *lines):
        writer.writerow([spreadsheet_cell(v) if isinstance(v, str) else v for v in line])
    return out.getvalue()


def frame_csv(frame: pd.DataFrame) -> str:
    """A frame as CSV; what is undefined is an empty field."""
    return to_csv(list(frame), _cells(frame))


def _cells(frame: pd.DataFrame) -> Iterable[Sequence[object]]:
    cells = frame.astype(object).where(frame.notna(), "")
    rows: Iterable[Sequence[object]] = cells.itertuples(index=False, name=None)
    return rows


def for_file(figure: go.Figure) -> dict[str, Any]:
    """A light chart, as Plotly's data and layout, on white, without what only pointing shows."""
    spec: dict[str, Any] = figure.to_plotly_json()
    hovering = ("hovertemplate", "hovertext", "customdata", "hoverinfo")
    data = [{k: v for k, v in trace.items() if k not in hovering} for trace in spec["data"]]
    for trace in data:
        if "text" not in str(trace.get("mode", "text")):
            trace.pop("text", None)
    font = {"family": FILE_FONT, "color": INK[False], "size": 12}
    papers = {"paper_bgcolor": FILE_PAPER, "plot_bgcolor": FILE_PAPER}
    return {"data": data, "layout": {**spec["layout"], **papers, "font": font, "autosize": False}}
