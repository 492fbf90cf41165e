"""A little typesetter for PDFs as papers are: columns, justified lines, hyphens at line ends."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import reportlab
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

LETTER, A4 = (612.0, 792.0), (595.3, 841.9)
_FONTS = Path(reportlab.__file__).parent / "fonts"
for _name, _file in (("Vera", "Vera"), ("Vera-Bold", "VeraBd"), ("Vera-Oblique", "VeraIt")):
    pdfmetrics.registerFont(TTFont(_name, str(_FONTS / f"{_file}.ttf")))
FAMILIES = {
    "times": ("Times-Roman", "Times-Bold", "Times-Italic"),
    "helvetica": ("Helvetica", "Helvetica-Bold", "Helvetica-Oblique"),
    "vera": ("Vera", "Vera-Bold", "Vera-Oblique"),
}
_LIGATURES = (("fi", "\ufb01"), ("fl", "\ufb02"))
_BREAK = re.compile(
    r"(?<=[aeiouäöü])(?=[bcdfghklmnprstvwz][aeiouäöü])|(?<=[lmnrst])(?=[bcdfgkpt][aeiou])"
)
_OLD_ACCENTS = {"ä": "¨a", "ö": "¨o", "ü": "¨u", "é": "´e", "è": "`e", "á": "´a", "ñ": "˜n"}


@dataclass
class Style:
    """How a paragraph is set; sizes in points."""

    size: float = 10.0
    font: int = 0
    """0 plain, 1 bold, 2 italic."""
    align: str = "justify"
    lead: float = 1.2
    indent: float = 0.0
    inset: float = 0.0
    after: float = 4.0
    hyphenate: bool = True
    run_in: str = ""
    """Words in bold before the paragraph, as ``Abstract. ``"""
    run_in_font: int = 1


@dataclass
class Column:
    """A place that text flows into."""

    x: float
    width: float
    top: float
    bottom: float
    page: int = 0
    y: float = field(init=False)

    def __post_init__(self) -> None:
        self.y = self.top


@dataclass
class _Piece:
    page: int
    x: float
    y: float
    text: str
    font: str
    size: float
    space: float = 0.0


class Paper:
    """Collects lines and writes them as a PDF.

    Args:
        order: ``flow`` writes lines as they were set, ``rows`` from top to bottom across columns,
            as some converters do; ``words`` each word by itself.
        ligatures: write fi and fl as one letter.
        old_accents: write accents as letters of their own before their letters, as TeX did.
    """

    def __init__(
        self,
        family: str = "times",
        size: tuple[float, float] = LETTER,
        order: str = "flow",
        *,
        ligatures: bool = False,
        old_accents: bool = False,
    ) -> None:
        self.fonts = FAMILIES[family]
        self.width, self.height = size
        self.order, self.ligatures, self.old_accents = order, ligatures, old_accents
        self.pieces: list[_Piece] = []
        self.sections: list[str] = []
        self.rotated: list[tuple[float, float, str]] = []

    def flow(self, text: str, columns: Sequence[Column], style: Style | None = None) -> bool:
        """Set a paragraph into the first columns that have room; lines that fit nowhere go.

        Returns:
            Whether all of it was set.
        """
        style = style or Style()
        words = text.split()
        first = True
        while words:
            column = next((c for c in columns if c.y - style.size >= c.bottom), None)
            if column is None:
                return False
            left = column.x + style.inset + (style.indent if first else 0.0)
            room = column.width - 2 * style.inset - (style.indent if first else 0.0)
            run_in = style.run_in if first else ""
            skip = self._width(run_in, style.run_in_font, style.size)
            line, words = self._fill(words, room - skip, style)
            y = column.y - style.size
            if run_in:
                self._put(column.page, left, y, run_in, style.run_in_font, style.size)
            self._line(column.page, left + skip, y, room - skip, line, style, last=not words)
            column.y -= style.size * style.lead
            first = False
        for column in columns:
            if column.y < column.top:
                column.y -= style.after if column is _last_used(columns) else 0
        return True

    def at(
        self,
        page: int,
        x: float,
        y: float,
        text: str,
        size: float,
        font: int = 0,
        align: str = "left",
    ) -> None:
        """One line at a place; ``x`` is its left end, middle or right end."""
        width = self._width(text, font, size)
        shift = {"left": 0.0, "center": width / 2, "right": width}[align]
        self._put(page, x - shift, y, text, font, size)

    def stamp(self, text: str) -> None:
        """arXiv's stamp: upwards along the left edge of page 1."""
        self.rotated.append((28.0, 200.0, text))

    def write(
        self, info: dict[str, str] | None = None, created: str = "", password: str = ""
    ) -> bytes:
        """The PDF.

        Args:
            info: Title and Author as the file says them.
            created: its creation date (``20190304``), otherwise one that means nothing.
        """
        out = io.BytesIO()
        canvas = Canvas(
            out, pagesize=(self.width, self.height), invariant=True, encrypt=password or None
        )
        canvas.setTitle((info or {}).get("Title", ""))
        canvas.setAuthor((info or {}).get("Author", ""))
        pages = max((piece.page for piece in self.pieces), default=0) + 1
        for page in range(pages):
            own = [piece for piece in self.pieces if piece.page == page]
            if self.order == "rows":
                own.sort(key=lambda piece: (-round(piece.y), piece.x))
            for piece in own:
                self._draw(canvas, piece)
            for x, y, text in self.rotated if page == 0 else ():
                canvas.saveState()
                canvas.translate(x, y)
                canvas.rotate(90)
                canvas.setFont(self.fonts[0], 20)
                canvas.drawString(0, 0, text)
                canvas.restoreState()
            canvas.showPage()
        canvas.save()
        date = f"D:{created}120000" if created else "D:20241111111111"
        return re.sub(rb"\(D:\d{14}[^)]*\)", f"({date}Z)".encode().ljust(0), out.getvalue())

    def _draw(self, canvas: Canvas, piece: _Piece) -> None:
        canvas.setFont(piece.font, piece.size)
        if self.order == "words":
            x = piece.x
            for word in piece.text.split(" "):
                canvas.drawString(x, piece.y, self._letters(word))
                x += pdfmetrics.stringWidth(word + " ", piece.font, piece.size) + piece.space
            return
        text = canvas.beginText(piece.x, piece.y)
        text.setWordSpace(piece.space if piece.font.split("-")[0] != "Vera" else 0)
        text.textOut(self._letters(piece.text))
        canvas.drawText(text)

    def _letters(self, text: str) -> str:
        if self.ligatures:
            for plain, one in _LIGATURES:
                text = text.replace(plain, one)
        if self.old_accents:
            text = "".join(_OLD_ACCENTS.get(c, c) for c in text)
        return text

    def _width(self, text: str, font: int, size: float) -> float:
        return (
            float(pdfmetrics.stringWidth(self._letters(text), self.fonts[font], size))
            if text
            else 0.0
        )

    def _fill(self, words: list[str], room: float, style: Style) -> tuple[str, list[str]]:
        """The words of one line, the last maybe cut by a hyphen, and those left."""
        line: list[str] = []
        for index, word in enumerate(words):
            if self._width(" ".join([*line, word]), style.font, style.size) <= room:
                line.append(word)
                continue
            if style.hyphenate and style.align == "justify":
                for cut in reversed(_cuts(word)):
                    head = word[:cut] + ("" if word[cut - 1] == "-" else "-")
                    if self._width(" ".join([*line, head]), style.font, style.size) <= room:
                        return " ".join([*line, head]), [word[cut:], *words[index + 1 :]]
            return " ".join(line or [word]), words[index + (not line) :]
        return " ".join(line), []

    def _line(
        self, page: int, x: float, y: float, room: float, line: str, style: Style, *, last: bool
    ) -> None:
        width = self._width(line, style.font, style.size)
        gaps = line.count(" ")
        space = 0.0
        if style.align == "center":
            x += (room - width) / 2
        elif style.align == "justify" and not last and gaps:
            space = (room - width) / gaps
        self._put(page, x, y, line, style.font, style.size, space)

    def _put(
        self, page: int, x: float, y: float, text: str, font: int, size: float, space: float = 0.0
    ) -> None:
        self.pieces.append(_Piece(page, x, y, text, self.fonts[font], size, space))


def _last_used(columns: Sequence[Column]) -> Column:
    return [column for column in columns if column.y < column.top][-1]


def _cuts(word: str) -> list[int]:
    """Where a word may be cut: behind its own hyphens, and between syllables."""
    own = [m.end() for m in re.finditer(r"(?<=\w)-(?=\w)", word)]
    if len(word) < 7 or not word.isalpha():
        return own
    return own + [m.start() for m in _BREAK.finditer(word) if 1 < m.start() < len(word) - 2]
