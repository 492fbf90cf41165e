"""Components of our own (JavaScript under ``assets/components``) and what they tell back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from pages._common.modules import ADDRESS, FOLDER
from pages._common.shared import ASSETS, attempt

Event = Callable[[Mapping[str, Any]], object]


def component(name: str, *styles: str) -> Any:
    """The component of ``assets/components/{name}.js``.

    Args:
        styles: further style sheets, before its own.
    """
    sheets = [FOLDER / f"{one}.css" for one in ("base", *styles, name)]
    # An import with the address of this server, which Streamlit's blob of the script has not. One
    # that fails is tried again at the next drawing; browsers keep failures, hence another address.
    address = f"`{ADDRESS}/{name}.js${{tries++ ? `?again=${{tries}}` : ''}}`"
    load = f"import(new URL({address}, document.baseURI))"
    failed = "(error) => { module = null; throw error }"
    return st.components.v2.component(
        f"seedlens_{name}",
        html='<div class="root"></div>',
        css="".join(sheet.read_text("utf-8") for sheet in sheets if sheet.exists()),
        js="let module, tries = 0\nexport default async (c) => "
        f"(await (module ??= {load}.catch({failed}))).default(c)",
    )


_MENU = component("menu")


def apply_style() -> None:
    """The style of all pages, and the menu of narrow screens that closes after a choice."""
    st.html(ASSETS / "style.css")
    st.html(ASSETS / "components" / "model.css")
    with st.container(key="menu_keeper"):
        _MENU(key="menu", data={})


def listen(key: str, event: str, do: Event) -> Callable[[], None]:
    def callback() -> None:
        value = st.session_state[key].get(event)
        if value:
            attempt(lambda: do(value))

    return callback


def listeners(key: str, on: Mapping[str, Event], *events: str) -> dict[str, Callable[[], None]]:
    return {f"on_{event}_change": listen(key, event, on[event]) for event in events}


def _is_event(event: object) -> bool:
    """Whether this is an event as an ``outbox`` sends them: with a name, and a number."""
    if not isinstance(event, Mapping) or not isinstance(event.get("name"), str):
        return False
    return isinstance(event.get("at"), int | float)


def inbox(
    key: str, on: Mapping[str, Event]
) -> tuple[dict[str, int], dict[str, Callable[[], None]]]:
    """What receives the events of a component's ``outbox``, each once and in order.

    Returns:
        What goes into the component's data, and its callback.
    """
    last = f"{key}_received"

    def receive() -> None:
        sent = st.session_state[key].get("events")
        for event in filter(_is_event, sent if isinstance(sent, list) else ()):
            if event["at"] > st.session_state.get(last, 0):
                st.session_state[last] = event["at"]
                if event["name"] in on:
                    attempt(partial(on[event["name"]], event))

    return {"received": st.session_state.get(last, 0)}, {"on_events_change": receive}
