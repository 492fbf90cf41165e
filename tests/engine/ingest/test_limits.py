"""Files that are made to fill the memory or to take for ever: refused, and nothing else suffers."""

import sys
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.text_rules import GROWTH, PATTERNS, RULES, rate
from engine.config import ROOT
from engine.corpora import uploads
from engine.errors import BadInputError
from engine.ingest import previews
from engine.ingest.source import check, examine, open_source
from engine.lenses.definitions import RESEARCH
from engine.types import limits
from engine.types.corpora import ImportRequest, Repairs
from engine.types.limits import ID_CHARS, MEGABYTE, TITLE_CHARS, UPLOAD_BYTES
from storage.home import Home
from tests.engine.ingest.reading_files import MAX_CHARS, fault
from tests.support import make_explorer

SKIP = Repairs(skip_broken=True)


def reading(path):
    return ImportRequest(path, "", lens=RESEARCH), MAX_CHARS


@pytest.mark.parametrize(
    ("field", "most"), [("title", TITLE_CHARS), ("id", ID_CHARS), ("text", MAX_CHARS)]
)
def test_a_value_of_five_million_characters_is_a_row_to_decide_about(jsonl, field, most):
    good = {"id": "1", "title": "A title", "text": "One."}
    path = jsonl(good, {**good, "id": "2", field: "x" * 5_000_000}, {**good, "id": "x" * ID_CHARS})
    message = fault(path)
    assert f"row 2: the {field} has 5,000,000 characters, more than the {most:,}" in message
    assert ("SEEDLENS_MAX_DOCUMENT_CHARS" in message) == (field == "text")
    assert "--skip-broken" in message
    assert check(open_source(path, lens=RESEARCH, repairs=SKIP), MAX_CHARS).documents == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.jsonl",
            '{"id": "1", "text": "a"}\n{"id": "2", "text": "LONG"}\n{"id": "3", "text": "c"}',
        ),
        ("a.csv", "id,text\n1,a\n2,LONG\n3,c\n"),
        ("b.csv", 'id,text\n1,a\n2,"b\nLINES"\n3,c\n'),
    ],
)
def test_a_row_that_would_fill_the_memory_is_passed_over(write, monkeypatch, name, content):
    for module in ("files", "tables"):
        monkeypatch.setattr(f"engine.ingest.{module}.ROW_BYTES", 500)
    long = {"LONG": "x" * 2_000, "LINES": "some words\n" * 100}
    for word, stands_for in long.items():
        content = content.replace(word, stands_for)
    path = write(name, content)
    assert "row 2" in (message := fault(path))
    assert "longer than 8 MB" in message
    documents = list(open_source(path, lens=RESEARCH, repairs=SKIP))
    assert {"1", "3"} <= {document.doc_id for document in documents}
    assert "2" not in {document.doc_id for document in documents}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is not limited elsewhere")
def test_a_file_that_takes_more_memory_than_is_allowed_is_refused_in_words(
    tmp_path, monkeypatch, home
):
    """One long text is that of all rows."""
    path = tmp_path / "bomb.parquet"
    texts = pa.DictionaryArray.from_arrays([0] * 32, pa.array(["a" * (8 * MEGABYTE)]))
    pq.write_table(pa.table({"id": [str(n) for n in range(32)], "text": texts}), path)
    monkeypatch.setattr(previews, "PREVIEW_BYTES", 200 * MEGABYTE)
    monkeypatch.setattr(previews, "CHECK_BYTES", 200 * MEGABYTE)
    says = r"bomb\.parquet.*: reading it takes more than 200 MB of memory\. Leave out"
    with pytest.raises(BadInputError, match=says):
        previews.preview(*reading(path))
    with pytest.raises(BadInputError, match=says):
        make_explorer(home).library.import_documents(ImportRequest(path, "bomb"))


def test_a_file_that_takes_too_long_is_refused(write, monkeypatch):
    monkeypatch.setattr(previews, "CHECK_SECONDS", 0.2)
    path = write("a.jsonl", "".join(f'{{"id": "{n}", "text": "a"}}\n' for n in range(100_000)))
    with pytest.raises(BadInputError, match=r"a\.jsonl: reading it takes longer"):
        previews.examine(*reading(path))


def test_a_process_of_its_own_sees_what_this_one_would(write, tmp_path):
    path = write("a.csv", 'key,title,text,year\nk1,A,"One. Two.",2020\nk2,B,,\n')
    assert previews.examine(*reading(path)) == examine(open_source(path, lens=RESEARCH), MAX_CHARS)
    shown = previews.preview(*reading(path))
    assert shown.rows == (
        {"key": "k1", "title": "A", "text": "One. Two.", "year": "2020"},
        {"key": "k2", "title": "B", "text": "", "year": ""},
    )
    [document] = open_source(path, lens=RESEARCH, repairs=Repairs(skip_empty=True))
    assert shown.documents == (document,)
    assert "no text" in shown.problems[0] or "the text is empty" in shown.problems[0]
    with pytest.raises(BadInputError, match=r"gone\.csv does not exist\. Check the path"):
        previews.preview(*reading(tmp_path / "gone.csv"))


def test_uploads_have_the_limit_that_the_app_is_started_with(monkeypatch, tmp_path):
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert config["server"]["maxUploadSize"] * MEGABYTE == UPLOAD_BYTES
    assert config["server"]["maxMessageSize"] * MEGABYTE == limits.MESSAGE_BYTES
    monkeypatch.setattr(uploads, "UPLOAD_BYTES", 10)
    with pytest.raises(BadInputError, match=r"'a\.csv' has more than 0 MB\. Put it on the server"):
        uploads.save_upload(Home(tmp_path), "a.csv", b"x" * 11)


@pytest.mark.nightly
def test_no_rule_takes_longer_for_a_kilobyte_of_a_longer_text():
    """With the square of the length, ten times as long; what takes long once may be a pause."""

    def grows(rule, pattern):
        tries = (rate(rule, pattern, (10, 100)).growth for _ in range(3))
        return all(growth > GROWTH for growth in tries)

    for rule in RULES.values():
        rule(PATTERNS[0])  # what is loaded once
    assert not [(n, p) for n, rule in RULES.items() for p in PATTERNS if grows(rule, p)]
