"""``seedlens generate``: the contract of its JSON, what evaluate makes of it, what it refuses."""

from pathlib import Path

import pytest

from engine.collections.readers import read_collection
from tests.cli.command_line import run_inside
from tests.fakes.model_answers import Knowledge
from tests.fakes.model_server import serving

DOCUMENTS = 15


def generated(home, out, *options):
    return run_inside(
        home, "generate", "implicit", "--category", "temporal", "--sets", 2, "--seed", 7,
        "--documents", DOCUMENTS, "--out", out, *options,
    )  # fmt: skip


def test_json_keeps_the_contract(home, tmp_path):
    done = generated(home, tmp_path / "out", "--json")
    assert (done.code, done.stderr) == (0, "")
    found = done.json
    expected = {
        "folder": str(tmp_path / "out"), "category": "temporal", "style": "multi", "sets": 2,
        "documents": 30, "queries": 30, "seed": 7, "written": {"model": 0, "templates": 30},
        "llm": None,
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected
    assert found["constraints"] == [
        "dates unique", "dates spread", "offsets limited", "messages apart",
    ]  # fmt: skip
    assert found["collection"] == read_collection(tmp_path / "out").name
    assert Path(found["table"]).is_file()


@pytest.mark.parametrize("category", ["temporal", "world"])
def test_evaluate_reads_what_was_generated(home, tmp_path, category):
    done = generated(home, tmp_path / "out", "--category", category, "--json")
    path = done.json["table" if category == "world" else "folder"]
    measured = run_inside(home, "evaluate", path, "--systems", "bm25", "--sample", 6, "--json")
    assert measured.code == 0, measured.stderr
    assert measured.json["collection"] == done.json["collection"]
    assert measured.json["queries"] == 6
    scores = measured.json["systems"]["bm25"]["metrics"]
    assert scores["R@20"] == 1.0, "topics are found"
    assert 0.0 < scores["nDCG@10"] < 0.7, "values are not"


def test_it_prints_what_it_made_and_how_to_evaluate_it(home, tmp_path):
    done = run_inside(
        home, "generate", "implicit", "--category", "world", "--sets", "1", "--out",
        tmp_path / "new" / "out",
    )  # fmt: skip
    assert (done.code, done.stderr) == (0, "")
    assert "30 documents and as many queries in 1 sets" in done.stdout
    assert f"seedlens evaluate {tmp_path / 'new' / 'out'}" in done.stdout


def test_a_model_that_writes_nothing_usable_is_reported(home, tmp_path):
    with serving(Knowledge({}, {}), handlers=[lambda prompt, body: {"nothing": "usable"}]) as model:
        done = run_inside(
            home, "generate", "implicit", "--category", "world", "--sets", 1, "--documents", 3,
            "--out", tmp_path / "out", "--model", "--tries", 1, "--json",
            OPENAI_BASE_URL=model.url, SEEDLENS_LLM_MODEL="judge",
        )  # fmt: skip
    assert done.code == 0, done.stderr
    assert done.json["written"] == {"model": 0, "templates": 3}
    assert done.json["rejected"]["unanswered"] == 3
    assert done.json["llm"]["unread"] == 3
    assert "3 by templates" in done.stderr
