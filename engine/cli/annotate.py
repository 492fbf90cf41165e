"""Commands of annotation: ``judge``, ``pool``, ``project``, ``qrels`` and ``agreement``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from engine.cli.common import (
    author_or_own,
    open_explorer,
    parsed_filters,
    selection_of,
    system_names,
)
from engine.cli.options import from_signature
from engine.cli.terminal import bar_of, print_json, say_notes
from engine.errors import BadInputError
from engine.text import counted
from engine.types.annotating import (
    SCALES,
    Agreement,
    AgreementMeasure,
    Disagreement,
    GradeMeaning,
    JudgingOrder,
    Judgment,
    JudgmentFormat,
    PoolRequest,
    Project,
    Scale,
    Unjudged,
    are_passed_over,
)
from engine.types.evaluations import NDCG, SystemScores
from engine.types.searches import Query

if TYPE_CHECKING:
    from engine.annotate.annotation import Annotation
    from engine.annotate.judgment_io import Exported
    from engine.explorer import Explorer
    from engine.types.searches import Ranking

DEFAULTS = PoolRequest()
REPORTED = (
    *("corpus", "project", "query_id", "doc_id", "annotator", "verdict", "relevance", "time"),
    *("note", "marks", "origin", "rank", "system", "instruction", "blind", "seconds", "event"),
)
"""What ``judge --json`` says of a judgment."""


# -- judging -------------------------------------------------------------------------------------


@click.command()
@from_signature
def judge(
    name: str,
    *,
    query_id: str | None = None,
    doc_id: str | None = None,
    grade: int | None = None,
    skip: bool = False,
    unsure: bool = False,
    undo: bool = False,
    annotator: str | None = None,
    note: str = "",
    adjudicate: bool = False,
    project: str = "",
    as_json: bool = False,
) -> None:
    """Say how relevant a document of corpus NAME is to a query.

    Nothing is overwritten: the last judgment of each annotator counts, and an undo brings back
    the one before.

    Options:
        query_id --query QID: Names seed and aspect: <seed>_<aspect>.
        doc_id --doc DOC_ID: The document that is judged.
        grade: A grade of the project's scale; 0 to 3 by default.
        skip: Pass it over.
        unsure: Leave it to others.
        undo: Take back the annotator's last judgment; with --query and --doc, their last of it.
        note TEXT: Why.
        adjudicate: Decide between annotators, whose own grades stay; --note is the reason. With
            --undo, take the decision back.
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
@from_signature
def pool(
    name: str,
    *,
    project: str = "",
    queries: Path | None = None,
    collection: Path | None = None,
    systems: str = ",".join(DEFAULTS.systems),
    depth: int = DEFAULTS.depth,
    variants: str = "",
    runs: Sequence[Path] = (),
    unjudged: bool = False,
    filters: Sequence[str] = (),
    within: Path | None = None,
    as_json: bool = False,
) -> None:
    """Pool what several systems rank best for the queries of a project on corpus NAME.

    The union of their top K is what is to be judged. Pooling again only adds.

    Options:
        queries FILE: Queries to add first: one id <seed>_<aspect> a line.
        collection PATH: Add the queries of this test collection first.
        systems S1,S2: Systems to pool; "" for none, where there are runs.
        depth K: How far down each ranking.
        variants V1,V2: Also these wordings: generic,definition,paraphrases.
        runs --run FILE: Also a TREC run. Repeatable.
        unjudged --unjudged --holes: Pool nothing; say what is unjudged in each top K, of systems
            and runs.
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


# -- projects -------------------------------------------------------------------------------------


@click.group()
def project() -> None:
    """Annotation projects: guidelines, scale, people, order."""


@dataclass(frozen=True, slots=True)
class ProjectOptions:
    """Settings of a project.

    Options:
        guidelines [ASPECT=]FILE: Markdown that annotators see, for all aspects or for one.
            Repeatable.
        scale SCALE: graded, binary, or a JSON file: [[0, NAME, MEANING], [1, ...]]. The lowest
            grade is 'not relevant'.
        annotators --annotator WHO: Who may judge; without any, everybody. Repeatable; "" clears
            the list.
        leads --lead WHO: Who adjudicates and may change the project. Repeatable; "" clears the
            list.
        per_item N: Annotators that each item needs.
        order: In which order items come.
        blind --blind/--not-blind: Whether ranks and systems are hidden.
        model_grades --model-grades/--no-model-grades: Whether a grade by a language model counts
            where no person graded.
    """

    guidelines: tuple[str, ...] = ()
    scale: str | None = None
    annotators: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()
    per_item: int | None = None
    order: JudgingOrder | None = None
    blind: bool | None = None
    model_grades: bool | None = None


Changes = Annotated[dict[str, Any], ProjectOptions]


@project.command()
@from_signature
def create(
    name: str,
    project: str,
    *,
    settings: Changes,
    author: str | None = None,
    as_json: bool = False,
) -> None:
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
    _save_project(Project(name, project), settings, author, None, as_json)


@project.command()
@from_signature
def change(
    name: str,
    project: str,
    *,
    settings: Changes,
    author: str | None = None,
    as_json: bool = False,
) -> None:
    """Change settings of PROJECT on corpus NAME; what is not named stays, and so do judgments."""
    before = open_explorer().annotation.project(name, project)
    _save_project(before, settings, author, before, as_json)


def _save_project(
    project: Project,
    settings: dict[str, Any],
    author: str | None,
    before: Project | None,
    as_json: bool,
) -> None:
    changes = dict(settings)
    changes |= {key: () for key in ("annotators", "leads") if changes.get(key) == ("",)}
    if "guidelines" in changes:
        read = dict(map(_guidelines, changes["guidelines"]))
        changes["guidelines"] = {**project.guidelines, **read}
    if "scale" in changes:
        changes["scale"] = _scale(changes["scale"])
    saved = open_explorer().annotation.save(
        replace(project, **changes), author_or_own(author), before
    )
    if as_json:
        print_json(asdict(saved))
    else:
        click.echo(_project_line(saved))


@project.command()
@from_signature
def show(name: str, project: str = "", *, as_json: bool = False) -> None:
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
    click.echo(_project_line(shown))
    queries = counted(state["queries"], "query", "queries")
    items = counted(state["items"], "item")
    click.echo(f"{queries}, {items}, {counted(state['judgments'], 'judgment')}")
    for who in people:
        progress = annotation.queue(shown, who).progress()
        click.echo(f"  {who:24} {progress.done:,} of {progress.total:,} items")
    for who, number in state["by_models"].items():
        click.echo(f"  {who:24} {number:,} items (a language model)")


@project.command("list")
@from_signature
def list_(name: str | None = None, *, as_json: bool = False) -> None:
    """List the projects, of corpus NAME or of all."""
    explorer = open_explorer()
    projects = explorer.annotation.projects(name)
    if name is not None and not projects:
        explorer.library.corpus(name)  # says that there is none
    if as_json:
        print_json([asdict(one) for one in projects])
        return
    for one in projects:
        click.echo(_project_line(one))
    if not projects:
        click.echo("No project yet. Try: seedlens project create NAME PROJECT", err=True)


def _project_line(project: Project) -> str:
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


# -- judgments in files ---------------------------------------------------------------------------


@click.group()
def qrels() -> None:
    """Export and import judgments."""


@qrels.command("export")
@from_signature
def export(
    name: str,
    *,
    project: str = "",
    kind: JudgmentFormat = "trec",
    per_annotator: bool = False,
    annotator: str = "",
    median: bool = False,
    include_audit: bool = False,
    spreadsheet: bool = False,
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """Write the judgments of a project on corpus NAME.

    Query ids name seed and aspect. CSV and JSONL with --per-annotator have every field and can
    be imported elsewhere as they are. Grades that people gave to check a model are left out.

    Options:
        kind --format: hand-over: all that one annotator did, with undos, queries and settings.
        per_annotator: Each one's own grades; the adjudicated ones otherwise.
        annotator WHO: Only this one's own.
        median: Where grades differ and nobody decided: their median, the lower of two. Otherwise
            such items are left out.
        spreadsheet: With csv: no text is a formula to a spreadsheet program. To read, not to
            import again.
        out PATH: A file or folder. Default: stdout, for a single file.
        as_json --json: Print what was written as JSON; needs --out.
    """
    if as_json and out is None:
        raise BadInputError("--json says what was written where.", "Give --out PATH as well.")
    if spreadsheet and kind != "csv":
        raise BadInputError("--spreadsheet is for CSV.", "Add --format csv.")
    annotation = open_explorer().annotation
    asked = annotation.project(name, project)
    exported = annotation.exchange.export(
        asked,
        kind,
        per_annotator=per_annotator,
        annotator=annotator,
        median=median,
        spreadsheet=spreadsheet,
        audit=include_audit,
    )
    if out is None:
        _print_export(exported)
        written: tuple[Path, ...] = ()
    else:
        written = exported.write(out)
    if as_json:
        print_json(
            {
                "files": [str(path) for path in written],
                "judgments": exported.judgments,
                "notes": list(exported.notes),
            }
        )
    elif written:
        click.echo(f"{exported.judgments:,} judgments written: {', '.join(map(str, written))}")
    say_notes(exported.notes)


def _print_export(exported: Exported) -> None:
    if len(exported.files) != 1:
        raise BadInputError(
            f"This export has {len(exported.files)} files.", "Give a folder with --out DIR."
        )
    # Whole before it is printed: half an export on stdout would look like all of it.
    click.echo("".join(next(iter(exported.files.values()))), nl=False)


@qrels.command("import")
@from_signature
def import_(
    name: str,
    path: Path | None = None,
    *,
    project: str | None = None,
    kind: Literal["auto", JudgmentFormat, "csfcube"] = "auto",
    annotator: str = "",
    adjudicated: bool = False,
    by_model: bool = False,
    overwrite: bool = False,
    as_json: bool = False,
) -> None:
    """Take judgments from PATH into a project on corpus NAME.

    A corpus that came from CSFCube needs no PATH: every annotator's own grades come in, and
    the adjudicated ones as decisions. The last judgment of an annotator and item counts.
    Importing twice changes nothing; when any line is broken, nothing is imported.

    Options:
        project P: Default: the corpus's own, or the one that a hand-over is from.
        kind --format: How the file is written.
        annotator WHO: Whose judgments they are where the file does not say (needed for TREC and
            BEIR); for CSFCube, who adjudicated.
        adjudicated: They are decisions between annotators.
        by_model: All of them are a language model's, which WHO names: no examples for models that
            grade.
        overwrite: Where an annotator said something else here, the file's counts from now on.
    """
    imported = open_explorer().annotation.exchange.import_(
        name,
        path,
        project,
        kind=kind,
        annotator=annotator,
        adjudicated=adjudicated,
        by_model=by_model,
        overwrite=overwrite,
    )
    if as_json:
        print_json(asdict(imported))
    else:
        click.echo(f"{imported.added:,} judgments added; {imported.known:,} were there already.")
    say_notes((*imported.conflicts, *imported.warnings), "Warning")


# -- agreement ------------------------------------------------------------------------------------


HUMAN_MEASURES = (NDCG, "p-MRR")


@click.command()
@from_signature
def agreement(
    name: str,
    *,
    project: str = "",
    disagreements: bool = False,
    include_audit: bool = False,
    as_json: bool = False,
) -> None:
    """Say how far the annotators of a project on corpus NAME agree.

    Raw agreement, Fleiss' kappa and Krippendorff's alpha over all of them and by aspect;
    Cohen's kappas, with a confusion matrix, of every pair. Language models stand apart: they
    are compared with people in pairs only. Intervals are bootstraps of 95 % over items. What
    each annotator's own grades reach as a ranking, held against what was decided without them,
    is what a system can be asked for at most.

    Options:
        disagreements: List what is to be adjudicated, widest spread first.
    """
    explorer = open_explorer()
    annotation = explorer.annotation
    asked = annotation.project(name, project)
    if disagreements:
        _show_disagreements(annotation.disagreements(asked), as_json)
        return
    result = annotation.agreement(asked, audit=include_audit)
    rows = explorer.human_rows(asked)
    if as_json:
        human = {who: dict(scores.metrics) for who, scores in rows.items()}
        print_json({**_agreement_report(result), "human": human})
    else:
        _print_agreement(result)
        _print_human(rows)
    say_notes(result.notes)


def measures_report(measures: Sequence[AgreementMeasure]) -> dict[str, Any]:
    """Measures as JSON has them."""
    return {m.name: {"value": m.value, "interval": m.interval, "items": m.items} for m in measures}


def _agreement_report(result: Agreement) -> dict[str, Any]:
    return {
        "annotators": list(result.annotators),
        "grades": list(result.grades),
        "models": list(result.models),
        "measures": measures_report(result.measures),
        "by_aspect": {a or "any": measures_report(m) for a, m in result.by_aspect.items()},
        "pairs": [
            {
                "annotators": list(pair),
                "with_model": result.with_model(pair),
                "measures": measures_report(measures),
                "confusion": [list(row) for row in result.confusion[pair]],
            }
            for pair, measures in result.pairs.items()
        ],
        "notes": list(result.notes),
    }


def _print_agreement(result: Agreement) -> None:
    people = {
        "all": result.measures,
        **{aspect or "any": measures for aspect, measures in result.by_aspect.items()},
        **{" and ".join(p): m for p, m in result.pairs.items() if not result.with_model(p)},
    }
    models = {" and ".join(p): m for p, m in result.pairs.items() if result.with_model(p)}
    for title, groups in (("", people), ("Against language models", models)):
        if title and groups:
            click.echo(f"\n{title}")
        for group, measures in groups.items():
            click.echo(f"{group} ({measures[0].items:,} items)")
            for line in measure_lines(measures):
                click.echo(line)
    for (one, other), counts in result.confusion.items():
        click.echo(f"\nrows: {one}, columns: {other}")
        for line in confusion_lines(result.grades, counts):
            click.echo(line)


def _print_human(rows: Mapping[str, SystemScores]) -> None:
    if not rows:
        return
    click.echo(
        "\nLeave-one-out: an annotator's grades as a ranking, against what was decided without them"
    )
    click.echo(f"  {'':32}" + "".join(f"{measure:>9}" for measure in HUMAN_MEASURES) + "  queries")
    for who, scores in rows.items():
        values = (scores.metrics[measure] for measure in HUMAN_MEASURES)
        shown = "".join(f"{'–' if v is None else f'{v:.3f}':>9}" for v in values)
        click.echo(f"  {who:32}{shown}{len(scores.per_query):>9,}")


def measure_lines(measures: Sequence[AgreementMeasure]) -> Iterator[str]:
    """A line per measure, with its interval."""
    for measure in measures:
        yield f"  {measure.title:32}{_shown(measure)}"


def confusion_lines(grades: Sequence[int], counts: Sequence[Sequence[int]]) -> Iterator[str]:
    """A matrix of counts, grades at its head and side."""
    yield "     " + "".join(f"{grade:>7}" for grade in grades)
    for grade, row in zip(grades, counts, strict=True):
        yield f"  {grade:>3}" + "".join(f"{number:>7,}" for number in row)


def _shown(measure: AgreementMeasure) -> str:
    value = "undefined" if measure.value is None else f"{measure.value:.3f}"
    if measure.interval is None:
        return value
    low, high = measure.interval
    return f"{value}   {low:.3f} to {high:.3f}"


def _show_disagreements(items: Sequence[Disagreement], as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "query_id": d.query_id,
                    "doc_id": d.doc_id,
                    "spread": d.spread,
                    "said": {j.annotator: _said(j) for j in d.said},
                    "decided": None if d.decided is None else d.decided.relevance,
                }
                for d in items
            ]
        )
        return
    for d in items:
        said = ", ".join(f"{j.annotator} {_said(j)}" for j in d.said)
        decided = "" if d.decided is None else f"  -> {d.decided.relevance}"
        click.echo(f"{d.query_id}  {d.doc_id}  {said}{decided}")
    if not items:
        click.echo("Nothing to adjudicate.", err=True)


def _said(judgment: Judgment) -> int | str:
    return judgment.verdict if judgment.relevance is None else judgment.relevance
