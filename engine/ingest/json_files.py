"""JSON: Lines with an object each, one list of objects, an answer of a service, and the folders of
BEIR and CSFCube. Records as other programs nest them become plain columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.bibliographic import abstract_of, at, year_in
from engine.errors import BadInputError
from engine.ingest.bibtex import plain
from engine.ingest.files import TOO_LONG, InputFile, opened
from engine.ingest.rows import SHORTEN, Row, kind
from engine.ingest.values import NESTED, is_known
from engine.types.limits import ROW_BYTES

LISTS = ("results", "items", "data", "works", "records", "documents", "articles", "papers")
"""Under what an answer of a service has its records."""


def records_of(value: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The records of an object: those in its list, where it is an answer of a service, else it."""
    if not any(map(is_known, value.keys() - set(LISTS))):
        for name in LISTS:
            found = value.get(name)
            if isinstance(found, list) and found and all(isinstance(one, dict) for one in found):
                return found
    return (value,)


def plain_record(values: Mapping[str, Any]) -> dict[str, Any]:
    """Column -> value, with objects of :data:`engine.ingest.values.NESTED` spread one level:
    ``{"metadata": {"year": 1}}`` is ``{"metadata.year": 1}``."""
    if "abstract_inverted_index" in values:
        values = _openalex(values)
    elif isinstance(values.get("authors_parsed"), list):
        values = _arxiv(values)
    if isinstance(values.get("journal"), Mapping):
        values = _with_journal(values)
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if name in NESTED and isinstance(value, Mapping):
            flat |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            flat[name] = value
    return flat


def _openalex(work: Mapping[str, Any]) -> dict[str, Any]:
    """A work of OpenAlex, as its API and its snapshot have it."""
    pages = (at(work, "biblio", "first_page"), at(work, "biblio", "last_page"))
    left_out = (
        *("abstract_inverted_index", "authorships", "biblio", "primary_location", "display_name"),
    )
    return {name: value for name, value in work.items() if name not in left_out} | {
        "id": str(work.get("id") or "").rpartition("/")[2],
        "title": work.get("title") or work.get("display_name"),
        "abstract": abstract_of(work["abstract_inverted_index"]),
        "authors": [at(one, "author", "display_name") for one in work.get("authorships") or ()],
        "venue": at(work, "primary_location", "source", "display_name"),
        "volume": at(work, "biblio", "volume"),
        "issue": at(work, "biblio", "issue"),
        "pages": "-".join(filter(None, pages)),
    }


def _arxiv(paper: Mapping[str, Any]) -> dict[str, Any]:
    """A paper of arXiv's snapshot: LaTeX in its texts, names as [last, first, suffix, ...]."""
    first = next(iter(paper.get("versions") or ()), None)
    texts = {
        name: plain(text) if "\\" in text else " ".join(text.split())
        for name in ("title", "abstract")
        if isinstance(text := paper.get(name), str)
    }
    names = (name for name in paper["authors_parsed"] if isinstance(name, list))
    left_out = ("authors_parsed", "versions")
    kept = {name: value for name, value in paper.items() if name not in left_out}
    return {
        **kept,
        **texts,
        "authors": [" ".join(filter(None, (*n[1:2], *n[:1], *n[2:3]))) for n in names],
        "year": year_in(at(first, "created")) or year_in(paper.get("update_date")),
        "url": f"https://arxiv.org/abs/{paper.get('id')}",
    }


def _with_journal(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose journal is an object, as services have it: ``{"name": ..., "pages": ...}``."""
    journal = record["journal"]
    names = (journal.get(key) for key in ("name", "title", "display_name"))
    own = ("volume", "issue", "pages", "issn", "publisher")
    parts = {key: journal[key] for key in own if isinstance(journal.get(key), str | int)}
    return {**parts, **record, "journal": next((n for n in names if isinstance(n, str)), None)}


def line_rows(file: InputFile) -> Iterator[Row]:
    """The rows of each line that is not blank; a broken line is a row with a problem."""
    for number, line in file.short_lines():
        where = f"{file.name}, row {number}"
        if line is None:
            yield Row.broken(where, TOO_LONG, SHORTEN)
        elif line.strip():
            yield from _line_rows(where, line)


def _line_rows(where: str, line: str) -> Iterator[Row]:
    remedy = "Write one JSON object per line."
    try:
        value = json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as e:
        yield Row.broken(where, f"broken JSON at character {e.pos + 1}: {e.msg}.", remedy)
        return
    except (ValueError, RecursionError) as e:
        yield Row.broken(where, f"JSON that cannot be read: {e}.", remedy)
        return
    if not isinstance(value, dict):
        yield Row.broken(where, f"a JSON object is expected; this is {kind(value)}.", remedy)
        return
    for record in records_of(value):
        yield Row(where, plain_record(record))


def rows_in_folder(pattern: str, file: InputFile) -> Iterator[Row]:
    """Rows of the first file in a folder whose name is so, or of that file itself."""
    paths = sorted(file.path.glob(pattern)) if file.path.is_dir() else [file.path]
    if not paths:
        raise BadInputError(f"{file.name} has no {pattern}.", f"Choose a folder with {pattern}.")
    return line_rows(replace(file, path=paths[0]))


_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()
_LIST = re.compile(rf'\ufeff?\s*(?:\[|\{{(?s:.*?)"(?:{"|".join(LISTS)})"\s*:\s*\[(?=\s*\{{))')
"""The beginning of a file up to its list, which an answer of a service has under a name."""
_PIECE = 2**16
_CUT = 12  # Characters before the end of a piece in which a value that goes on there looks broken
_REMEDY = "Write one list of JSON objects: [{...}, {...}]."


def list_rows(file: InputFile) -> Iterator[Row]:
    """One row per object of a list, of which one at a time is held in memory."""
    number = 0
    try:
        for number, value in enumerate(_values(file), start=1):
            where = f"{file.name}, row {number}"
            if isinstance(value, Mapping):
                yield Row(where, _csl(plain_record(value)))
            else:
                yield Row.broken(where, "a JSON object is expected.", _REMEDY)
    except _EndError as error:
        yield Row.broken(f"{file.name}, row {number + 1}", f"broken JSON ({error}).", _REMEDY)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise BadInputError(
            f"{file.name}, row {number + 1}: broken JSON ({reason}).", _REMEDY
        ) from error


def _values(file: InputFile) -> Iterator[Any]:
    """The values of the list in a file; ValueError where it ends, or cannot be read."""
    with opened(file.path, file.encoding) as content:
        text = content.read(_PIECE)
        begin = _LIST.match(text)
        while begin is None and "{" in text[:_PIECE] and len(text) < ROW_BYTES:
            if not (more := content.read(len(text))):
                break
            text += more
            begin = _LIST.match(text)
        if begin is None:
            raise BadInputError(f"{file.name} is no list of JSON objects.", _REMEDY)
        within, at = "{" in begin[0], begin.end()
        while True:
            found = _BETWEEN.match(text, at)
            at = found.end() if found else at
            if text[at : at + 1] == "]":
                break
            try:
                value, at = _DECODER.raw_decode(text, at)
            except json.JSONDecodeError as error:
                cut = error.pos >= len(text) - _CUT or "Unterminated" in error.msg
                # As much again as is left, so that a long object is tried a few times only.
                more = content.read(max(_PIECE, len(text) - at)) if cut else ""
                if not more and cut:
                    raise _EndError(error.msg) from error
                if not more:
                    raise
                text, at = text[at:] + more, 0
            else:
                yield value
        if not within and (text[at + 1 :] + content.read(_PIECE)).strip():
            raise _EndError("there is more behind the end of the list")


class _EndError(ValueError):
    """A list that does not end as it should; the rows before are good."""


def _csl(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with the year and the venue of CSL-JSON under their own names."""
    values = {name: _date(value) for name, value in record.items()}
    if "issued" in values:
        values.setdefault("year", values.pop("issued"))
    if isinstance(values.get("container-title"), str):
        values.setdefault("venue", values.pop("container-title"))
    return values


def _date(value: Any) -> Any:
    """A CSL date, ``{"date-parts": [[2020, 3]]}`` or in words, as "2020-03"; all else as it is."""
    match value:
        case {"date-parts": [[*parts], *_]}:
            return "-".join(str(part).zfill(2) for part in parts)
        case {"literal": str(words)} | {"raw": str(words)}:
            return words
    return value
