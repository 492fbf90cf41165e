"""The lines of a PDF in the order in which they are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.ingest.pdf import headings
from engine.ingest.pdf.layout import body_size, in_order, margins, without_footnotes
from engine.ingest.pdf.lines import Line
from engine.ingest.pdf.pages import PdfText
from engine.ingest.pdf.text import Vocabulary

_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*|[IVX]{1,5})[.)]?\s+\S")


class Reading:
    """The lines of a PDF as people read them.

    Attributes:
        pdf: all that the file holds.
        body: size of the text, in points.
        head: the lines of page 1.
        lines: of all pages, without running heads and footnotes.
        vocabulary: joins lines to text.
    """

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


def is_section(line: Line, body: float) -> bool:
    """Whether a line is surely the heading of a section: by its number or its name."""
    heading = headings.heading(line, body)
    return heading is not None and (is_numbered(line) or headings.is_named(heading.name))


def is_numbered(line: Line) -> bool:
    """Whether a line begins with a number as headings do."""
    return _NUMBERED.match(line.text) is not None


def goes_on(before: Line, line: Line) -> bool:
    """Whether a line goes on with one that is set alike, beside it or right below it."""
    return (
        line.page == before.page
        and -1 < before.y - line.y < 1.35 * before.size
        and line.bold == before.bold
        and abs(line.size - before.size) < 0.3
    )
