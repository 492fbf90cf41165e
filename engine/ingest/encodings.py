"""Text files: their encoding, detected or chosen, and their decoded lines."""

from __future__ import annotations

import codecs
import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, AnyStr

from engine.errors import BadInputError
from engine.types.limits import MEGABYTE, ROW_BYTES

LABELS = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "cp1252": "Windows-1252 (Western Europe)",
    "iso-8859-1": "Latin-1 (ISO-8859-1)",
    "iso-8859-15": "Latin-9 (ISO-8859-15)",
    "mac-roman": "Mac Roman",
    "cp1250": "Windows-1250 (Central Europe)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "cp1253": "Windows-1253 (Greek)",
    "cp1254": "Windows-1254 (Turkish)",
    "cp1255": "Windows-1255 (Hebrew)",
    "cp1256": "Windows-1256 (Arabic)",
    "cp1257": "Windows-1257 (Baltic)",
    "koi8-r": "KOI8-R (Cyrillic)",
    "gb18030": "GB18030 (Chinese)",
    "big5": "Big5 (Chinese)",
    "shift_jis": "Shift JIS (Japanese)",
    "euc_jp": "EUC-JP (Japanese)",
    "euc_kr": "EUC-KR (Korean)",
}
"""What people choose from: a name that Python knows -> what it is called."""
TOO_LONG = f"longer than {ROW_BYTES // MEGABYTE} MB, which is the most that is read as one row."
"""What is wrong with such a line, record or entry."""
_WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
"""Encodings in which a line does not end with the byte 0x0A alone."""
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CHUNK = 2**20
_PIECE = 2**16
_SAMPLE = 64 * 1024
_LATIN = frozenset({"cp1250", "cp1254", "cp1257"})
_CLOSE = 0.08  # Differences in charset-normalizer's measure of disorder (0 to 1) that say nothing


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the bytes of a file become text."""

    name: str = "utf-8"  # as Python knows it; "" for files that are not text
    exact: bool = True  # bytes that do not fit are an error; otherwise they become U+FFFD
    replaced: int = 0  # how many characters became U+FFFD

    @property
    def errors(self) -> str:
        """What Python's codecs call it."""
        return "strict" if self.exact else "replace"

    @property
    def wide(self) -> bool:
        """Whether lines have to be cut after decoding."""
        return self.name in _WIDE

    @property
    def label(self) -> str:
        """What people call it."""
        return LABELS.get(self.name, self.name.upper())


UTF8 = Encoding()
UNREADABLE = (OSError, EOFError, zlib.error)  # What a file that cannot be read, or unpacked, raises
ZIP_ERRORS = (
    *UNREADABLE,
    zipfile.BadZipFile,
    NotImplementedError,
    UnicodeDecodeError,
    RuntimeError,
)
"""What a zip, or a file in it, raises."""


def opened(path: Path, encoding: Encoding | None = None) -> IO[Any]:
    """A file to read, as text or as bytes; one whose name ends in ``.gz`` is unpacked."""
    packed = path.suffix.lower() == ".gz"
    content: IO[Any] = gzip.open(path) if packed else path.open("rb")  # type: ignore[assignment]  # noqa: SIM115
    if encoding is None:
        return content
    return io.TextIOWrapper(content, encoding.name, encoding.errors, newline="\n")


def zip_names(path: Path) -> list[str]:
    """The names of the files in a zip; BadInputError where it is none that can be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except ZIP_ERRORS as error:
        raise BadInputError(
            f"{path.name} is no zip that can be read ({error}).", "Pack its files again."
        ) from error


def encoding_of(path: Path, chosen: str = "") -> Encoding:
    """The encoding of a file: the one chosen, else the one that its bytes tell. A byte order mark
    decides, then the zero bytes of UTF-16; then whether it is UTF-8, with at most a few damaged
    characters; what is left is charset-normalizer's estimate."""
    if chosen:
        return Encoding(_known(chosen))
    try:
        return _detected(path)
    except UNREADABLE as e:
        raise unreadable(path, e) from e


def _detected(path: Path) -> Encoding:
    with opened(path) as file:
        head = file.read(4096)
    name = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    name = name or _unmarked_utf16(head)
    if name is None:
        replaced, wide = _as_utf8(path)
        # Damaged UTF-8 has more characters that are right than wrong.
        if replaced <= wide // 2:
            return Encoding("utf-8", exact=False, replaced=replaced)
        name = _estimated(path)
    replaced = sum(text.count("\ufffd") for text in _decoded(path, name))
    return Encoding(name, exact=False, replaced=replaced)


def _known(name: str) -> str:
    try:
        info = codecs.lookup(name.strip())
        if "a\n".encode(info.name) and info._is_text_encoding:
            # One name for one encoding, that of the list where it is there.
            same = (known for known in LABELS if codecs.lookup(known).name == info.name)
            return next(same, info.name)
    except (LookupError, ValueError, TypeError):
        pass
    raise BadInputError(
        f"There is no text encoding {name!r}.", f"Known are, among others: {', '.join(LABELS)}."
    )


def _unmarked_utf16(head: bytes) -> str | None:
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = max(len(head) // 2, 1)
    if odd > 0.4 * half and even < 0.1 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * half and odd < 0.1 * half else None


def _decoded(path: Path, name: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(name)("replace")
    with opened(path) as file:
        while chunk := file.read(_CHUNK):
            yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _as_utf8(path: Path) -> tuple[int, int]:
    """Characters that would be replaced, and characters beyond ASCII."""
    replaced = wide = 0
    for text in _decoded(path, "utf-8"):
        if not text.isascii():
            replaced += text.count("\ufffd")
            wide += len(text) - len(text.encode("ascii", "ignore"))
    if replaced:  # some may stand there as they are
        with opened(path) as file:
            for chunk in iter(lambda: file.read(_CHUNK), b""):
                replaced -= chunk.count(b"\xef\xbf\xbd")
    return max(0, replaced), wide - replaced


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
    several = [name for name in LABELS if name not in ("utf-8", "utf-16")]
    found = from_bytes(bytes(sample), cp_isolation=several)
    best = found.best()
    if best is None:
        return "cp1252"
    western = [m for m in found if "cp1252" in m.could_be_from_charset]
    if western and western[0].chaos <= best.chaos + (_CLOSE if best.encoding in _LATIN else 0):
        return "cp1252"
    return _known(best.encoding)


def text_lines(path: Path, encoding: Encoding = UTF8) -> Iterator[tuple[int, str]]:
    """:func:`short_lines`, of which none may be too long: that raises BadInputError too."""
    for number, line in short_lines(path, encoding):
        if line is None:
            raise BadInputError(
                f"{path.name}, line {number}: {TOO_LONG}",
                "Check that the file is of the format you chose.",
            )
        yield number, line


def short_lines(path: Path, encoding: Encoding = UTF8) -> Iterator[tuple[int, str | None]]:
    r"""Lines of a text file with their numbers from 1; a byte order mark is dropped.

    Only ``\n`` ends a line: others (U+2028 ...) may stand inside a JSON string. None stands for a
    line longer than ``ROW_BYTES``, which is passed over without being held in memory.
    Raises BadInputError naming line and byte where the encoding does not fit.
    """
    read = _wide_lines if encoding.wide else _narrow_lines
    try:
        for number, line in enumerate(read(path, encoding), start=1):
            line = line.removeprefix("\ufeff") if line and number == 1 else line
            if number == 1 and line and "\r" in line and not line.endswith("\n"):
                # Not a single LF in the file: CR ends its lines, as on old Macs.
                lines = line.removesuffix("\r").split("\r")
                yield from enumerate((f"{part}\n" for part in lines), start=1)
            else:
                yield number, line
    except UNREADABLE as e:
        raise unreadable(path, e) from e


def text_pieces(path: Path, encoding: Encoding = UTF8) -> Iterator[str]:
    """A text file piece by piece, without regard to lines; a byte order mark is dropped. Raises
    BadInputError as :func:`short_lines` does."""
    line = 1
    try:
        with opened(path, encoding) as file:
            while piece := file.read(_PIECE):
                yield piece.removeprefix("\ufeff") if line == 1 else piece
                line += piece.count("\n")
    except UnicodeError as e:
        raise _other_encoding(path, line, encoding, "or behind it") from e
    except UNREADABLE as e:
        raise unreadable(path, e) from e


def _pieces(file: IO[AnyStr], end: AnyStr) -> Iterator[tuple[AnyStr | None, int]]:
    """The lines of a file and their lengths; None for one that is too long."""
    while line := file.readline(ROW_BYTES + 1):
        length = len(line)
        if length <= ROW_BYTES or line.endswith(end):
            yield line, length
            continue
        while line and not line.endswith(end):
            line = file.readline(ROW_BYTES)
            length += len(line)
        yield None, length


def _narrow_lines(path: Path, encoding: Encoding) -> Iterator[str | None]:
    offset = 0
    with opened(path) as file:
        for number, (raw, length) in enumerate(_pieces(file, b"\n"), start=1):
            if raw is None:
                offset += length
                yield None
                continue
            try:
                yield raw.decode(encoding.name, encoding.errors)
            except UnicodeDecodeError as e:
                byte = f"byte 0x{raw[e.start]:02x} at offset {offset + e.start}"
                raise _other_encoding(path, number, encoding, byte) from e
            offset += length


def _wide_lines(path: Path, encoding: Encoding) -> Iterator[str | None]:
    number = 0
    with opened(path, encoding) as file:
        try:
            for line, _ in _pieces(file, "\n"):
                number += 1
                yield line
        except UnicodeError as e:
            raise _other_encoding(path, number + 1, encoding, "or behind it") from e


def _other_encoding(path: Path, line: int, encoding: Encoding, where: str) -> BadInputError:
    return BadInputError(
        f"{path.name}, line {line}: not {encoding.label} ({where}).",
        "Save the file as UTF-8, or choose its encoding when importing (--encoding cp1252 ...).",
    )


def unreadable(path: Path, error: Exception) -> BadInputError:
    """The error for a file that the system does not let us read."""
    reason = getattr(error, "strerror", None) or error
    return BadInputError(
        f"{path.name} cannot be read: {reason}.",
        "Check that the file is there and that you may read it.",
    )
