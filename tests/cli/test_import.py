"""``seedlens import`` of PDFs, data sets by name and services, and ``seedlens update``."""

import json
import shutil
from pathlib import Path

import pytest

from engine.types.corpora import ImportRequest
from tests.cli.command_line import run_inside
from tests.fakes import pdfs
from tests.fakes.data_sets import small_data_sets
from tests.fakes.service_server import Paper, serving_papers
from tests.support import make_explorer


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "papers"
    folder.mkdir()
    for made in (pdfs.made("acl-1"), pdfs.made("elsevier")):
        (folder / f"{made.name}.pdf").write_bytes(made.content)
    (folder / "empty.pdf").write_bytes(b"")
    return folder


def test_a_folder_of_papers_is_imported_and_extended(home, folder):
    done = run_inside(home, "import", folder, "--name", "mine")
    assert "'mine' holds 2 documents: 2 added" in done.stdout
    assert done.stderr.strip().endswith("Warning: Left out: empty.pdf: the file is empty.")
    made = pdfs.made("elsevier")
    document = make_explorer(home).document("mine", "elsevier")
    assert (document.title, document.year, document.text) == (made.title, 2016, made.abstract)
    assert set(document.authors) == set(made.authors)

    (folder / "empty.pdf").write_bytes(pdfs.made("plos").content)
    done = run_inside(home, "import", folder, "--name", "mine")
    assert "'mine' holds 3 documents: 1 added, 0 updated, 2 unchanged" in done.stdout


def test_a_path_is_that_of_the_folder_in_which_it_is_named(home, folder, monkeypatch):
    parent, source = folder.parent, Path("papers.zip")
    (folder / "empty.pdf").unlink()
    shutil.make_archive(str(parent / "papers"), "zip", folder)
    monkeypatch.chdir(parent)
    done = run_inside(home, "import", source, "--name", "one")
    assert "'one' holds 2 documents" in done.stdout
    assert "Left out" not in done.stderr
    assert ImportRequest(source, "one").source == parent / source
    assert make_explorer(home).library.preview(ImportRequest(source, "one")).documents


def test_a_corpus_is_renamed_and_a_record_edited(home, tmp_path):
    source = tmp_path / "a.ris"
    source.write_text("TY  - JOUR\nID  - a\nTI  - Bees\nAB  - We count bees.\nT2  - Old\nER  - \n")
    assert run_inside(home, "import", source, "--name", "My papers").code == 0
    assert (
        "'My papers' is now called 'Bees 2024'"
        in run_inside(home, "rename", "My papers", "Bees 2024").stdout
    )
    done = run_inside(home, "edit", "Bees 2024", "a", "--set", "venue=Nature", "--set", "year=2024")
    assert done.stdout == "venue, year of 'a' in 'Bees 2024' changed.\n"
    said = run_inside(home, "export", "Bees 2024", "--format", "csl-json").stdout
    assert [(one["container-title"], one["issued"]) for one in json.loads(said)] == [
        ("Nature", {"date-parts": [[2024]]})
    ]
    assert (
        "'Bees 2024' holds 1 document" in run_inside(home, "import", "Bees 2024", "--undo").stdout
    )
    assert json.loads(run_inside(home, "corpora", "--json").stdout)[0]["title"] == "Bees 2024"
    assert run_inside(home, "edit", "My papers", "a").code == 2
    assert run_inside(home, "rename", "Bees 2024", "a/b").code == 2


def test_a_data_set_by_name_is_a_collection_for_evaluate_at_once(home, tmp_path):
    pytest.importorskip("ir_datasets", reason="the extra 'datasets' is not installed")
    with small_data_sets(tmp_path):
        done = run_inside(home, "import", "ir:small")
        again = run_inside(home, "import", "ir:small")
    assert "'small' holds 4 documents: 4 added" in done.stdout
    assert "0 added, 0 updated, 4 unchanged" in again.stdout
    (info,) = make_explorer(home).collections.all()
    assert (info.key, info.queries, info.problem) == ("small", 1, "")
    library = make_explorer(home).library
    assert library.source_name(library.corpus("small").source) == "ir:small"


@pytest.fixture
def services():
    with serving_papers(30) as server:
        yield server


def test_a_service_stands_in_place_of_a_file_and_is_asked_again_for_an_update(
    home, services, tmp_path
):
    def run(*args):
        said = run_inside(home, *args, **services.environment)
        return said.code, said.stdout, said.stderr

    code, said, _ = run("import", "openalex:Everything", "--limit", 20)
    assert code == 0
    assert "'openalex-Everything' holds 20 documents: 20 added" in said
    code, said, warned = run("update", "openalex-Everything", "--json")
    assert code == 0
    assert '"unchanged": 20' in said
    assert "the limit of 20 leaves the rest out" in warned

    ids = tmp_path / "ids.txt"
    ids.write_text(f"{Paper(1).sha}\n{Paper(2).sha}, DOI:10.5555/none\n", encoding="utf-8")
    code, said, warned = run("import", f"s2:@{ids}", "--name", "two")
    assert code == 0
    assert "'two' holds 2 documents" in said
    assert "1 id does not exist at Semantic Scholar: DOI:10.5555/none." in warned

    # Another query makes no corpus of the same name without being told to.
    code, _, said = run("import", "openalex:Everything!")
    assert code == 2
    assert "A corpus called openalex-Everything is there already" in said
    code, said, _ = run("corpora", "--json")
    [_, two] = json.loads(said)
    [source] = two["services"]
    assert source["query"].startswith("s2:000")
    assert source["documents"] == 2
