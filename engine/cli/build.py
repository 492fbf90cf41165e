"""``seedlens build`` and ``generate``: test collections that are made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from pydantic import Field, NonNegativeInt

from engine.cli.common import (
    ModelRun,
    author_or_own,
    exit_code,
    open_explorer,
    outcome,
    run_task,
    say_problem,
    system_names,
    taken,
    task_fields,
    to_do,
)
from engine.cli.options import command
from engine.cli.terminal import advancing, say, show, table, wants_json
from engine.errors import BadInputError
from engine.generate.implicit_records import ImplicitRequest
from engine.types.builds import BuildSpec, BuildState, BuildStep, StepRequest
from engine.types.models import Estimate, TaskReport

if TYPE_CHECKING:
    from engine.build.collection_builds import CollectionBuilds

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
Settings = Annotated[dict[str, Any], BuildSpec]


@click.group()
def build() -> None:
    """Build a test collection from a corpus for an attribute, with a language model.

    The steps are label, collapse, verbalise and expand. The result of each can be read and
    changed before the next one uses it.
    """


@command(build)
def new(
    corpus: str,
    name: str,
    *,
    attribute: str,
    settings: Settings,
    systems: str | None = None,
    author: str | None = None,
) -> None:
    """Begin the build NAME on CORPUS.

    Options:
        attribute TEXT: What documents only imply: 'the method by which evidence was gathered'.
        systems S1,S2: Systems to pool. Default: bm25,dense,late-interaction.
    """
    builds = open_explorer().builds
    if (corpus, name) in builds.names():
        raise BadInputError(
            f"Corpus '{corpus}' has a build '{name}'.", "Change it with: seedlens build change."
        )
    _save(builds, BuildSpec(corpus, name, attribute), settings, systems, author)


@command(build)
def change(
    corpus: str,
    name: str,
    *,
    settings: Settings,
    systems: str | None = None,
    author: str | None = None,
) -> None:
    """Change settings of the build NAME; other settings are kept, later steps become stale.

    Options:
        systems S1,S2: Systems to pool.
    """
    builds = open_explorer().builds
    _save(builds, builds.open(corpus, name).spec, settings, systems, author)


def _save(
    builds: CollectionBuilds,
    spec: BuildSpec,
    settings: dict[str, Any],
    systems: str | None,
    author: str | None,
) -> None:
    if systems is not None:
        settings = {**settings, "systems": tuple(system_names(systems))}
    saved = builds.save(replace(spec, **settings), author_or_own(author))
    state = builds.open(saved.corpus, saved.name).state()
    show(_state_fields(state), *_state_lines(state))


@command(build, "list")
def list_(corpus: str | None = None) -> None:
    """List the builds, of CORPUS or of all."""
    explorer = open_explorer()
    if corpus is not None:
        explorer.library.corpus(corpus)
    states = [explorer.builds.open(*pair).state() for pair in explorer.builds.names(corpus)]
    lines = [
        f"{s.spec.corpus}/{s.spec.name}: {s.spec.attribute} "
        f"({f'next: {s.next}' if s.next else 'complete'})"
        for s in states
    ]
    none = [] if states else ["No build yet. Try: seedlens build new CORPUS NAME --attribute ..."]
    show([*map(_state_fields, states)], *lines, hints=none)


@command(build, "show")
def show_build(
    corpus: str,
    name: str,
    *,
    step: BuildStep | None = None,
    as_csv: bool = False,
    spreadsheet: bool = False,
) -> None:
    """Show the state of the build NAME, or the result of one step.

    Options:
        as_csv --csv: As a CSV file.
        spreadsheet: As --csv; no text is a formula to a spreadsheet program.
    """
    from engine.build.collection_builds import json_fields, provenance, sheet, sheet_rows

    opened = open_explorer().builds.open(corpus, name)
    if as_csv or spreadsheet:
        if step is None:
            raise BadInputError("--csv shows the result of a step.", "Name it with --step.")
        for line in sheet(opened, step, spreadsheet=spreadsheet):
            click.echo(line, nl=False)
    elif step is None:
        state = opened.state()
        show(_state_fields(state), *_state_lines(state))
    else:
        results: Mapping[BuildStep, Callable[[], Sequence[Any]]] = {
            "label": opened.labels,
            "collapse": opened.clusters,
            "verbalise": opened.queries,
            "expand": lambda: [provenance(opened)],
        }
        records = results[step]()
        rows: list[tuple[object, ...]]
        if step == "expand":  # a row for each query
            heads: Sequence[str] = ("", "positives", "found by pooling")
            positives, found = records[0].positives, records[0].found
            rows = [(key, count, found.get(key, 0)) for key, count in positives.items()]
            none = "Nothing is expanded yet."
        else:
            heads, made = sheet_rows(opened, step)
            rows, none = [tuple(map(str, row)) for row in made], ""
        show([*map(json_fields, records)], table(heads, rows) or none)


@command(build, "run")
def run_step(
    corpus: str,
    name: str,
    *,
    step: BuildStep | None = None,
    all_steps: bool = False,
    only_estimate: bool = False,
    author: str | None = None,
    run: ModelRun,
) -> None:
    """Run a step of the build NAME: the one named, or the next incomplete one.

    The same command resumes a step that was stopped; changes by people are kept. --budget-calls
    is for each step.

    Options:
        all_steps --all: Every incomplete step.
    """
    if all_steps and step is not None:
        raise BadInputError("--step and --all exclude each other.", "Name one.")
    builds = open_explorer().builds
    opened = builds.open(corpus, name)
    upcoming = step or opened.state().next
    if only_estimate:
        if upcoming is None:
            say(["Every step is complete."], "")
            return
        estimate = builds.estimate(StepRequest(corpus, name, upcoming))
        line = to_do(_to_do(upcoming, estimate), estimate)
        show({"step": upcoming, **task_fields(estimate)}, line)
        return
    steps: dict[BuildStep, dict[str, Any]] = {}
    reports: list[TaskReport[int]] = []
    while upcoming is not None and upcoming not in steps:
        request = StepRequest(corpus, name, upcoming, author_or_own(author))
        words = partial(_to_do, upcoming)
        estimate, report = run_task(builds, request, words, run, unit=COUNTED[upcoming])
        steps[upcoming] = {
            "estimate": {"step": upcoming, **task_fields(estimate)},
            "report": {"step": upcoming, **task_fields(report, "made")},
        }
        reports.append(report)
        if not wants_json():
            click.echo(outcome(f"{upcoming}: {report.result:,} {MADE[upcoming]}", report))
        say_problem(report)
        goes_on = all_steps and not report.stopped
        upcoming = opened.state().next if goes_on else None
    left = opened.state().next
    hints = [] if left else ["Every step is complete. Export it with: seedlens build export."]
    show({"steps": [*steps.values()], "next": left}, hints=hints)
    sys.exit(exit_code(*reports))


def _to_do(step: BuildStep, estimate: Estimate) -> str:
    return f"{step}: {estimate.items:,} {COUNTED[step]} to do."


@command(build)
def export(corpus: str, name: str, *, out: Path, overwrite: bool = False) -> None:
    """Write the collection into a folder, in formats that `seedlens evaluate` and others read.

    BEIR's layout (corpus.jsonl, queries.jsonl, qrels/test.tsv), TREC's judgments, and how it was
    made (provenance.json).

    Options:
        out DIR: The folder to write to.
        overwrite: Replace an earlier export.
    """
    from engine.build.collection_builds import json_fields

    builds = open_explorer().builds
    files = builds.export(corpus, name, out, overwrite=overwrite)
    report = {"files": files, **json_fields(builds.provenance(corpus, name))}
    show(report, *map(str, files))


# -- what is printed -------------------------------------------------------------------------------


def _state_fields(state: BuildState) -> dict[str, Any]:
    """The state of a build, as JSON has it."""
    from engine.build.collection_builds import json_fields

    steps = [{**json_fields(step), "complete": step.is_complete} for step in state.steps]
    return {**json_fields(state), "steps": steps, "next": state.next}


def _state_lines(state: BuildState) -> Iterator[str]:
    """The state of a build, a line for each step."""
    yield f"{state.spec.corpus}/{state.spec.name}: {state.spec.attribute}"
    for step in state.steps:
        how = "not run" if step.at is None else f"{step.at:%Y-%m-%d %H:%M}"
        how += f", by {step.model}" if step.model else ""
        how += ", stale: an earlier step has changed" if step.stale else ""
        how += ", stopped before the end" if step.unfinished else ""
        how += f", {step.edits:,} changed by people" if step.edits else ""
        yield f"  {step.step:10} {step.done:,} of {step.total:,} {COUNTED[step.step]} ({how})"
    yield f"Next: {state.next}." if state.next else "Every step is complete."


# -- collections made from nothing ---------------------------------------------------------------


@click.group()
def generate() -> None:
    """Generate test collections."""


@command(generate)
def implicit(
    *,
    request: ImplicitRequest,
    folder: Path,
    overwrite: bool = False,
    with_model: bool = False,
    tries: Annotated[int, Field(ge=1, le=10)] = 3,
    budget_calls: NonNegativeInt | None = None,
) -> None:
    """Generate documents that only imply what their queries ask for, as in ImpliRet.

    "Two days ago" in a message implies a date, "half the price of the other" an amount, and a
    town its country; the query names the date, the amount or the country. Every query has one
    relevant document. Evaluate DIR with: seedlens evaluate DIR

    Options:
        folder --out DIR: Where to write the collection.
        overwrite: Replace a collection that was generated in DIR.
        with_model --model: The language model writes and verifies the documents; templates replace
            failures.
        tries: With --model: most attempts per document.
    """
    from engine.generate.generator import BuiltCollection, GenerateCollection, GenerationRequest
    from engine.llm.tasks import TaskRunner

    explorer = open_explorer()
    runner: TaskRunner[Any, BuiltCollection]
    runner = TaskRunner(explorer.settings, explorer.ledger.answers)
    asked = GenerationRequest(request, folder, overwrite, with_model, tries)
    with advancing("documents", "generating") as tell:
        report = runner.run(GenerateCollection(asked), most_calls=budget_calls, tell=tell)
    made, counts = report.result, report.result.verification
    if made.folder is None:
        say(["Cancelled: nothing was written. Answers are kept for the next time."], "")
    if with_model:
        written = f"{counts.by_model:,} documents written and verified"
        templates = f"{counts.by_templates:,} by templates"
        rejected = f"{counts.rejected.total():,} attempts rejected"
        say([f"model: {written}, {templates}; {rejected}; {taken(report)}"], "")
        if report.stopped or report.failed:
            say_problem(report, early=True)
    line = (
        f"{made.folder}: {made.documents:,} documents and as many queries in {request.sets:,} "
        f"sets ({request.category}, {request.style}-speaker, seed {request.seed}), "
        f"in {report.seconds:.1f} s. Evaluate it with: seedlens evaluate {made.folder}"
    )
    names = ("model", "calls", "cached", "failed", "unread", "input_tokens", "output_tokens")
    usage = {name: getattr(report, name) for name in (*names, "cost", "stopped")}
    data = {
        "collection": made.name or None,
        "folder": made.folder,
        "table": made.table,
        **asdict(made.request),
        "documents": made.documents,
        "queries": made.documents,
        "constraints": made.constraints,
        "written": {"model": counts.by_model, "templates": counts.by_templates},
        "rejected": counts.rejected,
        "llm": usage if with_model else None,
        "seconds": round(report.seconds, 3),
    }
    show(data, line if made.folder is not None else "")
    sys.exit(exit_code(report))
