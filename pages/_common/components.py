"""Components of our own (JavaScript under ``assets/components``) and what they tell back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from pages._common.chart_style import image_config
from pages._common.shared import ASSETS, attempt

Event = Callable[[Mapping[str, Any]], object]


def _asset(name: str) -> str:
    return (ASSETS / "components" / name).read_text("utf-8")


def component(name: str) -> Any:
    return st.components.v2.component(
        f"seedlens_{name}",
        html='<div class="root"></div>',
        css=_asset("common.css") + _asset(f"{name}.css"),
        js=_asset("common.js") + _asset(f"{name}.js"),
    )


def listen(key: str, event: str, do: Event) -> Callable[[], None]:
    def callback() -> None:
        value = st.session_state[key].get(event)
        if value:
            attempt(lambda: do(value))

    return callback


def listeners(key: str, on: Mapping[str, Event], *events: str) -> dict[str, Callable[[], None]]:
    return {f"on_{event}_change": listen(key, event, on[event]) for event in events}


_SAVE = component("save_chart")


def chart(
    figure: go.Figure, *, name: str, alt: str, key: str, heading: str = "", words: str = ""
) -> None:
    """A chart with a button that saves it as SVG and one for PNG.

    Args:
        name: of the files, and of the chart in the buttons' labels.
        heading, words: HTML above it.
    """
    said = {"key": key, "chart": name.replace("-", " ")}
    if heading or words:
        left, right = st.columns([6, 1], vertical_alignment="bottom")
        left.html(f'{heading}<div class="cmp-dim">{words}</div>')
        with right:
            _SAVE(key=f"{key}_save", data=said)
    else:
        _SAVE(key=f"{key}_save", data=said)
    st.plotly_chart(figure, key=key, config=image_config(name), alt=alt)


def dark() -> bool:
    """Whether the visitor's theme is dark."""
    return st.context.theme.type == "dark"
