"""What people who script the ``seedlens`` command may rely on when all is well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest

from engine.cli import main
from engine.explorer import Explorer
from tests.cli.command_line import (
    assert_refused,
    assert_shape,
    run_inside,
    run_json,
    run_process,
    write_lines,
)
from tests.fakes.small_corpus import DOCUMENTS

SYSTEMS = ("bm25", "dense", "late-interaction", "hybrid", "aspect")
SEED = "bees-network"
CONTEXT = click.Context(main)
TEXTS = {d["doc_id"]: d.get("text") or " ".join(d["sentences"]) for d in DOCUMENTS}


# --- help -----------------------------------------------------------------------------------


def test_help_explains_every_command_and_option(tmp_path):
    for command in ((), *((name,) for name in main.list_commands(CONTEXT))):
        shown = run_inside(tmp_path / "home", *command, "--help")
        assert (shown.code, shown.stderr) == (0, "")
        assert "Usage:" in shown.stdout
        explained = main.get_command(CONTEXT, command[0]) if command else main
        assert explained is not None
        words = " ".join(shown.stdout.split())  # the terminal's width breaks long lines
        assert (explained.help or "").split(".")[0].split("\n")[0] in words
        for option in explained.params:
            assert option.opts[0] in shown.stdout or option.name.upper() in shown.stdout
    assert not (tmp_path / "home").exists()


def test_help_names_all_systems_and_modes_of_reranking():
    search = main.get_command(CONTEXT, "search")
    assert search is not None
    words = {one.name: getattr(one, "help", "") for one in search.params}
    for name in (*Explorer.known_systems, *Explorer.model_systems):
        assert name in words["system"]
    assert all(mode in words["rerank"] for mode in Explorer.rerank_modes)


def test_the_version_is_printed(tmp_path):
    from engine import __version__

    assert __version__ in run_inside(tmp_path, "--version").stdout


# --- import and corpora -----------------------------------------------------------------------


def test_corpora_lists_documents_systems_encoder_and_size(small_home):
    listed = run_inside(small_home, "corpora", "--json")
    assert (listed.code, listed.stderr) == (0, "")
    (corpus,) = listed.json
    assert_shape(corpus, {"name": str, "documents": int, "systems": list, "encoder": str})
    assert (corpus["name"], corpus["documents"]) == ("small", 40)
    assert set(SYSTEMS) <= set(corpus["systems"])
    assert corpus["encoder"] == "all-MiniLM-L6-v2"
    stored = sum(f.stat().st_size for f in (small_home / "corpora" / "small").rglob("*.*"))
    assert corpus["bytes"] == pytest.approx(stored, rel=0.05)
    printed = run_inside(small_home, "corpora")
    heads, small = (line.split() for line in printed.stdout.splitlines())
    assert (heads[0], small[:2], printed.stderr) == ("documents", ["small", "40"], "")


def test_an_empty_home_lists_no_corpora_and_says_how_to_get_one(tmp_path):
    assert run_inside(tmp_path, "corpora", "--json").json == []
    printed = run_inside(tmp_path, "corpora")
    assert (printed.code, printed.stdout) == (0, "")
    assert "seedlens import" in printed.stderr


def modified(folder):
    return {f: f.stat().st_mtime_ns for f in folder.rglob("*.lance/**/*") if f.is_file()}


def test_importing_a_changed_file_updates_the_corpus_of_its_name(tmp_path):
    rows = [{"id": "a", "text": "Frogs sing at dusk."}, {"id": "b", "text": "Owls do not."}]
    run_inside(tmp_path / "home", "import", write_lines(tmp_path / "n 1.jsonl", rows))
    rows[1]["text"] = "Owls sing at night."
    rows.append({"id": "c", "text": "Toads croak."})
    source = write_lines(tmp_path / "n 1.jsonl", rows)
    imported = run_inside(tmp_path / "home", "import", source, "--json")
    assert (imported.code, imported.stderr) == (0, "")
    report = imported.json
    assert {k: report[k] for k in ("added", "updated", "unchanged", "documents")} == {
        "added": 1, "updated": 1, "unchanged": 1, "documents": 3,
    }  # fmt: skip
    before = modified(tmp_path / "home" / "corpora")
    same = run_inside(tmp_path / "home", "import", source, "--json").json
    assert (same["added"], same["updated"], same["unchanged"]) == (0, 0, 3)
    assert modified(tmp_path / "home" / "corpora") == before, "the same again changes nothing"
    found = run_inside(tmp_path / "home", "search", "n-1", "--seed", "b", "--json").json
    assert {r["doc_id"] for r in found["results"]} == {"a", "c"}
    assert found["results"][0]["evidence"][0]["seed_text"] == "Owls sing at night."
    (other := tmp_path / "other").mkdir()
    source = write_lines(other / "n 1.jsonl", rows)
    says = ("n-1 is there already, read from", "--name")
    assert_refused(run_inside(tmp_path / "home", "import", source), *says)
    undone = run_inside(tmp_path / "home", "import", "--undo", "n-1")
    assert "The last change is undone: 'n-1' holds 2 documents." in undone.stdout
    assert_refused(run_inside(tmp_path / "home", "import", "--undo", "n-1"), "no import into 'n-1'")


def test_what_was_mended_on_the_way_in_is_told_on_stderr(tmp_path):
    rows = [{"id": "a", "text": "Frogs\u0000sing."}, {"id": "b", "text": "Owls.", "year": "?"}]
    source = write_lines(tmp_path / "a.jsonl", rows)
    report = run_inside(tmp_path / "home", "import", source, "--name", "n", "--json")
    assert report.code == 0
    assert [line.split(":")[0] for line in report.stderr.splitlines()] == ["Warning", "Warning"]
    assert len(report.json["warnings"]) == 2


@pytest.mark.nightly
def test_a_model_given_as_a_relative_folder_is_found_from_anywhere(
    tmp_path, tiny_model, monkeypatch
):
    source = write_lines(tmp_path / "a.jsonl", [{"id": i, "text": f"frogs {i}"} for i in "abc"])
    monkeypatch.chdir(tiny_model.parent)
    model = ("--encoder", f"./{tiny_model.name}")
    imported = run_inside(tmp_path / "home", "import", source, "--name", "n", *model)
    assert imported.code == 0
    monkeypatch.chdir(tmp_path)
    found = run_process(tmp_path / "home", "search", "n", "--text", "frogs a", "--json")
    assert (found.code, len(found.json["results"])) == (0, 3)


# --- search -----------------------------------------------------------------------------------


def search(home, *options):
    return run_json(home, "search", "small", *options)


@pytest.mark.parametrize("system", SYSTEMS)
def test_search_json_keeps_the_contract_on_every_system(system, small_home):
    found = search(small_home, "--seed", SEED, "--aspect", "method", "--system", system)
    assert_shape(found, {"corpus": str, "query": dict, "seconds": float, "truncated": bool})
    assert (found["corpus"], found["system"]) == ("small", system)
    asked = {"seed": SEED, "aspect": "method", "system": system, "steer": 0.5, "k": 20}
    assert found["query"].items() >= asked.items()
    count = len(found["results"])
    assert count == 20 or (system, count < 20) == ("bm25", True), "only documents with its words"
    assert [r["rank"] for r in found["results"]] == list(range(1, count + 1))
    assert SEED not in {r["doc_id"] for r in found["results"]}
    scores = [r["score"] for r in found["results"]]
    assert scores == sorted(scores, reverse=True)
    none = type(None)
    keys = {"title": str, "rank_change": (int, none), "explanation": (str, none), "evidence": list}
    for result in found["results"]:
        assert_shape(result, keys)
        for pair in result["evidence"]:
            assert TEXTS[SEED][slice(*pair["seed_span"])] == pair["seed_text"]
            assert TEXTS[result["doc_id"]][slice(*pair["doc_span"])] == pair["doc_text"]
            assert -1.0 <= pair["score"] <= 1.0001
    assert any(result["evidence"] for result in found["results"])


def test_results_on_a_terminal_show_rank_score_title_id_and_the_best_evidence(small_home):
    options = ("--seed", SEED, "--aspect", "result", "--k", "3")
    run = run_inside(small_home, "search", "small", *options)
    lines = run.stdout.splitlines()
    assert len(lines) == 9
    found = search(small_home, *options)["results"]
    for line, seed, it, result in zip(lines[::3], lines[1::3], lines[2::3], found, strict=True):
        assert f"{result['rank']:>3}  {result['score']:.3f}  {result['title']}" in line
        assert f"[{result['doc_id']}]" in line
        assert seed.split("seed: ")[1] in TEXTS[SEED]
        assert it.split("it:   ")[1] in TEXTS[result["doc_id"]]
    assert "39 ranked" in run.stderr


FILTERS = ("--filter", "venue=Parva", "--filter", "year>=2003", "--filter", "year<=2015")
MET = {
    d["doc_id"]
    for d in DOCUMENTS
    if d.get("venue") == "Parva" and 2003 <= (d.get("year") or 0) <= 2015 and d["doc_id"] != SEED
}
WORDS = "interviews and the way they were carried out"
SEARCHES: dict[str, tuple[tuple[str, ...], Callable[[list[str], Any], object]]] = {
    "text": (("--text", TEXTS[SEED]), lambda ids, _: ids[0] == SEED),
    "k": (("--seed", SEED, "--k", "1000"), lambda ids, _: len(ids) == 39),
    "filters": (
        ("--seed", SEED, "--k", "40", *FILTERS),
        lambda ids, query: {*ids} == MET and query["filters"] == [*FILTERS[1::2]],
    ),
    "no result": (("--seed", SEED, "--filter", "venue=y' OR '1'='1"), lambda ids, _: ids == []),
    "instruction": (
        ("--seed", SEED, "--steer", "1", "--instruction", WORDS),
        lambda ids, query: ids[0].endswith("interview") and query["instruction"] == WORDS,
    ),
    "weight": (("--seed", SEED, "--aspect-weight", "0.8"), lambda _, query: query["steer"] == 0.8),
}


@pytest.mark.parametrize("case", SEARCHES)
def test_options_reach_the_search(case, small_home):
    options, holds = SEARCHES[case]
    found = search(small_home, *options)
    assert holds([r["doc_id"] for r in found["results"]], found["query"])


def test_an_aspect_that_the_seed_lacks_is_noted_on_stderr(small_home):
    seed = next(d["doc_id"] for d in DOCUMENTS if d.get("roles") and "method" not in d["roles"])
    options = ("--seed", seed, "--aspect", "method", "--json")
    found = run_inside(small_home, "search", "small", *options)
    assert found.stderr.startswith("Note: ")
    assert found.json["results"]
