"""Preprints, reports, and papers in other languages."""

from __future__ import annotations

from tests.pdf_parts import (
    PLACES,
    Given,
    Made,
    bare,
    body,
    footnote,
    given,
    made,
    numbered,
    one,
    page_numbers,
    title_block,
    two,
)
from tests.pdf_typesetter import A4, Column, Paper, Style


def arxiv(number: int, old: bool = False) -> Made:
    """LaTeX's article with arXiv's stamp; a date that is none."""
    what = given(number)
    paper = Paper("vera" if not old else "times", ligatures=not old, old_accents=old)
    paper.stamp(
        "arXiv:hep-th/9905012v2  14 Jun 1999" if old else "arXiv:2003.04321v2  [cs.IR]  11 Mar 2021"
    )
    y = title_block(paper, what.title, 17.2, 660, font=0, margin=100)
    paper.at(0, 306, y - 24, "   ".join(what.authors), 12, 0, "center")
    paper.at(0, 306, y - 40, PLACES[0], 10, 0, "center")
    columns = one(paper, y - 70, margin=125)
    size = 8 if not old else 10
    paper.flow("Abstract", columns, Style(size, 1, "center"))
    paper.flow(what.abstract, columns, Style(size, inset=22, after=14))
    body(paper, columns, what.prose, numbered(14.3), Style(size + 1, indent=14))
    page_numbers(paper, 3, y=60)
    return made("arxiv-old" if old else "arxiv", what, 1999 if old else 2020, paper)


def preprint(number: int) -> Made:
    """Two columns of which the abstract fills the end of one and the beginning of the other."""
    what = given(number, abstract=" ".join(given(number + i).abstract for i in range(2)))
    paper = Paper("times")
    y = title_block(paper, what.title, 16, 420)
    paper.at(0, 306, y - 20, ", ".join(what.authors), 11, 0, "center")
    paper.at(0, 306, y - 34, "March 5, 2009", 10, 0, "center")
    columns = two(paper, y - 60, bottom=240)
    paper.flow("Abstract", columns, Style(10, 1, "left"))
    paper.flow(what.abstract, columns, Style(9, after=10))
    for column in columns[2:]:
        column.bottom = 60
    body(paper, columns, what.prose, numbered(11), Style(10, indent=10))
    return made(
        "abstract-over-columns", what, 2009, paper, info={"Title": "untitled", "Author": ""}
    )


def working_paper(number: int) -> Made:
    """A title page under a banner of the series; the abstract on the second page."""
    what = given(number)
    paper = Paper("times", A4)
    paper.at(0, 297, 760, "WORKING PAPER SERIES", 20, 1, "center")
    y = title_block(paper, what.title.upper(), 15, 640, font=0, margin=110)
    for i, author in enumerate(what.authors):
        paper.at(0, 297, y - 30 - 16 * i, author, 12, 0, "center")
    paper.at(0, 297, 400, "Working Paper 19345", 12, 0, "center")
    paper.at(0, 297, 300, "INSTITUTE OF APPLIED SENSING", 12, 0, "center")
    paper.at(0, 297, 284, "Graz, Austria", 12, 0, "center")
    paper.at(0, 297, 268, "June 2013", 12, 0, "center")
    columns = one(paper, 740, page=1)
    paper.flow("ABSTRACT", columns, Style(12, 0, "center"))
    paper.flow(what.abstract, columns, Style(12, lead=1.5, hyphenate=False))
    paper.at(1, 90, columns[0].y - 20, "JEL No. C10, D80", 11)
    columns = one(paper, 740, page=2)
    body(
        paper,
        columns,
        what.prose,
        numbered(12, "."),
        Style(12, lead=1.5, indent=20, hyphenate=False),
    )
    return made(
        "working-paper", Given(what.title.upper(), what.abstract, what.authors, ()), 2013, paper
    )


def word_document(number: int) -> Made:
    """One column of 12 points throughout; the title is bold and no larger than the text."""
    what = given(number)
    paper = Paper("times", A4)
    columns = one(paper, 770, margin=72)
    paper.flow(what.title, columns, Style(12, 1, "center", hyphenate=False, after=12))
    paper.flow(", ".join(what.authors), columns, Style(12, 0, "center", after=2))
    paper.flow(PLACES[0], columns, Style(12, 2, "center", after=20))
    paper.flow("Abstract", columns, Style(12, 1, "left"))
    paper.flow(what.abstract, columns, Style(12, hyphenate=False, after=14))
    paper.flow("sensors, ranking", columns, Style(12, 0, "left", run_in="Keywords: ", after=14))
    body(paper, columns, what.prose, bare(12), Style(12, hyphenate=False))
    page_numbers(paper, 3)
    return made(
        "word",
        what,
        2008,
        paper,
        {"Title": "Microsoft Word - Paper_final_v3.doc", "Author": "jm"},
        "20080512",
    )


def german(number: int) -> Made:
    """ "Zusammenfassung", umlauts beside their letters, long words, German headings."""
    abstract = (
        "Wir untersuchen, wie sich Wärmepumpen in schlecht gedämmten Häusern bewähren. Für 412 Gebäude wurden über zwei "  # noqa: E501
        "Winter hinweg Verbrauch, Außentemperatur und Vorlauftemperatur gemessen. Die Jahresarbeitszahl lag im Mittel bei "  # noqa: E501
        "3,1 und hing stärker von der Einstellung der Heizkurve als vom Alter der Häuser ab. Eine nachträgliche Optimierung "  # noqa: E501
        "senkte den Verbrauch um elf Prozent; größere Heizkörper brachten weitere vier Prozent."
    )
    what = given(
        number,
        "Wärmepumpen im Gebäudebestand: Überraschend gute Ergebnisse trotz schlechter Dämmung",
        abstract,
        authors=2,
    )
    paper = Paper("times", A4, old_accents=True)
    y = title_block(paper, what.title, 16, 760, margin=70)
    paper.at(0, 297, y - 20, " und ".join(what.authors[:2]), 11, 0, "center")
    paper.at(0, 297, y - 34, "Technische Universität Graz", 10, 2, "center")
    paper.at(
        0, 297, y - 48, "erschienen in: Zeitschrift für Bauphysik 31 (2010), Heft 4", 9, 0, "center"
    )
    columns = one(paper, y - 80, margin=85)
    paper.flow("Zusammenfassung", columns, Style(11, 1, "left"))
    paper.flow(what.abstract, columns, Style(10, after=10))
    paper.flow(
        "Wärmepumpe, Altbau", columns, Style(10, 0, "left", run_in="Schlagwörter: ", after=12)
    )
    names = ("Einleitung", "Messungen", "Ergebnisse", "Fazit")
    body(paper, columns, what.prose, numbered(12), Style(10), names, "Literatur")
    return made("german", what, 2010, paper)


def french(number: int) -> Made:
    """ "Résumé", then an English abstract, which is the one that counts."""
    what = given(
        number,
        "Détection précoce des crues éclairs : une étude comparée de trois bassins versants",
        authors=2,
    )
    paper = Paper("times", A4)
    y = title_block(paper, what.title, 15, 760, margin=70)
    paper.at(0, 297, y - 20, " et ".join(what.authors[:2]), 11, 0, "center")
    paper.at(
        0,
        297,
        y - 34,
        "Revue des sciences de l’eau, vol. 19, no 2, 2006, p. 101-115",
        9,
        2,
        "center",
    )
    columns = one(paper, y - 60, margin=85)
    paper.flow(
        "Nous comparons trois méthodes de détection des crues éclairs dans des bassins versants de petite taille. "  # noqa: E501
        "Les capteurs de niveau suffisent dans deux cas sur trois, et les prévisions radar n’apportent qu’un gain modeste.",  # noqa: E501
        columns, Style(9.5, run_in="Résumé : ", after=8),
    )  # fmt: skip
    paper.flow(what.abstract, columns, Style(9.5, run_in="Abstract: ", after=8))
    paper.flow("crues, capteurs", columns, Style(9.5, 0, "left", run_in="Mots-clés : ", after=12))
    names = ("Introduction", "Méthodes", "Résultats", "Conclusion")
    body(paper, columns, what.prose, numbered(12, "."), Style(10), names, "Références")
    return made("french", what, 2006, paper)


def spanish(number: int) -> Made:
    abstract = (
        "Este trabajo presenta un método sencillo para estimar el caudal de ríos pequeños a partir de vídeos grabados con "  # noqa: E501
        "teléfonos móviles. Lo evaluamos en 37 estaciones durante tres años y obtuvimos un error mediano del nueve por ciento. "  # noqa: E501
        "El método no necesita calibración previa y funciona también con poca luz."
    )
    what = given(
        number, "Estimación del caudal de ríos pequeños con teléfonos móviles", abstract, authors=2
    )
    paper = Paper("helvetica", A4)
    paper.at(0, 60, 800, "Revista Iberoamericana de Hidrología · Vol. 8 · 2004 · pp. 33-47", 8)
    y = title_block(paper, what.title, 18, 770, margin=60, align="left")
    paper.at(0, 60, y - 18, "; ".join(what.authors[:2]), 10)
    columns = one(paper, y - 50, margin=60)
    paper.flow("RESUMEN", columns, Style(10, 1, "left"))
    paper.flow(what.abstract, columns, Style(9, after=8))
    paper.flow("caudal, ríos", columns, Style(9, 0, "left", run_in="Palabras clave: ", after=12))
    body(
        paper,
        columns,
        what.prose,
        bare(12),
        Style(9),
        ("Introducción", "Resultados y discusión", "Conclusiones"),
        "Referencias",
    )
    return made("spanish", what, 2004, paper)


def marked_title(number: int) -> Made:
    """A title of three lines with a raised mark, authors in capitals, no year but the file's."""
    what = given(
        number,
        title="On the Stability of Greedy Selection under Drift: Evidence from Twelve Years of Hospital Scheduling, with an Appendix on Regret",  # noqa: E501
    )
    paper = Paper("times")
    column = Column(110, 392, 700, 0)
    paper.flow(what.title, [column], Style(18, 1, "center", hyphenate=False))
    last = paper.pieces[-1]
    paper.at(0, last.x + paper._width(last.text, 1, 18) + 1, last.y + 6, "∗"[1:] + "*", 10)
    paper.at(0, 306, column.y - 20, ", ".join(a.upper() for a in what.authors), 11, 0, "center")
    columns = one(paper, column.y - 50)
    footnote(
        paper, columns[0], "* We thank seminar participants of 1998 and 2003 for comments.", size=8
    )
    paper.flow(what.abstract, columns, Style(10, 2, inset=24, run_in="Abstract: ", after=14))
    body(paper, columns, what.prose, numbered(12, "."), Style(11, indent=14))
    return made("marked-title", what, 2002, paper, created="20020707")


def good_metadata(number: int) -> Made:
    """A banner as large as the title, which the file's own data names."""
    what = given(number)
    paper = Paper("helvetica")
    paper.at(0, 306, 740, "Sensors and Systems Letters", 16, 1, "center")
    y = title_block(paper, what.title, 16, 690, margin=70)
    paper.at(0, 306, y - 20, ", ".join(what.authors), 10, 0, "center")
    paper.at(
        0,
        306,
        y - 32,
        "Received 1 February 2018; accepted 30 November 2018; published 7 January 2019",
        8,
        0,
        "center",
    )
    columns = two(paper, y - 60)
    paper.flow(what.abstract, columns, Style(9, run_in="ABSTRACT: ", after=10))
    body(paper, columns, what.prose, bare(10, caps=True), Style(9, align="left"))
    return made(
        "good-metadata", what, 2019, paper, {"Title": what.title, "Author": what.authors[0]}
    )
