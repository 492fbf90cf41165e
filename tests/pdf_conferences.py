"""Papers as conferences have them set."""

from __future__ import annotations

from tests.pdf_parts import (
    PLACES,
    SECTIONS,
    Made,
    bare,
    body,
    footnote,
    given,
    made,
    numbered,
    one,
    page_numbers,
    roman,
    title_block,
    two,
)
from tests.pdf_typesetter import A4, LETTER, Paper, Style


def acl(number: int, order: str = "flow", **options: bool) -> Made:
    """Two columns; the abstract centred under its heading in the left one."""
    what = given(number)
    paper = Paper("times", A4, order, **options)
    y = title_block(paper, what.title, 14.3, 770)
    for i, author in enumerate(what.authors):
        x = paper.width * (i + 1) / (len(what.authors) + 1)
        paper.at(0, x, y - 26, author, 12, 1, "center")
        paper.at(0, x, y - 40, PLACES[i].split(",")[0], 11, 0, "center")
        paper.at(0, x, y - 54, f"author{i}@example.org", 9, 0, "center")
    columns = two(paper, y - 90, margin=71, bottom=70)
    footnote(
        paper, columns[0], "∗Equal contribution."[1:], "1https://example.org/code-and-data-2011"
    )
    paper.flow("Abstract", columns, Style(12, 1, "center"))
    paper.flow(what.abstract, columns, Style(10, inset=17, after=10))
    body(paper, columns, what.prose, numbered(12), Style(11, indent=11))
    year = 2016 + number % 5
    paper.at(
        0,
        paper.width / 2,
        44,
        f"Proceedings of the {number + 50}th Annual Meeting of the Association for",
        8,
        2,
        "center",
    )
    paper.at(
        0,
        paper.width / 2,
        34,
        f"Computational Linguistics, pages 11–21, Florence, Italy, July 28 - August 2, {year}. © {year} Association",  # noqa: E501
        8,
        2,
        "center",
    )
    return made(
        f"acl-{number}",
        what,
        year,
        paper,
        info={"Title": "Instructions for ACL Proceedings", "Author": ""},
    )


def neurips(number: int) -> Made:
    """One column between rules, a long title over two lines."""
    what = given(
        number,
        title="Learning to Rank Sparse and Noisy Observations of Sensor Networks: A Unified View with Guarantees",  # noqa: E501
    )
    paper = Paper("times")
    y = title_block(paper, what.title, 17.2, 690, margin=108)
    paper.at(0, 306, y - 30, "     ".join(what.authors), 10, 1, "center")
    paper.at(0, 306, y - 42, "Department of Computer Science, University of Graz", 10, 0, "center")
    paper.at(0, 306, y - 54, "{first,second,third}@example.edu", 9, 0, "center")
    columns = one(paper, y - 80, margin=108)
    paper.flow("Abstract", columns, Style(12, 1, "center"))
    paper.flow(what.abstract, columns, Style(10, inset=36, after=12))
    body(paper, columns, what.prose, numbered(12), Style(10), per=4)
    paper.at(
        0,
        108,
        50,
        "33rd Conference on Neural Information Processing Systems (NeurIPS 2019), Vancouver, Canada.",  # noqa: E501
        9,
    )
    page_numbers_from_second(paper)
    return made("neurips", what, 2019, paper, created="20230101")


def page_numbers_from_second(paper: Paper) -> None:
    for page in (1, 2):
        paper.at(page, paper.width / 2, 40, str(page + 1), 10, align="center")


def ieee(number: int, order: str = "flow") -> Made:
    """A running head, a title larger than anything, a bold abstract that runs in, a drop cap."""
    what = given(number)
    paper = Paper("times", LETTER, order)
    head = "IEEE TRANSACTIONS ON SYSTEMS AND SIGNALS, VOL. 12, NO. 3, MARCH 2017"
    for page in range(3):
        paper.at(page, 48, 758, head, 7)
        paper.at(page, 560, 758, str(101 + page), 7)
    y = title_block(paper, what.title, 24, 735, font=0, margin=60)
    paper.at(
        0,
        306,
        y - 16,
        f"{what.authors[0]}, Member, IEEE, {what.authors[1]}, and {what.authors[2]}",
        11,
        0,
        "center",
    )
    columns = two(paper, y - 50, margin=48, gutter=12)
    footnote(
        paper, columns[0], "Manuscript received May 4, 2015; revised August 2, 2016; accepted January 9, 2017.",  # noqa: E501
        "J. Müller is with the University of Graz, Austria (e-mail: jm@example.org).",
    )  # fmt: skip
    paper.flow(
        what.abstract, columns, Style(9, 1, indent=9, run_in="Abstract—", run_in_font=2, after=3)
    )
    paper.flow(
        "Retrieval, sensors, learning.",
        columns,
        Style(9, 1, indent=9, run_in="Index Terms—", run_in_font=2, after=8),
    )
    paper.flow("I. INTRODUCTION", columns, Style(10, 0, "center"))
    paper.at(0, columns[0].x, columns[0].y - 20, "T", 28)
    body(paper, columns, what.prose, roman(10), Style(10, indent=10), SECTIONS[1:], "References")
    return made(f"ieee-{number}", what, 2017, paper, {"Title": what.title[:40], "Author": "IEEE"})


def acm(number: int) -> Made:
    """Sans-serif title, authors in three columns, ABSTRACT in capitals, small print of the ACM."""
    what = given(number)
    paper = Paper("times")
    paper.fonts = ("Times-Roman", "Helvetica-Bold", "Times-Italic")
    y = title_block(paper, what.title, 17.2, 730)
    for i, author in enumerate(what.authors):
        x = 130 + 176 * i
        for row, (text, size) in enumerate(
            ((author, 12), (PLACES[i].split(",")[0], 10), (f"a{i}@example.org", 10))
        ):
            paper.at(0, x, y - 24 - 13 * row, text, size, 0, "center")
    columns = two(paper, y - 90, gutter=24, bottom=80)
    footnote(
        paper, columns[0], "Permission to make digital or hard copies of part or all of this work for personal or",  # noqa: E501
        "classroom use is granted without fee provided that copies are not made for profit.",
        "CHIIR ’22, March 14–18, 2022, Regensburg, Germany", "© 2022 Copyright held by the owner/author(s).", size=7,  # noqa: E501
    )  # fmt: skip
    paper.flow("ABSTRACT", columns, Style(11, 1, "left"))
    paper.flow(what.abstract, columns, Style(9, after=8))
    paper.flow("CCS CONCEPTS", columns, Style(11, 1, "left"))
    paper.flow("• Information systems → Users and interactive retrieval.", columns, Style(9))
    paper.flow("KEYWORDS", columns, Style(11, 1, "left"))
    paper.flow("exploratory search, aspects", columns, Style(9))
    paper.flow("ACM Reference Format:", columns, Style(8, 1, "left"))
    paper.flow(
        f"{what.authors[0]}. 2022. {what.title}. In CHIIR ’22. ACM, New York, NY, USA, 11 pages.",
        columns,
        Style(8),
    )
    body(
        paper,
        columns,
        what.prose,
        lambda n, s: (f"{n} {s.upper()}" if n else s.upper(), Style(11, 1, "left")),
        Style(9, indent=9),
    )
    return made("acm", what, 2022, paper)


def iclr(number: int) -> Made:
    """A running head on each page, a title in small capitals."""
    what = given(number, title="DEEP REPRESENTATIONS OF HOSPITAL EVENTS WITHOUT LABELS", authors=2)
    paper = Paper("times")
    for page in range(3):
        paper.at(page, 108, 750, "Published as a conference paper at ICLR 2018", 10)
    y = 710.0
    x = 108.0
    for word in what.title.split():
        paper.at(0, x, y, word[0], 17)
        x += paper._width(word[0], 0, 17)
        paper.at(0, x, y, word[1:], 13.6)
        x += paper._width(word[1:], 0, 13.6) + 4.5
    paper.at(0, 108, y - 30, " & ".join(what.authors[:2]), 10, 1)
    paper.at(0, 108, y - 42, PLACES[0], 10)
    columns = one(paper, y - 80, margin=108)
    paper.flow("ABSTRACT", columns, Style(12, 0, "center"))
    paper.flow(what.abstract, columns, Style(10, inset=36, after=12))
    body(
        paper,
        columns,
        what.prose,
        lambda n, s: (f"{n} {s.upper()}" if n else s.upper(), Style(12, 0, "left")),
        Style(10),
    )
    page_numbers(paper, 3)
    return made("iclr", what, 2018, paper, {"Title": "main.dvi", "Author": ""})


def aaai(number: int, order: str = "words") -> Made:
    """Unnumbered centred headings; the abstract in small print without inset."""
    what = given(number)
    paper = Paper("times", LETTER, order)
    y = title_block(paper, what.title, 16, 730)
    paper.at(0, 306, y - 20, ", ".join(what.authors), 12, 1, "center")
    paper.at(0, 306, y - 34, PLACES[1], 10, 0, "center")
    columns = two(paper, y - 70, gutter=27)
    footnote(
        paper,
        columns[0],
        "Copyright © 2013, Association for the Advancement of Artificial",
        "Intelligence (www.aaai.org). All rights reserved.",
        size=8,
    )
    paper.flow("Abstract", columns, Style(10, 1, "center"))
    paper.flow(what.abstract, columns, Style(9, inset=10, after=10))
    body(paper, columns, what.prose, bare(12, "center"), Style(10, indent=10))
    return made("aaai", what, 2013, paper)
