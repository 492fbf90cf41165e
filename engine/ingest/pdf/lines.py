"""Letters with their places, put together to lines."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

# Letters with accents, as fonts without them are set by TeX: the accent, then the letter.
_ACCENTS = dict(
    zip(
        "¨´`ˆ˜ˇ˚¸˘¯˝",
        "\u0308\u0301\u0300\u0302\u0303\u030c\u030a\u0327\u0306\u0304\u030b",
        strict=True,
    )
)
_SIGNS = re.escape("".join(_ACCENTS))
_ACCENTED = re.compile(rf"(?:(?<=\w) )?([{_SIGNS}]) ?([A-Za-zı])(?![{_SIGNS}])")
_CEDILLA = re.compile(r"([cCsStT])¸")
_MARKS = re.compile(r"[\d,*†‡§¶∗⋆♠♣♦♥a-f\s]+\Z")


_NUMBER = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5})\.?\Z")


@dataclass(frozen=True, slots=True)
class Line:
    """Words on one baseline with no wide gap between them.

    Attributes:
        page: from 0.
        x0, x1: where it begins and ends.
        y: of the baseline.
        size: of most of its letters, in points.
        names: the text, with signs where raised marks were: the line as a list of authors.
    """

    page: int
    x0: float
    x1: float
    y: float
    size: float
    bold: bool
    italic: bool
    text: str
    names: str = ""

    @property
    def top(self) -> float:
        """Where its capital letters end."""
        return self.y + 0.75 * self.size


@dataclass(slots=True)
class Char:
    """A letter; its place and size are in points.

    Attributes:
        style: 1 for bold, and 2 for italic.
    """

    text: str
    x0: float
    x1: float
    y: float
    size: float
    style: int


def follows(run: list[Char], char: Char) -> bool:
    """Whether a letter goes on with a run: on its baseline, with no gap of an em."""
    last = run[-1]
    big = max(max(c.size for c in run[-12:]), char.size)
    same_line = abs(char.y - run[0].y) < 0.45 * big or abs(char.y - last.y) < 0.45 * big
    gap = char.x0 - last.x1
    return same_line and -1.0 * big < gap < 0.95 * big


def line_of(page: int, run: list[Char], left: float, bottom: float) -> Line:
    """A run of letters as a line.

    Args:
        left, bottom: where the page begins, in points.
    """
    letters = [c for c in run if c.text != " "]
    size = Counter(round(c.size, 1) for c in letters).most_common(1)[0][0]
    y = Counter(round(c.y, 1) for c in letters if abs(c.size - size) < 0.6).most_common(1)[0][0]
    text, names = _text_and_names(run, size, y)
    return Line(
        page=page,
        x0=letters[0].x0 - left,
        x1=max(c.x1 for c in letters) - left,
        y=y - bottom,
        size=size,
        bold=sum(c.style & 1 for c in letters) > 0.6 * len(letters),
        italic=sum(c.style & 2 > 0 for c in letters) > 0.6 * len(letters),
        text=text,
        names=names,
    )


def _text_and_names(run: list[Char], size: float, y: float) -> tuple[str, str]:
    """The text of a line, without raised marks; and with a comma for each."""
    words: list[str] = []
    names: list[str] = []
    raised, last = "", None
    for char in [*run, None]:
        if (
            char is not None
            and char.text != " "
            and char.size < 0.85 * size
            and char.y > y + 0.18 * size
        ):
            raised += char.text
            continue
        if raised:
            before = words[-1] if words else " "
            if not _MARKS.match(raised):
                words.append(raised)
            elif before.isdigit():
                words.append("^" + raised)
            names.append(", " if _MARKS.match(raised) else raised)
            raised = ""
        if char is not None:
            if last is not None and char.x0 - last.x1 > 0.6 * size:
                names.append(", ")
            words.append(char.text)
            names.append(char.text)
            last = char if char.text != " " else last
    return accents_joined("".join(words)), accents_joined("".join(names))


def accents_joined(text: str) -> str:
    """Accents that stand beside their letters are put on them; a cedilla stands behind its letter.

    >>> accents_joined("M¨uller, Poincar´e, Franc¸ois")
    'Müller, Poincaré, François'
    """
    text = _CEDILLA.sub(lambda match: unicodedata.normalize("NFC", f"{match[1]}\u0327"), text)

    def composed(match: re.Match[str]) -> str:
        letter = match[2].replace("ı", "i")
        return unicodedata.normalize("NFC", letter + _ACCENTS[match[1]])

    return " ".join(_ACCENTED.sub(composed, text).split())


def joined_lines(fragments: list[Line]) -> Iterator[Line]:
    """Fragments on one baseline that stand close to each other as one line; raised marks that
    the file draws by themselves go, and leave a comma among the names."""
    rows: list[list[Line]] = []
    for line in sorted(fragments, key=lambda line: (-line.y, line.x0)):
        row = rows[-1] if rows else None
        if row is not None and abs(row[0].y - line.y) < 0.3 * max(row[0].size, line.size):
            row.append(line)
        else:
            rows.append([line])
    for above, row in zip([[], *rows], rows, strict=False):
        row += [mark for mark in above if any(_marks(mark, line) for line in row)]
        above[:] = [line for line in above if line not in row]
    for row in rows:
        # One baseline for all, so that the pieces of a line stay in their order.
        y = max(row, key=lambda line: len(line.text)).y if row else 0.0
        for line in _of_row(sorted(row, key=lambda line: line.x0)):
            yield replace(line, y=y)


def _marks(mark: Line, line: Line) -> bool:
    """Whether a fragment is a raised mark beside a line."""
    raised = 0.15 * line.size < mark.y - line.y < 0.75 * line.size
    beside = min(abs(mark.x0 - line.x1), abs(line.x0 - mark.x1)) < 0.35 * line.size
    small = mark.size < 0.85 * line.size
    return raised and beside and small and _MARKS.match(mark.text) is not None


def _of_row(row: list[Line]) -> Iterator[Line]:
    waiting: Line | None = None
    for line in row:
        if waiting is None:
            waiting = line
        elif _marks(line, waiting):
            waiting = replace(waiting, x1=line.x1, names=f"{waiting.names}, ")
        elif _marks(waiting, line):
            waiting = line
        elif (
            -line.size < line.x0 - waiting.x1 < _reach(waiting) * max(waiting.size, line.size)
            and abs(line.y - waiting.y) < 0.3 * line.size
        ):
            waiting = _together(waiting, line)
        else:
            yield waiting
            waiting = line
    if waiting is not None and waiting.text:
        yield waiting


def _reach(line: Line) -> float:
    """How far the rest of a line may be, in ems: farther behind the number of a heading."""
    return 2.6 if _NUMBER.match(line.text) else 0.45


def _together(a: Line, b: Line) -> Line:
    main = a if len(a.text) >= len(b.text) else b
    gap = " " if b.x0 - a.x1 > 0.12 * main.size else ""
    return Line(
        a.page, min(a.x0, b.x0), max(a.x1, b.x1), main.y, main.size, main.bold, main.italic,
        a.text + gap + b.text, a.names + gap + b.names,
    )  # fmt: skip
