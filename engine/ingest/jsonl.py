"""JSON Lines: one JSON object a line, or an answer of a service with a list of them; and the
folders of BEIR and CSFCube, whose documents are such files. Row numbers are line numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from engine.errors import BadInputError
from engine.ingest.records import plain_record, records_of
from engine.ingest.rows import InputFile, Row, too_long

BEIR = "corpus.jsonl"
CSFCUBE, CSFCUBE_JUDGMENTS = "abstracts-*.jsonl", "test-pid2anns-*.json"
"""Of the folders: the file with the documents, and that by which CSFCube's is known."""
CSFCUBE_FIELDS = {
    "doc_id": "paper_id",
    "title": "title",
    "text": "abstract",
    "roles": "pred_labels",
    "year": "metadata.year",
}
_REMEDY = "Write one JSON object per line."
_KINDS = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean"}


def rows(file: InputFile) -> Iterator[Row]:
    """The rows of each line that is not blank; a broken line is a row with a problem."""
    for number, line in file.short_lines():
        where = f"{file.name}, row {number}"
        if line is None:
            yield too_long(where)
        elif line.strip():
            yield from _rows(where, line)


def beir(file: InputFile) -> Iterator[Row]:
    """Rows of the folder's ``corpus.jsonl`` (or of that file itself): ``_id``, ``title``, ``text``,
    and SeedLens' own fields."""
    return rows(replace(file, path=file.path / BEIR) if file.path.is_dir() else file)


def csfcube(file: InputFile) -> Iterator[Row]:
    """Rows of the folder's abstracts, with a role per sentence (or of the file itself)."""
    found = sorted(file.path.glob(CSFCUBE)) if file.path.is_dir() else [file.path]
    if not found:
        raise BadInputError(
            f"{file.name} has no {CSFCUBE}.",
            "Choose the folder that holds abstracts-csfcube-preds.jsonl.",
        )
    return rows(replace(file, path=found[0]))


def _rows(where: str, line: str) -> Iterator[Row]:
    try:
        value = json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as e:
        yield Row.broken(where, f"broken JSON at character {e.pos + 1}: {e.msg}.", _REMEDY, e)
        return
    except (ValueError, RecursionError) as e:
        yield Row.broken(where, f"JSON that cannot be read: {e}.", _REMEDY, e)
        return
    if not isinstance(value, dict):
        kind = _KINDS.get(type(value), "null")
        yield Row.broken(where, f"expected a JSON object, found {kind}.", _REMEDY)
        return
    for record in records_of(value):
        yield Row(where, plain_record(record))
