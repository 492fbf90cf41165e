"""Commands of annotation: ``judge``, ``pool``, ``project``, ``qrels``, ``agreement``, ``grade``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from pydantic import PositiveInt, StrictInt, StrictStr, TypeAdapter, ValidationError

from engine.cli.common import (
    ModelRun,
    author_or_own,
    end_run,
    open_explorer,
    outcome,
    parsed_filters,
    parts_of,
    run_task,
    selection_of,
    system_names,
    task_fields,
)
from engine.cli.options import command
from engine.cli.terminal import Figure, bar_of, say, show, show_rows, table, wants_json
from engine.errors import BadInputError, UnknownNameError
from engine.text import counted
from engine.types.annotating import (
    ANCHORS,
    SCALES,
    Agreement,
    AgreementMeasure,
    GradeCounts,
    GradeMeaning,
    GradingRequest,
    JudgingOrder,
    Judgment,
    JudgmentFormat,
    ModelCheck,
    PoolRequest,
    Project,
    Scale,
    are_passed_over,
)
from engine.types.evaluations import NDCG, SystemScores
from engine.types.models import Estimate, TaskReport
from engine.types.searches import Query

if TYPE_CHECKING:
    from engine.annotate.annotation import Annotation
    from engine.explorer import Explorer
    from engine.types.searches import Ranking

DEFAULTS = PoolRequest()
_Grade = tuple[StrictInt, StrictStr] | tuple[StrictInt, StrictStr, StrictStr]
_GRADES: TypeAdapter[list[_Grade]] = TypeAdapter(list[_Grade])


# -- judging -------------------------------------------------------------------------------------


@command()
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
) -> None:
    """Judge how relevant a document of corpus NAME is to a query.

    Nothing is overwritten: the last judgment of each annotator counts, and an undo restores the
    one before.

    Options:
        query_id --query QID: Seed and aspect: <seed>_<aspect>.
        doc_id --doc DOC_ID: The document to judge.
        grade: A grade of the project's scale; 0 to 3 by default.
        skip: Skip the item.
        unsure: Leave it to others.
        undo: Undo the annotator's last judgment; with --query and --doc, the last of it.
        note TEXT: The reason.
        adjudicate: Decide between annotators, with a reason in --note; with --undo, withdraw it.
    """
    if sum([grade is not None, skip, unsure, undo]) != 1:
        raise BadInputError(
            "There is no verdict, or more than one.",
            "Give one of --grade, --skip, --unsure, --undo.",
        )
    item = (query_id, doc_id) if query_id and doc_id else None
    if (query_id or doc_id or adjudicate or not undo) and item is None:
        raise BadInputError("A judgment needs a query and a document.", "Give --query and --doc.")
    who = author_or_own(annotator)
    annotation = open_explorer().annotation
    opened = annotation.project(name, project)
    judged: Judgment | None
    if undo and note:
        raise BadInputError("An undo has no note.", "Leave --note out.")
    if adjudicate and item and not undo and grade is None:
        raise BadInputError("A decision is a grade.", "Give --grade with --adjudicate.")
    if undo and adjudicate and item:
        made = annotation.judgments(opened, item[0], who.strip())
        made = [j for j in made if j.doc_id == item[1] and j.origin == "adjudication"]
        judged = next(iter(made), None)
        if judged:
            annotation.adjudicate(opened, *item, None, "", who)
    elif undo:
        judged = annotation.undo(opened, who, {item} if item else None)
    elif adjudicate and item:
        judged = annotation.adjudicate(opened, *item, grade, note, who)
    elif item:
        verdict: Any = "skip" if skip else "unsure" if unsure else "grade"
        judged = annotation.judge(opened, Judgment(*item, who, grade, verdict, note))
    report, line = None, "Nothing to undo."
    if judged:
        report = {**asdict(judged), "time": judged.time.isoformat()}
        del report["undoes"], report["id"]
        said = judged.verdict if judged.relevance is None else f"grade {judged.relevance}"
        line = f"{judged.annotator}: {said} for {judged.doc_id} in {judged.query_id}"
        line = f"Undone: {line}" if undo else line
    show({"undone": report} if undo else report, line)


# -- pools ---------------------------------------------------------------------------------------


@command()
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
) -> None:
    """Pool the top K of several systems for the queries of a project on corpus NAME.

    The union is to be judged. Pooling again only adds.

    Options:
        queries FILE: Queries to add first: one id <seed>_<aspect> a line.
        collection PATH: Add the queries of this test collection first.
        systems S1,S2: Systems to pool; "" for none, with runs.
        depth K: Documents from the top of each ranking.
        variants V1,V2: Also these wordings: generic,definition,paraphrases.
        runs --run FILE: Also a TREC run. Repeatable.
        unjudged --unjudged --holes: Pool nothing; list the unjudged documents of each top K.
    """
    from engine.annotate.pool import check_pool, not_held
    from engine.lenses.definitions import check_sets

    names = () if runs and not systems.strip() else tuple(system_names(systems))
    sets = tuple(check_sets(parts_of(variants))) if parts_of(variants) else ()
    request = PoolRequest(names, depth, sets, _runs(runs), parsed_filters(filters))
    check_pool(request, names)
    if unjudged and (queries or collection):
        raise BadInputError("--unjudged changes nothing.", "Add the queries without --unjudged.")
    explorer = open_explorer()
    annotation = explorer.annotation
    opened = annotation.project(name, project)
    within_file = selection_of(explorer, name, within)
    request = replace(request, filters=(*request.filters, *within_file))
    before = annotation.queries(opened)
    if new := _queries_of(explorer, name, queries, collection):
        annotation.add_queries(opened, new)
    known = annotation.queries(opened)
    if not known:
        ways = "Give --queries FILE or --collection PATH."
        raise BadInputError("The project has no queries yet.", ways)
    # documents of runs that cannot be judged, and queries that no system can rank for
    lacking = not_held(explorer.library.open(name).row_of, known, request.runs, depth)
    say(
        (
            f"{counted(number, 'document')} of run '{run}' cannot be judged: not in the corpus."
            for run, number in lacking.items()
        ),
        "Warning",
    )
    if names and (gone := annotation.unaskable(opened)):
        say([are_passed_over(gone)], "Warning")
    if unjudged:
        found = annotation.unjudged(opened, request.systems, request.depth, request.runs)
        report = [{**asdict(one), "unjudged": sum(map(len, one.missing.values()))} for one in found]
        lines = [(r["system"], f"Judged@{r['k']}", r["judged"], r["unjudged"]) for r in report]
        show_rows(report, ("", "", "", "unjudged"), lines)
        return
    with bar_of("queries", "pooling", total=len(known)) as bar:
        retrieved = annotation.fill_pool(opened, request, on_query=bar.update)
    items, added = len(annotation.pool(opened)), len(known.keys() - before)
    total = f"{counted(items, 'item')} to judge for {counted(len(known), 'query', 'queries')}"
    counts = {"queries": len(known), "queries_added": added, "added": retrieved, "items": items}
    show(
        {"corpus": name, "project": project, **counts},
        f"{total}; {counted(retrieved, 'new retrieval')}, one for each document and system.",
    )


def _runs(paths: Sequence[Path]) -> dict[str, Sequence[Ranking]]:
    """The rankings of TREC runs by tag, or by file where two have the same tag."""
    from engine.collections.judgment_formats import text_of
    from engine.collections.trec import read_run

    runs: dict[str, Sequence[Ranking]] = {}
    for path in paths:
        run = read_run(text_of(path), path.name)
        names = chain([run.tag, path.stem], (f"{path.stem}-{n}" for n in count(2)))
        runs[next(name for name in names if name not in runs)] = run.rankings
    return runs


def _queries_of(
    explorer: Explorer, corpus: str, file: Path | None, collection: Path | None
) -> dict[str, Query]:
    """The queries of a file and of a collection, by their ids."""
    from engine.annotate.projects import read_queries
    from engine.collections.judgment_formats import text_of
    from engine.collections.readers import read_collection

    new: dict[str, Query] = {}
    if file is not None:
        new |= read_queries(text_of(file), file.name, explorer.library.open(corpus))
    if collection is not None:
        new |= {one.query_id: one.query(corpus) for one in read_collection(collection).topics}
    return new


# -- projects -------------------------------------------------------------------------------------


@click.group()
def project() -> None:
    """Annotation projects: guidelines, scale, people, order."""


@dataclass(frozen=True, slots=True)
class ProjectOptions:
    """Settings of a project.

    Options:
        guidelines [ASPECT=]FILE: Markdown for annotators, for all aspects or for one. Repeatable.
        scale SCALE: graded, binary, or a JSON file: [[0, NAME, MEANING], [1, ...]].
        annotators --annotator WHO: Who may judge; default: everybody. Repeatable; "" clears.
        leads --lead WHO: Who adjudicates and changes the project. Repeatable; "" clears.
        per_item N: Annotators for each item.
        order: The order of items.
        blind --blind/--not-blind: Whether ranks and systems are hidden.
        model_grades --model-grades/--no-model-grades: Whether grades by a model count where no
            person graded.
        first N: Everybody judges the same N items first; the others are shared out.
    """

    guidelines: tuple[str, ...] = ()
    scale: str | None = None
    annotators: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()
    per_item: int | None = None
    order: JudgingOrder | None = None
    blind: bool | None = None
    model_grades: bool | None = None
    first: int | None = None


Changes = Annotated[dict[str, Any], ProjectOptions]


@command(project)
def create(name: str, project: str, *, settings: Changes, author: str | None = None) -> None:
    """Create PROJECT on corpus NAME."""
    annotation = open_explorer().annotation
    annotation.project(name)
    changed = _changed(Project(name, project), settings)
    _show_project(annotation.create(changed, author_or_own(author)))


@command(project)
def change(name: str, project: str, *, settings: Changes, author: str | None = None) -> None:
    """Change settings of PROJECT on corpus NAME; other settings and judgments are kept."""
    annotation = open_explorer().annotation
    before = annotation.project(name, project)
    _show_project(annotation.save(_changed(before, settings), author_or_own(author), before))


@command(project)
def assign(
    name: str,
    project: str,
    *,
    query_ids: Sequence[str] = (),
    annotators: Sequence[str] = (),
    evenly: bool = False,
    author: str | None = None,
) -> None:
    """Assign queries of PROJECT on corpus NAME to annotators; without any, they are everybody's.

    The first items of a project stay everybody's.

    Options:
        query_ids --query QID: Only this query; default: all. Repeatable.
        annotators --annotator WHO: Who judges them. Repeatable.
        evenly: Share all queries out between the project's annotators.
    """
    annotation, by = open_explorer().annotation, author_or_own(author)
    opened = annotation.project(name, project)
    if evenly and (query_ids or annotators):
        raise BadInputError("--evenly assigns all.", "Leave --query and --annotator out.")
    if evenly:
        saved = annotation.share_out(opened, by)
    else:
        chosen = query_ids or annotation.queries(opened)
        saved = annotation.assign(opened, dict.fromkeys(chosen, tuple(annotators)), by)
    show(saved, table(("", ""), _assigned(saved)) or "All queries are everybody's.")


def _assigned(project: Project) -> list[tuple[str, str]]:
    return [(query_id, ", ".join(people)) for query_id, people in project.assigned.items()]


@command(project)
def copy(name: str, project: str, new: str, *, author: str | None = None) -> None:
    """Copy settings, queries and pool of PROJECT on corpus NAME to project NEW."""
    annotation = open_explorer().annotation
    opened = annotation.project(name, project)
    _show_project(annotation.copy(opened, new, author_or_own(author)))


@command(project)
def rename(name: str, project: str, new: str, *, author: str | None = None) -> None:
    """Rename PROJECT on corpus NAME to NEW; links and evaluations follow."""
    annotation = open_explorer().annotation
    opened = annotation.project(name, project)
    _show_project(annotation.rename(opened, new, author_or_own(author)))


@command(project)
def delete(name: str, project: str, *, author: str | None = None) -> None:
    """Delete PROJECT on corpus NAME; `seedlens project restore` brings it back."""
    annotation = open_explorer().annotation
    gone = annotation.project(name, project)
    annotation.delete(gone, author_or_own(author))
    show({"deleted": gone.name}, f"Deleted: {gone.name}. Its judgments are kept.")


@command(project)
def restore(
    name: str, project: str, *, new_name: str | None = None, author: str | None = None
) -> None:
    """Bring the PROJECT on corpus NAME back that was deleted last.

    Options:
        new_name TEXT: Another name for it, as where a new project has its own.
    """
    annotation = open_explorer().annotation
    gone = next((one for one in annotation.deleted(name) if one.name == project), None)
    if gone is None:
        raise UnknownNameError(f"Corpus '{name}' has no deleted project '{project}'.")
    _show_project(annotation.restore(gone, author_or_own(author), new_name or ""))


def _show_project(project: Project) -> None:
    show(project, _project_line(project))


def _changed(project: Project, settings: dict[str, Any]) -> Project:
    """A project with the settings that were given."""
    from engine.collections.judgment_formats import text_of

    changes = dict(settings)
    changes |= {key: () for key in ("annotators", "leads") if changes.get(key) == ("",)}
    if "guidelines" in changes:
        guidelines = dict(project.guidelines)
        for text in changes["guidelines"]:
            aspect, sign, file = text.partition("=")
            if not sign or Path(text).is_file():
                aspect, file = "", text
            guidelines[aspect] = text_of(Path(file))
        changes["guidelines"] = guidelines
    if "scale" in changes:
        name = changes["scale"]
        changes["scale"] = SCALES[name] if name in SCALES else _scale(Path(name))
    return replace(project, **changes)


def _scale(path: Path) -> Scale:
    """The scale of a JSON file."""
    from engine.collections.judgment_formats import text_of

    try:
        rows = _GRADES.validate_json(text_of(path))
    except ValidationError as error:
        raise BadInputError(
            f"{path} cannot be read as a scale: {error.errors()[0]['msg']}.",
            f'Use {", ".join(SCALES)}, or write [[0, "No", "meaning"], [1, "Yes", ""]].',
        ) from error
    return Scale(path.stem, tuple(GradeMeaning(*row) for row in rows))


@command(project, "show")
def show_project(name: str, project: str = "", *, recall: bool = False) -> None:
    """Show settings and progress of PROJECT on corpus NAME (or of the corpus's own).

    Options:
        recall: Estimate how many relevant documents of each pool are found.
    """
    annotation = open_explorer().annotation
    opened = annotation.project(name, project)
    judgments = annotation.judgments(opened)
    models = annotation.grading.models(opened)
    people = sorted({*opened.annotators, *(j.annotator for j in judgments)} - {*models})
    progress = {who: annotation.queue(opened, who).progress() for who in people}
    by_models = {who: sum(j.annotator == who for j in judgments) for who in models}
    queries, items = len(annotation.queries(opened)), len(annotation.pool(opened))
    state = {"queries": queries, "items": items, "judgments": len(judgments)}
    rows = [(who, f"{done.done:,} of {done.total:,} items") for who, done in progress.items()]
    rows += [(who, f"{number:,} items (a language model)") for who, number in by_models.items()]
    counts = (counted(queries, "query", "queries"), counted(items, "item"))
    estimates = annotation.recall(opened) if recall else {}
    found = [
        (query_id or "all", f"{one.found:,} of {one.total:.0f}", f"({one.low:,} to {one.high:,})")
        for query_id, one in estimates.items()
    ]
    fields = {**asdict(opened), **state, "by_models": by_models, "progress": progress}
    show(
        {**fields, **({"recall": estimates} if recall else {})},
        _project_line(opened),
        ", ".join([*counts, counted(len(judgments), "judgment")]),
        table(("", ""), rows),
        table(("assigned", ""), _assigned(opened)),
        table(("query", "relevant found", "95 % interval"), found),
    )


@command(project, "list")
def list_(name: str | None = None) -> None:
    """List the projects, of corpus NAME or of all."""
    explorer = open_explorer()
    projects = explorer.annotation.projects(name)
    if name is not None and not projects:
        explorer.library.corpus(name)  # refuses an unknown one
    none = [] if projects else ["No project yet. Try: seedlens project create NAME PROJECT"]
    show(projects, *map(_project_line, projects), hints=none)


def _project_line(project: Project) -> str:
    who = ", ".join(project.annotators) or "everybody"
    grades = ", ".join(f"{g.value} {g.name}" for g in project.scale.grades)
    return (
        f"{project.corpus}/{project.name or '(own)'}: {grades}; judged by {who}, "
        f"{project.per_item} per item, {project.order}{', blind' if project.blind else ''}"
        f"{', grades by models count where no person graded' if project.model_grades else ''}"
        f"{f', first {project.first} for everybody' if project.first else ''}"
    )


# -- judgments in files ---------------------------------------------------------------------------


@click.group()
def qrels() -> None:
    """Export and import judgments."""


@command(qrels, "export")
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
    dry_run: bool = False,
) -> None:
    """Write the judgments of a project on corpus NAME.

    Query ids are <seed>_<aspect>. CSV and JSONL with --per-annotator have every field and can be
    imported. Grades that people gave to check a model are left out.

    Options:
        kind --format: hand-over: everything of one annotator, with undos, queries and settings.
        per_annotator: Each annotator's grades instead of the adjudicated ones.
        annotator WHO: Only this annotator's.
        median: Undecided items count with their median grade; otherwise they are left out.
        spreadsheet: With csv: no text is a formula. Not to be imported again.
        out PATH: A file or folder. Default: stdout, for a single file.
        dry_run: Write nothing; show what would be written.
    """
    if out is None and wants_json() and not dry_run:
        raise BadInputError("--json describes written files.", "Give --out PATH as well.")
    if spreadsheet and kind != "csv":
        raise BadInputError("--spreadsheet is for CSV.", "Add --format csv.")
    annotation = open_explorer().annotation
    opened = annotation.project(name, project)
    whose: Any = {"per_annotator": per_annotator, "annotator": annotator, "median": median}
    exported = annotation.exchange.export(
        opened, kind, **whose, spreadsheet=spreadsheet, audit=include_audit
    )
    if dry_run:
        report = {"files": [*exported.files], "judgments": exported.judgments}
        report |= {"notes": exported.notes, "counts": exported.counts}
        show(report, f"Would write {exported.counts}: {', '.join(exported.files)}")
    elif out is None:
        if len(exported.files) != 1:
            many = f"This export has {len(exported.files)} files."
            raise BadInputError(many, "Give a folder with --out DIR.")
        # Whole before it is printed: half an export on stdout would look like all of it.
        click.echo("".join(next(iter(exported.files.values()))), nl=False)
    else:
        files = [*map(str, exported.write(out))]
        report = {"files": files, "judgments": exported.judgments, "notes": exported.notes}
        show(report, f"{exported.judgments:,} judgments written: {', '.join(files)}")
    say(exported.notes)


@command(qrels, "import")
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
    dry_run: bool = False,
) -> None:
    """Import judgments from PATH into a project on corpus NAME.

    A corpus that came from CSFCube needs no PATH: grades of all annotators are imported, and the
    adjudicated ones as decisions. The last judgment of an annotator and item counts. Importing
    twice changes nothing; a broken line refuses the whole file.

    Options:
        project P: Default: the corpus's own, or that of a hand-over.
        kind --format: How the file is written.
        annotator WHO: Whose judgments, for TREC and BEIR; for CSFCube, who adjudicated.
        adjudicated: They are decisions between annotators.
        by_model: They are grades of the language model WHO.
        overwrite: Where the file and the project differ, the file counts.
        dry_run: Import nothing; show what would be imported, and conflicts.
    """
    whose: Any = {"annotator": annotator, "adjudicated": adjudicated, "by_model": by_model}
    imported = open_explorer().annotation.exchange.import_(
        name, path, project, kind, **whose, overwrite=overwrite, dry_run=dry_run
    )
    line = f"{imported.added:,} judgments added; {imported.known:,} were there already."
    if dry_run:
        line = f"{imported.counts}. Nothing imported: {imported.added:,} would be added; "
        line += f"{imported.known:,} are there already."
    show(imported, line)
    say((*imported.conflicts, *imported.warnings), "Warning")


# -- agreement, and a model that grades ------------------------------------------------------------

HUMAN_MEASURES = (NDCG, "p-MRR")
LISTED = 20  # differences that are listed in words; --json has them all


@command()
def agreement(
    name: str, *, project: str = "", disagreements: bool = False, include_audit: bool = False
) -> None:
    """Measure how far the annotators of a project on corpus NAME agree.

    Raw agreement, Fleiss' kappa and Krippendorff's alpha over all annotators and by aspect;
    Cohen's kappas and a confusion matrix for every pair. Language models are compared with people
    in pairs only. Intervals are bootstraps of 95 % over items. The measures of each annotator's
    grades as a ranking, against decisions made without them, bound what a system can reach.

    Options:
        disagreements: List what is to be adjudicated, widest spread first.
    """
    explorer = open_explorer()
    annotation = explorer.annotation
    opened = annotation.project(name, project)
    if disagreements:
        _show_disagreements(annotation, opened)
        return
    result = annotation.agreement(opened, audit=include_audit)
    rows, first = explorer.human_rows(opened), annotation.progress(opened).first
    pairs = [
        {
            "annotators": pair,
            "with_model": result.with_model(pair),
            "measures": _as_json(measures),
            "confusion": result.confusion[pair],
        }
        for pair, measures in result.pairs.items()
    ]
    report = {
        **{name: getattr(result, name) for name in ("annotators", "grades", "models", "notes")},
        **_all_and_by_aspect(result),
        "pairs": pairs,
        "human": {who: dict(scores.metrics) for who, scores in rows.items()},
        **({"first": first} if first else {}),
    }
    show(report, str(first or ""), *_agreement_lines(result, rows))
    say(result.notes)


def _as_json(measures: Sequence[AgreementMeasure]) -> dict[str, Any]:
    return {m.name: {"value": m.value, "interval": m.interval, "items": m.items} for m in measures}


def _all_and_by_aspect(found: Agreement | ModelCheck) -> dict[str, Any]:
    by_aspect = {aspect or "any": _as_json(own) for aspect, own in found.by_aspect.items()}
    return {"measures": _as_json(found.measures), "by_aspect": by_aspect}


def _agreement_lines(result: Agreement, human: Mapping[str, SystemScores]) -> Iterator[str]:
    by_aspect = {aspect or "any": measures for aspect, measures in result.by_aspect.items()}
    people, models = (
        {
            " and ".join(pair): m
            for pair, m in result.pairs.items()
            if result.with_model(pair) == has
        }
        for has in (False, True)
    )
    yield measures_table({"all": result.measures, **by_aspect, **people})
    if models:
        yield f"\nAgainst language models\n{measures_table(models)}"
    for (one, other), counts in result.confusion.items():
        yield f"\nrows: {one}, columns: {other}\n{confusion_table(result.grades, counts)}"
    if human:
        yield "\nLeave-one-out: an annotator's grades as a ranking, against others' decisions"
        values = [
            (who, *(scores.metrics[m] for m in HUMAN_MEASURES), len(scores.per_query))
            for who, scores in human.items()
        ]
        yield table(("", *HUMAN_MEASURES, "queries"), values)


def measures_table(groups: Mapping[str, Sequence[AgreementMeasure]]) -> str:
    """A row per group and measure, with its interval and number of items."""
    undefined, none = Figure("undefined"), Figure("")
    rows = [
        (name, m.title, undefined if m.value is None else m.value, m.interval or none, m.items)
        for name, measures in groups.items()
        for m in measures
    ]
    return table(("", "", "", "95 %", "items"), rows)


def confusion_table(grades: Sequence[int], counts: Sequence[Sequence[int]]) -> str:
    """A matrix of counts, with grades in its head and first column."""
    rows = [(grade, *row) for grade, row in zip(grades, counts, strict=True)]
    return table(("", *map(str, grades)), rows)


def _show_disagreements(annotation: Annotation, project: Project) -> None:
    report, rows = [], []
    for one in annotation.disagreements(project):
        said = {j.annotator: j.verdict if j.relevance is None else j.relevance for j in one.said}
        decided = None if one.decided is None else one.decided.relevance
        item = {"query_id": one.query_id, "doc_id": one.doc_id}
        report.append({**item, "spread": one.spread, "said": said, "decided": decided})
        grades = ", ".join(f"{who} {grade}" for who, grade in said.items())
        rows.append((*item.values(), grades, "" if decided is None else f"-> {decided}"))
    show_rows(report, ("", "", "", ""), rows, "Nothing to adjudicate.")


# -- a model that grades ---------------------------------------------------------------------------


@command()
def grade(
    name: str,
    *,
    project: str = "",
    query_ids: Sequence[str] = (),
    anchors: int = ANCHORS,
    limit: PositiveInt | None = None,
    judged: bool = False,
    again: bool = False,
    only_estimate: bool = False,
    check: bool = False,
    run: ModelRun,
) -> None:
    """Let the language model grade the pool of a project on corpus NAME.

    It reads the query, the guidelines, documents known to be relevant, and one candidate at a
    time. Its grades are stored under model:<name>; people's are kept, and count alone unless the
    project takes its grades (seedlens project change --model-grades). The same command resumes a
    run that was stopped.

    Options:
        query_ids --query QID: Only this query. Repeatable.
        anchors N: Most known relevant documents beside each candidate.
        limit N: Grade at most N candidates; the next run goes on from there.
        judged: Also candidates that people graded, to compare the model.
        again: Also candidates that this model graded before.
        check: Grade nothing; measure how far people agree with the model.
    """
    if not project:
        raise BadInputError("Judgments of Explore have no pool.", "Name a project with --project.")
    from engine.annotate.projects import model_annotator

    explorer = open_explorer()
    opened, grading = explorer.annotation.project(name, project), explorer.annotation.grading
    if check:
        found = grading.check(opened)
        say(found.notes)
        checked = {**asdict(found), **_all_and_by_aspect(found)}
        del checked["notes"]
        show(checked, *_check_lines(found))
        return
    request = GradingRequest(opened, tuple(query_ids), anchors, again, limit, judged)
    settings = {f.name: getattr(request, f.name) for f in fields(request) if f.name != "project"}

    def announced(estimate: Estimate) -> dict[str, Any]:
        model = explorer.verifier.endpoint().model
        about = {"request": settings, "annotator": model and model_annotator(model)}
        return {**about, "candidates": estimate.items, **task_fields(estimate)}

    estimate, report = run_task(
        *(grading, request, _to_grade, run),
        unit="candidates",
        announced=announced if only_estimate else None,
    )
    done = {"request": settings, **task_fields(report)}
    end_run(announced(estimate), done, report, report_line(report))


def _to_grade(estimate: Estimate) -> str:
    """What is to be done."""
    counts = estimate.counts
    text = f"{estimate.items:,} candidates of {counted(counts['queries'], 'query', 'queries')}"
    done = f"; {counts['done']:,} have this model's grade already" if counts["done"] else ""
    left = f"; {counts['judged']:,} left out, as people graded them" if counts["judged"] else ""
    return f"{text}{done}{left}."


def report_line(report: TaskReport[GradeCounts]) -> str:
    """What a run did, in a sentence or two."""
    made = report.result
    each = ", ".join(f"{number:,} x {value}" for value, number in made.grades.items() if number)
    graded = f"{made.annotator}: {made.graded:,} candidates graded{f' ({each})' if each else ''}"
    changed = (made.changed, "graded otherwise than before")
    return outcome(graded, report, changed, unit="candidates")


def _check_lines(found: ModelCheck) -> Iterator[str]:
    if not found.annotator:
        yield "No model has graded anything in this project."
        return
    both = f"people graded {found.items:,} of them"
    yield f"{found.annotator} graded {found.graded:,} items; {both}."
    if not found.items:
        return
    by_aspect = {aspect or "any": measures for aspect, measures in found.by_aspect.items()}
    yield measures_table({"all": found.measures, **(by_aspect if len(by_aspect) > 1 else {})})
    yield f"rows: people, columns: the model\n{confusion_table(found.grades, found.confusion)}"
    for one in found.differences[:LISTED]:
        grades = [f"{who} {grade}" for who, grade in one.said.items()]
        grades += [f"decided by {one.decided_by}: {one.people}"] * bool(one.decided_by)
        said = ", ".join([*grades, f"model {one.model}: {one.reason}"])
        yield f"{one.query_id}  {one.doc_id}  {said}"
    if (more := len(found.differences) - LISTED) > 0:
        yield f"And {more:,} more differences; --json has them all."
