"""Judgments of a project as files, out and in: TREC and BEIR, CSV and JSONL, and hand-overs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.annotate.adjudication import DecidedQrels, Decision, decide, own_grades
from engine.annotate.judgment_import import (
    DECISIONS,
    FIELDS,
    HAND_OVER,
    Compared,
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
from engine.types.documents import Document
from engine.types.limits import EXPORT_BYTES, MEGABYTE
from engine.types.people import ForPerson
from engine.types.searches import Query
from storage.files import write_whole
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
        queries = self._projects.queries(project, retired=True)
        corpus = self._library.open(project.corpus)
        name = project.name or project.corpus
        if kind == "hand-over":
            return self._hand_over(project, annotator, queries)
        if per_annotator or annotator:
            rows = self._standing(project, annotator, audit=audit)
            exported = own_files(kind, name, rows, queries, corpus, spreadsheet=spreadsheet)
        else:
            decided = self.qrels(project, median=median, audit=audit)
            exported = decided_files(kind, name, decided, queries, corpus, spreadsheet=spreadsheet)
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
        """The adjudicated grades of what is asked, in the project's scale; see :func:`decide`."""
        return decide(
            self._projects.judgments(project),
            median=median,
            model_grades=project.model_grades,
            audit=audit,
            retired=self._projects.retired(project),
            scale=project.scale,
        )

    def _hand_over(
        self, project: Project, annotator: str, queries: Mapping[str, Query]
    ) -> Exported:
        who = check_annotator(annotator, "model")  # models' names, too
        history = self._projects.history(project)
        events = [row for row in history if row.annotator == who]
        if not events:
            raise UnknownNameError(*_nobody(project, who, {row.annotator for row in history}))
        plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in who)
        name = f"{project.name or project.corpus}.{plain}.jsonl"
        return Exported({name: _hand_over_lines(project, who, events, queries)}, len(events))

    def _standing(self, project: Project, annotator: str, *, audit: bool) -> list[Judgment]:
        rows = [j for j in self._projects.judgments(project) if audit or j.origin != "audit"]
        own = [row for row in rows if annotator.strip() in ("", row.annotator)]
        if annotator and not own:
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
        """Import the last judgment of each annotator and item, or none where a line is broken.

        Stored judgments are skipped; conflicting ones stay, unless ``overwrite``, and are reported.

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
        if is_new:
            self._projects.put(target, incoming.annotator)
        if incoming.new_queries:
            self._projects.add_queries(target, incoming.new_queries)
        added, compared = self._add(incoming, target, overwrite=overwrite)
        return ImportedJudgments(
            added, compared.known, tuple(compared.conflicts), incoming.warnings
        )

    def _add(
        self, incoming: JudgmentImport, target: Project, *, overwrite: bool
    ) -> tuple[int, Compared]:
        """Add what is new; returns the number of added judgments and the comparison."""
        compared = Compared()

        def change(
            history: Sequence[Judgment], latest: Sequence[Judgment], elsewhere: Set[str]
        ) -> Sequence[Judgment]:
            nonlocal compared
            compared = incoming.compared(history, latest, elsewhere, overwrite=overwrite)
            return compared.rows

        return self._ledger.judging.change(*target.key, incoming.events, change), compared

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


def _nobody(project: Project, annotator: str, names: set[str]) -> tuple[str, str]:
    known = f"Those who did are {', '.join(sorted(names))}." if names else "Nobody did yet."
    where = project.name or project.corpus
    return f"'{annotator}' has judged nothing in project '{where}'.", known


# -- adjudicated grades ------------------------------------------------------------------------


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
    count = sum(map(len, decided.grades.values()))
    rows = [_decided_fields(d) for d in decided.decisions if d.relevance is not None]
    grades = {"": decided.grades}
    files = _files(kind, name, rows, DECIDED_FIELDS, grades, queries, corpus, spreadsheet)
    if kind == "beir":  # whose grades they are, which its tables do not say
        files[DECISIONS] = json_lines(rows)
    notes = (*decided.notes, *_without_text(kind, decided.grades, queries, corpus))
    return Exported(files, count, notes)


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


# -- each annotator's grades -------------------------------------------------------------------


def own_files(
    kind: str,
    name: str,
    judgments: Sequence[Judgment],
    queries: Mapping[str, Query],
    corpus: OpenCorpus,
    *,
    spreadsheet: bool = False,
) -> Exported:
    """Current judgments per annotator, models included: a file each in TREC and BEIR, else one for
    all.

    CSV and JSONL have every field and adjudication, and can be imported again.
    """
    own = own_grades(judgments, models=True)
    rows = [to_fields(judgment) for judgment in judgments]
    files = _files(kind, name, rows, FIELDS, own, queries, corpus, spreadsheet)
    models = sorted({j.annotator for j in judgments if j.origin == "model"})
    by_models = sum(j.origin == "model" and j.relevance is not None for j in judgments)
    notes = [f"{by_models:,} grades are a model's ({', '.join(models)})."] if by_models else []
    if kind in ("csv", "jsonl"):
        return Exported(files, len(rows), tuple(notes))
    left = sum(j.verdict in ("skip", "unsure") for j in judgments)
    if left:
        notes.append(f"{left:,} skips and unsure verdicts have no place in this format.")
    notes += _without_text(kind, chain.from_iterable(own.values()), queries, corpus)
    count = sum(len(grades) for qrels in own.values() for grades in qrels.values())
    return Exported(files, count, tuple(notes))


def _files(
    kind: str,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    grades: Mapping[str, Mapping[str, Mapping[str, int]]],
    queries: Mapping[str, Query],
    corpus: OpenCorpus,
    spreadsheet: bool,
) -> dict[str, Iterable[str]]:
    """One table of rows, or ``grades`` by annotator ("": adjudicated) as TREC files or BEIR."""
    if kind == "jsonl":
        return {f"{name}.jsonl": json_lines(rows)}
    if kind == "csv":
        return {f"{name}.csv": csv_lines(rows, columns, spreadsheet=spreadsheet)}
    names = _file_names(filter(None, grades))
    if kind == "trec":
        return {
            f"{name}.{names[who]}.qrels" if who else f"{name}.qrels": trec_lines(qrels)
            for who, qrels in grades.items()
        }
    asked = dict.fromkeys(query_id for qrels in grades.values() for query_id in qrels)
    tables = {f"qrels/{names.get(who, 'test')}.tsv": beir_lines(q) for who, q in grades.items()}
    documents = ({"_id": d.doc_id, "title": d.title, "text": d.text} for d in _documents(corpus))
    return {
        **tables,
        "queries.jsonl": json_lines(_beir_query(i, queries.get(i), corpus) for i in asked),
        "corpus.jsonl": json_lines(documents),
    }


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


def _without_text(
    kind: str, asked: Iterable[str], queries: Mapping[str, Query], corpus: OpenCorpus
) -> tuple[str, ...]:
    """A note on queries whose seed has left the corpus, for formats with query texts."""
    seeds = {i: queries[i].seed for i in asked if i in queries}
    gone = sorted(i for i, seed in seeds.items() if seed is not None and seed not in corpus.row_of)
    if not gone or kind != "beir":
        return ()
    which = counted(len(gone), "query has", "queries have")
    return (
        f"{which} no text, as the seed is not in the corpus '{corpus.name}' any more: "
        f"{', '.join(gone[:MOST_NAMED])}{', ...' * (len(gone) > MOST_NAMED)}.",
    )


def _documents(corpus: OpenCorpus) -> Iterator[Document]:
    for start in range(0, len(corpus), BATCH):
        yield from corpus.documents(corpus.doc_ids[start : start + BATCH])


def _file_names(annotators: Iterable[str]) -> dict[str, str]:
    """annotator -> file name, unique on case-insensitive file systems."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for annotator in annotators:
        plain = re.sub(r"[^\w-]+", "-", annotator).strip("-") or "annotator"
        name, number = plain, 2
        while name.casefold() in taken:
            name, number = f"{plain}-{number}", number + 1
        taken.add(name.casefold())
        names[annotator] = name
    return names


def _hand_over_lines(
    project: Project,
    annotator: str,
    events: Sequence[Judgment],
    queries: Mapping[str, Query],
) -> Iterator[str]:
    """All of one annotator's events, undos included, with settings and queries."""
    asked = {row.query_id for row in events}
    described = {query_id: query for query_id, query in queries.items() if query_id in asked}
    first = {
        "format": HAND_OVER,
        "version": 1,
        "annotator": annotator,
        "corpus": project.corpus,
        "queries": len(described),
        "events": len(events),
        "project": asdict(project),
    }
    yield from json_lines([first])
    for query_id, query in described.items():
        yield from json_lines([{"query_id": query_id, "query": query_to_dict(query)}])
    yield from json_lines(map(to_fields, events))
