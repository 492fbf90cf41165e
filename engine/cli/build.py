"""``seedlens build``: a test collection from a corpus, for an attribute, step by step."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.cli.common import author_or_own, json_option, open_explorer, system_names, with_options
from engine.cli.model import (
    at_most,
    budget_option,
    confirm,
    exit_code,
    say_problem,
    taken,
    task_fields,
)
from engine.cli.terminal import advancing, print_json, what_else
from engine.errors import BadInputError
from engine.types.builds import (
    BUILD_STEPS,
    BuildSpec,
    BuildState,
    BuildStep,
)
from engine.types.models import TaskEstimate, TaskProgress, TaskReport

if TYPE_CHECKING:
    from engine.build.collection_builds import CollectionBuilds
    from engine.build.opened_build import OpenBuild

DEFAULT = BuildSpec("", "", "")
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


author_option = click.option(
    "--author", metavar="WHO", help="Default: SEEDLENS_ANNOTATOR, or 'me'."
)
step_option = click.option("--step", type=click.Choice(BUILD_STEPS))
_settings = with_options(
    click.option("--guidance", metavar="TEXT", help="What counts and what does not."),
    click.option(
        "--example",
        "examples",
        multiple=True,
        metavar="LABEL",
        help="A label as it should look. Repeatable.",
    ),
    click.option("--aspect", metavar="KEY", help="Of the corpus's lens: where to look first."),
    click.option("--limit", type=int, metavar="N", help="Read the first N documents only."),
    click.option(
        "--distance",
        type=float,
        metavar="D",
        help=f"Cosine distance up to which labels join. Default: {DEFAULT.distance}.",
    ),
    click.option(
        "--smallest",
        type=int,
        metavar="N",
        help=f"Documents of a cluster that becomes a query. Default: {DEFAULT.smallest}.",
    ),
    click.option(
        "--largest", type=int, metavar="N", help=f"And at most. Default: {DEFAULT.largest}."
    ),
    click.option(
        "--overlap",
        type=float,
        metavar="X",
        help=f"Share of a query's words that its documents may have. Default: {DEFAULT.overlap}.",
    ),
    click.option(
        "--systems", metavar="S1,S2", help=f"To pool. Default: {','.join(DEFAULT.systems)}."
    ),
    click.option("--depth", type=int, metavar="K", help=f"Of the pool. Default: {DEFAULT.depth}."),
    author_option,
    json_option,
)


@build.command()
@click.argument("corpus")
@click.argument("name")
@click.option(
    "--attribute",
    required=True,
    metavar="TEXT",
    help="What documents show without saying so: 'the method by which evidence was gathered'.",
)
@_settings
def new(corpus: str, name: str, **options: Any) -> None:
    """Begin the build NAME on CORPUS."""
    builds = open_explorer().builds
    if (corpus, name) in builds.names():
        raise BadInputError(
            f"Corpus '{corpus}' has a build '{name}'.", "Change it with: seedlens build change."
        )
    _save(builds, BuildSpec(corpus, name, ""), **options)


@build.command()
@click.argument("corpus")
@click.argument("name")
@click.option("--attribute", metavar="TEXT", help="What documents show without saying so.")
@_settings
def change(corpus: str, name: str, **options: Any) -> None:
    """Change the attribute or settings of NAME; what is not named stays, later steps are stale."""
    builds = open_explorer().builds
    _save(builds, builds.open(corpus, name).spec, **options)


def _save(
    builds: CollectionBuilds,
    spec: BuildSpec,
    author: str | None,
    as_json: bool,
    systems: str | None,
    **options: Any,
) -> None:
    named = {key: value for key, value in options.items() if value not in (None, ())}
    if systems is not None:
        named["systems"] = tuple(system_names(systems))
    saved = builds.save(replace(spec, **named), author_or_own(author))
    show_state(builds.open(saved.corpus, saved.name).state(), as_json)


@build.command("list")
@click.argument("corpus", required=False)
@json_option
def list_(corpus: str | None, as_json: bool) -> None:
    """List the builds, of CORPUS or of all."""
    explorer = open_explorer()
    if corpus is not None:
        explorer.library.corpus(corpus)
    states = [explorer.builds.open(*pair).state() for pair in explorer.builds.names(corpus)]
    if as_json:
        print_json([state_fields(state) for state in states])
        return
    for state in states:
        upcoming = f"next: {state.next}" if state.next else "complete"
        click.echo(f"{state.spec.corpus}/{state.spec.name}: {state.spec.attribute} ({upcoming})")
    if not states:
        click.echo("No build yet. Try: seedlens build new CORPUS NAME --attribute ...", err=True)


@build.command()
@click.argument("corpus")
@click.argument("name")
@step_option
@click.option("--csv", "as_csv", is_flag=True, help="As a CSV file.")
@click.option(
    "--spreadsheet", is_flag=True, help="As --csv; no text is a formula to a spreadsheet program."
)
@json_option
def show(
    corpus: str,
    name: str,
    step: BuildStep | None,
    as_csv: bool,
    spreadsheet: bool,
    as_json: bool,
) -> None:
    """Show how the build NAME stands, or what one of its steps made."""
    from engine.build.collection_export import sheet

    opened = open_explorer().builds.open(corpus, name)
    if as_csv or spreadsheet:
        if step is None:
            raise BadInputError("--csv shows what a step made.", "Name it with --step.")
        for line in sheet(opened, step, spreadsheet=spreadsheet):
            click.echo(line, nl=False)
        return
    if step is None:
        show_state(opened.state(), as_json)
        return
    made = made_by(opened, step)
    if as_json:
        print_json([plain_fields(one) for one in made])
        return
    for one in made:
        click.echo(line_of(step, one))


@build.command()
@click.argument("corpus")
@click.argument("name")
@step_option
@click.option("--all", "all_steps", is_flag=True, help="Every step that is not complete.")
@click.option("--estimate", "only_estimate", is_flag=True, help="Only say what it would take.")
@click.option("--yes", is_flag=True, help="Do not ask before a model is asked.")
@budget_option
@author_option
@json_option
def run(
    corpus: str,
    name: str,
    step: BuildStep | None,
    all_steps: bool,
    only_estimate: bool,
    yes: bool,
    budget_calls: int | None,
    author: str | None,
    as_json: bool,
) -> None:
    """Run a step of NAME: the one named, or the next that is not complete.

    What it takes is said before anything is asked. What was stopped goes on when the same
    command is run again; what people changed stays. --budget-calls is for each step.
    """
    if all_steps and step is not None:
        raise BadInputError("--step and --all exclude each other.", "Name one.")
    builds = open_explorer().builds
    opened = builds.open(corpus, name)
    first = step or opened.state().next
    if only_estimate:
        _only_estimate(builds, corpus, name, first, as_json)
        return
    done: dict[BuildStep, tuple[TaskEstimate, TaskReport[int]]] = {}
    upcoming: BuildStep | None = first
    while upcoming is not None and upcoming not in done:
        estimate = builds.estimate(corpus, name, upcoming)
        click.echo(estimate_line(upcoming, estimate), err=True)
        confirm(estimate.calls, yes=yes)
        with advancing(COUNTED[upcoming], upcoming, counts=_counts) as tell:
            report = builds.run(
                corpus, name, upcoming, author_or_own(author), most_calls=budget_calls, tell=tell
            )
        done[upcoming] = estimate, report
        if not as_json:
            click.echo(report_line(upcoming, report))
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
    estimate = builds.estimate(corpus, name, step)
    if as_json:
        print_json({"step": step, **task_fields(estimate)})
    else:
        click.echo(estimate_line(step, estimate))


def _finish(
    state: BuildState,
    done: Mapping[BuildStep, tuple[TaskEstimate, TaskReport[int]]],
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


def _counts(progress: TaskProgress) -> str:
    return f"{progress.calls:,} calls"


@build.command()
@click.argument("corpus")
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR")
@click.option("--overwrite", is_flag=True, help="Replace what was exported there before.")
@json_option
def export(corpus: str, name: str, out: Path, overwrite: bool, as_json: bool) -> None:
    """Write the collection into a folder that `seedlens evaluate` and others read.

    BEIR's layout (corpus.jsonl, queries.jsonl, qrels/test.tsv), TREC's judgments, and where it
    all comes from (provenance.json).
    """
    builds = open_explorer().builds
    files = builds.export(corpus, name, out, overwrite=overwrite)
    if as_json:
        print_json(
            {"files": list(map(str, files)), **plain_fields(builds.provenance(corpus, name))}
        )
        return
    for path in files:
        click.echo(path)


# -- what is printed -------------------------------------------------------------------------------


def made_by(opened: OpenBuild, step: BuildStep) -> Sequence[Any]:
    """What a step made: labels, clusters, queries, or where the collection comes from."""
    from engine.build.collection_export import provenance

    if step == "label":
        return opened.labels()
    if step == "collapse":
        return opened.clusters()
    return opened.queries() if step == "verbalise" else [provenance(opened)]


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
    from engine.build.collection_export import json_fields

    return json_fields(record)


def state_fields(state: BuildState) -> dict[str, Any]:
    """How a build stands, as JSON has it."""
    steps = [{**plain_fields(step), "complete": step.is_complete} for step in state.steps]
    return {**plain_fields(state), "steps": steps, "next": state.next}


def show_state(state: BuildState, as_json: bool) -> None:
    """Print how a build stands, a line for each step."""
    if as_json:
        print_json(state_fields(state))
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


def estimate_line(step: BuildStep, estimate: TaskEstimate) -> str:
    """What a step will take at most, in a sentence or two."""
    text = f"{step}: {estimate.items:,} {COUNTED[step]} to do."
    if estimate.calls:
        text += f" {at_most(estimate)}"
    return text


def report_line(step: BuildStep, report: TaskReport[int]) -> str:
    """What a step did, in a sentence or two."""
    text = f"{step}: {report.result:,} {MADE[step]} in {report.seconds:.1f} s"
    if report.calls or report.cached:
        text += f"; {taken(report)}"
    parts = [(report.failed, "without a usable answer"), (report.left, "not reached")]
    return text + what_else(parts, goes_on=bool(report.failed or report.left))
