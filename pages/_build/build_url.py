"""What the Build page shows, as the URL has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from engine.types.builds import BuildStep
from pages._common import workspace
from pages._common.url_state import UrlState, param

STEPS: Mapping[str, str] = {
    "attribute": "Attribute",
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
"""What a step of the page runs; the attribute is described by a person."""
SHOWN_BY: Mapping[BuildStep, str] = {run: step for step, run in RUNS.items()}


def _step(text: str) -> str:
    """Reads a step; links of earlier versions call the first one ``lens``."""
    step = "attribute" if text == "lens" else text
    if step and step not in STEPS:
        raise ValueError(f"no step '{text}', use {', '.join(STEPS)}")
    return step


@dataclass(frozen=True, slots=True)
class BuildView(UrlState):
    """One step of one build.

    Attributes:
        build: its name; "" while a new one is described.
        step: a key of :data:`STEPS`; "" is where the build stands.
    """

    script = "build"
    corpus: str = param("corpus", "", shared=True)
    build: str = param("build", "")
    step: str = param("step", "", _step)

    def to_params(self) -> dict[str, str]:
        """URL parameters; a build that is not there yet has no steps."""
        return UrlState.to_params(self if self.build else replace(self, step=""))

    @classmethod
    def read(cls) -> Self:
        """The view of the URL, or of the page as it was left."""
        params = st.query_params.to_dict()
        # Going back from a page that was opened from here passes this one with its parameters.
        left = workspace.pages().last(cls)
        if left is not None and params.keys() - {"corpus", "build", "step"}:
            return left
        return cls.opened_with(params)


def go(step: str) -> None:
    """Show another step of the build."""
    BuildView.change(lambda now: replace(now, step=step))
