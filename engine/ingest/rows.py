"""What every reader yields, and how text files are read: line by line, every line numbered."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import BadInputError

MAX_LINE_BYTES = 256 * 1024 * 1024
"""A longer line is a file of another kind; reading it would fill the memory."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Row:
    """One row as the file has it.

    Attributes:
        where: file and row, the beginning of every error message: ``a.csv, row 3 (line 4)``.
        values: column -> value; a ``metadata`` object is spread as ``metadata.<key>``.
        problem: why the row cannot be read, when the rows behind it still can.
    """

    where: str
    values: Mapping[str, Any] = field(default_factory=dict)
    problem: BadInputError | None = None

    @classmethod
    def broken(cls, where: str, fault: str, remedy: str, cause: BaseException | None = None) -> Row:
        """A row that cannot be read; its problem keeps its cause until it is raised."""
        problem = BadInputError(f"{where}: {fault}", remedy)
        problem.__cause__ = cause
        return cls(where, problem=problem)


@dataclass(frozen=True, slots=True)
class Format:
    """How files of one kind are read.

    Attributes:
        rows: path -> rows, one pass; raises BadInputError when reading on is impossible.
        preset: field -> column where the format says so; None: guessed from the columns.
        metadata: the only columns that become metadata; None: all that serve no field.
        title_stands_in: a document without text gets its title as text, with a warning.
        peek: rows looked at for column names; JSON objects may leave fields out.
    """

    name: str
    rows: Callable[[Path], Iterator[Row]]
    preset: Mapping[str, str] | None = None
    metadata: tuple[str, ...] | None = None
    title_stands_in: bool = False
    peek: int = 100


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    r"""Lines of a UTF-8 file with their numbers from 1; a byte order mark is dropped.

    Only ``\n`` ends a line: others (U+2028 ...) may stand inside a JSON string.
    Raises BadInputError naming line and byte when the file is not UTF-8.
    """
    offset = 0
    try:
        with path.open("rb") as handle:
            number = 0
            while raw := handle.readline(MAX_LINE_BYTES):
                number += 1
                if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
                    raise BadInputError(
                        f"{path.name}, line {number}: the line is longer than"
                        f" {MAX_LINE_BYTES // 2**20} MB.",
                        "Check that the file is of the format you chose.",
                    )
                yield number, _decode(raw, path, number, offset)
                offset += len(raw)
    except OSError as e:
        raise unreadable(path, e) from e


def _decode(raw: bytes, path: Path, number: int, offset: int) -> str:
    body = raw.removeprefix(_BOM) if number == 1 else raw
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as e:
        at = offset + len(raw) - len(body) + e.start
        raise BadInputError(
            f"{path.name}, line {number}: not UTF-8 (byte 0x{body[e.start]:02x} at offset {at}).",
            "Save the file as UTF-8 and import it again.",
        ) from e


def unreadable(path: Path, error: OSError) -> BadInputError:
    """The error for a file that the system does not let us read."""
    return BadInputError(
        f"{path.name} cannot be read: {error.strerror or error}.",
        "Check that the file is there and that you may read it.",
    )


def listed(names: Iterable[str], most: int = 40) -> str:
    """Column names for a message: one printable line, whatever the file calls them."""
    shown = [" ".join(str(name).split())[:60] for name in names]
    more = [f"and {len(shown) - most} more"] if len(shown) > most else []
    words = ", ".join(shown[:most] + more) or "none"
    return words.encode(errors="backslashreplace").decode()


def spread_metadata(values: Mapping[str, Any]) -> dict[str, Any]:
    """``{"metadata": {"year": 1}}`` as ``{"metadata.year": 1}``: one level, that column only."""
    nested = values.get("metadata")
    if not isinstance(nested, Mapping):
        return dict(values)
    flat = {key: value for key, value in values.items() if key != "metadata"}
    return flat | {f"metadata.{key}": value for key, value in nested.items()}


def repeated(names: Iterable[str]) -> list[str]:
    """The names that stand there more than once, sorted."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def hashed_id(title: str, year: object) -> str:
    """A stable id for a record that has none: ``rec-`` and 16 hex digits of its title and year.

    The same record gets the same id at every import, wherever it stands in the file.
    """
    words = " ".join(title.casefold().split())
    digest = hashlib.blake2b(f"{words}\n{year or ''}".encode(errors="replace"), digest_size=8)
    return f"rec-{digest.hexdigest()}"
