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

_AGAIN_SECONDS = 5.0  # between two requests to run the page: with one at every look, none ends
_BY_SCRIPTS = ("at", "query", "doc")  # parameters of Map and Annotate


def renew_when(
    news: Callable[[], object], draw: Callable[[], object] = lambda: None, *, every: float
) -> None:
    """Draw something without controls in place, every so many seconds; run the whole page when
    there is news for the rest of it."""
    asked, address = -_AGAIN_SECONDS, st.query_params.to_dict()

    def look() -> None:
        nonlocal asked
        if news() and time.monotonic() - asked >= _AGAIN_SECONDS:
            asked = time.monotonic()
            # With a look comes the address that the browser had: right after a change, a former
            # one, but for what scripts write there themselves.
            now = st.query_params.to_dict()
            own = {name: now[name] for name in _BY_SCRIPTS if name in now}
            wanted = {k: v for k, v in address.items() if k not in _BY_SCRIPTS} | own
            if now != wanted:
                st.query_params.from_dict(wanted)
            st.rerun()
        draw()

    st.fragment(look, run_every=every)()


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_MOST_KEPT = 200


def beside(do: Callable[[], Value]) -> Future[Value]:
    """Run ``do``, which must not touch ``st``, in a thread that does not keep the server up."""
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
    """The answers to some questions, each asked once in a visit; ``do`` answers the new ones."""
    known = answers(name)
    if new := [key for key in dict.fromkeys(keys) if key not in known]:
        known |= dict.fromkeys(new, beside(partial(do, new)))
        while len(known) > _MOST_KEPT:
            del known[next(iter(known))]
    return {key: known[key] for key in keys if key in known}
