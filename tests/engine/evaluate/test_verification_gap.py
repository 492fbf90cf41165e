"""The retrieval-verification gap: two bounds around what the best system could do."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.evaluate.verification_gap import check_gap, prepare, verify_and_measure
from engine.llm.client import complete
from engine.rerank.candidates import merged
from engine.types.corpora import ImportRequest
from engine.types.reranking import Gap, GapRequest
from engine.types.scenarios import ScenarioRequest
from tests.fakes.model_sessions import connection, session
from tests.fakes.small_corpus import write_collection
from tests.support import make_explorer

SYSTEMS, SIZES = ("bm25", "dense"), (5, 20)
REQUEST = GapRequest("lab", "pointwise", SYSTEMS, SIZES, sample=1)


@pytest.fixture
def baseline(tiny, collection):
    return prepare(tiny.searcher("lab"), collection, REQUEST)


Verify = Callable[..., Gap]


@pytest.fixture
def verify(baseline, pool_server, store):
    """What a model at the server makes of the pools."""
    return lambda **more: (
        complete(
            connection(pool_server.url, **more), store, lambda c: verify_and_measure(baseline, c)
        ).value
    )


def test_pools_hold_what_they_are_asked_to_and_infused_ones_all_that_is_relevant(baseline):
    pools = list(baseline.pools())
    assert len(pools) == 2 * len(SIZES) * 3
    for pool in pools:
        relevant = set(baseline.relevant(pool.query_id))
        assert len(set(pool.doc_ids)) == len(pool.doc_ids)
        if pool.infused:
            assert relevant <= set(pool.doc_ids)
            assert len(pool.doc_ids) <= pool.size + len(relevant)
        else:
            assert len(pool.doc_ids) == pool.size


def test_the_order_of_a_pool_does_not_tell_what_was_put_in(baseline):
    places = []
    for pool in baseline.pools():
        found = merged([by[pool.query_id].doc_ids for by in baseline.rankings.values()], pool.size)
        last = len(pool.doc_ids) - 1
        places += [i / last for i, d in enumerate(pool.doc_ids) if d not in set(found)]
    assert len(places) > 10
    assert 0.3 < sum(places) / len(places) < 0.7
    again = list(baseline.pools())
    assert again == list(baseline.pools())


def test_a_perfect_verifier_reaches_the_top_where_everything_relevant_is_in_the_pool(verify):
    found = verify()
    assert [p.size for p in found.points] == [5, 20]
    assert set(found.retrievers) == set(SYSTEMS)
    best = max(found.retrievers.values())
    for point in found.points:
        assert point.upper >= point.lower
        assert point.upper > best
        assert found.gap(point) == (point.lower - best, point.upper - best)
        assert point.documents == point.size <= point.documents_infused
        assert 0 < (point.found or 0) < 1
    assert found.points[1].lower > found.points[0].lower, "a larger pool holds more to verify"
    assert found.points[1].upper > 0.9
    assert found.report.unanswered == 0
    assert found.report.depth == 20
    assert found.notes == ()


def test_what_the_verifier_did_not_answer_is_said_where_the_run_came_to_its_end(
    verify, pool_server
):
    pool_server.behaviour.faults = {"prose": 0.3}
    found = verify()
    assert found.report.stopped == ""
    assert found.report.unread > 0
    assert any("too low" in note for note in found.notes)


def test_a_gap_is_kept_for_the_judgments_and_scenarios_that_it_was_measured_with(
    tmp_path, pool_server
):
    folder = write_collection(tmp_path / "own")
    explorer = make_explorer(tmp_path / "own-home")
    explorer.library.import_documents(ImportRequest(folder, "own"))
    explorer.scenarios.run(ScenarioRequest("own", "extractive", limit=3))
    request = replace(REQUEST, collection="own", systems=("scenario",), sizes=(5,))
    qrels, endpoint = folder / "qrels.txt", session(pool_server)
    model = explorer.evaluations.model(endpoint)
    before = qrels.read_text(encoding="utf-8")

    def judge(progress):
        if progress.phase.startswith("Verifying"):
            qrels.write_text(before[: before.rindex("\n", 0, -1) + 1], encoding="utf-8")

    assert explorer.gaps.run(request, endpoint=endpoint, tell=judge).result is not None
    assert explorer.gaps.find(request, model) is None, "somebody judged meanwhile"
    qrels.write_text(before, encoding="utf-8")
    assert explorer.gaps.find(request, model) is not None
    explorer.scenarios.set_weight("own", 0.0)
    assert explorer.gaps.find(request, model) is None


def test_what_cannot_be_measured_is_refused():
    for unknown in ({"verifier": "best"}, {"systems": ("none",)}):
        with pytest.raises(UnknownNameError):
            check_gap(replace(REQUEST, **unknown))  # type: ignore[arg-type]
    for bad in ({"sizes": (0,)}, {"sizes": ()}, {"systems": ()}):
        with pytest.raises(BadInputError):
            check_gap(replace(REQUEST, **bad))
