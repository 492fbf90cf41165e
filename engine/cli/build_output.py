"""What ``seedlens build`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from engine.cli.model import at_most, taken
from engine.cli.terminal import print_json, what_else
from engine.types.builds import (
    BuildState,
    BuildStep,
    StepEstimate,
    StepReport,
)

if TYPE_CHECKING:
    from engine.build.lens_builds import LensBuilds

COUNTED = {
    "label": "documents",
    "collapse": "labelled documents",
    "verbalise": "clusters",
    "expand": "candidates",
}
MADE = {
    "label": "documents labelled",
    "collapse": "clusters",
    "verbalise": "queries worded",
    "expand": "candidates graded",
}


def made_by(builds: LensBuilds, corpus: str, name: str, step: BuildStep) -> Sequence[Any]:
    """What a step made: labels, clusters, queries, or where the collection comes from."""
    if step == "label":
        return builds.labels(corpus, name)
    if step == "collapse":
        return builds.clusters(corpus, name)
    if step == "verbalise":
        return builds.queries(corpus, name)
    return [builds.provenance(corpus, name)]


def line_of(step: BuildStep, one: Any) -> str:
    """One of :func:`made_by` as a line (of "expand" a line for each query)."""
    if step == "label":
        return f"{one.doc_id}  {one.text or '-'}{'  (outdated)' * one.outdated}"
    out = "  (dropped)" if step != "expand" and one.dropped else ""
    if step == "collapse":
        return f"{one.key:>5}  {len(one.doc_ids):>4}  {one.name}{out}"
    if step == "verbalise":
        return f"{one.key:>5}  {one.overlap.share:.2f}  {one.text}{out}"
    lines = [
        f"{query_id}: {count} positives, {one.found.get(query_id, 0)} found by pooling"
        for query_id, count in one.positives.items()
    ]
    return "\n".join(lines or ["Nothing is expanded yet."])


def plain_fields(record: Any) -> dict[str, Any]:
    """A record as JSON has it."""
    from engine.build.collection_export import plain

    found: dict[str, Any] = plain(asdict(record))
    return found


def state_fields(state: BuildState) -> dict[str, Any]:
    """How a build stands, as JSON has it."""
    steps = [{**plain_fields(step), "complete": step.is_complete} for step in state.steps]
    return {**plain_fields(state), "steps": steps, "next": state.next}


def show_state(state: BuildState, as_json: bool) -> None:
    """Print how a build stands, a line for each step."""
    if as_json:
        print_json(state_fields(state))
        return
    click.echo(f"{state.lens.corpus}/{state.lens.name}: {state.lens.attribute}")
    for step in state.steps:
        how = "not run" if step.at is None else f"{step.at:%Y-%m-%d %H:%M}"
        how += f", by {step.model}" if step.model else ""
        how += ", stale: what it rests on has changed" if step.stale else ""
        how += ", stopped before the end" if step.unfinished else ""
        how += f", {step.edits:,} changed by people" if step.edits else ""
        click.echo(f"  {step.step:10} {step.done:,} of {step.total:,} {COUNTED[step.step]} ({how})")
    click.echo(f"Next: {state.next}." if state.next else "Every step is complete.")


def estimate_line(estimate: StepEstimate) -> str:
    """What a step will take at most, in a sentence or two."""
    text = f"{estimate.step}: {estimate.items:,} {COUNTED[estimate.step]} to do."
    if estimate.calls:
        text += f" {at_most(estimate)}"
    return text


def report_line(report: StepReport) -> str:
    """What a step did, in a sentence or two."""
    text = f"{report.step}: {report.made:,} {MADE[report.step]} in {report.seconds:.1f} s"
    if report.calls or report.cached:
        text += f"; {taken(report)}"
    parts = [(report.failed, "without a usable answer"), (report.left, "not reached")]
    return text + what_else(parts, goes_on=bool(report.failed or report.left))
