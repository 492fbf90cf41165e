"""The names that scripts and notebooks import, and results as data frames."""

import ast
import importlib

import pandas as pd
import pytest

import engine
from engine import Comparison, ComparisonRequest, Query, read_collection
from engine.config import ROOT
from tests.support import make_explorer


def test_every_public_name_is_there_and_documented():
    described = (ROOT / "docs" / "python.md").read_text("utf-8")
    for name in engine.__all__:
        assert getattr(engine, name).__name__ == name
        assert f"`{name}`" in described
    assert {*engine.__all__, "__version__"} <= set(dir(engine))
    with pytest.raises(AttributeError, match="no attribute 'Explorers'"):
        engine.Explorers  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("engine.Explorer")


def test_type_checkers_see_the_same_names_as_programs():
    tree = ast.parse((ROOT / "engine" / "__init__.py").read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = {
        (node.module, alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {(module, name) for name, module in engine._MODULE_OF.items()}
    public = sorted(name for _, name in imported if not name.startswith("_"))
    assert public == engine.__all__


def test_results_as_a_frame_have_a_row_each(small):
    found = small.search(Query("small", seed="bees-network", aspect="method", k=5))
    frame = found.to_frame()
    assert list(frame["doc_id"]) == [r.doc_id for r in found.results]
    assert list(frame["rank"]) == [1, 2, 3, 4, 5]
    assert list(frame["rank_change"]) == [r.rank_change for r in found.results]
    assert frame.loc[0, "passage"] == found.results[0].evidence[0].doc_text
    assert frame["similarity"].dtype == float


def test_comparisons_as_a_frame_have_a_rank_per_wording(small):
    variants = small.comparing.presets("small", "method")
    comparison = small.comparing.compare(
        ComparisonRequest("small", "bees-network", None, "method", variants)
    )
    assert isinstance(comparison, Comparison)
    frame = comparison.to_frame()
    assert list(frame.columns) == ["title", *(v.name for v in variants)]
    assert frame["base"].is_monotonic_increasing
    for doc_id, row in frame.iterrows():
        assert tuple(row[1:]) == comparison.ranks_of(str(doc_id))
        assert row["title"] == comparison.titles[str(doc_id)]


@pytest.fixture(scope="module")
def lab(lab_home):
    return make_explorer(lab_home)


@pytest.fixture(scope="module")
def evaluation(lab, lab_source):
    return lab.evaluate(read_collection(str(lab_source)), ["bm25", "aspect"], sample=2)


def test_evaluations_as_a_frame_are_systems_by_measures(evaluation):
    frame = evaluation.to_frame()
    assert (list(frame.index), frame.index.name) == (["bm25", "aspect"], "system")
    assert set(frame.dtypes) == {pd.Series([0.5]).dtype}
    assert frame.loc["aspect", "nDCG@20"] == evaluation.systems["aspect"].metrics["nDCG@20"]


def test_the_mean_of_the_queries_of_an_evaluation_is_its_measure(evaluation):
    per_query = evaluation.to_frame(per_query=True)
    assert len(per_query) == 2 * evaluation.queries
    means = per_query.groupby(level="system")["nDCG@20"].mean()
    assert means.to_dict() == pytest.approx(evaluation.to_frame()["nDCG@20"].to_dict())


def test_rankings_as_a_frame_have_ranks_from_1(evaluation):
    ranking = evaluation.rankings["bm25"][0]
    frame = ranking.to_frame()
    assert list(frame.columns) == ["query_id", "doc_id", "rank", "score"]
    assert set(frame["query_id"]) == {ranking.query_id}
    assert list(frame["doc_id"]) == list(ranking.doc_ids)
    assert list(frame["rank"]) == list(range(1, len(ranking.doc_ids) + 1))


def test_sensitivity_as_a_frame_has_a_row_per_system_and_wording(lab, lab_source):
    found = lab.sensitivity(read_collection(lab_source), ["dense"], ["base", "generic"])
    frame = found.to_frame()
    assert list(frame.index) == [("dense", "base"), ("dense", "generic")]
    assert frame.loc[("dense", "base"), "nDCG@20"] == found.systems[0].rows[0].metrics["nDCG@20"]
    assert frame.loc[("dense", "generic"), "rbo"] == 1.0  # dense does not read the wording
