"""What the server remembers of a visit, over reloads and in all tabs: in memory only.

A visit is a browser, known by a cookie, and where people log in, one person in it. What it
holds is gone when the server ends, when the person logs out, or when nobody came for a while.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import streamlit as st

from pages._login import login
from pages._login.requests import VISIT, VISIT_COOKIE

_WITHOUT_COOKIE = "visit_memory"


class Memory(dict[str, Any]):
    """What one visit holds, by name; its ``repr`` tells the names only, as one may be a key."""

    def __repr__(self) -> str:
        return f"<Memory: {', '.join(self)}>"


class Visits:
    """The memories of visits, up to ``most``, each for ``seconds`` after its last use."""

    def __init__(
        self,
        most: int = 1_000,
        seconds: float = 12 * 3600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._known: OrderedDict[tuple[str, str], tuple[float, Memory]] = OrderedDict()
        self._lock = threading.Lock()

    def memory(self, visit: str, person: str) -> Memory:
        """What a visit of a person, "" where nobody logs in, holds; empty at first."""
        now = self._clock()
        with self._lock:
            while self._known and next(iter(self._known.values()))[0] < now - self._seconds:
                self._known.popitem(last=False)
            _, memory = self._known.pop((visit, person), (0.0, Memory()))
            self._known[visit, person] = now, memory
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return memory

    def forget(self, visit: str, person: str) -> None:
        """Forget all that a visit of a person holds."""
        with self._lock:
            _, memory = self._known.pop((visit, person), (0.0, Memory()))
        memory.clear()  # a page that runs just now may still have it


_VISITS = Visits()


def memory() -> Memory:
    """What this visit holds, or this tab where the browser takes no cookies."""
    if visit := _visit():
        return _VISITS.memory(visit, _person())
    held: Memory = st.session_state.setdefault(_WITHOUT_COOKIE, Memory())
    return held


def forget_visit() -> None:
    """Forget what this visit holds: the visitor logs out."""
    _VISITS.forget(_visit(), _person())


def _visit() -> str:
    """The id in this browser's cookie; "" for none."""
    cookie = st.context.cookies.get(VISIT_COOKIE, "")
    return cookie if isinstance(cookie, str) and VISIT.fullmatch(cookie) else ""


def _person() -> str:
    who = login.person()
    return "" if who is None else who.address
