"""What the Ask page asks: in the URL as far as it is short, and as the page was left.

While an answer is written the page is run again several times a second, each time with the
address that the browser had when it asked for that. Right after a change this may be the former
one: for a moment, the page as it was left comes before the address.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from engine.explorer import Explorer
from engine.types.reading import MOST_PASSAGES, AskRequest
from pages._common import workspace
from pages._common.url_state import UrlState, flag, integer, one_of, param, write_flag

LONGEST_IN_LINK = 300
"""Characters of a question that still stand in the link."""
SETTLING = 3.0
"""Seconds after a change in which another address is taken for a former one."""
_CHANGED = "ask_changed"
"""Where the tab keeps when its view changed last."""
DEFAULT = AskRequest("", "")


def _short(question: str) -> str:
    return question if len(question) <= LONGEST_IN_LINK else ""


@dataclass(frozen=True, slots=True)
class AskView(UrlState):
    """A question, how it is to be answered, and the answer that is shown.

    Attributes:
        answer: the id of an answer, which may be one to another question.
    """

    script = "ask"
    corpus: str = param("corpus", "", shared=True)
    question: str = param("question", "", write=_short)
    system: str = param("system", DEFAULT.system, one_of(Explorer.systems))
    passages: int = param("k", DEFAULT.k, integer("k", 1, MOST_PASSAGES))
    scenarios: bool = param("scenarios", False, flag, write_flag)
    answer: str = param("answer", "")

    def on_corpus(self, corpus: str) -> Self:
        """The same question to another corpus."""
        return replace(self, corpus=corpus)

    @classmethod
    def read(cls) -> Self:
        """What the page asks now: as it was left, or a link that was opened since."""
        params, left = st.query_params.to_dict(), workspace.pages().last(cls)
        settled = time.monotonic() - st.session_state.get(_CHANGED, -SETTLING) > SETTLING
        if left is not None and params and (not settled or params == left.to_params()):
            return left
        return cls.opened_with(params)

    def write(self) -> None:
        """Remember the view, and put it into the URL."""
        if workspace.pages().last(AskView) != self:
            st.session_state[_CHANGED] = time.monotonic()
        UrlState.write(self)

    def request(self, *, has_scenarios: bool = True) -> AskRequest:
        """What the view asks. ``has_scenarios``: the corpus has some that can go along."""
        along = self.scenarios and has_scenarios
        return AskRequest(self.question.strip(), self.corpus, self.system, self.passages, along)
