"""Every format that documents come in is read: tables, JSON, bibliographies, collections."""

import datetime as dt
import json

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.ingest.files import Notes
from engine.ingest.formats import FORMATS, detect_format
from engine.ingest.source import check, open_source, unique_documents
from engine.lenses.definitions import RESEARCH
from tests.engine.ingest.reading_files import EXPORTS, MAX_CHARS, one, passages

# --- formats -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "source_format"),
    [
        *((f"a.{name}", b"id,text\n", name) for name in ("jsonl", "json", "tsv", "parquet", "ris")),
        ("a.ndjson", b"id,text\n", "jsonl"),
        ("a.CSV", b"id,text\n", "csv"),
        ("a.bib", b"id,text\n", "bibtex"),
        ("export.txt", "id\ttext\r\n1\tGr\u00f6\u00dfe\r\n".encode("utf-16"), "csv"),
        ("export.txt", b"TY  - JOUR\nER  - \n", "ris"),
        ("export.txt", b"@article{k, title={A}}\n", "bibtex"),
        ("export.txt", b'{"id": "1"}\n', "jsonl"),
        ("export.txt", b'\n[{"id": "1"}]\n', "json"),
    ],
)
def test_a_file_is_known_by_its_ending_or_its_first_line(write, name, content, source_format):
    assert detect_format(write(name, content)) == source_format
    assert source_format in FORMATS


def test_folders_and_impliret_files_are_known_by_what_is_in_them(write):
    beir = write("beir/corpus.jsonl", '{"_id": "1", "text": "a"}\n').parent
    write("csf/abstracts-csfcube-preds.jsonl", "{}\n")
    csfcube = write("csf/test-pid2anns-csfcube-method.json", "{}").parent
    impliret = write("A_Multi.csv", "id,pos_document,question\n0,text,why\n")
    assert [detect_format(p) for p in (beir, csfcube, impliret)] == ["beir", "csfcube", "impliret"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("papers.zzz", ", ".join(FORMATS)),
        ("library.enl", "a library of EndNote: export it as RIS"),
        ("library.rdf", "RDF: export it from Zotero as RIS"),
        ("old.xls", "Excel before 2007: save it as .xlsx"),
        ("text.docx", "Word: save it as PDF"),
        ("folder/text.docx", r"unknown layout.*corpus\.jsonl"),
    ],
)
def test_a_format_that_is_not_read_is_named_with_what_to_do(write, name, says):
    path = write(name, b"\xd0\xcf\x11\xe0 binary, of course")
    with pytest.raises(UnknownNameError, match=says):
        detect_format(path.parent if "/" in name else path)


# --- tables and JSON -----------------------------------------------------------------------


def test_csv_values_stay_text_and_fields_may_hold_quotes_commas_and_newlines(write):
    path = write("a.csv", '\ufeffID,Title,Abstract,Venue\r\n007,"A, B","say ""hi""\nthere",ACL\r\n')
    document = one(path)
    assert document.doc_id == "007"
    assert document.title == "A, B"
    assert document.text == 'say "hi"\nthere'
    assert document.metadata == {"Venue": "ACL"}
    assert document.where == "a.csv, row 1 (line 2)"


def test_parquet_types_arrive_as_fields_and_metadata(tmp_path):
    path = tmp_path / "a[1]*.parquet"
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
    first, second = open_source(path, lens=RESEARCH)
    assert (first.doc_id, first.text, first.year) == ("7", "One. Two.", 2019)
    assert first.roles == ("background", "method")
    assert passages(first) == ["One.", "Two."]
    assert first.authors == ("Ada Lovelace",)
    assert first.metadata == {"score": 1.5, "seen": "2020-01-02T00:00:00+00:00", "venue": "ACL"}
    assert (second.year, second.metadata, second.authors) == (None, {}, ())


def test_nested_metadata_gives_the_year_and_further_fields(jsonl):
    row = {"_id": 12, "text": "t", "metadata": {"year": "2017-03", "venue": "EMNLP", "tags": [1]}}
    document = one(jsonl(row))
    assert (document.doc_id, document.year, document.metadata) == ("12", 2017, {"venue": "EMNLP"})


def test_blank_lines_and_line_separators_inside_json_do_not_shift_rows(write):
    path = write("a.jsonl", '{"id": "1", "text": "a\u2028b"}\n\n{"id": "2", "text": "c"}')
    assert [(d.text, d.where) for d in open_source(path, lens=RESEARCH)] == [
        ("a\u2028b", "a.jsonl, row 1"),
        ("c", "a.jsonl, row 3"),
    ]


# --- bibliographies ------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 2], ids=["in one line", "as Zotero writes it"])
def test_csl_json_items_become_documents(write, indent):
    path = write(
        "library.json", "\ufeff" + json.dumps(json.loads(EXPORTS["zotero.csl.json"]), indent=indent)
    )
    first, second = open_source(path, lens=RESEARCH)
    assert (first.doc_id, first.title, first.text, first.year, first.authors, first.url) == (
        "http://zotero.org/users/1/items/ABCD2345",
        "Crayfish of deep ponds",
        "We count them & weigh them.",
        2019,
        ("Jan van der Berg", "The Otter Group"),
        "https://doi.org/10.5555/ponds.7",
    )
    assert first.metadata == {
        "type": "article-journal",
        "venue": "Journal of Ponds",
        "DOI": "10.5555/ponds.7",
        "accessed": "2020-01",
        "organisations": "The Otter Group",
    }
    assert (second.doc_id, second.text, second.year) == ("7", "No abstract", 2001)
    assert open_source(path, lens=RESEARCH).dois_without_text() == ()


def test_lists_and_people_of_common_data_sets_are_kept_and_what_is_left_out_is_said(write):
    row = {
        "id": "1",
        "title": ["Crayfish of deep ponds"],
        "text": "We count them.",
        "authors": [
            {"given": "Ann", "family": "Lee"},
            {"first": "Jan", "middle": ["P.", "Q."], "last": "van der Berg", "suffix": ""},
            {"authorId": "9", "name": "Wu, Chen"},
            {"last_name": "Okafor"},
        ],
        "keywords": ["ponds", " ", "crayfish"],
        "embedding": [0.1, 0.2],
        "journal": {"name": "Ponds", "pages": "1-3", "places": {}},
    }
    notes = Notes()
    source = open_source(write("a.jsonl", json.dumps(row)), lens=RESEARCH)
    (document,) = unique_documents(source, notes)
    assert document.title == "Crayfish of deep ponds"
    assert document.authors == ("Ann Lee", "Jan P. Q. van der Berg", "Chen Wu", "Okafor")
    assert document.metadata == {
        "keywords": "ponds; crayfish",
        "journal": "Ponds",
        "pages": "1-3",
    }
    assert any("objects or lists of numbers as fields" in note for note in notes.sentences())


def test_bibtex_entries_become_documents(write):
    first, second, third = open_source(write("refs.bib", EXPORTS["refs.bib"]), lens=RESEARCH)
    assert (first.doc_id, first.title, first.year) == ("smith2020", "BERT for fünf & more", 2020)
    assert first.text == "It is 50% faster, said @all."
    assert first.authors == ("Ann Smith", "World Health and Co")
    assert first.url == "https://doi.org/10.1000/ab_c"
    assert first.metadata["venue"] == "Annual Meeting of 2020"
    assert first.where == "refs.bib, row 1 (line 3)"
    assert (second.text, second.metadata["venue"]) == ("Only a title", "Words")
    assert third.doc_id.startswith("rec-")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\texttt{a} \mbox{b} \textsf{c} \textup{d} \textmd{e} \verb|f_g|", "a b c d e f_g"),
        (r"\LaTeX{} and \BibTeX\ for \pounds 5, \euro 6, \S 7", "LaTeX and BibTeX for £5, €6, §7"),
        (r"20\degree{}C, 3 \micro m, \copyright{} us", "20°C, 3 µm, © us"),
        (r"see \href{https://e.org/a_b}{the page} at \url{https://e.org/c%20d}",
         "see the page at https://e.org/c%20d"),
        (r"A\nsurvey of \unheard{birds}", "A survey of birds"),
        (r"\mnras", "Monthly Notices of the Royal Astronomical Society"),
        (r"\unheard", r"\unheard"),
        (r"Nguy{\~\^e}n Th{\'\u a}ng", "Nguyễn Thắng"),
        (r"In <i>vivo</i> {\&}amp; p\&lt;0.1", "In vivo & p<0.1"),
    ],
)  # fmt: skip
def test_latex_keeps_its_words(write, written, read):
    assert one(write("a.bib", f"@misc{{a, title = {{{written}}}}}")).title == read


@pytest.mark.parametrize(
    "entry",
    [
        "@misc\n{a, title = {T}}",
        "@\n  misc\n  {\n  a,\n title = {T}}",
        "@ misc {a, title = {T}}",
        "@misc{\n  title = {T}}",
        "@misc{ ,\n  title = {T}}",
        "@misc{a,, title = {T},  ,}",
        '@misc(a, title = {T}, , note = "x,, y")',
    ],
)
def test_an_entry_may_be_spread_over_lines_have_no_key_or_two_commas(write, entry):
    document = one(write("a.bib", f"{entry}\n"))
    assert (document.title, document.doc_id[:4]) == ("T", "a" if "a," in entry else "rec-")
    assert document.metadata.get("note") == ("x,, y" if "note" in entry else None)


def test_comments_of_bibtex_are_passed_over_outside_of_values(write):
    entries = """@preamble{"\\def\\x{%}" # "y"}
@misc{a, % "of {all
  title = {20% of
  % ponds} % , note = {n}
  , % year = 1990, }
  url = http://e.org/a%20b, % =
  year = 2020}
% @misc{b,
%   title = {Hidden},
% }
@misc{c, title = {Rivers}%
} % @misc{d, title = {Hidden
"""
    first, second = open_source(write("a.bib", entries), lens=RESEARCH)
    assert (first.title, first.year) == ("20% of % ponds", 2020)
    assert first.url == "http://e.org/a%20b"
    assert "note" not in first.metadata
    assert (second.doc_id, second.title) == ("c", "Rivers")


def test_an_entry_inherits_what_the_entry_that_it_refers_to_has(write):
    entries = """@string{p = {Pond Press}}
@incollection{child, title = {Crayfish}, crossref = {Ponds}}
@inproceedings{other, title = {Otters}, xdata = {meeting}, pages = {1--2}}
@book{ponds, title = {All of ponds}, author = {A. Lee}, publisher = p, year = 2004}
@proceedings{meeting, title = {Meeting on ponds}, crossref = {series}}
@proceedings{series, title = {Meetings}, date = {2011-06}, xdata = {press, meeting}}
@xdata{press, publisher = p}
"""
    child, other, book = open_source(write("a.bib", entries), lens=RESEARCH)
    assert (child.year, child.authors, child.metadata["venue"]) == (2004, (), "All of ponds")
    assert child.metadata["publisher"] == "Pond Press"
    assert (other.year, other.metadata["venue"]) == (2011, "Meeting on ponds")
    assert other.metadata["publisher"] == "Pond Press"
    assert book.authors == ("A. Lee",)


def test_links_of_entries_are_addresses_whatever_field_they_are_in(write):
    fields = {
        "url = {\\url{http://e.org/a\\_b}}": "http://e.org/a_b",
        "url = {http://e.org/a http://e.org/b}": "http://e.org/a",
        "howpublished = {\\url{http://e.org/c}}": "http://e.org/c",
        "ee = {https://doi.org/10.1000/AB\\_C}": "https://doi.org/10.1000/ab_c",
        "note = {doi:10.1000/ab_c}": "https://doi.org/10.1000/ab_c",
        "doi = {{10.1000/ab{\\_}c}}": "https://doi.org/10.1000/ab_c",
        "eprint = {1908.02295}, archivePrefix = {arXiv}": "https://arxiv.org/abs/1908.02295",
    }
    entries = (f"@misc{{k{n}, title = {{T}}, {field}}}\n" for n, field in enumerate(fields))
    source = open_source(write("a.bib", "".join(entries)), lens=RESEARCH)
    assert [document.url for document in source] == list(fields.values())
    assert not any("link" in warning for warning in check(source, MAX_CHARS).warnings)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_ris_records_become_documents(write, end):
    first, second = open_source(
        write("refs.ris", "\ufeff" + EXPORTS["refs.ris"].replace("\n", end)), lens=RESEARCH
    )
    assert (first.doc_id, first.title) == ("42", "A study of many lines")
    assert (first.text, first.year) == ("We study. We find.", 2001)
    assert first.authors == ("Ann Smith", "Alan Turing")
    assert first.url == "https://doi.org/10.1000/1"
    assert first.metadata["venue"] == "Words"
    assert first.metadata["keywords"] == "one; two"
    assert (second.text, second.year) == ("Only a title", 1999)
    assert second.doc_id.startswith("rec-")
    assert second.where == "refs.ris, row 2 (line 17)"


@pytest.mark.parametrize(
    "content",
    [
        "TY  - JOUR\nID \t- a\nTI\t- One\nAU\t- Lee, A.\nER  - \n",
        "TY  -JOUR\nID  -a\nTI  -One\nAU  -Lee, A.\nER  -\n",
        "TY - JOUR\nID - a\nTI - One\nA1 - Lee, A.\nER - \n",
        "  TY  - JOUR\n  ID  - a\n  TI  - One\n  AU  - Lee, A.\n  ER  - \n",
        "TY\u00a0 - JOUR\nID\u00a0 - a\nTI\u00a0\u00a0-\u00a0One\nAU\u00a0 - Lee, A.\nER  -\n",
        "TY  - JOUR\rID  - a\rTI  - One\rAU  - Lee, A.\rER  - \r",
        "TY  - JOUR\nID  - a\nTI  - One\nAU  - Lee A.\n\nTY  - JOUR\nID  - b\nTI  - Two\n",
        "1.\nTY  - JOUR\nID  - a\nTI  - One\nAU  - Lee A.\nER  - \n\nLink to it:\nhttp://e.org\n",
    ],
    ids=["tabs", "no blank", "one blank", "indented", "no-break", "CR", "no ER", "between"],
)
@pytest.mark.parametrize("name", ["a.ris", "a.txt"])
def test_a_file_that_is_nearly_ris_is_read(write, name, content):
    first = next(iter(open_source(write(name, content), lens=RESEARCH)))
    assert (first.doc_id, first.title, first.authors) == ("a", "One", ("A. Lee",))


def test_words_that_look_like_a_tag_stay_in_their_value(write):
    record = (
        "TY  - JOUR\nTI  - T\nAB  - Scored as\nER - positive,\nT2 - weighted.\nPY  - 2001\nER  -"
    )
    document = one(write("a.ris", record))
    assert (document.text, document.year) == ("Scored as ER - positive, T2 - weighted.", 2001)


# --- collections ---------------------------------------------------------------------------


def test_a_beir_folder_gives_its_corpus_with_our_own_fields_too(write):
    rows = [
        {"_id": "d1", "title": "T", "text": "Body.", "metadata": {}},
        {"doc_id": "d1x", "_id": "d2", "title": "T2", "text": ""},
    ]
    folder = write("demo/corpus.jsonl", "\n".join(map(json.dumps, rows))).parent
    first, second = open_source(folder, mapping={"doc_id": "_id"}, lens=RESEARCH)
    assert (first.doc_id, first.title, first.text) == ("d1", "T", "Body.")
    assert (second.doc_id, second.text) == ("d2", "T2")


def test_csfcube_abstracts_keep_sentences_and_roles(write):
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
    source = open_source(folder, lens=RESEARCH)
    (folder / "abstracts-csfcube-preds.jsonl").unlink()
    with pytest.raises(BadInputError, match=r"c has no abstracts-\*\.jsonl"):
        check(source, MAX_CHARS)


def test_an_impliret_document_holds_nothing_of_its_question_or_answer(write):
    header = "id,tuple_set_id,forum_question,pos_document,question,answer,explicit_hint"
    document = one(write("A_Multi.csv", f"{header}\n0,3,forum,The text.,Why?,Because,Hint\n"))
    assert (document.doc_id, document.text, document.title) == ("0", "The text.", "")
    assert document.metadata == {"tuple_set_id": "3"}
    assert document.year is None
