"""Papers as PDFs, each with what is true of it: a table of layouts (`data/papers.toml`), set by a
little typesetter with columns, justified lines and hyphens at line ends.

Titles and abstracts are the demo's, or in the table where a language or a layout needs its own.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

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
    font: int = 0  # 0 plain, 1 bold, 2 italic
    align: str = "justify"
    lead: float = 1.2
    indent: float = 0.0
    inset: float = 0.0
    after: float = 4.0
    hyphenate: bool = True
    run_in: str = ""  # words in bold before the paragraph, as `Abstract. `
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

    `order`: `flow` writes lines as they were set, `rows` from top to bottom across columns, as some
    converters do; `words` each word by itself. `old_accents`: accents are letters of their own
    before their letters, as TeX wrote them.
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
        self.rotated: list[tuple[float, float, str]] = []  # upwards, as arXiv's stamp

    def flow(self, text: str, columns: Sequence[Column], style: Style | None = None) -> bool:
        """Set a paragraph into the first columns with room; False where some of it has none."""
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
        if used := [column for column in columns if column.y < column.top]:
            used[-1].y -= style.after
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

    def write(
        self, info: dict[str, str] | None = None, created: str = "", password: str = ""
    ) -> bytes:
        """The PDF, with Title and Author (`info`) and the day of its creation (`20190304`)."""
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
        return re.sub(rb"\(D:\d{14}[^)]*\)", f"({date}Z)".encode(), out.getvalue())

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
        return float(pdfmetrics.stringWidth(self._letters(text), self.fonts[font], size))

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


def _cuts(word: str) -> list[int]:
    """Where a word may be cut: behind its own hyphens, and between syllables."""
    own = [m.end() for m in re.finditer(r"(?<=\w)-(?=\w)", word)]
    if len(word) < 7 or not word.isalpha():
        return own
    return own + [m.start() for m in _BREAK.finditer(word) if 1 < m.start() < len(word) - 2]


# -- the table ----------------------------------------------------------------------------------

ROOT = Path(__file__).parents[1]
PEOPLE = (
    "Jürgen Müller, Ana Sofía García, Wei Zhang, Ngozi Okafor, Élise Dupont, John R. Smith, "
    "Priya Raman, Ivo van Stokkum, Lars Sørensen, Maria da Silva, Tomáš Novák, Chloe O’Brien"
)
AUTHORS = tuple(PEOPLE.split(", "))
SECTIONS = ("Introduction", "Related Work", "Data and Methods", "Results", "Conclusion")
ROMAN = ("", "I. ", "II. ", "III. ", "IV. ", "V. ", "VI. ")


@dataclass(frozen=True)
class Made:
    """A PDF, and what is true of the paper in it."""

    name: str
    content: bytes
    title: str
    year: int
    abstract: str
    authors: tuple[str, ...]
    sections: tuple[str, ...]


@cache
def _table() -> dict[str, dict[str, Any]]:
    table = tomllib.loads((ROOT / "data" / "papers.toml").read_text("utf-8"))
    looks = table.pop("look")
    return {name: looks.get(row.get("look"), {}) | row for name, row in table.items()}


@cache
def _demo() -> list[tuple[str, str]]:
    rows = (ROOT.parent / "assets" / "demo" / "corpus.jsonl").read_text("utf-8").splitlines()
    return [(row["title"], " ".join(row["sentences"])) for row in map(json.loads, rows)]


def thirty() -> list[Made]:
    """All of them, in a fixed order."""
    return list(map(made, _table()))


@cache
def made(name: str) -> Made:
    """The paper of that name in the table."""
    row = _table()[name]
    number, count = row["number"], row.get("authors", 3)
    title, abstract = _demo()[number * 7]
    if "double_abstract" in row:
        abstract += " " + _demo()[number * 7 + 7][1]
    title, abstract = row.get("title", title), row.get("abstract", abstract)
    fields: dict[str, Any] = {"year": row["year"]}
    if names := row.get("parts"):
        parts = abstract.split(". ")
        third = max(1, len(parts) // 3)
        cut = (parts[:third], parts[third : 2 * third], parts[2 * third :])
        texts = [". ".join(part).removesuffix(".") + "." for part in cut]
        fields |= {f"part{at}": text for at, text in enumerate(texts)}
        abstract = " ".join(f"{one}: {text}" for one, text in zip(names, texts, strict=True))
    title = title.upper() if "capitals" in row else title
    authors = tuple(AUTHORS[(number + i) % len(AUTHORS)] for i in range(count))
    fields |= {"title": title, "abstract": abstract}
    sizes = {"a4": A4, "letter": LETTER}
    paper = Paper(
        row.get("font", "times"),
        sizes[row.get("page", "letter")],
        row.get("order", "flow"),
        ligatures=row.get("ligatures", False),
        old_accents=row.get("old_accents", False),
    )
    paper.fonts = tuple(row["fonts"]) if "fonts" in row else paper.fonts  # type: ignore[assignment]
    _Setter(paper, row, fields, authors, number).set()
    info = {"Title": row["info"].format(**fields), "Author": ""} if "info" in row else None
    content = paper.write(info, row.get("created", ""))
    return Made(name, content, title, row["year"], abstract, authors, tuple(paper.sections))


@dataclass
class _Setter:
    """Sets one row of the table."""

    paper: Paper
    row: dict[str, Any]
    fields: dict[str, Any]
    authors: tuple[str, ...]
    number: int

    def set(self) -> None:
        """Set all of the paper."""
        paper, row = self.paper, self.row
        self._lines(row.get("at", ()))
        for page in range(3):
            self.fields["page"] = str(101 + page)
            self._lines(row.get("heads", ()), page=page)
        if "stamp" in row:
            paper.rotated.append((28.0, 200.0, row["stamp"]))
        top = self._title()
        self._lines(row.get("under", ()), top)
        for below, size, font, text in row.get("grid", ()):
            for at, author in enumerate(self.authors):
                x = paper.width * (at + 1) / (len(self.authors) + 1)
                paper.at(0, x, top - below, text.format(author), size, font, "center")
        front = 1 if "title_page" in row else 0
        start = 740 if front else top - row["gap"]
        columns = self._columns(start, front)
        side = Column(0, 0, start, 0)
        if own := row.get("side"):
            side = Column(own["x"], own["width"], own.get("top", start), 60)
            for line in own["lines"]:
                paper.flow(self._text(line), [side], Style(7, 0, "left", after=own["after"]))
        beside = [Column(row["box"][0], row["box"][1], start, 60)] if "box" in row else columns
        if "box" not in row:
            self._footnotes(columns[0])
        for part in row["flow"]:
            look = {"size": 10.0, **part}
            if letter := look.pop("drop_cap", ""):
                paper.at(0, columns[0].x, columns[0].y - 20, letter, 28)
            else:
                paper.flow(self._text(look.pop("text")), beside, Style(**look))
        if "box" in row:
            columns = self._columns(min(beside[0].y, side.y) - 34, 0)
            self._footnotes(columns[0])
        if front:
            columns = self._columns(740, 2)
        for column in columns[2:] if row.get("bottom", 0) > 100 else ():
            column.bottom = 60
        self._body(columns)

    def _text(self, text: str) -> str:
        people = [name.upper() for name in self.authors] if "capital_authors" in self.row else None
        return text.format(*self.authors, people=", ".join(people or self.authors), **self.fields)

    def _lines(self, lines: Sequence[Sequence[Any]], top: float = 0.0, page: int = 0) -> None:
        for x, y, size, text, *look in lines:
            self.paper.at(page, x, top - y if top else y, self._text(text), size, *look)

    def _title(self) -> float:
        """Set the title; returns where the next thing may stand."""
        paper, text = self.paper, self.fields["title"]
        size, y, font, align, margin = self.row["title_at"]
        if "small_capitals" in self.row:
            for word in text.split():
                paper.at(0, margin, y, word[0], size)
                margin += paper._width(word[0], 0, size)
                paper.at(0, margin, y, word[1:], 0.8 * size)
                margin += paper._width(word[1:], 0, 0.8 * size) + 4.5
            return float(y)
        column = Column(margin, paper.width - 2 * margin, y, 0)
        paper.flow(text, [column], Style(size, font, align, hyphenate=False))
        if mark := self.row.get("title_mark"):
            last = paper.pieces[-1]
            paper.at(0, last.x + paper._width(last.text, font, size) + 1, last.y + 6, mark, 10)
        x = 170.0
        for at, author in enumerate(self.authors if "marks" in self.row else ()):
            paper.at(0, x, column.y - 24, author, 10)
            x += paper._width(author, 0, 10)
            paper.at(0, x, column.y - 20, str(at % 2 + 1), 6.5)
            paper.at(0, x + 4, column.y - 24, "," * (at < len(self.authors) - 1), 10)
            x += 12
        return column.y

    def _columns(self, top: float, page: int) -> list[Column]:
        """One or two columns on a page, and on the two behind it."""
        margin, *gutter = self.row["columns"]
        bottom, sides = self.row.get("bottom", 60), len(gutter) + 1
        width = (self.paper.width - 2 * margin - sum(gutter)) / sides
        width = self.row.get("width", width)
        tops = [(page, top), *((page + more, self.paper.height - 66) for more in (1, 2))]
        return [
            Column(margin + side * (width + sum(gutter)), width, height, bottom, number)
            for number, height in tops
            for side in range(sides)
        ]

    def _footnotes(self, column: Column, size: float = 7.0) -> None:
        """Small print at the foot of a column, which gets shorter by it."""
        notes = self.row.get("notes", ())
        for at, line in enumerate(reversed(notes)):
            self.paper.at(column.page, column.x, column.bottom + at * (size + 1.5), line, size)
        column.bottom += len(notes) and len(notes) * (size + 1.5) + 8

    def _heading(self, number: int, name: str) -> tuple[str, Style]:
        kind, size, *more = self.row.get("headings", "numbered 12").split()
        if kind == "roman":
            return ROMAN[number] + name.upper(), Style(float(size), 0, "center", hyphenate=False)
        name = name.upper() if "capitals" in (kind, *more) else name
        if kind == "bare":
            return name, Style(float(size), 1, more[0], hyphenate=False)
        mark = "." * ("." in more)
        font = 0 if "0" in more else 1
        style = Style(float(size), font, "left", hyphenate=False)
        return (f"{number}{mark} {name}" if number else name), style

    def _body(self, columns: list[Column], per: int = 3) -> None:
        """Sections with paragraphs of other papers that cite years, and references."""
        paper, row, demo = self.paper, self.row, _demo()
        texts = itertools.cycle(
            f"{text} This differs from earlier work (Okafor and Raman, "
            f"{1995 + (self.number + at) % 25}; Lee, 2001)."
            for at, (_, text) in enumerate(demo[self.number * 7 + 1 : self.number * 7 + 40])
        )
        style = Style(**{"size": 10.0, **row.get("body", {})})
        sections = row.get("sections", SECTIONS)
        first = 2 if sections[0] == SECTIONS[1] else 1
        for number, name in enumerate(sections, start=first):
            words, look = self._heading(number, name)
            if paper.flow(words, columns, look) and paper.flow(next(texts), columns, style):
                paper.sections.append(name)
            for _ in range(per - 1):
                paper.flow(next(texts), columns, style)
        words, look = self._heading(0, row.get("references", "References"))
        paper.flow(words, columns, look)
        for number in range(1, 9):
            item = f"[{number}] A. Lee and B. Okafor. {next(texts)[:90]}. In Proceedings of X, "
            look = Style(style.size - 1, hyphenate=False, after=2)
            paper.flow(f"{item}{2000 + number}.", columns, look)
