"""``seedlens project``: what is judged, how, and by whom."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import click

from engine.cli.common import author_or_own, json_option, open_explorer, with_options
from engine.cli.terminal import print_json
from engine.errors import BadInputError
from engine.text import counted
from engine.types.annotating import SCALES, GradeMeaning, JudgingOrder, Project, Scale


@click.group()
def project() -> None:
    """Annotation projects: guidelines, scale, people, order."""


_settings = with_options(
    click.option(
        "--guidelines",
        multiple=True,
        metavar="[ASPECT=]FILE",
        help="Markdown that annotators see, for all aspects or for one. Repeatable.",
    ),
    click.option(
        "--scale",
        metavar="SCALE",
        help=f"{', '.join(SCALES)}, or a JSON file: [[0, NAME, MEANING], [1, ...]]. The "
        "lowest grade is 'not relevant'.",
    ),
    click.option(
        "--annotator",
        "annotators",
        multiple=True,
        metavar="WHO",
        help='Who may judge; without any, everybody. Repeatable; "" clears the list.',
    ),
    click.option(
        "--lead",
        "leads",
        multiple=True,
        metavar="WHO",
        help='Who adjudicates and may change the project. Repeatable; "" clears the list.',
    ),
    click.option("--per-item", type=int, metavar="N", help="Annotators that each item needs."),
    click.option("--order", type=click.Choice(get_args(JudgingOrder))),
    click.option("--blind/--not-blind", default=None, help="Whether ranks and systems are hidden."),
    click.option(
        "--model-grades/--no-model-grades",
        default=None,
        help="Whether a grade by a language model counts where no person graded.",
    ),
    click.option("--author", metavar="WHO", help="Default: SEEDLENS_ANNOTATOR, or 'me'."),
)


@project.command()
@click.argument("name")
@click.argument("project", metavar="PROJECT")
@_settings
@json_option
def create(name: str, project: str, as_json: bool, **options: Any) -> None:
    """Create PROJECT on corpus NAME."""
    annotation = open_explorer().annotation
    if any(other.name == project for other in annotation.projects(name)):
        raise BadInputError(
            f"Corpus '{name}' has a project '{project}'.",
            "Change it with: seedlens project change.",
        )
    if not project:
        raise BadInputError("The project has no name.", "Use letters, digits, - and _.")
    annotation.project(name)
    _save(Project(name, project), as_json, None, **options)


@project.command()
@click.argument("name")
@click.argument("project", metavar="PROJECT")
@_settings
@json_option
def change(name: str, project: str, as_json: bool, **options: Any) -> None:
    """Change settings of PROJECT on corpus NAME; what is not named stays, and so do judgments."""
    before = open_explorer().annotation.project(name, project)
    _save(before, as_json, before, **options)


def _save(
    project: Project,
    as_json: bool,
    before: Project | None,
    guidelines: Sequence[str],
    scale: str | None,
    author: str | None,
    **options: Any,
) -> None:
    named = {key: value for key, value in options.items() if value not in (None, ())}
    named |= {key: () for key in ("annotators", "leads") if named.get(key) == ("",)}
    if guidelines:
        named["guidelines"] = {**project.guidelines, **dict(map(_guidelines, guidelines))}
    if scale is not None:
        named["scale"] = _scale(scale)
    changed = replace(project, **named)
    saved = open_explorer().annotation.save(changed, author_or_own(author), before)
    if as_json:
        print_json(asdict(saved))
    else:
        click.echo(_line(saved))


@project.command()
@click.argument("name")
@click.argument("project", metavar="PROJECT", default="")
@json_option
def show(name: str, project: str, as_json: bool) -> None:
    """Show PROJECT on corpus NAME (or the corpus's own): settings, and how far it is."""
    annotation = open_explorer().annotation
    shown = annotation.project(name, project)
    judgments = annotation.judgments(shown)
    models = annotation.grading.models(shown)
    people = sorted({*shown.annotators, *(j.annotator for j in judgments)} - {*models})
    state: dict[str, Any] = {
        "queries": len(annotation.queries(shown)),
        "items": len(annotation.pool(shown)),
        "judgments": len(judgments),
        "by_models": {who: sum(j.annotator == who for j in judgments) for who in models},
        "progress": {who: asdict(annotation.queue(shown, who).progress()) for who in people},
    }
    if as_json:
        print_json({**asdict(shown), **state})
        return
    click.echo(_line(shown))
    queries = counted(state["queries"], "query", "queries")
    items = counted(state["items"], "item")
    click.echo(f"{queries}, {items}, {counted(state['judgments'], 'judgment')}")
    for who in people:
        progress = annotation.queue(shown, who).progress()
        click.echo(f"  {who:24} {progress.done:,} of {progress.total:,} items")
    for who, number in state["by_models"].items():
        click.echo(f"  {who:24} {number:,} items (a language model)")


@project.command("list")
@click.argument("name", required=False)
@json_option
def list_(name: str | None, as_json: bool) -> None:
    """List the projects, of corpus NAME or of all."""
    explorer = open_explorer()
    projects = explorer.annotation.projects(name)
    if name is not None and not projects:
        explorer.library.corpus(name)  # says that there is none
    if as_json:
        print_json([asdict(one) for one in projects])
        return
    for one in projects:
        click.echo(_line(one))
    if not projects:
        click.echo("No project yet. Try: seedlens project create NAME PROJECT", err=True)


def _line(project: Project) -> str:
    who = ", ".join(project.annotators) or "everybody"
    grades = ", ".join(f"{g.value} {g.name}" for g in project.scale.grades)
    return (
        f"{project.corpus}/{project.name or '(own)'}: {grades}; judged by {who}, "
        f"{project.per_item} per item, {project.order}{', blind' if project.blind else ''}"
        f"{', grades by models count where no person graded' if project.model_grades else ''}"
    )


def _guidelines(text: str) -> tuple[str, str]:
    """``ASPECT=FILE`` or ``FILE`` as aspect and Markdown."""
    aspect, sign, file = text.partition("=")
    if not sign or Path(text).is_file():
        aspect, file = "", text
    return aspect, _read(Path(file))


def _scale(text: str) -> Scale:
    if text in SCALES:
        return SCALES[text]
    path = Path(text)
    try:
        grades = [_grade(*row) for row in json.loads(_read(path))]
    except (ValueError, TypeError, RecursionError) as error:
        raise BadInputError(
            f"{path} cannot be read as a scale: {error}.",
            f'Use {", ".join(SCALES)}, or write [[0, "No", "meaning"], [1, "Yes", ""]].',
        ) from error
    return Scale(path.stem, tuple(grades))


def _grade(value: object, name: object, meaning: object = "") -> GradeMeaning:
    """TypeError or ValueError for what is none: 0.9 or "01" must not become another grade."""
    if type(value) is not int:
        raise ValueError(f"the grade {json.dumps(value)} is no whole number")
    if not isinstance(name, str) or not isinstance(meaning, str):
        raise TypeError(f"name and meaning of grade {value} are no texts")
    return GradeMeaning(value, name, meaning)


def _read(path: Path) -> str:
    from engine.collections.judgment_formats import text_of

    return text_of(path)
