"""The steps of a build: in the URL and in words, where they stand and what they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Annotated, Any, NamedTuple, Self

import streamlit as st
from pydantic import AfterValidator

from engine.text import counted
from engine.types.builds import BuildSpec, BuildState, BuildStep, Cluster, StepJob, StepState
from engine.types.models import Estimate
from pages._common.state import PageView, Shared, pages
from pages._common.tasks import at_most


class Step(NamedTuple):
    """A step of the page; the attribute is described by a person, the others run."""

    key: str  # as a link names it
    number: int
    name: str
    makes: str  # while there is nothing of it yet
    run: BuildStep | None = None
    start: str = ""  # the button that runs it
    doing: str = ""  # while it runs
    unit: str = ""  # what it goes through
    made: str = ""  # what comes of it
    changed: str = ""  # why what it made is not up to date
    by: str = ""  # before the model that made it
    about: str = ""  # before anything of it is done


_ALL = (
    Step("attribute", 1, "Attribute", "what documents have in common"),
    Step(
        *("labels", 2, "Labels", "a label for each document", "label", "Label the documents"),
        *("Labelling", "document", "label"),
        *("the attribute or documents changed since", "Labels by"),
        "A model labels every document, with a quote as evidence. Read and correct the labels; "
        "your edits stay when the model runs again.",
    ),
    Step(
        *("clusters", 3, "Clusters", "groups of equal labels", "collapse", "Cluster the labels"),
        *("Clustering", "document", "cluster", "the labels changed since", "Clusters by"),
        "Equal labels form clusters; each cluster of the right size becomes a query. Rename, "
        "merge, split and exclude clusters.",
    ),
    Step(
        *("queries", 4, "Queries", "a query for each group", "verbalise", "Write the queries"),
        *("Writing queries", "cluster", "query", "the clusters changed since", "Queries by"),
        "Queries describe clusters without the words of their documents. Edit queries with too "
        "much word overlap.",
    ),
    Step(
        *("result", 5, "Result", "graded documents", "expand", "Pool and grade"),
        *("Pooling and grading", "candidate", "grade", "the queries changed since", "Grades by"),
        "Every system searches for each query; the model grades the retrieved documents. The "
        "result is an annotation project.",
    ),
)
STEPS: Mapping[str, Step] = {step.key: step for step in _ALL}
RUNS: Mapping[BuildStep, Step] = {step.run: step for step in _ALL if step.run}


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


def before(state: BuildState, step: BuildStep) -> list[StepState]:
    """The steps before this one."""
    return [*takewhile(lambda one: one.step != step, state.steps)]


def earlier(state: BuildState, step: BuildStep) -> StepState | None:
    """The first step before this one that is not complete; None when all are."""
    return next((one for one in before(state, step) if not one.is_complete), None)


def waiting_for(step: StepState, why: str = "") -> str:
    """``Waiting for step 4, Queries: the clusters changed since.``"""
    shown = RUNS[step.step]
    return f"Waiting for step {shown.number}, {shown.name}" + (f": {why}." if why else ".")


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
    words = RUNS[step.step]
    if step.at is None and not step.done:
        return ("next", "next") if is_next else ("later", "")
    if step.stale:
        return "stale", words.changed
    if step.done < step.total:
        return "partial", f"{step.done:,} of {many(step.total, words.unit)}"
    if step.unfinished:
        return "partial", "incomplete"
    if first is not None:
        return "waits", f"waiting for step {RUNS[first.step].number}"
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
    for shown in _ALL:
        ran = job is not None and job.request == shown.run and job.state
        failed = ran in ("failed", "interrupted")
        failed |= bool(ran and job and job.report and job.report.stopped == "endpoint")
        if ran == "running":
            kind, words = "running", "running"
        elif state is None:
            kind, words = "later" if shown.run else "next", shown.makes
        elif shown.run is None:
            kind, words = "done", "described"
        else:
            first, is_next = earlier(state, shown.run), state.next == shown.run
            step = by_run[shown.run]
            kind, words = standing(step, is_next=is_next, clusters=clusters, first=first)
            words = words or shown.makes
            if failed and kind != "done":
                kind, words = "failed", ", ".join(filter(None, ("failed", words)))
        row = {"key": shown.key, "number": shown.number, "name": shown.name, "kind": kind}
        opens = state is not None or shown.run is None
        rows.append({**row, "words": words, "current": shown.key == current, "open": opens})
    return rows


def where_it_stands(state: BuildState) -> str:
    """``next: Clusters``, or that all is done; for a list of builds."""
    if state.next is None:
        return "complete"
    shown = RUNS[state.next]
    is_stale = any(step.stale for step in state.steps if step.step == state.next)
    return f"{shown.name}: {shown.changed}" if is_stale else f"next: {shown.name}"


# -- what a step takes ---------------------------------------------------------------------


def estimate_line(estimate: Estimate, step: StepState, *, with_model: bool) -> str:
    """``360 documents: 360 requests, up to 730 including retries, about 0.42 M tokens.``
    ``with_model``: a model is connected; without one, its calls are none."""
    if not estimate.items:
        nothing = "Nothing to do" if step.is_complete else "No requests needed"
        return f"{nothing}; manual changes are kept." if step.edits else f"{nothing}."
    line = many(estimate.items, RUNS[step.step].unit)
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
