"""Files that are made to fill the memory or to take for ever: refused, and nothing else suffers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.text_rules import GROWTH, PATTERNS, RULES, rate
from engine.config import ROOT, Settings
from engine.corpora import uploads
from engine.errors import BadInputError
from engine.facts import numbers
from engine.facts.amounts import find_amounts
from engine.ingest import check, examine, open_source, previews
from engine.ingest.documents import authors
from engine.ingest.previews import Reading
from engine.lenses.definitions import RESEARCH
from engine.measures.metrics import tokenize
from engine.sentences import split_sentences
from engine.types import limits
from engine.types.corpora import ImportRequest, Repairs
from engine.types.limits import ID_CHARS, MEGABYTE, TITLE_CHARS, UPLOAD_BYTES
from storage.home import Home, suggest_corpus_name
from tests.engine.ingest.reading_files import MAX_CHARS, Write, fault
from tests.support import make_explorer

SKIP = Repairs(skip_broken=True)


def reading(path: Path, **changes: Any) -> Reading:
    chosen = {"source_format": "auto", "mapping": None, "lens": RESEARCH, "max_chars": MAX_CHARS}
    return Reading(path, **{**chosen, **changes})


@pytest.mark.parametrize(
    ("field", "most"), [("title", TITLE_CHARS), ("id", ID_CHARS)], ids=["title", "id"]
)
def test_a_title_or_id_of_a_million_characters_is_a_row_to_decide_about(
    jsonl: Callable[..., Path], field: str, most: int
) -> None:
    good = {"id": "1", "title": "A title", "text": "One."}
    path = jsonl(good, {**good, "id": "2", field: "x" * 1_000_000}, {**good, "id": "x" * ID_CHARS})
    message = fault(path)
    assert f"row 2: the {field} has 1,000,000 characters, more than the {most:,}" in message
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
def test_a_row_that_would_fill_the_memory_is_passed_over(
    write: Write, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
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


def test_a_value_of_many_lines_takes_time_that_grows_with_their_number(write: Write) -> None:
    lines = "going on\n" * 300_000
    path = write("a.ris", f"TY  - JOUR\nID  - 1\nAB  - It is\n{lines}KW  - one\ntwo\nER  - \n")
    started = time.process_time()
    [document] = open_source(path, lens=RESEARCH)
    assert time.process_time() - started < 4
    assert document.text == "It is" + " going on" * 300_000
    assert document.metadata["keywords"] == "one; two"


def test_a_reader_says_nothing_of_the_many_faults_of_a_file(write: Write) -> None:
    path = write("a.bib", "@article{k,\n title={T}, abstract={" + r"\frac" * 20_000 + "}\n}\n")
    asked = "from engine.ingest.source import preview; from engine.lenses.definitions import *;"
    code = f"{asked} print(len(preview({str(path)!r}, lens=RESEARCH).rows))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT)
    assert (done.stdout, len(done.stderr)) == (b"1\n", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is not limited elsewhere")
def test_a_file_that_takes_more_memory_than_is_allowed_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """One long text is that of all rows."""
    path = tmp_path / "bomb.parquet"
    texts = pa.DictionaryArray.from_arrays([0] * 32, pa.array(["a" * (8 * MEGABYTE)]))
    pq.write_table(pa.table({"id": [str(n) for n in range(32)], "text": texts}), path)
    monkeypatch.setattr(previews, "PREVIEW_BYTES", 200 * MEGABYTE)
    monkeypatch.setattr(previews, "CHECK_BYTES", 200 * MEGABYTE)
    says = r"bomb\.parquet.*: reading it takes more than 200 MB of memory\. Leave out"
    with pytest.raises(BadInputError, match=says):
        previews.preview(reading(path))
    with pytest.raises(BadInputError, match=says):
        make_explorer(home).library.import_documents(ImportRequest(path, "bomb"))


def test_a_file_that_takes_too_long_is_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "CHECK_SECONDS", 0.2)
    path = write("a.jsonl", "".join(f'{{"id": "{n}", "text": "a"}}\n' for n in range(100_000)))
    with pytest.raises(BadInputError, match=r"a\.jsonl: reading it takes longer"):
        previews.examine(reading(path))


def test_a_process_of_its_own_sees_what_this_one_would(write: Write, tmp_path: Path) -> None:
    path = write("a.csv", 'key,title,text,year\nk1,A,"One. Two.",2020\nk2,B,,\n')
    assert previews.examine(reading(path)) == examine(open_source(path, lens=RESEARCH), MAX_CHARS)
    shown = previews.preview(reading(path))
    assert shown.rows == (
        {"key": "k1", "title": "A", "text": "One. Two.", "year": "2020"},
        {"key": "k2", "title": "B", "text": "", "year": ""},
    )
    [document] = open_source(path, lens=RESEARCH, repairs=Repairs(skip_empty=True))
    assert shown.documents == (document,)
    assert "no text" in shown.problems[0] or "the text is empty" in shown.problems[0]
    with pytest.raises(BadInputError, match=r"gone\.csv does not exist\. Check the path"):
        previews.preview(reading(tmp_path / "gone.csv"))


def test_a_file_is_parsed_once_until_it_or_how_it_is_read_changes(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    ask, preview = previews._found, previews.preview
    monkeypatch.setattr(previews, "_found", lambda *given: asked.append(given) or ask(*given))
    path = write("a.csv", "id,text,name\n1,a,A\n")
    for _ in range(3):
        assert preview(reading(path)).documents[0].text == "a"
    assert len(asked) == 1
    path.write_text("id,text,name\n1,other,B\n")
    assert preview(reading(path)).documents[0].text == "other"
    assert preview(reading(path, mapping={"title": "name"})).documents[0].title == "B"
    assert len(asked) == 3
    for _ in range(2):  # what cannot be read is not tried again either
        with pytest.raises(BadInputError, match="no column"):
            preview(reading(path, mapping={"title": "gone"}))
    assert len(asked) == 4


def test_uploads_have_the_limit_that_the_app_is_started_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert config["server"]["maxUploadSize"] * MEGABYTE == UPLOAD_BYTES
    assert config["server"]["maxMessageSize"] * MEGABYTE == limits.MESSAGE_BYTES
    monkeypatch.setattr(uploads, "UPLOAD_BYTES", 10)
    with pytest.raises(BadInputError, match=r"'a\.csv' has more than 0 MB\. Put it on the server"):
        uploads.save_upload(Home(tmp_path), "a.csv", b"x" * 11)


def test_the_table_of_limits_says_what_holds() -> None:
    page = (ROOT / "docs" / "operating.md").read_text("utf-8")
    table = page.partition("## Limits")[2]
    megabytes = ("UPLOAD_BYTES", "ROW_BYTES", "PREVIEW_BYTES", "CHECK_BYTES")
    for name in (*megabytes, "MESSAGE_BYTES"):
        assert f"{getattr(limits, name) // MEGABYTE:,} MB" in table, name
    plain = "TITLE_CHARS ID_CHARS PASTED_CHARS LONGEST_INSTRUCTION LONGEST_NOTE LONGEST_GUIDELINES "
    plain += "ANSWER_CHARS_PER_TOKEN MOST_NUMBERS MOST_STRANGERS"
    for name in plain.split():
        assert f"{getattr(limits, name):,}" in table, name
    assert f"{limits.PREVIEW_SECONDS:g} s" in table
    assert f"{limits.CHECK_SECONDS:g} s" in table
    assert f"{Settings.model_fields['max_document_chars'].default:,} characters" in table


def test_every_limit_says_its_reason_and_holds_somewhere() -> None:
    source = Path(limits.__file__).read_text("utf-8")
    named = {
        one.targets[0].id: source.splitlines()[one.lineno - 1]
        for one in ast.parse(source).body
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    }
    assert [name for name, line in named.items() if "  # " not in line] == ["MEGABYTE"]
    code = "".join(
        file.read_text("utf-8")
        for folder in ("engine", "pages", "storage")
        for file in (ROOT / folder).rglob("*.py")
        if file != Path(limits.__file__)
    )
    used = set(re.findall(r"\b[A-Z_]+\b", code))
    # What Streamlit itself keeps to, by the settings that it is started with.
    assert named.keys() - used == {"MESSAGE_BYTES"}


def test_amounts_are_read_up_to_a_number_of_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "MOST_NUMBERS", 3)
    found = find_amounts("The desk costs $5, the lamp $6, the rug $7 and the bed $8 more than it.")
    assert [(fact.low, fact.about) for fact in found] == [
        (5.0, ("desk",)), (6.0, ("lamp",)), (7.0, ("rug",))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (split_sentences, "'" * 300_000),
        (find_amounts, "$1 " * 20_000),
        (lambda text: authors(text, set()), "A. Lee" + " " * 100_000 + "x"),
        (tokenize, "e" + "\u0301\u0323" * 50_000),
        (suggest_corpus_name, "e" + "\u0301\u0323" * 50_000),
    ],
    ids=["sentences", "amounts", "authors", "words", "names of corpora"],
)
def test_rules_read_a_text_made_to_be_slow_in_time_that_grows_with_its_length(
    rule: Callable[[str], object], text: str
) -> None:
    """The rest is what ``benchmarks/text_rules.py`` measures."""
    started = time.process_time()
    rule(text)
    assert time.process_time() - started < 4.0


@pytest.mark.nightly
def test_no_rule_takes_longer_for_a_kilobyte_of_a_longer_text() -> None:
    """With the square of the length, ten times as long; what takes long once may be a pause."""

    def grows(rule: Callable[[str], object], pattern: str) -> bool:
        tries = (rate(rule, pattern, (10, 100)).growth for _ in range(3))
        return all(growth > GROWTH for growth in tries)

    for rule in RULES.values():
        rule(PATTERNS[0])  # what is loaded once
    assert not [(n, p) for n, rule in RULES.items() for p in PATTERNS if grows(rule, p)]
