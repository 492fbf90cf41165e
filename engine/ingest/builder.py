"""From a row to a ``SourceDocument``: fields picked, cleaned and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from engine.bibliographic import DOIS, doi_in, doi_of, states_absence, without_markup, year_in
from engine.errors import BadInputError
from engine.ingest import values as v
from engine.ingest.rows import Format, Row, RowError, listed, short
from engine.ingest.values import NAMES, plain_name, value_at
from engine.types.corpora import NO_REPAIRS, FaultKind, Repairs
from engine.types.documents import SourceDocument, Span

_T = TypeVar("_T")
_MAY_BE_DOI = ("ee", "note", "notes", "howpublished", "link")
"""Columns that hold a DOI, if nothing else."""


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds documents of one source."""

    source_format: Format
    mapping: Mapping[str, str]  # field -> column
    # the fields that a person mapped or the format fixes: a value of the wrong kind there is an
    # error; under a guessed column it is metadata
    chosen: frozenset[str]
    labels: v.Labels  # the sentence roles that the corpus's lens knows
    repairs: Repairs = NO_REPAIRS  # what stands in for a text or an id that is not there
    id_prefix: str = "row"  # begins ids that are numbers of rows
    # DOI, in small letters -> text of a document that has none of its own
    abstracts: Mapping[str, str] = field(default_factory=dict)

    def build(self, row: Row, number: int, notes: v.Notes) -> SourceDocument:
        """The document of a row; raises BadInputError (RowError where a choice helps) naming it."""
        if row.problem is not None:
            raise row.problem
        corrected: set[str] = set()
        row = self._plain(row, corrected)
        used = set(self.mapping.values())
        title = self._title(row, corrected)
        text, spans = self._text(row, used, corrected)
        if not text.strip():
            text = self._found(row, corrected, notes) or self._stand_in(
                row, title, corrected, notes
            )
        doc_id = self._doc_id(row, corrected) or self._given_id(row, title, number, notes)
        roles = self._roles(row, spans, used, corrected)
        spans, roles = without_blanks(text, spans, roles)
        authors = self._optional(row, "authors", v.authors, corrected) or ()
        document = SourceDocument(
            doc_id=doc_id,
            title=title,
            text=text,
            where=row.where,
            sentences=spans,
            roles=roles,
            year=self._year(row, corrected),
            authors=tuple(name for name, _ in authors),
            url=self._url(row, corrected),
            metadata=self._metadata(row, used, corrected) | v.undivided(authors),
        )
        if v.other_script(text):
            corrected.add("scripts")
        notes.add(corrected)
        return document

    def _plain(self, row: Row, corrected: set[str]) -> Row:
        """A row without markup, unless sentences are given as places in its text, and with its
        DOIs in one spelling."""
        values = dict(row.values)
        for column, value in row.values.items():
            if is_doi(column):
                values[column] = doi_in(value) or value
            elif "sentences" not in self.mapping and column != self.mapping.get("doc_id"):
                values[column] = without_markup(value, corrected)
        return Row(row.where, values)

    def _value(self, row: Row, field: str) -> Any:
        if field not in self.mapping:
            return None
        value = value_at(row.values, self.mapping[field])
        return None if v.missing(value) else value

    def _doc_id(self, row: Row, corrected: set[str]) -> str | None:
        if self.source_format.keys and self.repairs.ids_from_doi and (doi := self._doi(row)):
            return doi
        value = self._value(row, "doc_id")
        doc_id = v.doc_id(value, corrected)
        if doc_id is None and value is not None and not isinstance(value, str):
            raise BadInputError(
                f"{row.where}: the id is {kind(value)}.", "Ids are text or whole numbers."
            )
        return doc_id

    def _given_id(self, row: Row, title: str, number: int, notes: v.Notes) -> str:
        """What a row without id is called."""
        doi = self._doi(row)
        notes.found("id", _line(row, title), substitute=doi is not None)
        if doi is not None and self.repairs.ids_from_doi:
            notes.add({"ids_from_doi"}, row.where)
            return doi
        if self.repairs.number_ids:
            notes.add({"numbered"}, row.where)
            return f"{self.id_prefix}-{number}"
        absent = self._value(row, "doc_id") is None
        raise self._lacking(row, "doc_id", "no id" if absent else "the id is empty", "id")

    def _doi(self, row: Row) -> str | None:
        values = [row.values[c] for c in row.values if is_doi(c)] + [self._value(row, "url")]
        others = (doi_of(row.values.get(name)) for name in _MAY_BE_DOI)
        return next(filter(None, map(doi_in, [*values, *others])), None)

    def _url(self, row: Row, corrected: set[str]) -> str | None:
        url = self._optional(row, "url", v.url, corrected)
        doi = None if url else self._doi(row)
        return f"https://doi.org/{doi}" if doi else url

    def _title(self, row: Row, corrected: set[str]) -> str:
        title = v.scalar(self._value(row, "title"), corrected)
        return "" if title is None else " ".join(v.one_line(str(title), corrected).split())

    def _year(self, row: Row, corrected: set[str]) -> int | None:
        value = self._value(row, "year")
        year = None if value is None else year_in(value)
        if year is None and value not in (None, ""):
            corrected.add("years")
        return year

    def _optional(
        self, row: Row, field: str, read: Callable[[Any, set[str]], _T], corrected: set[str]
    ) -> _T | None:
        value = self._value(row, field)
        return None if value is None else read(value, corrected)

    def _text(
        self, row: Row, used: set[str], corrected: set[str]
    ) -> tuple[str, tuple[Span, ...] | None]:
        """The text and its sentences as far as they are given; blank where there is none."""
        value = self._value(row, "text")
        given = self._list(row, "sentences", used)
        spans: tuple[Span, ...] | None = None
        if isinstance(value, list | tuple):
            text, spans = join(row.where, list(value), corrected)
        elif value is None and given:
            text, spans = join(row.where, given, corrected)
        else:
            text = v.clean(_as_text(row, value), corrected)
            if given and text.strip():
                spans = locate(row.where, text, given, corrected)
        return ("", None) if states_absence(text) else (text, spans)

    def missing_doi(self, row: Row) -> str | None:
        """The DOI of a row without text; None where there is a text, or no DOI."""
        if row.problem is not None or row.values.get(self.mapping.get("sentences", "")):
            return None
        value = self._value(row, "text")
        return None if value is not None and not states_absence(str(value)) else self._doi(row)

    def _found(self, row: Row, corrected: set[str], notes: v.Notes) -> str:
        """The abstract that was found by the row's DOI, or ""."""
        doi = self._doi(row)
        if doi is None:
            return ""
        notes.counts["fillable"] += 1
        text = v.clean(self.abstracts.get(doi.casefold(), ""), corrected)
        if text.strip():
            corrected.add("filled")
        return text

    def _stand_in(self, row: Row, title: str, corrected: set[str], notes: v.Notes) -> str:
        """What serves as the text of a row without."""
        notes.found("empty", _line(row, title), substitute=bool(title))
        by_default = self.source_format.title_stands_in and not self.repairs.skip_empty
        if title and (by_default or self.repairs.title_as_text):
            corrected.add("stand_in")
            return title
        if by_default or self.repairs.title_as_text:
            raise self._lacking(row, "text", "neither a title nor a text", "empty")
        absent = self._value(row, "text") is None
        raise self._lacking(row, "text", "no text" if absent else "the text is empty", "empty")

    def _list(self, row: Row, field: str, used: set[str]) -> list[Any] | None:
        """The list under ``field``; a guessed column of another kind is left to metadata."""
        value = self._value(row, field)
        given = v.as_list(value)
        if value is None or value == "" or given is not None:
            return given or None
        if field in self.chosen:
            raise BadInputError(
                f"{row.where}: {self.mapping[field]!r} is {kind(value)}.",
                f"A list is needed to read {field} from it.",
            )
        used.discard(self.mapping[field])
        return None

    def _roles(
        self, row: Row, spans: tuple[Span, ...] | None, used: set[str], corrected: set[str]
    ) -> tuple[str | None, ...] | None:
        given = self._list(row, "roles", used)
        if given is None:
            return None
        column = self.mapping["roles"]
        if spans is None and "roles" not in self.chosen and column != "roles":
            return None  # "labels" of a whole document are no sentence roles
        if "stand_in" in corrected:
            return None  # roles of an abstract that is not there
        sentences = len(spans or ())
        if len(given) != sentences:
            raise BadInputError(
                f"{row.where}: {len(given)} roles in {column!r} for {sentences} sentences.",
                "Give one role per sentence, and the text as a list of sentences.",
            )
        unknown: set[str] = set()
        roles = tuple(v.role(label, unknown, self.labels) for label in given)
        corrected |= unknown
        # Labels of another lens say nothing in this one: then the roles are estimated.
        return None if unknown and not any(roles) else roles

    def _metadata(self, row: Row, used: set[str], corrected: set[str]) -> dict[str, v.Scalar]:
        only = self.source_format.metadata
        metadata: dict[str, v.Scalar] = {}
        for column, raw in row.values.items():
            if column in used or (only is not None and column not in only):
                continue
            value = v.scalar(raw, corrected)
            if value is None and raw and isinstance(raw, Mapping | list | tuple):
                corrected.add("nested")
            if value is not None:
                name = v.one_line(str(column).removeprefix("metadata."), corrected)
                # A column of the row's own goes before one of the same name in "metadata".
                if not str(column).startswith("metadata.") or name not in row.values:
                    metadata[name] = value
        return metadata

    def _lacking(self, row: Row, field: str, what: str, fault: FaultKind) -> RowError:
        column = self.mapping.get(field)
        if column is not None:
            where = f"{row.where}: {what} (column {column!r})."
            return RowError(fault, where, "Fill it in, or remove the row.")
        return RowError(
            fault,
            f"{row.where}: {what} (columns: {listed(row.values)}).",
            f"Call a column {field!r} ({', '.join(NAMES[field][1:4])} are known too),"
            f" or choose the column that holds it: --map {field}=COLUMN.",
        )


def is_doi(column: str) -> bool:
    """Whether a DOI is looked for in a column of this name."""
    return plain_name(column).removeprefix("metadata.") in DOIS


def _line(row: Row, title: str) -> str:
    """A row in a list of rows: where it stands, and its title."""
    return f"{short(row.where)}: {title[:120] or '(no title)'}"


def _as_text(row: Row, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise BadInputError(
        f"{row.where}: the text is {kind(value)}.",
        "Give the text as a string or a list of strings.",
    )


# -- sentences that a source has, as spans into the text -------------------------------------


def join(where: str, parts: list[Any], corrected: set[str]) -> tuple[str, tuple[Span, ...]]:
    """Sentences joined by one space, with their spans; blank ones get empty spans."""
    cleaned: list[str] = []
    spans: list[Span] = []
    at = 0
    for part in parts:
        if not isinstance(part, str):
            raise BadInputError(
                f"{where}: a sentence of the text is {kind(part)}.",
                "Give the text as a string or a list of strings.",
            )
        sentence = v.clean(part, corrected).strip()
        if sentence and cleaned:
            at += 1
        spans.append((at, at + len(sentence)))
        at += len(sentence)
        if sentence:
            cleaned.append(sentence)
    return " ".join(cleaned), tuple(spans)


def locate(where: str, text: str, given: list[Any], corrected: set[str]) -> tuple[Span, ...]:
    """Spans of given sentences in the text: strings are looked up in order, pairs checked."""
    spans: list[Span] = []
    at = 0
    for number, item in enumerate(given, start=1):
        if isinstance(item, str):
            sentence = v.clean(item, corrected).strip()
            start = text.find(sentence, at)
            span = (start, start + len(sentence))
        elif isinstance(item, list | tuple) and len(item) == 2 and _whole(item):
            span = (item[0], item[1])
        else:
            span = (-1, -1)
        if not at <= span[0] <= span[1] <= len(text):
            shown = repr(item)[:60]
            raise BadInputError(
                f"{where}: sentence {number} ({shown}) is not in the text after position {at}.",
                f"Give sentences in order, as in the text, or as offsets from 0 to {len(text)}.",
            )
        spans.append(span)
        at = span[1]
    return tuple(spans)


def _whole(pair: list[Any] | tuple[Any, ...]) -> bool:
    return all(isinstance(item, int) and not isinstance(item, bool) for item in pair)


def without_blanks(
    text: str, spans: tuple[Span, ...] | None, roles: tuple[str | None, ...] | None
) -> tuple[tuple[Span, ...] | None, tuple[str | None, ...] | None]:
    # Only now: a blank sentence has a role in the list of roles, and both go together.
    if spans is None:
        return None, roles
    kept = [n for n, (start, end) in enumerate(spans) if text[start:end].strip()]
    if not kept:
        return None, None
    return tuple(spans[n] for n in kept), roles and tuple(roles[n] for n in kept)


def kind(value: Any) -> str:
    """What a value is, in a person's words."""
    kinds = {list: "a list", dict: "an object", bool: "a boolean", str: "text"}
    return kinds.get(type(value), f"of type {type(value).__name__}")
