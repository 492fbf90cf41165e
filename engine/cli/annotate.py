"""``seedlens judge`` and ``seedlens pool``: annotation without the app, or beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.cli.common import (
    author_or_own,
    filter_option,
    json_option,
    open_explorer,
    parsed_filters,
    selection_of,
    system_names,
    within_option,
)
from engine.cli.terminal import bar_of, print_json
from engine.errors import BadInputError
from engine.text import counted
from engine.types.annotating import Judgment, PoolRequest, Unjudged, are_passed_over
from engine.types.searches import Query

if TYPE_CHECKING:
    from engine.annotate.annotation import Annotation
    from engine.explorer import Explorer
    from engine.types.annotating import Project
    from engine.types.searches import Ranking

project_option = click.option(
    "--project", default="", metavar="P", help="Default: the corpus's own, judged while exploring."
)
include_audit_option = click.option(
    "--include-audit", is_flag=True, help="Count grades that people gave to check a model, too."
)
DEFAULTS = PoolRequest()
REPORTED = (
    *("corpus", "project", "query_id", "doc_id", "annotator", "verdict", "relevance", "time"),
    *("note", "marks", "origin", "rank", "system", "instruction", "blind", "seconds", "event"),
)
"""What ``judge --json`` says of a judgment."""


# -- judging -------------------------------------------------------------------------------------


@click.command()
@click.argument("name")
@click.option("--query", "query_id", metavar="QID", help="Names seed and aspect: <seed>_<aspect>.")
@click.option("--doc", "doc_id", metavar="DOC_ID", help="The document that is judged.")
@click.option("--grade", type=int, help="A grade of the project's scale; 0 to 3 by default.")
@click.option("--skip", is_flag=True, help="Pass it over.")
@click.option("--unsure", is_flag=True, help="Leave it to others.")
@click.option(
    "--undo",
    is_flag=True,
    help="Take back the annotator's last judgment; with --query and --doc, their last of it.",
)
@click.option("--annotator", metavar="WHO", help="Default: SEEDLENS_ANNOTATOR, or 'me'.")
@click.option("--note", default="", metavar="TEXT", help="Why.")
@click.option(
    "--adjudicate",
    is_flag=True,
    help="Decide between annotators, whose own grades stay; --note is the reason. With --undo, "
    "take the decision back.",
)
@project_option
@json_option
def judge(
    name: str,
    query_id: str | None,
    doc_id: str | None,
    grade: int | None,
    skip: bool,
    unsure: bool,
    undo: bool,
    annotator: str | None,
    note: str,
    adjudicate: bool,
    project: str,
    as_json: bool,
) -> None:
    """Say how relevant a document of corpus NAME is to a query.

    Nothing is overwritten: the last judgment of each annotator counts, and an undo brings back
    the one before.
    """
    if sum([grade is not None, skip, unsure, undo]) != 1:
        raise BadInputError(
            "What is said is not clear.", "Give one of --grade, --skip, --unsure, --undo."
        )
    item = (query_id, doc_id) if query_id and doc_id else None
    if (query_id or doc_id or adjudicate or not undo) and item is None:
        raise BadInputError("A judgment needs a query and a document.", "Give --query and --doc.")
    who = author_or_own(annotator)
    annotation = open_explorer().annotation
    asked = annotation.project(name, project)
    if undo:
        undone = _undo(annotation, asked, who, item, note, adjudicate=adjudicate)
        if as_json:
            print_json({"undone": None if undone is None else _report(undone)})
        else:
            click.echo(
                "Nothing to take back." if undone is None else f"Taken back: {_line(undone)}"
            )
        return
    verdict: Any = "skip" if skip else "unsure" if unsure else "grade"
    if item is None or (adjudicate and grade is None):
        raise BadInputError("A decision is a grade.", "Give --grade with --adjudicate.")
    if adjudicate:
        judgment = annotation.adjudicate(asked, *item, grade, note, who)
    else:
        judgment = annotation.judge(asked, Judgment(*item, who, grade, verdict, note))
    if as_json:
        print_json(_report(judgment))
    else:
        click.echo(_line(judgment))


def _undo(
    annotation: Annotation,
    project: Project,
    who: str,
    item: tuple[str, str] | None,
    note: str,
    *,
    adjudicate: bool,
) -> Judgment | None:
    """What was taken back: of an item, or whatever they said last; or a decision of theirs."""
    if note:
        raise BadInputError("An undo has no note.", "Leave --note out.")
    if item is None or not adjudicate:
        return annotation.undo(project, who, None if item is None else {item})
    standing = annotation.judgments(project, item[0], who.strip())
    decided = [j for j in standing if j.doc_id == item[1] and j.origin == "adjudication"]
    if decided:
        annotation.adjudicate(project, *item, None, "", who)
    return next(iter(decided), None)


def _report(judgment: Judgment) -> dict[str, Any]:
    report = {name: getattr(judgment, name) for name in REPORTED}
    return {**report, "time": judgment.time.isoformat()}


def _line(judgment: Judgment) -> str:
    said = judgment.verdict if judgment.relevance is None else f"grade {judgment.relevance}"
    return f"{judgment.annotator}: {said} for {judgment.doc_id} in {judgment.query_id}"


# -- pools ---------------------------------------------------------------------------------------


@click.command()
@click.argument("name")
@project_option
@click.option(
    "--queries",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Queries to add first: one id <seed>_<aspect> a line.",
)
@click.option(
    "--collection",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Add the queries of this test collection first.",
)
@click.option(
    "--systems",
    default=",".join(DEFAULTS.systems),
    show_default=True,
    help='Systems to pool, separated by commas; "" for none, where there are runs.',
)
@click.option("--depth", type=int, default=DEFAULTS.depth, show_default=True, metavar="K")
@click.option(
    "--variants",
    default="",
    help="Also these wordings, separated by commas: generic,definition,paraphrases.",
)
@click.option(
    "--run",
    "runs",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Also a TREC run. Repeatable.",
)
@click.option(
    "--unjudged",
    "--holes",
    "unjudged",
    is_flag=True,
    help="Pool nothing; say what is unjudged in each top K, of systems and runs.",
)
@filter_option
@within_option
@json_option
def pool(
    name: str,
    project: str,
    queries: Path | None,
    collection: Path | None,
    systems: str,
    depth: int,
    variants: str,
    runs: Sequence[Path],
    unjudged: bool,
    filters: Sequence[str],
    within: Path | None,
    as_json: bool,
) -> None:
    """Pool what several systems rank best for the queries of a project on corpus NAME.

    The union of their top K is what is to be judged. Pooling again only adds.
    """
    names = () if runs and not systems.strip() else tuple(system_names(systems))
    request = PoolRequest(names, depth, _sets(variants), _runs(runs), parsed_filters(filters))
    _check(request, adds=bool(queries or collection), unjudged=unjudged)
    explorer = open_explorer()
    annotation = explorer.annotation
    asked = annotation.project(name, project)
    within_file = selection_of(explorer, name, within)
    request = replace(request, filters=(*request.filters, *within_file))
    added = _add_queries(explorer, asked, queries, collection)
    known = annotation.queries(asked)
    if not known:
        raise BadInputError(
            "The project has no queries yet.", "Give --queries FILE or --collection PATH."
        )
    _say_what_is_missing(explorer, asked, request)
    if unjudged:
        _show_unjudged(annotation.unjudged(asked, names, depth, request.runs), as_json)
        return
    with bar_of("queries", "pooling", total=len(known)) as bar:
        new = annotation.fill_pool(asked, request, on_query=bar.update)
    items = len(annotation.pool(asked))
    if as_json:
        counts = {"queries": len(known), "queries_added": added, "added": new, "items": items}
        print_json({"corpus": name, "project": project, **counts})
        return
    total = f"{counted(items, 'item')} to judge for {counted(len(known), 'query', 'queries')}"
    added_now = counted(new, "retrieval is", "retrievals are")
    click.echo(f"{total}; {added_now} new, one for each document and system.")


def _check(request: PoolRequest, *, adds: bool, unjudged: bool) -> None:
    """Before anything is written."""
    from engine.annotate.pool import check_pool

    check_pool(request)
    if unjudged and adds:
        raise BadInputError(
            "--unjudged only looks, and queries would be added.",
            "Pool them first, without --unjudged.",
        )


def _say_what_is_missing(explorer: Explorer, project: Project, request: PoolRequest) -> None:
    """What of the runs cannot be judged, and what no system can rank for, on stderr."""
    from engine.annotate.pool import not_held

    known = explorer.library.open(project.corpus).row_of
    asked = explorer.annotation.queries(project)
    for name, number in not_held(known, asked, request.runs, request.depth).items():
        click.echo(
            f"Warning: {counted(number, 'document')} of run '{name}' cannot be judged: not in the "
            "corpus.",
            err=True,
        )
    if request.systems and (gone := explorer.annotation.unaskable(project)):
        click.echo(f"Warning: {are_passed_over(gone)}", err=True)


def _sets(variants: str) -> tuple[str, ...]:
    from engine.lenses.variants import check_sets

    names = [name.strip() for name in variants.split(",") if name.strip()]
    return tuple(check_sets(names)) if names else ()


def _runs(paths: Sequence[Path]) -> dict[str, Sequence[Ranking]]:
    from engine.collections.judgment_formats import text_of
    from engine.collections.trec import read_run

    runs: dict[str, Sequence[Ranking]] = {}
    for path in paths:
        run = read_run(text_of(path), path.name)
        name, number = run.tag if run.tag not in runs else path.stem, 2
        while name in runs:
            name, number = f"{path.stem}-{number}", number + 1
        runs[name] = run.rankings
    return runs


def _add_queries(
    explorer: Explorer, project: Project, file: Path | None, collection: Path | None
) -> int:
    """Queries of a file and of a collection; returns how many the project did not have."""
    from engine.annotate.projects import read_queries
    from engine.collections.judgment_formats import text_of
    from engine.collections.readers import read_collection

    new: dict[str, Query] = {}
    if file is not None:
        new |= read_queries(text_of(file), file.name, explorer.library.open(project.corpus))
    if collection is not None:
        for t in read_collection(collection).topics:
            new[t.query_id] = Query(
                project.corpus, t.seed, t.text, aspect=t.aspect, instruction=t.instruction
            )
    before = set(explorer.annotation.queries(project))
    if new:
        explorer.annotation.add_queries(project, new)
    return len(new.keys() - before)


def _show_unjudged(systems: Sequence[Unjudged], as_json: bool) -> None:
    counts = [sum(map(len, one.missing.values())) for one in systems]
    if as_json:
        print_json(
            [
                {
                    "system": one.system,
                    "k": one.k,
                    "judged": one.judged,
                    "unjudged": count,
                    "missing": {query_id: list(ids) for query_id, ids in one.missing.items()},
                }
                for one, count in zip(systems, counts, strict=True)
            ]
        )
        return
    for one, count in zip(systems, counts, strict=True):
        click.echo(f"{one.system:20} Judged@{one.k} {one.judged:.3f}   {count:,} unjudged")
