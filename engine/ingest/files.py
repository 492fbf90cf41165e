"""Files from outside, packed or not, with their encoding and lines; the rows that every reader
yields, the record of a format, and the notes on what was corrected and refused."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import re
import tomllib
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from engine.config import ASSETS
from engine.errors import BadInputError
from engine.types.corpora import Fault, FaultKind, PdfParts, Repairs
from engine.types.limits import MEGABYTE, ROW_BYTES


def table(name: str) -> dict[str, Any]:
    """A table of ``assets/ingest``."""
    return tomllib.loads((ASSETS / "ingest" / f"{name}.toml").read_text(encoding="utf-8"))


ENCODINGS: dict[str, str] = table("encodings")
"""What people choose from: Python's name -> label."""
TOO_LONG = f"longer than {ROW_BYTES // MEGABYTE} MB, which is the most that is read as one row."
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CHUNK, _SAMPLE = 2**20, 2**16
_LATIN = frozenset({"cp1250", "cp1254", "cp1257"})
_CLOSE = 0.08  # Differences in charset-normalizer's measure of disorder (0 to 1) without meaning
_DAMAGED = re.compile("[\udc80-\udcff]")  # A byte that is no UTF-8, as ``surrogateescape`` has it
ZIP_ERRORS = (
    *(OSError, EOFError, zlib.error, zipfile.BadZipFile),
    *(NotImplementedError, UnicodeDecodeError, RuntimeError),
)
"""What a zip, or a file in it, raises."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the bytes of a file become text; those that do not fit become U+FFFD."""

    name: str = "utf-8"  # as Python knows it
    replaced: int = 0  # how many characters became U+FFFD

    @property
    def label(self) -> str:
        """The name for people."""
        return ENCODINGS.get(self.name, self.name.upper())


UTF8 = Encoding()


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
        r"""Lines of a text file with their numbers from 1; a byte order mark is dropped.

        Only ``\n`` ends a line: others (U+2028 ...) may be in a JSON string. None stands for a line
        longer than ``ROW_BYTES``, which is never held in memory.
        """
        with opened(self.path, self.encoding) as file:
            for number, line in enumerate(_cut(file), start=1):
                line = line.removeprefix("\ufeff") if line and number == 1 else line
                if number == 1 and line and "\r" in line and not line.endswith("\n"):
                    # Not a single LF in the file: CR ends its lines, as on old Macs.
                    lines = line.removesuffix("\r").split("\r")
                    yield from enumerate((f"{part}\n" for part in lines), start=1)
                else:
                    yield number, line


def _cut(file: IO[str]) -> Iterator[str | None]:
    while line := file.readline(ROW_BYTES + 1):
        whole = len(line) <= ROW_BYTES or line.endswith("\n")
        yield line if whole else None
        while not whole:
            line = file.readline(ROW_BYTES)
            whole = not line or line.endswith("\n")


@contextmanager
def opened(path: Path, encoding: Encoding | None = None) -> Iterator[IO[Any]]:
    """A file to read, as text or as bytes; one whose name ends in ``.gz`` is unpacked. While it is
    open, errors of the system and of the packing become BadInputError."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as content:
            file: Any = content
            if encoding is not None:
                file = io.TextIOWrapper(file, encoding.name, "replace", newline="\n")
            yield file
    except (OSError, EOFError, zlib.error) as e:
        raise unreadable(path, e) from e


def unreadable(path: Path, error: Exception) -> BadInputError:
    """The error for a file that the system does not let us read."""
    reason = getattr(error, "strerror", None) or error
    return BadInputError(
        f"{path.name} cannot be read: {reason}.",
        "Check that the file is there and that you may read it.",
    )


def zip_names(path: Path) -> list[str]:
    """The names of the files in a zip."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except ZIP_ERRORS as error:
        raise BadInputError(
            f"{path.name} is no zip that can be read ({error}).", "Pack its files again."
        ) from error


# -- which encoding --------------------------------------------------------------------------


def encoding_of(path: Path, chosen: str = "") -> Encoding:
    """The encoding of a file: the chosen one, which must fit, else the detected one. A byte order
    mark decides, then the zero bytes of UTF-16; then whether it is UTF-8, with at most a few
    damaged characters; what is left is charset-normalizer's estimate."""
    if chosen:
        encoding = Encoding(_known(chosen))
        if path.is_file():
            _check_fits(path, encoding)
        return encoding
    with opened(path) as file:
        head = file.read(4096)
    name = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    name = name or _unmarked_utf16(head)
    if name is None:
        damaged = wide = 0
        for text in _decoded(path, "utf-8", "surrogateescape"):
            if not text.isascii():
                damaged += len(_DAMAGED.findall(text))
                wide += len(text) - len(text.encode("ascii", "ignore"))
        # Damaged UTF-8 has more characters that are right than wrong.
        if damaged <= (wide - damaged) // 2:
            return Encoding("utf-8", damaged)
        name = _estimated(path)
    return Encoding(name, sum(text.count("\ufffd") for text in _decoded(path, name, "replace")))


def _check_fits(path: Path, encoding: Encoding) -> None:
    line = 1
    try:
        for text in _decoded(path, encoding.name, "strict"):
            line += text.count("\n")
    except UnicodeError as error:
        before = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
        line += before.count(b"\n")
        raise BadInputError(
            f"{path.name}, line {line}: not {encoding.label}.",
            "Save the file as UTF-8, or choose its encoding (--encoding cp1252 ...).",
        ) from error


def _known(name: str) -> str:
    try:
        info = codecs.lookup(name.strip())
        if info._is_text_encoding:
            # One name for one encoding, that of the list where it is there.
            same = (known for known in ENCODINGS if codecs.lookup(known).name == info.name)
            return next(same, info.name)
    except (LookupError, ValueError):
        pass
    raise BadInputError(
        f"There is no text encoding {name!r}.", f"Known are, among others: {', '.join(ENCODINGS)}."
    )


def _unmarked_utf16(head: bytes) -> str | None:
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = max(len(head) // 2, 1)
    if odd > 0.4 * half and even < 0.1 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * half and odd < 0.1 * half else None


def _decoded(path: Path, name: str, errors: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(name)(errors)
    with opened(path) as file:
        while chunk := file.read(_CHUNK):
            yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _estimated(path: Path) -> str:
    """The encoding of what is not UTF-8, from its lines with other bytes than ASCII."""
    from charset_normalizer import from_bytes  # late: most files are UTF-8

    sample = bytearray()
    with opened(path) as file:
        for line in iter(lambda: file.readline(_SAMPLE), b""):
            if not line.isascii():
                sample += line
            if len(sample) >= _SAMPLE:
                break
    several = [name for name in ENCODINGS if name not in ("utf-8", "utf-16")]
    found = from_bytes(bytes(sample), cp_isolation=several)
    best = found.best()
    if best is None:
        return "cp1252"
    western = [m for m in found if "cp1252" in m.could_be_from_charset]
    if western and western[0].chaos <= best.chaos + (_CLOSE if best.encoding in _LATIN else 0):
        return "cp1252"
    return _known(best.encoding)


# -- rows -------------------------------------------------------------------------------------


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
