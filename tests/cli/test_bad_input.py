"""What the ``seedlens`` command does with input that it cannot use.

Exit code 2, one line on stderr that says where and what to do, nothing on stdout, and a home
as it was before.
"""

import shutil

import pytest

from engine.config import DEMO
from tests.cli.command_line import assert_refused, run_inside, run_process, write_lines

GOOD = {"id": "a", "text": "Frogs sing at dusk."}


# --- import -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("SEEDLENS_HOME", "~nobody-of-that-name/home"),
        ("SEEDLENS_THREADS", "many"),
        ("SEEDLENS_LEDGER_WAIT_SECONDS", "-1"),
    ],
)
def test_a_setting_that_nothing_can_work_with_is_named(setting, value, tmp_path):
    assert_refused(run_inside(tmp_path / "home", "corpora", **{setting: value}), setting, value)
    assert not (tmp_path / "home").exists()


def test_the_folder_of_all_users_is_no_home_and_stays_open_to_them(tmp_path):
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    assert_refused(run_inside(shared, "corpora"), "tmp", "SEEDLENS_HOME")
    assert shared.stat().st_mode & 0o7777 == 0o1777
    assert not list(shared.iterdir())


MESSY = (
    "sep=;\r\nID;Title;Abstract;DOI\r\n"
    "a;Größe;Wir zählen „Bienen“.;10.1000/A\r\n;;;\r\n"
    "b;Nur ein Titel;;\r\nc;;;\r\n"
    ";Ohne Id;Text ohne Id.;https://doi.org/10.1000/X\r\n;Ohne alles;Text.;\r\n"
    "a;Größe;Wir zählen „Bienen“ mit Netzen.;\r\nd;zu;viele;Felder;hier\r\n"
)


def test_the_options_that_an_error_names_get_a_messy_file_in(tmp_path):
    home, source = tmp_path / "home", tmp_path / "papers.csv"
    source.write_bytes(MESSY.encode("cp1252"))
    command = ["import", source, "--name", "n", "--json"]
    options = "--skip-empty --title-as-text --ids-from-doi --number-ids --duplicates --skip-broken"
    for option in options.split():
        assert_refused(
            run_inside(home, *command), *((option,) if option != "--title-as-text" else ())
        )
        command += [option, "merge"] if option == "--duplicates" else [option]
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


def test_a_faulty_update_leaves_the_corpus_as_it_was(tmp_path):
    home, source = tmp_path / "home", write_lines(tmp_path / "a.jsonl", [GOOD])
    assert run_inside(home, "import", source, "--name", "n").code == 0
    write_lines(source, [{**GOOD, "text": "Changed."}, {"id": "b"}])
    assert_refused(run_inside(home, "import", source, "--name", "n"), "row 2", "no text")
    search = ("search", "n", "--text", "frogs", "--json")
    (result,) = run_inside(home, *search).json["results"]
    assert result["evidence"][0]["doc_text"] == GOOD["text"]


@pytest.mark.nightly
def test_without_its_model_a_corpus_still_answers_what_needs_no_model(tmp_path, tiny_model):
    home, model = tmp_path / "home", shutil.copytree(tiny_model, tmp_path / "model")
    source = write_lines(
        tmp_path / "a.jsonl", [{"id": i, "text": f"frogs sing {i}"} for i in "abc"]
    )
    assert run_inside(home, "import", source, "--name", "n", "--encoder", model).code == 0
    model.rename(model.with_name("elsewhere"))

    # Processes of their own: this one has the model in memory.
    pasted = run_process(home, "search", "n", "--text", "frogs", "--json")
    assert_refused(pasted, str(model), "does not exist", "Put it back")
    seeded = run_process(home, "search", "n", "--seed", "a", "--aspect", "method", "--json")
    assert (seeded.code, seeded.stderr) == (0, "")
    assert {r["doc_id"] for r in seeded.json["results"]} == {"b", "c"}


# --- settings ---------------------------------------------------------------------------------


def test_a_home_that_is_a_file_is_refused_and_left_alone(tmp_path):
    home = tmp_path / "home"
    home.write_text("precious")
    assert_refused(run_inside(home, "import", DEMO, "--name", "n"), str(home), "SEEDLENS_HOME")
    assert home.read_text() == "precious"
