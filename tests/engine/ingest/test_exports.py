"""Files as other programs and databases export them are read without a choice by the person."""

import gzip
import io
import json

import openpyxl
import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.ingest.formats import detect_format
from engine.ingest.source import check, open_source
from engine.lenses.definitions import RESEARCH
from tests.engine.ingest.reading_files import EXPORTS, MAX_CHARS, one

TITLE, TEXT = "Crayfish of deep ponds", "We count them. We weigh them."

# --- columns ---------------------------------------------------------------------------------

HEADERS = {
    "IEEE": "Document Title=T,Authors=A,Publication Title,Publication Year=Y,Abstract=X,DOI=I",
    "OpenAlex": "id=I,doi,display_name=T,publication_year=Y,abstract=X,"
    "authorships.author.display_name=A",
    "Covidence": "Title=T,Authors=A,Abstract=X,Published Year=Y,Accession Number=,Covidence #=I",
    "Dimensions": "Rank,Publication ID=I,DOI,Title=T,Abstract=X,PubYear=Y,Authors=A",
    "Lens": "Lens ID=I,Title=T,Date Published=n.d.,Publication Year=Y,Author/s=A,Abstract=X",
    "Embase": "Title=T,Original Title,Author Names=A,Abstract=X,Publication Year=Y,PUI=I",
    "Web of Science": "PT,AU=A,TI=T,ID=I,AB=X,PY=Y,UT=I",
    "Zotero": "Key=I,Publication Year=Y,Author=A,Title=T,Abstract Note=X,Date=n.d.",
    "German": "Kennung=I,Titel=T,Autoren=A,Jahr=Y,Zusammenfassung=X,Zeitschrift=V,Band=N",
    "French": "Identifiant=I,Titre=T,Auteurs=A,Année de publication=Y,Résumé=X,Revue=V,Tome=N",
    "Spanish": "Identificador=I,Título=T,Autores=A,Año=Y,Resumen=X,Revista=V,Volumen=N",
    "Chinese": "编号=I,标题=T,作者=A,年份=Y,摘要=X,期刊=V,卷=N",
    "an id that is not complete, and one that is not unique": "id,pmid=,key=I,title=T,author=A,"
    "year=Y,text=X",
}
"""Columns with their values: T stands for a title, A an author, Y a year, X a text, I an id, V a
journal, N a volume; where there is none, all rows have the same."""


@pytest.mark.parametrize("database", HEADERS)
def test_columns_of_well_known_tables_are_fields(write, database):
    columns = [column.partition("=") for column in HEADERS[database].split(",")]
    lines = [",".join(name for name, _, _ in columns)]
    for number in (1, 2):
        values = {"T": TITLE, "A": "Lee, Ann", "Y": "2019", "X": TEXT, "I": f"k{number}"}
        values |= {"V": "Nature", "N": "7"}
        cells = (values.get(value, value) if sign else "same" for _, sign, value in columns)
        lines.append(",".join(f'"{cell}"' for cell in cells))
    source = open_source(write("export.csv", "\n".join(lines)), lens=RESEARCH)
    first, second = source
    assert (first.title, first.text, first.year) == (TITLE, TEXT, 2019)
    assert (first.authors, first.doc_id, second.doc_id) == (("Ann Lee",), "k1", "k2")
    assert source.mapping["doc_id"] == [name for name, _, value in columns if value == "I"][-1]
    if "=V" in HEADERS[database]:
        assert (first.metadata["venue"], first.metadata["volume"]) == ("Nature", "7")


@pytest.mark.parametrize(
    "above",
    ['"About the data: exported on May 4, 2025."\n', "Report of crayfish\n\n", '"Found: 2",,,\n'],
)
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_notes_above_the_header_of_a_table_are_passed_over(write, above, mark):
    rows = (("id", "title", "abstract", "year"), ("7", TITLE, TEXT, "2019"))
    table = "".join(mark.join(cells) + "\n" for cells in rows)
    document = one(write("a.csv", above.replace(",,,", 3 * mark) + table))
    assert (document.doc_id, document.title, document.text, document.year) == (
        *("7", TITLE, TEXT),
        2019,
    )


def test_fields_that_no_document_has_are_named_with_the_columns_that_may_hold_them(write):
    path = write("a.csv", f"id,text,Kop,Versheen\n1,{TEXT},{TITLE},2019\n2,More.,Words,2020\n")
    (warning,) = check(open_source(path, lens=RESEARCH), MAX_CHARS).warnings
    assert warning.startswith("No document has authors or title or year; columns that serve")
    assert warning.endswith("Kop, Versheen.")


# --- formats ---------------------------------------------------------------------------------


def _lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("name", "content", "doc_id"),
    [
        ("a.nbib", EXPORTS["medline.nbib"], "24034244"),
        ("pubmed-set.txt", EXPORTS["medline.nbib"], "24034244"),
        ("medline.ris", EXPORTS["medline.nbib"], "24034244"),
        ("a.ciw", EXPORTS["web-of-science.ciw"], "WOS:1"),
        ("savedrecs.txt", EXPORTS["web-of-science.ciw"].replace("\n", "\r\n"), "WOS:1"),
        ("a.enw", EXPORTS["endnote.enw"], "10.5555/ponds.7"),
        ("endnote.ris", EXPORTS["endnote.enw"], "10.5555/ponds.7"),
        ("endnote.xml", EXPORTS["endnote.xml"], "10.5555/ponds.7"),
        ("pubmed.xml", EXPORTS["pubmed.xml"], "24034244"),
        ("works.jsonl", EXPORTS["openalex.jsonl"], "W7"),
        (
            "page.json",
            _lines({"meta": {"count": 1}, "results": [json.loads(EXPORTS["openalex.jsonl"])]}),
            "W7",
        ),
        (
            "page.json",
            json.dumps({"meta": {}, "results": [json.loads(EXPORTS["openalex.jsonl"])]}, indent=2),
            "W7",
        ),
        ("arxiv-snapshot.json", EXPORTS["arxiv.jsonl"], "1301.0001"),
    ],
)
def test_exports_of_databases_are_read_with_their_fields(write, name, content, doc_id):
    first, *_ = documents = list(open_source(write(name, content), lens=RESEARCH))
    assert (first.doc_id, first.title, first.text, first.year) == (doc_id, TITLE, TEXT, 2013)
    assert len(first.authors) == (1 if content == EXPORTS["medline.nbib"] else 2)
    assert first.authors[0].replace(".", "") == "Ann C Lee"
    assert "10.5555/ponds.7" in (first.url or "") or first.metadata["doi"] == "10.5555/ponds.7"
    assert [d.title for d in documents] == [TITLE] * len(documents)


def test_latex_in_texts_of_the_arxiv_snapshot_is_plain_and_its_math_stays(write):
    paper = {
        **json.loads(EXPORTS["arxiv.jsonl"]),
        "title": 'On M\\"uller',
        "abstract": "It is $\\alpha_s = 1\\pm2$.",
    }
    document = one(write("a.json", _lines(paper)))
    assert (document.title, document.text) == ("On Müller", "It is $\\alpha_s = 1\\pm2$.")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("argilla.jsonl", _lines({"id": "1", "fields": {"text": TEXT, "title": TITLE}})),
        ("doccano.jsonl", _lines({"id": 1, "title": TITLE, "data": TEXT, "label": ["x"]})),
        ("studio.json", json.dumps([{"id": 1, "data": {"text": TEXT, "title": TITLE}}])),
        ("zotero.json", json.dumps([{"key": "1", "data": {"title": TITLE, "abstractNote": TEXT}}])),
    ],
)
def test_records_of_annotation_tools_are_documents(write, name, content):
    document = one(write(name, content))
    assert (document.doc_id, document.title, document.text) == ("1", TITLE, TEXT)


def test_a_field_of_an_object_is_mapped_by_its_path(jsonl):
    path = jsonl({"id": "1", "paper": {"body": {"full": TEXT}}, "data": {"words": "other"}})
    assert one(path, text="paper.body.full").text == TEXT
    assert one(path, text="data.words").text == "other"
    with pytest.raises(UnknownNameError, match="no column 'papers"):
        one(path, text="papers.body")


@pytest.mark.parametrize("name", ["a.xlsx", "really-excel.csv", "a.xls"])
def test_a_workbook_of_excel_is_read_whatever_it_is_called(write, name):
    book, content = openpyxl.Workbook(), io.BytesIO()
    for row in (
        ["Exported by hand"],
        [],
        ["ID", "Title", "Abstract", "Year", None],
        [7, TITLE, TEXT, 2019],
        [8, "Other", "Words.", 2020, None],
    ):
        book.active.append(row)  # type: ignore[union-attr]
    book.save(content)
    first, second = open_source(write(name, content.getvalue()), lens=RESEARCH)
    assert (first.doc_id, first.title, first.text, first.year) == ("7", TITLE, TEXT, 2019)
    assert (second.doc_id, second.where) == ("8", f"{name}, row 2 (line 5)")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl.gz", _lines({"id": "7", "text": TEXT})),
        ("a.csv.gz", f"id;text\n7;{TEXT}\n"),
        ("a.ris.gz", f"TY  - JOUR\nID  - 7\nAB  - {TEXT}\nTI  - x\nER  - \n"),
        ("a.json.gz", json.dumps([{"id": "7", "text": TEXT}])),
        ("pubmed.xml.gz", EXPORTS["pubmed.xml"].replace("24034244", "7")),
    ],
)
def test_packed_files_are_read_as_what_is_in_them(write, name, content):
    packed = write(name, gzip.compress(content.encode()))
    first, *_ = open_source(packed, lens=RESEARCH)
    assert (first.doc_id, first.text) == ("7", TEXT)
    cut = write(f"cut-{name}", packed.read_bytes()[:-12])
    with pytest.raises(BadInputError, match="cannot be read"):
        list(open_source(cut, lens=RESEARCH))


def test_a_folder_of_files_of_one_format_is_one_source(write):
    for n in (2, 1):
        write(f"refs/{n}.ris", f"TY  - JOUR\nID  - {n}\nTI  - {TITLE}\nAB  - {TEXT}\nER  - \n")
    folder = write("refs/read me.txt", "Exported, by hand.").parent
    documents = list(open_source(folder, lens=RESEARCH))
    assert [(d.doc_id, d.where) for d in documents] == [
        ("1", "1.ris, row 1 (line 1)"),
        ("2", "2.ris, row 1 (line 1)"),
    ]
    write("refs/3.bib", f"@misc{{three, title={{{TITLE}}}}}")
    with pytest.raises(UnknownNameError, match=r"several formats: bibtex, ris\. .*--format"):
        detect_format(folder)
    assert one(folder, "bibtex").doc_id == "three"
