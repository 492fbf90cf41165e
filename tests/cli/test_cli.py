"""What people who script the ``seedlens`` command may rely on when all is well."""

from __future__ import annotations

import csv
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from engine.cli import main
from engine.config import DEMO
from tests.cli.command_line import run_inside, run_process, write_lines

SYSTEMS = ("bm25", "dense", "late-interaction", "hybrid", "aspect")
MEASURES = ("nDCG@10", "nDCG@20", "RR", "AP", "R@20", "R@100", "Judged@20", "p-MRR")
SEED = "demo-0001"

Check = Callable[[Any], bool]


def fraction(value: Any) -> bool:
    return isinstance(value, float) and 0.0 <= value <= 1.0


def span(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(i, int) for i in value)


def assert_shape(data: dict[str, Any], shape: dict[str, type | tuple[type, ...] | Check]) -> None:
    """Every key of the contract is there, with a value of its kind."""
    for key, kind in shape.items():
        assert key in data
        fits = isinstance(data[key], kind) if isinstance(kind, type | tuple) else kind(data[key])
        assert fits, f"{key}: {data[key]!r}"


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

    listed = run_process(home, "corpora", "--json")
    assert (listed.code, listed.stderr) == (0, "")
    assert [c["name"] for c in listed.json] == ["papers"]

    found = run_process(home, "search", "papers", "--seed", SEED, "--aspect", "method", "--json")
    assert (found.code, found.stderr) == (0, "")
    assert len(found.json["results"]) == 20


def test_corpora_lists_documents_systems_encoder_and_size(demo_home: Path) -> None:
    (corpus,) = run_inside(demo_home, "corpora", "--json").json
    assert_shape(corpus, {"name": str, "documents": int, "systems": list, "encoder": str})
    assert (corpus["name"], corpus["documents"]) == ("demo", 360)
    assert set(SYSTEMS) <= set(corpus["systems"])
    assert corpus["encoder"] == "all-MiniLM-L6-v2"
    stored = sum(f.stat().st_size for f in (demo_home / "corpora" / "demo").rglob("*.*"))
    assert corpus["bytes"] == pytest.approx(stored, rel=0.05)

    printed = run_inside(demo_home, "corpora")
    assert "demo" in printed.stdout
    assert "360 documents" in printed.stdout
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
    assert (report["added"], report["updated"], report["unchanged"]) == (0, 0, 360)
    assert {f: f.stat().st_mtime_ns for f in table.rglob("*") if f.is_file()} == before


def test_importing_a_changed_file_updates_what_changed(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "Frogs sing at dusk."}, {"id": "b", "text": "Owls do not."}]
    run_inside(tmp_path / "home", "import", write_lines(tmp_path / "a.jsonl", rows), "--name", "n")
    rows[1]["text"] = "Owls sing at night."
    rows.append({"id": "c", "text": "Toads croak."})
    source = write_lines(tmp_path / "a.jsonl", rows)
    report = run_inside(tmp_path / "home", "import", source, "--name", "n", "--json").json
    assert {k: report[k] for k in ("added", "updated", "unchanged", "documents")} == {
        "added": 1, "updated": 1, "unchanged": 1, "documents": 3,
    }  # fmt: skip
    found = run_inside(tmp_path / "home", "search", "n", "--seed", "b", "--json").json
    assert {r["doc_id"] for r in found["results"]} == {"a", "c"}
    assert found["results"][0]["evidence"][0]["seed_text"] == "Owls sing at night."


def test_what_was_mended_on_the_way_in_is_told_on_stderr(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "Frogs\u0000sing."}, {"id": "b", "text": "Owls.", "year": "?"}]
    source = write_lines(tmp_path / "a.jsonl", rows)
    report = run_inside(tmp_path / "home", "import", source, "--name", "n", "--json")
    assert report.code == 0
    assert [line.split(":")[0] for line in report.stderr.splitlines()] == ["Warning", "Warning"]
    assert len(report.json["warnings"]) == 2


def test_columns_of_any_name_are_read_with_map(tmp_path: Path) -> None:
    source = tmp_path / "posts.csv"
    source.write_text("nr,words\n1,Frogs sing.\n2,Owls listen.\n", encoding="utf-8")
    options = ("--map", "doc_id=nr", "--map", "text=words")
    assert run_inside(tmp_path / "home", "import", source, "--name", "n", *options).code == 0
    found = run_inside(tmp_path / "home", "search", "n", "--seed", "2", "--json").json
    assert [r["doc_id"] for r in found["results"]] == ["1"]


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


def assert_result(result: dict[str, Any], texts: dict[str, str]) -> None:
    assert_shape(
        result,
        {"rank": int, "doc_id": str, "title": str, "score": float, "evidence": list,
         "rank_change": (int, type(None)), "explanation": (str, type(None))},
    )  # fmt: skip
    assert result["evidence"]
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
    assert "359 ranked" in run.stderr


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
    assert len(many) == 359


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
    "hostile", ["venue=x' OR '1'='1", 'venue=" or 1=1 --', "no_such_field=1", "venue=%", "year=0"]
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


# --- evaluate ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seeds of the demo, three aspects each, over 60 of its documents."""
    folder = tmp_path_factory.mktemp("collection") / "small"
    lines = (DEMO / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    documents = [json.loads(line) for line in lines[:60]]
    write_lines(folder / "corpus.jsonl", documents)
    ids = {d["doc_id"] for d in documents}
    seeds = sorted(ids)[:4]
    topics = map(json.loads, (DEMO / "topics.jsonl").open(encoding="utf-8"))
    write_lines(folder / "topics.jsonl", (t for t in topics if t["seed"] in seeds))
    qrels = gzip.decompress((DEMO / "qrels.txt.gz").read_bytes()).decode().splitlines()
    kept = [q for q in qrels if q.split("_")[0] in seeds and q.split()[2] in ids]
    (folder / "qrels.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
    about = {"name": "small", "complete": True}
    (folder / "collection.json").write_text(json.dumps(about), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def evaluated(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Any]:
    """Home, folder of runs, and the JSON of an evaluation of two systems."""
    home, runs = tmp_path_factory.mktemp("evaluated") / "home", tmp_path_factory.mktemp("runs")
    options = ("--systems", "dense,hybrid,aspect", "--run-out", runs / "made", "--json")
    run = run_inside(home, "evaluate", collection, *options)
    assert (run.code, run.stderr) == (0, "")
    return home, runs / "made", run.json


def test_evaluate_json_keeps_the_contract(evaluated: tuple[Path, Path, Any]) -> None:
    found = evaluated[2]
    assert_shape(
        found,
        {"collection": str, "corpus": str, "queries": int, "systems": dict,
         "unjudged_in_top_k": dict, "significance": list},
    )  # fmt: skip
    assert (found["collection"], found["corpus"], found["queries"]) == ("small", "small", 12)
    assert list(found["systems"]) == ["dense", "hybrid", "aspect"]
    for system in found["systems"].values():
        assert_shape(
            system,
            {"metrics": dict, "by_aspect": dict, "per_query": list, "seconds": float,
             "llm": (dict, type(None))},
        )  # fmt: skip
        assert set(MEASURES) <= set(system["metrics"])
        assert all(fraction(system["metrics"][m]) for m in MEASURES[:-1])
        assert set(system["by_aspect"]) == {"background", "method", "result"}
        assert len(system["per_query"]) == 12
    assert len(found["significance"]) == 3


def test_means_are_over_the_queries_listed(evaluated: tuple[Path, Path, Any]) -> None:
    for system in evaluated[2]["systems"].values():
        values = [q["nDCG@20"] for q in system["per_query"]]
        assert system["metrics"]["nDCG@20"] == pytest.approx(sum(values) / len(values))
        ours = [q["nDCG@20"] for q in system["per_query"] if q["aspect"] == "method"]
        mean = system["by_aspect"]["method"]["nDCG@20"]
        assert mean == pytest.approx(sum(ours) / len(ours))


def test_a_ranking_that_ignores_the_aspect_has_p_mrr_zero_and_one_that_reads_it_more(
    evaluated: tuple[Path, Path, Any],
) -> None:
    systems = evaluated[2]["systems"]
    assert systems["dense"]["metrics"]["p-MRR"] == 0.0
    assert systems["aspect"]["metrics"]["p-MRR"] > 0.0


def test_run_files_hold_the_whole_ranking_and_give_the_same_figures_to_other_tools(
    evaluated: tuple[Path, Path, Any], collection: Path
) -> None:
    _, runs, found = evaluated
    assert {f.name for f in runs.iterdir()} == {"dense.run", "hybrid.run", "aspect.run"}
    qrels = list(ir_measures.read_trec_qrels(str(collection / "qrels.txt")))
    for name, scores in found["systems"].items():
        rows = [line.split(" ") for line in (runs / f"{name}.run").read_text().splitlines()]
        assert {len(row) for row in rows} == {6}
        by_query: dict[str, list[list[str]]] = {}
        for row in rows:
            by_query.setdefault(row[0], []).append(row)
        assert set(by_query) == {q["query_id"] for q in scores["per_query"]}
        for ranked in by_query.values():
            assert [int(row[3]) for row in ranked] == list(range(1, 60))
            values = [float(row[4]) for row in ranked]
            assert values == sorted(values, reverse=True)
        run = list(ir_measures.read_trec_run(str(runs / f"{name}.run")))
        theirs = ir_measures.calc_aggregate([ir_measures.nDCG @ 20], qrels, run)
        assert theirs[ir_measures.nDCG @ 20] == pytest.approx(scores["metrics"]["nDCG@20"])


def test_a_collection_is_indexed_once(evaluated: tuple[Path, Path, Any], collection: Path) -> None:
    home = evaluated[0]
    before = run_inside(home, "corpora", "--json").stdout
    again = run_inside(home, "evaluate", collection, "--systems", "dense", "--json").json
    assert again["systems"]["dense"]["metrics"] == evaluated[2]["systems"]["dense"]["metrics"]
    assert run_inside(home, "corpora", "--json").stdout == before


def test_steer_reaches_the_systems_that_take_it(
    evaluated: tuple[Path, Path, Any], collection: Path
) -> None:
    home, _, found = evaluated
    options = ("--systems", "aspect,dense", "--steer", "0", "--json")
    level = run_inside(home, "evaluate", collection, *options).json["systems"]
    assert found["systems"]["aspect"]["metrics"]["p-MRR"] > 0.0
    assert level["aspect"]["metrics"]["p-MRR"] == 0.0
    assert level["dense"]["metrics"] == found["systems"]["dense"]["metrics"]


def test_evaluate_prints_a_table_with_one_row_per_system(
    evaluated: tuple[Path, Path, Any], collection: Path
) -> None:
    run = run_inside(evaluated[0], "evaluate", collection, "--systems", "bm25,dense")
    assert (run.code, run.stderr) == (0, "")
    head, columns, *rows = filter(None, run.stdout.splitlines())
    assert "12 queries" in head
    assert all(measure in columns for measure in MEASURES)
    assert [row.split()[0] for row in rows] == ["bm25", "dense"]
    dense = evaluated[2]["systems"]["dense"]["metrics"]["nDCG@20"]
    assert f"{dense:.3f}" in rows[1]


def test_topics_without_documents_are_evaluated_on_a_corpus_that_has_them(
    evaluated: tuple[Path, Path, Any], collection: Path, tmp_path: Path
) -> None:
    for name in ("topics.jsonl", "qrels.txt", "collection.json"):
        (tmp_path / name).write_bytes((collection / name).read_bytes())
    options = ("--corpus", "small", "--systems", "dense", "--json")
    found = run_inside(evaluated[0], "evaluate", tmp_path, *options).json
    assert found["corpus"] == "small"
    theirs = evaluated[2]["systems"]["dense"]["metrics"]
    assert found["systems"]["dense"]["metrics"] == theirs


FACTS = (
    ("frogs", "Frogs sing at dusk near the pond.", "Which animals sing at dusk?"),
    ("tax", "The tax return is due in April.", "When do I hand in my tax return?"),
    ("bread", "Rye bread needs a sour dough.", "What does one need for rye bread?"),
)


def test_a_beir_folder_is_evaluated_on_its_own_documents(tmp_path: Path) -> None:
    folder = tmp_path / "tiny.beir"
    write_lines(folder / "corpus.jsonl", ({"_id": i, "title": "", "text": d} for i, d, _ in FACTS))
    queries = [{"_id": f"q-{i}", "text": q} for i, _, q in FACTS]
    write_lines(folder / "queries.jsonl", [*queries, {"_id": "unjudged", "text": "Who?"}])
    judged = "".join(f"q-{i}\t{i}\t1\n" for i, _, _ in FACTS)
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    run = run_inside(tmp_path / "home", "evaluate", folder, "--systems", "bm25,dense", "--json")
    assert (run.code, run.stderr) == (0, "")
    assert run.json["queries"] == 3
    assert {s["metrics"]["RR"] for s in run.json["systems"].values()} == {1.0}
    assert run.json["systems"]["dense"]["metrics"]["p-MRR"] is None


def test_an_impliret_file_is_evaluated_with_the_rows_ids_as_queries_and_documents(
    tmp_path: Path,
) -> None:
    path = tmp_path / "A_Uni.csv"
    with path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["id", "tuple_set_id", "pos_document", "question", "answer", "explicit_hint"])
        rows.writerows([i, 0, d, q, "secret", "hint"] for i, d, q in FACTS)
    runs = tmp_path / "runs"
    options = ("--systems", "dense", "--run-out", runs, "--json")
    run = run_inside(tmp_path / "home", "evaluate", path, *options)
    assert (run.code, run.stderr) == (0, "")
    assert run.json["systems"]["dense"]["metrics"]["RR"] == 1.0
    first = {
        row[0]: row[2]
        for row in map(str.split, (runs / "dense.run").read_text().splitlines())
        if row[3] == "1"
    }
    assert first == {i: i for i, _, _ in FACTS}


# --- doctor -----------------------------------------------------------------------------------


class Endpoint(BaseHTTPRequestHandler):
    """A language model endpoint that knows one key."""

    def do_GET(self) -> None:
        known = self.headers["Authorization"] == "Bearer sk-secret"
        self.send_response(200 if known and self.path == "/v1/models" else 401)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_the_doctor_names_home_packages_and_model_and_is_happy_without_an_endpoint(
    demo_home: Path,
) -> None:
    checked = run_inside(demo_home, "doctor", "--json")
    assert (checked.code, checked.stderr) == (0, "")
    by_name = {check["name"]: check for check in checked.json}
    assert by_name["home"]["ok"]
    assert str(demo_home) in by_name["home"]["detail"]
    assert by_name["embedded model"]["ok"]
    assert "all-MiniLM-L6-v2" in by_name["embedded model"]["detail"]
    assert by_name["lancedb"]["ok"]
    assert not by_name["LLM endpoint"]["ok"]
    assert "OPENAI_BASE_URL" in by_name["LLM endpoint"]["detail"]
    printed = run_inside(demo_home, "doctor")
    assert printed.code == 0
    assert len(printed.stdout.splitlines()) == len(checked.json)


def test_the_doctor_reaches_the_endpoint_and_never_shows_the_key(
    demo_home: Path, endpoint: str
) -> None:
    keys = {"OPENAI_BASE_URL": endpoint, "OPENAI_API_KEY": "sk-secret"}
    checked = run_inside(demo_home, "doctor", "--json", **keys)
    (check,) = (c for c in checked.json if c["name"] == "LLM endpoint")
    assert check["ok"]
    assert endpoint in check["detail"]
    assert "sk-secret" not in checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("url", "key", "said"),
    [
        (None, "sk-wrong", "401"),
        ("http://127.0.0.1:1/v1", "", "does not answer"),
        ("localhost", "", "not a web address"),
        ("ftp://example.invalid", "", "not a web address"),
    ],
)
def test_the_doctor_says_what_is_wrong_with_an_endpoint(
    url: str | None, key: str, said: str, demo_home: Path, endpoint: str
) -> None:
    keys = {"OPENAI_BASE_URL": url or endpoint, "OPENAI_API_KEY": key}
    checked = run_inside(demo_home, "doctor", "--json", **keys)
    (check,) = (c for c in checked.json if c["name"] == "LLM endpoint")
    assert not check["ok"]
    assert said in check["detail"]
    assert checked.code == 0


def test_the_doctor_finds_a_home_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    checked = run_inside(tmp_path / "file", "doctor", "--json")
    (home,) = (c for c in checked.json if c["name"] == "home")
    assert (checked.code, home["ok"]) == (1, False)
    assert "SEEDLENS_HOME" in home["detail"]
