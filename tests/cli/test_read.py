"""``seedlens read``: answers measured from the command line."""

import pytest

from tests.cli.command_line import connected, run_inside
from tests.engine.ask.test_reader_test import QUERIES, librarian, strict_judge, write_questions
from tests.fakes.model_answers import Knowledge
from tests.fakes.model_server import serving


@pytest.fixture(scope="module")
def server():
    with serving(Knowledge({}, {}), handlers=[librarian, strict_judge]) as running:
        yield running


@pytest.fixture(scope="module")
def read(server, tmp_path_factory):
    """Runs the command on one collection, in one home."""
    place = tmp_path_factory.mktemp("read")
    questions = write_questions(place)

    def run(*options):
        shown = run_inside(place / "home", "read", questions, *options, **connected(server))
        assert shown.code == 0, shown.stderr
        return shown

    return run


def test_the_estimate_comes_first_and_the_same_again_costs_nothing(read, server):
    asked = ("--k", "1,6", "--systems", "bm25", "--grade", "--json")
    assert read(*asked, "--estimate").json["calls"] == 2 * 4 * QUERIES
    assert server.seen.requests == 0
    first = read(*asked)
    assert first.stderr.index("calls, at most") < first.stderr.index("read:")
    rows = {row["name"]: row for row in first.json["rows"]}
    assert list(rows) == ["gold, k = 1", "gold, k = 6", "bm25, k = 1", "bm25, k = 6"]
    assert rows["gold, k = 6"]["rouge"] == pytest.approx(0.5)
    assert rows["gold, k = 6"]["grade"] == 80
    assert len(rows["bm25, k = 1"]["answers"]) == QUERIES
    again = read(*asked).json
    assert again["report"]["calls"] == 0
    assert again["rows"] == first.json["rows"]


def test_the_table_names_every_condition(read):
    shown = read("--k", "1,3", "--sample", "2").stdout
    for words in ("gold, k = 1", "2/2", "tuple_set_id"):
        assert words in shown
