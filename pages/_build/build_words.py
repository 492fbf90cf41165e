"""The steps of a build: in the URL and in words, where they stand and what they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, Self

import streamlit as st
from pydantic import AfterValidator

from engine.text import counted
from engine.types.builds import BuildSpec, BuildState, BuildStep, Cluster, StepJob, StepState
from engine.types.models import Estimate
from pages._common.state import PageView, Shared, pages
from pages._common.tasks import at_most

STEPS: Mapping[str, str] = {
    "attribute": "Attribute",
    "labels": "Labels",
    "clusters": "Clusters",
    "queries": "Queries",
    "result": "Result",
}
"""The five steps as a link names them, and as the page does."""
MAKES: Mapping[str, str] = {
    "attribute": "what documents have in common",
    "labels": "a label for each document",
    "clusters": "groups of equal labels",
    "queries": "a query for each group",
    "result": "graded documents",
}
"""What each step makes, while there is nothing of it yet."""
RUNS: Mapping[str, BuildStep] = {
    "labels": "label",
    "clusters": "collapse",
    "queries": "verbalise",
    "result": "expand",
}
"""What a step of the page runs; the attribute is described by a person."""
SHOWN_BY: Mapping[BuildStep, str] = {run: step for step, run in RUNS.items()}


def _step(step: str) -> str:
    """Reads a step; links of earlier versions call the first one ``lens``."""
    step = "attribute" if step == "lens" else step
    if step and step not in STEPS:
        raise ValueError(f"no step '{step}', use {', '.join(STEPS)}")
    return step


@dataclass(frozen=True)
class BuildView(PageView):
    """One step of one build."""

    script = "build"
    corpus: Shared = ""
    build: str = ""  # its name; "" while a new one is described
    step: Annotated[str, AfterValidator(_step)] = ""  # a key of STEPS; "" is where the build stands

    def to_params(self) -> dict[str, str]:
        """URL parameters; a build that is not there yet has no steps."""
        return PageView.to_params(self if self.build else replace(self, step=""))

    @classmethod
    def read(cls) -> Self:
        """The view of the URL, or of the page as it was left."""
        params, left = st.query_params.to_dict(), pages().last(cls)
        # Going back from a page that was opened from here passes this one with its parameters.
        if left is not None and params.keys() - {"corpus", "build", "step"}:
            return left
        return cls.opened_with(params)


def go(step: str) -> None:
    """Show another step of the build."""
    BuildView.change(lambda now: replace(now, step=step))


class StepWords(NamedTuple):
    """What a step is called in several places."""

    start: str  # the button that runs it
    doing: str  # while it runs
    unit: str  # what it goes through
    made: str  # what comes of it
    changed: str  # why what it made is not up to date
    by: str  # before the model that made it


WORDS: Mapping[BuildStep, StepWords] = {
    "label": StepWords(
        *("Label the documents", "Labelling", "document", "label"),
        *("the attribute or documents changed since", "Labels by"),
    ),
    "collapse": StepWords(
        *("Cluster the labels", "Clustering", "document", "cluster"),
        *("the labels changed since", "Clusters by"),
    ),
    "verbalise": StepWords(
        *("Write the queries", "Writing queries", "cluster", "query"),
        *("the clusters changed since", "Queries by"),
    ),
    "expand": StepWords(
        *("Pool and grade", "Pooling and grading", "candidate", "grade"),
        *("the queries changed since", "Grades by"),
    ),
}


def many(number: int, unit: str) -> str:
    """``1 query``, ``1,200 queries``."""
    return counted(number, unit, "queries" if unit == "query" else "")


def percent(part: float) -> str:
    """A share, as the page writes it everywhere.

    >>> percent(0.333), percent(1)
    ('33 %', '100 %')
    """
    return f"{100 * part:.0f} %"


# -- where a build stands ------------------------------------------------------------------


def step_number(step: BuildStep) -> int:
    """Its number on the page, where the attribute is the first step."""
    return list(STEPS).index(SHOWN_BY[step]) + 1


def earlier(state: BuildState, step: BuildStep) -> StepState | None:
    """The first step before this one that is not complete; None when all are."""
    for before in state.steps:
        if before.step == step:
            break
        if not before.is_complete:
            return before
    return None


def comes_first(step: StepState) -> str:
    """``Waiting for step 4, Queries: the clusters changed since.``"""
    _, why = standing(step, is_next=False)
    name = STEPS[SHOWN_BY[step.step]]
    return f"Waiting for step {step_number(step.step)}, {name}" + (f": {why}." if why else ".")


def standing(
    step: StepState, *, is_next: bool, clusters: int | None = None, first: StepState | None = None
) -> tuple[str, str]:
    """How a step stands: a kind for its colour and sign, and the words for it.

    Args:
        clusters: that there are, if known.
        first: the step before this one that has to be run before it is up to date.

    Returns:
        (done | stale | partial | waits | next | later, words).
    """
    words = WORDS[step.step]
    if step.at is None and not step.done:
        return ("next", "next") if is_next else ("later", "")
    if step.stale:
        return "stale", words.changed
    if step.done < step.total:
        return "partial", f"{step.done:,} of {many(step.total, words.unit)}"
    if step.unfinished:
        return "partial", "incomplete"
    if first is not None:
        return "waits", f"waiting for step {step_number(first.step)}"
    edits = f", {counted(step.edits, 'manual change')}" if step.edits else ""
    if step.step == "collapse" and clusters is not None:
        return "done", f"{many(clusters, 'cluster')}{edits}"
    unit = words.made if step.step in ("verbalise", "expand") else words.unit
    return "done", f"{many(step.total, unit)}{edits}"


def steps_data(
    state: BuildState | None, current: str, job: StepJob | None, clusters: int | None = None
) -> list[dict[str, Any]]:
    """The five steps as the component shows them.

    Args:
        state: None for a build that is not there yet.
        current: the step that is shown.
        job: the last run; None for none.
        clusters: that there are, if known.
    """
    by_run = {step.step: step for step in state.steps} if state else {}
    rows = []
    for number, (key, name) in enumerate(STEPS.items(), start=1):
        is_first = key == "attribute"
        ran = job is not None and SHOWN_BY[job.request] == key and job.state
        failed = ran in ("failed", "interrupted")
        failed |= bool(ran and job and job.report and job.report.stopped == "endpoint")
        if ran == "running":
            kind, words = "running", "running"
        elif state is None:
            kind, words = "next" if is_first else "later", MAKES[key]
        elif is_first:
            kind, words = "done", "described"
        else:
            step = RUNS[key]
            first, is_next = earlier(state, step), state.next == step
            kind, words = standing(by_run[step], is_next=is_next, clusters=clusters, first=first)
            words = words or MAKES[key]
            if failed and kind != "done":
                kind, words = "failed", ", ".join(filter(None, ("failed", words)))
        row = {"key": key, "number": number, "name": name, "kind": kind, "words": words}
        rows.append({**row, "current": key == current, "open": state is not None or is_first})
    return rows


def where_it_stands(state: BuildState) -> str:
    """``next: Clusters``, or that all is done; for a list of builds."""
    if state.next is None:
        return "complete"
    name = STEPS[SHOWN_BY[state.next]]
    is_stale = any(step.stale for step in state.steps if step.step == state.next)
    return f"{name}: {WORDS[state.next].changed}" if is_stale else f"next: {name}"


# -- what a step takes ---------------------------------------------------------------------


def estimate_line(estimate: Estimate, step: StepState, *, with_model: bool) -> str:
    """``360 documents: 360 requests, up to 730 including retries, about 0.42 M tokens.``
    ``with_model``: a model is connected; without one, its calls are none."""
    if not estimate.items:
        nothing = "Nothing to do" if step.is_complete else "No requests needed"
        return f"{nothing}; manual changes are kept." if step.edits else f"{nothing}."
    line = many(estimate.items, WORDS[step.step].unit)
    kept = " Manual changes are kept." if step.edits else ""
    if not with_model or not estimate.calls:
        return f"{line}.{kept}"
    return f"{line}: {at_most(estimate)}. Cached answers are free.{kept}"


# -- clusters ------------------------------------------------------------------------------


def fate(cluster: Cluster, spec: BuildSpec) -> str:
    """What becomes of a cluster: ``a query``, or why none."""
    size = len(cluster.doc_ids)
    if size < spec.smallest:
        return "too small"
    if size > spec.largest:
        return "too large"
    return "excluded" if cluster.dropped else "a query"
