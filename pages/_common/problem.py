"""What went wrong in a click on the Build page, shown beside what was clicked."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from engine.errors import SeedLensError
from pages._common.shared import show_error

_PROBLEM = "build_problem"


def attempt_at(place: str, do: Callable[[], object]) -> None:
    """Run what a click asked for; what goes wrong is shown at ``place`` on the run that follows."""
    try:
        do()
    except SeedLensError as error:
        st.session_state[_PROBLEM] = (place, error)


def problem_at(place: str) -> None:
    """Show here what went wrong in a click here, once."""
    known = st.session_state.get(_PROBLEM)
    if known is not None and known[0] == place:
        show_error(known[1])
        del st.session_state[_PROBLEM]


def problem_elsewhere() -> None:
    """Show what went wrong at a place that the page does not have any more."""
    known = st.session_state.pop(_PROBLEM, None)
    if known is not None:
        show_error(known[1])
