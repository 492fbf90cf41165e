"""Components of our own (JavaScript under ``assets/components``) and what they tell back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from pages._shared import ASSETS, attempt

Event = Callable[[Mapping[str, Any]], None]


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


def dark() -> bool:
    return st.context.theme.type == "dark"
