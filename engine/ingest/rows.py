"""The rows that every reader of a format yields, the record of a format, and the notes on what was
corrected and refused."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engine.errors import BadInputError
from engine.ingest.files import InputFile, table
from engine.types.corpora import Fault, FaultKind, Repairs


class RowError(BadInputError):
    """A row that cannot be used as it is, for a reason that a choice may repair."""

    def __init__(self, kind: FaultKind, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Row:
    """One row as the file has it."""

    where: str  # file and row, the beginning of every error message: `a.csv, row 3 (line 4)`
    # column -> value; a `metadata` object is spread as `metadata.<key>`
    values: Mapping[str, Any] = field(default_factory=dict)
    # why the row cannot be read, when the rows behind it still can
    problem: BadInputError | None = None

    @classmethod
    def broken(cls, where: str, fault: str, remedy: str) -> Row:
        """A row that cannot be read."""
        return cls(where, problem=BadInputError(f"{where}: {fault}", remedy))


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


READS_ENGLISH = "model does not read: it reads English."
"""Part of the note on documents in another script."""
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


# -- notes -----------------------------------------------------------------------------------

_SENTENCES: dict[str, dict[str, str]] = table("notes")
_CHOICE = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")
MOST_PLACES = 200  # Rows with one fault that are named in a check
_NAMED = 5  # Rows that a sentence of a report names


def _counted(n: int, words: str) -> str:
    return f"{n:,} " + _CHOICE.sub(lambda found: found[1 if n == 1 else 2], words)


class Notes:
    """What was corrected while reading, counted in documents, and what had to be chosen."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._places: dict[str, list[str]] = {}
        self._faults: dict[FaultKind, Fault] = {}
        self._files: list[str] = []

    def add(self, kinds: Iterable[str], where: str = "") -> None:
        """Count one document for every kind in ``kinds`` (keys of ``assets/ingest/notes.toml``)."""
        for kind in kinds:
            self.counts[kind] += 1
            if where and self.counts[kind] <= _NAMED:
                self._places.setdefault(kind, []).append(short(where))

    def left_out(self, kind: FaultKind, where: str, error: BadInputError, *, file: bool) -> None:
        """Note a row that is left out because of a fault."""
        if not file:
            self.add({kind}, where)
            return
        self.counts["files"] += 1
        if len(self._files) < MOST_PLACES:
            reason = error.message.removeprefix(where).lstrip(": ")
            self._files.append(f"Left out: {short(where)}: {reason}")

    def found(self, kind: FaultKind, line: str, *, substitute: bool = False) -> None:
        """Note a row with a fault, repaired or not."""
        one = self._faults.get(kind, Fault(kind, 0, 0, (), 0))
        self._faults[kind] = replace(
            one,
            rows=one.rows + 1,
            substitutes=one.substitutes + substitute,
            places=(*one.places, line) if one.rows < MOST_PLACES else one.places,
        )

    def refused(self, kind: FaultKind) -> None:
        """Note that nothing was chosen for a row that was found."""
        one = self._faults[kind]
        self._faults[kind] = replace(one, refused=one.refused + 1)

    def faults(self) -> tuple[Fault, ...]:
        """What was found, in the order of the first rows."""
        return tuple(self._faults.values())

    def sentences(self, documents: int = 0) -> tuple[str, ...]:
        """One plain sentence with its number per kind that occurred; of another script where most
        of so many documents have it."""
        if 2 * self.counts["scripts"] <= documents:
            self.counts.pop("scripts", None)
        found = [self._sentence(kind) for kind in _SENTENCES["notes"] if self.counts[kind]]
        more = self.counts["files"] - len(self._files)
        left = [f"{more:,} more files were left out."] if more else []
        return (*found, *self._files, *left)

    def _sentence(self, kind: str) -> str:
        n, places = self.counts[kind], self._places.get(kind, ())
        words = _counted(n, _SENTENCES["notes"][kind])
        if places:
            more = f" and {n - len(places):,} more" if n > len(places) else ""
            words += f": {', '.join(places)}{more}"
        return words if words.endswith(".") else f"{words}."


def refusal(
    refused: Iterable[Fault], first: Mapping[FaultKind, BadInputError], repairs: Repairs
) -> BadInputError:
    """The error for a source with faults that nothing was chosen for: the first of them, how many
    more there are, and the options that decide about them. `first`: of each kind, in order."""
    faults = sorted(refused, key=lambda fault: list(first).index(fault.kind))
    error = first[faults[0].kind]
    rest = [(fault.refused - (fault is faults[0]), fault.kind) for fault in faults]
    more = "; ".join(
        _counted(n, _SENTENCES["refusals"][kind]).replace(" ", " more " if at == 0 else " ", 1)
        for at, (n, kind) in enumerate(rest)
        if n
    )
    options = "; ".join(option for fault in faults for option in _options(fault, repairs))
    message = f"{error.message} {more}." if more else error.message
    return BadInputError(message, f"{error.remedy} Or: {options}.")


def _options(fault: Fault, repairs: Repairs) -> list[str]:
    """What repairs the refused rows, beyond what was chosen already."""
    title = fault.substitutes and not repairs.title_as_text
    doi = fault.substitutes and not repairs.ids_from_doi
    options: dict[FaultKind, list[str]] = {
        "broken": ["--skip-broken leaves such rows out"],
        "empty": ["--skip-empty leaves such rows out"]
        + ["--title-as-text takes their titles"] * bool(title),
        "id": ["--number-ids numbers such rows"] + ["--ids-from-doi takes their DOIs"] * bool(doi),
        "duplicate": ["--duplicates keep-first, merge or rename decides about them"],
    }
    return options[fault.kind]
