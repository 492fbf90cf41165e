"""Files of judgments that cannot be used are refused line by line, and change nothing."""

from __future__ import annotations

import pytest

from engine.errors import BadInputError
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
    "half a character in a name": (
        "a.jsonl",
        f'{{"query_id": "{METHOD}", "doc_id": "emoji", "relevance": 1, "annotator": "a\\ud800"}}',
        ("line 1", "The annotator", "half a character"),
    ),
    "true for a grade": (
        "a.jsonl",
        f'{{"query_id": "{METHOD}", "doc_id": "emoji", "relevance": true, "annotator": "x"}}',
        ("line 1", "'True'", "not a whole number"),
    ),
    "JSON without an end": ("a.jsonl", "[" * 100_000, ("line 1", "JSON object")),
    "control characters in a name": (
        "a.csv",
        f"{HEAD}{ROW},1,a\x1bnn,,,\n",
        ("line 2", "control characters"),
    ),
    "no list": ("a.jsonl", "[1, 2]\n", ("line 1", "JSON object")),
}


@pytest.mark.parametrize(("name", "text", "says"), BROKEN.values(), ids=BROKEN)
def test_a_file_with_a_broken_line_imports_nothing_and_lists_the_lines(
    small, tmp_path, name, text, says
):
    annotation = small.annotation
    annotator = "x" if name.endswith(("qrels", "tsv")) else ""
    with pytest.raises(BadInputError) as caught:
        annotation.exchange.import_("small", qrels(tmp_path, text, name), annotator=annotator)
    for words in (name, *says):
        assert words in str(caught.value)
    project = annotation.project("small")
    assert (annotation.history(project), annotation.queries(project)) == ([], {})
