"""``seedlens trail``, ``map``, and ``--within``."""

import csv
import json
from functools import partial

import pytest

from engine.ingest.source import open_source
from engine.lenses.definitions import RESEARCH
from engine.types.searches import Query
from tests.cli.command_line import connected, run_inside, run_json, write_lines
from tests.fakes.model_answers import MODEL, Knowledge, names
from tests.fakes.model_server import serving
from tests.support import make_explorer


def test_trails_are_listed_shown_and_exported(home, tmp_path):
    common = {"text": "Birds sing.", "authors": ["Ada Lovelace"], "venue": "Journal of Birds"}
    named = ({"doc_id": f"d{n}", "title": f"Birds {n}", "year": 2000 + n} for n in range(3))
    explorer = make_explorer(home)
    explorer.library.add("birds", [row | common for row in named])
    notebook, lists = explorer.notebook, explorer.reading_lists
    query = Query("birds", seed="d0", aspect="method")
    notebook.add_step("walk", query)
    pair = ("A seed sings.", "It sings.")
    lists.keep("", "birds", "d1", trail="walk", query=query, evidence=pair)
    lists.annotate("", "birds", "d1", "sings well")
    notebook.name_trail("walk", "Singing")

    (listed,) = run_inside(home, "trail", "list", "--json").json
    assert (listed["trail_id"], listed["name"], listed["kept"]) == ("walk", "Singing", 1)
    assert listed["seeds"] == ["Birds 0"]
    assert "Singing" in run_inside(home, "trail", "list").stdout
    shown = run_inside(home, "trail", "show", "walk").stdout
    assert "Birds 1 (2001)" in shown
    assert "> sings well" in shown
    export, out = ("trail", "export", "walk"), tmp_path / "out.ris"
    assert run_inside(home, *export).stdout.startswith("@article{lovelace2001birds")
    assert run_inside(home, *export, "--format", "ris", "--out", out).code == 0
    assert "AU  - Lovelace, Ada" in out.read_text()

    unknown = run_inside(home, "trail", "show", "nobody's")
    assert unknown.code == 2
    assert "seedlens trail list" in unknown.stderr

    call = partial(run_inside, home, "reading-list")
    assert call("add", "Waves", "birds", "d2", "--tag", "sea", "--note", "loud").code == 0
    assert call("add", "waves", "birds", "d0").code == 0
    assert call("add", "waves", "birds", "d2", "--note", "far").code == 0
    explorer.library.rename("birds", "Waves")  # a corpus may be called like a list
    assert "loud" in call("show", "Waves").stdout
    explorer.library.rename("birds", "birds")
    lists.annotate(lists.named("waves").list_id, "birds", "d2", "loud")
    first, waves = call("list", "--json").json
    assert (first["name"], first["documents"]) == ("Reading list", 1)
    assert (waves["name"], waves["documents"], waves["tags"]) == ("Waves", 2, ["sea"])
    assert "Waves" in call("list").stdout
    (one,) = call("show", "Waves", "--tag", "sea", "--json").json["documents"]
    assert (one["doc_id"], one["note"], one["tags"]) == ("d2", "loud", ["sea"])
    assert call("remove", waves["list_id"], "birds", "d0").code == 0
    exported = call("export", "waves", "--format", "ris").stdout
    assert "KW  - sea" in exported
    assert "N1  - loud" in exported
    assert exported.count("TY  -") == 1
    shown = call("show", first["list_id"]).stdout
    assert "Found from Birds 0 — similar in method" in shown
    assert "Document: “It sings.”" in shown
    for wrong in (("show", "Nothing"), ("remove", "Waves", "birds", "d0x"), ("add", "A", "b", "c")):
        refused = call(*wrong)
        assert (refused.code, refused.stdout) == (2, ""), wrong


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_an_exported_corpus_comes_back_with_all_its_fields(home, tmp_path, kind):
    rows = [
        {"doc_id": "d1", "title": "Birds, \"1\"", "text": "Birds sing.\nThey do.", "year": 2001,
         "authors": ["Ada Lovelace", "Birds and Co"], "url": "https://doi.org/10.5555/b.1",
         "journal": "Journal of Birds", "volume": 7},
        {"doc_id": "d2", "title": "", "text": "=1+1", "keywords": ["a", "b"]},
    ]  # fmt: skip
    source = write_lines(tmp_path / "birds.jsonl", rows)
    assert run_inside(home, "import", source, "--name", "birds").code == 0
    exported = run_inside(home, "export", "birds", "--format", kind)
    assert exported.code == 0, exported.stderr
    again = tmp_path / f"again.{kind}"
    again.write_text(exported.stdout, "utf-8")
    first, second = open_source(again, lens=RESEARCH)
    assert (first.doc_id, first.title, first.text) == ("d1", 'Birds, "1"', "Birds sing.\nThey do.")
    assert (first.year, first.authors) == (2001, ("Ada Lovelace", "Birds and Co"))
    assert first.url == "https://doi.org/10.5555/b.1"
    assert {name: str(value) for name, value in first.metadata.items()} == {
        "journal": "Journal of Birds", "volume": "7", "doi": "10.5555/b.1",
        "venue": "Journal of Birds",
    }  # fmt: skip
    assert (second.text, second.metadata) == ("=1+1", {"keywords": "a; b"})


def test_documents_are_exported_by_their_ids_in_every_form(home, tmp_path):
    rows = [{"doc_id": f"b{n}", "title": f"Birds {n}", "text": "They sing."} for n in range(3)]
    make_explorer(home).library.add("some", rows)
    ids = tmp_path / "ids.txt"
    ids.write_text("b2\nb0\n", "utf-8")
    for kind, begin in (("ris", "TY  -"), ("bibtex", "@"), ("csl-json", "["), ("apa", "Birds")):
        out = tmp_path / kind
        done = run_inside(home, "export", "some", "--format", kind, "--ids", ids, "--out", out)
        assert (done.code, done.stdout) == (0, ""), done.stderr
        text = out.read_text("utf-8")
        assert text.startswith(begin)
        assert ("Birds 2" in text, "Birds 1" in text) == (True, False)
    ids.write_text("b9\n", "utf-8")
    refused = run_inside(home, "export", "some", "--ids", ids)
    assert (refused.code, "no document 'b9'" in refused.stderr) == (2, True)


NAMED = ("bees-sensor", "bees-survey", "bridges-survey")


@pytest.fixture
def file(tmp_path):
    """Written on Windows, with a blank line and one id twice."""
    file = tmp_path / "ids.txt"
    lines = ["", *NAMED, NAMED[0], ""]
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    return file


def test_search_and_pool_keep_to_the_documents_of_a_file(corpus, file, tmp_path):
    search = ("search", "small", "--seed", "bees-network")
    found = run_json(corpus, *search, "--within", file)
    assert {one["doc_id"] for one in found["results"]} == set(NAMED)
    (kept,) = found["query"]["filters"]
    again = run_json(corpus, *search, "--filter", kept)
    assert again["results"] == found["results"]
    both = run_json(corpus, *search, "--within", file, "--filter", "year>=2030")
    assert both["results"] == []
    queries = tmp_path / "queries.txt"
    queries.write_text("bees-network_method\n")
    pool = ("pool", "small", "--queries", queries, "--systems", "dense")
    assert run_json(corpus, *pool, "--within", file)["items"] == 3


def test_a_map_is_computed_once_written_and_named_by_a_model(corpus, tmp_path):
    first = run_inside(corpus, "map", "small", "--output", tmp_path / "map.csv")
    assert "40 documents, 4 layouts made" in first.stdout, first.stderr
    with (tmp_path / "map.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert len([row for row in rows if row["layout"] == "document"]) == 40
    assert all(0 <= float(row["x"]) <= 1 and row["coarse"] and row["fine"] for row in rows)
    again = run_inside(corpus, "map", "small", "--output", tmp_path / "map.json")
    assert "the map is up to date" in again.stdout
    written = json.loads((tmp_path / "map.json").read_text(encoding="utf-8"))
    assert (written["corpus"], len(written["documents"])) == ("small", len(rows))

    assert run_inside(corpus, "map", "small", "--model-names").code == 2, "no model is connected"
    names_file = tmp_path / "names.csv"
    with serving(Knowledge({}, {}), handlers=[names()]) as server:
        model = connected(server)
        named = run_inside(corpus, "map", "small", "--model-names", "--output", names_file, **model)
        assert named.code == 0, named.stderr
        assert "4 calls, at most" in named.stderr
        assert f"named by {MODEL}" in named.stdout
        assert server.seen.questions == 4
    assert ",Group 1," in names_file.read_text(encoding="utf-8")
    back = run_inside(corpus, "map", "small", "--own-names", "--output", names_file)
    assert back.code == 0
    assert "Group" not in names_file.read_text(encoding="utf-8")
