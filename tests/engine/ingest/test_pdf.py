"""PDFs of papers as documents."""

import io
import os
import zipfile
from difflib import SequenceMatcher
from functools import cache

import pytest

from engine.errors import BadInputError
from engine.ingest import isolated, pdf
from engine.ingest.formats import detect_format
from engine.ingest.pdf import PDF_MEMORY
from engine.ingest.pdf.pages import read_pages
from engine.ingest.pdf.paper import find_paper
from engine.ingest.source import check, open_source
from engine.lenses.definitions import RESEARCH
from engine.types.corpora import Repairs
from engine.types.limits import MEGABYTE
from tests.fakes.pdfs import Column, Paper, Style, thirty

LEAST_RIGHT = 27
"""Of thirty papers."""
SAME_ABSTRACT = 0.99
"""Share of characters; a hyphen more or less at a line's end is no other abstract."""


@cache
def found():
    return {made.name: (made, find_paper(read_pages(made.content))) for made in thirty()}


def faults(made, paper):
    """What is wrong in title, year and abstract."""
    ends = (" ".join(text.split()[-4:]) for text in (paper.abstract, made.abstract))
    begins = (paper.abstract[:25], made.abstract[:25])
    whole = paper.abstract == made.abstract or (
        len(set(ends)) == 1
        and begins[0] == begins[1]
        and SequenceMatcher(None, paper.abstract, made.abstract, autojunk=False).ratio()
        >= SAME_ABSTRACT
    )
    return [
        *([f"title {paper.title!r}, not {made.title!r}"] if paper.title != made.title else []),
        *([f"year {paper.year}, not {made.year}"] if paper.year != made.year else []),
        *([] if whole else [f"abstract {paper.abstract!r}, not {made.abstract!r}"]),
    ]


def test_title_year_and_abstract_of_papers_in_many_layouts():
    wrong = {name: problems for name, both in found().items() if (problems := faults(*both))}
    assert len(found()) == 30
    assert len(wrong) <= 30 - LEAST_RIGHT, wrong
    for name, problems in wrong.items():  # shown by pytest -rP
        print(name, *problems, sep="\n  ")  # noqa: T201


def test_authors_and_sections_of_most():
    both = found().values()
    authors = sum(set(paper.authors) == set(made.authors) for made, paper in both)
    assert authors >= 27
    sections = {
        made.name: [s.name for s in paper.sections]
        for made, paper in both
        if not set(map(str.casefold, made.sections))
        <= {section.name.casefold() for section in paper.sections}
    }
    assert len(sections) <= 3, sections


OUTSIDE = (
    "In Proceedings of X", "Published as a conference", "Permission to make",
    "IEEE TRANSACTIONS", "Manuscript received", "Corresponding author",
)  # fmt: skip


def test_references_running_heads_and_footnotes_are_no_text():
    for name in ("acl-1", "ieee-6", "acm", "iclr", "elsevier"):
        _, paper = found()[name]
        text = paper.abstract + " ".join(section.text for section in paper.sections)
        assert not [words for words in OUTSIDE if words in text], name


def of_words(*lines, **options):
    """A PDF of lines one below the other."""
    paper = Paper("times")
    for number, line in enumerate(lines):
        paper.at(0, 72, 700 - 16 * number, line, 11)
    return paper.write(**options)


def of_abstract(abstract, info=None):
    paper = Paper("times")
    paper.flow("A Study of Small Things", [Column(100, 400, 720, 0)], Style(17, 1, "center"))
    columns = [Column(200, 150, 640, 60)]
    paper.flow("Abstract", columns, Style(12, 1, "left"))
    paper.flow(abstract, columns, Style(10))
    paper.flow("1 Introduction", columns, Style(12, 1, "left"))
    paper.flow("Other words. " * 20, columns, Style(10))
    return find_paper(read_pages(paper.write(info)))


def test_hyphens_at_line_ends_go_and_those_of_words_stay():
    abstract = (
        "Meaning-representation languages serve state-of-the-art parsers of representation. "
        "Considerable dissatisfaction with representational consequences characterises "
        "state-of-the-art alternatives, which nevertheless outperform well-known baselines on "
        "state-of-the-art machinery and on well-known collections of considerable dimensionality."
    )
    assert of_abstract(abstract).abstract == abstract


@pytest.mark.parametrize("title", ["untitled", "Microsoft Word - x.doc", ""])
def test_a_files_own_title_that_means_nothing_is_not_taken(title):
    paper = of_abstract("We measured small things carefully. They are small indeed, all of them.",
                        {"Title": title, "Author": ""})  # fmt: skip
    assert paper.title == "A Study of Small Things"


def read(path, parts="papers"):
    return list(open_source(path, lens=RESEARCH, repairs=Repairs(pdf=parts)))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two papers, one of them in a folder of its own, and files that cannot be read."""
    folder = tmp_path_factory.mktemp("pdf") / "papers"
    (folder / "older").mkdir(parents=True)
    made = {name: both[0].content for name, both in found().items()}
    files = {
        "acl.pdf": made["acl-1"],
        "older/Elsevier.PDF": made["elsevier"],
        "broken.pdf": made["acl-1"][:2000],
        "empty.pdf": b"",
        "locked.pdf": of_words("Nobody reads this", password="secret"),
        "no-pdf.pdf": b"<html>Please log in</html>",
        "scanned.pdf": of_words(),
        "._acl.pdf": b"a resource fork",
        "notes.txt": b"no PDF",
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


REASONS = {
    "broken.pdf": "is damaged, or no PDF",
    "empty.pdf": "is empty",
    "locked.pdf": "is protected by a password",
    "no-pdf.pdf": "is damaged, or no PDF",
    "scanned.pdf": "has no text: its pages are pictures (scanned?), which are not read",
}


def test_a_folder_gives_its_papers_and_says_of_each_other_file_why_not(folder):
    assert detect_format(folder) == "pdf"
    report = check(open_source(folder, lens=RESEARCH), 10**6)
    assert report.documents == 2
    assert not report.refused
    assert list(report.warnings) == [
        f"Left out: {name}: the file {reason}." for name, reason in REASONS.items()
    ]
    first, second = read(folder)
    assert (first.doc_id, second.doc_id) == ("acl", "older/Elsevier")
    assert first.text == found()["acl-1"][0].abstract
    assert second.url == "https://doi.org/10.1016/j.prs.2015.12.009"
    assert second.year == 2016


def test_sections_are_documents_where_that_is_chosen(folder):
    documents = read(folder / "acl.pdf", "sections")
    title = found()["acl-1"][0].title
    assert [d.doc_id for d in documents[:2]] == ["acl", "acl#1"]
    assert [d.title for d in documents[:2]] == [title, f"{title}: Introduction"]
    assert documents[1].metadata["section"] == "Introduction"
    assert len({d.doc_id for d in documents}) == len(documents) >= 5


def test_a_zip_is_read_as_a_folder_is(folder, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("acl.pdf", "empty.pdf", "notes.txt"):
            archive.write(folder / name, f"mine/{name}")
        archive.writestr("__MACOSX/mine/._acl.pdf", "a resource fork")
    path = tmp_path / "papers.zip"
    path.write_bytes(packed.getvalue())
    report = check(open_source(path, lens=RESEARCH), 10**6)
    assert report.documents == 1
    assert report.warnings == ("Left out: mine/empty.pdf: the file is empty.",)


@pytest.mark.parametrize(("content", "says"), [(b"PK no", "is no zip"), (None, "holds no PDF")])
def test_a_zip_without_papers_is_refused(content, says, tmp_path):
    path = tmp_path / "papers.zip"
    if content is None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("notes.txt", "no PDF")
    else:
        path.write_bytes(content)
    with pytest.raises(BadInputError, match=says):
        check(open_source(path, lens=RESEARCH), 10**6)


def test_a_file_that_keeps_the_reader_busy_or_ends_it_costs_that_file(folder, monkeypatch):
    assert pdf._isolated(folder, "acl.pdf", "first")[0]
    for process in isolated._idle[PDF_MEMORY // MEGABYTE]:
        process.kill()
        process.wait()
    paper, problem = pdf._isolated(folder, "acl.pdf", "second")
    assert paper is None
    assert "ends the reader" in problem
    assert pdf._isolated(folder, "acl.pdf", "third")[0]
    monkeypatch.setattr(pdf, "PDF_SECONDS", 0.05)
    fifo = folder.parent / "waits.pdf"
    os.mkfifo(fifo)
    paper, problem = pdf._isolated(folder.parent, fifo.name, "first")
    assert paper is None
    assert "takes longer than" in problem


def test_papers_of_later_pages_are_counted(monkeypatch):
    monkeypatch.setattr("engine.ingest.pdf.pages.PDF_PAGES", 1)
    assert read_pages(found()["acl-1"][0].content).more_pages == 2
