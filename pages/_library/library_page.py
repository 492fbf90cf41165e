"""What the parts of the Library page share: doing what a button asks for, saying how it went."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from engine.errors import SeedLensError
from pages._common.shared import error_boundary

EXPLORE = str(Path(__file__).resolve().parents[1] / "explore.py")
_PROBLEM = "library_problem_"


def act(place: str, do: Callable[..., object], *args: object) -> None:
    """Do what a button asks for; what goes wrong is shown at ``place`` by :func:`problem`."""
    forget_problems()
    try:
        do(*args)
    except SeedLensError as error:
        st.session_state[f"{_PROBLEM}{place}"] = error


def forget_problems() -> None:
    """Take away what went wrong before: something else is being done now."""
    for key in [key for key in st.session_state if str(key).startswith(_PROBLEM)]:
        del st.session_state[key]


def problem(place: str) -> None:
    """Show what went wrong at ``place``, until something else is done."""
    error = st.session_state.get(f"{_PROBLEM}{place}")
    if error is not None:
        with error_boundary():
            raise error


def time_left(seconds: float | None) -> str:
    """``about 40 s left``: rounded, as an estimate should be; empty when there is none."""
    if seconds is None:
        return ""
    if seconds < 55:
        return f"about {max(5, round(seconds / 5) * 5)} s left"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"about {minutes} min left"
    return f"about {minutes // 60} h {minutes % 60} min left"
