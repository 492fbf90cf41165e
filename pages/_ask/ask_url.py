"""What the Ask page asks: kept for the visit, and in the URL as far as it is short.

While an answer is written the page is run again several times a second, each time with the
address that the browser had when it asked for that. Right after a change this may be the former
one: for a moment, what the visit holds comes before the address.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Self

import streamlit as st

from engine.explorer import Explorer
from engine.types.reading import MOST_PASSAGES, AskRequest
from pages._common.url_state import UrlState, flag, integer, one_of, param, write_flag

LONGEST_IN_LINK = 300
"""Characters of a question that still stand in the link."""
SETTLING = 3.0
"""Seconds after a change in which another address is taken for a former one."""
_HELD = "ask_view"
"""Where the visit keeps the view that was asked last, and when that came about."""
DEFAULT = AskRequest("", "")


def _short(question: str) -> str:
    return question if len(question) <= LONGEST_IN_LINK else ""


@dataclass(frozen=True, slots=True)
class AskView(UrlState):
    """A question and how it is to be answered."""

    corpus: str = param("corpus", "")
    question: str = param("question", "", write=_short)
    system: str = param("system", DEFAULT.system, one_of(Explorer.systems))
    passages: int = param("k", DEFAULT.k, integer("k", 1, MOST_PASSAGES))
    scenarios: bool = param("scenarios", False, flag, write_flag)

    @classmethod
    def read(cls) -> Self:
        """What the page asks now: what the visit holds, or a link that was opened since."""
        params = st.query_params.to_dict()
        view, since = st.session_state.get(_HELD, (None, 0.0))
        settled = time.monotonic() - since > SETTLING
        if view is not None and (not params or not settled or params == view.to_params()):
            return view  # type: ignore[no-any-return]
        return cls.from_params(params)

    def write(self) -> None:
        """Hold the view for the visit, and put it into the URL."""
        if _HELD not in st.session_state or st.session_state[_HELD][0] != self:
            st.session_state[_HELD] = (self, time.monotonic())
        UrlState.write(self)

    def request(self, *, has_scenarios: bool = True) -> AskRequest:
        """What the view asks.

        Args:
            has_scenarios: the corpus has some that can go along.
        """
        along = self.scenarios and has_scenarios
        return AskRequest(self.question.strip(), self.corpus, self.system, self.passages, along)
