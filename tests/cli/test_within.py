"""``--within FILE``: searches and pools among documents that a file names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.command_line import run_inside

NAMED = ("bees-sensor", "bees-survey", "bridges-survey")


@pytest.fixture
def small(small_home: Path, home: Path) -> Path:
    shutil.copytree(small_home, home)
    return home


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Written on Windows, with a blank line and an id that stands twice."""
    file = tmp_path / "ids.txt"
    lines = ["", *NAMED, NAMED[0], ""]
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    return file


def test_a_search_keeps_to_the_documents_of_a_file_and_says_how_to_repeat_it(
    small: Path, file: Path
) -> None:
    search = ("search", "small", "--seed", "bees-network", "--json")
    found = run_inside(small, *search, "--within", file).json
    assert {one["doc_id"] for one in found["results"]} == set(NAMED)
    (kept,) = found["query"]["filters"]
    again = run_inside(small, *search, "--filter", kept).json
    assert again["results"] == found["results"]
    both = run_inside(small, *search, "--within", file, "--filter", "year>=2030")
    assert both.json["results"] == []


def test_a_pool_keeps_to_them_too(small: Path, file: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("bees-network_method\n")
    pool = ("pool", "small", "--queries", queries, "--systems", "dense", "--json")
    assert run_inside(small, *pool, "--within", file).json["items"] == 3
