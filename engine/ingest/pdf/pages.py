"""The lines of a PDF with their places, sizes and fonts (PDFium reads them), in the order in which
people read them.

Coordinates are points (1/72 inch) from the lower left corner of the page.
"""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pypdfium2
import pypdfium2.raw as raw

PDF_PAGES = 100  # that are read; the document says which are left out ("pages left out")

# Letters with accents, as fonts without them are set by TeX: the accent, then the letter.
_COMBINING = "\u0308\u0301\u0300\u0302\u0303\u030c\u030a\u0327\u0306\u0304\u030b"
_ACCENTS = dict(zip("¨´`ˆ˜ˇ˚¸˘¯˝", _COMBINING, strict=True))
_SIGNS = re.escape("".join(_ACCENTS))
_ACCENTED = re.compile(rf"(?:(?<=\w) )?([{_SIGNS}]) ?([A-Za-zı])(?![{_SIGNS}])")
_CEDILLA = re.compile(r"([cCsStT])¸")
_MARKS = re.compile(r"[\d,*†‡§¶∗⋆♠♣♦♥a-f\s]+\Z")


_NUMBER = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5})\.?\Z")


@dataclass(frozen=True, slots=True)
class Line:
    """Words on one baseline with no wide gap between them."""

    page: int  # from 0
    x0: float  # x0, x1: where it begins and ends
    x1: float
    y: float  # of the baseline
    size: float  # of most of its letters, in points
    bold: bool
    italic: bool
    text: str
    names: str = ""  # the text, with signs where raised marks were: the line as a list of authors

    @property
    def top(self) -> float:
        """Where its capital letters end."""
        return self.y + 0.75 * self.size


@dataclass(slots=True)
class Char:
    """A letter; its place and size are in points."""

    text: str
    x0: float
    x1: float
    y: float
    size: float
    style: int  # 1 for bold, and 2 for italic


def follows(run: list[Char], char: Char) -> bool:
    """Whether a letter goes on with a run: on its baseline, with no gap of an em."""
    last = run[-1]
    big = max(max(c.size for c in run[-12:]), char.size)
    same_line = abs(char.y - run[0].y) < 0.45 * big or abs(char.y - last.y) < 0.45 * big
    gap = char.x0 - last.x1
    return same_line and -1.0 * big < gap < 0.95 * big


def line_of(page: int, run: list[Char], left: float, bottom: float) -> Line:
    """A run of letters as a line."""
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
    """Accents beside their letters are put on them; a cedilla is behind its letter.

    >>> accents_joined("M¨uller, Poincar´e, Franc¸ois")
    'Müller, Poincaré, François'
    """
    text = _CEDILLA.sub(lambda match: unicodedata.normalize("NFC", f"{match[1]}\u0327"), text)

    def composed(match: re.Match[str]) -> str:
        letter = match[2].replace("ı", "i")
        return unicodedata.normalize("NFC", letter + _ACCENTS[match[1]])

    return " ".join(_ACCENTED.sub(composed, text).split())


def joined_lines(fragments: list[Line]) -> Iterator[Line]:
    """Fragments on one baseline that are close to each other as one line; raised marks that
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
        # The rest of a line may be farther away, in ems, behind the number of a heading.
        reach = 2.6 if waiting and _NUMBER.match(waiting.text) else 0.45
        if waiting is None:
            waiting = line
        elif _marks(line, waiting):
            waiting = replace(waiting, x1=line.x1, names=f"{waiting.names}, ")
        elif _marks(waiting, line):
            waiting = line
        elif (
            -line.size < line.x0 - waiting.x1 < reach * max(waiting.size, line.size)
            and abs(line.y - waiting.y) < 0.3 * line.size
        ):
            waiting = _together(waiting, line)
        else:
            yield waiting
            waiting = line
    if waiting is not None and waiting.text:
        yield waiting


def _together(a: Line, b: Line) -> Line:
    main = a if len(a.text) >= len(b.text) else b
    gap = " " if b.x0 - a.x1 > 0.12 * main.size else ""
    x0, x1 = min(a.x0, b.x0), max(a.x1, b.x1)
    return replace(main, x0=x0, x1=x1, text=a.text + gap + b.text, names=a.names + gap + b.names)


_BOLD = re.compile(
    r"bold|black|heavy|demi|medi\b|semib|cmbx|cmssbx|sfbx|ecbx|lmroman\d+-bold|-b\b|\.b\b", re.I
)
_ITALIC = re.compile(r"ital|obli|slant|cmti|cmsl|sfti|ecti|regu-?ital", re.I)
_LIGATURES = {c: unicodedata.normalize("NFKC", chr(c)) for c in range(0xFB00, 0xFB07)}
_PLAIN = {0x2: "-", 0xAD: "-", 0x2010: "-", 0x2011: "-", 0xA0: " ", 0xFFFE: "-", **_LIGATURES}


class UnreadableError(Exception):
    """Why a file gives no text, as a clause: "is protected by a password"."""


@dataclass(frozen=True, slots=True)
class Page:
    """The lines of one page, in no order."""

    width: float  # width, height: in points
    height: float
    lines: tuple[Line, ...]
    turned: str  # text that does not run from left to right, such as arXiv's stamp


@dataclass(frozen=True, slots=True)
class PdfText:
    """What a PDF holds."""

    pages: tuple[Page, ...]  # the first of them, up to `PDF_PAGES`
    info: dict[str, str]  # metadata of the file (`Title`, `CreationDate` ...)
    more_pages: int  # how many were left out


def read_pages(content: bytes | Path) -> PdfText:
    """Every line of a PDF."""
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        reasons = {
            "password": "is protected by a password",
            "security": "is protected in a way that cannot be read",
        }
        found = (reason for word, reason in reasons.items() if word in str(error).lower())
        raise UnreadableError(next(found, "is damaged, or no PDF")) from error
    with document:
        count = len(document)
        if not count:
            raise UnreadableError("has no pages")
        info = _info(document)
        pages: list[Page] = []
        for number in range(min(count, PDF_PAGES)):
            try:
                page = _page(document[number], len(pages))
            except pypdfium2.PdfiumError as error:
                raise UnreadableError(f"is damaged (page {number + 1} cannot be read)") from error
            if page.lines or pages:  # empty pages in front are no part of the paper
                pages.append(page)
    _check_text(pages)
    pages = _without_bold(pages)
    return PdfText(tuple(pages), info, max(0, count - PDF_PAGES))


def _info(document: pypdfium2.PdfDocument) -> dict[str, str]:
    info = {}
    for name in document.METADATA_KEYS:
        with suppress(UnicodeDecodeError):  # half a character in a title is no reason to stop
            info[name] = str(document.get_metadata_value(name))
    return info


def _check_text(pages: list[Page]) -> None:
    text = "".join(line.text for page in pages for line in page.lines)
    letters = sum(c.isalpha() for c in text)
    strange = sum(
        unicodedata.category(c) in ("Co", "Cn") or c == "\N{REPLACEMENT CHARACTER}" for c in text
    )
    if strange > 0.3 * max(1, len(text)):
        raise UnreadableError("has letters that cannot be read (its fonts have no character map)")
    if letters < 40:
        raise UnreadableError("has no text: its pages are pictures (scanned?), which are not read")


def _without_bold(pages: list[Page]) -> list[Page]:
    """The pages; where most text says that it is bold, that tells nothing, and none is."""
    lines = [line for page in pages for line in page.lines]
    bold = sum(len(line.text) for line in lines if line.bold)
    if bold < 0.5 * sum(len(line.text) for line in lines):
        return pages
    return [
        replace(page, lines=tuple(replace(line, bold=False) for line in page.lines))
        for page in pages
    ]


def _page(page: pypdfium2.PdfPage, number: int) -> Page:
    text_page = page.get_textpage()
    try:
        width, height = page.get_size()
        left, bottom, *_ = page.get_mediabox()
        runs, turned = _runs(text_page)
        fragments = [line_of(number, run, left, bottom) for run in runs]
        return Page(width, height, tuple(joined_lines(fragments)), turned)
    finally:
        text_page.close()
        page.close()


def _runs(text_page: Any) -> tuple[list[list[Char]], str]:
    """Letters in the file's order, cut where the baseline changes or a wide gap opens."""
    runs: list[list[Char]] = []
    turned: list[str] = []
    run: list[Char] = []
    style, fresh = 0, True
    probe = _Probe(text_page)
    for index in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, index)
        text = _PLAIN.get(code) or (chr(code) if 0 < code < 0x110000 else "")
        if not text.strip():
            fresh = True
            if text in ("\n", "\r"):
                continue
            if run and run[-1].text != " ":
                last = run[-1]
                run.append(Char(" ", last.x1, last.x1, last.y, last.size, last.style))
            continue
        if 0xD800 <= code < 0xE000 or unicodedata.category(text[0]) == "Cc":
            continue
        if fresh:
            if probe.is_turned(index):
                turned.append(" ")
                style = -1
            else:
                style = probe.style(index)
            fresh = False
        if style < 0:
            turned.append(text)
            continue
        char = probe.char(index, text, style)
        if char.size < 1:
            continue
        if run and not follows(run, char):
            runs.append(run)
            run = []
        if run and _is_word_gap(run, char):
            run.append(Char(" ", run[-1].x1, char.x0, char.y, char.size, char.style))
        run.append(char)
    runs.append(run)
    return [run for run in runs if any(c.text != " " for c in run)], "".join(turned).strip()


def _is_word_gap(run: list[Char], char: Char) -> bool:
    """Whether a letter is as far behind a run as a word: PDFium finds no blank before a wide
    one. Letters that are all set apart are no words."""
    last = run[-1]
    before = last.x0 - run[-2].x1 if len(run) > 1 else 0.0
    alike = abs(last.size - char.size) < 0.05 * char.size and abs(last.y - char.y) < 0.1 * char.size
    gap = char.x0 - last.x1
    return alike and last.text != " " and gap > max(0.09 * char.size, 2 * before)


class _Probe:
    """Asks PDFium about single letters."""

    def __init__(self, text_page: Any) -> None:
        self.page = text_page
        self._box, self._matrix = raw.FS_RECTF(), raw.FS_MATRIX()
        self._height, self._size = 0.0, 0.0
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._name = ctypes.create_string_buffer(128)
        self._flags = ctypes.c_int()
        self._styles: dict[bytes, int] = {}

    def is_turned(self, index: int) -> bool:
        angle = raw.FPDFText_GetCharAngle(self.page, index)
        return bool(0.1 < angle < 6.18)

    def style(self, index: int) -> int:
        raw.FPDFText_GetFontInfo(self.page, index, self._name, 128, self._flags)
        name = self._name.value
        known = self._styles.get(name)
        if known is None:
            plain = name.decode(errors="replace").partition("+")[2] or name.decode(errors="replace")
            known = bool(_BOLD.search(plain)) + 2 * bool(_ITALIC.search(plain))
            self._styles[name] = known
        if not known & 1 and raw.FPDFText_GetFontWeight(self.page, index) >= 600:
            return known | 1
        return known

    def char(self, index: int, text: str, style: int) -> Char:
        raw.FPDFText_GetLooseCharBox(self.page, index, self._box)
        raw.FPDFText_GetCharOrigin(self.page, index, self._x, self._y)
        box = self._box
        # The height of a box changes with the font and its size: only then is the size asked for.
        if box.top - box.bottom != self._height:
            self._height = box.top - box.bottom
            raw.FPDFText_GetMatrix(self.page, index, self._matrix)
            scale = math.hypot(self._matrix.c, self._matrix.d)
            self._size = raw.FPDFText_GetFontSize(self.page, index) * scale
        return Char(text, box.left, box.right, self._y.value, self._size, style)


# -- in the order in which they are read ------------------------------------------------------

GUTTER = 6.0  # Points between columns at least; LaTeX has 10 (article) to 24
LEAST_ROWS = 3
"""Lines on each side of a gutter; wide gaps between words may lie below each other twice."""
_MARGIN = 0.09
"""Share of a page's height, above and below, in which running heads and page numbers are."""
_PAGE_NUMBER = re.compile(
    r"(?:page\s+)?[-–—]?\s*(?:\d{1,4}|[ivxlc]{1,6})\s*[-–—]?(?:\s*(?:of|/)\s*\d+)?\Z", re.I
)


def body_size(pages: Iterable[Page]) -> float:
    """The size, in points, in which most letters are set."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0]


def margins(pdf: PdfText) -> frozenset[Line]:
    """Running heads, page numbers and the like: lines at the edge of pages. Words there
    belong to it when they are on several pages (numbers aside), or are only a number."""
    outer = {
        line: re.sub(r"\d+", "#", "".join(line.text.split()).casefold())
        for page in pdf.pages
        for line in _edge(page)
    }
    seen = Counter(outer.values())
    return frozenset(
        line for line, key in outer.items() if seen[key] > 1 or _PAGE_NUMBER.match(line.text)
    )


def _edge(page: Page) -> list[Line]:
    """Lines in the upper and lower margin."""
    low, high = _MARGIN * page.height, (1 - _MARGIN) * page.height
    edge = [line for line in page.lines if line.y < low or line.y > high]
    # A page number below a short page is higher up, alone.
    if page.lines:
        last = min(page.lines, key=lambda line: line.y)
        if last not in edge and last.y < 0.2 * page.height and _PAGE_NUMBER.match(last.text):
            edge.append(last)
    return edge


def in_order(lines: Sequence[Line], width: float) -> list[Line]:
    """Lines column by column; what goes across columns parts what is above from what is below."""
    return _parted(sorted(lines, key=lambda line: (-line.y, line.x0)), width)


def _parted(lines: list[Line], width: float) -> list[Line]:
    """Lines from top to bottom, parted at the columns that reach over most of them."""
    bands = [(*band, x) for x in _gutters(lines, width) if (band := _longest_band(lines, x))]
    if not bands:
        return lines
    length, first, x = max(bands, key=lambda band: band[0])
    beside = lines[first : first + length]
    left = [line for line in beside if line.x0 < x]
    right = [line for line in beside if line.x0 >= x]
    return [
        *_parted(lines[:first], width),
        *_parted(left, width),
        *_parted(right, width),
        *_parted(lines[first + length :], width),
    ]


def _gutters(lines: Sequence[Line], width: float) -> list[float]:
    """Where columns may begin: left edges that several lines share."""
    if not lines:
        return []
    left = min(line.x0 for line in lines)
    starts = Counter(round(line.x0 / 3) for line in lines if line.x0 > left + 0.12 * width)
    return [
        3 * x - 2.0
        for x, _ in starts.most_common(8)
        if starts[x] + starts[x + 1] + starts[x - 1] > 2
    ]


def _longest_band(lines: Sequence[Line], x: float) -> tuple[int, int] | None:
    """The most lines that follow each other and leave the gutter left of ``x`` free. Returns how
    many they are and the index of the first; None where there is no text on both sides."""
    best: tuple[int, int] | None = None
    first = 0
    sides: tuple[set[float], set[float]] = (set(), set())
    for index, line in enumerate([*lines, None]):
        if line is not None and not line.x0 < x < line.x1 + GUTTER:
            sides[line.x0 >= x].add(line.y)
            continue
        length = index - first
        if min(map(len, sides)) >= LEAST_ROWS and (best is None or length > best[0]):
            best = length, first
        first, sides = index + 1, (set(), set())
    return best


def without_footnotes(ordered: Sequence[Line], body: float, height: float) -> list[Line]:
    """The lines without those in small print at the foot of a column."""
    small: set[Line] = set()
    for line in sorted(ordered, key=lambda line: -line.y):
        if line.size >= 0.93 * body or line.y > 0.36 * height:
            continue
        above = [o for o in ordered if 0 < o.y - line.y < 1.5 * line.size and _over(o, line)]
        # Small text that begins higher up, as an abstract, is none.
        if not any(o.size < 0.93 * body and o not in small for o in above):
            small.add(line)
    # All below small print in the same column, down to its foot, is of it.
    kept = []
    for line in ordered:
        if line in small:
            below = [o for o in ordered if o.y < line.y - 1 and _over(o, line)]
            if all(o in small for o in below):
                continue
        kept.append(line)
    return kept


def _over(a: Line, b: Line) -> bool:
    """Whether two lines share a part of the width."""
    return a.x0 < b.x1 and b.x0 < a.x1


_WHOLE_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LAST = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)-\Z")
_FIRST = re.compile(r"[^\W\d_]+")
_KEPT = frozenset({"self", "well", "cross", "non", "state", "co", "semi"})
"""First halves of words that keep their hyphen, where the paper has no other opinion."""
_SMALL = frozenset({"and", "by", "in", "of", "on", "the", "to", "up"})
"""Words within longer ones with hyphens: state-of-the-art."""
_JOINED = frozenset({"after", "every", "inter", "super", "there", "through", "under", "where"})
"""First halves that are words of their own in words without a hyphen."""


class Vocabulary:
    """The words within the lines of a paper, where no line end cuts them."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._words: set[str] = set()
        for line in lines:
            words = _WHOLE_WORD.findall(line.text.casefold())
            self._words.update(words[:-1] if line.text.endswith("-") else words)

    def joined(self, lines: Sequence[str]) -> str:
        """Lines as one text. A hyphen at a line's end goes, unless the paper has the word with it
        elsewhere, or the second half begins with a capital letter or a digit."""
        parts: list[str] = []
        for line in map(str.strip, lines):
            before = parts[-1] if parts else ""
            last, first = _LAST.search(before), _FIRST.match(line)
            if last is None or first is None:
                dash = before.endswith("-") and before[-2:-1] != " "
                parts.append(line if dash or not before else f" {line}")
            else:
                parts[-1] = before[:-1] if self._hyphenated(last[1], first[0]) else before
                parts.append(line)
        return " ".join("".join(parts).split())

    def _hyphenated(self, last: str, first: str) -> bool:
        """Whether a line end alone put the hyphen between two parts of a word."""
        if not first[0].islower():
            return False
        before, after = last.casefold(), first.casefold()
        if before.rpartition("-")[2] + after in self._words:
            return True
        if f"{before}-{after}" in self._words:
            return False
        last = before.rpartition("-")[2]
        if last in _KEPT or ("-" in before and last in _SMALL):
            return False
        both = min(len(last), len(after)) > 4 and {last, after} <= self._words
        return not both or last in _JOINED


class Reading:
    """The lines of a PDF as people read them. `pdf`: all that the file holds. `body`: size of the
    text, in points. `head`: the lines of page 1. `lines`: of all pages, without running heads and
    footnotes. `vocabulary`: joins lines to text."""

    def __init__(self, pdf: PdfText) -> None:
        self.pdf = pdf
        self.body = body_size(pdf.pages)
        edge = margins(pdf)
        self.lines: list[Line] = []
        self.head: list[Line] = []
        for page in pdf.pages:
            ordered = in_order([line for line in page.lines if line not in edge], page.width)
            self.lines += without_footnotes(ordered, self.body, page.height)
            if page is pdf.pages[0]:
                self.head = ordered
        self.vocabulary = Vocabulary(line for page in pdf.pages for line in page.lines)

    def text(self, lines: Sequence[Line]) -> str:
        """Lines as running text."""
        return self.vocabulary.joined([line.text for line in lines])
