"""What the Build page shows, as the URL has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import streamlit as st

from engine.errors import BadInputError
from engine.types.builds import BuildStep

STEPS: Mapping[str, str] = {
    "lens": "Lens",
    "labels": "Labels",
    "clusters": "Clusters",
    "queries": "Queries",
    "result": "Result",
}
"""The five steps as a link names them, and as the page does."""
RUNS: Mapping[str, BuildStep] = {
    "labels": "label",
    "clusters": "collapse",
    "queries": "verbalise",
    "result": "expand",
}
"""What a step of the page runs; the lens is said by a person."""
SHOWN_BY: Mapping[BuildStep, str] = {run: step for step, run in RUNS.items()}
_HELD = "build_held"
_OWN = {"corpus", "build", "step"}


@dataclass(frozen=True, slots=True)
class BuildView:
    """One step of one build.

    Attributes:
        build: its name; "" while a new one is described.
        step: a key of :data:`STEPS`; "" is where the build stands.
    """

    corpus: str = ""
    build: str = ""
    step: str = ""

    def to_params(self) -> dict[str, str]:
        """URL parameters; a build that is not there yet has no steps."""
        found = {
            "corpus": self.corpus,
            "build": self.build,
            "step": self.step if self.build else "",
        }
        return {k: v for k, v in found.items() if v}


def read_view() -> BuildView:
    """The view of the URL, or the one that this visit left the page with.

    Raises:
        BadInputError: a step that there is not.
    """
    params = st.query_params.to_dict()
    held: BuildView | None = st.session_state.get(_HELD)
    # Going back from a page that was opened from here passes this one with its parameters.
    if held is not None and (not params or params.keys() - _OWN):
        return held
    step = params.get("step", "")
    if step and step not in STEPS:
        raise BadInputError(
            f"This link cannot be read: there is no step '{step}'.", f"Use {', '.join(STEPS)}."
        )
    return BuildView(params.get("corpus", ""), params.get("build", ""), step)


def write_view(view: BuildView) -> None:
    """Hold a view for the visit, and put it into the URL."""
    st.session_state[_HELD] = view
    params = view.to_params()
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)


def change_view(change: Callable[[BuildView], BuildView]) -> None:
    """Change what the page shows now."""
    write_view(change(st.session_state.get(_HELD) or read_view()))


def go(step: str) -> None:
    """Show another step of the build."""
    change_view(lambda now: replace(now, step=step))
