"""The demo collection: what people who try SeedLens on it may rely on."""

import gzip
import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from engine import ImportRequest, Query
from engine.lenses.definitions import RESEARCH
from tests.support import make_explorer

DEMO = Path(__file__).resolve().parents[1] / "assets" / "demo"
SCRIPT = DEMO / "make_demo.py"
ASPECTS = ("background", "method", "result")


def _load():
    spec = importlib.util.spec_from_file_location("make_demo", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


make_demo = _load()


def _read(name):
    lines = (DEMO / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def corpus():
    return _read("corpus.jsonl")


@pytest.fixture(scope="module")
def labels():
    return {record["doc_id"]: record for record in _read("labels.jsonl")}


@pytest.fixture(scope="module")
def families():
    """Value to family, read without the script under test."""
    values = json.loads((DEMO / "values.json").read_text("utf-8"))
    return {value["id"]: value["family"] for aspect in ASPECTS for value in values[aspect]}


def test_check_accepts_what_is_shipped_and_names_what_was_changed(tmp_path, capsys):
    """--check passes on the shipped folder, and fails on a changed or missing file by name."""
    assert make_demo.main(["--check"]) == 0
    for path in DEMO.glob("*.jsonl"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "topics.jsonl").write_text("{}\n")
    capsys.readouterr()
    assert make_demo.main(["--check", "--out", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "topics.jsonl is not" in told
    assert "qrels.txt.gz is missing" in told


def test_collection_json_counts_what_is_there(corpus):
    """The description says synthetic and complete, and its counts are those of the files."""
    about = json.loads((DEMO / "collection.json").read_text("utf-8"))
    assert about["synthetic"] is True
    assert about["complete"] is True
    assert about["documents"] == len(corpus) == len({d["doc_id"] for d in corpus}) >= 300
    assert about["queries"] == len(_read("topics.jsonl"))
    assert tuple(about["aspects"]) == ASPECTS


def test_every_document_is_whole(corpus):
    """Five to eight sentences, a role for each, every role present, and no other fields."""
    fields = {"doc_id", "title", "sentences", "roles", "year", "authors", "venue"}
    for document in corpus:
        assert set(document) == fields
        assert 5 <= len(document["sentences"]) <= 8, document["doc_id"]
        assert len(document["roles"]) == len(document["sentences"])
        assert set(document["roles"]) == set(ASPECTS)
        assert 2009 <= document["year"] <= 2025
        assert 2 <= len(set(document["authors"])) == len(document["authors"]) <= 4


def test_judgments_follow_from_labels(labels, families):
    """Grade 3 for the same value, 1 for the same family, nothing else listed, never the seed."""
    expected = set()
    for seed, wanted in labels.items():
        for doc_id, offered in labels.items():
            for aspect in ASPECTS if doc_id != seed else ():
                one, other = wanted[aspect], offered[aspect]
                if families[one] == families[other]:
                    expected.add((f"{seed}_{aspect}", "0", doc_id, "3" if one == other else "1"))
    with gzip.open(DEMO / "qrels.txt.gz", "rt", encoding="utf-8") as file:
        listed = [tuple(line.split()) for line in file]
    assert len(listed) == len(set(listed))
    assert set(listed) == expected


def test_no_document_contains_its_labels(corpus, labels):
    """Search cannot see the truth: no text or field holds the id of a value of the document."""
    for document in corpus:
        text = json.dumps(document, ensure_ascii=False).lower()
        for aspect in ASPECTS:
            assert labels[document["doc_id"]][aspect] not in text, document["doc_id"]


def test_the_shipped_index_is_what_an_import_makes(demo_home, home):
    """It is of these abstracts, this model, lens, columns and rules of facts."""
    shutil.copytree(demo_home, home)
    library = make_explorer(home).library
    report = library.import_documents(ImportRequest(DEMO, "demo"))
    same = (report.unchanged, report.added, report.updated) == (480, 0, 0)
    assert same, "make it again: python assets/demo/make_demo.py --index"
    assert library.lens("demo") == RESEARCH
    assert library.is_synthetic(library.corpus("demo"))


@pytest.mark.nightly
def test_a_new_import_ranks_as_the_shipped_index(explorer, home):
    new = make_explorer(home)
    new.library.import_documents(ImportRequest(DEMO, "demo"))
    for system in explorer.systems:
        query = Query("demo", seed="demo-0232", aspect="method", system=system)
        shipped, made = (one.search(query).results for one in (explorer, new))
        assert [one.doc_id for one in made] == [one.doc_id for one in shipped]
        assert [one.score for one in made] == pytest.approx([o.score for o in shipped], abs=1e-4)


def test_the_demo_takes_no_corpus_of_its_name_and_comes_back_when_it_was_deleted(
    small_copy, small_source
):
    library = small_copy.library
    library.import_documents(ImportRequest(small_source, "demo"))
    library.add_demo()
    assert not library.is_synthetic(library.corpus("demo")), "a user's own corpus stays"
    library.delete("demo")
    library.add_demo()
    assert library.is_synthetic(library.corpus("demo"))
    assert small_copy.search(Query("demo", seed="demo-0232")).results
