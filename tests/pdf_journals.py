"""Papers as journals set them."""

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
from tests.pdf_typesetter import A4, Column, Paper, Style


def lncs(number: int) -> Made:
    """A narrow column, "Abstract." running in, raised marks behind authors."""
    what = given(number)
    paper = Paper("times", A4)
    y = title_block(paper, what.title, 14.3, 700, margin=134)
    x = 170.0
    for i, author in enumerate(what.authors):
        name = author if i == len(what.authors) - 1 else f"{author},"
        paper.at(0, x, y - 24, author, 10)
        x += paper._width(author, 0, 10)
        paper.at(0, x, y - 20, str(i % 2 + 1), 6.5)
        x += 4
        paper.at(0, x, y - 24, name[len(author) :], 10)
        x += 8
    paper.at(0, paper.width / 2, y - 42, f"1 {PLACES[0]}", 9, 0, "center")
    paper.at(0, paper.width / 2, y - 53, f"2 {PLACES[1]}", 9, 0, "center")
    columns = one(paper, y - 80, margin=134)
    paper.flow(what.abstract, columns, Style(9, inset=28, run_in="Abstract. ", after=8))
    paper.flow(
        "Retrieval · Sensors · Learning",
        columns,
        Style(9, inset=28, run_in="Keywords: ", align="left", after=12),
    )
    body(paper, columns, what.prose, numbered(12), Style(10, indent=14))
    paper.at(0, 134, 66, "© Springer Nature Switzerland AG 2014", 8)
    paper.at(0, 134, 56, "A. Editor et al. (Eds.): CONF 2014, LNCS 11111, pp. 1–15, 2014.", 8)
    for page, text in ((1, f"2    {what.authors[0]} et al."), (2, f"{what.title[:40]}    3")):
        paper.at(page, 134, 790, text, 9)
    return made("lncs", what, 2014, paper, created="20200202")


def elsevier(number: int) -> Made:
    """The journal's name larger than the title; article info beside the abstract."""
    what = given(number)
    paper = Paper("times", A4)
    paper.at(0, 297, 790, "Contents lists available at ScienceDirect", 8, 0, "center")
    paper.at(0, 297, 765, "Pattern Recognition and Systems", 18, 0, "center")
    paper.at(0, 297, 745, "journal homepage: www.elsevier.com/locate/prs", 8, 0, "center")
    y = title_block(paper, what.title, 13.4, 715, font=0, margin=38, align="left")
    paper.at(
        0,
        38,
        y - 16,
        ", ".join(f"{a} {mark}" for a, mark in zip(what.authors, "aba", strict=True)),
        10.5,
    )
    paper.at(0, 38, y - 30, f"a {PLACES[0]}", 6.5, 2)
    paper.at(0, 38, y - 38, f"b {PLACES[1]}", 6.5, 2)
    top = y - 62
    paper.at(0, 38, top, "a r t i c l e   i n f o", 8)
    left = Column(38, 140, top - 14, 100)
    for text in (
        "Article history:",
        "Received 2 May 2014",
        "Received in revised form 3 June 2015",
        "Accepted 9 December 2015",
        "Available online 4 January 2016",
        "Keywords:",
        "Sensors",
        "Ranking",
    ):
        paper.flow(text, [left], Style(6.5, 0, "left", after=1))
    paper.at(0, 206, top, "a b s t r a c t", 8)
    right = Column(206, 351, top - 14, 100)
    paper.flow(what.abstract, [right], Style(7.5, after=2))
    paper.at(0, 557, right.y - 8, "© 2016 Elsevier Ltd. All rights reserved.", 7, 0, "right")
    columns = two(paper, min(left.y, right.y) - 34, margin=38, gutter=20)
    footnote(
        paper,
        columns[0],
        "∗"[1:] + "Corresponding author. E-mail address: a@example.org",
        "https://doi.org/10.1016/j.prs.2015.12.009",
        "0031-3203/© 2016 Elsevier Ltd. All rights reserved.",
        size=6.5,
    )
    body(paper, columns, what.prose, numbered(8.5, "."), Style(8, indent=10))
    return made("elsevier", what, 2016, paper)


def plos(number: int) -> Made:
    """A column of remarks at the left, a structured abstract under sub-headings, unnumbered."""
    parts = given(number).abstract.split(". ")
    third = max(1, len(parts) // 3)
    texts = [
        ". ".join(parts[:third]) + ".",
        ". ".join(parts[third : 2 * third]) + ".",
        ". ".join(parts[2 * third :]),
    ]
    names = ("Background", "Methods", "Results")
    abstract = " ".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True))
    what = given(number, abstract=abstract)
    paper = Paper("helvetica")
    paper.at(0, 200, 745, "RESEARCH ARTICLE", 8, 1)
    y = title_block(paper, what.title, 18, 735, margin=200, align="left")
    paper.at(0, 200, y - 14, ", ".join(what.authors), 10, 1)
    paper.at(0, 200, y - 28, f"1 {PLACES[0]}", 7)
    side = Column(36, 140, 640, 60)
    for text in (
        "OPEN ACCESS",
        f"Citation: {what.authors[0]} et al. (2015) {what.title}. PLoS ONE 10(3): e0120001.",
        "Editor: Some Body, University of Elsewhere",
        "Received: April 1, 2014",
        "Accepted: January 5, 2015",
        "Published: March 11, 2015",
        "Copyright: © 2015 Müller et al. This is an open access article.",
    ):
        paper.flow(text, [side], Style(7, 0, "left", after=6))
    columns = [Column(200, 376, y - 50, 60), *one(paper, 0, margin=200)[1:]]
    columns[1].x = columns[2].x = 200
    columns[1].width = columns[2].width = 376
    paper.flow("Abstract", columns, Style(14, 1, "left"))
    for name, text in zip(names, texts, strict=True):
        paper.flow(name, columns, Style(10, 1, "left", after=2))
        paper.flow(text, columns, Style(9, align="left", after=6))
    body(paper, columns, what.prose, bare(14), Style(9, align="left"))
    return made("plos", what, 2015, paper)


def jmlr(number: int) -> Made:
    """The journal, volume and year in a running head; the abstract inset under its heading."""
    what = given(number)
    paper = Paper("times")
    paper.at(0, 90, 745, "Journal of Machine Learning Methods 15 (2012) 1929-1958", 8)
    paper.at(0, 522, 745, "Submitted 11/11; Revised 4/12; Published 6/12", 8, 0, "right")
    y = title_block(paper, what.title, 14.3, 715, margin=90)
    for i, author in enumerate(what.authors):
        paper.at(0, 90, y - 22 - 26 * i, author, 11, 1)
        paper.at(0, 522, y - 22 - 26 * i, f"a{i}@example.org", 8, 0, "right")
        paper.at(0, 90, y - 34 - 26 * i, PLACES[i], 9, 2)
    columns = one(paper, y - 120)
    paper.flow("Abstract", columns, Style(11, 1, "center"))
    paper.flow(what.abstract, columns, Style(10, inset=20))
    paper.flow(
        "retrieval, sensors",
        columns,
        Style(10, inset=20, run_in="Keywords: ", align="left", after=12),
    )
    body(paper, columns, what.prose, numbered(11, "."), Style(11, indent=14))
    page_numbers(paper, 3, first=1929)
    return made("jmlr", what, 2012, paper, info={"Title": "paper12345.pdf", "Author": "x"})


def physical_review(number: int) -> Made:
    """No heading at all over the abstract, no headings in the text but numbers, dates in brackets."""  # noqa: E501
    what = given(number)
    paper = Paper("times")
    paper.at(0, 54, 752, "PRL 107, 073001 (2011)", 9)
    paper.at(0, 306, 752, "PHYSICAL REVIEW OF SENSORS", 12, 1, "center")
    paper.at(0, 558, 752, "week ending 12 AUGUST 2011", 7, 0, "right")
    y = title_block(paper, what.title, 12, 725, margin=90)
    paper.at(
        0,
        306,
        y - 16,
        f"{what.authors[0]}, {what.authors[1]}, and {what.authors[2]}",
        10,
        0,
        "center",
    )
    paper.at(0, 306, y - 30, PLACES[0], 9, 2, "center")
    paper.at(0, 306, y - 42, "(Received 3 May 2010; published 12 August 2011)", 9, 0, "center")
    columns = [Column(90, 432, y - 54, 60)]
    paper.flow(what.abstract, columns, Style(9.5, indent=12))
    paper.at(0, 90, columns[0].y - 6, "DOI: 10.1103/PhysRevSens.107.073001", 8)
    columns = two(paper, columns[0].y - 34)
    body(paper, columns, what.prose, roman(10), Style(10, indent=12))
    return made(
        "physical-review",
        what,
        2011,
        paper,
        {"Title": "Microsoft Word - prl_final.doc", "Author": ""},
    )


def cell(number: int) -> Made:
    """ "SUMMARY" for an abstract, a banner of the journal, two columns below."""
    what = given(number)
    paper = Paper("helvetica")
    paper.at(0, 50, 740, "Article", 16, 1)
    y = title_block(paper, what.title, 20, 715, margin=50, align="left")
    paper.at(0, 50, y - 16, ", ".join(what.authors), 9, 1)
    paper.at(0, 50, y - 28, f"1{PLACES[0]}", 7)
    paper.at(0, 50, y - 37, "http://dx.doi.org/10.1016/j.cell.2014.05.010", 7)
    columns = two(paper, y - 70, margin=50)
    paper.flow("SUMMARY", columns, Style(9, 1, "left"))
    paper.flow(what.abstract, columns, Style(9, align="left", after=14))
    body(
        paper, columns, what.prose, bare(9, caps=True), Style(9, align="left", indent=10), SECTIONS
    )
    paper.at(0, 50, 36, "Cell Sensors 157, 1262–1278, June 5, 2014 ©2014 Elsevier Inc.", 7)
    return made("cell", what, 2014, paper)


def frontiers(number: int) -> Made:
    """The abstract in bold before the text of two columns, and dates at the left."""
    what = given(number, authors=2)
    paper = Paper("helvetica", A4)
    paper.at(0, 190, 800, "ORIGINAL RESEARCH", 7, 1)
    paper.at(0, 190, 790, "published: 21 September 2020", 7)
    paper.at(0, 190, 780, "doi: 10.3389/fsens.2020.00123", 7)
    y = title_block(paper, what.title, 19, 760, margin=190, align="left")
    paper.at(0, 190, y - 16, " and ".join(what.authors[:2]), 9, 1)
    paper.at(0, 190, y - 28, f"1 {PLACES[0]}", 7, 2)
    side = Column(45, 120, 560, 60)
    for text in (
        "Edited by: Some Body",
        "Received: 2 March 2020",
        "Accepted: 1 August 2020",
        "Published: 21 September 2020",
    ):
        paper.flow(text, [side], Style(7, 0, "left"))
    columns = [Column(190, 360, y - 50, 60)]
    paper.flow(what.abstract, columns, Style(9, 1, align="left", after=4))
    paper.flow("sensors, ranking", columns, Style(8, 0, "left", run_in="Keywords: ", after=12))
    body(
        paper,
        [columns[0], *two(paper, 0)[2:]],
        what.prose,
        bare(11, caps=True),
        Style(9, align="left"),
    )
    return made("frontiers", what, 2020, paper)
