"""Judgments of a project as files, out and in: TREC and BEIR, CSV and JSONL, and hand-overs."""

from __future__ import annotations

import zipfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    NonNegativeInt,
    ValidationError,
)

from engine.annotate.adjudication import DECIDED_FIELDS, GRADERS, DecidedQrels, decide, own_grades
from engine.annotate.projects import (
    MADE,
    PROJECTS,
    ProjectStore,
    check_annotator,
    check_project,
    checked,
    is_free,
    is_model,
    model_annotator,
    own_name,
    printable,
    read_query_id,
)
from engine.collections.judgment_formats import (
    Exported,
    Rows,
    beir_file,
    beir_lines,
    csv_lines,
    file_names,
    json_lines,
    json_rows,
    judgment_field,
    judgment_rows,
    numbered_lines,
    parse_json,
    plain_name,
    text_of,
)
from engine.collections.readers import read_collection, wording_of
from engine.collections.trec import grade_of, trec_lines
from engine.corpora.library import Library
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError, NotAllowedError, UnknownNameError, check_known
from engine.permissions import all_for_leads
from engine.queries import check_query, query_from_dict, query_to_dict, query_to_json
from engine.text import counted, noted
from engine.types.annotating import (
    ADJUDICATED,
    JUDGMENT_FORMATS,
    ImportedJudgments,
    Judgment,
    JudgmentCounts,
    Origin,
    Project,
    Verdict,
)
from engine.types.evaluations import Qrels
from engine.types.limits import LONGEST_INSTRUCTION
from engine.types.people import ForPerson
from engine.types.searches import Query
from storage.judgment_events import Changed
from storage.ledger import Ledger
from storage.records import new_event

HAND_OVER = "seedlens-judgments"  # what the first line of a hand-over has as its ``format``
DECISIONS = "decisions.jsonl"  # in a BEIR folder of ours: whose grades are in its tables
CSFCUBE_FILES = "test-pid2anns-csfcube-*.json"
MOST_LISTED = 20  # broken lines, or conflicts, that are listed one by one
HIGHEST = 10**9  # of ranks and seconds; far beyond any
Key = tuple[str, str, str, bool]
"""(query_id, doc_id, annotator, False), or (query_id, doc_id, "", True) of a decision, which is the
item's: the last judgment of a key counts."""


# -- one judgment as a line --------------------------------------------------------------------


def _from_json(value: Any) -> Any:
    return parse_json(value) if isinstance(value, str) else value


def _whole(text: str) -> str:
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise ValueError("it holds half a character")
    return text


def _as_grade(value: Any) -> int:
    with suppress(ValueError):
        return grade_of(str(value))
    raise ValueError("it is not a whole number")


Text = Annotated[str, AfterValidator(_whole)]
Clean = Annotated[Text, AfterValidator(printable)]
Span = tuple[NonNegativeInt, NonNegativeInt]


class JudgmentLine(BaseModel, coerce_numbers_to_str=True):
    """A judgment as CSV and JSONL have it; only query_id, doc_id, relevance and an annotator are
    required. The first fields, up to ``event``, are columns in this order; only some files have the
    others: undone events, and of adjudicated grades what each rests on, who decided, who graded."""

    query_id: Text = ""
    doc_id: Text = ""
    relevance: Annotated[int | None, BeforeValidator(_as_grade)] = None
    annotator: Text = ""
    verdict: Verdict | None = None
    note: Text = ""
    marks: Annotated[tuple[Span, ...], BeforeValidator(_from_json)] = ()
    time: datetime = Field(default_factory=lambda: datetime.now(UTC))
    seconds: Annotated[float, Field(ge=0, le=HIGHEST)] | None = None
    origin: Origin = "import"
    rank: Annotated[int, Field(ge=0, le=HIGHEST)] | None = None
    system: Clean = ""
    instruction: Clean = ""
    blind: bool = False
    event: Clean = ""
    undoes: Clean = ""
    basis: str = ""
    by: Text = ""
    annotators: Annotated[list[Text], BeforeValidator(_from_json)] = []


GRADED = ("agreed", "single", "model")  # what our adjudicated grades rest on where nobody decided
_ALL_FIELDS = tuple(JudgmentLine.model_fields)
FIELDS = _ALL_FIELDS[: _ALL_FIELDS.index("event") + 1]  # the columns of a judgment, in their order


def to_fields(judgment: Judgment) -> dict[str, Any]:
    """A judgment as JSON-ready values."""
    fields = {name: getattr(judgment, name) for name in FIELDS}
    fields["marks"] = [list(span) for span in judgment.marks]
    fields["time"] = judgment.time.isoformat()
    return fields | ({"undoes": judgment.undoes} if judgment.undoes else {})


def from_fields(
    fields: Mapping[str, Any], annotator: str = "", *, adjudicated: bool = False
) -> list[Judgment]:
    """The judgments of a row, with any names of :func:`judgment_field`, by ``annotator`` where it
    does not say: one, or the agreeing grades behind one of our adjudicated export. Without
    ``event`` it is an import."""
    given = {judgment_field(name): value for name, value in fields.items()} | {**fields}
    if given.get("basis") not in ("adjudicated", *GRADED):
        given |= {"basis": "", "by": "", "annotators": ""}  # columns of somebody else's
    try:
        line = JudgmentLine.model_validate({k: v for k, v in given.items() if v not in ("", None)})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        value = str(first["input"])[:40].encode("utf-8", "backslashreplace").decode()
        why = first["msg"].removeprefix("Value error, ")
        raise BadInputError(f"The {first['loc'][0]} '{value}' cannot be read: {why}.") from error
    people, origin = [line.annotator], line.origin if line.event else "import"
    if line.basis == "adjudicated" and line.by:
        people, adjudicated = [line.by], True
    elif line.basis in GRADED:
        people, adjudicated = line.annotators or people, False
    verdict = line.verdict or ("grade" if line.relevance is not None else None)
    if verdict is None:
        raise BadInputError("There is no relevance.", "Give a grade, or a verdict like 'skip'.")
    time = line.time if line.time.tzinfo else line.time.replace(tzinfo=UTC)
    read = {
        **{name: getattr(line, name) for name in (*FIELDS, "undoes")},
        "verdict": verdict,
        "origin": "adjudication" if adjudicated else origin,
        "time": time.astimezone(UTC),
    }
    named = (who.strip().casefold() not in ("", ADJUDICATED) for who in people)
    names = [who if ok else annotator or who for who, ok in zip(people, named, strict=True)]
    return [Judgment(**{**read, "annotator": who}) for who in names]


# -- the judgments of a file -------------------------------------------------------------------


@dataclass
class JudgmentImport:
    """The judgments of one file, and everything that is wrong with it."""

    file: str
    project: Project
    corpus: OpenCorpus
    queries: Mapping[str, Query]  # of the project
    systems: Sequence[str]  # names of all that there are
    # bare names of models that grade in the project; refused as names of people
    models: frozenset[str] = frozenset()
    by_model: bool = False  # the whole file is a model's
    # queries that the file describes, by id
    offered: dict[str, Query] = field(default_factory=dict)
    # needed by its judgments and missing in the project
    new_queries: dict[str, Query] = field(default_factory=dict)
    # lines and judgments by what they are about; the last one counts
    rows: dict[Key, list[tuple[int, Judgment]]] = field(default_factory=dict)
    _problems: list[str] = field(default_factory=list)  # of broken lines
    _seeds: list[int] = field(default_factory=list)  # lines that judge the seed of their query
    _changed: list[int] = field(default_factory=list)  # lines that differ from one before

    def read(self, rows: Rows, annotator: str = "", *, adjudicated: bool = False) -> None:
        """Take in the rows of a file, or note what is wrong with them; ``annotator`` and
        ``adjudicated`` hold where a row does not say."""
        for line, fields in rows:
            try:
                if isinstance(fields, str):
                    raise BadInputError(fields)
                for judgment in from_fields(fields, annotator, adjudicated=adjudicated):
                    self._add(line, judgment)
            except BadInputError as error:
                self._problems.append(f"line {line:,}: {error}" if line else str(error))

    def _add(self, line: int, given: Judgment) -> None:
        query = self._query(given)
        judgment = self._checked(given)
        if query is not None and query.seed == given.doc_id:
            self._seeds.append(line)
            return
        is_decision = judgment.origin == "adjudication"
        key = (*judgment.item, "" if is_decision else judgment.annotator, is_decision)
        rows = self.rows.setdefault(key, [])
        if given.verdict == "undo":
            rows[:] = [row for row in rows if row[1].event != given.undoes] or [(line, judgment)]
            return
        before = rows[-1][1] if rows else judgment
        if _grade_of(before) != _grade_of(judgment) and given.event in ("", before.event):
            self._changed.append(line)
        rows.append((line, judgment))

    def check(self) -> None:
        """Raise BadInputError where a line is broken, or there is no judgment."""
        if self._problems:
            count, which = len(self._problems), " ".join(_listed(self._problems))
            raise BadInputError(
                f"{self.file}: {counted(count, 'line is', 'lines are')} broken and nothing was "
                f"imported. {which}",
                "Correct them and import the file again.",
            )
        if not self.rows:
            raise BadInputError(f"{self.file} has no judgments.", "Choose another file.")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about lines that were left out or replaced."""
        seeds = counted(len(self._seeds), "judgment is", "judgments are")
        changed = counted(len(self._changed), "line differs", "lines differ")
        differ = f"{changed} from one before about the same item; the last one counts"
        notes = {
            f"{seeds} of the query's own seed, and left out": self._seeds,
            differ: self._changed,
        }
        return tuple(
            f"{words} (first: line {lines[0]:,})." if lines[0] else f"{words}."
            for words, lines in notes.items()
            if lines
        )

    def compared(
        self, stored: Changed, taken: Container[str], *, overwrite: bool
    ) -> tuple[list[Judgment], int, tuple[str, ...]]:
        """Judgments to add, how many are stored, and conflicts as plain sentences, which are added
        with ``overwrite``. ``taken``: events of the file that are stored in any project."""
        current: dict[Key, Judgment | None] = {}
        for row, judgment in sorted(stored, key=lambda one: one[0].event_id or 0):
            key = (*row.item, "" if row.decided else row.annotator, row.decided)
            current[key] = judgment or (current.get(key) if row.decided else None)
        last = {key: rows[-1] for key, rows in self.rows.items()}

        def is_known(row: Judgment, here: Judgment | None) -> bool:
            """Whether a row equals what is stored; missing notes and marks are ignored."""
            if here is None:
                return row.verdict == "withdrawn"
            is_same = _grade_of(row) == _grade_of(here)
            return is_same and row.note in ("", here.note) and row.marks in ((), here.marks)

        others = {k: row for k, row in last.items() if not is_known(row[1], current.get(k))}
        conflicts = [
            _conflict(*row, current[key], overwrite=overwrite)
            for key, row in others.items()
            if key in current
        ]
        new = [
            _named(j, taken) for key, (_, j) in others.items() if overwrite or key not in current
        ]
        return new, len(last) - len(others), tuple(_listed(conflicts))

    def _query(self, given: Judgment) -> Query | None:
        """The query; None for wordings that were judged while exploring."""
        self._check_document(given.doc_id)
        query_id = given.query_id
        here = self.queries.get(query_id) or self.new_queries.get(query_id)
        named, offered = read_query_id(query_id, self.corpus), self.offered.get(query_id)
        if here is not None:
            if offered and named is None and not is_free(query_id) and _differs(offered, here):
                raise BadInputError(
                    f"Query '{query_id}' asks for something else here than in the file.",
                    "Import the file into a project of its own.",
                )
            return here
        if offered is not None:
            check_query(offered, self.corpus.lens, self.systems)
            if offered.seed is not None:
                self._check_document(offered.seed)
        query = offered or named
        if query is not None:
            self.new_queries[query_id] = query
        elif self.project.name or not is_free(query_id):
            raise BadInputError(f"Query '{query_id}' names no seed and aspect of this corpus.")
        return query

    def _check_document(self, doc_id: str) -> None:
        if doc_id not in self.corpus.row_of:
            raise BadInputError(f"There is no document '{doc_id[:80]}' in this corpus.")

    def _checked(self, given: Judgment) -> Judgment:
        """The judgment for the project, as a model's where import, file or name say so."""
        name, leads = given.annotator, self.project.leads
        by_model = self.by_model or given.origin == "model" or is_model(name)
        is_decision = given.origin == "adjudication"
        if by_model and not is_decision:
            given = replace(given, annotator=model_annotator(name), origin="model")
        elif not given.event and own_name(name) in self.models:
            raise BadInputError(
                f"By the name '{name.strip()}' a model graded in this project.",
                "If these are its grades, import them as a model's (--by-model; on the page, "
                "'Grades by a model'). If they are a person's, by another name.",
            )
        if is_decision and leads and name.strip() not in leads:
            raise BadInputError(f"'{name}' is no lead of project '{self.project.name}'.")
        undo = given.verdict == "undo"
        judgment = checked(self.project, replace(given, verdict="withdrawn") if undo else given)
        # What the annotator was shown is as in the file, however the project is judged today.
        return replace(
            judgment, rank=given.rank, system=given.system, blind=given.blind, event=given.event
        )


def _listed(sentences: Sequence[str]) -> list[str]:
    """The first sentences, and how many more there are."""
    more = len(sentences) - MOST_LISTED
    return [*sentences[:MOST_LISTED], *[f"And {more:,} more."] * (more > 0)]


_grade_of = attrgetter("verdict", "relevance")


def _named(row: Judgment, taken: Container[str]) -> Judgment:
    """With an unused event id; its first word stays, see :data:`engine.annotate.projects.MADE`."""
    if row.event and row.event not in taken:
        return row
    maker = next((made for made in MADE if row.event.startswith(made)), "")
    return replace(row, event=maker + new_event())


def _conflict(line: int, row: Judgment, here: Judgment | None, *, overwrite: bool) -> str:
    where = f"Line {line:,}" if line else f"'{row.query_id}'"
    before, said = f"{row.annotator} took back what was said", grade_words(row)
    if here is not None:
        before = f"{here.annotator} said {grade_words(here)}"
        same = _grade_of(here) == _grade_of(row)
        said = "the same with another note or other marks" if same else said
    now = "the file's counts now" if overwrite else "what is here stays"
    item = f"of '{row.doc_id}' for '{row.query_id}'"
    return f"{where}: {before} {item} here, and {said} in the file; {now}."


def grade_words(row: Judgment) -> str:
    """The grade, or the verdict without one."""
    return str(row.relevance) if row.relevance is not None else row.verdict


def _differs(offered: Query, here: Query) -> bool:
    """Whether anything that the first one asks for is not in the second: numbered ids collide."""
    names = ("seed", "text", "aspect", "instruction")
    pairs = [[str(getattr(q, n) or "").casefold().split() for q in (offered, here)] for n in names]
    return any(words and words != others for words, others in pairs)


# -- formats -----------------------------------------------------------------------------------


def detect(path: Path) -> str:
    """The format of a file or folder, by its ending and its first line."""
    if path.is_dir():
        return "csfcube" if any(path.glob(CSFCUBE_FILES)) else "beir"
    if path.suffix in (".jsonl", ".ndjson"):
        return "hand-over" if header(text_of(path)) is not None else "jsonl"
    return {".csv": "csv", ".tsv": "beir", ".zip": "beir"}.get(path.suffix, "trec")


def header(text: str) -> Mapping[str, Any] | None:
    """The first line of a hand-over; None when the text is none."""
    try:
        first = parse_json(text.split("\n", 1)[0])
    except ValueError:
        return None
    return first if isinstance(first, dict) and first.get("format") == HAND_OVER else None


def _qrels_rows(qrels: Mapping[str, Mapping[str, int]]) -> Rows:
    for query_id, grades in qrels.items():
        for doc_id, grade in grades.items():
            yield 0, {"query_id": query_id, "doc_id": doc_id, "relevance": grade}


def _zipped_folder(archive: Path) -> Path:
    """The folder of an archive that has the tables: the root, or one in it."""
    try:
        root = zipfile.Path(archive)
    except zipfile.BadZipFile as error:
        raise BadInputError(f"{archive} is no ZIP file.", "Download it again.") from error
    folders = [root, *(inside for inside in root.iterdir() if inside.is_dir())]
    return cast(Path, next((one for one in folders if (one / "qrels").is_dir()), root))


def _beir_queries(text: str, corpus: str) -> Iterator[tuple[str, Query]]:
    for _, line in numbered_lines(text):
        try:
            row = parse_json(line)
            about = row.get("metadata") or {}
            asked = {name: about.get(name) for name in ("seed", "aspect", "instruction")}
            if asked["seed"] is None:
                words = asked["instruction"] or wording_of(row) or ""
                asked["instruction"] = words if len(words) <= LONGEST_INSTRUCTION else None
                asked["text"] = str(row.get("text") or "")
            if asked["seed"] is not None or asked["text"]:
                yield str(row["_id"]), _as_query(asked, corpus)
        except (BadInputError, ValueError, KeyError, AttributeError):
            continue  # a query that is not described here may be explained by its id


def _as_query(fields: Mapping[str, Any], corpus: str) -> Query:
    """A query of a file, for this corpus; BadInputError when unreadable."""
    try:
        query = query_from_dict({**fields, "corpus": corpus})
        query_to_json(query).encode()  # half a character cannot be stored
    except (TypeError, ValueError) as error:
        raise BadInputError(f"It is no query ({error}).") from error
    return query


def _hand_over_rows(text: str, incoming: JudgmentImport) -> Rows:
    """One annotator's judgments, after the queries."""
    for number, fields in [*json_rows(text)][1:]:
        if isinstance(fields, str) or "query" not in fields:
            yield number, fields
            continue
        try:
            query = _as_query(fields["query"], incoming.corpus.name)
            incoming.offered[str(fields["query_id"])] = query
        except (BadInputError, KeyError, TypeError) as error:
            yield number, f"The query cannot be read: {error}"


TABLES = ("csv", "jsonl")  # formats with all fields of a judgment
BATCH = 1000
MOST_NAMED = 5
"""Queries that a note names."""


@all_for_leads
class JudgmentFiles(ForPerson):
    """Exports and imports over one home."""

    def __init__(self, projects: ProjectStore, ledger: Ledger, library: Library) -> None:
        self._projects, self._ledger, self._library = projects, ledger, library

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
        """The judgments of a project as files of one of :data:`JUDGMENT_FORMATS`: adjudicated
        (undecided items left out, or with their ``median``), or as ``annotator`` or everybody gave
        them; a hand-over has all of one annotator's history. ``spreadsheet`` escapes formulas in a
        ``csv``, not to be imported again; ``audit`` adds grades that check a model."""
        check_known("format", kind, JUDGMENT_FORMATS)
        name = project.name or project.corpus
        queries = self._projects.queries(project, retired=True)
        if kind == "hand-over":
            return self._hand_over(project, annotator, queries)
        form = Form(kind, name, queries, self._library.open(project.corpus), spreadsheet)
        if per_annotator or annotator:
            judgments = self._projects.judgments(project)
            counting = [j for j in judgments if audit or j.origin != "audit"]
            exported = form.own(_of_annotator(project, counting, annotator.strip()))
        else:
            exported = form.decided(self.qrels(project, median=median, audit=audit))
        if not exported.judgments:
            raise BadInputError(
                f"Project '{name}' has no grades to export.",
                " ".join(exported.notes) or "Judge first.",
            )
        notes, lowest = exported.notes, min(project.scale.values)
        if lowest and kind not in TABLES:
            words = "to programs that take grades from 1 on for relevant, all of these are"
            notes += (f"The lowest grade of the scale is {lowest}: {words}.",)
        return replace(exported, notes=notes)

    def _hand_over(
        self, project: Project, annotator: str, queries: Mapping[str, Query]
    ) -> Exported:
        """All events of one annotator, a person or a model, after settings and queries."""
        who = check_annotator(annotator, "model")
        events = _of_annotator(project, self._projects.history(project), who)
        asked = {row.query_id for row in events}
        rows = [
            {"query_id": i, "query": query_to_dict(q)} for i, q in queries.items() if i in asked
        ]
        first = {
            **{"format": HAND_OVER, "version": 1, "annotator": who, "corpus": project.corpus},
            **{"queries": len(rows), "events": len(events)},
            "project": asdict(replace(project, place="")),
        }
        lines = json_lines([first, *rows, *map(to_fields, events)])
        name = f"{project.name or project.corpus}.{plain_name(who)}.jsonl"
        return Exported({name: lines}, len(events), counts=_counts(events))

    def qrels(self, project: Project, *, median: bool = False, audit: bool = False) -> DecidedQrels:
        """The adjudicated grades of active queries, in the project's scale; see :func:`decide`."""
        counting: Any = {"model_grades": project.model_grades, "audit": audit, "median": median}
        judgments, retired = self._projects.judgments(project), self._projects.retired(project)
        return decide(judgments, retired=retired, scale=project.scale, **counting)

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
        dry_run: bool = False,
    ) -> ImportedJudgments:
        """Import the last judgment of each annotator and item, or none where a line is broken.
        Stored judgments are skipped; those that differ are reported, and stay unless ``overwrite``.
        ``dry_run``: nothing is stored.

        Args:
            source: a file, or a CSFCube or BEIR folder; None for what the corpus came from.
            project: None for the corpus's own, or that of a hand-over, created when missing.
            annotator: where the file does not say; for CSFCube the adjudicator.
            by_model: all are a language model's, like names that begin with ``model:``.
        """
        path, kind = self._source(corpus, source, kind)
        if by_model and adjudicated:
            raise BadInputError("A model decides nothing between annotators.", "Import its grades.")
        if by_model and not annotator.strip():
            raise BadInputError("The model that gave these grades is not named.", "Name it.")
        target, is_new = self._target(corpus, path, project, kind)
        history = self._projects.history(target)
        models = frozenset(own_name(row.annotator) for row in history if row.origin == "model")
        opened = self._library.open(target.corpus)
        queries = self._projects.queries(target, retired=True)
        known = opened, queries, self._library.every_system, models
        incoming = JudgmentImport(path.name, target, *known, by_model)
        self._read(incoming, kind, path, annotator, adjudicated=adjudicated)
        incoming.check()
        last, judging = [rows[-1][1] for rows in incoming.rows.values()], self._ledger.judging
        if is_new and not dry_run:
            self._projects.put(target, last[0].annotator)
        if new_queries := incoming.new_queries:
            add = self._projects.checked_queries if dry_run else self._projects.add_queries
            add(target, new_queries)
        taken = judging.known(row.event for row in last)
        new, same, conflicts = list[Judgment](), 0, tuple[str, ...]()

        def change(stored: Changed) -> Iterable[Judgment]:
            nonlocal new, same, conflicts
            new, same, conflicts = incoming.compared(stored, taken, overwrite=overwrite)
            return new

        if dry_run:
            change(judging.stored(*target.key))
        else:
            judging.change(*target.key, change)
        about = _counts(last), len(new_queries), target.name
        return ImportedJudgments(len(new), same, conflicts, incoming.warnings, *about)

    def _read(
        self, incoming: JudgmentImport, kind: str, path: Path, annotator: str, *, adjudicated: bool
    ) -> None:
        """Read a file or folder of a format, CSFCube's too."""
        if kind == "csfcube":
            collection, name = read_collection(path), incoming.corpus.name
            incoming.offered.update((one.query_id, one.query(name)) for one in collection.topics)
            for who, own in collection.annotators.items():
                incoming.read(_qrels_rows(own), who)
            who = annotator or collection.name
            incoming.read(_qrels_rows(collection.qrels), who, adjudicated=True)
        elif kind == "hand-over":
            incoming.read(_hand_over_rows(text_of(path), incoming))
        else:
            if kind in ("trec", "beir"):
                annotator = check_annotator(annotator, "model")
            table = self._beir_table(path, incoming) if kind == "beir" else path
            read = json_rows if kind == "jsonl" or table.name == DECISIONS else judgment_rows
            incoming.read(read(text_of(table)), annotator, adjudicated=adjudicated)

    def _beir_table(self, path: Path, incoming: JudgmentImport) -> Path:
        """The judgments of a BEIR folder, zip or file; its queries are taken in."""
        is_zip = path.suffix == ".zip"
        folder = _zipped_folder(path) if is_zip else path
        file = path if path.is_file() and not is_zip else beir_file(folder)
        if file is None:
            raise BadInputError(f"{path} holds no judgments.", "Give a file, or a BEIR folder.")
        with suppress(NotAllowedError):
            beside = file.parent.parent / "queries.jsonl"
            queries = beside if is_zip else self._library.importable(beside)
            if queries.is_file():
                incoming.offered.update(_beir_queries(text_of(queries), incoming.corpus.name))
        decisions = folder / DECISIONS
        return decisions if decisions.is_file() else file

    def _source(self, corpus: str, source: Path | None, kind: str) -> tuple[Path, str]:
        """The path to read, and its format."""
        path = Path(self._library.corpus(corpus).source)
        if source is not None:
            path = self._library.importable(source)
        if not path.exists():
            raise BadInputError(f"{path} does not exist.", "Give the path of a file or folder.")
        kind = detect(path) if kind == "auto" else kind
        if source is None and kind != "csfcube":
            raise BadInputError(f"'{corpus}' did not come from CSFCube.", "Give a file.")
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
            settings: Project = PROJECTS.validate_python(about.get("project"))
        except ValidationError as error:
            raise BadInputError(
                f"{path.name}, line 1: the project cannot be read.", "Export it again."
            ) from error
        named = settings.name if name is None else name
        settings = check_project(replace(settings, corpus=corpus, name=named))
        with suppress(UnknownNameError):
            return self._projects.project(corpus, settings.name), False
        return self._projects.placed(replace(settings, place="", deleted=False, former=())), True


def _counts(judgments: Iterable[Judgment]) -> JudgmentCounts:
    return JudgmentCounts.of((j.item, [j.annotator], grade_words(j)) for j in judgments)


def _of_annotator(
    project: Project, judgments: Sequence[Judgment], annotator: str
) -> Sequence[Judgment]:
    """The judgments of one annotator, all for ""; UnknownNameError when there are none."""
    own = [row for row in judgments if annotator in ("", row.annotator)]
    if annotator and not own:
        names = ", ".join(sorted({row.annotator for row in judgments}))
        raise UnknownNameError(
            f"'{annotator}' has judged nothing in project '{project.name or project.corpus}'.",
            f"Those who did are {names}." if names else "Nobody did yet.",
        )
    return own


# -- files -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """How grades are written: in one of :data:`JUDGMENT_FORMATS` except the hand-over."""

    kind: str
    name: str
    queries: Mapping[str, Query]
    corpus: OpenCorpus
    spreadsheet: bool = False  # no cell of a CSV is a formula

    def decided(self, decided: DecidedQrels) -> Exported:
        """The adjudicated grades; beside the tables of BEIR also whose they are."""
        rows = decided.rows()
        exported = self._written(rows, DECIDED_FIELDS, {"": decided.grades}, decided.notes)
        kept = (d for d in decided.decisions if d.relevance is not None)
        counts = JudgmentCounts.of((d.item, d.annotators, d.relevance) for d in kept)
        exported = replace(exported, counts=counts)
        if self.kind != "beir":
            return exported
        return replace(exported, files={**exported.files, DECISIONS: json_lines(rows)})

    def own(self, judgments: Sequence[Judgment]) -> Exported:
        """Current judgments per annotator, models included: a file each in TREC and BEIR, else one
        for all with every field and adjudication, which can be imported again."""
        models = sorted({j.annotator for j in judgments if j.origin == "model"})
        by_models = sum(j.origin == "model" and j.relevance is not None for j in judgments)
        notes = [f"{by_models:,} grades are a model's ({', '.join(models)})."] * bool(by_models)
        rows, grades = [*map(to_fields, judgments)], own_grades(judgments, models=True)
        if self.kind not in TABLES:
            left = sum(j.verdict in ("skip", "unsure") for j in judgments)
            words = f"{left:,} skips and unsure verdicts have no place in this format."
            notes += [words] * bool(left)
            judgments = [j for j in judgments if j.relevance is not None and j.origin in GRADERS]
        return replace(self._written(rows, FIELDS, grades, notes), counts=_counts(judgments))

    def _written(
        self,
        rows: Sequence[Mapping[str, Any]],
        columns: Sequence[str],
        grades: Mapping[str, Qrels],
        notes: Sequence[str],
    ) -> Exported:
        """A table of rows, or grades by annotator ("": adjudicated) in files of TREC or BEIR."""
        corpus, queries = self.corpus, self.queries
        if self.kind in TABLES:
            in_csv = csv_lines(rows, columns, spreadsheet=self.spreadsheet)
            lines = in_csv if self.kind == "csv" else json_lines(rows)
            return Exported({f"{self.name}.{self.kind}": lines}, len(rows), tuple(notes))
        count = sum(len(of_query) for qrels in grades.values() for of_query in qrels.values())
        names = file_names(filter(None, grades))
        files: dict[str, Iterable[str]]
        if self.kind == "trec":
            endings = {who: f".{names[who]}" if who else "" for who in grades}
            files = {f"{self.name}{endings[who]}.qrels": trec_lines(q) for who, q in grades.items()}
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
        seeds = {i: queries[i].seed for i in asked if i in queries}
        gone = sorted(i for i, s in seeds.items() if s is not None and s not in corpus.row_of)
        named = ", ".join(gone[:MOST_NAMED]) + ", ..." * (len(gone) > MOST_NAMED)
        why = f"no text, as the seed is not in the corpus '{corpus.name}' any more: {named}."
        notes = [*notes, *noted((len(gone), "query has/queries have", why))]
        return Exported(files, count, tuple(notes))


def _beir_query(query_id: str, query: Query | None, corpus: OpenCorpus) -> dict[str, Any]:
    """The query as its seed's text; without text where the seed has left the corpus."""
    if query is None:  # judged while exploring, in words that nobody kept
        return {"_id": query_id, "text": "", "metadata": {}}
    text, aspects = query.text or "", {one.key: one.instruction for one in corpus.lens.aspects}
    if query.seed is not None and query.seed in corpus.row_of:
        seed = corpus.document(query.seed)
        text = f"{seed.title} {seed.text}".strip()
    about = {"seed": query.seed, "aspect": query.aspect, "instruction": query.instruction}
    return {
        "_id": query_id,
        "text": text,
        "instruction": query.instruction or aspects.get(query.aspect or "", ""),
        "metadata": {key: value for key, value in about.items() if value is not None},
    }
