"""What the ``seedlens`` command does with input that it cannot use.

Exit code 2, one line on stderr that says where and what to do, nothing on stdout, and a home
as it was before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config import DEMO, Settings
from tests.cli.command_line import run_inside, run_process, write_lines
from tests.cli.refusals import assert_refusal, assert_refused

SEED = "demo-0001"
GOOD = {"id": "a", "text": "Frogs sing at dusk."}


# --- import -----------------------------------------------------------------------------------

FILES: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "empty": ("a.jsonl", b"", ("a.jsonl", "is empty", "Choose a file")),
    "not UTF-8": (
        "a.jsonl",
        b'{"id": "a", "text": "x"}\n{"id": "b", "text": "caf\xe9"}\n',
        ("a.jsonl", "line 2", "UTF-8", "--encoding"),
    ),
    "broken JSON": (
        "a.jsonl",
        b'{"id": "a", "text": "x"}\n\n{"id": "b", "text"\n',
        ("a.jsonl", "row 3", "JSON object per line"),
    ),
    "JSON that is no object": ("a.jsonl", b'["a", "x"]\n', ("a.jsonl", "row 1", "JSON object")),
    "no id": (
        "a.jsonl",
        b'{"id": "a", "text": "x"}\n{"text": "y"}\n',
        ("a.jsonl", "row 2", "no id", "Fill it in"),
    ),
    "no id column": ("a.jsonl", b'{"text": "y"}\n', ("a.jsonl", "row 1", "'doc_id'")),
    "no text": (
        "a.jsonl",
        b'{"id": "a", "text": "x"}\n{"id": "b"}\n',
        ("a.jsonl", "row 2", "no text", "Fill it in"),
    ),
    "empty text": (
        "a.jsonl",
        b'{"id": "a", "text": "  \\n"}\n',
        ("a.jsonl", "row 1", "text is empty", "remove the row"),
    ),
    "an id twice": (
        "a.jsonl",
        b'{"id": "a", "text": "x"}\n{"id": "b", "text": "y"}\n{"id": "a", "text": "z"}\n',
        ("row 3", "'a'", "row 1", "a different id"),
    ),
    "5 MB": (
        "a.jsonl",
        b'{"id": "a", "text": "%s"}\n' % (b"frogs " * 850_000),
        ("a.jsonl", "row 1", "5100000", "1000000", "SEEDLENS_MAX_DOCUMENT_CHARS"),
    ),
    "no rows": ("a.csv", b"id,text\n", ("a.csv", "0 rows", "at least one row")),
    "blank lines": ("a.jsonl", b"\n\n  \n", ("a.jsonl", "0 rows")),
    "an open quote": ("a.csv", b'id,text\na,x\nb,"y\n', ("a.csv", "row 2", "never closed")),
    "too many fields": ("a.csv", b"id,text\na,x,y\n", ("a.csv", "row 1", "3 fields", "Quote")),
    "unknown ending": ("a.docx", b"PK\x03\x04", ("a.docx", ".docx", "jsonl")),
    "not Parquet": ("a.parquet", b"id,text\na,b\n", ("a.parquet", "CSV or JSON Lines")),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_with_a_fault_is_refused_whole(case: str, tmp_path: Path) -> None:
    name, content, says = FILES[case]
    (tmp_path / name).write_bytes(content)
    options = ("--encoding", "utf-8") if case == "not UTF-8" else ()
    command = ("import", tmp_path / name, "--name", "n", *options)
    assert_refused(tmp_path / "home", *command, says=says)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("SEEDLENS_HOME", "~nobody-of-that-name/home"),
        ("SEEDLENS_IMPORT_ROOTS", "~nobody-of-that-name"),
        ("SEEDLENS_THREADS", "9" * 30),
        ("SEEDLENS_LEDGER_WAIT_SECONDS", "inf"),
        ("SEEDLENS_LLM_TIMEOUT_SECONDS", "1e400"),
    ],
)
def test_a_setting_that_nothing_can_work_with_is_named(
    setting: str, value: str, tmp_path: Path
) -> None:
    assert_refusal(run_inside(tmp_path / "home", "corpora", **{setting: value}), (setting,))
    assert not (tmp_path / "home").exists()


def test_the_folder_of_all_users_is_no_home_and_stays_open_to_them(tmp_path: Path) -> None:
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    assert_refusal(run_inside(shared, "corpora"), ("tmp", "SEEDLENS_HOME"))
    assert shared.stat().st_mode & 0o7777 == 0o1777
    assert not list(shared.iterdir())


MESSY = (
    "sep=;\r\nID;Title;Abstract;DOI\r\n"
    "a;Größe;Wir zählen „Bienen“.;10.1000/A\r\n;;;\r\n"
    "b;Nur ein Titel;;\r\nc;;;\r\n"
    ";Ohne Id;Text ohne Id.;https://doi.org/10.1000/X\r\n;Ohne alles;Text.;\r\n"
    "a;Größe;Wir zählen „Bienen“ mit Netzen.;\r\nd;zu;viele;Felder;hier\r\n"
)


def test_the_options_that_an_error_names_get_a_messy_file_in(tmp_path: Path) -> None:
    home, source = tmp_path / "home", tmp_path / "papers.csv"
    source.write_bytes(MESSY.encode("cp1252"))
    command = ["import", source, "--name", "n", "--json"]
    for option, *more in (
        ("--skip-empty",),
        ("--title-as-text",),
        ("--ids-from-doi",),
        ("--number-ids",),
        ("--duplicates", "merge"),
        ("--skip-broken",),
    ):
        assert_refused(home, *command, says=(option,) if option != "--title-as-text" else ())
        command += [option, *more]
    done = run_inside(home, *command)
    assert done.code == 0
    assert done.json["documents"] == 4
    assert done.json["encoding"] == "Windows-1252 (Western Europe)"
    for words in ("left out: row 3 (line 6)", "was numbered: row 5 (line 8)", "was merged into"):
        assert words in done.stderr
    again = run_inside(home, *command)
    assert (again.json["unchanged"], again.json["added"]) == (4, 0)
    (found,) = run_inside(home, "search", "n", "--seed", "a", "--k", "1", "--json").json["results"]
    assert found["doc_id"] in {"b", "10.1000/x", "papers-5"}
    wrong = ("--duplicates", "drop")
    assert run_inside(home, *command[:4], *wrong).code == 2


def test_a_fault_behind_thousands_of_good_rows_leaves_nothing_behind(tmp_path: Path) -> None:
    rows = [{"id": str(i), "text": f"Frog {i} sings."} for i in range(3000)]
    source = write_lines(tmp_path / "a.jsonl", [*rows, {"id": "last"}])
    home = tmp_path / "home"
    assert_refused(home, "import", source, "--name", "n", says=("row 3001",))
    assert not list((home / "corpora").iterdir())


def test_a_faulty_update_leaves_the_corpus_as_it_was(tmp_path: Path) -> None:
    home, source = tmp_path / "home", write_lines(tmp_path / "a.jsonl", [GOOD])
    assert run_inside(home, "import", source, "--name", "n").code == 0
    write_lines(source, [{**GOOD, "text": "Changed."}, {"id": "b"}])
    assert_refused(home, "import", source, "--name", "n", says=("row 2", "no text"))
    search = ("search", "n", "--text", "frogs", "--json")
    (result,) = run_inside(home, *search).json["results"]
    assert result["evidence"][0]["doc_text"] == GOOD["text"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nowhere.jsonl", ("nowhere.jsonl", "does not exist")),
        ("", ("unknown layout", "corpus.jsonl")),
        ("x" * 300, ("File name too long",)),
    ],
    ids=["nothing there", "a folder of something else", "no name of a file"],
)
def test_a_path_without_documents_is_refused(
    path: str, says: tuple[str, ...], tmp_path: Path
) -> None:
    assert_refused(tmp_path / "home", "import", tmp_path / path, "--name", "n", says=says)


@pytest.mark.parametrize("name", ["a/b", "../a", "a.b", ".", "", "a b", "x" * 65])
def test_a_name_that_could_lead_out_of_the_home_is_refused(name: str, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "a.jsonl", [GOOD])
    says = (repr(name)[:40], "letters, digits")
    assert_refused(tmp_path / "home", "import", source, "--name", name, says=says)
    assert {p.name for p in tmp_path.iterdir()} == {"a.jsonl", "home"}


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "a.jsonl", [GOOD])
    options = ("--name", "n", "--format", "docx")
    assert_refused(tmp_path / "home", "import", source, *options, says=("'docx'", "jsonl", "beir"))


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ("doc_id", ("--map doc_id", "doc_id=")),
        ("doc_id=", ("--map doc_id=",)),
        ("flavour=id", ("'flavour'", "doc_id, title, text")),
        ("text=body", ("'body'", "id, text")),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(
    mapping: str, says: tuple[str, ...], tmp_path: Path
) -> None:
    source = write_lines(tmp_path / "a.jsonl", [GOOD])
    options = ("--name", "n", "--map", mapping)
    assert_refused(tmp_path / "home", "import", source, *options, says=says)


def test_a_model_that_is_not_there_is_refused(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "a.jsonl", [GOOD])
    model = tmp_path / "no-model"
    options = ("--name", "n", "--encoder", model)
    assert_refused(
        tmp_path / "home", "import", source, *options, says=(str(model), "does not exist")
    )


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "a.jsonl", [GOOD])
    (tmp_path / "model").mkdir()
    options = ("--name", "n", "--encoder", tmp_path / "model")
    assert_refused(tmp_path / "home", "import", source, *options, says=(str(tmp_path / "model"),))


def test_a_corpus_keeps_the_model_it_was_indexed_with(
    demo_home: Path, tiny_model: Callable[[str], Path]
) -> None:
    model = tiny_model("other")
    options = ("--name", "demo", "--encoder", model)
    says = ("'demo'", "all-MiniLM-L6-v2", str(model), "new name")
    assert_refused(demo_home, "import", DEMO, *options, says=says)


@pytest.mark.nightly
def test_without_its_model_a_corpus_still_answers_what_needs_no_model(
    tmp_path: Path, tiny_model: Callable[[str], Path]
) -> None:
    home, model = tmp_path / "home", tiny_model("moved")
    source = write_lines(
        tmp_path / "a.jsonl", [{"id": i, "text": f"frogs sing {i}"} for i in "abc"]
    )
    assert run_inside(home, "import", source, "--name", "n", "--encoder", model).code == 0
    model.rename(model.with_name("elsewhere"))

    # Processes of their own: this one has the model in memory.
    pasted = run_process(home, "search", "n", "--text", "frogs", "--json")
    assert_refusal(pasted, (str(model), "does not exist", "Put it back"))
    seeded = run_process(home, "search", "n", "--seed", "a", "--aspect", "method", "--json")
    assert (seeded.code, seeded.stderr) == (0, "")
    assert {r["doc_id"] for r in seeded.json["results"]} == {"b", "c"}


# --- search -----------------------------------------------------------------------------------

SEARCHES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "unknown corpus": (("nope", "--seed", SEED), ("'nope'", "demo")),
    "unknown seed": (("demo", "--seed", "nope"), ("'nope'", "'demo'", "doc_id")),
    "unknown aspect": (
        ("demo", "--seed", SEED, "--aspect", "taste"),
        ("'taste'", "background, method, result"),
    ),
    "unknown system": (("demo", "--seed", SEED, "--system", "magic"), ("'magic'", "bm25")),
    "k of 0": (("demo", "--seed", SEED, "--k", "0"), ("k is 0", "at least 1")),
    "negative k": (("demo", "--seed", SEED, "--k", "-3"), ("k is -3", "at least 1")),
    "steer above 1": (("demo", "--seed", SEED, "--steer", "1.5"), ("1.5", "0 to 1")),
    "steer below 0": (("demo", "--seed", SEED, "--steer", "-0.1"), ("-0.1", "0 to 1")),
    "steer that is no number": (("demo", "--seed", SEED, "--steer", "nan"), ("nan", "0 to 1")),
    "neither seed nor text": (("demo",), ("one seed", "doc_id or a text")),
    "seed and text": (("demo", "--seed", SEED, "--text", "x"), ("one seed",)),
    "empty text": (("demo", "--text", ""), ("text is empty",)),
    "blank text": (("demo", "--text", " \n\t "), ("text is empty", "Paste")),
    "unreadable filter": (("demo", "--seed", SEED, "--filter", "2010"), ("'2010'", "field=value")),
    "filter without value": (("demo", "--seed", SEED, "--filter", "venue="), ("'venue='",)),
    "year that is none": (("demo", "--seed", SEED, "--filter", "year>=new"), ("'new'", "year>=")),
    "year beyond numbers": (
        ("demo", "--seed", SEED, "--filter", "year=99999999999999999999"),
        ("99999999999999999999",),
    ),
    "date that is none": (
        ("demo", "--seed", SEED, "--filter", "has.date>=soon"),
        ("'soon' is not a date", "has.date>=2010-05"),
    ),
    "order of words": (("demo", "--seed", SEED, "--filter", "venue>=A"), ("only year",)),
    "endless instruction": (
        ("demo", "--seed", SEED, "--instruction", "x" * 2001),
        ("2001", "2000", "shorter"),
    ),
}


@pytest.mark.parametrize(
    "case",
    SEARCHES,
)
@pytest.mark.parametrize("as_json", [True, False], ids=["json", "plain"])
def test_a_search_that_cannot_be_is_refused(case: str, as_json: bool, demo_home: Path) -> None:
    args, says = SEARCHES[case]
    assert_refused(demo_home, "search", *args, *(["--json"] if as_json else []), says=says)


def test_a_refusal_is_one_line_even_when_the_input_has_several(demo_home: Path) -> None:
    assert_refused(
        demo_home, "search", "demo", "--seed", "one\ntwo\r\nthree", says=("one two three",)
    )


@pytest.mark.parametrize(
    "filters", ["year>=1990;" * 1_800, f"year={'|'.join(map(str, range(3_900)))}"]
)
def test_as_many_filters_as_there_may_be_do_not_end_the_process(
    filters: str, demo_home: Path
) -> None:
    asked = ("--seed", SEED, "--system", "bm25", "--json")
    options = [part for one in filters.split(";") if one for part in ("--filter", one)]
    found = run_process(demo_home, "search", "demo", *asked, *options)
    assert found.code == 0
    assert found.json["results"]


def test_errors_of_a_real_process_go_to_stderr_alone(demo_home: Path) -> None:
    assert_refusal(run_process(demo_home, "search", "demo", "--seed", "nope"), ("'nope'",))


@pytest.mark.parametrize(
    "args",
    [
        ("search",),
        ("search", "demo", "--k", "many"),
        ("import", "x"),
        ("nonsense",),
        ("search", "--x"),
    ],
    ids=" ".join,
)
def test_a_command_line_that_cannot_be_parsed_exits_2(
    args: tuple[str, ...], demo_home: Path
) -> None:
    run = run_inside(demo_home, *args)
    assert (run.code, run.stdout) == (2, "")
    assert "Error: " in run.stderr


# --- settings ---------------------------------------------------------------------------------


def test_a_home_that_is_a_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("precious")
    says = (str(home), "SEEDLENS_HOME")
    for args in (("corpora",), ("search", "n", "--seed", "a"), ("import", DEMO, "--name", "n")):
        assert_refusal(run_inside(home, *args), says)
    assert home.read_text() == "precious"


@pytest.mark.parametrize(
    ("name", "value"),
    [("THREADS", "many"), ("SHARD_DOCUMENTS", "0"), ("LEDGER_WAIT_SECONDS", "-1")],
)
def test_a_setting_that_cannot_be_is_refused_by_name(
    name: str, value: str, demo_home: Path
) -> None:
    for args in (("corpora", "--json"), ("search", "demo", "--seed", SEED), ("doctor",)):
        run = run_inside(demo_home, *args, **{f"SEEDLENS_{name}": value})
        assert_refusal(run, (f"SEEDLENS_{name}", f"'{value}'"))


def test_an_empty_setting_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "THREADS", "MAPS", "IMPORT_ROOTS", "LLM_DAILY_COST"):
        monkeypatch.setenv(f"SEEDLENS_{name}", "")
    settings = Settings()
    assert settings.home.name == "seedlens", "and not the folder that we are in"
    assert (settings.threads, settings.maps, settings.import_roots) == (0, True, ())


def test_the_json_of_a_refused_command_is_no_json_at_all(tmp_path: Path) -> None:
    run = run_inside(tmp_path, "search", "nope", "--seed", "a", "--json")
    with pytest.raises(json.JSONDecodeError):
        json.loads(run.stdout)
