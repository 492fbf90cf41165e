"""The Evaluate page under AppTest."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from tests.pages import visits
from tests.pages.visits import run
from tests.support import HasState, ended


def visit(**params: str) -> AppTest:
    """The page at a link with these parameters."""
    return visits.visit("evaluate", **params)


def shown(page: AppTest) -> str:
    """All HTML of the page, and the captions of its charts."""
    return visits.shown(page, "caption")


def finished(page: AppTest, look: Callable[[], HasState | None]) -> AppTest:
    """The page once the job that ``look`` finds has ended."""
    ended(look)
    return run(page)
