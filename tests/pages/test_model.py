"""What pages say of a language model: estimates, reports, and where its endpoint is read from."""

from dataclasses import replace

import pytest

from engine.types.documents import Document
from engine.types.models import Estimate, ModelReport
from engine.types.reranking import Move, Reranking
from engine.types.searches import Query, SearchResults
from pages._common.tasks import change, change_sentence, estimate_line, report_line
from pages._model.model_settings import read_secrets
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import SEED, knowledge
from tests.pages.visits import APP, address, run, run_until, shown, visit

ESTIMATE = Estimate(rounds=6, calls=300, input_tokens=290_000, output_tokens=600, cost=0.13)
REPORT = ModelReport(
    mode="pairwise", depth=100, endpoint="http://here/v1", model="judge", rounds=6, calls=288,
    input_tokens=280_000, output_tokens=600, failed=3, unread=1, unanswered=4, cached=20,
    cost=0.12, seconds=7.44,
    position_bias=0.58,
)  # fmt: skip


def test_an_estimate_says_what_is_the_most_and_what_is_about_right():
    assert estimate_line(ESTIMATE) == (
        "300 requests in 6 rounds, up to 610 including retries, about 0.29 M tokens, "
        "cost about 0.130"
    )
    unknown = Estimate(rounds=174, exact=False, calls=348)
    assert estimate_line(unknown) == "about 348 requests in 174 rounds", "answers may lead to more"


def test_a_report_says_what_was_used_and_what_went_wrong():
    line = report_line(REPORT)
    for words in (
        *("288 requests in 6 rounds", "0.28 M tokens", "cost 0.120", "20 answers cached"),
        *("7.4 s", "4 unanswered (3 failed, 1 unreadable)", "position bias 58%"),
    ):
        assert words in line
    assert "cancelled" in report_line(replace(REPORT, stopped="cancelled"))
    assert "budget" in report_line(replace(REPORT, stopped="budget", problem="reached"))
    assert "no requests" in report_line(replace(REPORT, calls=0))


def test_what_models_and_endpoints_call_themselves_is_text():
    hostile = replace(REPORT, model="<img src=x>", problem='"><b>', stopped="endpoint")
    assert "<img" not in report_line(hostile)
    assert "<b>" not in report_line(hostile)


def test_what_a_model_changed_is_counted_over_the_first_twenty():
    seed = Document("s", "", "", ())
    found = SearchResults(Query("c"), seed, (), 40, 40, False, 0.0, None, ())
    # The last five of forty lead; the first fifteen follow in their order, then the others.
    order = [*range(36, 41), *range(1, 36)]
    moves = {str(r): Move(str(r), rank, r) for rank, r in enumerate(order, start=1)}
    reranking = Reranking(found, moves, REPORT)
    assert change(reranking) == 5 / 20
    assert change_sentence(reranking) == "The model moved 20 of the top 20, 5 of them new."
    same = {str(r): Move(str(r), r, r) for r in range(1, 41)}
    unmoved = change_sentence(replace(reranking, moves=same))
    assert unmoved == "The model did not change the top 20."
    half = replace(REPORT, questions=24, unanswered=12)
    unreliable = change_sentence(replace(reranking, report=half))
    assert unreliable.endswith("Unreliable: 12 of 24 answers were invalid.")
    mute = replace(REPORT, questions=24, unanswered=24)
    assert "returned no valid response" in change_sentence(replace(reranking, report=mute))


def test_secrets_are_read_from_the_top_level_of_the_file(secrets):
    assert read_secrets() == ({}, "")
    secrets.write_text('OPENAI_BASE_URL = "http://here/v1"\nSEEDLENS_LLM_MODEL = "m"\nother = 1\n')
    assert read_secrets()[0] == {"OPENAI_BASE_URL": "http://here/v1", "SEEDLENS_LLM_MODEL": "m"}
    assert read_secrets()[1] == ""


@pytest.mark.parametrize("text", [b"OPENAI_API_KEY = sk-naked-key", b"\xff\xfe", b"= ="])
def test_a_broken_secrets_file_is_said_without_quoting_it(secrets, text):
    secrets.write_bytes(text)
    assert read_secrets()[0] == {}
    assert "secrets.toml: invalid TOML" in read_secrets()[1]
    assert "naked" not in read_secrets()[1]


@pytest.fixture
def page(explorer, connect, monkeypatch):
    """The app on the demo corpus, with a model that nobody answers for."""
    monkeypatch.setenv("SEEDLENS_HOME", str(explorer.home.root))
    connect("http://127.0.0.1:9/v1")
    return address(APP, corpus="demo", seed="demo-0232", aspect="method")


def test_a_link_restores_how_to_rerank_and_asks_nothing(page):
    page.query_params["rerank"] = "listwise"
    page.query_params["depth"] = "50"
    run(page)
    assert page.toggle(key="explore_rerank").value is True
    assert page.selectbox(key="explore_mode").value == "listwise"
    assert page.selectbox(key="explore_depth").value == 50
    assert "Not reranked yet" in shown(page)
    assert not page.button(key="explore_ask").disabled
    page.toggle(key="explore_rerank").set_value(False).run()
    assert "rerank" not in page.query_params
    assert "depth" not in page.query_params


def test_without_a_model_the_page_says_how_to_connect_one(demo):
    page = visit("explore", corpus="demo", seed="demo-0232", aspect="method", rerank="pairwise")
    for way in ("Hosted", "vllm serve", "ollama pull"):
        assert way in shown(page, "markdown", "caption", "code")


def test_a_link_that_asks_for_the_impossible_says_so(page):
    page.query_params.update(rerank="pairwise", depth="5000")
    run(page)
    assert "depth is 5000" in shown(page)
    assert page.get("bidi_component"), "results are shown all the same"


def test_a_system_that_asks_a_model_shows_the_first_stage_until_it_is_asked(page):
    page.query_params["system"] = "multi-hop"
    run(page)
    assert "Showing the ranking of dense" in shown(page)
    assert page.button(key="explore_ask").label == "Search with the model"
    assert "5 requests in 5 rounds" in shown(page)


# -- a model that answers ------------------------------------------------------------------


@pytest.fixture
def server(small_copy, connect):
    """A model for the small corpus, which is that of this test's home."""
    with serving(knowledge()) as running:
        connect(running.url)
        yield running


def visit_reranking():
    """A visit of its own to the same link."""
    view = {"corpus": "small", "seed": SEED, "aspect": "method", "system": "dense"}
    return visit(APP, **view, rerank="pairwise", depth="20")


def settled(app):
    return run_until(app, lambda: app.button(key="explore_ask").label != "Running", what="an end")


def test_a_page_that_is_reloaded_goes_on_with_what_it_had_asked_for(server):
    server.behaviour.latency = 12.0
    first = visit_reranking()
    first.button(key="explore_ask").click().run()
    reloaded = visit_reranking()
    assert reloaded.button(key="explore_ask").label == "Running"
    reloaded.button(key="explore_cancel").click()
    assert settled(reloaded).button(key="explore_ask").label == "Resume"
    assert "cancelled; showing the partial ranking" in shown(run(first))


def test_answers_that_nobody_can_read_leave_the_order_and_can_be_asked_for_again(server):
    server.behaviour.faults = {"prose": 1.0}
    app = visit_reranking()
    app.button(key="explore_ask").click()
    assert settled(app).button(key="explore_ask").label == "Resume"
    assert not app.button(key="explore_ask").disabled
    assert "The model returned no valid response" in shown(app)
