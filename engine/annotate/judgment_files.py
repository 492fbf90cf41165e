"""Files of judgments, read line by line into an :class:`Intake`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from engine.annotate.intake import Intake
from engine.annotate.judgment_rows import from_fields, parsed
from engine.collections.trec import check_grade, decoded
from engine.errors import BadInputError
from engine.search.queries import query_from_json, query_to_json
from engine.types.annotating import Judgment, Origin
from engine.types.collections import Collection
from engine.types.searches import Query

HAND_OVER = "seedlens-judgments"
"""What the first line of a hand-over has as its ``format``."""
CSFCUBE_FILES = "test-pid2anns-csfcube-*.json"
_NEEDED = ("query_id", "doc_id")


class _Table(Protocol):
    """What the readers of :mod:`csv` have in common."""

    @property
    def line_num(self) -> int: ...


def detect(path: Path) -> str:
    """The format of a file or folder, by its ending and what it begins with."""
    if path.is_dir():
        return "csfcube" if any(path.glob(CSFCUBE_FILES)) else "beir"
    if path.suffix in (".jsonl", ".ndjson"):
        return "hand-over" if header(text_of(path)) is not None else "jsonl"
    return {".csv": "csv", ".tsv": "beir"}.get(path.suffix, "trec")


def text_of(path: Path) -> str:
    """The text of a file; BadInputError when there is none, or not in UTF-8."""
    try:
        return decoded(path.read_bytes(), path.name)
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be read: {error.strerror or error}.", "Give the path of a file."
        ) from error


def header(text: str) -> Mapping[str, Any] | None:
    """The first line of a hand-over; None when the text is none."""
    try:
        found = parsed(text.split("\n", 1)[0])
    except ValueError:
        return None
    is_one = isinstance(found, dict) and found.get("format") == HAND_OVER
    return found if is_one else None


# -- formats -----------------------------------------------------------------------------------


def read_trec(text: str, intake: Intake, annotator: str, origin: Origin) -> None:
    """``query_id 0 doc_id relevance`` lines; empty ones are skipped."""
    for number, line in _lines(text):
        fields = line.split()
        if len(fields) != 4:
            intake.broken(
                number, f"{len(fields)} columns, not the 4 of 'query_id 0 doc_id relevance'."
            )
            continue
        query_id, _, doc_id, grade = fields
        with_grade(intake, number, (query_id, doc_id, grade), annotator, origin)


def read_beir(path: Path, intake: Intake, annotator: str, origin: Origin) -> None:
    """A BEIR folder with qrels/test.tsv (or dev, train), or one such file.

    Queries that their ids do not explain are taken from queries.jsonl.
    """
    file = _beir_file(path)
    queries = file.parent.parent / "queries.jsonl"
    if queries.is_file():
        intake.offered.update(_beir_queries(text_of(queries), intake.corpus.name))
    rows = csv.reader(io.StringIO(text_of(file)), delimiter="\t")
    with _mended(intake, rows):
        for fields in rows:
            line = rows.line_num
            if not fields or (line == 1 and fields[0] == "query-id"):
                continue
            if len(fields) == 3:
                with_grade(intake, line, fields, annotator, origin)
            else:
                intake.broken(
                    line, f"{len(fields)} columns, not the 3 of 'query-id corpus-id score'."
                )


def read_csv(text: str, intake: Intake, annotator: str, origin: Origin | None) -> None:
    """Columns like those of our own export; query_id, doc_id and relevance must be there."""
    rows = csv.DictReader(io.StringIO(text, newline=""))
    with _mended(intake, rows):
        missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
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


def read_jsonl(text: str, intake: Intake, annotator: str, origin: Origin | None) -> None:
    """One JSON object per line, with the fields of our own export."""
    for number, line in _lines(text):
        fields = _object(intake, number, line)
        if fields is not None:
            _row(intake, fields, number, annotator, origin)


def read_hand_over(text: str, intake: Intake) -> None:
    """All that one annotator did, with the queries: every event, undos included."""
    about = header(text) or {}
    intake.as_it_was = True
    queries = events = 0
    for number, line in list(_lines(text))[1:]:
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


def read_graded(collection: Collection, intake: Intake, adjudicator: str) -> None:
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


@contextmanager
def _mended(intake: Intake, rows: _Table) -> Iterator[None]:
    """Names the line that a table cannot be read beyond."""
    try:
        yield
    except csv.Error as error:
        raise BadInputError(
            f"{intake.file}, line {rows.line_num:,}: {error}.", "Mend that line."
        ) from error


# -- lines -------------------------------------------------------------------------------------


def with_grade(
    intake: Intake, line: int, fields: Sequence[str], annotator: str, origin: Origin
) -> None:
    """Take in (query_id, doc_id, grade) as text."""
    query_id, doc_id, text = fields
    try:
        grade = check_grade(text, "", None)
    except BadInputError:
        intake.broken(line, f"The grade '{text}' is not a whole number from 0 on.")
    else:
        intake.add(line, _graded(query_id, doc_id, annotator, grade, origin))


def _graded(query_id: str, doc_id: str, annotator: str, grade: int, origin: Origin) -> Judgment:
    """A grade of a file that says nothing else, not even by which event it was given."""
    return Judgment(query_id, doc_id, annotator, grade, origin=origin, event="")


def _row(
    intake: Intake, fields: Mapping[str, Any], line: int, annotator: str, origin: Origin | None
) -> None:
    try:
        given = from_fields(fields, annotator)
    except BadInputError as error:
        intake.broken(line, error)
    else:
        intake.add(line, given if origin is None else replace(given, origin=origin))


def _object(intake: Intake, line: int, text: str) -> Mapping[str, Any] | None:
    try:
        found = parsed(text)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    intake.broken(line, "It is no JSON object.")
    return None


def _offer(intake: Intake, fields: Mapping[str, Any], line: int) -> None:
    try:
        intake.offered[str(fields["query_id"])] = _query(fields["query"], intake.corpus.name)
    except (BadInputError, KeyError) as error:
        intake.broken(line, f"The query cannot be read: {error}")


def _beir_file(path: Path) -> Path:
    if path.is_file():
        return path
    files = [path / "qrels" / f"{name}.tsv" for name in ("test", "dev", "train")]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise BadInputError(f"{path} holds no judgments.", "Give a file, or a BEIR folder.")
    return found


def _beir_queries(text: str, corpus: str) -> Iterator[tuple[str, Query]]:
    for _, line in _lines(text):
        try:
            row = parsed(line)
            about = row.get("metadata") or {}
            asked = {name: about.get(name) for name in ("seed", "aspect", "instruction")}
            if asked["seed"] is None:
                asked["text"] = str(row.get("text") or "")
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


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line
