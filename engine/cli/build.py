"""``seedlens build`` and ``generate``: test collections that are made."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from pydantic import Field, NonNegativeInt

from engine.cli.common import author_or_own, open_explorer, system_names
from engine.cli.model import (
    asking,
    at_most,
    exit_code,
    run_task,
    say_problem,
    taken,
    task_fields,
)
from engine.cli.options import from_signature
from engine.cli.terminal import print_json, what_else
from engine.errors import BadInputError
from engine.generate.implicit_records import ImplicitRequest
from engine.types.builds import (
    BuildSpec,
    BuildState,
    BuildStep,
    StepRequest,
)
from engine.types.models import Estimate, TaskReport

if TYPE_CHECKING:
    from engine.build.collection_builds import CollectionBuilds
    from engine.build.opened_build import OpenBuild
    from engine.generate.generator import BuiltCollection

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


@click.group()
def build() -> None:
    """Build a test collection from a corpus for an attribute, with a language model.

    The steps are label, collapse, verbalise and expand. What each of them made can be read and
    changed before the next one uses it.
    """


@build.command()
@from_signature
def new(
    corpus: str,
    name: str,
    *,
    attribute: str,
    settings: Annotated[dict[str, Any], BuildSpec],
    systems: str | None = None,
    author: str | None = None,
    as_json: bool = False,
) -> None:
    """Begin the build NAME on CORPUS.

    Options:
        attribute TEXT: What documents show without saying so: 'the method by which evidence was
            gathered'.
        systems S1,S2: To pool. Default: bm25,dense,late-interaction.
    """
    builds = open_explorer().builds
    if (corpus, name) in builds.names():
        raise BadInputError(
            f"Corpus '{corpus}' has a build '{name}'.", "Change it with: seedlens build change."
        )
    _save(builds, BuildSpec(corpus, name, attribute), settings, systems, author, as_json)


@build.command()
@from_signature
def change(
    corpus: str,
    name: str,
    *,
    settings: Annotated[dict[str, Any], BuildSpec],
    systems: str | None = None,
    author: str | None = None,
    as_json: bool = False,
) -> None:
    """Change the attribute or settings of NAME; what is not named stays, later steps are stale.

    Options:
        systems S1,S2: To pool.
    """
    builds = open_explorer().builds
    _save(builds, builds.open(corpus, name).spec, settings, systems, author, as_json)


def _save(
    builds: CollectionBuilds,
    spec: BuildSpec,
    settings: dict[str, Any],
    systems: str | None,
    author: str | None,
    as_json: bool,
) -> None:
    if systems is not None:
        settings = {**settings, "systems": tuple(system_names(systems))}
    saved = builds.save(replace(spec, **settings), author_or_own(author))
    _show_state(builds.open(saved.corpus, saved.name).state(), as_json)


@build.command("list")
@from_signature
def list_(corpus: str | None = None, *, as_json: bool = False) -> None:
    """List the builds, of CORPUS or of all."""
    explorer = open_explorer()
    if corpus is not None:
        explorer.library.corpus(corpus)
    states = [explorer.builds.open(*pair).state() for pair in explorer.builds.names(corpus)]
    if as_json:
        print_json([_state_fields(state) for state in states])
        return
    for state in states:
        upcoming = f"next: {state.next}" if state.next else "complete"
        click.echo(f"{state.spec.corpus}/{state.spec.name}: {state.spec.attribute} ({upcoming})")
    if not states:
        click.echo("No build yet. Try: seedlens build new CORPUS NAME --attribute ...", err=True)


@build.command()
@from_signature
def show(
    corpus: str,
    name: str,
    *,
    step: BuildStep | None = None,
    as_csv: bool = False,
    spreadsheet: bool = False,
    as_json: bool = False,
) -> None:
    """Show how the build NAME stands, or what one of its steps made.

    Options:
        as_csv --csv: As a CSV file.
        spreadsheet: As --csv; no text is a formula to a spreadsheet program.
    """
    from engine.build.collection_export import sheet

    opened = open_explorer().builds.open(corpus, name)
    if as_csv or spreadsheet:
        if step is None:
            raise BadInputError("--csv shows what a step made.", "Name it with --step.")
        for line in sheet(opened, step, spreadsheet=spreadsheet):
            click.echo(line, nl=False)
        return
    if step is None:
        _show_state(opened.state(), as_json)
        return
    made = _made_by(opened, step)
    if as_json:
        print_json([_plain_fields(one) for one in made])
        return
    for one in made:
        click.echo(_line_of(step, one))


@build.command()
@from_signature
def run(
    corpus: str,
    name: str,
    *,
    step: BuildStep | None = None,
    all_steps: bool = False,
    only_estimate: bool = False,
    yes: bool = False,
    budget_calls: NonNegativeInt | None = None,
    author: str | None = None,
    as_json: bool = False,
) -> None:
    """Run a step of NAME: the one named, or the next that is not complete.

    What it takes is said before anything is asked. What was stopped goes on when the same
    command is run again; what people changed stays. --budget-calls is for each step.

    Options:
        all_steps --all: Every step that is not complete.
    """
    if all_steps and step is not None:
        raise BadInputError("--step and --all exclude each other.", "Name one.")
    builds = open_explorer().builds
    opened = builds.open(corpus, name)
    first = step or opened.state().next
    if only_estimate:
        _only_estimate(builds, corpus, name, first, as_json)
        return
    done: dict[BuildStep, tuple[Estimate, TaskReport[int]]] = {}
    upcoming: BuildStep | None = first
    while upcoming is not None and upcoming not in done:
        done[upcoming] = run_task(
            builds,
            StepRequest(corpus, name, upcoming, author_or_own(author)),
            partial(_to_do, upcoming),
            unit=COUNTED[upcoming],
            yes=yes,
            budget_calls=budget_calls,
        )
        report = done[upcoming][1]
        if not as_json:
            click.echo(_report_line(upcoming, report))
        say_problem(report.notes, report.problem)
        goes_on = all_steps and not report.stopped
        upcoming = opened.state().next if goes_on else None
    _finish(opened.state(), done, as_json)


def _only_estimate(
    builds: CollectionBuilds, corpus: str, name: str, step: BuildStep | None, as_json: bool
) -> None:
    if step is None:
        click.echo("Every step is complete.", err=True)
        return
    estimate = builds.estimate(StepRequest(corpus, name, step))
    if as_json:
        print_json({"step": step, **task_fields(estimate)})
    else:
        asked = f" {at_most(estimate)}" if estimate.calls else ""
        click.echo(f"{_to_do(step, estimate)}{asked}")


def _finish(
    state: BuildState,
    done: Mapping[BuildStep, tuple[Estimate, TaskReport[int]]],
    as_json: bool,
) -> None:
    if as_json:
        steps = [
            {
                "estimate": {"step": step, **task_fields(estimate)},
                "report": {"step": step, **task_fields(report, "made")},
            }
            for step, (estimate, report) in done.items()
        ]
        print_json({"steps": steps, "next": state.next})
    elif state.next is None:
        click.echo("Every step is complete. Export it with: seedlens build export.", err=True)
    sys.exit(exit_code(*(report for _, report in done.values())))


@build.command()
@from_signature
def export(
    corpus: str,
    name: str,
    *,
    out: Path,
    overwrite: bool = False,
    as_json: bool = False,
) -> None:
    """Write the collection into a folder that `seedlens evaluate` and others read.

    BEIR's layout (corpus.jsonl, queries.jsonl, qrels/test.tsv), TREC's judgments, and where it
    all comes from (provenance.json).

    Options:
        out DIR: The folder to write to.
        overwrite: Replace what was exported there before.
    """
    builds = open_explorer().builds
    files = builds.export(corpus, name, out, overwrite=overwrite)
    if as_json:
        print_json({"files": files, **_plain_fields(builds.provenance(corpus, name))})
        return
    for path in files:
        click.echo(path)


# -- what is printed -------------------------------------------------------------------------------


def _made_by(opened: OpenBuild, step: BuildStep) -> Sequence[Any]:
    """What a step made: labels, clusters, queries, or where the collection comes from."""
    from engine.build.collection_export import provenance

    if step == "label":
        return opened.labels()
    if step == "collapse":
        return opened.clusters()
    return opened.queries() if step == "verbalise" else [provenance(opened)]


def _line_of(step: BuildStep, one: Any) -> str:
    """One of :func:`_made_by` as a line (of "expand" a line for each query)."""
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


def _plain_fields(record: Any) -> dict[str, Any]:
    """A record as JSON has it."""
    from engine.build.collection_export import json_fields

    return json_fields(record)


def _state_fields(state: BuildState) -> dict[str, Any]:
    """How a build stands, as JSON has it."""
    steps = [{**_plain_fields(step), "complete": step.is_complete} for step in state.steps]
    return {**_plain_fields(state), "steps": steps, "next": state.next}


def _show_state(state: BuildState, as_json: bool) -> None:
    """Print how a build stands, a line for each step."""
    if as_json:
        print_json(_state_fields(state))
        return
    click.echo(f"{state.spec.corpus}/{state.spec.name}: {state.spec.attribute}")
    for step in state.steps:
        how = "not run" if step.at is None else f"{step.at:%Y-%m-%d %H:%M}"
        how += f", by {step.model}" if step.model else ""
        how += ", stale: what it rests on has changed" if step.stale else ""
        how += ", stopped before the end" if step.unfinished else ""
        how += f", {step.edits:,} changed by people" if step.edits else ""
        click.echo(f"  {step.step:10} {step.done:,} of {step.total:,} {COUNTED[step.step]} ({how})")
    click.echo(f"Next: {state.next}." if state.next else "Every step is complete.")


def _to_do(step: BuildStep, estimate: Estimate) -> str:
    return f"{step}: {estimate.items:,} {COUNTED[step]} to do."


def _report_line(step: BuildStep, report: TaskReport[int]) -> str:
    """What a step did, in a sentence or two."""
    text = f"{step}: {report.result:,} {MADE[step]} in {report.seconds:.1f} s"
    if report.calls or report.cached:
        text += f"; {taken(report)}"
    parts = [(report.failed, "without a usable answer"), (report.left, "not reached")]
    return text + what_else(parts, goes_on=bool(report.failed or report.left))


# -- collections made from nothing ---------------------------------------------------------------


@click.group()
def generate() -> None:
    """Generate test collections."""


@generate.command()
@from_signature
def implicit(
    *,
    request: ImplicitRequest,
    folder: Path,
    overwrite: bool = False,
    with_model: bool = False,
    tries: Annotated[int, Field(ge=1, le=10)] = 3,
    budget_calls: NonNegativeInt | None = None,
    as_json: bool = False,
) -> None:
    """Generate documents that only imply what their queries ask for, as ImpliRet does.

    "Two days ago" in a message stands for a date, "half the price of the other" for an amount,
    and a town for its country; the query names the date, the amount or the country. Every query
    has exactly one relevant document. Evaluate DIR with: seedlens evaluate DIR

    Options:
        folder --out DIR: Where to write the collection.
        overwrite: Replace a collection that was generated in DIR.
        with_model --model: Let the connected language model write the documents; each is verified
            by a second pass, and a template stands in where that fails.
        tries: With --model: documents asked for per tuple at most.
    """
    from engine.generate.generator import Generation, GenerationRequest

    explorer = open_explorer()
    generation = Generation(explorer.settings, explorer.ledger.answers)
    asked = GenerationRequest(request, folder, overwrite, with_model, tries)
    with asking("generating", "documents") as tell:
        report = generation.run(asked, most_calls=budget_calls, tell=tell)
    _say_usage(report, with_model=with_model)
    if as_json:
        print_json(_made_report(report, with_model=with_model))
    elif report.result.folder is not None:
        click.echo(_made_line(report))
    sys.exit(exit_code(report))


def _made_line(report: TaskReport[BuiltCollection]) -> str:
    made, asked = report.result, report.result.request
    return (
        f"{made.folder}: {made.documents:,} documents and as many queries in {asked.sets:,} "
        f"sets ({asked.category}, {asked.style}-speaker, seed {asked.seed}), "
        f"in {report.seconds:.1f} s. Evaluate it with: seedlens evaluate {made.folder}"
    )


def _say_usage(report: TaskReport[BuiltCollection], *, with_model: bool) -> None:
    counts = report.result.verification
    if report.result.folder is None:
        click.echo("Cancelled: nothing was written. Answers are kept for the next time.", err=True)
    if not with_model:
        return
    click.echo(
        f"model: {counts.by_model:,} documents written and verified, {counts.by_templates:,} by "
        f"templates; {counts.rejected.total():,} attempts rejected; {report.calls:,} calls, "
        f"{report.cached:,} from the ledger",
        err=True,
    )
    if report.stopped or report.failed:
        say_problem((), report.problem or f"It ended early ({report.stopped}).")


def _made_report(report: TaskReport[BuiltCollection], *, with_model: bool) -> dict[str, Any]:
    made, counts = report.result, report.result.verification
    names = ("model", "calls", "cached", "failed", "unread", "input_tokens", "output_tokens")
    usage = {name: getattr(report, name) for name in (*names, "cost", "stopped")}
    return {
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
