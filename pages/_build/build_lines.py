"""A build in words: where its steps stand, what one takes, how far it is and how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.types.builds import (
    BuildLens,
    BuildState,
    BuildStep,
    Cluster,
    StepEstimate,
    StepJob,
    StepProgress,
    StepState,
)
from pages._build.build_view import RUNS, SHOWN_BY, STEPS
from pages._model.model_lines import time_left
from engine.types.plurals import counted
from pages._model.model_lines import ENDS, at_most, duration, joined, spent, tokens

CHANGED: Mapping[BuildStep, str] = {
    "label": "the lens or documents changed since",
    "collapse": "the labels changed since",
    "verbalise": "the clusters changed since",
    "expand": "the queries changed since",
}
"""Why the result of a step is not up to date."""
DOING: Mapping[BuildStep, str] = {
    "label": "Labelling",
    "collapse": "Clustering",
    "verbalise": "Writing queries",
    "expand": "Pooling and grading",
}
UNITS: Mapping[BuildStep, str] = {
    "label": "document",
    "collapse": "document",
    "verbalise": "cluster",
    "expand": "candidate",
}
"""What a step goes through."""
MADE: Mapping[BuildStep, str] = {
    "label": "label",
    "collapse": "cluster",
    "verbalise": "query",
    "expand": "grade",
}
"""What comes of it."""
PREPARING: Mapping[BuildStep, str] = {"expand": "preparing the pools"}
"""What a step does before it is known how much there is to do."""


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
    """Its number on the page, where the lens is the first step."""
    return list(STEPS).index(SHOWN_BY[step]) + 1


def earlier(state: BuildState, step: BuildStep) -> StepState | None:
    """The first step before this one that is not complete; None when all are."""
    for found in state.steps:
        if found.step == step:
            break
        if not found.is_complete:
            return found
    return None


def comes_first(step: StepState) -> str:
    """``Step 4, Queries, comes first: the clusters changed since.``"""
    _, why = standing(step, is_next=False)
    name = STEPS[SHOWN_BY[step.step]]
    return f"Step {step_number(step.step)}, {name}, comes first" + (f": {why}." if why else ".")


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
    unit = UNITS[step.step]
    if step.at is None and not step.done:
        return ("next", "next") if is_next else ("later", "")
    if step.stale:
        return "stale", CHANGED[step.step]
    if step.done < step.total:
        return "partial", f"{step.done:,} of {many(step.total, unit)}"
    if step.unfinished:
        return "partial", "stopped before the end"
    if first is not None:
        return "waits", f"step {step_number(first.step)} comes first"
    edits = f", {counted(step.edits, 'change')} by people" if step.edits else ""
    if step.step == "collapse" and clusters is not None:
        return "done", f"{many(clusters, 'cluster')}{edits}"
    unit = MADE[step.step] if step.step in ("verbalise", "expand") else unit
    return "done", f"{many(step.total, unit)}{edits}"


def steps_data(
    state: BuildState | None, current: str, running: str, clusters: int | None = None
) -> list[dict[str, Any]]:
    """The five steps as the component shows them.

    Args:
        state: None for a build that is not there yet.
        current: the step that is shown.
        running: the one that is under way, "" for none.
        clusters: that there are, if known.
    """
    by_run = {step.step: step for step in state.steps} if state else {}
    rows = []
    for number, (key, name) in enumerate(STEPS.items(), start=1):
        found = by_run.get(RUNS[key]) if key in RUNS else None
        if state is None:
            kind, words = ("next", "next") if key == "lens" else ("later", "")
        elif found is None:
            kind, words = "done", "described"
        else:
            kind, words = standing(
                found, is_next=state.next == found.step, clusters=clusters,
                first=earlier(state, found.step),
            )  # fmt: skip
        if key == running:
            kind, words = "running", "under way"
        rows.append(
            {
                "key": key, "number": number, "name": name, "kind": kind, "words": words,
                "current": key == current, "open": state is not None or key == "lens",
            }
        )  # fmt: skip
    return rows


def where_it_stands(state: BuildState) -> str:
    """``next: Clusters``, or that all is done; for a list of builds."""
    if state.next is None:
        return "complete"
    step = STEPS[SHOWN_BY[state.next]]
    found = next(s for s in state.steps if s.step == state.next)
    return f"{step}: {CHANGED[state.next]}" if found.stale else f"next: {step}"


# -- what a step takes ---------------------------------------------------------------------


def estimate_line(estimate: StepEstimate, found: StepState, *, with_model: bool) -> str:
    """``360 documents: at most 360 calls, 0.42 M tokens.``

    Args:
        found: how the step stands.
        with_model: a model is connected; without one, its calls are none.
    """
    if not estimate.items:
        nothing = "Nothing is left to do" if found.is_complete else "Nothing has to be asked"
        return f"{nothing}; what people changed stays." if found.edits else f"{nothing}."
    line = many(estimate.items, UNITS[estimate.step])
    kept = " What people changed stays." if found.edits else ""
    if not with_model or not estimate.calls:
        return f"{line}.{kept}"
    return f"{line}: {at_most(estimate)}. Answers that the ledger has cost nothing.{kept}"


def progress_line(progress: StepProgress, seconds: float) -> str:
    """How far a step is, what it took, and how long it will, in one line of HTML.

    Args:
        seconds: since it was asked for: nothing is told before the first batch.
    """
    doing = DOING[progress.step]
    if not progress.total:
        preparing = PREPARING.get(progress.step, "preparing")
        return joined([doing, preparing, duration(seconds)])
    parts = [f"{doing}: {progress.done:,} of {progress.total:,}"]
    if progress.calls:
        parts += [counted(progress.calls, "call"), tokens(progress.tokens)]
    parts.append(duration(seconds))
    if progress.done < progress.total and progress.seconds > 1:
        parts.append(time_left(progress.seconds_left))
    return joined(parts)


def outcome_line(job: StepJob) -> str:
    """How a step ended and what it did, in one line of HTML."""
    report = job.report
    if report is None:
        return ""
    parts = [ENDS[report.stopped], many(report.made, MADE[report.step])]
    if report.left:
        parts.append(f"{report.left:,} not reached")
    if report.failed:
        parts.append(f"{report.failed:,} without a usable answer: asked again next time")
    return joined([*parts, *spent(report), duration(report.seconds)])


def notes_of(job: StepJob) -> list[str]:
    """What is odd about the result of a run, a sentence each."""
    if job.report is None:
        return []
    # How many clusters become no query, and why, stands above the clusters.
    is_told = job.report.step == "collapse"
    return [text for text in job.report.notes if not (is_told and " no query: " in text)]


# -- clusters ------------------------------------------------------------------------------


def fate(cluster: Cluster, lens: BuildLens) -> str:
    """What becomes of a cluster: ``a query``, or why none."""
    size = len(cluster.doc_ids)
    if size < lens.smallest:
        return "too small"
    if size > lens.largest:
        return "too large"
    return "dropped" if cluster.dropped else "a query"


def cluster_facts(clusters: Iterable[Cluster], lens: BuildLens) -> str:
    """``24 clusters: 18 become queries, 4 too small (under 2), 2 dropped``."""
    found = list(clusters)
    fates = [fate(cluster, lens) for cluster in found]
    queries = fates.count("a query")
    if queries == len(found):
        all_of_them = "and it becomes a query" if queries == 1 else "and all become queries"
        return f"{counted(len(found), 'cluster')}, {all_of_them}."
    said = {
        "a query": "becomes a query" if queries == 1 else "become queries",
        "too small": f"too small (fewer than {many(lens.smallest, 'document')})",
        "too large": f"too large (more than {lens.largest:,})",
        "dropped": "dropped by people",
    }
    parts = [f"{fates.count(kind):,} {words}" for kind, words in said.items() if kind in fates]
    return f"{counted(len(found), 'cluster')}: {', '.join(parts)}."
