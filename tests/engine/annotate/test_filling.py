"""A pool is filled in the background: it says how far it is, can be cancelled, and goes on."""

from dataclasses import replace

import pytest

from engine.errors import BadInputError
from engine.lenses.definitions import POSTS
from engine.types.annotating import PoolRequest, Project
from engine.types.corpora import ImportRequest
from engine.types.searches import Query, Ranking
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import ended, write_jsonl

SEEDS = ("bees-network", "bread-network", "tides-network", "maps-survey")
REQUEST = PoolRequest(("bm25", "dense"), 5)


def filled(explorer, project):
    return ended(lambda: explorer.annotation.filling.jobs.latest(project.key))


@pytest.fixture
def project(small_copy):
    project = small_copy.annotation.save(Project("small", "p"), "lead")
    asked = [Query("small", seed=seed, aspect="method") for seed in SEEDS]
    small_copy.annotation.add_queries(project, asked)
    return project


def test_a_pool_is_filled_query_by_query_and_what_failed_is_said(small_copy, project):
    filling, ids = small_copy.annotation.filling, list(small_copy.annotation.queries(project))
    assert filling.jobs.latest(project.key) is None
    filling.start(project, REQUEST, ids)
    job = filled(small_copy, project)
    assert (job.state, job.progress.done) == ("done", len(SEEDS))
    assert job.report is not None
    assert job.report.added == len(small_copy.annotation.pool(project)) > 0
    filling.start(project, PoolRequest(("nonsense",), 5), ids)
    job = filled(small_copy, project)
    assert job.state == "failed"
    assert "nonsense" in job.error


def test_a_kill_costs_the_query_at_hand_and_no_queries_are_not_all(small_copy, project):
    annotation, ids = small_copy.annotation, list(small_copy.annotation.queries(project))
    assert annotation.fill_pool(project, REQUEST, []) == 0
    assert annotation.pool(project) == []

    def die():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        annotation.fill_pool(project, REQUEST, on_query=die)
    assert {item.query_id for item in annotation.pool(project)} == {ids[0]}


def test_a_query_whose_seed_left_the_corpus_is_named_and_the_others_are_pooled(
    small_copy, project, tmp_path
):
    annotation = small_copy.annotation
    gone, *others = annotation.queries(project)
    left = [one for one in DOCUMENTS if one["doc_id"] != SEEDS[0]]
    small_copy.library.delete("small")
    source = write_jsonl(tmp_path / "left.jsonl", left)
    small_copy.library.import_documents(ImportRequest(source, "small"))
    assert annotation.unaskable(project) == (gone,)
    annotation.filling.start(project, REQUEST, [gone, *others])
    job = filled(small_copy, project)
    assert job.report is not None
    assert (job.state, job.report.left) == ("done", 0)
    assert {item.query_id for item in annotation.pool(project)} == {*others}
    assert annotation.fill_pool(project, replace(REQUEST, depth=6)) > 0
    brought = PoolRequest((), runs={"mine": [Ranking(gone, ("emoji",), (1.0,))]})
    assert annotation.fill_pool(project, brought) == 1, "a run needs no seed"
    (bm25,) = annotation.unjudged(project, ("bm25",))
    assert {*bm25.missing} == {*others}
    assert {q for q, _ in annotation.share(project, "Ada", "tab").next} == {*others}
    small_copy.library.set_lens("small", POSTS)
    assert annotation.unaskable(project) == (gone, *others), "nor an aspect that left the lens"
    assert annotation.share(project, "Ada", "tab").next == []


def test_it_is_cancelled_after_the_query_at_hand_and_runs_once_at_a_time(small_copy, project):
    filling = small_copy.annotation.filling
    first, *_ = small_copy.annotation.queries(project)
    job_id = filling.start(project, REQUEST, [first] * 5_000)
    with pytest.raises(BadInputError, match="being filled already"):
        filling.start(project, REQUEST, [first])
    filling.jobs.cancel(job_id)
    job = filled(small_copy, project)
    assert job.state == "cancelled"
    assert job.report is not None
    assert job.report.left > 0
    assert job.report.left + job.report.queries == 5_000
