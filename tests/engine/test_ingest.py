"""What people may rely on when they bring documents: every format read, every fault named."""

from __future__ import annotations

import datetime as dt
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.ingest import (
    FORMATS,
    Notes,
    check,
    content_hash,
    detect_format,
    open_source,
    preview,
    unique_documents,
)
from engine.types import SourceDocument
from storage import tables

SHARED = Path(__file__).parents[3] / "shared" / "data"
MAX_CHARS = 1_000_000

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _write


@pytest.fixture
def jsonl(write: Write) -> Callable[..., Path]:
    def _jsonl(*rows: Any, name: str = "papers.jsonl") -> Path:
        return write(name, "".join(json.dumps(row) + "\n" for row in rows))

    return _jsonl


def one(path: Path, source_format: str = "auto", **mapping: str) -> SourceDocument:
    (document,) = open_source(path, source_format, mapping)
    return document


def passages(document: SourceDocument) -> list[str]:
    return [document.text[start:end] for start, end in document.sentences or ()]


def fault(path: Path, source_format: str = "auto", max_chars: int = MAX_CHARS) -> str:
    """The error of a full check, which must be one line and say how to mend it."""
    with pytest.raises(BadInputError) as caught:
        check(open_source(path, source_format), max_chars)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


# --- formats -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "source_format"),
    [
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.CSV", "csv"),
        ("a.tsv", "tsv"),
        ("a.parquet", "parquet"),
        ("a.bib", "bibtex"),
        ("a.ris", "ris"),
    ],
)
def test_a_file_is_known_by_its_ending(write: Write, name: str, source_format: str) -> None:
    assert detect_format(write(name, "id,text\n")) == source_format
    assert source_format in FORMATS


def test_folders_and_impliret_files_are_known_by_what_is_in_them(write: Write) -> None:
    beir = write("beir/corpus.jsonl", '{"_id": "1", "text": "a"}\n').parent
    write("csf/abstracts-csfcube-preds.jsonl", "{}\n")
    csfcube = write("csf/test-pid2anns-csfcube-method.json", "{}").parent
    impliret = write("A_Multi.csv", "id,pos_document,question\n0,text,why\n")
    assert [detect_format(p) for p in (beir, csfcube, impliret)] == ["beir", "csfcube", "impliret"]


def test_an_unknown_ending_or_folder_or_format_names_the_known_ones(write: Write) -> None:
    path = write("papers.docx", "x")
    for refused in (
        lambda: detect_format(path),
        lambda: open_source(path, "docx"),
    ):
        with pytest.raises(UnknownNameError, match=", ".join(FORMATS)):
            refused()
    with pytest.raises(BadInputError, match=r"unknown layout.*corpus\.jsonl"):
        open_source(path.parent)


# --- tables and JSON -----------------------------------------------------------------------


def test_csv_values_stay_text_and_fields_may_hold_quotes_commas_and_newlines(write: Write) -> None:
    path = write("a.csv", '\ufeffID,Title,Abstract,Venue\r\n007,"A, B","say ""hi""\nthere",ACL\r\n')
    document = one(path)
    assert document.doc_id == "007"
    assert document.title == "A, B"
    assert document.text == 'say "hi"\nthere'
    assert document.metadata == {"Venue": "ACL"}
    assert document.where == "a.csv, row 1 (line 2)"


@pytest.mark.parametrize(
    ("name", "mark"), [("a.tsv", "\t"), ("a.csv", ";"), ("b.csv", "\t"), ("c.csv", ",")]
)
def test_csv_delimiter_is_told_from_the_header(write: Write, name: str, mark: str) -> None:
    document = one(write(name, f"id{mark}text\n1{mark}one two\n"))
    assert (document.doc_id, document.text) == ("1", "one two")


def test_parquet_types_arrive_as_fields_and_metadata(tmp_path: Path) -> None:
    path = tmp_path / "year=2011" / "a[1]*.parquet"
    path.parent.mkdir()
    table = pa.table(
        {
            "id": [7, 8],
            "abstract": [["One.", "Two."], ["Three."]],
            "labels": [["B", "method_label"], ["Result"]],
            "publication_date": [dt.date(2019, 5, 1), None],
            "authors": [["Ada Lovelace"], None],
            "score": [1.5, float("nan")],
            "seen": [dt.datetime(2020, 1, 2, tzinfo=dt.UTC), None],
            "metadata": [{"venue": "ACL"}, {"venue": None}],
        }
    )
    pq.write_table(table, path)
    (tmp_path / "year=2011" / "a[1]x.parquet").write_bytes(b"a glob would read this one too")
    first, second = open_source(path)
    assert (first.doc_id, first.text, first.year) == ("7", "One. Two.", 2019)
    assert first.roles == ("background", "method")
    assert passages(first) == ["One.", "Two."]
    assert first.authors == ("Ada Lovelace",)
    assert first.metadata == {"score": 1.5, "seen": "2020-01-02T00:00:00+00:00", "venue": "ACL"}
    assert (second.year, second.metadata, second.authors) == (None, {}, ())
    assert tables.count(path) == 2
    assert tables.head(path, 1)[0]["id"] == 7
    assert "labels" in tables.columns(path)


def test_nested_metadata_gives_the_year_and_further_fields(jsonl: Callable[..., Path]) -> None:
    row = {"_id": 12, "text": "t", "metadata": {"year": "2017-03", "venue": "EMNLP", "tags": [1]}}
    document = one(jsonl(row))
    assert (document.doc_id, document.year, document.metadata) == ("12", 2017, {"venue": "EMNLP"})


def test_blank_lines_and_line_separators_inside_json_do_not_shift_rows(write: Write) -> None:
    path = write("a.jsonl", '{"id": "1", "text": "a\u2028b"}\n\n{"id": "2", "text": "c"}')
    assert [(d.text, d.where) for d in open_source(path)] == [
        ("a\u2028b", "a.jsonl, row 1"),
        ("c", "a.jsonl, row 3"),
    ]


# --- fields --------------------------------------------------------------------------------


def test_a_chosen_column_goes_before_the_guess_and_the_guess_becomes_metadata(
    jsonl: Callable[..., Path],
) -> None:
    path = jsonl({"id": "1", "PMID": 99, "text": "short", "Full Text": "long"})
    document = one(path, doc_id="PMID", text="Full Text")
    assert (document.doc_id, document.text) == ("99", "long")
    assert document.metadata == {"id": "1", "text": "short"}


@pytest.mark.parametrize(
    ("mapping", "known"),
    [({"doc_id": "PMID"}, "id, text"), ({"abstract": "text"}, "doc_id, title, text")],
)
def test_mapping_to_an_unknown_column_or_field_lists_the_known_ones(
    jsonl: Callable[..., Path], mapping: dict[str, str], known: str
) -> None:
    with pytest.raises(UnknownNameError, match=known):
        open_source(jsonl({"id": "1", "text": "t"}), mapping=mapping)


@pytest.mark.parametrize(
    ("given", "year"),
    [
        (2017, 2017),
        ("2017", 2017),
        (2017.0, 2017),
        ("12 May 1999", 1999),
        ("20210304", 2021),
        ("n.d.", None),
        ("12345", None),
        (True, None),
        ([], None),
    ],
)
def test_a_year_is_four_digits_and_a_bad_one_is_no_error(
    jsonl: Callable[..., Path], given: object, year: int | None
) -> None:
    assert one(jsonl({"id": "1", "text": "t", "year": given})).year == year


@pytest.mark.parametrize(
    "given",
    [
        ["Ada Lovelace", "Alan Turing"],
        [{"name": "Ada Lovelace"}, {"name": "Alan Turing"}],
        "Ada Lovelace and Alan Turing",
        "Lovelace, Ada; Turing, Alan",
        '["Ada Lovelace", "Alan Turing"]',
    ],
)
def test_authors_come_as_a_list_or_as_one_string(jsonl: Callable[..., Path], given: object) -> None:
    document = one(jsonl({"id": "1", "text": "t", "authors": given}))
    assert document.authors == ("Ada Lovelace", "Alan Turing")


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://a.org/b", "https://a.org/b"),
        ("10.1000/182", "https://doi.org/10.1000/182"),
        ("javascript:alert(1)", None),
    ],
)
def test_a_link_is_a_web_address_or_nothing(
    jsonl: Callable[..., Path], given: str, url: str | None
) -> None:
    assert one(jsonl({"id": "1", "text": "t", "url": given})).url == url


def test_roles_are_read_in_every_spelling(jsonl: Callable[..., Path]) -> None:
    labels = ["background_label", "objective_label", "METHOD", "R", "o", "other_label", None]
    document = one(jsonl({"id": "1", "text": [f"S{n}." for n in range(7)], "roles": labels}))
    assert document.roles == (
        *("background", "background", "method", "result", "background"),
        *(None, None),
    )


@pytest.mark.parametrize(
    "sentences", [["One  two.", "Three."], [[0, 9], [10, 16]]], ids=["strings", "offsets"]
)
def test_given_sentences_become_spans_that_index_the_text_exactly(
    jsonl: Callable[..., Path], sentences: list[Any]
) -> None:
    text = "One  two.\nThree."
    path = jsonl({"id": "1", "text": text, "sentences": sentences, "roles": ["B", "M"]})
    document = one(path)
    assert passages(document) == ["One  two.", "Three."]
    assert document.roles == ("background", "method")


def test_sentence_lists_join_with_one_space_and_blank_ones_leave_with_their_role(
    jsonl: Callable[..., Path],
) -> None:
    document = one(jsonl({"id": "1", "abstract": ["", " A\x00b. ", " ", "C."], "roles": [*"BMRO"]}))
    assert document.text == "A b. C."
    assert passages(document) == ["A b.", "C."]
    assert document.roles == ("method", "background")


def test_a_column_without_a_name_serves_no_field(jsonl: Callable[..., Path]) -> None:
    document = one(jsonl({"id": "1", "text": "t", "": "x"}))
    assert (document.title, document.year, document.sentences) == ("", None, None)


def test_labels_and_counts_that_are_no_sentence_fields_stay_metadata(write: Write) -> None:
    document = one(write("a.csv", "id,text,labels,sentences\n1,Some text.,politics,4\n"))
    assert document.metadata == {"labels": "politics", "sentences": "4"}
    assert document.roles is None
    assert document.sentences is None


# --- text ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["مرحبا بالعالم", "שלום", "👩🏽‍🔬 lab 🧪", "tab\tand\nline", "नमस्ते"]
)
def test_right_to_left_text_and_emoji_pass_unchanged(jsonl: Callable[..., Path], text: str) -> None:
    path = jsonl({"id": "1", "text": text})
    assert one(path).text == text
    assert check(open_source(path), MAX_CHARS).warnings == ()


def test_control_characters_become_spaces_and_are_counted(jsonl: Callable[..., Path]) -> None:
    rows = [{"id": n, "text": t} for n, t in enumerate(["a\x00b\x85c", "d\r\ne", "f\x07"])]
    source = open_source(jsonl(*rows))
    assert [d.text for d in source] == ["a b c", "d \ne", "f "]
    (warning,) = check(source, MAX_CHARS).warnings
    assert warning.startswith("2 documents held control characters")


def test_lone_surrogates_become_replacement_characters(write: Write) -> None:
    source = open_source(write("a.jsonl", r'{"id": "1", "text": "a\ud83db \ud83d\ude00"}'))
    (document,) = source
    assert document.text == "a\ufffdb 😀"
    assert "U+FFFD" in check(source, MAX_CHARS).warnings[0]
    assert len(content_hash(document)) == 32


# --- bibliographies ------------------------------------------------------------------------

BIB = r"""Exported by hand.
@string{acl = {Annual Meeting}}
@inproceedings{smith2020,
  title = {{BERT} for f{\"u}nf \& more},
  author = "Smith, Ann and {World Health and Co} and others",
  abstract = {It is 50% faster,
     said @all.},
  booktitle = acl # { of 2020},
  year = 2020, doi = {10.1000/ab_c}
}
@article{jones, title = "Only a title", year = {1999}, journal = {Words}}
@comment{ignored}
@misc{, title = {No key}}
"""


def test_bibtex_entries_become_documents(write: Write) -> None:
    first, second, third = open_source(write("refs.bib", BIB))
    assert (first.doc_id, first.title, first.year) == ("smith2020", "BERT for fünf & more", 2020)
    assert first.text == "It is 50% faster, said @all."
    assert first.authors == ("Ann Smith", "World Health and Co")
    assert first.url == "https://doi.org/10.1000/ab_c"
    assert first.metadata["venue"] == "Annual Meeting of 2020"
    assert first.where == "refs.bib, row 1 (line 3)"
    assert (second.text, second.metadata["venue"]) == ("Only a title", "Words")
    assert third.doc_id.startswith("rec-")


def test_a_title_that_stands_in_for_an_abstract_is_counted(write: Write) -> None:
    report = check(open_source(write("refs.bib", BIB)), MAX_CHARS)
    assert report.documents == 3
    assert report.warnings[0].startswith("2 documents have no text of their own")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("@article{a, title={x}}\n\n@article{b, title={open\n", "row 2 (line 3)"),
        ("@article{a, title={x}, title={y}}\n", "row 1 (line 1): the entry gives title twice"),
        ("@article{a,\n year=2020}\n", "row 1 (line 1): neither a title nor a text"),
        ("@article{a, title={x}}\n@article{a, title={y}}\n", "taken by refs.bib, row 1 (line 1)"),
        ("no entries at all\n", "0 rows"),
    ],
)
def test_a_broken_bibtex_entry_names_its_line(write: Write, content: str, says: str) -> None:
    assert says in fault(write("refs.bib", content))


RIS = """TY  - JOUR
ID  - 42
TI  - A study of
  many lines
AU  - Smith, Ann
AU  - Turing, Alan
AB  - We study.

PY  - 2001/03//
DO  - 10.1000/1
JO  - Words
KW  - one
KW  - two
ER  -

TY  - CONF
T1  - Only a title
Y1  - 1999
ER  -
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_ris_records_become_documents(write: Write, end: str) -> None:
    first, second = open_source(write("refs.ris", "\ufeff" + RIS.replace("\n", end)))
    assert (first.doc_id, first.title) == ("42", "A study of many lines")
    assert (first.text, first.year) == ("We study.", 2001)
    assert first.authors == ("Ann Smith", "Alan Turing")
    assert first.url == "https://doi.org/10.1000/1"
    assert first.metadata["venue"] == "Words"
    assert first.metadata["keywords"] == "one; two"
    assert (second.text, second.year) == ("Only a title", 1999)
    assert second.doc_id.startswith("rec-")
    assert second.where == "refs.ris, row 2 (line 16)"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("TY  - JOUR\nTI  - a\n", "row 1 (line 1): the record that begins here has no ER"),
        ("TY  - JOUR\nTI  - a\nTY  - JOUR\nTI  - b\nER  - \n", "row 1 (line 1)"),
        ("TY  - JOUR\nPY  - 2001\nER  - \n", "neither a title nor a text"),
        ("nothing\n", "0 rows"),
    ],
)
def test_a_broken_ris_record_names_its_line(write: Write, content: str, says: str) -> None:
    assert says in fault(write("refs.ris", content))


# --- collections ---------------------------------------------------------------------------


def test_a_beir_folder_gives_its_corpus_with_our_own_fields_too(write: Write) -> None:
    rows = [
        {"_id": "d1", "title": "T", "text": "Body.", "metadata": {}},
        {"doc_id": "d1x", "_id": "d2", "title": "T2", "text": ""},
    ]
    folder = write("demo/corpus.jsonl", "\n".join(map(json.dumps, rows))).parent
    first, second = open_source(folder, mapping={"doc_id": "_id"})
    assert (first.doc_id, first.title, first.text) == ("d1", "T", "Body.")
    assert (second.doc_id, second.text) == ("d2", "T2")


def test_csfcube_abstracts_keep_sentences_and_roles(write: Write) -> None:
    row = {
        "paper_id": "10",
        "title": "T",
        "abstract": ["We see.", "We do."],
        "pred_labels": ["objective_label", "method_label"],
        "metadata": {"year": "2017"},
    }
    folder = write("c/abstracts-csfcube-preds.jsonl", json.dumps(row)).parent
    write("c/test-pid2anns-csfcube-method.json", "{}")
    document = one(folder)
    assert (document.doc_id, document.year, document.text) == ("10", 2017, "We see. We do.")
    assert document.roles == ("background", "method")


def test_an_impliret_document_holds_nothing_of_its_question_or_answer(write: Write) -> None:
    header = "id,tuple_set_id,forum_question,pos_document,question,answer,explicit_hint"
    document = one(write("A_Multi.csv", f"{header}\n0,3,forum,The text.,Why?,Because,Hint\n"))
    assert (document.doc_id, document.text, document.title) == ("0", "The text.", "")
    assert document.metadata == {"tuple_set_id": "3"}
    assert document.year is None


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the development data is not at {SHARED}")
@pytest.mark.parametrize(
    ("name", "source_format", "documents"),
    [
        ("csfcube-open", "csfcube", 4205),
        ("impliret-open/A_Multi.csv", "impliret", 750),
        ("impliret-open/T_Multi.csv", "impliret", 750),
        ("impliret-open/W_Multi.csv", "impliret", 750),
    ],
)
def test_the_published_collections_are_read_whole(
    name: str, source_format: str, documents: int
) -> None:
    source = open_source(SHARED / name)
    assert source.format == source_format
    assert check(source, MAX_CHARS).documents == documents
    for document in source:
        assert all(s == s.strip() and s for s in passages(document))
        assert document.roles is None or len(document.roles) == len(document.sentences or ())


# --- faults --------------------------------------------------------------------------------

GOOD = '{"id": "1", "text": "a"}\n'


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.jsonl", GOOD + '{"id": "2", "text": \n', "row 2: broken JSON at character 21"),
        ("a.jsonl", GOOD + '["x"]\n', "row 2: expected a JSON object, found a list"),
        ("a.jsonl", GOOD + '{"text": "a"}\n', "row 2: no id (column 'id')"),
        ("a.jsonl", GOOD + '{"id": "  ", "text": "a"}\n', "row 2: the id is empty"),
        ("a.jsonl", GOOD + '{"id": ["2"], "text": "a"}\n', "row 2: the id is a list"),
        ("a.jsonl", GOOD + '{"id": "2"}\n', "row 2: no text (column 'text')"),
        ("a.jsonl", GOOD + '{"id": "2", "text": " \\n"}\n', "row 2: the text is empty"),
        ("a.jsonl", GOOD + '{"id": "2", "text": []}\n', "row 2: the text is empty"),
        ("a.jsonl", GOOD + '{"id": "2", "text": {"a": 1}}\n', "row 2: the text is an object"),
        ("a.jsonl", '{"text": "a", "foo": 1}\n', "row 1: no id (columns: text, foo)"),
        ("a.jsonl", '{"id": "a", "foo": 1}\n', "row 1: no text (columns: id, foo)"),
        ("a.jsonl", GOOD + GOOD + '{"id": "1", "text": "b"}\n', "row 3: the id '1' is taken by"),
        ("a.jsonl", "\n\n", "0 rows"),
        ("a.jsonl", "[" * 100_000 + "\n", "row 1: JSON that cannot be read"),
        ("a.csv", "id,text\n", "0 rows"),
        ("a.csv", "id,text\n1,a\n2\n", "row 2 (line 3): 1 fields, but the header has 2"),
        ("a.csv", 'id,text\n1,"a\nb"\n2,x,y\n', "row 2 (line 4): 3 fields"),
        ("a.csv", 'id,text\n1,a\n2,"b\n3,c\n', "row 2 (line 3): a quoted field"),
        ("a.csv", 'id,text\n1,"a" b\n', "row 1 (line 2): broken quotes"),
        ("a.csv", "id,text\n1,a\n,b\n", "row 2 (line 3): the id is empty"),
        ("a.csv", "id,text,text\n1,a,b\n", "column 'text' stands there twice"),
        ("a.csv", "id,text\r1,a\r", "header (line 1): a carriage return"),
        ("a.parquet", "PAR1 but not really", "cannot be read"),
    ],
)
def test_bad_input_names_file_row_and_remedy(
    write: Write, name: str, content: str, says: str
) -> None:
    assert says in fault(write(name, content))


def test_the_same_id_with_other_content_names_both_rows(jsonl: Callable[..., Path]) -> None:
    path = jsonl({"id": "1", "text": "a"}, {"id": "2", "text": "b"}, {"id": 1, "text": "c"})
    message = fault(path)
    assert "papers.jsonl, row 3:" in message
    assert "papers.jsonl, row 1," in message


def test_exact_repeats_are_kept_once_and_counted(jsonl: Callable[..., Path]) -> None:
    source = open_source(jsonl(*[{"id": "1", "text": "a"}] * 3, {"id": "2", "text": "b"}))
    report = check(source, MAX_CHARS)
    assert report.documents == 2
    assert report.warnings == ("2 documents came more than once with the same content; kept once.",)
    assert [d.doc_id for d in unique_documents(source)] == ["1", "2"]


def test_nothing_at_the_path_or_an_empty_file_is_refused_at_once(write: Write) -> None:
    with pytest.raises(BadInputError, match=r"gone\.jsonl does not exist\. Check the path"):
        open_source("/nowhere/gone.jsonl")
    with pytest.raises(BadInputError, match=r"a\.jsonl is empty"):
        open_source(write("a.jsonl", b""))
    with pytest.raises(BadInputError, match="is a folder, but csv is read from a file"):
        open_source(write("b.csv", "id,text\n").parent, "csv")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.bib", "a.ris"])
def test_a_file_that_is_not_utf8_names_line_and_byte(write: Write, name: str) -> None:
    path = write(name, b"\xef\xbb\xbf       \n1,caf\xe9\n")
    with pytest.raises(BadInputError, match=r"line 2: not UTF-8 \(byte 0xe9 at offset 16\)\. Save"):
        list(open_source(path))


def test_utf16_is_refused_with_the_remedy(write: Write) -> None:
    assert "Save the file as UTF-8" in fault(write("a.csv", "id,text\n1,a\n".encode("utf-16")))


@pytest.mark.parametrize("name", ["big.jsonl", "big.csv"])
def test_a_five_megabyte_document_is_refused_with_both_numbers(write: Write, name: str) -> None:
    text = "word " * 1_000_000
    content = json.dumps({"id": "1", "text": text}) if "json" in name else f"id,text\n1,{text}\n"
    path = write(name, content)
    message = fault(path)
    assert "row 1" in message
    assert "5000000" in message
    assert "1000000" in message
    assert "SEEDLENS_MAX_DOCUMENT_CHARS" in message
    assert check(open_source(path), max_chars=5_000_000).documents == 1


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"text": ["A.", "B."], "roles": ["M"]}, "1 roles in 'roles' for 2 sentences"),
        ({"text": "A. B.", "roles": ["M"]}, "1 roles in 'roles' for 0 sentences"),
        ({"text": "A. B.", "sentences": ["A.", "C."]}, "sentence 2 ('C.') is not in the text"),
        ({"text": "A. B.", "sentences": [[0, 2], [1, 5]]}, "after position 2"),
        ({"text": "A.", "sentences": [[0, 3]]}, "offsets from 0 to 2"),
        ({"text": ["A.", 3]}, "a sentence of the text is of type int"),
    ],
)
def test_sentences_and_roles_that_do_not_fit_are_refused(
    jsonl: Callable[..., Path], row: dict[str, Any], says: str
) -> None:
    path = jsonl({"id": "1", **row})
    message = fault(path)
    assert "papers.jsonl, row 1: " in message
    assert says in message


# --- streams -------------------------------------------------------------------------------


def test_a_source_can_be_read_twice_with_the_same_documents(write: Write) -> None:
    source = open_source(write("refs.bib", BIB))
    assert [content_hash(d) for d in source] == [content_hash(d) for d in source]


def test_a_hash_tells_content_apart_but_not_places(jsonl: Callable[..., Path]) -> None:
    rows = [{"id": "1", "text": "a"}, {"id": "1", "text": "a"}, {"id": "1", "text": "a", "x": 1}]
    first, same, other = open_source(jsonl(*rows))
    assert first.where != same.where
    assert content_hash(first) == content_hash(same) != content_hash(other)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "bib", "ris"])
def test_reading_needs_memory_for_a_document_not_for_the_corpus(write: Write, suffix: str) -> None:
    text = "word " * 2_000
    record = {
        "jsonl": '{{"id": "{n}", "text": "{text}"}}\n',
        "csv": "{n},{text}\n",
        "bib": "@article{{k{n}, title={{t}}, abstract={{{text}}}}}\n",
        "ris": "TY  - JOUR\nID  - {n}\nTI  - t\nAB  - {text}\nER  - \n",
    }[suffix]
    body = "".join(record.format(n=n, text=text) for n in range(400))
    source = open_source(write(f"a.{suffix}", ("id,text\n" if suffix == "csv" else "") + body))
    tracemalloc.start()
    try:
        assert sum(1 for _ in source) == 400
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000 < len(body)


def test_a_preview_shows_rows_and_lists_their_problems_without_raising(write: Write) -> None:
    lines = ['{"id": "1", "text": "a"}', "{broken", '{"id": "3"}', '{"id": "4", "text": "d"}']
    shown = preview(write("a.jsonl", "\n".join(lines)), rows=4)
    assert [d.doc_id for d in shown.documents] == ["1", "4"]
    assert len(shown.rows) == 3
    assert shown.columns == ("id", "text")
    assert shown.mapping == {"doc_id": "id", "text": "text"}
    assert [p.split(":")[0] for p in shown.problems] == ["a.jsonl, row 2", "a.jsonl, row 3"]


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", b"\n"), ("a.csv", b"\xff\xfe"), ("a.parquet", b"PAR1")]
)
def test_a_preview_of_an_unreadable_file_has_problems_and_no_documents(
    write: Write, name: str, content: bytes
) -> None:
    shown = preview(write(name, content))
    assert shown.problems
    assert shown.documents == ()


def test_notes_count_what_was_mended_while_reading(jsonl: Callable[..., Path]) -> None:
    notes = Notes()
    row = {"id": "1", "text": ["a"], "year": "soon", "url": "ftp:x", "roles": ["finding"]}
    list(open_source(jsonl(row)).read(notes))
    assert [line.split(" have ")[0].split(" has ")[0] for line in notes.sentences()] == [
        "1 document",
        "1 document",
        "1 document",
    ]
