"""Judgments of files: read, checked line by line, and compared with the stored ones."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from engine.annotate.judgments import IMPORTED, MADE, checked
from engine.annotate.projects import (
    check_annotator,
    is_free,
    is_model,
    model_annotator,
    own_name,
    printable,
    read_query_id,
)
from engine.collections.judgment_formats import (
    beir_file,
    grade_lines,
    judgment_field,
    numbered_lines,
    parse_json,
    text_of,
)
from engine.collections.readers import read_collection, wording_of
from engine.collections.trec import broken_line, grade_of
from engine.corpora.opened import OpenCorpus
from engine.errors import BadInputError, NotAllowedError
from engine.search.queries import check_query, query_from_json, query_to_json
from engine.text import counted
from engine.types.annotating import ADJUDICATED, Judgment, Origin, Project, Verdict
from engine.types.limits import LONGEST_INSTRUCTION
from engine.types.searches import Query
from storage.records import new_event

HAND_OVER = "seedlens-judgments"
"""What the first line of a hand-over has as its ``format``."""
DECISIONS = "decisions.jsonl"
"""In a BEIR folder of ours: whose grades are in its tables."""
CSFCUBE_FILES = "test-pid2anns-csfcube-*.json"
MOST_LISTED = 20
"""Broken lines, or conflicts, that are listed one by one."""
HIGHEST = 10**9
"""Of ranks and seconds; far beyond any."""
Key = tuple[str, str, str, bool]
"""(query_id, doc_id, annotator, False), or (query_id, doc_id, "", True) of a decision, which is the
item's: the last judgment of a key counts."""


# -- one judgment as a line --------------------------------------------------------------------


def _as_text(value: Any) -> str:
    text = "" if isinstance(value, (list, dict)) else str(value)
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise ValueError("it holds half a character")
    return text


def _as_grade(value: Any) -> int:
    try:
        return grade_of(str(value))
    except ValueError as error:
        raise ValueError("it is not a whole number") from error


def _as_marks(value: Any) -> tuple[tuple[int, int], ...]:
    try:
        spans = parse_json(value) if isinstance(value, str) else value
        marks = tuple((start, end) for start, end in spans)
        if any(type(n) is not int or n < 0 for mark in marks for n in mark):
            raise ValueError(marks)
    except (ValueError, TypeError) as error:
        raise ValueError("marks are a list of [start, end]") from error
    return marks


Text = Annotated[str, BeforeValidator(_as_text)]
Clean = Annotated[Text, AfterValidator(printable)]


class JudgmentLine(BaseModel):
    """A judgment as CSV and JSONL have it, in the order of columns; only query_id, doc_id,
    relevance and an annotator are required."""

    query_id: Text = ""
    doc_id: Text = ""
    relevance: Annotated[int | None, BeforeValidator(_as_grade)] = None
    annotator: Text = ""
    verdict: Verdict | None = None
    note: Text = ""
    marks: Annotated[tuple[tuple[int, int], ...], BeforeValidator(_as_marks)] = ()
    time: datetime = Field(default_factory=lambda: datetime.now(UTC))
    seconds: Annotated[float, Field(ge=0, le=HIGHEST)] | None = None
    origin: Origin = "import"
    rank: Annotated[int, Field(ge=0, le=HIGHEST)] | None = None
    system: Clean = ""
    instruction: Clean = ""
    blind: bool = False
    event: Clean = ""
    undoes: Clean = ""


FIELDS = tuple(name for name in JudgmentLine.model_fields if name != "undoes")
"""What a line has, in the order of the columns."""


def to_fields(judgment: Judgment) -> dict[str, Any]:
    """A judgment as JSON-ready values."""
    fields = {name: getattr(judgment, name) for name in FIELDS}
    fields["marks"] = [list(span) for span in judgment.marks]
    fields["time"] = judgment.time.isoformat()
    return fields | ({"undoes": judgment.undoes} if judgment.undoes else {})


def from_fields(fields: Mapping[str, Any], annotator: str = "") -> Judgment:
    """Read a row of :func:`to_fields`; without ``event`` it is an import with "", without a time it
    is of now.

    Args:
        annotator: who judged where the fields do not say.
    """
    given = {name: value for name, value in fields.items() if value not in ("", None)}
    try:
        line = JudgmentLine.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        value = str(first["input"])[:40].encode("utf-8", "backslashreplace").decode()
        why = first["msg"].removeprefix("Value error, ")
        raise BadInputError(f"The {first['loc'][0]} '{value}' cannot be read: {why}.") from error
    verdict = line.verdict or ("grade" if line.relevance is not None else None)
    if verdict is None:
        raise BadInputError("There is no relevance.", "Give a grade, or a verdict like 'skip'.")
    named = line.annotator.strip().casefold() not in ("", ADJUDICATED)
    time = line.time if line.time.tzinfo else line.time.replace(tzinfo=UTC)
    read = {
        **dict(line),
        "annotator": line.annotator if named else annotator or line.annotator,
        "verdict": verdict,
        "origin": line.origin if line.event else "import",
        "time": time.astimezone(UTC),
    }
    return Judgment(**read)


# -- the judgments of a file -------------------------------------------------------------------


class Compared(NamedTuple):
    """Result of an import's comparison: judgments to add, how many are stored, and conflicts as
    plain sentences."""

    rows: Sequence[Judgment] = ()
    known: int = 0
    conflicts: Sequence[str] = ()


@dataclass
class JudgmentImport:
    """The judgments of one file, and everything that is wrong with it."""

    file: str
    project: Project
    corpus: OpenCorpus
    queries: Mapping[str, Query]  # of the project
    # bare names of models that grade in the project; refused as names of people
    models: frozenset[str] = frozenset()
    by_model: bool = False  # the whole file is a model's
    # queries that the file describes, by id
    offered: dict[str, Query] = field(default_factory=dict)
    # needed by its judgments and missing in the project
    new_queries: dict[str, Query] = field(default_factory=dict)
    events: set[str] = field(default_factory=set)  # named in the file, replaced ones included
    _rows: dict[Key, list[tuple[int, Judgment]]] = field(default_factory=dict)
    _problems: list[str] = field(default_factory=list)
    _broken: int = 0
    _seeds: list[int] = field(default_factory=list)
    _changed: list[int] = field(default_factory=list)

    def add(self, line: int, given: Judgment) -> None:
        """Take in one judgment, or note what is wrong with it; a query's own seed is left out.

        Args:
            line: from 1; 0 where the file has no lines.
            given: its ``event`` is "" where the file has none.
        """
        try:
            query = self._query(given)
            judgment = self._checked(self._attributed(given))
        except BadInputError as error:
            self.broken(line, error)
            return
        if query is not None and query.seed == given.doc_id:
            self._seeds.append(line)
            return
        self.events.add(judgment.event)
        rows = self._rows.setdefault(_key(judgment), [])
        if given.verdict == "undo":
            rows[:] = [row for row in rows if row[1].event != given.undoes] or [(line, judgment)]
            return
        before = rows[-1][1] if rows else judgment
        if _said(before) != _said(judgment) and given.event in ("", before.event):
            self._changed.append(line)
        rows.append((line, judgment))

    def broken(self, line: int, error: BadInputError | str) -> None:
        """Note that a line cannot be used."""
        self._broken += 1
        if len(self._problems) < MOST_LISTED:
            self._problems.append(f"line {line:,}: {error}" if line else str(error))

    def check(self) -> None:
        """Raise BadInputError where a line is broken, or there is no judgment."""
        if self._problems:
            listed = " ".join(self._problems)
            more = self._broken - len(self._problems)
            count = counted(self._broken, "line is", "lines are")
            raise BadInputError(
                f"{self.file}: {count} broken and nothing was imported. {listed}"
                + (f" And {more:,} more." if more > 0 else ""),
                "Correct them and import the file again.",
            )
        if not self._rows:
            raise BadInputError(f"{self.file} has no judgments.", "Choose another file.")

    @property
    def annotator(self) -> str:
        """Who judged first in it."""
        return next(iter(self._rows.values()))[-1][1].annotator

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out, in plain sentences."""
        seeds = counted(len(self._seeds), "judgment is", "judgments are")
        changed = counted(len(self._changed), "line differs", "lines differ")
        said = {
            f"{seeds} of the query's own seed, and left out": self._seeds,
            f"{changed} from one before about the same item; the last one counts": self._changed,
        }
        return tuple(
            f"{words} (first: line {lines[0]:,})." if lines[0] else f"{words}."
            for words, lines in said.items()
            if lines
        )

    def compared(
        self,
        history: Sequence[Judgment],
        latest: Sequence[Judgment],
        elsewhere: Set[str],
        *,
        overwrite: bool = False,
    ) -> Compared:
        """New judgments: the last per annotator and item in the file, where nothing is stored or
        the file continues it.

        Other differences are conflicts: what is stored stays, or with ``overwrite`` the file
        counts.

        Args:
            history: every event of the project; ``latest`` are those that count.
            elsewhere: events of the file that other projects have.
        """
        current, said = {_key(row): row for row in latest}, {_key(row) for row in history}
        taken = {row.event for row in history} | elsewhere
        rows: list[Judgment] = []
        conflicts: list[str] = []
        known = 0
        for key, of_key in self._rows.items():
            line, judgment = of_key[-1]
            here = current.get(key)
            if _is_known(judgment, here):
                known += 1
                continue
            if key in said and not (here and self._goes_on(here, judgment)):
                conflicts.append(_conflict(line, judgment, here, overwrite=overwrite))
                if not overwrite:
                    continue
            rows.append(_named(judgment, taken))
        more = len(conflicts) - MOST_LISTED
        listed = conflicts[:MOST_LISTED] + ([f"And {more:,} more."] if more > 0 else [])
        return Compared(rows, known, listed)

    def _goes_on(self, here: Judgment, judgment: Judgment) -> bool:
        """Whether the file has the stored judgment and a different one after it."""
        return here.event in self.events and here.event != judgment.event

    # -- inside ----------------------------------------------------------------------------

    def _attributed(self, given: Judgment) -> Judgment:
        """As a model's judgment where the import, the file or the name says so."""
        by_model = self.by_model or given.origin == "model" or is_model(given.annotator)
        if by_model and given.origin != "adjudication":
            return replace(given, annotator=model_annotator(given.annotator), origin="model")
        if not given.event and own_name(given.annotator) in self.models:
            raise BadInputError(
                f"By the name '{given.annotator.strip()}' a model graded in this project.",
                "If these are its grades, import them as a model's (--by-model; on the page, 'A "
                "language model gave them'). If they are a person's, by another name.",
            )
        return given

    def _query(self, given: Judgment) -> Query | None:
        """The query; None for wordings that were judged while exploring."""
        if given.doc_id not in self.corpus.row_of:
            raise BadInputError(f"There is no document '{given.doc_id[:80]}' in this corpus.")
        query_id = given.query_id
        if query_id in self.queries:
            self._check_same(query_id)
            return self.queries[query_id]
        query = self.new_queries.get(query_id) or self._offered(query_id) or self._named(query_id)
        if query is not None:
            self.new_queries[query_id] = query
        elif self.project.name or not is_free(query_id):
            raise BadInputError(f"Query '{query_id}' names no seed and aspect of this corpus.")
        return query

    def _offered(self, query_id: str) -> Query | None:
        query = self.offered.get(query_id)
        if query is not None:
            check_query(query, self.corpus.lens)
            if query.seed is not None and query.seed not in self.corpus.row_of:
                raise BadInputError(f"There is no document '{query.seed[:80]}' in this corpus.")
        return query

    def _check_same(self, query_id: str) -> None:
        """Raise BadInputError where the file's query of this id differs: numbered ids collide."""
        theirs = self.offered.get(query_id)
        if theirs is None or is_free(query_id) or self._named(query_id):
            return
        here = self.queries[query_id]
        for name in ("seed", "text", "aspect", "instruction"):
            words = _words(getattr(theirs, name))
            if words and words != _words(getattr(here, name)):
                raise BadInputError(
                    f"Query '{query_id}' asks for something else here than in the file.",
                    "Import the file into a project of its own.",
                )

    def _named(self, query_id: str) -> Query | None:
        named = read_query_id(query_id, self.corpus.row_of, self.corpus.aspects)
        return named and Query(self.corpus.name, seed=named.seed, aspect=named.aspect)

    def _checked(self, given: Judgment) -> Judgment:
        project, undo = self.project, given.verdict == "undo"
        judgment = checked(project, replace(given, verdict="withdrawn") if undo else given)
        who = judgment.annotator
        if given.origin == "adjudication" and project.leads and who not in project.leads:
            raise BadInputError(f"'{who}' is no lead of project '{project.name}'.")
        # What the annotator was shown is as in the file, however the project is judged today.
        return replace(
            judgment, rank=given.rank, system=given.system, blind=given.blind, event=given.event
        )


def _key(row: Judgment) -> Key:
    is_decision = row.origin == "adjudication"
    return (row.query_id, row.doc_id, "" if is_decision else row.annotator, is_decision)


def _said(row: Judgment) -> tuple[str, int | None]:
    return (row.verdict, row.relevance)


def _is_known(row: Judgment, here: Judgment | None) -> bool:
    """Whether a row equals what is stored; missing notes and marks are ignored."""
    if here is None:
        return row.verdict == "withdrawn"
    return (
        _said(row) == _said(here) and row.note in ("", here.note) and row.marks in ((), here.marks)
    )


def _named(row: Judgment, taken: Set[str]) -> Judgment:
    """With an unused event id; its first word stays, see :data:`engine.annotate.judgments.MADE`."""
    if row.event and row.event not in taken:
        return row
    maker = next((made for made in MADE if row.event.startswith(made)), "")
    return replace(row, event=(maker if row.event else IMPORTED) + new_event())


def _conflict(line: int, row: Judgment, here: Judgment | None, *, overwrite: bool) -> str:
    where = f"Line {line:,}" if line else f"'{row.query_id}'"
    outcome = "the file's counts now" if overwrite else "what is here stays"
    who = row.annotator if here is None else here.annotator
    before = "took back what was said" if here is None else f"said {_shown(here)}"
    said = _shown(row)
    if here is not None and _said(here) == _said(row):
        said = "the same with another note or other marks"
    return (
        f"{where}: {who} {before} of '{row.doc_id}' for '{row.query_id}' here, and {said} in the "
        f"file; {outcome}."
    )


def _shown(row: Judgment) -> str:
    return str(row.relevance) if row.relevance is not None else row.verdict


def _words(text: str | None) -> list[str]:
    """Words, for comparing texts."""
    return (text or "").casefold().split()


# -- formats -----------------------------------------------------------------------------------


def detect(path: Path) -> str:
    """The format of a file or folder, by its ending and its first line."""
    if path.suffix == ".zip":
        return "beir"
    if path.is_dir():
        return "csfcube" if any(path.glob(CSFCUBE_FILES)) else "beir"
    if path.suffix in (".jsonl", ".ndjson"):
        return "hand-over" if header(text_of(path)) is not None else "jsonl"
    return {".csv": "csv", ".tsv": "beir"}.get(path.suffix, "trec")


def header(text: str) -> Mapping[str, Any] | None:
    """The first line of a hand-over; None when the text is none."""
    try:
        first = parse_json(text.split("\n", 1)[0])
    except ValueError:
        return None
    is_one = isinstance(first, dict) and first.get("format") == HAND_OVER
    return first if is_one else None


def read_file(
    incoming: JudgmentImport,
    kind: str,
    path: Path,
    annotator: str,
    importable: Callable[[Path], Path],
    *,
    adjudicated: bool = False,
) -> None:
    """Read a file or folder of one format into an import.

    Args:
        kind: one of :data:`engine.types.annotating.JUDGMENT_FORMATS`, or ``csfcube``.
        annotator: who judged, or for CSFCube adjudicated, where the file does not say.
        importable: raises NotAllowedError for a path that may not be read.
        adjudicated: the grades are decisions.
    """
    origin: Origin = "adjudication" if adjudicated else "import"
    if kind == "csfcube":
        _read_csfcube(path, incoming, annotator)
    elif kind == "hand-over":
        _read_hand_over(text_of(path), incoming)
    elif kind in ("csv", "jsonl"):
        rows = _csv_rows if kind == "csv" else _json_rows
        _take_rows(rows(text_of(path), incoming), incoming, annotator, adjudicated=adjudicated)
    elif kind == "beir":
        who = check_annotator(annotator, "model")
        _read_beir(path, incoming, who, origin, importable)
    else:
        _take_grades(text_of(path), incoming, check_annotator(annotator, "model"), origin)


def _read_beir(
    path: Path,
    incoming: JudgmentImport,
    annotator: str,
    origin: Origin,
    importable: Callable[[Path], Path],
) -> None:
    """A BEIR folder (or zip) with qrels/test.tsv, dev or train, or one such file."""
    zipped = path.suffix == ".zip"
    folder = _zipped_folder(path) if zipped else path
    file = path if path.is_file() and not zipped else beir_file(folder)
    if file is None:
        raise BadInputError(f"{path} holds no judgments.", "Give a file, or a BEIR folder.")
    with suppress(NotAllowedError):
        beside = file.parent.parent / "queries.jsonl"
        queries = beside if zipped else importable(beside)
        if queries.is_file():
            incoming.offered.update(_beir_queries(text_of(queries), incoming.corpus.name))
    decisions = folder / DECISIONS
    if decisions.is_file():
        _take_rows(_json_rows(text_of(decisions), incoming), incoming, annotator)
    else:
        _take_grades(text_of(file), incoming, annotator, origin)


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
                asked["text"] = str(row.get("text") or "")
                words = asked["instruction"] or wording_of(row) or ""
                asked["instruction"] = words if len(words) <= LONGEST_INSTRUCTION else None
            if asked["seed"] is not None or asked["text"]:
                yield str(row["_id"]), _as_query(asked, corpus)
        except (BadInputError, ValueError, KeyError, AttributeError):
            continue  # a query that is not described here may be explained by its id


def _as_query(fields: Mapping[str, Any], corpus: str) -> Query:
    """A query of a file, for this corpus; BadInputError when unreadable."""
    try:
        query = query_from_json(json.dumps({**fields, "corpus": corpus}))
        query_to_json(query).encode()  # half a character cannot be stored
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise BadInputError(f"It is no query ({error}).") from error
    return query


def _take_grades(text: str, incoming: JudgmentImport, annotator: str, origin: Origin) -> None:
    """Lines of query, document and grade, as in TREC and BEIR."""
    for line in grade_lines(text):
        if line.problem:
            incoming.broken(line.number, line.problem)
            continue
        try:
            grade = grade_of(line.grade)
        except ValueError:
            incoming.broken(line.number, f"The grade '{line.grade}' is not a whole number.")
        else:
            item = (line.query_id, line.doc_id)
            incoming.add(line.number, _graded(*item, annotator, grade, origin))


def _graded(query_id: str, doc_id: str, annotator: str, grade: int, origin: Origin) -> Judgment:
    return Judgment(query_id, doc_id, annotator, grade, origin=origin, event="")


def _read_csfcube(path: Path, incoming: JudgmentImport, adjudicator: str) -> None:
    collection, name = read_collection(path), incoming.corpus.name
    incoming.offered.update((topic.query_id, topic.query(name)) for topic in collection.topics)
    sources: list[tuple[str, Origin, Mapping[str, Mapping[str, int]]]] = [
        *((who, "import", own) for who, own in collection.annotators.items()),
        (adjudicator or collection.name, "adjudication", collection.qrels),
    ]
    for annotator, origin, qrels in sources:
        for query_id, grades in qrels.items():
            for doc_id, grade in grades.items():
                incoming.add(0, _graded(query_id, doc_id, annotator, grade, origin))


def _read_hand_over(text: str, incoming: JudgmentImport) -> None:
    """One annotator's judgments, with the queries."""
    about = header(text) or {}
    queries: list[tuple[int, Mapping[str, Any]]] = []
    events: list[tuple[int, Mapping[str, Any]]] = []
    for number, fields in [*_json_rows(text, incoming)][1:]:
        (queries if "query" in fields else events).append((number, fields))
    for number, fields in queries:
        try:
            query = _as_query(fields["query"], incoming.corpus.name)
            incoming.offered[str(fields["query_id"])] = query
        except (BadInputError, KeyError, TypeError) as error:
            incoming.broken(number, f"The query cannot be read: {error}")
    if (len(queries), len(events)) != (about.get("queries"), about.get("events")):
        incoming.broken(
            0,
            f"It has {len(events):,} events on {len(queries):,} queries, and its first line says "
            f"{about.get('events')} on {about.get('queries')}: a part is missing.",
        )
    _take_rows(events, incoming, "")


def _csv_rows(text: str, incoming: JudgmentImport) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows by line number; query_id, doc_id and relevance are required columns."""
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        rows.fieldnames = [*_named_fields(rows.fieldnames or ())]
        missing = [name for name in ("query_id", "doc_id") if name not in rows.fieldnames]
        if missing:
            raise BadInputError(
                f"{incoming.file} has no column '{missing[0]}'.",
                "Its first line names the columns: query_id, doc_id, relevance, annotator.",
            )
        line = 2
        for fields in rows:
            if None in fields:
                incoming.broken(line, "It has more columns than the first line.")
            else:
                yield line, fields
            line = rows.line_num + 1
    except csv.Error as error:
        raise broken_line(incoming.file, rows.line_num, f"{error}.") from error


def _json_rows(text: str, incoming: JudgmentImport) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """One JSON object per line, by line number."""
    for number, line in numbered_lines(text):
        try:
            fields = parse_json(line)
        except ValueError:
            fields = None
        if isinstance(fields, dict):
            yield number, fields
        else:
            incoming.broken(number, "It is no JSON object.")


def _take_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    incoming: JudgmentImport,
    annotator: str,
    *,
    adjudicated: bool = False,
) -> None:
    """Rows with the fields of our own exports."""
    for line, fields in rows:
        try:
            whose = _as_they_were(fields)
            own = dict(zip(_named_fields(fields), fields.values(), strict=True))
            given = [from_fields(one, annotator) for one in whose or [own]]
        except BadInputError as error:
            incoming.broken(line, error)
            continue
        decided = fields.get("basis") == "adjudicated" if whose else adjudicated
        for one in given:
            incoming.add(line, replace(one, origin="adjudication") if decided else one)


def _as_they_were(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A row of our adjudicated export as the decision or agreeing grades behind it; else []."""
    if fields.get("basis") == "adjudicated" and fields.get("by"):
        return [{**fields, "annotator": fields["by"]}]
    if fields.get("basis") in ("agreed", "single", "model"):
        people = fields.get("annotators")  # in CSV, JSON in a cell
        try:
            names = json.loads(people) if isinstance(people, str) else list(people or ())
        except (ValueError, TypeError) as error:
            raise BadInputError("Its annotators are no list of names.") from error
        return [{**fields, "annotator": str(name)} for name in names]
    return []


def _named_fields(names: Collection[str]) -> Iterator[str]:
    """A row's field names, mapped to ours."""
    for name in names:
        ours = judgment_field(name)
        yield name if ours in names else ours
