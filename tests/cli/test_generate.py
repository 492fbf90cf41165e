"""``seedlens generate``: the contract of its JSON, what evaluate makes of it, what it prints."""

from pathlib import Path

from engine.collections.readers import read_collection
from tests.cli.command_line import connected, run_inside
from tests.fakes.model_answers import Knowledge
from tests.fakes.model_server import serving


def generated(home, out, category, sets, documents, *options, **settings):
    kind = ("--category", category, "--sets", sets, "--documents", documents, "--seed", 7)
    return run_inside(home, "generate", "implicit", *kind, "--out", out, *options, **settings)


def test_json_keeps_the_contract_and_evaluate_reads_what_was_generated(home, tmp_path):
    done = generated(home, tmp_path / "out", "temporal", 2, 15, "--json")
    assert (done.code, done.stderr) == (0, "")
    found = done.json
    expected = {
        **{"folder": str(tmp_path / "out"), "category": "temporal", "style": "multi", "sets": 2},
        **{"documents": 30, "queries": 30, "seed": 7, "llm": None},
        "written": {"model": 0, "templates": 30},
        "constraints": ["dates unique", "dates spread", "offsets limited", "messages apart"],
    }
    assert {key: found[key] for key in expected} == expected
    assert found["collection"] == read_collection(tmp_path / "out").name
    assert Path(found["table"]).is_file()

    options = ("--systems", "bm25", "--sample", 6, "--json")
    measured = run_inside(home, "evaluate", tmp_path / "out", *options)
    assert measured.code == 0, measured.stderr
    assert measured.json["collection"] == found["collection"]
    assert measured.json["queries"] == 6
    scores = measured.json["systems"]["bm25"]["metrics"]
    assert scores["R@20"] == 1.0, "topics are found"
    assert 0.0 < scores["nDCG@10"] < 0.7, "values are not"


def test_a_model_that_writes_nothing_usable_is_reported(home, tmp_path):
    with serving(Knowledge({}, {}), handlers=[lambda prompt, body: {"nothing": "usable"}]) as model:
        asked = ("world", 1, 3, "--model", "--tries", 1)
        done = generated(home, tmp_path / "out", *asked, "--json", **connected(model))
        shown = generated(home, tmp_path / "new" / "out", *asked, **connected(model))
    assert done.code == shown.code == 0, done.stderr
    assert done.json["written"] == {"model": 0, "templates": 3}
    assert done.json["rejected"]["unanswered"] == 3
    assert done.json["llm"]["unread"] == 3
    assert "3 by templates" in done.stderr
    assert "3 documents and as many queries in 1 sets" in shown.stdout
    assert f"seedlens evaluate {tmp_path / 'new' / 'out'}" in shown.stdout
