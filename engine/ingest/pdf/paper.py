"""A paper's title, authors, year, abstract and sections, found in its lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.ingest.pdf import headings
from engine.ingest.pdf.abstracts import find_abstract
from engine.ingest.pdf.front import Outside, find_authors, find_title, find_year
from engine.ingest.pdf.layout import Reading
from engine.ingest.pdf.pages import Line, PdfText
from engine.ingest.pdf.sections import Section, find_sections

_DOI = re.compile(r"(?<![\w.])10\.\d{4,9}/[^\s\"<>,;]+[^\s\"<>,;.)\]]")
_ARXIV = re.compile(
    r"arXiv(?:\s+e-?print)?:\s?((?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)", re.I
)
BEGINNING_CHARS = 2_000  # Characters that stand for an abstract where a file has none
TITLE_PAGE_LINES = 30  # A first page with fewer lines, and no abstract, is a title page


@dataclass(frozen=True, slots=True)
class Paper:
    """What was found in one PDF."""

    title: str
    authors: tuple[str, ...]
    year: int | None  # None where nothing tells it
    abstract: str  # "" where there is none
    beginning: str  # what stands first under the title's block, for a file without an abstract
    sections: tuple[Section, ...]
    doi: str  # doi, arxiv: "" where page 1 has none
    arxiv: str
    pages_left_out: int  # those beyond the limit


def find_paper(pdf: PdfText, described: str = "") -> Paper:
    """The paper in the text of a PDF."""
    reading = Reading(pdf)
    title, title_lines = find_title(reading.head, reading.body, pdf.info.get("Title", ""))
    title = title or reading.text(title_lines)
    abstract = find_abstract(reading, title_lines)
    head = _above(reading.head, title_lines, abstract.first)
    first_page = [*(line.text for line in pdf.pages[0].lines), pdf.pages[0].turned]
    arxiv = _ARXIV.search(pdf.pages[0].turned) or _ARXIV.search("\n".join(first_page))
    doi = _DOI.search("\n".join(first_page))
    used = {*abstract.lines, *title_lines}
    return Paper(
        title=title,
        authors=find_authors(head),
        year=find_year(pdf, _outside(reading, title_lines, abstract.first), described),
        abstract=abstract.text,
        beginning=_beginning(reading, title_lines, head),
        sections=find_sections(reading, used),
        doi=doi[0] if doi else "",
        arxiv=arxiv[1] if arxiv else "",
        pages_left_out=pdf.more_pages,
    )


def _beginning(reading: Reading, title: Sequence[Line], head: Sequence[Line]) -> str:
    """The first lines of running text under the title, up to ``BEGINNING_CHARS``."""
    above = {*title, *head}
    long = [line for line in reading.lines if line not in above and len(line.text) > 20]
    text = reading.text(long[:60])
    if len(text) <= BEGINNING_CHARS:
        return text
    cut = text[:BEGINNING_CHARS]
    return cut[: cut.rfind(". ") + 1] or cut


def _outside(reading: Reading, title: Sequence[Line], abstract: Line | None) -> Outside:
    """What stands on page 1 above the abstract, in its margins and in its footnotes."""
    first = reading.pdf.pages[0]
    text, read = set(reading.lines), set(reading.head)
    ceiling = _ceiling(reading, abstract)
    lines = [line for line in first.lines if line not in title]
    top = [line.text for line in lines if line.y > ceiling or line not in read]
    foot = [
        line.text
        for line in lines
        if line.text not in top and (line not in text or line.y < 0.1 * first.height)
    ]
    return Outside(tuple(top), tuple(foot))


def _ceiling(reading: Reading, abstract: Line | None) -> float:
    """Where the text of page 1 begins: at its abstract, or at its first heading."""
    if abstract is not None and abstract.page == 0:
        return abstract.y
    if len(reading.head) < TITLE_PAGE_LINES:
        return 0.0
    named = [line.y for line in reading.head if headings.ends_abstract(line)]
    return max(named, default=max((line.y for line in reading.head), default=0.0) - 150)


def _above(head: Sequence[Line], title: Sequence[Line], first: Line | None) -> list[Line]:
    """The lines between the title and the abstract: authors and where they work."""
    top = min((line.y for line in title), default=float("inf"))
    bottom = first.y if first is not None and first.page == 0 else 0.0
    return [line for line in head if bottom < line.y < top and line is not first]
