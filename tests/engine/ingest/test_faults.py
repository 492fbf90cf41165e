"""Every fault of documents that people bring is named, and reading takes little memory."""

import tracemalloc

import pytest

from engine.errors import BadInputError
from engine.ingest.source import check, open_source, preview, unique_documents
from engine.lenses.definitions import RESEARCH
from engine.types.corpora import Repairs
from tests.engine.ingest.reading_files import MAX_CHARS, fault

# --- faults --------------------------------------------------------------------------------

GOOD = '{"id": "1", "text": "a"}\n'
FAULTS = {
    "a.jsonl": {
        GOOD + '{"id": "2", "text": \n': "row 2: broken JSON at character 21",
        GOOD + '["x"]\n': "row 2: a JSON object is expected; this is a list",
        GOOD + '{"id": "  ", "text": "a"}\n': "row 2: the id is empty",
        GOOD + '{"id": ["2"], "text": "a"}\n': "row 2: the id is a list",
        GOOD + '{"id": "2"}\n': "row 2: no text (column 'text')",
        GOOD + '{"id": "2", "text": " \\n"}\n': "row 2: the text is empty",
        GOOD + '{"id": "2", "text": {"a": 1}}\n': "row 2: the text is an object",
        '{"text": "a", "foo": 1}\n': "row 1: no id (columns: text, foo)",
        '{"id": "a", "foo": 1}\n': "row 1: no text (columns: id, foo)",
        GOOD + GOOD + '{"id": 1, "text": "b"}\n': "row 3: the id '1' is taken by a.jsonl, row 1,",
        "\n\n": "0 rows",
    },
    "a.csv": {
        "id,text\n": "0 rows",
        "id,text\n1,a\n2\n": "row 2 (line 3): 1 fields, but the header has 2",
        'id,text\n1,"a\nb"\n2,x,y\n': "row 2 (line 4): 3 fields",
        'id,text\n1,a\n2,"b\n3,c\n': "row 2 (line 3): a quoted field",
        'id,text\n1,"a" b\n': "row 1 (line 2): broken quotes",
        "id,text\n1,a\n,b\n": "row 2 (line 3): the id is empty",
    },
    "a.json": {
        '[{"id": "1", "text": "a"}]\n[{"id": "2"}]': "there is more behind the end of the list",
        '"words"': "a.json is no list of JSON objects",
        '[{"id": "1", "text": "a"}, {"id" "2"}, {"id": "3", "text": "c"}]': "row 2: broken JSON",
        '[{"id": "1", "text": "a"}, 7]': "row 2: a JSON object is expected",
        "[]": "There are no documents in a.json",
    },
    "refs.bib": {
        "@article{a, title={x}}\n\n@article{b, title={open\n": "row 2 (line 3)",
        "@article{a, title={x}, title={y}}\n": "row 1 (line 1): the entry gives title twice",
        "@article{a,\n year=2020}\n": "row 1 (line 1): neither a title nor a text",
        "@article{a, title={x}}\n@article{a, title={y}}\n": "taken by refs.bib, row 1 (line 1)",
        "@article{a, title={x}, abstract={y} year=2020}\n": "behind the value of abstract",
        "@string{p = {Pond\n@misc{a, title={x}}\n": "row 1 (line 1): the entry does not",
        "no entries at all\n": "0 rows",
    },
    "refs.ris": {
        "TY  - JOUR\nPY  - 2001\nER  - \n": "neither a title nor a text",
        "\nA list of papers\n": "0 rows read as ris",
        "TY  - JOUR\nTI  - a\nER  - \nTY  - JOUR\nAB  - cut o": "row 2 (line 4): the record that",
    },
    "a.parquet": {"PAR1 but not really": "cannot be read"},
    "feed.xml": {"<rss><item/></rss>": "XML of 'rss'; that of EndNote and PubMed is read"},
}
"""File -> content -> what is said of it."""


@pytest.mark.parametrize(
    ("name", "content", "says"), [(name, *each) for name in FAULTS for each in FAULTS[name].items()]
)
def test_bad_input_names_file_row_and_remedy(write, name, content, says):
    assert says in fault(write(name, content))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '[{"id": "1", "text": "a"}, {"id": "2", "te'),
        ("a.ris", "TY  - JOUR\nID  - 1\nTI  - t\nAB  - a\nER  - \nTY  - JOUR\nAB  - cut o"),
    ],
)
def test_a_file_that_was_cut_is_read_up_to_there_where_broken_rows_may_go(write, name, content):
    source = open_source(write(name, content), lens=RESEARCH, repairs=Repairs(skip_broken=True))
    assert [document.doc_id for document in source] == ["1"]


def test_exact_repeats_are_kept_once_and_counted(jsonl):
    source = open_source(
        jsonl(*[{"id": "1", "text": "a"}] * 3, {"id": "2", "text": "b"}), lens=RESEARCH
    )
    report = check(source, MAX_CHARS)
    assert report.documents == 2
    assert report.warnings == ("2 documents came more than once with the same content; kept once.",)
    assert [d.doc_id for d in unique_documents(source)] == ["1", "2"]


def test_nothing_at_the_path_or_an_empty_file_is_refused_at_once(write):
    with pytest.raises(BadInputError, match=r"gone\.jsonl does not exist\. Check the path"):
        open_source("/nowhere/gone.jsonl", lens=RESEARCH)
    with pytest.raises(BadInputError, match=r"a\.jsonl is empty"):
        open_source(write("a.jsonl", b""), lens=RESEARCH)
    with pytest.raises(BadInputError, match="is a folder without files of ris"):
        open_source(write("b.csv", "id,text\n").parent, "ris", lens=RESEARCH)


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
def test_sentences_and_roles_that_do_not_fit_are_refused(jsonl, row, says):
    path = jsonl({"id": "1", **row})
    message = fault(path)
    assert "papers.jsonl, row 1: " in message
    assert says in message


# --- streams -------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv"])
def test_reading_needs_memory_for_a_document_not_for_the_corpus(write, suffix):
    text = "word " * 2_000
    record = {
        "jsonl": '{{"id": "{n}", "text": "{text}"}}\n',
        "json": '{{"id": "{n}", "abstract": "{text}"}},',
        "csv": "{n},{text}\n",
    }[suffix]
    body = "".join(record.format(n=n, text=text) for n in range(300))
    head, end = {"csv": ("id,text\n", ""), "json": ("[", "]")}.get(suffix, ("", ""))
    source = open_source(write(f"a.{suffix}", head + body + end), lens=RESEARCH)
    tracemalloc.start()
    try:
        assert sum(1 for _ in source) == 300
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000 < len(body)


def test_a_preview_shows_rows_and_lists_their_problems_without_raising(write):
    lines = ['{"id": "1", "text": "a"}', "{broken", '{"id": "3"}', '{"id": "4", "text": "d"}']
    shown = preview(write("a.jsonl", "\n".join(lines)), lens=RESEARCH)
    assert [d.doc_id for d in shown.documents] == ["1", "4"]
    assert len(shown.rows) == 3
    assert shown.columns == ("id", "text")
    assert shown.mapping == {"doc_id": "id", "text": "text"}
    assert [p.split(":")[0] for p in shown.problems] == ["a.jsonl, row 2", "a.jsonl, row 3"]


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", b"\n"), ("a.csv", b"\xff\xfe"), ("a.parquet", b"PAR1")]
)
def test_a_preview_of_an_unreadable_file_has_problems_and_no_documents(write, name, content):
    shown = preview(write(name, content), lens=RESEARCH)
    assert shown.problems
    assert shown.documents == ()
