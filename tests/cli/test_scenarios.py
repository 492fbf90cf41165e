"""``seedlens scenarios`` and ``seedlens distill``: estimates first, streams apart, plain errors."""

import pytest

from tests.cli.command_line import connected, run_inside
from tests.fakes.model_answers import IMPLIED, writes_scenarios
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import knowledge
from tests.fakes.small_corpus import DOCUMENTS

COUNT = len(DOCUMENTS)


@pytest.fixture
def writer():
    """A model that writes scenarios for the small corpus."""
    with serving(knowledge(), handlers=[writes_scenarios]) as running:
        yield running


def test_scenarios_are_estimated_written_in_parts_and_searched(corpus, writer):
    model = connected(writer)
    first = run_inside(corpus, "scenarios", "small", "--limit", 30, "--yes", "--json", **model)
    assert first.code == 0, first.stderr
    assert "30 calls, at most 70 with repeats" in first.stderr
    assert (first.json["estimate"]["documents"], first.json["report"]["written"]) == (30, 30)

    second = run_inside(corpus, "scenarios", "small", "--yes", "--weight", 0.5, **model)
    assert second.code == 0, second.stderr
    assert f"{COUNT - 30} documents" in second.stdout
    status = run_inside(corpus, "scenarios", "small", "--status", "--json").json
    assert (status["covered"], status["weight"], status["component"]) == (COUNT, 0.5, "M+E")

    need, why = IMPLIED["Tides by sensor"]
    text = "A timetable of ferries: when may a ferry leave?"
    command = ("search", "small", "--text", text, "--system", "scenario")
    found = run_inside(corpus, *command, "--json")
    assert found.json["results"][0]["scenario"]["explanation"] == why
    assert need in run_inside(corpus, *command).stdout
    listed = run_inside(corpus, "corpora", "--json").json
    assert "scenario" in listed[0]["systems"]


def test_extracts_need_no_model_and_scenarios_can_be_removed(corpus):
    assert "scenario" not in run_inside(corpus, "corpora", "--json").json[0]["systems"]
    refused = run_inside(corpus, "search", "small", "--text", "x", "--system", "scenario")
    assert refused.code == 2
    assert "seedlens scenarios small" in refused.stderr
    written = run_inside(corpus, "scenarios", "small", "--extractive", "--component", "I")
    assert written.code == 0, written.stderr
    shown = run_inside(corpus, "scenarios", "small", "--status").stdout
    assert "extractive" in shown
    assert "I is embedded" in shown
    weighed = run_inside(corpus, "scenarios", "small", "--weight", "0.4")
    assert weighed.code == 0, weighed.stderr
    assert "weight of documents is 0.4" in weighed.stdout, (
        "only the weight is changed, no model is needed"
    )
    assert run_inside(corpus, "scenarios", "small", "--remove").code == 0
    assert run_inside(corpus, "scenarios", "small", "--status", "--json").json["scenarios"] == 0


@pytest.mark.nightly
def test_a_small_model_is_taught_from_the_command_line(corpus, writer, tmp_path):
    pytest.importorskip("peft", reason="the extra 'distill' is not installed")
    pytest.importorskip("trl", reason="the extra 'distill' is not installed")
    from tests.fakes.tiny_models import save_writer

    base = save_writer(tmp_path / "base", [str(d) for d in DOCUMENTS], window=512)
    out = tmp_path / "learned"
    command = ("distill", "small", "--base", base, "--out", out, "--epochs", 1, "--json")
    early = run_inside(corpus, *command)
    assert early.code == 2
    assert "seedlens scenarios small" in early.stderr

    model = connected(writer)
    run_inside(corpus, "scenarios", "small", "--limit", 6, "--yes", **model)
    taught = run_inside(corpus, *command)
    assert taught.code == 0, taught.stderr
    assert (taught.json["lessons"], taught.json["held_out"]) == (5, 1)
    assert taught.json["training"]["rank"] == 32
    used = run_inside(corpus, "scenarios", "small", "--distilled", out, "--limit", 2, "--json")
    assert used.code == 0, used.stderr
    report = used.json["report"]
    assert report["written"] + report["failed"] == 2
