"""``seedlens read``: answers measured from the command line."""

import json

import pytest
from click.testing import CliRunner

from engine.cli.evaluate import read
from tests.cli.command_line import clean_environment
from tests.engine.ask.test_reader_test import QUERIES, librarian, strict_judge, write_questions
from tests.fakes.model_answers import MODEL, Knowledge
from tests.fakes.model_server import serving


@pytest.fixture(scope="module")
def server():
    with serving(Knowledge({}, {}), handlers=[librarian, strict_judge]) as running:
        yield running


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("read")


@pytest.fixture(scope="module")
def questions(place):
    return write_questions(place)


def run(place, server, *args):
    settings = {"OPENAI_BASE_URL": server.url, "SEEDLENS_LLM_MODEL": MODEL}
    environment = clean_environment(place / "home", **settings)
    return CliRunner().invoke(read, [str(a) for a in args], env=environment)


def test_the_estimate_comes_first_and_the_same_again_costs_nothing(place, questions, server):
    asked = ("--k", "1,6", "--systems", "bm25", "--grade", "--json")
    foreseen = run(place, server, questions, *asked, "--estimate")
    assert foreseen.exit_code == 0, foreseen.output
    assert json.loads(foreseen.stdout)["calls"] == 2 * 4 * QUERIES
    assert server.seen.requests == 0
    first = run(place, server, questions, *asked)
    assert first.exit_code == 0, first.output
    assert first.stderr.index("calls, at most") < first.stderr.index("read:")
    found = json.loads(first.stdout)
    rows = {row["name"]: row for row in found["rows"]}
    assert list(rows) == ["gold, k = 1", "gold, k = 6", "bm25, k = 1", "bm25, k = 6"]
    assert rows["gold, k = 6"]["rouge"] == pytest.approx(0.5)
    assert rows["gold, k = 6"]["grade"] == 80
    assert len(rows["bm25, k = 1"]["answers"]) == QUERIES
    again = json.loads(run(place, server, questions, *asked).stdout)
    assert again["report"]["calls"] == 0
    assert again["rows"] == found["rows"]


def test_the_table_names_every_condition(place, questions, server):
    shown = run(place, server, questions, "--k", "1,3", "--sample", "2")
    assert shown.exit_code == 0, shown.output
    assert "gold, k = 1" in shown.stdout
    assert "2/2" in shown.stdout
    assert "tuple_set_id" in shown.stdout
