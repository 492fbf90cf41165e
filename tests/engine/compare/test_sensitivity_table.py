"""How far systems obey the wording, over a whole collection."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.compare.sensitivity_table import NDCG, Begun, sensitivity
from engine.errors import BadInputError, UnknownNameError
from engine.evaluate.evaluation_run import evaluate
from engine.lenses.definitions import RESEARCH, SETS
from engine.measures.p_mrr import P_MRR
from engine.search.topics import sampled
from engine.types.comparisons import SensitivityRequest
from engine.types.evaluations import CSFCUBE_NDCG
from engine.types.models import RunProgress
from tests.support import ended

VARIANTS = {"base", "generic", "definition", "subset"} | {
    f"paraphrase-{i}" for i in range(1, len(RESEARCH.aspects[0].paraphrases) + 1)
}


@pytest.fixture(scope="module")
def six(demo_collection):
    """The demo collection with six of its seeds, from all over it, three aspects each."""
    chosen = sorted({t.seed or "" for t in demo_collection.topics})[::80]
    topics = tuple(t for t in demo_collection.topics if t.seed in chosen)
    return replace(demo_collection, topics=topics)


@pytest.fixture(scope="module")
def two(collection):
    """Two seeds of a small collection, three aspects each."""
    return replace(collection, topics=sampled(collection.topics, 2))


def rows(found, system):
    (one,) = (s for s in found.systems if s.system == system)
    return {row.variant: row for row in one.rows}


@pytest.fixture(scope="module")
def studied(explorer, six):
    """Six seeds under every wording, on a system that reads wordings and one that does not."""
    return sensitivity(explorer.searcher("demo"), six, ["dense", "aspect"])


def test_every_system_has_a_row_for_every_variant_and_a_symmetric_matrix(studied):
    assert (studied.collection, studied.corpus, studied.queries) == ("demo", "demo", 18)
    assert not studied.single_aspect
    for system in ("dense", "aspect"):
        found = rows(studied, system)
        assert set(found) == VARIANTS
        for row in found.values():
            assert set(row.by_aspect) == {"background", "method", "result"}
            values = [row.by_aspect[a][NDCG] for a in row.by_aspect]
            assert sum(values) / 3 == pytest.approx(row.metrics[NDCG])
            low, high = row.intervals[NDCG]
            assert low <= row.metrics[NDCG] <= high
    for system in studied.systems:
        for values in system.matrix.values():
            assert set(values) == VARIANTS
            for first in values:
                assert values[first][first] == 1.0
                for second in values:
                    assert values[first][second] == pytest.approx(values[second][first])
        for row in system.rows:
            assert row.metrics["rbo"] == system.matrix["rbo"]["base"][row.variant]


def test_dense_obeys_no_wording_and_changes_only_when_the_seed_is_cut(studied):
    for name, row in rows(studied, "dense").items():
        assert row.read_as_asked is None
        if name != "subset":
            assert row.metrics[P_MRR] == 0.0
            assert row.metrics["rbo"] == 1.0
        else:
            assert row.metrics[P_MRR] > 0.0
            assert row.metrics["rbo"] < 1.0


def test_aspect_obeys_every_wording_of_an_aspect_and_gains_by_it(studied):
    found = rows(studied, "aspect")
    generic = found.pop("generic")
    assert generic.read_as_asked is None
    for row in found.values():
        assert row.metrics[P_MRR] > 0.05, row.variant
        assert row.read_as_asked == 1.0, row.variant
        assert row.metrics[CSFCUBE_NDCG] > generic.metrics[CSFCUBE_NDCG], row.variant
    base = found["base"].metrics[P_MRR]
    paraphrased = [r.metrics[P_MRR] for name, r in found.items() if name.startswith("para")]
    assert sum(paraphrased) / len(paraphrased) >= 0.9 * base


def test_relevant_documents_rise_with_a_wording_and_fall_with_its_reverse_on_aspect_only(studied):
    dense, found = rows(studied, "dense"), rows(studied, "aspect")
    assert dense["base"].metrics["SICR"] == dense["base"].metrics["WISE"] == 0.0
    assert found["base"].metrics["SICR"] > 0.3
    assert found["generic"].metrics["SICR"] < 0.05, "what is first may stay there"
    assert -1.0 < found["base"].metrics["WISE"] < 1.0
    assert found["base"].metrics["WISE"] != found["generic"].metrics["WISE"]


def test_the_reverse_wording_is_a_row_where_it_is_asked_for(tiny, two):
    searcher = tiny.searcher("lab")
    found = rows(sensitivity(searcher, two, ["aspect"], ["reverse", "base"]), "aspect")
    assert list(found) == ["base", "reverse"]
    assert found["reverse"].read_as_asked == 1.0
    assert found["reverse"].metrics["SICR"] is None, "it has no reverse itself"
    assert found["reverse"].metrics[CSFCUBE_NDCG] < found["base"].metrics[CSFCUBE_NDCG]
    alone = rows(sensitivity(searcher, two, ["aspect"], ["base"]), "aspect")
    assert alone["base"].metrics == found["base"].metrics


def test_robustness_is_the_ndcg_of_the_worst_wording(studied, explorer, six):
    dense, aspect = studied.systems
    plain = evaluate(explorer.searcher("demo"), six, ["dense"]).systems["dense"]
    assert dense.robustness == pytest.approx(plain.metrics["nDCG@10"]), "all wordings rank alike"
    assert 0.0 < (aspect.robustness or 0) < 1.0


def test_a_wording_that_names_no_aspect_moves_nothing_from_aspect_to_aspect(tiny, two):
    systems = ["bm25", "instructed", "aspect", "transport"]
    for system in sensitivity(tiny.searcher("lab"), two, systems, ["generic"]).systems:
        (row,) = system.rows
        assert row.metrics[P_MRR] == 0.0, system.system
        assert {values[P_MRR] for values in row.by_aspect.values()} == {0.0}
        assert row.metrics["rbo"] is None, "there is no base to compare with"
        assert system.robustness is None, "no wording asks for the aspect"


def test_seeds_judged_for_one_aspect_have_no_p_mrr(tiny, two):
    one = replace(two, topics=tuple(t for t in two.topics if t.aspect == "method"))
    found = sensitivity(tiny.searcher("lab"), one, ["aspect"], ("base", "generic"))
    assert found.single_aspect
    assert found.queries == 2
    for row in found.systems[0].rows:
        assert (row.metrics[P_MRR], row.intervals[P_MRR]) == (None, None)
        assert row.metrics["rbo"] is not None


def test_judged_pools_are_ranked_whole_and_alone(tiny, two):
    pools = {t.query_id: tuple(sorted(two.qrels[t.query_id]))[:9] for t in two.topics}
    pooled = replace(
        two,
        topics=tuple(replace(t, pool=pools[t.query_id]) for t in two.topics),
        qrels={q: {d: two.qrels[q][d] for d in pool} for q, pool in pools.items()},
    )
    searcher = tiny.searcher("lab")
    found = sensitivity(searcher, pooled, ["bm25"], ("base", "subset"))
    assert found.queries == found.asked == 6
    assert rows(found, "bm25")["subset"].metrics["overlap@20"] == 1.0, "the same nine documents"


def test_what_has_no_wording_to_vary_is_refused(tiny, small, two):
    searcher = tiny.searcher("lab")
    plain = replace(two, topics=tuple(replace(t, aspect=None) for t in two.topics))
    with pytest.raises(BadInputError, match="No query of lab has a seed and an aspect"):
        sensitivity(searcher, plain, ["dense"])
    with pytest.raises(UnknownNameError, match=r"no set of variants 'rhymes'.*base, generic"):
        sensitivity(searcher, two, ["dense"], ["rhymes"])
    with pytest.raises(UnknownNameError, match="no system 'magic'"):
        sensitivity(searcher, two, ["magic"])
    with pytest.raises(BadInputError, match="'small' did not come from a test collection"):
        small.comparing.start_sensitivity(SensitivityRequest("small", ("dense",), SETS))


def test_the_table_of_a_corpus_is_made_in_the_background_and_can_be_stopped(explorer):
    comparing, request = explorer.comparing, SensitivityRequest("demo", ("aspect",), SETS)
    job_id = comparing.start_sensitivity(request)
    comparing.jobs.cancel(job_id)
    job = ended(lambda: comparing.find_sensitivity(request))
    assert (job.id, job.state, job.report) == (job_id, "cancelled", None)
    assert comparing.find_sensitivity(replace(request, systems=("dense",))) is None


def test_a_cancelled_table_is_of_the_queries_that_every_system_had_ranked(tiny, two):
    progress: list[RunProgress] = []
    whole = sensitivity(
        tiny.searcher("lab"), two, ["bm25", "aspect"], ("base",), tell=progress.append
    )
    assert progress[-1].done == progress[-1].total == 6 * (1 + 3), "equal rankings are made once"
    asks, begun = iter(range(99)), Begun()
    asked = (tiny.searcher("lab"), two, ["bm25", "aspect"], ("base",))
    found = sensitivity(*asked, begun=begun, cancelled=lambda: next(asks) >= 14)
    assert (found.stopped, found.queries, found.asked) == ("cancelled", 3, 6)
    assert whole.stopped == ""
    one = replace(two, topics=two.topics[:3])
    again = sensitivity(tiny.searcher("lab"), one, ["bm25", "aspect"], ("base",))
    assert [s.rows for s in again.systems] == [s.rows for s in found.systems]
    kept = sensitivity(*asked, begun=begun, cancelled=lambda: True)
    assert kept.queries == 3, "cancelled at once, the earlier queries stay"
    rest: list[RunProgress] = []
    full = sensitivity(*asked, begun=begun, tell=rest.append)
    assert [s.rows for s in full.systems] == [s.rows for s in whole.systems]
    assert rest[-1].total == 3 * (1 + 3) - 1, "only what was left"


def test_an_own_wording_is_measured_beside_the_others_on_the_queries_of_its_aspect(tiny, two):
    aspect = RESEARCH.aspects[1]
    asked = {"own": {"mine": aspect.instruction}, "aspect": aspect.key}
    found = sensitivity(tiny.searcher("lab"), two, ["aspect"], ("base", "generic"), **asked)
    table = rows(found, "aspect")
    assert found.queries == 2
    assert list(table) == ["base", "generic", "mine"]
    assert table["mine"].metrics == table["base"].metrics
    assert table["mine"].metrics[P_MRR] is not None
    assert set(table["mine"].by_aspect) == {aspect.key}
    sampled_one = sensitivity(tiny.searcher("lab"), two, ["aspect"], ("base",), sample=1)
    assert sampled_one.queries == 3
