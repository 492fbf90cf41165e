"""Judgments of a project going out as files, and coming in with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path

from engine.annotate import exporting, judgment_files
from engine.annotate.adjudication import DecidedQrels, decide
from engine.annotate.intake import Incoming, Intake, Merged, check_no_model, merge, named_here
from engine.annotate.projects import (
    ProjectStore,
    check_annotator,
    check_project,
    model_annotator,
    own_name,
    project_from_settings,
)
from engine.collections.judgment_formats import text_of
from engine.collections.readers import read_collection
from engine.corpora.library import Library
from engine.errors import BadInputError, UnknownNameError
from engine.permissions import all_for_leads
from engine.types.annotating import (
    JUDGMENT_FORMATS,
    MODEL_PREFIX,
    ImportedJudgments,
    Origin,
    Project,
)
from engine.types.people import ForPerson
from engine.types.searches import Query
from storage.ledger import Ledger
from storage.records import Judgment

IMPORTED = ("auto", "csfcube", *JUDGMENT_FORMATS)


@all_for_leads
class Exchange(ForPerson):
    """Exports and imports over one home."""

    def __init__(self, projects: ProjectStore, ledger: Ledger, library: Library) -> None:
        self._projects, self._ledger, self._library = projects, ledger, library

    # -- out -------------------------------------------------------------------------------

    def export(
        self,
        project: Project,
        kind: str = "trec",
        *,
        per_annotator: bool = False,
        annotator: str = "",
        median: bool = False,
        spreadsheet: bool = False,
    ) -> exporting.Exported:
        """The judgments of a project as files; see :func:`exporting.write_files`.

        Args:
            kind: one of :data:`JUDGMENT_FORMATS`.
            per_annotator: each one's own grades, not the adjudicated ones.
            annotator: only this one's, and everything they did in a ``hand-over``.
            median: undecided items get the median grade; they are left out otherwise.
            spreadsheet: no text of a ``csv`` is a formula to a spreadsheet program, which marks
                such texts with an apostrophe: to be read, not to be imported again.
        """
        if kind not in JUDGMENT_FORMATS:
            raise UnknownNameError(
                f"There is no format '{kind}'.", f"Use {', '.join(JUDGMENT_FORMATS)}."
            )
        queries = self._projects.queries(project, retired=True)
        corpus = self._library.open(project.corpus)
        name = project.name or project.corpus
        if kind == "hand-over":
            return self._hand_over(project, annotator, queries)
        if per_annotator or annotator:
            judgments = self._standing(project, annotator)
            exported = exporting.own_files(
                kind, name, judgments, queries, corpus, spreadsheet=spreadsheet
            )
        else:
            decided = self.qrels(project, median=median)
            exported = exporting.decided_files(
                kind, name, decided, queries, corpus, spreadsheet=spreadsheet
            )
        if not exported.judgments:
            raise BadInputError(
                f"Project '{name}' has no grades to export.",
                " ".join(exported.notes) or "Judge first.",
            )
        lowest = min(project.scale.values)
        if lowest and kind in ("trec", "beir"):
            note = (
                f"The lowest grade of the scale is {lowest}: to programs that take grades from 1 "
                "on for relevant, all of these are."
            )
            return replace(exported, notes=(*exported.notes, note))
        return exported

    def qrels(self, project: Project, *, median: bool = False) -> DecidedQrels:
        """The adjudicated grades of what is asked, in the project's scale; see :func:`decide`."""
        return decide(
            self._projects.judgments(project),
            median=median,
            model_grades=project.model_grades,
            retired=self._projects.retired(project),
            scale=project.scale,
        )

    def _hand_over(
        self, project: Project, annotator: str, queries: Mapping[str, Query]
    ) -> exporting.Exported:
        who = check_annotator(annotator, "model")  # models' names, too
        history = self._projects.history(project)
        events = [row for row in history if row.annotator == who]
        if not events:
            raise UnknownNameError(*_nobody(project, who, {row.annotator for row in history}))
        lines = exporting.hand_over(project, who, events, queries)
        plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in who)
        name = f"{project.name or project.corpus}.{plain}.jsonl"
        return exporting.Exported({name: lines}, len(events))

    def _standing(self, project: Project, annotator: str) -> list[Judgment]:
        rows = self._projects.judgments(project)
        if not annotator:
            return rows
        own = [row for row in rows if row.annotator == annotator.strip()]
        if not own:
            raise UnknownNameError(*_nobody(project, annotator, {row.annotator for row in rows}))
        return own

    # -- in --------------------------------------------------------------------------------

    def import_(
        self,
        corpus: str,
        source: Path | None,
        project: str | None = None,
        kind: str = "auto",
        *,
        annotator: str = "",
        adjudicated: bool = False,
        by_model: bool = False,
        overwrite: bool = False,
    ) -> ImportedJudgments:
        """Take in judgments, all of them or, when a line is broken, none.

        Events that are stored already are skipped, and so is a judgment without an event that
        says what stands: the same file twice changes nothing. What somebody said here and the
        file says otherwise stays as it is, unless ``overwrite``, and is reported. A hand-over's
        events are taken as they were, whatever scale and people the project has today.

        Args:
            source: a file, or a CSFCube or BEIR folder; None for what the corpus came from.
            project: None for the corpus's own, or the one that a hand-over is from, which is
                made when it is not there.
            kind: one of :data:`IMPORTED`.
            annotator: whose judgments they are, where the file does not say; needed for TREC
                and BEIR. For CSFCube who adjudicated.
            adjudicated: they are decisions, not the annotator's own grades.
            by_model: all of them are a language model's, whose name the annotator's is; they
                are so, too, where that begins with ``model:``.
        """
        if source is not None:
            source = self._library.importable(source)
        path, kind = self._source(corpus, source, kind)
        if by_model:
            annotator = _model(kind, annotator, adjudicated=adjudicated)
        target, is_new = self._target(corpus, path, project, kind)
        given = "" if kind == "hand-over" else annotator
        intake = self._intake(path, target, given, by_model=by_model)
        self._read(kind, path, intake, annotator, adjudicated=adjudicated)
        incoming = intake.finished()
        if is_new:
            self._projects.put(target, incoming[0].judgment.annotator)
        if intake.new_queries:
            self._projects.add_queries(target, intake.new_queries)
        added, merged = self._merged(incoming, target, overwrite=overwrite)
        return ImportedJudgments(added, merged.known, merged.conflicts, tuple(intake.warnings))

    def _intake(self, path: Path, target: Project, annotator: str, *, by_model: bool) -> Intake:
        """What takes in a file's lines, knowing what stands here; nobody has a model's name."""
        stored = {r.event: r for r in self._projects.history(target)}
        queries = self._projects.queries(target, retired=True)
        models = frozenset(own_name(r.annotator) for r in stored.values() if r.origin == "model")
        if by_model:
            _check_no_person(annotator, target, stored.values())
        elif annotator:
            check_no_model(annotator, models)
        model = annotator if by_model else ""
        opened = self._library.open(target.corpus)
        return Intake(path.name, target, opened, queries, stored, models=models, model=model)

    def _read(
        self, kind: str, path: Path, intake: Intake, annotator: str, *, adjudicated: bool
    ) -> None:
        origin: Origin = "adjudication" if adjudicated else "import"
        if kind == "csfcube":
            collection = read_collection(path)
            judgment_files.read_graded(collection, intake, annotator or collection.name)
        elif kind == "hand-over":
            judgment_files.read_hand_over(text_of(path), intake)
        elif kind in ("csv", "jsonl"):
            read = judgment_files.read_csv if kind == "csv" else judgment_files.read_jsonl
            read(text_of(path), intake, annotator, origin if adjudicated else None)
        else:
            who = check_annotator(annotator, "model")
            if kind == "beir":
                judgment_files.read_beir(path, intake, who, origin, self._library.importable)
            else:
                judgment_files.read_trec(text_of(path), intake, who, origin)

    def _merged(
        self, incoming: Sequence[Incoming], target: Project, *, overwrite: bool
    ) -> tuple[int, Merged]:
        """Add what of a file is new here; how many that were, and what it says otherwise.

        Others wait meanwhile, some 3 s for 100,000 judgments.
        """
        outcome = Merged((), 0)

        def merged(
            history: Sequence[Judgment], latest: Sequence[Judgment], elsewhere: Set[str]
        ) -> Sequence[Judgment]:
            nonlocal outcome
            stored = {row.event: row for row in history}
            named = named_here(incoming, target, elsewhere)
            outcome = merge(named, stored, latest, overwrite=overwrite)
            return outcome.rows

        events = [i.judgment.event for i in incoming]
        added = self._ledger.judging.change(*target.key, events, merged)
        return added, outcome

    def _source(self, corpus: str, source: Path | None, kind: str) -> tuple[Path, str]:
        """The file or folder to be read, and its format; raises as :meth:`import_`."""
        if kind not in IMPORTED:
            raise UnknownNameError(f"There is no format '{kind}'.", f"Use {', '.join(IMPORTED)}.")
        path = source or Path(self._library.corpus(corpus).source)
        if not path.exists():
            raise BadInputError(f"{path} does not exist.", "Give the path of a file or folder.")
        kind = judgment_files.detect(path) if kind == "auto" else kind
        if source is None and kind != "csfcube":
            raise BadInputError(
                f"The corpus '{corpus}' did not come from CSFCube.", "Give the path of a file."
            )
        return path, kind

    def _target(self, corpus: str, path: Path, name: str | None, kind: str) -> tuple[Project, bool]:
        """The project, and whether it is still to be made."""
        self._library.corpus(corpus)
        about = judgment_files.header(text_of(path)) if kind == "hand-over" else None
        if kind == "hand-over" and about is None:
            raise BadInputError(f"{path.name} is no hand-over.", "Leave the format to SeedLens.")
        names = {"", *(p.name for p in self._projects.projects(corpus))}
        if about is None:
            return self._projects.project(corpus, name or ""), False
        try:
            settings = replace(project_from_settings(about["project"]), corpus=corpus)
            settings = check_project(settings if name is None else replace(settings, name=name))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInputError(
                f"{path.name}, line 1: the project cannot be read ({error}).", "Export it again."
            ) from error
        if settings.name in names:
            return self._projects.project(corpus, settings.name), False
        return settings, True


def _model(kind: str, annotator: str, *, adjudicated: bool) -> str:
    """The name by which a file of a model's grades comes in."""
    if kind in ("hand-over", "csfcube"):
        raise BadInputError(f"A {kind} says itself whose grades it has.", "Import it as it is.")
    if adjudicated:
        raise BadInputError("A model decides nothing between annotators.", "Import its grades.")
    if not annotator.strip():
        raise BadInputError("Nobody said which model gave these grades.", "Name it.")
    return model_annotator(annotator)


def _check_no_person(model: str, project: Project, stored: Iterable[Judgment]) -> None:
    """What a model says by a person's name would count as that person's."""
    people = {*project.annotators, *project.leads}
    people.update(row.annotator for row in stored if row.origin != "model")
    if own_name(model) in map(own_name, people):
        raise BadInputError(
            f"'{model.removeprefix(MODEL_PREFIX)}' is a person in this project.",
            "Give the model's own name.",
        )


def _nobody(project: Project, annotator: str, names: set[str]) -> tuple[str, str]:
    known = f"Those who did are {', '.join(sorted(names))}." if names else "Nobody did yet."
    where = project.name or project.corpus
    return f"'{annotator}' has judged nothing in project '{where}'.", known
