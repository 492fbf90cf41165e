"""The rows that every reader of a format yields, and the record of a format."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import BadInputError
from engine.ingest.encodings import TOO_LONG, UTF8, Encoding, short_lines
from engine.types.corpora import FaultKind, PdfParts


class RowError(BadInputError):
    """A row that cannot be used as it is, for a reason that a choice may repair."""

    def __init__(self, kind: FaultKind, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file (or a folder), and how it is read."""

    path: Path
    encoding: Encoding = UTF8
    delimiter: str = ","  # of CSV and TSV, one character
    pdf: PdfParts = "papers"  # what becomes a row of a PDF

    @property
    def name(self) -> str:
        return self.path.name

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number and text of each line, of which none may be too long."""
        for number, line in self.short_lines():
            if line is None:
                raise BadInputError(
                    f"{self.name}, line {number}: {TOO_LONG}",
                    "Check that the file is of the format you chose.",
                )
            yield number, line

    def short_lines(self) -> Iterator[tuple[int, str | None]]:
        """See :func:`engine.ingest.encodings.short_lines`."""
        return short_lines(self.path, self.encoding)


@dataclass(frozen=True, slots=True)
class Row:
    """One row as the file has it."""

    where: str  # file and row, the beginning of every error message: `a.csv, row 3 (line 4)`
    # column -> value; a `metadata` object is spread as `metadata.<key>`
    values: Mapping[str, Any] = field(default_factory=dict)
    # why the row cannot be read, when the rows behind it still can
    problem: BadInputError | None = None

    @classmethod
    def broken(cls, where: str, fault: str, remedy: str, cause: BaseException | None = None) -> Row:
        """A row that cannot be read; its problem keeps its cause until it is raised."""
        problem = BadInputError(f"{where}: {fault}", remedy)
        problem.__cause__ = cause
        return cls(where, problem=problem)


@dataclass(frozen=True, slots=True)
class Format:
    """How files of one kind are read."""

    name: str
    # file -> rows, one pass; raises BadInputError when reading on is impossible
    rows: Callable[[InputFile], Iterator[Row]]
    # field -> column where the format says so; None: guessed from the columns
    preset: Mapping[str, str] | None = None
    # the only columns that become metadata; None: all that serve no field
    metadata: tuple[str, ...] | None = None
    # a document without text gets its title as text, with a warning, unless such documents are to
    # be left out
    title_stands_in: bool = False
    binary: bool = False  # its files are no text
    delimited: bool = False  # its files have a delimiter
    peek: int = 100  # rows looked at for column names; JSON objects may leave fields out
    # its rows are files: those that cannot be read are left out and named with their reasons, and
    # refuse no import
    files: bool = False
    folders: bool = False  # it reads a folder itself; of others the files in one are read
    keys: bool = False  # its ids are keys that people chose, which DOIs may replace


SHORTEN = "Split it, or leave out columns that are not needed."
"""The remedy for a row that is too long."""


def short(where: str) -> str:
    """A row's place without the file: ``row 3 (line 4)``."""
    return where.rpartition(", ")[2]


def listed(names: Iterable[str], most: int = 40) -> str:
    """Column names for a message: one printable line, whatever the file calls them."""
    shown = [" ".join(str(name).split())[:60] for name in names]
    more = [f"and {len(shown) - most} more"] if len(shown) > most else []
    words = ", ".join(shown[:most] + more) or "none"
    return words.encode(errors="backslashreplace").decode()


def kind(value: Any) -> str:
    """What a value is, in a person's words."""
    kinds = {list: "a list", dict: "an object", bool: "a boolean", str: "text"}
    return kinds.get(type(value), f"of type {type(value).__name__}")


def hashed_id(title: str, year: object) -> str:
    """A stable id for a record that has none: ``rec-`` and 16 hex digits of its title and year."""
    words = " ".join(title.casefold().split())
    digest = hashlib.blake2b(f"{words}\n{year or ''}".encode(errors="replace"), digest_size=8)
    return f"rec-{digest.hexdigest()}"
