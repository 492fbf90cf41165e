"""How far each step is, and whether what it rests on has changed since."""

from __future__ import annotations

from engine.build.lens.records import clustering_basis, expanding_basis
from engine.build.lens.shelf import Shelf, is_pending
from engine.types import BUILD_STEPS, BuildLens, BuildStep, StepState
from storage.builds import StepRow

Candidates = tuple[int, int]
"""(graded, all) of the annotation project, for the queries of the build."""


def step_states(shelf: Shelf, lens: BuildLens, candidates: Candidates) -> tuple[StepState, ...]:
    """How the steps stand, in their order."""
    rows = shelf.steps(lens)
    runs = {row.step: row for row in rows if row.kind == "run"}
    edits = {step: sum(r.changes for r in rows if r.step == step) for step in BUILD_STEPS}
    return (
        _label(shelf, lens, runs.get("label")),
        _collapse(shelf, lens, runs.get("collapse"), edits["collapse"]),
        _verbalise(shelf, lens, runs.get("verbalise"), edits["verbalise"]),
        _expand(shelf, lens, runs.get("expand"), candidates),
    )


def _label(shelf: Shelf, lens: BuildLens, run: StepRow | None) -> StepState:
    labels, total = shelf.labels(lens), len(shelf.scope(lens))
    pending = sum(map(is_pending, labels))
    stored = shelf.rows.labels(lens.corpus, lens.name)
    # A run that was killed left its labels, but nothing that says that it ran.
    times = [row.time for row in stored if row.maker == "model"]
    model = next((row.author for row in reversed(stored) if row.maker == "model"), "")
    return StepState(
        "label",
        done=len(labels) - pending,
        total=total,
        stale=pending > 0,
        at=run.time if run is not None else max(times, default=None),
        edits=sum(label.maker == "person" for label in labels),
        model=model,
    )


def _collapse(shelf: Shelf, lens: BuildLens, run: StepRow | None, edits: int) -> StepState:
    labels = shelf.shown_labels(lens)
    placed = {doc_id for cluster in shelf.clusters(lens) for doc_id in cluster.doc_ids}
    basis = clustering_basis(lens, labels)
    return _state("collapse", len(placed & labels.keys()), len(labels), run, basis, edits)


def _verbalise(shelf: Shelf, lens: BuildLens, run: StepRow | None, edits: int) -> StepState:
    active, unworded, worded = shelf.active(lens), shelf.unworded(lens), shelf.wordings(lens)
    return StepState(
        "verbalise",
        done=len(active) - len(unworded),
        total=len(active),
        stale=any(cluster.key in worded for cluster in unworded),
        at=None if run is None else run.time,
        edits=edits,
        model="" if run is None else run.model,
    )


def _expand(
    shelf: Shelf, lens: BuildLens, run: StepRow | None, candidates: Candidates
) -> StepState:
    basis = expanding_basis(lens, shelf.asked(lens))
    return _state("expand", *candidates, run, basis, 0)


def _state(
    step: BuildStep, done: int, total: int, run: StepRow | None, basis: str, edits: int
) -> StepState:
    return StepState(
        step,
        done=done,
        total=total,
        stale=run is not None and run.basis not in ("", basis),
        unfinished=run is not None and not run.basis,
        at=None if run is None else run.time,
        edits=edits,
        model="" if run is None else run.model,
    )
