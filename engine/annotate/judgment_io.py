"""Judgments of a project as files, out and in: TREC and BEIR, CSV and JSONL, and hand-overs."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.annotate.adjudication import DecidedQrels, Decision, decide, own_grades
from engine.annotate.judgment_import import (
    DECISIONS,
    FIELDS,
    HAND_OVER,
    JudgmentImport,
    detect,
    header,
    read_file,
    to_fields,
)
from engine.annotate.projects import (
    PROJECTS,
    ProjectStore,
    check_annotator,
    check_project,
    own_name,
)
from engine.collections.judgment_formats import beir_lines, csv_lines, json_lines, text_of
from engine.collections.trec import trec_lines
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError, UnknownNameError
from engine.permissions import all_for_leads
from engine.search.queries import query_to_dict
from engine.text import counted
from engine.types.annotating import (
    ADJUDICATED,
    JUDGMENT_FORMATS,
    ImportedJudgments,
    Judgment,
    Project,
)
from engine.types.evaluations import Qrels
from engine.types.limits import EXPORT_BYTES, MEGABYTE
from engine.types.people import ForPerson
from engine.types.searches import Query
from storage.files import write_whole
from storage.judgment_events import Changed
from storage.ledger import Ledger

DECIDED_FIELDS = (
    *("query_id", "doc_id", "relevance", "annotator", "note", "time"),
    *("basis", "by", "annotators"),
)
"""Columns of adjudicated grades: ``basis`` says what each rests on, ``by`` who decided."""
BATCH = 1000
MOST_NAMED = 5
"""Queries that a note names: as many as one reads."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Files that are not written yet."""

    files: Mapping[str, Iterable[str]]  # relative path -> its text in pieces, to be read once
    judgments: int  # grades in them, skips and unsure verdicts included where the format has them
    notes: tuple[str, ...] = ()  # plain sentences about what is not in them

    def write(self, out: Path) -> tuple[Path, ...]:
        """Write one file as ``out`` (or into that folder), several into it; each file
        atomically."""
        single = len(self.files) == 1 and not out.is_dir()
        written = []
        for name, pieces in self.files.items():
            path = out if single else out / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, pieces)
            except OSError as error:
                raise BadInputError(
                    f"{path} cannot be written: {error.strerror or error}.",
                    "Choose another place with --out.",
                ) from error
            written.append(path)
        return tuple(written)

    def held(self) -> dict[str, bytes]:
        """The files in memory, for a browser; BadInputError as :func:`check_held`."""
        made, size = {}, 0
        for name, pieces in self.files.items():
            out = io.BytesIO()
            for piece in pieces:
                size += out.write(piece.encode())
                check_held(size, "Choose a format without documents, or: seedlens qrels export.")
            made[name] = out.getvalue()
        return made


def check_held(size: int, remedy: str) -> None:
    """Raise BadInputError for files of more than ``EXPORT_BYTES``."""
    if size > EXPORT_BYTES:
        raise BadInputError(f"The files have more than {EXPORT_BYTES // MEGABYTE} MB.", remedy)


@all_for_leads
class JudgmentFiles(ForPerson):
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
        audit: bool = False,
    ) -> Exported:
        """The judgments of a project as files.

        Args:
            kind: one of :data:`JUDGMENT_FORMATS`.
            per_annotator: everybody's own grades, not the adjudicated ones.
            annotator: only theirs; with ``hand-over`` everything they did.
            median: undecided items get the median grade; they are left out otherwise.
            spreadsheet: escape formulas in a ``csv`` with an apostrophe; not for importing again.
            audit: also grades that check a model; a hand-over always has them.
        """
        if kind not in JUDGMENT_FORMATS:
            raise UnknownNameError(
                f"There is no format '{kind}'.", f"Use {', '.join(JUDGMENT_FORMATS)}."
            )
        place = (self._projects.queries(project, retired=True), self._library.open(project.corpus))
        name = project.name or project.corpus
        if kind == "hand-over":
            # models' names, too
            who = check_annotator(annotator, "model")
            events = _of_annotator(project, self._projects.history(project), who)
            lines = _hand_over_lines(project, who, events, place[0])
            return Exported({f"{name}.{_plain(who)}.jsonl": lines}, len(events))
        if per_annotator or annotator:
            judgments = self._projects.judgments(project)
            counting = [j for j in judgments if audit or j.origin != "audit"]
            own = _of_annotator(project, counting, annotator.strip())
            exported = _own_files(kind, name, own, *place, spreadsheet=spreadsheet)
        else:
            decided = self.qrels(project, median=median, audit=audit)
            exported = decided_files(kind, name, decided, *place, spreadsheet=spreadsheet)
        if not exported.judgments:
            raise BadInputError(
                f"Project '{name}' has no grades to export.",
                " ".join(exported.notes) or "Judge first.",
            )
        lowest = min(project.scale.values)
        if not lowest or kind not in ("trec", "beir"):
            return exported
        note = (
            f"The lowest grade of the scale is {lowest}: to programs that take grades from 1 on "
            "for relevant, all of these are."
        )
        return replace(exported, notes=(*exported.notes, note))

    def qrels(self, project: Project, *, median: bool = False, audit: bool = False) -> DecidedQrels:
        """The adjudicated grades of active queries, in the project's scale; see :func:`decide`."""
        return decide(
            self._projects.judgments(project),
            median=median,
            model_grades=project.model_grades,
            audit=audit,
            retired=self._projects.retired(project),
            scale=project.scale,
        )

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
        """Import the last judgment of each annotator and item, or none where a line is broken.

        Stored judgments are skipped; those that differ stay, unless ``overwrite``, and are
        reported.

        Args:
            source: a file, or a CSFCube or BEIR folder; None for what the corpus came from.
            project: None for the corpus's own, or that of a hand-over, created when missing.
            kind: one of :data:`JUDGMENT_FORMATS`, ``csfcube``, or ``auto``.
            annotator: where the file does not say; needed for TREC and BEIR. For CSFCube the
                adjudicator.
            adjudicated: they are decisions, not the annotator's own grades.
            by_model: all are a language model's, as they are for names that begin with ``model:``.
        """
        if source is not None:
            source = self._library.importable(source)
        path, kind = self._source(corpus, source, kind)
        if by_model and adjudicated:
            raise BadInputError("A model decides nothing between annotators.", "Import its grades.")
        if by_model and not annotator.strip():
            raise BadInputError("Nobody said which model gave these grades.", "Name it.")
        target, is_new = self._target(corpus, path, project, kind)
        history = self._projects.history(target)
        incoming = JudgmentImport(
            path.name,
            target,
            self._library.open(target.corpus),
            self._projects.queries(target, retired=True),
            frozenset(own_name(row.annotator) for row in history if row.origin == "model"),
            by_model,
        )
        read_file(
            incoming, kind, path, annotator, self._library.importable, adjudicated=adjudicated
        )
        incoming.check()
        last, judging = incoming.last, self._ledger.judging
        if is_new:
            self._projects.put(target, last[0].annotator)
        if incoming.new_queries:
            self._projects.add_queries(target, incoming.new_queries)
        taken = judging.known(row.event for row in last)
        known, conflicts = 0, tuple[str, ...]()

        def change(stored: Changed) -> Iterable[Judgment]:
            nonlocal known, conflicts
            new, known, conflicts = incoming.compared(stored, taken, overwrite=overwrite)
            return new

        added = judging.change(*target.key, change)
        return ImportedJudgments(added, known, conflicts, incoming.warnings)

    def _source(self, corpus: str, source: Path | None, kind: str) -> tuple[Path, str]:
        """The path to read, and its format."""
        path = source or Path(self._library.corpus(corpus).source)
        if not path.exists():
            raise BadInputError(f"{path} does not exist.", "Give the path of a file or folder.")
        kind = detect(path) if kind == "auto" else kind
        if source is None and kind != "csfcube":
            raise BadInputError(
                f"The corpus '{corpus}' did not come from CSFCube.", "Give the path of a file."
            )
        return path, kind

    def _target(self, corpus: str, path: Path, name: str | None, kind: str) -> tuple[Project, bool]:
        """The project, and whether it is still to be created."""
        self._library.corpus(corpus)
        if kind != "hand-over":
            return self._projects.project(corpus, name or ""), False
        about = header(text_of(path))
        if about is None:
            raise BadInputError(f"{path.name} is no hand-over.", "Leave the format to SeedLens.")
        try:
            settings = replace(PROJECTS.validate_python(about.get("project")), corpus=corpus)
        except ValidationError as error:
            raise BadInputError(
                f"{path.name}, line 1: the project cannot be read.", "Export it again."
            ) from error
        settings = check_project(settings if name is None else replace(settings, name=name))
        if settings.name in {"", *(p.name for p in self._projects.projects(corpus))}:
            return self._projects.project(corpus, settings.name), False
        return settings, True


def _of_annotator(
    project: Project, judgments: Sequence[Judgment], annotator: str
) -> Sequence[Judgment]:
    """The judgments of one annotator, all for ""; UnknownNameError when there are none."""
    own = [row for row in judgments if row.annotator == annotator] if annotator else judgments
    if annotator and not own:
        names = sorted({row.annotator for row in judgments})
        raise UnknownNameError(
            f"'{annotator}' has judged nothing in project '{project.name or project.corpus}'.",
            f"Those who did are {', '.join(names)}." if names else "Nobody did yet.",
        )
    return own


# -- files -------------------------------------------------------------------------------------


def decided_files(
    kind: str,
    name: str,
    decided: DecidedQrels,
    queries: Mapping[str, Query],
    corpus: OpenCorpus,
    *,
    spreadsheet: bool = False,
) -> Exported:
    """The adjudicated grades in one of :data:`JUDGMENT_FORMATS` except the hand-over; ``name`` is
    without an ending."""
    rows = [_decided_fields(d) for d in decided.decisions if d.relevance is not None]
    if kind in ("csv", "jsonl"):
        return _table(kind, name, rows, DECIDED_FIELDS, decided.notes, spreadsheet=spreadsheet)
    exported = _qrels(kind, name, {"": decided.grades}, queries, corpus, decided.notes)
    if kind != "beir":
        return exported
    # Whose grades they are, which its tables do not say.
    return replace(exported, files={**exported.files, DECISIONS: json_lines(rows)})


def _decided_fields(decision: Decision) -> dict[str, Any]:
    decided = decision.decided
    return {
        "query_id": decision.query_id,
        "doc_id": decision.doc_id,
        "relevance": decision.relevance,
        "annotator": ADJUDICATED,
        "note": "" if decided is None else decided.note,
        "time": None if decided is None else decided.time.isoformat(),
        "basis": decision.basis,
        "by": "" if decided is None else decided.annotator,
        "annotators": list(decision.annotators),
    }


def _own_files(
    kind: str,
    name: str,
    judgments: Sequence[Judgment],
    queries: Mapping[str, Query],
    corpus: OpenCorpus,
    *,
    spreadsheet: bool,
) -> Exported:
    """Current judgments per annotator, models included: a file each in TREC and BEIR, else one for
    all with every field and adjudication, which can be imported again."""
    models = sorted({j.annotator for j in judgments if j.origin == "model"})
    by_models = sum(j.origin == "model" and j.relevance is not None for j in judgments)
    notes = [f"{by_models:,} grades are a model's ({', '.join(models)})."] if by_models else []
    if kind in ("csv", "jsonl"):
        rows = [to_fields(judgment) for judgment in judgments]
        return _table(kind, name, rows, FIELDS, notes, spreadsheet=spreadsheet)
    if left := sum(j.verdict in ("skip", "unsure") for j in judgments):
        notes.append(f"{left:,} skips and unsure verdicts have no place in this format.")
    return _qrels(kind, name, own_grades(judgments, models=True), queries, corpus, notes)


def _table(
    kind: str,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    notes: Sequence[str],
    *,
    spreadsheet: bool,
) -> Exported:
    lines = csv_lines(rows, columns, spreadsheet=spreadsheet) if kind == "csv" else json_lines(rows)
    return Exported({f"{name}.{kind}": lines}, len(rows), tuple(notes))


def _qrels(
    kind: str,
    name: str,
    grades: Mapping[str, Qrels],
    queries: Mapping[str, Query],
    corpus: OpenCorpus,
    notes: Sequence[str],
) -> Exported:
    """Grades by annotator ("": adjudicated) as TREC files or a BEIR folder."""
    count = sum(len(of_query) for qrels in grades.values() for of_query in qrels.values())
    names = _file_names(filter(None, grades))
    files: dict[str, Iterable[str]]
    if kind == "trec":
        endings = {who: f".{names[who]}" if who else "" for who in grades}
        files = {f"{name}{endings[who]}.qrels": trec_lines(q) for who, q in grades.items()}
        return Exported(files, count, tuple(notes))
    asked = dict.fromkeys(query_id for qrels in grades.values() for query_id in qrels)
    documents = (
        {"_id": one.doc_id, "title": one.title, "text": one.text}
        for start in range(0, len(corpus), BATCH)
        for one in corpus.documents(corpus.doc_ids[start : start + BATCH])
    )
    files = {
        **{f"qrels/{names.get(who, 'test')}.tsv": beir_lines(q) for who, q in grades.items()},
        "queries.jsonl": json_lines(_beir_query(i, queries.get(i), corpus) for i in asked),
        "corpus.jsonl": json_lines(documents),
    }
    seeds = {query_id: queries[query_id].seed for query_id in asked if query_id in queries}
    gone = sorted(i for i, seed in seeds.items() if seed is not None and seed not in corpus.row_of)
    if gone:
        which = counted(len(gone), "query has", "queries have")
        more = ", ..." * (len(gone) > MOST_NAMED)
        notes = [
            *notes,
            f"{which} no text, as the seed is not in the corpus '{corpus.name}' any more: "
            f"{', '.join(gone[:MOST_NAMED])}{more}.",
        ]
    return Exported(files, count, tuple(notes))


def _beir_query(query_id: str, query: Query | None, corpus: OpenCorpus) -> dict[str, Any]:
    """The query as its seed's text; without text where the seed has left the corpus."""
    if query is None:  # judged while exploring, in words that nobody kept
        return {"_id": query_id, "text": "", "metadata": {}}
    there = query.seed if query.seed in corpus.row_of else None
    seed = None if there is None else corpus.document(there)
    text = query.text or "" if seed is None else f"{seed.title} {seed.text}".strip()
    aspects = {aspect.key: aspect.instruction for aspect in corpus.lens.aspects}
    about = {"seed": query.seed, "aspect": query.aspect, "instruction": query.instruction}
    return {
        "_id": query_id,
        "text": text,
        "instruction": query.instruction or aspects.get(query.aspect or "", ""),
        "metadata": {key: value for key, value in about.items() if value is not None},
    }


def _plain(annotator: str) -> str:
    """The name in letters that file names can have."""
    return re.sub(r"[^\w-]+", "-", annotator).strip("-") or "annotator"


def _file_names(annotators: Iterable[str]) -> dict[str, str]:
    """annotator -> file name, unique on case-insensitive file systems."""
    names: dict[str, str] = {}
    for annotator in annotators:
        taken = {other.casefold() for other in names.values()}
        numbered = (_plain(annotator) + (f"-{n}" if n > 1 else "") for n in itertools.count(1))
        names[annotator] = next(name for name in numbered if name.casefold() not in taken)
    return names


def _hand_over_lines(
    project: Project,
    annotator: str,
    events: Sequence[Judgment],
    queries: Mapping[str, Query],
) -> Iterator[str]:
    """All of one annotator's events, undos included, with settings and queries."""
    asked = {row.query_id for row in events}
    described = [
        {"query_id": query_id, "query": query_to_dict(query)}
        for query_id, query in queries.items()
        if query_id in asked
    ]
    first = {
        "format": HAND_OVER,
        "version": 1,
        "annotator": annotator,
        "corpus": project.corpus,
        "queries": len(described),
        "events": len(events),
        "project": asdict(project),
    }
    return json_lines(itertools.chain([first], described, map(to_fields, events)))
