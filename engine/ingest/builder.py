"""From a row to a ``SourceDocument``: fields picked, cleaned and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.bibliographic import DOIS, doi_in, doi_of, states_absence, without_markup, year_in
from engine.errors import BadInputError
from engine.ingest import values as v
from engine.ingest.rows import Notes, Row, RowError, kind, listed, short
from engine.ingest.values import NAMES, plain_name, value_at
from engine.types.corpora import FaultKind
from engine.types.documents import SourceDocument, Span

if TYPE_CHECKING:
    from engine.ingest.source import Source

_MAY_BE_DOI = ("ee", "note", "notes", "howpublished", "link")
"""Columns that hold a DOI, if nothing else."""
_TEXT_REMEDY = "Give the text as a string or a list of strings."


def build(source: Source, row: Row, number: int, notes: Notes) -> SourceDocument:
    """The document of a row; raises BadInputError (RowError where a choice helps) naming it."""
    if row.problem is not None:
        raise row.problem
    return _Document(source, row, notes).build(number)


def missing_doi(source: Source, row: Row) -> str | None:
    """The DOI of a row without text; None where there is a text, or no DOI."""
    if row.problem is not None or row.values.get(source.mapping.get("sentences", "")):
        return None
    document = _Document(source, row, Notes())
    value = document.value("text")
    return None if value is not None and not states_absence(str(value)) else document.doi


class _Document:
    """One row while it becomes a document. `corrected`: what was changed, as kinds of notes."""

    def __init__(self, source: Source, row: Row, notes: Notes) -> None:
        self.source, self.repairs, self.mapping = source, source.repairs, source.mapping
        self.notes = notes
        self.corrected: set[str] = set()
        self.used = set(self.mapping.values())
        self.where = row.where
        self.values = self._plain(row.values)
        title = v.scalar(self.value("title"), self.corrected)
        title = "" if title is None else str(title)
        self.title = " ".join(v.one_line(title, self.corrected).split())

    def build(self, number: int) -> SourceDocument:
        corrected = self.corrected
        text, spans = self._text()
        text = text if text.strip() else self._found() or self._stand_in()
        doc_id = self._doc_id() or self._given_id(number)
        spans, roles = without_blanks(text, spans, self._roles(spans))
        authors = v.authors(self.value("authors"), corrected)
        document = SourceDocument(
            doc_id=doc_id,
            title=self.title,
            text=text,
            where=self.where,
            sentences=spans,
            roles=roles,
            year=self._year(),
            authors=tuple(name for name, _ in authors),
            url=self._url(),
            metadata=self._metadata() | v.undivided(authors),
        )
        if v.other_script(text):
            corrected.add("scripts")
        self.notes.add(corrected)
        return document

    def _plain(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values without markup, unless sentences are given as places in the text, and with their
        DOIs in one spelling."""
        plain = dict(values)
        for column, value in values.items():
            if is_doi(column):
                plain[column] = doi_in(value) or value
            elif "sentences" not in self.mapping and column != self.mapping.get("doc_id"):
                plain[column] = without_markup(value, self.corrected)
        return plain

    def value(self, field: str) -> Any:
        """The value of a field, or None."""
        if field not in self.mapping:
            return None
        value = value_at(self.values, self.mapping[field])
        return None if v.missing(value) else value

    @property
    def doi(self) -> str | None:
        """The DOI of the row, in small letters."""
        values = [self.values[c] for c in self.values if is_doi(c)] + [self.value("url")]
        others = (doi_of(self.values.get(name)) for name in _MAY_BE_DOI)
        return next(filter(None, map(doi_in, [*values, *others])), None)

    def _doc_id(self) -> str | None:
        if self.source.source_format.keys and self.repairs.ids_from_doi and (doi := self.doi):
            return doi
        value = self.value("doc_id")
        doc_id = v.doc_id(value, self.corrected)
        if doc_id is None and value is not None and not isinstance(value, str):
            raise BadInputError(
                f"{self.where}: the id is {kind(value)}.", "Ids are text or whole numbers."
            )
        return doc_id

    def _given_id(self, number: int) -> str:
        """The id of a row without one."""
        doi = self.doi
        self._fault("id", substitute=doi is not None)
        if doi is not None and self.repairs.ids_from_doi:
            self.notes.add({"ids_from_doi"}, self.where)
            return doi
        if self.repairs.number_ids:
            self.notes.add({"numbered"}, self.where)
            return f"{self.source.id_prefix}-{number}"
        absent = self.value("doc_id") is None
        raise self._lacking("doc_id", "no id" if absent else "the id is empty", "id")

    def _url(self) -> str | None:
        url = v.url(self.value("url"), self.corrected)
        doi = None if url else self.doi
        return f"https://doi.org/{doi}" if doi else url

    def _year(self) -> int | None:
        value = self.value("year")
        year = None if value is None else year_in(value)
        if year is None and value not in (None, ""):
            self.corrected.add("years")
        return year

    def _text(self) -> tuple[str, tuple[Span, ...] | None]:
        """The text and its sentences as far as they are given; blank where there is none."""
        value, given = self.value("text"), self._list("sentences")
        spans: tuple[Span, ...] | None = None
        if isinstance(value, list | tuple):
            text, spans = join(self.where, list(value), self.corrected)
        elif value is None and given:
            text, spans = join(self.where, given, self.corrected)
        else:
            text = v.clean(_as_text(self.where, value), self.corrected)
            if given and text.strip():
                spans = locate(self.where, text, given, self.corrected)
        return ("", None) if states_absence(text) else (text, spans)

    def _found(self) -> str:
        """The abstract that was found by the row's DOI, or ""."""
        doi = self.doi
        if doi is None:
            return ""
        self.notes.counts["fillable"] += 1
        text = v.clean(self.source.abstracts.get(doi.casefold(), ""), self.corrected)
        if text.strip():
            self.corrected.add("filled")
        return text.strip() and text

    def _stand_in(self) -> str:
        """The text of a row without one."""
        self._fault("empty", substitute=bool(self.title))
        by_default = self.source.source_format.title_stands_in and not self.repairs.skip_empty
        stands_in = by_default or self.repairs.title_as_text
        if self.title and stands_in:
            self.corrected.add("stand_in")
            return self.title
        if stands_in:
            raise self._lacking("text", "neither a title nor a text", "empty")
        absent = self.value("text") is None
        raise self._lacking("text", "no text" if absent else "the text is empty", "empty")

    def _list(self, field: str) -> list[Any] | None:
        """The list under ``field``; a guessed column of another kind is left to metadata."""
        value = self.value(field)
        given = v.as_list(value)
        if value is None or value == "" or given is not None:
            return given or None
        if field in self.source.chosen:
            raise BadInputError(
                f"{self.where}: {self.mapping[field]!r} is {kind(value)}.",
                f"A list is needed to read {field} from it.",
            )
        self.used.discard(self.mapping[field])
        return None

    def _roles(self, spans: tuple[Span, ...] | None) -> tuple[str | None, ...] | None:
        given = self._list("roles")
        # The roles may be of an abstract that is not there.
        if given is None or "stand_in" in self.corrected:
            return None
        column = self.mapping["roles"]
        if spans is None and "roles" not in self.source.chosen and column != "roles":
            return None  # "labels" of a whole document are no sentence roles
        sentences = len(spans or ())
        if len(given) != sentences:
            raise BadInputError(
                f"{self.where}: {len(given)} roles in {column!r} for {sentences} sentences.",
                "Give one role per sentence, and the text as a list of sentences.",
            )
        unknown: set[str] = set()
        roles = tuple(v.role(label, unknown, self.source.labels) for label in given)
        self.corrected |= unknown
        # Labels of another lens say nothing in this one: then the roles are estimated.
        return None if unknown and not any(roles) else roles

    def _metadata(self) -> dict[str, v.Scalar]:
        only = self.source.source_format.metadata
        metadata: dict[str, v.Scalar] = {}
        for column, raw in self.values.items():
            if column in self.used or (only is not None and column not in only):
                continue
            value = v.scalar(raw, self.corrected)
            if value is None and raw and isinstance(raw, Mapping | list | tuple):
                self.corrected.add("nested")
            if value is not None:
                name = v.one_line(str(column).removeprefix("metadata."), self.corrected)
                # A column of the row's own goes before one of the same name in "metadata".
                if not str(column).startswith("metadata.") or name not in self.values:
                    metadata[name] = value
        return metadata

    def _fault(self, fault: FaultKind, *, substitute: bool) -> None:
        line = f"{short(self.where)}: {self.title[:120] or '(no title)'}"
        self.notes.found(fault, line, substitute=substitute)

    def _lacking(self, field: str, what: str, fault: FaultKind) -> RowError:
        column = self.mapping.get(field)
        if column is not None:
            where = f"{self.where}: {what} (column {column!r})."
            return RowError(fault, where, "Fill it in, or remove the row.")
        return RowError(
            fault,
            f"{self.where}: {what} (columns: {listed(self.values)}).",
            f"Call a column {field!r} ({', '.join(NAMES[field][1:4])} are known too),"
            f" or choose the column that holds it: --map {field}=COLUMN.",
        )


def is_doi(column: str) -> bool:
    """Whether a DOI is looked for in a column of this name."""
    return plain_name(column).removeprefix("metadata.") in DOIS


def _as_text(where: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise BadInputError(f"{where}: the text is {kind(value)}.", _TEXT_REMEDY)


# -- sentences that a source has, as spans into the text -------------------------------------


def join(where: str, parts: list[Any], corrected: set[str]) -> tuple[str, tuple[Span, ...]]:
    """Sentences joined by one space, with their spans; blank ones get empty spans."""
    cleaned: list[str] = []
    spans: list[Span] = []
    at = 0
    for part in parts:
        if not isinstance(part, str):
            raise BadInputError(f"{where}: a sentence of the text is {kind(part)}.", _TEXT_REMEDY)
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
        elif isinstance(item, list | tuple) and list(map(type, item)) == [int, int]:
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
