"""What papers as PDFs are made of, each with what is true of it.

Titles and abstracts are the demo's, or written here where a language or a layout needs its own.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.pdf_typesetter import Column, Paper, Style

DEMO = Path(__file__).parents[1] / "assets" / "demo" / "corpus.jsonl"
AUTHORS = (
    "Jürgen Müller", "Ana Sofía García", "Wei Zhang", "Ngozi Okafor", "Élise Dupont", "John R. Smith",  # noqa: E501
    "Priya Raman", "Ivo van Stokkum", "Lars Sørensen", "Maria da Silva", "Tomáš Novák", "Chloe O’Brien",  # noqa: E501
)  # fmt: skip
PLACES = (
    "University of Graz, Austria",
    "Institute of Informatics, TU Delft",
    "MIT CSAIL, Cambridge, USA",
)


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


@dataclass(frozen=True)
class Given:
    """What a paper is made of."""

    title: str
    abstract: str
    authors: tuple[str, ...]
    prose: tuple[str, ...]


@cache
def _demo() -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in DEMO.read_text().splitlines()]
    return [(row["title"], " ".join(row["sentences"])) for row in rows]


def given(number: int, title: str = "", abstract: str = "", authors: int = 3) -> Given:
    """The demo's paper of that number, with prose of others that cites years."""
    demo = _demo()
    own_title, own = demo[number * 7]
    prose = tuple(
        f"{text} This differs from earlier work (Okafor and Raman, {1995 + (number + i) % 25}; Lee, 2001)."  # noqa: E501
        for i, (_, text) in enumerate(demo[number * 7 + 1 : number * 7 + 40])
    )
    people = tuple(AUTHORS[(number + i) % len(AUTHORS)] for i in range(authors))
    return Given(title or own_title, abstract or own, people, prose)


SECTIONS = ("Introduction", "Related Work", "Data and Methods", "Results", "Conclusion")


def body(
    paper: Paper, columns: list[Column], prose: tuple[str, ...], heading: Callable[[int, str], tuple[str, Style]],  # noqa: E501
    style: Style, names: tuple[str, ...] = SECTIONS, references: str = "References", per: int = 3,
) -> None:  # fmt: skip
    """Sections with paragraphs, a sub-heading, and references."""
    texts: Iterator[str] = itertools.cycle(prose)
    for number, name in enumerate(names, start=1):
        text, look = heading(number, name)
        if paper.flow(text, columns, look) and paper.flow(next(texts), columns, style):
            paper.sections.append(name)
        for _ in range(per - 1):
            paper.flow(next(texts), columns, style)
    if references:
        text, look = heading(0, references)
        paper.flow(text, columns, look)
        for number in range(1, 9):
            item = f"[{number}] A. Lee and B. Okafor. {next(texts)[:90]}. In Proceedings of X, {2000 + number}."  # noqa: E501
            paper.flow(item, columns, Style(style.size - 1, hyphenate=False, after=2))


def numbered(
    size: float, mark: str = "", align: str = "left"
) -> Callable[[int, str], tuple[str, Style]]:
    """Bold headings: ``1 Introduction``; a reference list has no number."""

    def heading(number: int, name: str) -> tuple[str, Style]:
        return (f"{number}{mark} {name}" if number else name), Style(
            size, 1, align, hyphenate=False
        )

    return heading


def bare(
    size: float, align: str = "left", *, caps: bool = False
) -> Callable[[int, str], tuple[str, Style]]:
    """Bold headings without numbers."""
    return lambda number, name: (
        name.upper() if caps else name,
        Style(size, 1, align, hyphenate=False),
    )


def roman(size: float) -> Callable[[int, str], tuple[str, Style]]:
    """IEEE's: ``II. RELATED WORK``, centred, not bold."""
    marks = ("", "I. ", "II. ", "III. ", "IV. ", "V. ", "VI. ")
    return lambda number, name: (
        marks[number] + name.upper(),
        Style(size, 0, "center", hyphenate=False),
    )


def two(
    paper: Paper,
    top: float,
    page: int = 0,
    margin: float = 54,
    gutter: float = 18,
    bottom: float = 60,
) -> list[Column]:
    """Two columns on a page, and on the next two pages."""
    width = (paper.width - 2 * margin - gutter) / 2
    tops = [(page, top), (page + 1, paper.height - 60), (page + 2, paper.height - 60)]
    return [
        Column(margin + side * (width + gutter), width, height, bottom, number)
        for number, height in tops
        for side in (0, 1)
    ]


def one(
    paper: Paper, top: float, page: int = 0, margin: float = 90, bottom: float = 70
) -> list[Column]:
    """One column on a page, and on the next two."""
    width = paper.width - 2 * margin
    tops = [(page, top), (page + 1, paper.height - 72), (page + 2, paper.height - 72)]
    return [Column(margin, width, height, bottom, number) for number, height in tops]


def page_numbers(paper: Paper, pages: int, y: float = 36, first: int = 1) -> None:
    for page in range(pages):
        paper.at(page, paper.width / 2, y, str(first + page), 9, align="center")


def footnote(paper: Paper, column: Column, *lines: str, size: float = 7.5) -> None:
    """Small print at the foot of a column, which gets shorter by it."""
    for number, line in enumerate(reversed(lines)):
        paper.at(column.page, column.x, column.bottom + number * (size + 1.5), line, size)
    column.bottom += len(lines) * (size + 1.5) + 8


def made(
    name: str,
    what: Given,
    year: int,
    paper: Paper,
    info: dict[str, str] | None = None,
    created: str = "",
) -> Made:
    content = paper.write(info, created)
    return Made(name, content, what.title, year, what.abstract, what.authors, tuple(paper.sections))


def title_block(
    paper: Paper,
    text: str,
    size: float,
    y: float,
    font: int = 1,
    margin: float = 80,
    align: str = "center",
) -> float:
    """A title over as many lines as it takes; returns where the next thing may stand."""
    column = Column(margin, paper.width - 2 * margin, y, 0)
    paper.flow(text, [column], Style(size, font, align, hyphenate=False))
    return column.y
