"""Rankings by a model in the background: begun once, found again, gone with their corpus."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.importing import ImportRequest
from tests.engine.test_reranking import QUERY, finished, session
from tests.model_server import ModelServer
from tests.small_corpus import DOCUMENTS
from tests.support import write_jsonl


def test_the_same_ranking_is_begun_once_and_found_by_whoever_asks_for_it(
    small_copy: Explorer, server: ModelServer
) -> None:
    server.behaviour.latency = 0.3
    verifier, own = small_copy.verifier, session(server)
    assert verifier.running(QUERY, "pairwise", 10, own) is None
    with ThreadPoolExecutor(3) as pool:
        begun = pool.map(lambda _: verifier.start(QUERY, "pairwise", 10, own), range(3))
        (job_id,) = set(begun)
    page = replace(QUERY, k=5, offset=5)
    assert verifier.running(page, "pairwise", 10, own) == job_id
    assert verifier.recall(page, "pairwise", 10, own) == job_id
    for mode, depth, key in (("pairwise", 9, None), ("pointwise", 10, None), ("pairwise", 10, "x")):
        other = {**own, **({"OPENAI_API_KEY": key} if key else {})}
        assert verifier.running(QUERY, mode, depth, other) is None
    verifier.cancel(job_id)
    assert verifier.running(QUERY, "pairwise", 10, own) is None, "who starts anew wants it whole"
    finished(small_copy, job_id)


def test_what_was_answered_is_recalled_and_nothing_is_sent(
    small_copy: Explorer, server: ModelServer
) -> None:
    verifier, own = small_copy.verifier, session(server)
    assert verifier.recall(QUERY, "pairwise", 10, own) is None
    assert not server.seen.keys, "the endpoint is not even asked which models it has"
    job = finished(small_copy, verifier.start(QUERY, "pairwise", 10, own))
    asked = server.seen.requests
    found = verifier.recall(QUERY, "pairwise", 10, own)
    assert found is not None
    again = verifier.state(found)
    assert (again.state, again.order) == ("done", job.order)
    assert again.report is not None
    assert again.report.calls == 0
    assert verifier.recall(QUERY, "pairwise", 20, own) is None, "not all of it was answered"
    assert server.seen.requests == asked


@pytest.mark.parametrize(
    ("system", "questions", "notes"),
    [("rewrite", 1, ("The model searched for",)), ("multi-hop", 2, ())],
    ids=["rewrite", "multi-hop: 40 documents in hops of 25"],
)
def test_a_search_with_a_model_is_estimated_and_shows_dense_until_it_is_done(
    small_copy: Explorer,
    server: ModelServer,
    system: str,
    questions: int,
    notes: tuple[str, ...],
) -> None:
    verifier, own, query = small_copy.verifier, session(server), replace(QUERY, system=system)
    dense = [r.doc_id for r in small_copy.search(QUERY).results]
    verifier.check(own)
    server.behaviour.latency = 0.2
    expected = verifier.estimate(query, session=own)
    job_id = verifier.start(query, session=own)
    assert [r.doc_id for r in verifier.result(job_id).results.results] == dense
    assert verifier.running(query, session=own) == job_id
    job = finished(small_copy, job_id)
    assert (job.state, job.mode, len(job.order)) == ("done", system, 39)
    assert job.report is not None
    assert job.report.questions == expected.calls == questions
    assert 0.4 < job.report.input_tokens / (expected.input_tokens or 0) < 1.6
    found = verifier.result(job_id, k=5, offset=5)
    assert tuple(r.doc_id for r in found.results.results) == job.order[5:10]
    assert found.results.query.system == system
    assert tuple(note.partition(":")[0] for note in found.results.notes) == notes
    assert (list(job.order[:20]) != dense) == bool(notes), "other words rank otherwise"


def test_a_ranking_of_a_corpus_that_has_changed_is_not_shown_any_more(
    small_copy: Explorer, server: ModelServer, tmp_path: Path
) -> None:
    verifier, own = small_copy.verifier, session(server)
    job_id = verifier.start(QUERY, "allpair", 100, own)
    finished(small_copy, job_id)
    before = verifier.estimate(QUERY, "allpair", 100, own)
    source = write_jsonl(tmp_path / "fewer.jsonl", DOCUMENTS[:-3])
    small_copy.library.delete("small")
    small_copy.library.import_documents(ImportRequest(source, "small"))
    for look in (verifier.state, verifier.result):
        with pytest.raises(UnknownNameError, match="corpus has changed"):
            look(job_id)
    assert verifier.estimate(QUERY, "allpair", 100, own).calls < before.calls
