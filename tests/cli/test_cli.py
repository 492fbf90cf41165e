"""What people who script the ``seedlens`` command may rely on when all is well."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main
from engine.config import DEMO
from tests.cli.command_line import run_inside, run_process, write_lines
from tests.cli.json_shapes import assert_shape, span
from tests.cli.refusals import assert_refused

SYSTEMS = ("bm25", "dense", "late-interaction", "hybrid", "aspect")
SEED = "demo-0001"


# --- help -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [(), *((name,) for name in main.commands)], ids=str)
def test_help_explains_every_command_and_option(command: tuple[str, ...], tmp_path: Path) -> None:
    shown = run_inside(tmp_path / "home", *command, "--help")
    assert (shown.code, shown.stderr) == (0, "")
    assert "Usage:" in shown.stdout
    explained = main.commands[command[0]] if command else main
    words = " ".join(shown.stdout.split())  # the terminal's width breaks long lines
    assert (explained.help or "").split(".")[0].split("\n")[0] in words
    for option in explained.params:
        assert option.opts[0] in shown.stdout or option.name.upper() in shown.stdout
    assert not (tmp_path / "home").exists()


def test_the_version_is_printed(tmp_path: Path) -> None:
    from engine import __version__

    assert __version__ in run_inside(tmp_path, "--version").stdout


# --- import and corpora -----------------------------------------------------------------------


def test_import_then_corpora_then_search_print_one_json_document_each_and_nothing_else(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    lines = (DEMO / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    source = write_lines(tmp_path / "papers.jsonl", map(json.loads, lines[:30]))

    imported = run_process(home, "import", source, "--name", "papers", "--json")
    assert (imported.code, imported.stderr) == (0, "")
    assert imported.json["documents"] == imported.json["added"] == 30

    listed = run_inside(home, "corpora", "--json")
    assert (listed.code, listed.stderr) == (0, "")
    assert [c["name"] for c in listed.json] == ["papers"]

    found = run_inside(home, "search", "papers", "--seed", SEED, "--aspect", "method", "--json")
    assert (found.code, found.stderr) == (0, "")
    assert len(found.json["results"]) == 20


def test_corpora_lists_documents_systems_encoder_and_size(demo_home: Path) -> None:
    (corpus,) = run_inside(demo_home, "corpora", "--json").json
    assert_shape(corpus, {"name": str, "documents": int, "systems": list, "encoder": str})
    assert (corpus["name"], corpus["documents"]) == ("demo", 480)
    assert set(SYSTEMS) <= set(corpus["systems"])
    assert corpus["encoder"] == "all-MiniLM-L6-v2"
    stored = sum(f.stat().st_size for f in (demo_home / "corpora" / "demo").rglob("*.*"))
    assert corpus["bytes"] == pytest.approx(stored, rel=0.05)

    printed = run_inside(demo_home, "corpora")
    heads, demo = (line.split() for line in printed.stdout.splitlines())
    assert (heads[0], demo[:2]) == ("documents", ["demo", "480"])
    assert printed.stderr == ""


def test_an_empty_home_lists_no_corpora_and_says_how_to_get_one(tmp_path: Path) -> None:
    assert run_inside(tmp_path, "corpora", "--json").json == []
    printed = run_inside(tmp_path, "corpora")
    assert (printed.code, printed.stdout) == (0, "")
    assert "seedlens import" in printed.stderr


def test_importing_the_same_file_twice_changes_nothing(demo_home: Path) -> None:
    table = demo_home / "corpora" / "demo" / "documents.lance"
    before = {f: f.stat().st_mtime_ns for f in table.rglob("*") if f.is_file()}
    report = run_inside(demo_home, "import", DEMO, "--name", "demo", "--json").json
    assert (report["added"], report["updated"], report["unchanged"]) == (0, 0, 480)
    assert {f: f.stat().st_mtime_ns for f in table.rglob("*") if f.is_file()} == before


def test_importing_a_changed_file_updates_the_corpus_of_its_name(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "Frogs sing at dusk."}, {"id": "b", "text": "Owls do not."}]
    run_inside(tmp_path / "home", "import", write_lines(tmp_path / "n 1.jsonl", rows))
    rows[1]["text"] = "Owls sing at night."
    rows.append({"id": "c", "text": "Toads croak."})
    source = write_lines(tmp_path / "n 1.jsonl", rows)
    report = run_inside(tmp_path / "home", "import", source, "--json").json
    assert {k: report[k] for k in ("added", "updated", "unchanged", "documents")} == {
        "added": 1, "updated": 1, "unchanged": 1, "documents": 3,
    }  # fmt: skip
    found = run_inside(tmp_path / "home", "search", "n-1", "--seed", "b", "--json").json
    assert {r["doc_id"] for r in found["results"]} == {"a", "c"}
    assert found["results"][0]["evidence"][0]["seed_text"] == "Owls sing at night."
    (other := tmp_path / "other").mkdir()
    source = write_lines(other / "n 1.jsonl", rows)
    says = ("n-1 is there already, read from", "--name")
    assert_refused(tmp_path / "home", "import", source, says=says)
    undone = run_inside(tmp_path / "home", "import", "--undo", "n-1")
    assert "The last import is undone: 'n-1' holds 2 documents." in undone.stdout
    assert_refused(tmp_path / "home", "import", "--undo", "n-1", says=("no import into 'n-1'",))


def test_what_was_mended_on_the_way_in_is_told_on_stderr(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "Frogs\u0000sing."}, {"id": "b", "text": "Owls.", "year": "?"}]
    source = write_lines(tmp_path / "a.jsonl", rows)
    report = run_inside(tmp_path / "home", "import", source, "--name", "n", "--json")
    assert report.code == 0
    assert [line.split(":")[0] for line in report.stderr.splitlines()] == ["Warning", "Warning"]
    assert len(report.json["warnings"]) == 2


def test_a_link_that_leads_to_itself_is_named_as_a_file_that_is_not_there(tmp_path: Path) -> None:
    link = tmp_path / "papers.jsonl"
    link.symlink_to(link)
    assert_refused(tmp_path / "home", "import", link, says=(f"{link} does not exist.", "Check"))


def test_columns_of_any_name_are_read_with_map(tmp_path: Path) -> None:
    source = tmp_path / "posts.csv"
    source.write_text("nr,words\n1,Frogs sing.\n2,Owls listen.\n", encoding="utf-8")
    options = ("--map", "doc_id=nr", "--map", "text=words")
    assert run_inside(tmp_path / "home", "import", source, "--name", "n", *options).code == 0
    found = run_inside(tmp_path / "home", "search", "n", "--seed", "2", "--json").json
    assert [r["doc_id"] for r in found["results"]] == ["1"]


@pytest.mark.nightly
def test_a_model_given_as_a_relative_folder_is_found_from_anywhere(
    tmp_path: Path, tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_model("near")
    source = write_lines(tmp_path / "a.jsonl", [{"id": i, "text": f"frogs {i}"} for i in "abc"])
    monkeypatch.chdir(model.parent)
    imported = run_inside(tmp_path / "home", "import", source, "--name", "n", "--encoder", "./near")
    assert imported.code == 0
    monkeypatch.chdir(tmp_path)
    found = run_process(tmp_path / "home", "search", "n", "--text", "frogs a", "--json")
    assert (found.code, len(found.json["results"])) == (0, 3)


# --- search -----------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
def test_search_json_keeps_the_contract_on_every_system(
    system: str, demo_home: Path, demo_texts: dict[str, str]
) -> None:
    options = ("--seed", SEED, "--aspect", "method", "--system", system, "--json")
    run = run_inside(demo_home, "search", "demo", *options)
    assert (run.code, run.stderr) == (0, "")
    found = run.json
    assert_shape(
        found,
        {"corpus": str, "query": dict, "system": str, "seconds": float, "results": list,
         "truncated": bool},
    )  # fmt: skip
    assert (found["corpus"], found["system"]) == ("demo", system)
    asked = {"seed": SEED, "aspect": "method", "system": system, "steer": 0.5, "k": 20}
    assert found["query"].items() >= asked.items()
    assert [r["rank"] for r in found["results"]] == list(range(1, 21))
    assert SEED not in {r["doc_id"] for r in found["results"]}
    scores = [r["score"] for r in found["results"]]
    assert scores == sorted(scores, reverse=True)
    for result in found["results"]:
        assert_result(result, demo_texts)
    assert any(result["evidence"] for result in found["results"])


def assert_result(result: dict[str, Any], texts: dict[str, str]) -> None:
    assert_shape(
        result,
        {"rank": int, "doc_id": str, "title": str, "score": float, "evidence": list,
         "rank_change": (int, type(None)), "explanation": (str, type(None))},
    )  # fmt: skip
    for pair in result["evidence"]:
        assert_shape(
            pair,
            {"seed_span": span, "doc_span": span, "seed_text": str, "doc_text": str,
             "score": float},
        )  # fmt: skip
        assert texts[SEED][slice(*pair["seed_span"])] == pair["seed_text"]
        assert texts[result["doc_id"]][slice(*pair["doc_span"])] == pair["doc_text"]
        assert -1.0 <= pair["score"] <= 1.0001


def test_results_on_a_terminal_show_rank_score_title_id_and_the_best_evidence(
    demo_home: Path, demo_texts: dict[str, str]
) -> None:
    options = ("--seed", SEED, "--aspect", "result", "--k", "3")
    run = run_inside(demo_home, "search", "demo", *options)
    lines = run.stdout.splitlines()
    found = run_inside(demo_home, "search", "demo", *options, "--json").json["results"]
    assert len(lines) == 9
    for line, seed, it, result in zip(lines[::3], lines[1::3], lines[2::3], found, strict=True):
        assert f"{result['rank']:>3}  {result['score']:.3f}  {result['title']}" in line
        assert f"[{result['doc_id']}]" in line
        assert seed.split("seed: ")[1] in demo_texts[SEED]
        assert it.split("it:   ")[1] in demo_texts[result["doc_id"]]
    assert "479 ranked" in run.stderr


def test_a_pasted_text_finds_the_document_it_was_copied_from(
    demo_home: Path, demo_texts: dict[str, str]
) -> None:
    found = run_inside(demo_home, "search", "demo", "--text", demo_texts[SEED], "--json").json
    assert found["results"][0]["doc_id"] == SEED
    assert found["query"]["text"] == demo_texts[SEED]


def test_more_results_begin_with_the_fewer(demo_home: Path) -> None:
    few, many = (
        run_inside(demo_home, "search", "demo", "--seed", SEED, "--k", k, "--json").json["results"]
        for k in (5, 1000)
    )
    assert [r["doc_id"] for r in many[:5]] == [r["doc_id"] for r in few]
    assert len(many) == 479


def test_filters_leave_only_what_meets_all_of_them(demo_home: Path) -> None:
    documents = [json.loads(line) for line in (DEMO / "corpus.jsonl").open(encoding="utf-8")]
    venue = documents[1]["venue"]
    wanted = {
        d["doc_id"]
        for d in documents
        if d["venue"] == venue and 2015 <= d["year"] <= 2022 and d["doc_id"] != SEED
    }
    assert wanted
    filters = ("--filter", f"venue={venue}", "--filter", "year>=2015", "--filter", "year<=2022")
    options = ("--seed", SEED, "--k", "400", "--json")
    found = run_inside(demo_home, "search", "demo", *filters, *options).json
    assert {r["doc_id"] for r in found["results"]} == wanted
    assert found["query"]["filters"] == [f for f in filters if f != "--filter"]


@pytest.mark.parametrize(
    "hostile", ["venue=x' OR '1'='1", 'venue=" or 1=1 --', "venue=%", "year=0"]
)
def test_a_filter_that_nothing_meets_gives_no_results_and_no_error(
    hostile: str, demo_home: Path
) -> None:
    options = ("--seed", SEED, "--filter", hostile)
    found = run_inside(demo_home, "search", "demo", *options, "--json")
    assert (found.code, found.stderr, found.json["results"]) == (0, "", [])
    printed = run_inside(demo_home, "search", "demo", *options)
    assert (printed.code, printed.stdout) == (0, "")
    assert "No document matches" in printed.stderr


def test_a_wording_of_ones_own_changes_the_ranking(demo_home: Path) -> None:
    words = ("--instruction", "interviews and the way they were carried out")
    base = ("search", "demo", "--seed", SEED, "--json", "--system", "aspect", "--steer", "1")
    plain, worded = (run_inside(demo_home, *base, *extra).json for extra in ((), words))
    ids = [[r["doc_id"] for r in found["results"]] for found in (plain, worded)]
    assert ids[0] != ids[1]
    assert worded["query"]["instruction"] == words[1]


@pytest.mark.parametrize("option", ["--steer", "--aspect-weight"])
def test_the_weight_of_the_aspect_goes_by_two_names(demo_home: Path, option: str) -> None:
    found = run_inside(demo_home, "search", "demo", "--seed", SEED, option, "0.8", "--json")
    assert found.json["query"]["steer"] == 0.8
    for command in ("evaluate", "sensitivity"):
        assert option in run_inside(demo_home, command, "--help").stdout


def test_an_aspect_that_the_seed_lacks_is_told_on_stderr(tmp_path: Path) -> None:
    rows = [
        {"doc_id": i, "sentences": [f"Frogs {i} sing.", "Toads do not."], "roles": ["method"] * 2}
        for i in "abc"
    ]
    source = write_lines(tmp_path / "a.jsonl", rows)
    assert run_inside(tmp_path / "home", "import", source, "--name", "n").code == 0
    options = ("--seed", "a", "--aspect", "result", "--json")
    found = run_inside(tmp_path / "home", "search", "n", *options)
    assert found.stderr.startswith("Note: ")
    assert len(found.json["results"]) == 2
