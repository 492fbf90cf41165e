"""Files of judgments, read line by line into an :class:`Intake`, and one judgment as a line."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast, get_args

from engine.annotate.intake import Intake
from engine.annotate.projects import printable
from engine.collections.grade_book import broken_line, grade_of
from engine.collections.judgment_formats import (
    GradeLine,
    beir_file,
    grade_lines,
    judgment_field,
    numbered_lines,
    parse_json,
    text_of,
)
from engine.collections.readers import wording_of
from engine.errors import BadInputError, NotAllowedError
from engine.search.queries import query_from_json, query_to_json
from engine.types.annotating import ADJUDICATED, Judgment, Origin, Verdict
from engine.types.collections import Collection as Graded
from engine.types.documents import Span
from engine.types.limits import LONGEST_INSTRUCTION
from engine.types.searches import Query

HAND_OVER = "seedlens-judgments"
"""What the first line of a hand-over has as its ``format``."""
DECISIONS = "decisions.jsonl"
"""In a BEIR folder of ours: whose grades are in its tables."""
CSFCUBE_FILES = "test-pid2anns-csfcube-*.json"
_NEEDED = ("query_id", "doc_id")


def detect(path: Path) -> str:
    """The format of a file or folder, by its ending and what it begins with."""
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


# -- formats -----------------------------------------------------------------------------------


def read_trec(text: str, intake: Intake, annotator: str, origin: Origin) -> None:
    """Lines of query, document and grade; empty ones are skipped."""
    _take_grades(grade_lines(text), intake, annotator, origin)


def read_beir(
    path: Path,
    intake: Intake,
    annotator: str,
    origin: Origin,
    importable: Callable[[Path], Path],
) -> None:
    """A BEIR folder with qrels/test.tsv (or dev, train), zipped or not, or one such file.

    Queries that their ids do not explain are taken from queries.jsonl, which beside one file lies
    a folder further up: it is as good as not there where nobody may import it.

    Args:
        importable: raises NotAllowedError for such a path.
    """
    zipped = path.suffix == ".zip"
    folder = _zipped_folder(path) if zipped else path
    file = path if path.is_file() and not zipped else beir_file(folder)
    if file is None:
        raise BadInputError(f"{path} holds no judgments.", "Give a file, or a BEIR folder.")
    with suppress(NotAllowedError):
        beside = file.parent.parent / "queries.jsonl"
        queries = beside if zipped else importable(beside)
        if queries.is_file():
            intake.offered.update(_beir_queries(text_of(queries), intake.corpus.name))
    decisions = folder / DECISIONS
    if decisions.is_file():
        read_jsonl(text_of(decisions), intake, annotator, None)
    else:
        _take_grades(grade_lines(text_of(file)), intake, annotator, origin)


def _zipped_folder(archive: Path) -> Path:
    """The folder of an archive that has the tables: the archive itself, or one in it. It can be
    read like any."""
    try:
        root = zipfile.Path(archive)
    except zipfile.BadZipFile as error:
        raise BadInputError(f"{archive} is no ZIP file.", "Download it again.") from error
    folders = [root, *(inside for inside in root.iterdir() if inside.is_dir())]
    return cast(Path, next((one for one in folders if (one / "qrels").is_dir()), root))


def _take_grades(
    lines: Iterable[GradeLine], intake: Intake, annotator: str, origin: Origin
) -> None:
    for line in lines:
        if line.problem:
            intake.broken(line.number, line.problem)
            continue
        try:
            grade = grade_of(line.grade)
        except ValueError:
            intake.broken(line.number, f"The grade '{line.grade}' is not a whole number.")
        else:
            item = (line.query_id, line.doc_id)
            intake.add(line.number, _graded(*item, annotator, grade, origin))


def read_csv(text: str, intake: Intake, annotator: str, origin: Origin | None) -> None:
    """Columns like those of our own export; query_id, doc_id and relevance must be there."""
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        rows.fieldnames = list(_named_fields(rows.fieldnames or ()))
        missing = [name for name in _NEEDED if name not in rows.fieldnames]
        if missing:
            raise BadInputError(
                f"{intake.file} has no column '{missing[0]}'.",
                "Its first line names the columns: query_id, doc_id, relevance, annotator.",
            )
        line = 2
        for fields in rows:
            if None in fields:
                intake.broken(line, "It has more columns than the first line.")
            else:
                _row(intake, fields, line, annotator, origin)
            line = rows.line_num + 1
    except csv.Error as error:
        raise broken_line(intake.file, rows.line_num, f"{error}.") from error


def read_jsonl(text: str, intake: Intake, annotator: str, origin: Origin | None) -> None:
    """One JSON object per line, with the fields of our own export."""
    for number, line in numbered_lines(text):
        fields = _object(intake, number, line)
        if fields is not None:
            _row(intake, fields, number, annotator, origin)


def read_hand_over(text: str, intake: Intake) -> None:
    """All that one annotator did, with the queries: every event, undos included."""
    about = header(text) or {}
    intake.as_it_was = True
    queries = events = 0
    for number, line in list(numbered_lines(text))[1:]:
        fields = _object(intake, number, line)
        if fields is None:
            continue
        if "query" in fields:
            queries += 1
            _offer(intake, fields, number)
            continue
        events += 1
        if str(fields.get("annotator")) != about.get("annotator"):
            intake.broken(number, f"It is not by {about.get('annotator')}, whose file this is.")
        else:
            _row(intake, fields, number, "", None)
    if (queries, events) != (about.get("queries"), about.get("events")):
        intake.broken(
            0,
            f"It has {events:,} events on {queries:,} queries, and its first line says "
            f"{about.get('events')} on {about.get('queries')}: a part is missing.",
        )


def read_graded(collection: Graded, intake: Intake, adjudicator: str) -> None:
    """A collection that keeps its annotators, such as CSFCube: the grades of each of them, and
    the adjudicated ones as decisions by ``adjudicator``."""
    name = intake.corpus.name
    for topic in collection.topics:
        intake.offered[topic.query_id] = topic.query(name)
    sources: list[tuple[str, Origin, Mapping[str, Mapping[str, int]]]] = [
        *((who, "import", own) for who, own in collection.annotators.items()),
        (adjudicator, "adjudication", collection.qrels),
    ]
    for annotator, origin, qrels in sources:
        for query_id, grades in qrels.items():
            for doc_id, grade in grades.items():
                intake.add(0, _graded(query_id, doc_id, annotator, grade, origin))


# -- lines -------------------------------------------------------------------------------------


def _graded(query_id: str, doc_id: str, annotator: str, grade: int, origin: Origin) -> Judgment:
    """A grade of a file that says nothing else, not even by which event it was given."""
    return Judgment(query_id, doc_id, annotator, grade, origin=origin, event="")


def _row(
    intake: Intake, fields: Mapping[str, Any], line: int, annotator: str, origin: Origin | None
) -> None:
    try:
        whose = _as_they_were(fields)
        names = _named_fields(fields)
        own = dict(zip(names, fields.values(), strict=True))
        given = [from_fields(one, annotator) for one in whose or [own]]
    except BadInputError as error:
        intake.broken(line, error)
        return
    if whose:
        origin = "adjudication" if fields["basis"] == "adjudicated" else None
    for one in given:
        intake.add(line, one if origin is None else replace(one, origin=origin))


def _as_they_were(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A line of our adjudicated grades as what it was: one person's decision, or the grades of
    those who agreed; [] for other lines."""
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
    """The names of a line's fields, ours where they go by others."""
    for name in names:
        ours = judgment_field(name)
        yield name if ours in names else ours


def _object(intake: Intake, line: int, text: str) -> Mapping[str, Any] | None:
    try:
        fields = parse_json(text)
    except ValueError:
        fields = None
    if isinstance(fields, dict):
        return fields
    intake.broken(line, "It is no JSON object.")
    return None


def _offer(intake: Intake, fields: Mapping[str, Any], line: int) -> None:
    try:
        intake.offered[str(fields["query_id"])] = _query(fields["query"], intake.corpus.name)
    except (BadInputError, KeyError) as error:
        intake.broken(line, f"The query cannot be read: {error}")


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
                yield str(row["_id"]), _query(asked, corpus)
        except (BadInputError, ValueError, KeyError, AttributeError):
            continue  # a query that is not described here may be explained by its id


def _query(fields: Mapping[str, Any], corpus: str) -> Query:
    """A query of a file, asked of this corpus; BadInputError when it is none."""
    try:
        query = query_from_json(json.dumps({**fields, "corpus": corpus}))
        query_to_json(query).encode()  # half a character cannot be stored
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise BadInputError(f"It is no query ({error}).") from error
    return query


# -- one judgment ----------------------------------------------------------------------------

FIELDS = (
    "query_id", "doc_id", "relevance", "annotator", "verdict", "note", "marks", "time",
    "seconds", "origin", "rank", "system", "instruction", "blind", "event",
)  # fmt: skip
"""What a line has, in the order of the columns."""
HIGHEST = 10**9
"""Of ranks and seconds; far beyond any."""
LONGEST = LONGEST_INSTRUCTION


def to_fields(judgment: Judgment) -> dict[str, Any]:
    """An event as JSON-ready values."""
    fields = {name: getattr(judgment, name) for name in FIELDS}
    fields["marks"] = [list(span) for span in judgment.marks]
    fields["time"] = judgment.time.isoformat()
    return fields | ({"undoes": judgment.undoes} if judgment.undoes else {})


def from_fields(fields: Mapping[str, Any], annotator: str = "") -> Judgment:
    """Read what :func:`to_fields` or :func:`to_cells` made, or a person with the same columns.

    Only query_id, doc_id and relevance must be there, and an annotator unless one is given. A
    judgment without an ``event`` has "" for it; one without a time is of now.

    Args:
        annotator: whose judgment it is where the fields do not say; adjudicated grades are
            nobody's in them.
    """
    texts = ("query_id", "doc_id", "annotator", "note", "system", "instruction", "event", "undoes")
    read: dict[str, Any] = {name: _text(fields, name) for name in texts}
    if read["annotator"].strip().casefold() in ("", ADJUDICATED):
        read["annotator"] = annotator or read["annotator"]
    for name in ("system", "instruction"):  # as with notes: what was asked may have held some
        read[name] = printable(read[name])
    for name in ("event", "undoes", "system", "instruction"):
        if read[name] != printable(read[name]) or len(read[name]) > LONGEST:
            raise BadInputError(f"The {name} is too long or holds control characters.")
    if any("\ud800" <= c <= "\udfff" for c in read["query_id"] + read["doc_id"]):
        raise BadInputError("An id holds half a character.")
    relevance = _relevance(fields.get("relevance"))
    verdict = _text(fields, "verdict") or ("grade" if relevance is not None else "")
    if not verdict:
        raise BadInputError("There is no relevance.", "Give a grade, or a verdict like 'skip'.")
    # What our own files say is kept; what a person wrote is an import.
    origin = _text(fields, "origin") if read["event"] else "import"
    time = _text(fields, "time")
    if verdict == "undo" and not (read["event"] and read["undoes"] and time):
        raise BadInputError("The undo does not name its event, time and what it takes back.")
    return Judgment(
        relevance=relevance,
        verdict=_one_of(verdict, get_args(Verdict), "verdict"),
        origin=_one_of(origin or "import", get_args(Origin), "origin"),
        marks=_marks(fields.get("marks")),
        time=_time(time) if time else datetime.now(UTC),
        seconds=_number(fields, "seconds", float),
        rank=_number(fields, "rank", int),
        blind=fields.get("blind") in (True, "true", "True", "TRUE"),
        **read,
    )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None or isinstance(value, (list, dict)):
        return ""
    return str(value)


def _relevance(value: Any) -> int | None:
    if value in (None, ""):
        return None
    try:
        return grade_of(str(value))
    except ValueError as error:
        raise BadInputError(f"The relevance '{str(value)[:40]}' is not a whole number.") from error


def _number(fields: Mapping[str, Any], name: str, kind: type[int] | type[float]) -> Any:
    value = fields.get(name)
    if value is None or value == "":
        return None
    try:
        if isinstance(value, bool) or (kind is int and isinstance(value, float)):
            raise ValueError(value)
        number = kind(value)
        if not 0 <= number <= HIGHEST:  # NaN is not either
            raise ValueError(value)
    except (ValueError, TypeError, OverflowError) as error:
        what = "whole number" if kind is int else "number"
        said = str(value)[:40]
        raise BadInputError(f"The {name} '{said}' is not a {what} from 0 on.") from error
    return number


def _one_of(value: str, allowed: tuple[str, ...], what: str) -> Any:
    if value not in allowed:
        raise BadInputError(f"'{value}' is no {what}.", f"Use {', '.join(allowed)}.")
    return value


def _marks(value: Any) -> tuple[Span, ...]:
    wrong = "The marks are no list of [start, end]."
    try:
        spans = parse_json(value) if isinstance(value, str) and value else value or []
        marks = tuple((start, end) for start, end in spans)
    except (ValueError, TypeError) as error:
        raise BadInputError(wrong) from error
    if any(type(a) is not int or type(b) is not int or not 0 <= a < b for a, b in marks):
        raise BadInputError(wrong)
    return marks


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadInputError(f"The time '{text}' cannot be read.", "Write ISO 8601.") from error
