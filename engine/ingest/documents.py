"""From a row to a ``SourceDocument``: the column of each field, and single values cleaned and
checked."""

from __future__ import annotations

import ast
import json
import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeGuard
from uuid import UUID

from engine.bibliographic import (
    DOIS,
    doi_in,
    doi_of,
    first_last,
    name_parts,
    states_absence,
    verbatim,
    without_markup,
    year_in,
)
from engine.errors import BadInputError, UnknownNameError
from engine.ingest.files import Notes, Row, RowError, kind, listed, short, table
from engine.types.corpora import FaultKind
from engine.types.documents import SourceDocument, Span
from engine.types.lenses import Lens

if TYPE_CHECKING:
    from engine.ingest.source import Source

_COLUMNS = table("columns")
CITED: dict[str, dict[str, str]] = _COLUMNS.pop("cited")
"""Fields of metadata that citations need; columns with ``own`` names are stored under these."""
_OWN = frozenset(name for names in CITED.values() for name in names["own"].split())
OTHERS = {name: field for field, names in CITED.items() for name in names["others"].split()}
"""Name of a column -> field of metadata; earlier versions stored these columns as they are."""
_KNOWN = frozenset(name for names in _COLUMNS.values() for name in names.split())
_COLUMNS |= {field: f"{names['own']} {names['others']}" for field, names in CITED.items()}
NAMES: dict[str, tuple[str, ...]] = {f: tuple(names.split()) for f, names in _COLUMNS.items()}
"""Field -> names of columns, as :func:`plain_name` writes them, in order of trust."""
NESTED = ("metadata", "fields", "data", "inputs", "meta")
"""Objects in which JSON of other programs (Argilla, Label Studio, Prodigy) has a document's fields;
``data.text`` is the text where no column is called so."""
FIELDS = tuple(NAMES)


def resolve(
    columns: Iterable[str],
    preset: Mapping[str, str] | None = None,
    chosen: Mapping[str, str] | None = None,
    identifying: Collection[str] = (),
) -> dict[str, str]:
    """Field -> column: the format's own fields or a guess, with the person's choice on top.
    `chosen`: `{"doc_id": "PMID"}`, or `id` as people call it; `data.text` for a field of an object;
    an empty column means: this field has none. `identifying`: columns that every row looked at has,
    each another value: one of them is the id where there is such a one."""
    columns = tuple(columns)
    chosen = {"doc_id" if f == "id" else f: column for f, column in (chosen or {}).items()}
    for field, column in chosen.items():
        if field not in FIELDS:
            raise UnknownNameError(
                f"A document has no field {field!r}.", f"Fields are: {', '.join(FIELDS)}."
            )
        # Without a readable row no column is known; the row's own error says more.
        if column and columns and not {column, column.partition(".")[0]} & {*columns}:
            raise UnknownNameError(
                f"The source has no column {column!r} (chosen for {field}).",
                f"Its columns are: {listed(columns)}.",
            )
    free = [column for column in columns if column not in chosen.values()]
    if preset is None:
        preset = _guess(free, [field for field in FIELDS if field not in chosen], identifying)
    return {field: column for field, column in ({**preset, **chosen}).items() if column}


def _guess(columns: list[str], fields: list[str], identifying: Collection[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for sign in ("_", ""):  # "PublicationYear" and "pub-year" are known, too
        for column in columns:
            named.setdefault(plain_name(column).replace("_", sign), column)
    if {"ti", "py"} <= named.keys():
        named.pop("id", None)  # of Web of Science, where these are keywords
    guessed: dict[str, str] = {}
    for field in fields:
        spellings = (one for name in NAMES[field] for one in (name, name.replace("_", "")))
        own = [named[name] for name in spellings if name in named]
        if field == "doc_id":
            issue = named.get("number") if "volume" in named else None
            own = [column for column in own if column != issue]
            own.sort(key=lambda column: column not in identifying)
        else:
            nested = (f"{key}.{name}" for key in NESTED for name in NAMES[field])
            own += [named[name] for name in nested if name in named]
        match = next((column for column in own if column not in guessed.values()), None)
        if match is not None:
            guessed[field] = match
    return guessed


def plain_name(column: str) -> str:
    """A column's name in small letters without accents, ``_`` for blanks and other signs.

    >>> plain_name("Author(s)"), plain_name("Abstract Note"), plain_name("Année de publication")
    ('authors', 'abstract_note', 'annee_de_publication')
    """
    apart = unicodedata.normalize("NFKD", column.strip().casefold())
    letters = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return re.sub(r"[^\w.]+", "_", re.sub(r"\(s\)|/s\b", "s", letters)).rstrip("_")


def is_known(column: str) -> bool:
    """Whether columns of that name serve a field."""
    return plain_name(column) in _KNOWN


def citation_fields(metadata: Mapping[str, Any]) -> list[str]:
    """The fields that citations need, under the names that a document has for them, and others.

    >>> citation_fields({"journal": "Nature", "grant": "7"})[:3]
    ['journal', 'doi', 'keywords']
    """
    named = {plain_name(name): name for name in metadata if name not in _UNDIVIDED}
    cited = (
        next((named[own] for own in names["own"].split() if own in named), field)
        for field, names in CITED.items()
    )
    return list(dict.fromkeys([*cited, *named.values()]))


def value_at(values: Mapping[str, Any], column: str) -> Any:
    """The value of a column, or of a field of the object in one: ``data.text``."""
    name, dot, rest = column.partition(".")
    inner = values.get(name)
    if column in values or not dot or not isinstance(inner, Mapping):
        return values.get(column)
    return value_at(inner, rest)


Scalar = str | int | float | bool

# One character for one character, so that spans into the text stay true. Newline and tab stay;
# a carriage return becomes a space as well, but is too common to be worth a warning.
_TO_SPACE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_AND = re.compile(r"\s+(?:and|&)\s+")
_AND_OTHERS = re.compile(r"[,;]?\s*\bet\.?\s+al\b\.?\s*\Z", re.IGNORECASE)
_PARTED = re.compile("[;\uff1b\u3001\n|]")
_INITIALS = re.compile(r"(?:\w\.?[\s-]?){1,3}\Z")
_IDENTIFIER = re.compile(r"\s*\(\d+\)\Z")  # Of a person, as Scopus writes it behind the full name
_NEXT_ADDRESS = re.compile(r"[\s;,]+(?=https?://)")

_NO_ROLE = ("other", "none", "")
_SYNONYMS = {"objective": "background", "o": "background", "methods": "method", "results": "result"}
"""Labels of published data sets, for lenses that have the aspect."""

_NAME_PARTS = (
    ("given", "first", "first_name", "firstName", "middle"),
    ("dropping-particle", "non-dropping-particle", "family", "last", "last_name", "lastName"),
    ("suffix",),
)
"""Of a person in CSL-JSON, CORD-19, Zotero and the like, in the order of a name."""

_OTHER_SCRIPTS = re.compile(
    "[\u0370-\u1dff\u1f00-\u1fff\u2c80-\ud7ff\uf900-\ufdff\U00020000-\U0003ffff]"
)
"""Letters beyond the Latin script: Greek to Mongolian, Chinese, Japanese, Korean ..."""


def clean(text: str, corrected: set[str]) -> str:
    """Text of the same length without control characters and lone surrogates. `corrected`: receives
    `controls` and `surrogates` when there were any."""
    if _TO_SPACE.search(text):
        if _CONTROLS.search(text):
            corrected.add("controls")
        text = _TO_SPACE.sub(" ", text)
    if _SURROGATES.search(text):
        corrected.add("surrogates")
        text = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
    return text


def other_script(text: str) -> bool:
    """Whether most letters of a text are of another script than Latin.

    >>> other_script("梯田葡萄园 (vine)"), other_script("A naïve café on Σ")
    (True, False)
    """
    if text.isascii():
        return False
    return 2 * len(_OTHER_SCRIPTS.findall(text)) > sum(map(str.isalpha, text))


def one_line(text: str, corrected: set[str]) -> str:
    """Clean text in one line, ends trimmed: titles, names, ids."""
    return clean(text, corrected).replace("\n", " ").replace("\t", " ").strip()


def missing(value: Any) -> bool:
    """None and NaN (how Parquet and pandas write "no value")."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def doc_id(value: Any, corrected: set[str]) -> str | None:
    """An id as text (``7``, ``7.0`` and ``"7"`` alike), None when the value cannot be one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas turns whole-number columns with gaps into floats
    if isinstance(value, bool) or not isinstance(value, str | int | UUID):
        return None
    return one_line(str(value), corrected)


Author = tuple[str, str]
"""A name as "First Last", and that of the family in it: "" where it is unknown, the whole name
for an organisation."""


def authors(value: Any, corrected: set[str]) -> tuple[Author, ...]:
    """Authors in order, from a list of names or people, or one string. A person is ``{"name":
    ...}`` or ``{"given": ..., "family": ...}``, an organisation ``{"literal": ...}``. An "et al."
    at the end of a string is no person."""
    if isinstance(value, str):
        parsed = as_list(value)
        # Single blanks: rules would compare every blank with those behind.
        lines = (" ".join(line.split()) for line in value.split("\n"))
        names = "\n".join(filter(None, lines))
        value = parsed if parsed is not None else _people(_AND_OTHERS.sub("", names))
    if not isinstance(value, list | tuple):
        return ()
    parts = ([" ".join(one_line(part, corrected).split()) for part in _name(one)] for one in value)
    found = (
        (" ".join(filter(None, (given, family, suffix))), family) for given, family, suffix in parts
    )
    return tuple(author for author in found if author[0])


_UNDIVIDED = ("family names", "organisations")


def undivided(authors: Iterable[Author]) -> dict[str, str]:
    """What :mod:`engine.explorations.exports` cannot tell from the names alone: family names of
    several words, and organisations."""
    names: dict[str, dict[str, None]] = {kind: {} for kind in _UNDIVIDED}
    for name, family in authors:
        words = family.split()
        while len(words) > 1 and words[0][0].islower():  # van der Berg
            words.pop(0)
        if len(words) > 1:
            kind = "organisations" if name == family else "family names"
            names[kind][" ".join(words) if name != family else name] = None
    return {kind: "; ".join(found) for kind, found in names.items() if found}


def _name(person: Any) -> tuple[str, str, str]:
    """Given names, the name of the family, and a suffix."""
    if isinstance(person, str):
        return *name_parts(_IDENTIFIER.sub("", " ".join(person.split()))), ""
    if not isinstance(person, Mapping):
        return "", "", ""
    if _is_text(literal := person.get("literal")):
        return "", literal, ""
    for whole in ("name", "display_name", "full_name"):
        if _is_text(name := person.get(whole)):
            return *name_parts(" ".join(name.split())), ""

    def joined(parts: Iterable[Any]) -> str:
        flat = (" ".join(filter(_is_text, p)) if isinstance(p, list) else p for p in parts)
        return " ".join(filter(_is_text, flat))  # CORD-19 lists middle names

    given, family, suffix = (joined(map(person.get, parts)) for parts in _NAME_PARTS)
    return given, family, suffix


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _people(names: str) -> list[str]:
    """The names in one string: parted by semicolons, "and", line ends or commas."""
    people = [p for part in _PARTED.split(names) for p in _AND.split(part) if p.strip()]
    # "Lee, Ann and Okafor, Ben" has commas of another kind than "A. Lee, B. Okafor and C. Wu".
    if len(people) > 1 and all(p.count(",") == 1 for p in people):
        return people
    return [name for part in people for name in _between_commas(part)]


def _between_commas(names: str) -> list[str]:
    parts = [part.strip() for part in names.split(",") if part.strip()]
    if len(parts) % 2 == 0 and all(_INITIALS.match(part) for part in parts[1::2]):
        return [f"{last}, {first}" for last, first in zip(parts[::2], parts[1::2], strict=True)]
    full = [len(part.split()) > 1 for part in parts]
    # "van der Berg, Jan Willem" is one person; of two full names neither begins in lower case.
    if all(full) and (
        len(parts) > 2 or parts[0][:1].isupper() or all(first_last(part) != part for part in parts)
    ):
        return parts
    return [names]


def url(value: Any, corrected: set[str]) -> str | None:
    """The first web address (a DOI becomes one); anything else is noted as ``links``, and left
    out."""
    text = _NEXT_ADDRESS.split(verbatim(one_line(value, corrected)))[0] if _is_text(value) else ""
    if not text:
        return None
    if doi := doi_of(text):
        return f"https://doi.org/{doi.lower()}"
    if text.lower().startswith(("http://", "https://")):
        return text
    corrected.add("links")  # javascript: and the like must never reach a page
    return None


Labels = Mapping[str, str | None]
"""Label of a sentence in a source -> key of an aspect; None: known, and no aspect."""


def role_labels(lens: Lens) -> Labels:
    """The labels that a lens knows: keys, names and letters of its aspects, any case."""
    keys = {aspect.key for aspect in lens.aspects}
    labels: dict[str, str | None] = dict.fromkeys(_NO_ROLE)
    labels |= {label: key for label, key in _SYNONYMS.items() if key in keys}
    for name in ("letter", "name", "key"):  # the latter wins when two aspects claim a label
        labels |= {getattr(aspect, name).lower(): aspect.key for aspect in lens.aspects}
    return labels


def role(value: Any, corrected: set[str], labels: Labels) -> str | None:
    """The aspect key of a label (``method_label``, ``M``, ``Methods`` ...), None for the rest."""
    if missing(value):
        return None
    label = str(value).strip().lower().removesuffix("_label")
    if label not in labels:
        corrected.add("roles")
    return labels.get(label)


def as_list(value: Any) -> list[Any] | None:
    """A list as it is, or the one that a text holds as JSON or Python (in CSV cells); else None."""
    if isinstance(value, list | tuple):
        return list(value)
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return None
    for read in (json.loads, ast.literal_eval):  # pandas writes lists into CSV as Python does
        try:
            parsed = read(value.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        return parsed if isinstance(parsed, list) else None
    return None


def scalar(value: Any, corrected: set[str]) -> Scalar | None:
    """A value that JSON can hold; a list of texts is one, "a; b". None for other lists, objects,
    bytes and empty values."""
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        value = "; ".join(filter(_is_text, value))
    if isinstance(value, str):
        return clean(value, corrected).strip() or None
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else None


# -- a row as a document ----------------------------------------------------------------------


_PEOPLE = ("editor", "editors")
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
        self.cited = {column: field for field, column in self.mapping.items() if field in CITED}
        self.used = {*self.mapping.values()} - {*self.cited}
        self.where = row.where
        self.values = self._plain(row.values)
        title = scalar(self.value("title"), self.corrected)
        title = "" if title is None else str(title)
        self.title = " ".join(one_line(title, self.corrected).split())

    def build(self, number: int) -> SourceDocument:
        corrected = self.corrected
        text, spans = self._text()
        text = text if text.strip() else self._found() or self._stand_in()
        own_id = self._doc_id() or self._given_id(number)
        spans, roles = without_blanks(text, spans, self._roles(spans))
        people = authors(self.value("authors"), corrected)
        document = SourceDocument(
            doc_id=own_id,
            title=self.title,
            text=text,
            where=self.where,
            sentences=spans,
            roles=roles,
            year=self._year(),
            authors=tuple(name for name, _ in people),
            url=self._url(),
            metadata=self._metadata() | undivided(people),
        )
        if other_script(text):
            corrected.add("scripts")
        if "title" in self.mapping and not self.title:
            corrected.add("untitled")
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
        return None if missing(value) else value

    @property
    def doi(self) -> str | None:
        """The DOI of the row, in small letters."""
        values = [self.values[c] for c in self.values if is_doi(c)]
        values += [self.value("doi"), self.value("url")]
        others = (doi_of(self.values.get(name)) for name in _MAY_BE_DOI)
        return next(filter(None, map(doi_in, [*values, *others])), None)

    def _doc_id(self) -> str | None:
        if self.source.source_format.keys and self.repairs.ids_from_doi and (doi := self.doi):
            return doi
        value = self.value("doc_id")
        own = doc_id(value, self.corrected)
        if own is None and value is not None and not isinstance(value, str):
            raise BadInputError(
                f"{self.where}: the id is {kind(value)}.", "Ids are text or whole numbers."
            )
        return own

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
        link = url(self.value("url"), self.corrected)
        doi = None if link else self.doi
        return f"https://doi.org/{doi}" if doi else link

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
            if isinstance(value, bool) or not isinstance(value, str | int | float | None):
                raise BadInputError(f"{self.where}: the text is {kind(value)}.", _TEXT_REMEDY)
            text = clean("" if value is None else str(value), self.corrected)
            if given and text.strip():
                spans = locate(self.where, text, given, self.corrected)
        return ("", None) if states_absence(text) else (text, spans)

    def _found(self) -> str:
        """The abstract that was found by the row's DOI, or ""."""
        doi = self.doi
        if doi is None:
            return ""
        self.notes.counts["fillable"] += 1
        text = clean(self.source.abstracts.get(doi.casefold(), ""), self.corrected)
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
        given = as_list(value)
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
        roles = tuple(role(label, unknown, self.source.labels) for label in given)
        self.corrected |= unknown
        # Labels of another lens say nothing in this one: then the roles are estimated.
        return None if unknown and not any(roles) else roles

    def _metadata(self) -> dict[str, Scalar]:
        only = self.source.source_format.metadata
        metadata: dict[str, Scalar] = {}
        for column, raw in self.values.items():
            if column in self.used or (only is not None and column not in only):
                continue
            people = (
                authors(raw, self.corrected) if column in _PEOPLE and isinstance(raw, list) else ()
            )
            value = "; ".join(name for name, _ in people) or scalar(raw, self.corrected)
            if value is None and raw and isinstance(raw, Mapping | list | tuple):
                self.corrected.add("nested")
            if value is not None:
                name = one_line(str(column).removeprefix("metadata."), self.corrected)
                if plain_name(name).rpartition(".")[2] not in _OWN:
                    name = self.cited.get(column, name)
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


# -- sentences that a source has, as spans into the text -------------------------------------


def join(where: str, parts: list[Any], corrected: set[str]) -> tuple[str, tuple[Span, ...]]:
    """Sentences joined by one space, with their spans; blank ones get empty spans."""
    cleaned: list[str] = []
    spans: list[Span] = []
    at = 0
    for part in parts:
        if not isinstance(part, str):
            raise BadInputError(f"{where}: a sentence of the text is {kind(part)}.", _TEXT_REMEDY)
        sentence = clean(part, corrected).strip()
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
            sentence = clean(item, corrected).strip()
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
