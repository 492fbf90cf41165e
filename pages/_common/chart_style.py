"""Colours and labels of all charts."""

from __future__ import annotations

import html
from typing import Any

LONGEST_LABEL = 24
ROLE_COLOURS = {
    False: ("#1d5f9e", "#964400", "#0a5c3c", "#7e1be1", "#510c4b", "#271290", "#6f5775", "#691803"),
    True: ("#8cc1f5", "#f2ac6b", "#9be8a4", "#f06cc3", "#dbea30", "#84f3e7", "#c3a212", "#78a893"),
}
"""The roles' colours of ``assets/components/common.css``, light (False) and dark."""
PAPER = {False: "#fbfaf6", True: "#191815"}
INK = {False: "#23211c", True: "#ece8dd"}
ACCENT = {False: "#7a2e3a", True: "#e39aa5"}
QUIET = {False: "#f1eee5", True: "#2a2924"}
COUNTER = {False: "#3d5a73", True: "#8fb2d0"}
"""Opposite of the accent, where a measure may be negative."""


def label(text: str, longest: int = LONGEST_LABEL) -> str:
    """``text`` on one line, shortened, as Plotly shows it literally.

    >>> label("<b>R&D</b>")
    '&lt;b&gt;R&amp;D&lt;/b&gt;'
    """
    line = " ".join(text.split())
    short = line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
    return html.escape(short, quote=False)


def image_config(name: str) -> dict[str, Any]:
    """Plotly's tool bar with nothing but the button that saves the chart, in the browser."""
    return {
        "displaylogo": False,
        "displayModeBar": True,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": "png", "filename": name, "scale": 2},
        "scrollZoom": False,
    }
