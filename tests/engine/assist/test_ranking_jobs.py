"""Rankings by a model in the background: begun once, found again, gone with their corpus."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from pydantic import SecretStr

from engine.errors import UnknownNameError
from engine.rerank.modes import estimate
from engine.types.corpora import ImportRequest
from engine.types.reranking import RerankRequest
from tests.fakes.model_sessions import QUERY, reranked, session
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import wait_until, write_jsonl

TEN, THIRTY = RerankRequest(QUERY, "pairwise", 10), RerankRequest(QUERY, "pairwise", 30)


def test_a_job_tells_its_progress_and_its_result_says_how_far_documents_moved(small_copy, server):
    server.behaviour.latency = 0.02
    verifier = small_copy.verifier
    job_id = verifier.start(THIRTY, session(server))
    first = small_copy.search(QUERY)
    early = verifier.result(job_id)
    assert sorted(early.moves) == sorted(m for m in verifier.job(job_id).progress.order)
    job = reranked(small_copy, job_id)
    assert (job.state, job.progress.rounds) == ("done", estimate("pairwise", 30).rounds)
    found = verifier.result(job_id)
    assert not found.partial
    top = [r.doc_id for r in found.results.results]
    assert top[:4] == list(job.progress.order[:4])
    assert set(top[:4]) == {"bridges-network", "bread-network", "tides-network", "maps-network"}
    for rank, doc_id in enumerate(top, start=1):
        move = found.moves[doc_id]
        assert move.rank == rank
        assert move.moved == move.first_rank - rank
    assert all(r.evidence for r in found.results.results[:4])
    assert found.moves[first.results[0].doc_id].first_rank == 1
    assert all(0.5 <= (found.moves[d].confidence or 0) <= 1 for d in job.progress.order[:30])
    page = verifier.result(job_id, k=5, offset=5)
    assert [r.doc_id for r in page.results.results] == top[5:10]


def test_cancelling_keeps_the_order_so_far_and_the_answers(small_copy, server):
    server.behaviour.latency = 0.1
    verifier, own = small_copy.verifier, session(server)
    job_id = verifier.start(RerankRequest(QUERY, "heapsort", 10), own)
    wait_until(lambda: verifier.job(job_id).progress.rounds >= 3, what="the third round")
    verifier.jobs.cancel(job_id)
    job = reranked(small_copy, job_id, 3)
    assert job.state == "cancelled"
    found = verifier.result(job_id)
    assert found.partial
    assert found.report.stopped == "cancelled"
    assert len(found.moves) == len(job.progress.order) == 39
    server.behaviour.latency = 0
    whole = reranked(small_copy, verifier.start(RerankRequest(QUERY, "heapsort", 10), own))
    assert whole.report is not None
    assert whole.report.cached >= 3


def test_the_same_ranking_is_begun_once_and_found_by_whoever_asks_for_it(small_copy, server):
    server.behaviour.latency = 0.3
    verifier, own = small_copy.verifier, session(server)
    assert verifier.running(TEN, own) is None
    with ThreadPoolExecutor(3) as pool:
        begun = pool.map(lambda _: verifier.start(TEN, own), range(3))
        (job_id,) = set(begun)
    page = replace(QUERY, k=5, offset=5)
    assert verifier.running(RerankRequest(page, "pairwise", 10), own) == job_id
    assert verifier.recall(RerankRequest(page, "pairwise", 10), own) == job_id
    for mode, depth, key in (("pairwise", 9, None), ("pointwise", 10, None), ("pairwise", 10, "x")):
        other = replace(own, key=SecretStr(key)) if key else own
        assert verifier.running(RerankRequest(QUERY, mode, depth), other) is None
    verifier.jobs.cancel(job_id)
    assert verifier.running(TEN, own) is None, "who starts anew wants it whole"
    reranked(small_copy, job_id)


def test_what_was_answered_is_recalled_and_nothing_is_sent(small_copy, server):
    verifier, own = small_copy.verifier, session(server)
    assert verifier.recall(TEN, own) is None
    assert not server.seen.keys, "the endpoint is not even asked which models it has"
    job = reranked(small_copy, verifier.start(TEN, own))
    asked = server.seen.requests
    found = verifier.recall(TEN, own)
    assert found is not None
    again = verifier.job(found)
    assert (again.state, again.progress.order) == ("done", job.progress.order)
    assert again.report is not None
    assert again.report.calls == 0
    twenty = RerankRequest(QUERY, "pairwise", 20)
    assert verifier.recall(twenty, own) is None, "not all of it was answered"
    assert server.seen.requests == asked


@pytest.mark.parametrize(
    ("system", "questions"),
    [("rewrite", 1), ("multi-hop", 3)],
    ids=["rewrite", "multi-hop: a rewording, and 40 documents in hops of 25"],
)
def test_a_search_with_a_model_is_estimated_and_shows_dense_until_it_is_done(
    small_copy, server, system, questions
):
    verifier, own, query = small_copy.verifier, session(server), replace(QUERY, system=system)
    dense = [r.doc_id for r in small_copy.search(QUERY).results]
    verifier.check(own)
    server.behaviour.latency = 0.2
    expected = verifier.estimate(RerankRequest(query), endpoint=own)
    job_id = verifier.start(RerankRequest(query), endpoint=own)
    assert [r.doc_id for r in verifier.result(job_id).results.results] == dense
    assert verifier.running(RerankRequest(query), endpoint=own) == job_id
    job = reranked(small_copy, job_id)
    assert (job.state, job.progress.report.mode, len(job.progress.order)) == ("done", system, 39)
    assert job.progress.report.questions == expected.calls == questions
    assert 0.4 < job.report.input_tokens / (expected.input_tokens or 0) < 1.6
    found = verifier.result(job_id, k=5, offset=5)
    assert tuple(r.doc_id for r in found.results.results) == job.progress.order[5:10]
    assert found.results.query.system == system
    assert [note.partition(":")[0] for note in found.results.notes] == ["The model searched for"]
    assert list(job.progress.order[:20]) != dense, "other words rank otherwise"


def test_a_ranking_of_a_corpus_that_has_changed_is_not_shown_any_more(small_copy, server, tmp_path):
    verifier, own = small_copy.verifier, session(server)
    request = RerankRequest(QUERY, "pointwise", 100)
    job_id = verifier.start(request, own)
    reranked(small_copy, job_id)
    before = verifier.estimate(request, own)
    source = write_jsonl(tmp_path / "fewer.jsonl", DOCUMENTS[:-3])
    small_copy.library.delete("small")
    small_copy.library.import_documents(ImportRequest(source, "small"))
    for look in (verifier.job, verifier.result):
        with pytest.raises(UnknownNameError, match="corpus has changed"):
            look(job_id)
    assert verifier.estimate(request, own).calls < before.calls
