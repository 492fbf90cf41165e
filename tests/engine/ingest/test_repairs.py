"""What people choose about rows that cannot be used as they are comes true in every format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from engine.errors import BadInputError
from engine.ingest.source import check, examine, open_source, unique_documents
from engine.lenses.definitions import RESEARCH
from engine.types.corpora import NO_REPAIRS, Repairs
from tests.engine.ingest.reading_files import MAX_CHARS

ROWS: list[dict[str, Any]] = [
    {"id": "a", "title": "First", "text": "Bees fly."},
    {"id": "b", "title": "No text", "text": "", "doi": "10.1000/B"},
    {"id": "", "title": "No id", "text": "Bats fly.", "doi": "https://doi.org/10.1000/X.1"},
    {"id": "a", "title": "", "text": "Bees fly, and walk.", "year": "2001"},
    {"id": "a", "title": "First", "text": "Bees fly."},
    {"id": "", "title": "Neither id nor DOI", "text": "Cats walk."},
    {"id": "c", "title": "", "text": ""},
]
ALL = Repairs(
    skip_broken=True,
    skip_empty=True,
    title_as_text=True,
    ids_from_doi=True,
    number_ids=True,
    duplicates="keep-first",
)


def as_csv(write):
    columns = ["id", "title", "text", "doi", "year"]
    lines = [";".join(columns), *(";".join(row.get(c, "") for c in columns) for row in ROWS)]
    return write("papers.csv", "\r\n".join(lines).encode("cp1252"))


def in_memory(_):
    return pd.DataFrame(ROWS)


KINDS = pytest.mark.parametrize("kind", [as_csv, in_memory])


def read(source, repairs=NO_REPAIRS, **options):
    opened = open_source(source, lens=RESEARCH, repairs=repairs, **options)
    assert check(opened, MAX_CHARS).documents == len(list(unique_documents(opened)))
    return list(unique_documents(opened, max_chars=MAX_CHARS))


def refusal(source, repairs=NO_REPAIRS):
    with pytest.raises(BadInputError) as caught:
        check(open_source(source, lens=RESEARCH, repairs=repairs), MAX_CHARS)
    return str(caught.value)


@KINDS
def test_without_a_choice_all_faults_are_told_at_once_with_the_options(write, kind):
    message = refusal(kind(write))
    assert "row 2" in message
    for words in ("1 more row has no text", "2 rows have no id", "1 row repeats"):
        assert words in message
    for option in ("--skip-empty", "--title-as-text", "--number-ids", "--ids-from-doi"):
        assert option in message
    assert "--duplicates keep-first" in message


@KINDS
def test_each_choice_repairs_its_fault(write, kind):
    prefix = "row" if kind is in_memory else "papers"
    documents = {d.doc_id: d for d in read(kind(write), ALL)}
    assert list(documents) == ["a", "b", "10.1000/x.1", f"{prefix}-6"]
    assert documents["b"].text == documents["b"].title == "No text"
    assert documents["b"].url == "https://doi.org/10.1000/b"

    skipping = read(kind(write), replace(ALL, title_as_text=False, ids_from_doi=False))
    assert [d.doc_id for d in skipping] == ["a", f"{prefix}-3", f"{prefix}-6"]


@pytest.mark.parametrize("duplicates", ["keep-first", "merge", "rename"])
@KINDS
def test_what_becomes_of_an_id_that_comes_twice(write, kind, duplicates):
    documents = {d.doc_id: d for d in read(kind(write), replace(ALL, duplicates=duplicates))}
    first = documents["a"]
    if duplicates == "merge":
        assert (first.title, first.text, first.year) == ("First", "Bees fly, and walk.", 2001)
    else:
        assert (first.title, first.text, first.year) == ("First", "Bees fly.", None)
    assert ("a-2" in documents) == (duplicates == "rename")
    if duplicates == "rename":
        assert documents["a-2"].text == "Bees fly, and walk."


def test_everything_left_out_is_refused(write):
    path = write("a.csv", "id,text\n1,\n2,\n")
    message = refusal(path, Repairs(skip_empty=True))
    assert "No document is left of a.csv. 2 rows without text were left out: row 1" in message


def test_the_report_names_what_was_done_and_where(write):
    report = check(open_source(as_csv(write), lens=RESEARCH, repairs=ALL), MAX_CHARS)
    assert report.warnings == (
        "1 document has no text of its own; its title stands in for it.",
        "1 document has no title; the beginning of its text is shown as one.",
        "1 document came more than once with the same content; kept once.",
        "1 row without text was left out: row 7 (line 8).",
        "1 document had no id and was numbered: row 6 (line 7).",
        "1 document had no id; its DOI serves as one: row 3 (line 4).",
        "1 row had the id of an earlier row, with other content, and was left out: row 4 (line 5).",
    )


def test_a_check_counts_faults_whether_or_not_they_are_repaired(write):
    for repairs, refused in ((NO_REPAIRS, [2, 2, 1]), (ALL, [0, 0, 0])):
        report = examine(open_source(as_csv(write), lens=RESEARCH, repairs=repairs), MAX_CHARS)
        found = [(f.kind, f.rows, f.substitutes) for f in report.faults]
        assert found == [("empty", 2, 1), ("id", 2, 1), ("duplicate", 1, 0)]
        assert [f.refused for f in report.faults] == refused
    assert report.faults[0].places == ("row 2 (line 3): No text", "row 7 (line 8): (no title)")


def test_a_renamed_document_takes_no_id_that_is_there(write):
    path = write("a.csv", "id,text\na,One.\na-2,Two.\na,Three.\na,Three.\na,Four.\n")
    documents = read(path, Repairs(duplicates="rename"))
    assert [(d.doc_id, d.text) for d in documents] == [
        ("a", "One."), ("a-2", "Two."), ("a-3", "Three."), ("a-4", "Four."),
    ]  # fmt: skip


def test_rows_that_cannot_be_read_or_are_too_long_can_be_left_out(write):
    long = "x" * 50
    path = write("a.csv", f'id,text\n1,a\n2,b,c\n3,"open\n4,d\n5,{long}\n6,"e\nf"\n')
    source = open_source(path, lens=RESEARCH, repairs=Repairs(skip_broken=True))
    report = check(source, 40)
    assert report.documents == 3
    assert [d.doc_id for d in unique_documents(source, max_chars=40)] == ["1", "4", "6"]
    (fault,) = report.faults
    assert (fault.kind, fault.rows) == ("broken", 3)
    assert fault.places[0] == "row 2 (line 3): 3 fields, but the header has 2."


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.bib", "@article{k, title={Words}}\n@article{l, abstract={Text}}\n"),
        ("a.ris", "TY  - JOUR\nID  - k\nTI  - Words\nER  - \nTY  - JOUR\nAB  - Text\nER  - \n"),
    ],
)
def test_entries_without_abstract_have_their_title_unless_they_are_to_be_left_out(
    write, name, content
):
    path = write(name, content)
    assert [d.text for d in read(path)] == ["Words", "Text"]
    assert [d.text for d in read(path, Repairs(skip_empty=True))] == ["Text"]


def test_choices_that_do_not_exist_are_refused(write):
    path = as_csv(write)
    for repairs, says in (
        (Repairs(duplicates="keep"), "keep-first, merge, rename"),  # type: ignore[arg-type]
        (Repairs(delimiter="::"), "is no delimiter"),
        (Repairs(encoding="base64"), "no text encoding 'base64'"),
        (Repairs(encoding="nope"), "utf-8, utf-16, cp1252"),
    ):
        with pytest.raises(BadInputError, match=says):
            open_source(path, lens=RESEARCH, repairs=repairs)


def test_rows_of_one_doi_are_one_document_only_with_one_title():
    repairs = Repairs(ids_from_doi=True)
    rows = [
        {"title": "Roofs", "text": "Green.", "doi": "10.1000/1"},
        {"title": "ROOFS.", "text": "Green roofs.", "doi": "10.1000/1"},
        {"title": "Tides", "text": "A longer text about tides.", "doi": "10.1000/1"},
    ]
    assert [(x.title, x.text) for x in read(pd.DataFrame(rows[:2]), repairs)] == [
        ("Roofs", "Green roofs.")
    ]
    assert "is taken by" in refusal(pd.DataFrame(rows), repairs)
    renamed = read(pd.DataFrame(rows), replace(repairs, duplicates="rename"))
    assert [x.title for x in renamed] == ["Roofs", "ROOFS.", "Tides"]
