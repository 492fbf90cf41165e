"""``--within FILE``: searches and pools among documents that a file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import run_json

NAMED = ("bees-sensor", "bees-survey", "bridges-survey")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Written on Windows, with a blank line and one id twice."""
    file = tmp_path / "ids.txt"
    lines = ["", *NAMED, NAMED[0], ""]
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    return file


def test_a_search_keeps_to_the_documents_of_a_file_and_prints_the_filter(
    corpus: Path, file: Path
) -> None:
    search = ("search", "small", "--seed", "bees-network")
    found = run_json(corpus, *search, "--within", file)
    assert {one["doc_id"] for one in found["results"]} == set(NAMED)
    (kept,) = found["query"]["filters"]
    again = run_json(corpus, *search, "--filter", kept)
    assert again["results"] == found["results"]
    both = run_json(corpus, *search, "--within", file, "--filter", "year>=2030")
    assert both["results"] == []


def test_a_pool_keeps_to_them_too(corpus: Path, file: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("bees-network_method\n")
    pool = ("pool", "small", "--queries", queries, "--systems", "dense")
    assert run_json(corpus, *pool, "--within", file)["items"] == 3
