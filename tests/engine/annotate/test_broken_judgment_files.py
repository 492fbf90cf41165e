"""Files of judgments that cannot be used are refused line by line, and change nothing."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from engine.errors import BadInputError
from engine.explorer import Explorer
from tests.fakes.csfcube_files import GOOD, METHOD, qrels

HEAD = "query_id,doc_id,relevance,annotator,note,time,marks\n"
ROW = f"{METHOD},bread-network"
BROKEN: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "too few columns": ("a.qrels", GOOD + f"{METHOD} 0 bread-network\n", ("line 3", "3 columns")),
    "grade in words": (
        "a.qrels",
        f"{METHOD} 0 a good\n{METHOD} 0 b 1.5\n" + GOOD,
        ("2 lines", "line 1", "'good'", "line 2", "'1.5'"),
    ),
    "grade outside the scale": ("a.qrels", GOOD + f"{METHOD} 0 twin-a 4\n", ("line 3", "0, 1, 2")),
    "half a grade": ("a.qrels", f"{METHOD} 0 twin-a 1.5\n", ("line 1", "'1.5'")),
    "unknown query": ("a.qrels", "bees_colour 0 twin-a 1\n", ("line 1", "'bees_colour'")),
    "unknown document": ("a.qrels", f"{METHOD} 0 nobody 1\n", ("line 1", "'nobody'")),
    "nothing": ("a.qrels", "\n\n", ("no judgments",)),
    "no header": ("a.csv", f"{ROW},1,ann\n", ("line 1", "4 of 'query_id")),
    "empty annotator": ("a.csv", f"{HEAD}{ROW},1,  ,,,\n", ("line 2", "no name")),
    "annotator who is none": ("a.csv", f"{HEAD}{ROW},1,adjudicated,,,\n", ("own",)),
    "long note": ("a.csv", f"{HEAD}{ROW},1,ann,{'x' * 90_000},,\n", ("line 2", "90,000")),
    "a time that is none": ("a.csv", f"{HEAD}{ROW},1,ann,,soon,\n", ("line 2", "'soon'")),
    "marks that are none": ("a.csv", f"{HEAD}{ROW},1,ann,,,[[9]]\n", ("line 2", "marks")),
    "no grade": ("a.csv", f"{HEAD}{ROW},,ann,,,\n", ("line 2", "no relevance")),
    "broken JSON": ("a.jsonl", '{"query_id": "x"}\n{"query', ("line 1", "line 2", "JSON object")),
    "rank that is none": (
        "a.jsonl",
        f'{{"query_id": "{METHOD}", "doc_id": "emoji", "relevance": 1, "annotator": "x", '
        '"seconds": NaN}',
        ("line 1", "seconds 'nan'"),
    ),
    "a number beyond all others": (
        "a.jsonl",
        f'{{"query_id": "{METHOD}", "doc_id": "emoji", "relevance": 1, "annotator": "x", '
        f'"seconds": 1{"0" * 400}}}',
        ("line 1", "seconds '1000"),
    ),
    "half a character in a name": (
        "a.jsonl",
        f'{{"query_id": "{METHOD}", "doc_id": "emoji", "relevance": 1, "annotator": "a\\ud800"}}',
        ("line 1", "The annotator", "half a character"),
    ),
    "half a character in a query": (
        "a.jsonl",
        '{"query_id": "text-\\ud800_any", "doc_id": "emoji", "relevance": 1, "annotator": "x"}',
        ("line 1", "The query_id", "half a character"),
    ),
    "half a character in a query of a hand-over": (
        "a.jsonl",
        '{"format": "seedlens-judgments", "project": {"corpus": "small"}}\n'
        '{"query_id": "x", "query": {"text": "\\ud800"}}',
        ("line 2", "It is no query"),
    ),
    "true for a grade": (
        "a.jsonl",
        f'{{"query_id": "{METHOD}", "doc_id": "emoji", "relevance": true, "annotator": "x"}}',
        ("line 1", "'True'", "not a whole number"),
    ),
    "JSON without an end": ("a.jsonl", "[" * 100_000, ("line 1", "JSON object")),
    "marks without an end": (
        "a.jsonl",
        f'{{"query_id": "{METHOD}", "doc_id": "emoji", "relevance": 1, "annotator": "x", '
        f'"marks": "{"[" * 100_000}"}}',
        ("line 1", "marks"),
    ),
    "a column without an end": (
        "a.tsv",
        f"query-id\tcorpus-id\tscore\n{METHOD}\t{'x' * 140_000}\t1\n",
        ("line 2",),  # too long for a column, or for a document's id where columns may be longer
    ),
    "no list": ("a.jsonl", "[1, 2]\n", ("line 1", "JSON object")),
}


@pytest.mark.parametrize(("name", "text", "says"), BROKEN.values(), ids=BROKEN)
def test_a_file_with_a_broken_line_imports_nothing_and_lists_the_lines(
    small: Explorer, tmp_path: Path, name: str, text: str, says: tuple[str, ...]
) -> None:
    annotation = small.annotation
    annotator = "x" if name.endswith(("qrels", "tsv")) else ""
    with pytest.raises(BadInputError) as caught:
        annotation.exchange.import_("small", qrels(tmp_path, text, name), annotator=annotator)
    for words in (name, *says):
        assert words in str(caught.value)
    project = annotation.project("small")
    assert (annotation.history(project), annotation.queries(project)) == ([], {})


def test_markup_and_control_characters_in_a_file_are_kept_as_text_or_left_out(
    small_copy: Explorer, tmp_path: Path
) -> None:
    row = {
        "query_id": METHOD,
        "doc_id": "bread-network",
        "relevance": 1,
        "annotator": "ann",
        "note": "<script>alert(1)</script>\u0000\u001b[31m",
    }
    annotation = small_copy.annotation
    annotation.exchange.import_("small", qrels(tmp_path, json.dumps(row), "a.jsonl"))
    (judgment,) = annotation.judgments(annotation.project("small"))
    assert judgment.note == "<script>alert(1)</script>[31m"
    row["annotator"] = "a\u001bnn"
    with pytest.raises(BadInputError, match="control characters"):
        annotation.exchange.import_("small", qrels(tmp_path, json.dumps(row), "a.jsonl"))


def test_queries_of_a_folder_that_are_none_do_not_stand_in_the_way(
    small_copy: Explorer, tmp_path: Path
) -> None:
    strange = ["[" * 100_000, "7", '{"_id": "x", "metadata": {"seed": ["y"]}}']
    qrels(tmp_path, "\n".join(strange), "queries.jsonl")
    (tmp_path / "qrels").mkdir()
    qrels(tmp_path / "qrels", f"{METHOD}\tbread-network\t3\n", "test.tsv")
    assert small_copy.annotation.exchange.import_("small", tmp_path, annotator="x").added == 1
    qrels(tmp_path / "qrels", "x\tbread-network\t3\n", "test.tsv")
    with pytest.raises(BadInputError, match="'x' names no seed"):
        small_copy.annotation.exchange.import_("small", tmp_path, annotator="x")


def test_a_file_of_broken_lines_takes_little_more_memory_than_its_text(
    small: Explorer, tmp_path: Path
) -> None:
    text = "0.12345\n" * 200_000
    file = qrels(tmp_path, text)
    small.library.open("small")
    tracemalloc.start()
    try:
        with pytest.raises(BadInputError, match=r"200,000 lines are broken.*And 199,980 more"):
            small.annotation.exchange.import_("small", file, annotator="ann")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * len(text), "its bytes, and its text; a list of its lines has ten times that"
