"""A PDF's pages as lines of text with their places, sizes and fonts (PDFium reads them).

Coordinates are points (1/72 inch) from the lower left corner of the page.
"""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pypdfium2
import pypdfium2.raw as raw

from engine.ingest.pdf.lines import Char, Line, follows, joined_lines, line_of
from engine.types.limits import PDF_CHARS, PDF_PAGES

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
    """The lines of one page, in no order.

    Attributes:
        width, height: in points.
        turned: text that does not run from left to right, such as arXiv's stamp.
    """

    width: float
    height: float
    lines: tuple[Line, ...]
    turned: str


@dataclass(frozen=True, slots=True)
class PdfText:
    """What a PDF holds.

    Attributes:
        pages: the first of them, up to ``PDF_PAGES``.
        info: what the file says of itself (``Title``, ``CreationDate`` ...).
        more_pages: how many were left out.
    """

    pages: tuple[Page, ...]
    info: dict[str, str]
    more_pages: int


def read_pages(content: bytes | Path) -> PdfText:
    """Every line of a PDF.

    Raises:
        UnreadableError: it is protected, broken, or has no text that can be read.
    """
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        raise UnreadableError(_reason(str(error))) from error
    with document:
        count = len(document)
        if not count:
            raise UnreadableError("has no pages")
        info = _info(document)
        pages: list[Page] = []
        left = PDF_CHARS
        for number in range(min(count, PDF_PAGES)):
            try:
                page = _page(document[number], len(pages), left)
            except pypdfium2.PdfiumError as error:
                raise UnreadableError(f"is damaged (page {number + 1} cannot be read)") from error
            left -= sum(len(line.text) for line in page.lines)
            if page.lines or pages:  # empty pages in front are no part of the paper
                pages.append(page)
            if left <= 0:
                break
    _check_text(pages)
    pages = _without_bold(pages)
    return PdfText(tuple(pages), info, max(0, count - number - 1))


def _info(document: pypdfium2.PdfDocument) -> dict[str, str]:
    info = {}
    for name in document.METADATA_KEYS:
        with suppress(UnicodeDecodeError):  # half a character in a title is no reason to stop
            info[name] = str(document.get_metadata_value(name))
    return info


def _reason(error: str) -> str:
    lower = error.lower()
    if "password" in lower:
        return "is protected by a password"
    if "security" in lower:
        return "is protected in a way that cannot be read"
    return "is damaged, or no PDF"


def _check_text(pages: list[Page]) -> None:
    text = "".join(line.text for page in pages for line in page.lines)
    letters = sum(c.isalpha() for c in text)
    strange = sum(
        unicodedata.category(c) in ("Co", "Cn") or c == "\N{REPLACEMENT CHARACTER}" for c in text
    )
    if strange > 0.3 * max(1, len(text)):
        raise UnreadableError("has letters that cannot be told (its fonts have no character map)")
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


def _page(page: pypdfium2.PdfPage, number: int, most: int) -> Page:
    text_page = page.get_textpage()
    try:
        width, height = page.get_size()
        left, bottom, *_ = page.get_mediabox()
        runs, turned = _runs(text_page, most)
        fragments = [line_of(number, run, left, bottom) for run in runs]
        return Page(width, height, tuple(joined_lines(fragments)), turned)
    finally:
        text_page.close()
        page.close()


def _runs(text_page: Any, most: int) -> tuple[list[list[Char]], str]:
    """Letters in the file's order, cut where the baseline changes or a wide gap opens."""
    runs: list[list[Char]] = []
    turned: list[str] = []
    run: list[Char] = []
    style, fresh = 0, True
    probe = _Probe(text_page)
    for index in range(min(text_page.count_chars(), most)):
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
    """Whether a letter stands as far behind a run as a word: PDFium finds no blank before a wide
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
