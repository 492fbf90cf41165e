"""Waiting for work beside the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from pages._common.visit_memory import memory

_AGAIN_SECONDS = 5.0
"""Between two requests to run the page: asked for at every look, no run comes to its end."""
_SELDOM_SECONDS = 24 * 3600.0
"""Longer than a page is left alone: what is drawn so is there for the browser to know of it."""


def renew_when(
    news: Callable[[], object], draw: Callable[[], object] = lambda: None, *, every: float
) -> None:
    """Draw something in place again and again; the whole page runs when there is news.

    What has controls should not be drawn here: a look at ``draw`` closes dialogs and menus.

    Args:
        news: whether the rest of the page is out of date.
        every: seconds between two looks.
    """
    asked, address = -_AGAIN_SECONDS, st.query_params.to_dict()

    def look() -> None:
        nonlocal asked
        if news() and time.monotonic() - asked >= _AGAIN_SECONDS:
            asked = time.monotonic()
            # With a look comes the address that the browser had: right after a change, a former one
            if st.query_params.to_dict() != address:
                st.query_params.from_dict(address)
            st.rerun()
        draw()

    st.fragment(look, run_every=every)()


def renew_when_connected() -> None:
    """Have the browser run the page whenever it is connected again.

    Streamlit has it do so only where something on the page is drawn again by itself. Without that,
    a server that was restarted, or has forgotten a page that was away for two minutes, does not
    know the page's controls until the first click, and what that click asks for is lost.
    """
    st.fragment(lambda: None, run_every=_SELDOM_SECONDS)()


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_MOST_KEPT = 200


def beside(do: Callable[[], Value]) -> Future[Value]:
    """Run ``do`` in a thread that does not keep the server from stopping.

    It must not touch ``st``: what it needs of the visit is read before.
    """
    future: Future[Value] = Future()

    def run() -> None:
        try:
            future.set_result(do())
        except BaseException as error:  # raised again by result()
            future.set_exception(error)

    threading.Thread(target=run, name="seedlens-beside", daemon=True).start()
    return future


def answers(name: str) -> dict[Any, Future[Any]]:
    """What was asked on this visit under a name, over reloads."""
    known: dict[Any, Future[Any]] = memory().setdefault(name, {})
    return known


def once(
    name: str, keys: Sequence[Key], do: Callable[[list[Key]], Value]
) -> dict[Key, Future[Value]]:
    """The answers to some questions, each asked once in a visit. ``name``: of the store. ``do``:
    answers those that are new, all together."""
    known = answers(name)
    if new := [key for key in dict.fromkeys(keys) if key not in known]:
        known |= dict.fromkeys(new, beside(partial(do, new)))
        while len(known) > _MOST_KEPT:
            del known[next(iter(known))]
    return {key: known[key] for key in keys if key in known}
