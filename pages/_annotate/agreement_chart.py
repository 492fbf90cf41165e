"""Agreement over time as a figure; pure data in, nothing of Streamlit."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from engine.types.annotating import AgreementMeasure, AgreementPoint
from pages._common.chart_style import ACCENT, INK, styled

HEIGHT = 320
BAND = {False: "rgba(122, 46, 58, .14)", True: "rgba(227, 154, 165, .2)"}
"""The accent, thin enough to read through."""


def agreement_chart(
    found: Sequence[tuple[AgreementPoint, AgreementMeasure]],
    title: str,
    *,
    by_day: bool,
    dark: bool,
) -> go.Figure:
    """A line with its interval as a band; where the measure is undefined, the line has a gap and
    a cross stands at the bottom.

    Args:
        by_day: days along the axis, not numbers of items.
    """
    at = [f"{p.until:%Y-%m-%d}" if by_day else p.items for p, _ in found]
    band = [(x, *m.interval) for x, (_, m) in zip(at, found, strict=True) if m.interval]
    floor = min([0.0, *(low for _, low, _ in band), *(m.value for _, m in found if m.value)])
    figure = go.Figure()
    for end, fill in ((2, None), (1, "tonexty")):
        figure.add_scatter(
            x=[row[0] for row in band], y=[row[end] for row in band], mode="lines", fill=fill,
            line={"width": 0}, fillcolor=BAND[dark], hoverinfo="skip", name="95 % interval",
            showlegend=bool(band) and fill is not None,
        )  # fmt: skip
    figure.add_scatter(
        x=at, y=[m.value for _, m in found], mode="lines+markers", connectgaps=False,
        line={"color": ACCENT[dark], "width": 2}, marker={"size": 6},
        customdata=[p.items for p, _ in found], showlegend=False,
        hovertemplate="%{y:.2f}, n = %{customdata}<extra></extra>",
    )  # fmt: skip
    lacking = [(x, p.items) for x, (p, m) in zip(at, found, strict=True) if m.value is None]
    figure.add_scatter(
        x=[x for x, _ in lacking], y=[floor] * len(lacking), mode="markers", name="undefined",
        showlegend=bool(lacking), marker={"symbol": "x-thin-open", "size": 9, "color": INK[dark]},
        customdata=[items for _, items in lacking],
        hovertemplate="undefined, n = %{customdata}<extra></extra>",
    )  # fmt: skip
    return styled(
        figure, dark=dark, height=HEIGHT,
        xaxis={"title": "Day (UTC)" if by_day else "Items graded by two or more (n)",
               "type": "category" if by_day else "linear", "rangemode": "tozero",
               "categoryorder": "category ascending", "showgrid": False},
        yaxis={"title": title, "range": [floor - 0.05, 1.05]},
    )  # fmt: skip
