"""Rankings in a model's order, against a real server that judges by known grades."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.simulated_judges import MIDDLE, SimulatedJudge
from engine.collections import Collection, read_collection
from engine.errors import BadInputError, UnknownNameError
from engine.explorer import Explorer
from engine.importing import ImportRequest
from engine.llm.budget import Budget
from engine.llm.errors import EndpointError, NoEndpointError
from engine.rerank import MODES, Options, estimate, rerank
from engine.types import ModelEvaluation, Query, RerankJob
from engine.verify.evaluating import evaluate_with_model
from engine.verify.reranking import TOP, Plan
from storage.answers import Answers
from tests.judging import KEY, connection
from tests.model_answers import MODEL, read_knowledge
from tests.model_server import ModelServer, serving
from tests.model_simulated import simulated
from tests.small_collection import write_collection
from tests.support import finish, make_explorer, write_jsonl

SEED, OTHER = "bees-network", "bridges-survey"
QUERY = Query("small", seed=SEED, aspect="method", system="dense")


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return read_collection(write_collection(tmp_path_factory.mktemp("verify") / "tiny"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, collection: Collection) -> Explorer:
    """A home with the small collection. Answers go elsewhere: every test has its own."""
    explorer = make_explorer(tmp_path_factory.mktemp("verify-home"))
    explorer.library.import_collection(collection)
    return explorer


@pytest.fixture
def pool_server(collection: Collection) -> Iterator[ModelServer]:
    assert collection.documents is not None
    with serving(read_knowledge(collection.documents)) as running:
        yield running


Evaluate = Callable[..., ModelEvaluation]


@pytest.fixture
def evaluated(tiny: Explorer, collection: Collection, store: Answers) -> Evaluate:
    """Evaluates systems on one seed's queries with the model at a server."""

    def run(server: ModelServer, mode: str | None, systems: str = "dense", **more: Any) -> Any:
        depth, sample = more.pop("depth", 30), more.pop("sample", 1)
        model = tiny.verifier.model(connection(server.url, **more))
        plan = None if mode is None else Plan(mode, depth)
        names = systems.split(",")
        searcher = tiny.searcher("tiny")
        return evaluate_with_model(
            searcher, collection, names, replace(model, store=store), plan, sample=sample
        )

    return run


def ndcg(found: ModelEvaluation, system: str) -> float:
    value = found.evaluation.systems[system].metrics["nDCG@20"]
    assert value is not None
    return value


# -- evaluations -------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_improves_on_its_first_stage_and_reports_what_it_took(
    pool_server: ModelServer, evaluated: Evaluate, mode: str
) -> None:
    found = evaluated(pool_server, mode, depth=12)
    report = found.reports[f"dense+{mode}"]
    assert list(found.evaluation.systems) == ["dense", f"dense+{mode}"]
    assert ndcg(found, f"dense+{mode}") > ndcg(found, "dense") + 0.02
    assert (report.queries, report.unanswered, report.failed, report.stopped) == (3, 0, 0, "")
    assert report.questions > 0
    assert report.rounds > 0
    assert report.calls >= pool_server.seen.questions > 0
    assert report.input_tokens > 0
    assert report.output_tokens > 0
    expected = estimate(mode, 12)
    if expected.exact:
        assert (report.questions, report.rounds) == (3 * expected.calls, 3 * expected.rounds)
    compares = MODES[mode].asks == "compare"
    assert (report.position_bias is not None) == compares


@pytest.mark.parametrize("mode", MODES)
def test_over_http_the_order_is_that_of_the_judge_itself(
    pool_server: ModelServer, evaluated: Evaluate, collection: Collection, mode: str
) -> None:
    """Prompts, parsing, the ledger and the endpoint in between change nothing."""
    knowledge = pool_server.answerer.knowledge
    character = replace(MIDDLE, failures=0.05)
    pool_server.behaviour.handlers = [simulated(character, knowledge)]
    found = evaluated(pool_server, mode, depth=25)
    assert found.reports[f"dense+{mode}"].unanswered > 0 or MODES[mode].asks == "order"
    firsts, reranked = found.evaluation.rankings.values()
    for first, ranking in zip(firsts, reranked, strict=True):
        judge = SimulatedJudge(character, first.query_id, collection.qrels[first.query_id])
        wanted = finish(rerank(first.doc_ids, judge, mode, Options(depth=25, top=TOP)))
        assert ranking.doc_ids == wanted.order


def test_a_repeat_costs_no_call_and_gives_the_same_order(
    pool_server: ModelServer, evaluated: Evaluate
) -> None:
    pool_server.behaviour.noise = pool_server.behaviour.pair_noise = 0.8
    first = evaluated(pool_server, "pairwise")
    pool_server.stop()
    again = evaluated(pool_server, "pairwise")
    report = again.reports["dense+pairwise"]
    assert report.calls == 0
    assert report.cached == first.reports["dense+pairwise"].questions
    name = "dense+pairwise"
    assert again.evaluation.rankings[name] == first.evaluation.rankings[name]


def test_with_a_third_of_the_calls_failing_the_order_is_nearly_as_good(
    pool_server: ModelServer, evaluated: Evaluate, store: Answers
) -> None:
    pool_server.behaviour.faults = {"500": 0.15, "prose": 0.1, "cut": 0.05}
    failing = evaluated(pool_server, "pairwise", depth=30)
    report = failing.reports["dense+pairwise"]
    assert report.repeats > 0
    assert report.unanswered > 0
    assert report.failed + report.unread == report.unanswered
    kept = len(store.heads(pool_server.url, MODEL))
    assert kept == report.questions - report.unanswered, "failures are not kept"
    pool_server.behaviour.faults = {}
    sound = evaluated(pool_server, "pairwise", depth=30)
    assert ndcg(sound, "dense+pairwise") - ndcg(failing, "dense+pairwise") <= 0.03


def test_a_budget_ends_a_run_and_the_rest_is_asked_for_later(
    pool_server: ModelServer, evaluated: Evaluate
) -> None:
    cut = evaluated(pool_server, "pairwise", budget=Budget(calls=100))
    report = cut.reports["dense+pairwise"]
    assert (report.calls, report.stopped) == (100, "budget")
    assert "budget of 100 calls" in report.problem
    assert any("budget" in note for note in cut.evaluation.notes)
    whole = evaluated(pool_server, "pairwise").reports["dense+pairwise"]
    assert whole.stopped == ""
    assert whole.cached > 0
    assert pool_server.seen.questions == whole.questions, "nothing was asked twice"


def test_the_budget_is_for_all_systems_together(
    pool_server: ModelServer, evaluated: Evaluate
) -> None:
    found = evaluated(pool_server, "pairwise", "dense,bm25", budget=Budget(calls=150), depth=10)
    assert sum(report.calls for report in found.reports.values()) <= 150
    assert pool_server.seen.requests <= 150


def test_an_endpoint_that_goes_away_leaves_the_order_so_far(
    pool_server: ModelServer, evaluated: Evaluate
) -> None:
    pool_server.behaviour.most_requests = 120
    found = evaluated(pool_server, "pairwise", "dense,bm25")
    report = found.reports["dense+pairwise"]
    assert report.stopped == "endpoint"
    assert report.problem
    assert ndcg(found, "dense+pairwise") >= ndcg(found, "dense")
    assert "bm25+pairwise" not in found.evaluation.systems, "nothing new is begun"
    pool_server.behaviour.most_requests = None
    whole = evaluated(pool_server, "pairwise").reports["dense+pairwise"]
    assert whole.cached > 50
    assert whole.unanswered == 0


def test_an_endpoint_that_gives_no_usable_answer_leaves_the_first_stage(
    pool_server: ModelServer, evaluated: Evaluate, store: Answers
) -> None:
    pool_server.behaviour.faults = {"prose": 1.0}
    found = evaluated(pool_server, "pairwise", depth=8)
    report = found.reports["dense+pairwise"]
    assert report.unanswered == report.questions == report.unread
    first, reranked = (found.evaluation.rankings[n] for n in ("dense", "dense+pairwise"))
    assert [r.doc_ids for r in first] == [r.doc_ids for r in reranked]
    assert len(store.heads(pool_server.url, MODEL)) == 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"key": "another"}, "key"), ({"model": "no-such-model"}, "no-such-model")],
    ids=["wrong key", "unknown model"],
)
def test_an_endpoint_that_refuses_is_an_error_with_what_to_do(
    pool_server: ModelServer, evaluated: Evaluate, changes: dict[str, str], says: str
) -> None:
    pool_server.behaviour.key = KEY
    with pytest.raises(EndpointError, match=says) as caught:
        evaluated(pool_server, "pairwise", **changes)
    assert caught.value.remedy
    assert pool_server.seen.requests <= 3


@pytest.mark.parametrize("depth", [1, 10_000])
def test_any_depth_will_do(pool_server: ModelServer, evaluated: Evaluate, depth: int) -> None:
    found = evaluated(pool_server, "pairwise-lite", depth=depth)
    report = found.reports["dense+pairwise-lite"]
    assert (report.questions == 0) == (depth == 1)
    first, second = found.evaluation.rankings.values()
    assert [sorted(r.doc_ids) for r in first] == [sorted(r.doc_ids) for r in second]
    for ranking in second:
        assert list(ranking.scores) == sorted(set(ranking.scores), reverse=True)


def test_candidates_longer_than_the_context_are_cut_and_counted(
    pool_server: ModelServer, evaluated: Evaluate
) -> None:
    pool_server.behaviour.context = 800
    report = evaluated(pool_server, "pairwise", depth=6).reports["dense+pairwise"]
    assert (report.unanswered, report.failed) == (0, 0)
    assert report.cut > 0


def test_what_is_beyond_the_depth_follows_in_its_order(
    pool_server: ModelServer, evaluated: Evaluate
) -> None:
    found = evaluated(pool_server, "pairwise", depth=10)
    for first, second in zip(*found.evaluation.rankings.values(), strict=True):
        assert first.doc_ids[10:] == second.doc_ids[10:]
        assert sorted(first.doc_ids[:10]) == sorted(second.doc_ids[:10])


# -- systems that need a model -------------------------------------------------------------


def test_rewriting_asks_one_question_a_query(pool_server: ModelServer, evaluated: Evaluate) -> None:
    found = evaluated(pool_server, None, "dense,rewrite")
    report = found.reports["rewrite"]
    assert (report.questions, report.unanswered) == (3, 0)
    dense, rewritten = found.evaluation.rankings["dense"], found.evaluation.rankings["rewrite"]
    assert [r.doc_ids for r in dense] != [r.doc_ids for r in rewritten]


def test_without_an_answer_rewriting_is_dense_and_says_so(
    pool_server: ModelServer, evaluated: Evaluate
) -> None:
    pool_server.behaviour.faults = {"empty": 1.0}
    found = evaluated(pool_server, None, "dense,rewrite")
    assert found.reports["rewrite"].unanswered == 3
    dense, rewritten = found.evaluation.rankings["dense"], found.evaluation.rankings["rewrite"]
    assert [r.doc_ids for r in dense] == [r.doc_ids for r in rewritten]


def test_several_hops_read_on_carry_notes_and_put_what_was_selected_first(
    pool_server: ModelServer, evaluated: Evaluate
) -> None:
    found = evaluated(pool_server, None, "dense,multi-hop", sample=1)
    report = found.reports["multi-hop"]
    assert report.unanswered == 0
    assert report.questions == 9, "60 documents are read in three hops of 25"
    assert report.rounds == 9
    later = [p for p in pool_server.seen.prompts if "known so far" in p and "It says so." in p]
    assert len(later) == 6, "notes reach the second and the third hop"
    for ranking in found.evaluation.rankings["multi-hop"]:
        assert len(set(ranking.doc_ids)) == len(ranking.doc_ids) == 59


@pytest.mark.parametrize("context", [1500, 3000])
def test_several_hops_read_as_much_as_the_models_context_holds(
    pool_server: ModelServer, evaluated: Evaluate, context: int
) -> None:
    pool_server.behaviour.context = context
    report = evaluated(pool_server, None, "dense,multi-hop").reports["multi-hop"]
    assert (report.unanswered, report.failed, report.stopped) == (0, 0, "")
    assert 9 <= report.questions <= 12
    for prompt, body in zip(pool_server.seen.prompts, pool_server.seen.bodies, strict=True):
        assert len(prompt) / 4 + body["max_tokens"] < context


def test_a_system_that_needs_a_model_can_be_reranked_too(
    pool_server: ModelServer, evaluated: Evaluate
) -> None:
    found = evaluated(pool_server, "pairwise-lite", "rewrite", depth=8)
    assert list(found.evaluation.systems) == ["rewrite", "rewrite+pairwise-lite"]
    assert set(found.reports) == {"rewrite", "rewrite+pairwise-lite"}


# -- in the background, as pages do --------------------------------------------------------


def session(server: ModelServer, **changes: str) -> dict[str, str]:
    """What a person enters on the page."""
    names = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY, "SEEDLENS_LLM_MODEL": MODEL}
    return {**names, **changes}


def finished(explorer: Explorer, job_id: str, seconds: float = 20) -> RerankJob:
    deadline = time.monotonic() + seconds
    while (job := explorer.verifier.state(job_id)).state == "running":
        assert time.monotonic() < deadline, "it never ended"
        time.sleep(0.02)
    return job


def test_a_job_tells_its_progress_and_its_result_says_how_far_documents_moved(
    small_copy: Explorer, server: ModelServer
) -> None:
    server.behaviour.latency = 0.02
    verifier = small_copy.verifier
    job_id = verifier.start(QUERY, "pairwise", 30, session(server))
    first = small_copy.search(QUERY)
    early = verifier.result(job_id)
    assert sorted(early.moves) == sorted(m for m in verifier.state(job_id).order)
    job = finished(small_copy, job_id)
    assert (job.state, job.rounds) == ("done", estimate("pairwise", 30).rounds)
    found = verifier.result(job_id)
    assert not found.partial
    top = [r.doc_id for r in found.results.results]
    assert top[:4] == list(job.order[:4])
    assert set(top[:4]) == {"bridges-network", "bread-network", "tides-network", "maps-network"}
    for rank, doc_id in enumerate(top, start=1):
        move = found.moves[doc_id]
        assert move.rank == rank
        assert move.moved == move.first_rank - rank
    assert all(r.evidence for r in found.results.results[:4])
    assert found.moves[first.results[0].doc_id].first_rank == 1
    assert all(0.5 <= (found.moves[d].confidence or 0) <= 1 for d in job.order[:30])
    page = verifier.result(job_id, k=5, offset=5)
    assert [r.doc_id for r in page.results.results] == top[5:10]


def test_the_estimate_asks_nothing_and_bounds_what_it_took(
    small_copy: Explorer, server: ModelServer
) -> None:
    verifier, own = small_copy.verifier, session(server)
    offline = verifier.estimate(QUERY, "pairwise", 30)
    assert offline.calls == estimate("pairwise", 30).calls
    assert offline.input_tokens is None
    found = verifier.estimate(QUERY, "pairwise", 30, own)
    assert server.seen.requests == 0
    assert found.input_tokens is not None
    report = finished(small_copy, verifier.start(QUERY, "pairwise", 30, own)).report
    assert report is not None
    assert found.calls - 1 <= report.questions <= found.calls, "two texts are the same"
    assert 0.5 * found.input_tokens <= report.input_tokens <= found.input_tokens * 1.1


def test_cancelling_keeps_the_order_so_far_and_the_answers(
    small_copy: Explorer, server: ModelServer
) -> None:
    server.behaviour.latency = 0.1
    verifier, own = small_copy.verifier, session(server)
    job_id = verifier.start(QUERY, "heapsort", 10, own)
    deadline = time.monotonic() + 20
    while verifier.state(job_id).rounds < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    verifier.cancel(job_id)
    job = finished(small_copy, job_id, 3)
    assert job.state == "cancelled"
    found = verifier.result(job_id)
    assert found.partial
    assert found.report.stopped == "cancelled"
    assert len(found.moves) == len(job.order) == 39
    server.behaviour.latency = 0
    whole = finished(small_copy, verifier.start(QUERY, "heapsort", 10, own))
    assert whole.report is not None
    assert whole.report.cached >= 3


def test_two_people_at_once_get_their_own_rankings(
    small_copy: Explorer, server: ModelServer
) -> None:
    verifier, own = small_copy.verifier, session(server)
    other = replace(QUERY, seed=OTHER)

    def run(query: Query) -> tuple[str, ...]:
        return finished(small_copy, verifier.start(query, "pairwise", 20, own)).order

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(run, [QUERY, other]))
    assert found == [run(QUERY), run(other)]
    assert SEED not in found[0]
    assert OTHER not in found[1]


def test_documents_of_the_same_text_stay_together_and_are_not_asked_about_twice(
    home: Path, server: ModelServer
) -> None:
    texts = ["We fit a model to data.", "The same words.", "The same words.", ".", "Quite other."]
    rows = [{"doc_id": f"d{n}", "title": "", "text": t} for n, t in enumerate(texts)]
    explorer = make_explorer(home)
    source = write_jsonl(home.parent / "odd.jsonl", rows)
    explorer.library.import_documents(ImportRequest(source, "odd"))
    query = Query("odd", seed="d0", system="dense")
    job = finished(explorer, explorer.verifier.start(query, "allpair", 9, session(server)))
    order = list(job.order)
    assert abs(order.index("d1") - order.index("d2")) == 1
    assert job.report is not None
    assert job.report.questions == 6, "three different texts"


# -- endpoints -----------------------------------------------------------------------------


def test_without_an_endpoint_one_reads_how_to_connect_one(small: Explorer) -> None:
    info = small.verifier.endpoint()
    assert (info.set_up, info.address, info.model) == (False, "", "")
    assert [line.split()[0] for line in info.how] == ["Hosted:", "vLLM:", "Ollama:"]
    with pytest.raises(NoEndpointError, match="OPENAI_BASE_URL"):
        small.verifier.start(QUERY)


def test_checking_an_endpoint_remembers_what_it_can_do(
    small_copy: Explorer, server: ModelServer
) -> None:
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


def test_checking_says_what_is_wrong_and_shows_no_key(
    small_copy: Explorer, server: ModelServer
) -> None:
    server.behaviour.key = "the right one"
    found = small_copy.verifier.check(session(server))
    assert found.problem
    assert not found.tried
    assert KEY not in repr(found)


def test_a_check_that_fails_leaves_what_was_known_and_what_was_answered(
    small_copy: Explorer, server: ModelServer
) -> None:
    verifier, own = small_copy.verifier, session(server)
    first = finished(small_copy, verifier.start(QUERY, "pairwise-lite", 8, own))
    server.behaviour.key = "the right one"
    assert "key" in verifier.check(own).problem
    assert verifier.endpoint(own).tried
    server.stop()
    assert verifier.check(own).problem
    again = finished(small_copy, verifier.start(QUERY, "pairwise-lite", 8, own))
    assert again.report is not None
    assert (again.order, again.report.calls, again.report.problem) == (first.order, 0, "")


def test_a_job_that_fails_says_why(small_copy: Explorer, server: ModelServer) -> None:
    own = session(server, SEEDLENS_LLM_MODEL="none-such")
    job = finished(small_copy, small_copy.verifier.start(QUERY, "pairwise", 10, own))
    assert job.state == "failed"
    assert "none-such" in job.error + job.remedy
    assert not small_copy.verifier.result(job.id).report.calls > 3


@pytest.mark.parametrize(
    ("mode", "depth", "error"), [("best", 10, UnknownNameError), ("pairwise", 0, BadInputError)]
)
def test_a_mode_that_is_none_and_a_depth_of_nothing_are_refused(
    small: Explorer, mode: str, depth: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        small.verifier.estimate(QUERY, mode, depth)


# -- explanations --------------------------------------------------------------------------


def test_an_explanation_quotes_what_stands_in_the_documents(
    small_copy: Explorer, server: ModelServer
) -> None:
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


def test_an_explanation_without_evidence_is_refused(
    small_copy: Explorer, server: ModelServer
) -> None:
    server.behaviour.faults = {"prose": 1.0}
    with pytest.raises(EndpointError, match="no explanation"):
        small_copy.verifier.explain_with_model(QUERY, "bread-network", session(server))
