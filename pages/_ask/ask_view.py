"""What the Ask page asks: kept for the visit, and in the URL as far as it is short.

While an answer is written the page is run again several times a second, each time with the
address that the browser had when it asked for that. Right after a change this may be the former
one: for a moment, what the visit holds comes before the address.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import BadInputError
from engine.explorer import Explorer
from engine.types.reading import AskRequest

LONGEST_IN_LINK = 300
"""Characters of a question that still stand in the link."""
SETTLING = 3.0
"""Seconds after a change in which another address is taken for a former one."""
_HELD = "ask_view"
DEFAULT = AskRequest("", "")


@dataclass(frozen=True, slots=True)
class AskView:
    """A question and how it is to be answered."""

    corpus: str = ""
    question: str = ""
    system: str = DEFAULT.system
    passages: int = DEFAULT.k
    scenarios: bool = False

    def to_params(self) -> dict[str, str]:
        """URL parameters, defaults left out."""
        found = {
            "corpus": self.corpus,
            "question": self.question if len(self.question) <= LONGEST_IN_LINK else "",
            "system": "" if self.system == DEFAULT.system else self.system,
            "k": "" if self.passages == DEFAULT.k else str(self.passages),
            "scenarios": "1" if self.scenarios else "",
        }
        return {k: v for k, v in found.items() if v}

    def request(self) -> AskRequest:
        """What the view asks."""
        return AskRequest(
            self.question.strip(), self.corpus, self.system, self.passages, self.scenarios
        )


@dataclass(frozen=True, slots=True)
class _Held:
    """What was asked last on this visit, and when it came about."""

    view: AskView
    at: float


def read_view(explorer: Explorer) -> AskView:
    """What the page asks now: what the visit holds, or a link that was opened since.

    Raises:
        BadInputError: a parameter that cannot be read, named.
    """
    held: _Held | None = st.session_state.get(_HELD)
    params = st.query_params.to_dict()
    if held is not None:
        settled = time.monotonic() - held.at > SETTLING
        if not params or not settled or params == held.view.to_params():
            return held.view
    return _of_params(explorer, params)


def _of_params(explorer: Explorer, params: Mapping[str, str]) -> AskView:
    reader = explorer.reader
    try:
        system = params.get("system", DEFAULT.system)
        if system not in reader.systems:
            raise ValueError(f"there is no system '{system}'")
        passages = int(params.get("k", DEFAULT.k))
        if not 1 <= passages <= reader.most_passages:
            raise ValueError(f"k is {passages}, not a number from 1 to {reader.most_passages}")
    except ValueError as error:
        raise BadInputError(
            f"This link cannot be read: {error}.", "Open the page without it and start again."
        ) from error
    return AskView(
        corpus=params.get("corpus", ""),
        question=params.get("question", ""),
        system=system,
        passages=passages,
        scenarios=params.get("scenarios") == "1",
    )


def write_view(view: AskView) -> None:
    """Hold a view for the visit, and put it into the URL."""
    held: _Held | None = st.session_state.get(_HELD)
    if held is None or held.view != view:
        st.session_state[_HELD] = _Held(view, time.monotonic())
    params = view.to_params()
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)


def change_view(explorer: Explorer, change: Callable[[AskView], AskView]) -> None:
    """Change what the URL says now."""
    write_view(change(read_view(explorer)))


def open_view(explorer: Explorer, names: list[str]) -> AskView:
    """The view of the URL; a corpus is chosen where it names none.

    Raises:
        BadInputError: a parameter that cannot be read, or a corpus that is not there.
    """
    view = read_view(explorer)
    if not view.corpus:
        corpus = explorer.demo_corpus if explorer.demo_corpus in names else names[0]
        view = replace(view, corpus=corpus)
    elif view.corpus not in names:
        explorer.library.open(view.corpus)  # says why not
    write_view(view)
    return view
