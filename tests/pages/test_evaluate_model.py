"""The Evaluate page with a language model: what it will cost, what it was asked, and the gap."""

import pytest

from engine.types.models import ModelReport
from engine.types.reranking import Gap, GapPoint
from pages._evaluate.evaluate_charts import gap_chart, gap_frame
from pages._evaluate.evaluate_state import run_label
from pages._evaluate.evaluate_tables import gap_verdict, point_rows
from tests.fakes.model_answers import read_knowledge
from tests.fakes.model_server import serving
from tests.pages.evaluate_page import finished, shown, visit
from tests.pages.visits import run
from tests.support import make_explorer

SYSTEMS = {"systems": "dense", "seeds": "1", "rerank": "pairwise", "depth": "10"}
GAP = {"part": "gap", "seeds": "1", "sizes": "5,10", "retrievers": "bm25,dense"}


@pytest.fixture
def server(lab_source):
    with serving(read_knowledge(lab_source)) as running:
        yield running


@pytest.fixture
def alone(lab_home, serve):
    """No model is connected."""
    return serve(make_explorer(lab_home))


@pytest.fixture
def lab(lab_home, server, connect, serve):
    connect(server.url)
    return serve(make_explorer(lab_home))


def test_a_reranking_is_estimated_run_and_shown_with_what_was_asked(lab, server):
    page = visit(**SYSTEMS)
    assert "requests in" in shown(page)
    assert server.seen.requests == 0, "an estimate asks nothing"
    page.button(key="evaluate_run").click()
    page = finished(run(page), lab.evaluations.job)
    board, asked = page.dataframe[0].value, page.dataframe[-1].value
    assert list(board["System"]) == [run_label("dense+pairwise"), run_label("dense")]
    assert list(asked["System"]) == [run_label("dense+pairwise")]
    assert asked["Calls"][0] == server.seen.requests
    assert asked["Failed"][0] == 0
    assert "All answers are cached" in shown(page)
    assert page.query_params["rerank"] in ("pairwise", ["pairwise"])


def test_an_endpoint_that_is_down_is_told_when_nothing_can_be_ranked_without_it(lab, server):
    server.stop()
    page = visit(systems="rewrite,multi-hop", seeds="1")
    page.button(key="evaluate_run").click()
    page = finished(run(page), lab.evaluations.job)
    assert "127.0.0.1" in shown(page)
    assert "Not ranked yet" in shown(page)
    assert not page.button(key="evaluate_run").disabled


@pytest.mark.parametrize(
    ("params", "button"),
    [({**SYSTEMS, "depth": "7"}, "evaluate_run"), ({**GAP, "sizes": "3"}, "evaluate_gap_run")],
    ids=["systems", "gap"],
)
def test_without_an_endpoint_the_page_says_how_to_connect_one(alone, params, button):
    page = visit(**params)
    assert page.button(key=button).disabled
    assert "No language model is connected" in shown(page)
    assert "OPENAI_BASE_URL" in shown(page)
    assert "requests in" in shown(page), "what it would cost is said all the same"


def test_a_gap_is_measured_shown_and_there_on_return(lab, server):
    page = visit(**GAP)
    assert "Not measured yet" in shown(page)
    page.button(key="evaluate_gap_run").click()
    page = finished(run(page), lambda: lab.gaps.job("lab"))
    assert list(page.dataframe[0].value["Pool"]) == [5, 10]
    assert "the best retriever" in shown(page)
    assert len(page.get("plotly_chart")) == 1
    asked = server.seen.requests
    again = visit(**GAP)
    assert again.dataframe[0].value.equals(page.dataframe[0].value)
    assert server.seen.requests == asked
    other = visit(**{**GAP, "sizes": "4"})
    assert not other.dataframe
    former = next(b for b in other.button if (b.key or "").startswith("evaluate_previous_gap_"))
    former.click()
    assert list(run(other).dataframe[0].value["Pool"]) == [5, 10]


# -- figures -------------------------------------------------------------------------------

REPORT = ModelReport(mode="pairwise", depth=50, endpoint="http://localhost/v1", model="judge")
POINT = GapPoint(50, 50, 58, 0.6, 0.60, 0.81, (0.53, 0.67), (0.74, 0.87))
FOUND = Gap(
    "x", "x", 12, "pairwise", "nDCG@20", {"bm25": 0.45, "<b>": 0.46}, (POINT,), REPORT
)  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
def test_the_chart_names_every_retriever_the_best_first(dark):
    frame = gap_frame(FOUND)
    assert list(frame) == ["line", "pool", "nDCG@20", "95 % low", "95 % high"]
    figure = gap_chart(frame, FOUND, dark=dark)
    assert [trace.name for trace in figure.data[2:]] == ["&lt;b&gt; 0.460", "bm25 0.450"]
    assert "gap +0.140<br>to +0.350" in figure.layout.xaxis.ticktext[0]


def test_a_gap_in_words_and_as_a_file():
    assert "The gap lies between +0.140 and +0.350 (n = 12)." in gap_verdict(FOUND)
    plain = point_rows(FOUND, plain=True)
    assert plain["Upper 95 % high"][0] == 0.87
    assert plain["Gap to"][0] == pytest.approx(0.35)
