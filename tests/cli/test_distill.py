"""``seedlens distill``: aspects from end to end, and the two names of scenarios."""

import json
import shutil
from importlib.util import find_spec

import pytest

from engine.types.corpora import ImportRequest
from tests.cli.command_line import assert_refused, connected, run_inside, write_lines
from tests.fakes.model_answers import grades_pairs, in_title
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import knowledge
from tests.support import make_explorer

pytestmark = pytest.mark.skipif(find_spec("peft") is None, reason="needs the extra 'distill'")


@pytest.fixture(scope="module")
def judge():
    with serving(knowledge(), handlers=[grades_pairs(in_title)]) as running:
        yield running


@pytest.fixture(scope="module")
def _tiny_home(tmp_path_factory, small_source, tiny_model):
    """A home with the small corpus by an encoder that is fast to train. For reading only."""
    home = tmp_path_factory.mktemp("tiny") / "home"
    wanted = ImportRequest(small_source, "tiny", encoder=str(tiny_model))
    make_explorer(home).library.import_documents(wanted)
    return home


@pytest.fixture
def tiny_home(_tiny_home, home):
    shutil.copytree(_tiny_home, home)
    return home


def test_aspects_are_estimated_graded_trained_and_measured(tiny_home, judge, tmp_path):
    model = connected(judge)
    out = tmp_path / "tuned"
    command = ("distill", "aspects", "tiny", "--out", out, "--documents", 8, "--candidates", 4)
    asked = judge.seen.questions
    only = run_inside(tiny_home, *command, "--estimate", "--json", **model)
    assert only.code == 0, only.stderr
    announced = only.json["estimate"]["questions"]
    assert judge.seen.questions == asked
    assert f"{announced} questions about the aspects" in only.stderr

    stopped = run_inside(tiny_home, *command, "--yes", "--budget-calls", 11, **model)
    assert stopped.code == 2, "too few answers to learn from"
    assert "too few" in stopped.stderr
    assert not out.exists()

    done = run_inside(tiny_home, *command, "--yes", "--epochs", 1, "--json", **model)
    assert done.code == 0, done.stderr
    assert judge.seen.questions - asked == announced, "what was answered is not asked again"
    report, tuned = done.json["report"], done.json["tuned"]
    assert report["cached"] > 0
    assert tuned["groups"] + tuned["held_out"] <= announced
    assert tuned["recommended"] == (tuned["interval"][0] > 0)
    assert json.loads((out / "tuned.json").read_text())["before"] == tuned["before"]


def test_what_cannot_be_trained_is_refused_before_anything_is_asked(tiny_home, tmp_path):
    for name, count in (("few", 3), ("roleless", 24)):
        rows = [
            {"doc_id": f"d{n}", "title": f"Bees {n}", "sentences": ["They fly."], "roles": [None]}
            for n in range(count)
        ]
        run_inside(
            tiny_home, "import", write_lines(tmp_path / f"{name}.jsonl", rows), "--name", name
        )
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("kept")
    for name, out, words in (
        ("nothing", "out", "no corpus 'nothing'"),
        ("tiny", "full", "Name a new folder"),
        ("few", "out", "holds 3 documents"),
        ("roleless", "out", "serves an aspect of its lens"),
    ):
        refused = run_inside(tiny_home, "distill", "aspects", name, "--out", tmp_path / out)
        assert_refused(refused, words)
    unconnected = run_inside(tiny_home, "distill", "aspects", "tiny", "--out", tmp_path / "out")
    assert unconnected.code == 2
    assert "OPENAI_BASE_URL" in unconnected.stderr
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "full" / "mine.txt").read_text() == "kept"


def test_a_corpus_keeps_the_model_it_was_indexed_with(small_home, small_source, tiny_model):
    options = ("--name", "small", "--encoder", tiny_model)
    refused = run_inside(small_home, "import", small_source, *options)
    assert_refused(refused, "'small'", "all-MiniLM-L6-v2", str(tiny_model), "new name")


@pytest.mark.parametrize("command", ["distill tiny {}", "distill scenarios {} tiny"])
def test_scenarios_are_learned_from_under_both_names(tiny_home, tmp_path, command):
    options = f"--base {tmp_path} --out {tmp_path / 'learned'}"
    refused = run_inside(tiny_home, *command.format(options).split())
    assert_refused(refused, "seedlens scenarios tiny")
