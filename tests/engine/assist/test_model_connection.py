"""The endpoint that a person connects, what it says of a job that fails, and explanations."""

import pytest

from engine.llm.endpoints import EndpointError, NoEndpointError
from engine.types.reranking import RerankRequest
from tests.fakes.model_answers import MODEL
from tests.fakes.model_sessions import KEY, QUERY, SEED, reranked, session

# -- endpoints -----------------------------------------------------------------------------


def test_without_an_endpoint_one_reads_how_to_connect_one(small):
    info = small.verifier.endpoint()
    assert (info.set_up, info.address, info.model) == (False, "", "")
    assert [line.split()[0] for line in info.how] == ["Hosted:", "vLLM:", "Ollama:"]
    with pytest.raises(NoEndpointError, match="OPENAI_BASE_URL"):
        small.verifier.start(RerankRequest(QUERY))


def test_checking_an_endpoint_remembers_what_it_can_do(small_copy, server):
    own = session(server)
    before = small_copy.verifier.endpoint(own)
    assert before.set_up
    assert not before.tried
    assert before.logprobs is None
    server.behaviour.logprobs = False
    found = small_copy.verifier.check(own)
    assert (found.tried, found.logprobs, found.problem) == (True, False, "")
    assert small_copy.verifier.endpoint(own) == found
    assert KEY not in repr(found)


def test_a_check_that_fails_leaves_what_was_known_and_what_was_answered(small_copy, server):
    verifier, own = small_copy.verifier, session(server)
    first = reranked(small_copy, verifier.start(RerankRequest(QUERY, "pairwise-lite", 8), own))
    server.behaviour.key = "the right one"
    refused = verifier.check(own)
    assert "key" in refused.problem
    assert KEY not in repr(refused)
    assert verifier.endpoint(own).tried
    server.stop()
    assert verifier.check(own).problem
    again = reranked(small_copy, verifier.start(RerankRequest(QUERY, "pairwise-lite", 8), own))
    assert again.report is not None
    assert again.progress.order == first.progress.order
    assert (again.report.calls, again.report.problem) == (0, "")


# -- explanations --------------------------------------------------------------------------


def test_an_explanation_quotes_what_stands_in_the_documents(small_copy, server):
    own = session(server)
    found = small_copy.verifier.explain_with_model(QUERY, "bread-network", own)
    assert found.similar
    assert found.text
    assert (found.model, found.unfounded, found.cached) == (MODEL, 1, False)
    for doc_id, quotes in ((SEED, found.seed_quotes), ("bread-network", found.document_quotes)):
        text = small_copy.document("small", doc_id).text
        assert quotes
        for quote in quotes:
            assert quote.span is None or text[slice(*quote.span)] == quote.text
    assert small_copy.verifier.explain_with_model(QUERY, "bread-network", own).cached


def test_an_explanation_without_evidence_is_refused(small_copy, server):
    server.behaviour.faults = {"prose": 1.0}
    with pytest.raises(EndpointError, match="no explanation"):
        small_copy.verifier.explain_with_model(QUERY, "bread-network", session(server))
