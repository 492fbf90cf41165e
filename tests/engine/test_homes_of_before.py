"""A home that an earlier SeedLens wrote is read as that SeedLens read it.

The homes are in ``tests/data/home_<commit>``, each with the script that made it and with what
that version read from it.
"""

import json
import tarfile
from pathlib import Path

import duckdb
import pytest

from engine.ingest.source import open_source
from engine.lenses.definitions import RESEARCH
from engine.types.evaluations import EvaluationRequest
from engine.types.searches import Query
from tests.support import make_explorer

HOMES = sorted((Path(__file__).parents[1] / "data").glob("home_*"))
CORPUS, TRAIL = "old", "trail-of-ada"


@pytest.fixture(scope="module", params=HOMES, ids=lambda path: path.name)
def before(request, tmp_path_factory):
    """An explorer over the home as it was written, and what is expected of it."""
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(request.param / "home.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    with duckdb.connect(str(folder / "home" / "ledger.duckdb")) as ledger:  # it has moved here
        ledger.execute("UPDATE corpora SET source = ?", [str(folder / "source" / CORPUS)])
    expected = json.loads((request.param / "expected.json").read_text("utf-8"))
    return make_explorer(folder / "home"), expected


@pytest.fixture
def opened(before):
    return before[0]


@pytest.fixture
def expected(before):
    return before[1]


@pytest.fixture
def project(opened):
    return opened.annotation.project(CORPUS, "relevance")


def test_its_corpora_are_listed(opened, expected):
    listed = [[c.name, c.documents, c.state, c.lens.key] for c in opened.library.corpora()]
    assert listed == expected["corpora"]


def test_its_documents_are_ranked_as_before_where_the_system_is_the_same(opened, expected):
    assert len(expected["searches"]) == 12
    for search in expected["searches"]:
        results = search.pop("results")
        query = Query(CORPUS, **search, k=len(results) + 1)
        ranked = opened.search(query).results
        if query.system == "aspect":  # has other signals and weights now
            assert {r.document.doc_id for r in ranked} == {doc_id for doc_id, _ in results}
            continue
        assert [r.document.doc_id for r in ranked] == [doc_id for doc_id, _ in results], search
        scores = [score for _, score in results]
        # Text is encoded now: in 16 or 32 bits, as the processor is made for.
        near = 1e-4 if query.text is None else 5e-3
        assert [r.score for r in ranked] == pytest.approx(scores, abs=near), search


def test_what_was_graded_walked_and_kept_while_exploring_is_there(opened, expected, tmp_path):
    notebook = opened.notebook
    trail = notebook.trail(TRAIL)
    assert [[q.seed, q.text, q.aspect, q.system] for q in trail] == expected["trail"]
    assert notebook.grades(trail[0], "ada") == expected["grades"]
    lists = opened.reading_lists
    for kept in (lists.kept_on(TRAIL), lists.documents(TRAIL)):
        assert [[one.corpus, one.document.doc_id] for one in kept] == expected["kept"]
    assert [one.list_id for one in lists.lists()] == ["", TRAIL]
    text_id, text = expected["text"]
    assert notebook.text(text_id) == text
    assert notebook.export_trail(TRAIL, "jsonl") == expected["trail_files"]["jsonl"]
    before, now = tmp_path / "before.bib", tmp_path / "now.bib"
    before.write_text(expected["trail_files"]["bibtex"], "utf-8")
    now.write_text(notebook.export_trail(TRAIL, "bibtex"), "utf-8")
    assert _references(now) == _references(before)
    assert [one.name for one in notebook.trails()] == [""], "it is among the former trails"


def _references(path):
    return [
        (d.title, d.text, d.year, d.authors, d.metadata["venue"])
        for d in open_source(path, lens=RESEARCH)
    ]


def test_its_project_has_the_same_pool_history_and_agreement(opened, project, expected):
    assert (project.leads, project.per_item) == (("lead",), 2)
    assert list(opened.annotation.queries(project)) == expected["query_ids"]
    pool = [[item.query_id, item.doc_id] for item in opened.annotation.pool(project)]
    assert pool == expected["pool"]
    assert len(opened.annotation.history(project)) == expected["history"]
    measured = {m.name: m.value for m in opened.annotation.agreement(project).measures}
    assert measured == pytest.approx(expected["agreement"])


@pytest.mark.parametrize(("kind", "own"), [("trec", False), ("csv", False), ("jsonl", True)])
def test_its_judgments_are_exported_byte_for_byte(opened, project, expected, kind, own):
    exported = opened.annotation.exchange.export(project, kind, per_annotator=own)
    files = {name: "".join(parts) for name, parts in exported.files.items()}
    assert files == expected["exports"][kind]


def test_its_evaluation_runs_and_judgments_that_were_brought_are_shown(opened, expected):
    collections, evaluations = opened.collections, opened.evaluations
    assert sorted(c.key for c in collections.all()) == expected["collections"]
    assert [[run.name, run.queries] for run in collections.runs(CORPUS)] == expected["runs"]
    request = EvaluationRequest(CORPUS, ("dense", "bm25"))
    assert evaluations.history(CORPUS)
    assert evaluations.find(request) is None, "what rankings are made by has changed since"
    evaluation = evaluations.run(request).result.evaluation
    assert evaluation is not None
    assert set(evaluation.systems) == set(expected["evaluation"])
    for name, metrics in expected["evaluation"].items():
        assert dict(evaluation.systems[name].metrics) == pytest.approx(metrics), name
