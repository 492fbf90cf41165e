"""The Evaluate page: from Run to numbers, what a model costs, and all that can be missing."""

from dataclasses import replace

import pytest

from engine.types.corpora import ImportRequest
from engine.types.evaluations import CSFCUBE_NDCG, EvaluationRequest
from engine.types.models import ModelReport
from engine.types.reranking import Gap, GapPoint
from pages._common.tasks import TaskPanel
from pages._evaluate.evaluate_charts import gap_chart, gap_frame
from pages._evaluate.evaluate_state import EvaluateView, run_label
from pages._evaluate.evaluate_tables import between, gap_verdict, point_rows
from tests.fakes.model_answers import read_knowledge
from tests.fakes.model_server import serving
from tests.fakes.small_corpus import write_collection
from tests.pages import visits
from tests.pages.visits import run
from tests.support import ended, make_explorer


def visit(**params):
    return visits.visit("evaluate", **params)


def shown(page):
    """All HTML of the page, and the captions of its charts."""
    return visits.shown(page, "caption")


def finished(page, look):
    """The page once the job that ``look`` finds has ended."""
    ended(look)
    return run(page)


@pytest.fixture
def lab(lab_home, serve):
    return serve(make_explorer(lab_home))


def test_a_first_visit_says_what_to_do_and_run_brings_a_leaderboard(lab):
    page = visit()
    assert "Not ranked yet with these settings: Word match" in shown(page)
    assert "12 queries over 4 seeds" in shown(page)
    assert page.toggle(key="evaluate_human").disabled
    page.button(key="evaluate_run").click()
    page = finished(run(page), lab.evaluations.job)
    board = page.dataframe[0].value
    assert sorted(board["System"]) == [*map(run_label, ("aspect", "dense", "bm25"))]
    assert list(board["nDCG@20"]) == sorted(board["nDCG@20"], reverse=True)
    assert set(board["Queries"]) == {12}
    assert "–" in board["95 % interval"][0]
    assert "Holm-corrected, n = 12" in shown(page)
    assert len(page.get("plotly_chart")) == 3
    assert CSFCUBE_NDCG not in board, "it is not CSFCube"
    assert "CHIIR 2026" not in shown(page)


def test_a_run_that_ends_while_the_page_is_drawn_brings_its_leaderboard(lab, monkeypatch):
    page = visit(collection="lab", systems="dense", steer="0.75")
    page.button(key="evaluate_run").click()
    finished(run(page), lab.evaluations.job)
    job, find = lab.evaluations.job(), lab.evaluations.find
    first_looks = [replace(job, state="running"), replace(job, state="running")]
    first_finds = [None]
    monkeypatch.setattr(TaskPanel, "job", lambda _: first_looks.pop() if first_looks else job)
    monkeypatch.setattr(
        lab.evaluations, "find", lambda wanted: first_finds.pop() if first_finds else find(wanted)
    )
    page = visit(collection="lab", systems="dense", steer="0.75")
    assert not first_looks
    assert list(page.dataframe[0].value["System"]) == [run_label("dense")]


def test_a_link_restores_collection_systems_steer_and_measure(lab):
    lab.evaluations.run(EvaluationRequest("lab", ("dense",), steer=0.25))
    page = visit(collection="lab", systems="dense", steer="0.25", measure="RR")
    assert page.multiselect(key="evaluate_systems").value == ["dense"]
    assert page.slider(key="evaluate_steer").value == 25
    assert list(page.dataframe[0].value["System"]) == [run_label("dense")]
    assert MEASURE in shown(page)


def test_a_link_to_a_gap_has_its_verifier():
    assert EvaluateView(part="gap").to_params()["verifier"] == EvaluateView().verifier


MEASURE = "1 divided by the rank of the first relevant document"


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"systems": "magic"}, "&#x27;magic&#x27; is not one of"),
        ({"collection": "nope"}, "no test collection &#x27;nope&#x27;"),
    ],
)
def test_a_link_that_cannot_be_read_is_explained_and_the_page_stands(lab, params, says):
    page = visit(**params)
    assert says in shown(page)
    assert page.selectbox(key="evaluate_collection").value == "lab"


def test_changing_the_steer_asks_for_another_run(lab):
    lab.evaluations.run(EvaluationRequest("lab", ("aspect",)))
    page = visit(systems="aspect")
    assert page.dataframe
    page.slider(key="evaluate_steer").set_value(75)
    page = run(page)
    assert page.query_params["steer"] in ("0.75", ["0.75"])
    assert "Not ranked yet with these settings: Aspect-aware (aspect)." in shown(page)
    former = next(b for b in page.button if (b.key or "").startswith("evaluate_previous_"))
    former.click()
    assert run(page).dataframe, "a former evaluation is a click away"


def test_an_uploaded_run_is_measured_beside_the_systems_on_its_queries_and_can_be_removed(lab):
    request = EvaluationRequest("lab", ("dense",))
    lab.evaluations.run(request)
    text = lab.evaluations.run_file(request, "dense").replace(" dense\n", " some\n")
    queries = list(dict.fromkeys(line.split()[0] for line in text.splitlines()))[:3]
    kept = [line for line in text.splitlines() if line.split()[0] in queries]
    page = visit(systems="dense")
    page.get("file_uploader")[0].upload("some.run", "\n".join(kept).encode())
    page = finished(run(page), lab.evaluations.job)
    assert page.query_params["runs"] in ("some", ["some"])
    board = page.dataframe[0].value
    assert set(board["System"]) == {run_label("dense"), "some"}
    assert set(board["Queries"]) == {3}
    assert "3 of its 3 queries have judgments." in shown(page)
    (uploaded,) = lab.collections.runs("lab")
    page.button(key=f"evaluate_remove_run_{uploaded.id}").click()
    assert "no run &#x27;some&#x27; for this collection" in shown(run(page))


def test_previous_runs_are_named_compared_and_deleted_with_undo(lab):
    for steer in (0.0, 1.0):
        lab.evaluations.run(EvaluationRequest("lab", ("aspect",), steer=steer))
    page = visit(systems="aspect", steer="1")
    first, second = lab.evaluations.history("lab")[:2]
    page.text_input(key=f"evaluate_record_{first.id}_name").set_value("with the aspect")
    page = run(page)
    assert lab.evaluations.history("lab")[0].name == "with the aspect"
    for record in (first, second):
        page.checkbox(key=f"evaluate_tick_{record.id}").check()
    page = run(page)
    page.button(key="evaluate_compare").click()
    page = run(page)
    assert "with the aspect" in shown(page)
    differences = next(d.value for d in page.dataframe if "Measure" in d.value)
    assert {"Difference", "95 % interval", "t-test p"} <= {*differences}
    page.button(key=f"evaluate_record_{second.id}_delete").click()
    page = run(page)
    assert second.id not in {r.id for r in lab.evaluations.history("lab")}
    page.button(key="evaluate_previous_undo").click()
    run(page)
    assert second.id in {r.id for r in lab.evaluations.history("lab")}


def test_an_uploaded_run_with_a_bad_line_is_refused_with_its_number(lab):
    page = visit(systems="dense")
    page.get("file_uploader")[0].upload("bad.run", b"q Q0 d 1 1 me\nnonsense\n")
    assert "bad.run, line 2" in shown(run(page))
    assert lab.collections.runs("lab") == ()


def test_uploaded_judgments_open_as_a_collection(lab):
    seed, other = lab.library.open("lab").doc_ids[:2]
    page = visit(systems="dense")
    page.get("file_uploader")[1].upload("own.qrels", f"{seed}_method 0 {other} 2\n".encode())
    page = run(page)
    (info,) = [c for c in lab.collections.all() if c.uploaded]
    assert page.selectbox(key="evaluate_collection").value == info.key
    assert "1 query over 1 seed ·" in shown(page)
    page.button(key=f"evaluate_remove_{info.key}").click()
    assert run(page).selectbox(key="evaluate_collection").value == "lab"


def test_a_collection_that_broke_says_where(fresh, tmp_path, serve):
    # Files of its own: those of ``lab`` are read by other tests meanwhile, in other processes too.
    folder = write_collection(tmp_path / "lab")
    serve(fresh).library.import_documents(ImportRequest(folder, "lab"))
    with (folder / "qrels.txt").open("a", encoding="utf-8") as lines:
        lines.write("half a line\n")
    page = visit()
    assert "qrels.txt, line" in shown(page)
    assert page.button(key="evaluate_run").disabled


def test_a_home_without_judgments_says_what_to_import(small, serve):
    serve(small)
    assert "No collection with judgments" in shown(visit())


def test_a_query_in_sql_is_run_and_what_is_wrong_with_it_is_shown(lab):
    page = visit(collection="lab")
    assert not page.text_area
    page.session_state["evaluate_sql_box"] = True
    page = run(page)
    page.button(key="evaluate_sql_example_0").click()
    page = run(page)
    assert "FROM sentences" in page.text_area(key="evaluate_sql").value
    page.button(key="evaluate_sql_run").click()
    page = run(page)
    assert list(page.dataframe[-1].value.columns) == ["aspect", "sentences"]
    assert "first_day" in shown(page), "the columns of the views are listed"
    page.text_area(key="evaluate_sql").set_value("select * from read_csv('/etc/passwd')")
    page.button(key="evaluate_sql_run").click()
    assert "Cannot access file" in shown(run(page))
    page.text_area(key="evaluate_sql").set_value("select 1 as n where 1 = 2")
    page.button(key="evaluate_sql_run").click()
    assert "No rows." in shown(run(page))


# A language model

SYSTEMS = {"systems": "dense", "seeds": "1", "rerank": "pairwise", "depth": "10"}
GAP = {"part": "gap", "seeds": "1", "sizes": "5,10", "retrievers": "bm25,dense"}


@pytest.fixture
def server(lab_source):
    with serving(read_knowledge(lab_source)) as running:
        yield running


@pytest.fixture
def with_model(lab_home, server, connect, serve):
    connect(server.url)
    return serve(make_explorer(lab_home))


def test_a_reranking_is_estimated_run_and_shown_with_what_was_asked(with_model, server):
    page = visit(**SYSTEMS)
    assert "requests in" in shown(page)
    assert server.seen.requests == 0, "an estimate asks nothing"
    page.button(key="evaluate_run").click()
    page = finished(run(page), with_model.evaluations.job)
    board, asked = page.dataframe[0].value, page.dataframe[-1].value
    assert list(board["System"]) == [run_label("dense+pairwise"), run_label("dense")]
    assert list(asked["System"]) == [run_label("dense+pairwise")]
    assert asked["Calls"][0] == server.seen.requests
    assert asked["Failed"][0] == 0
    assert "All answers are cached" in shown(page)
    assert page.query_params["rerank"] in ("pairwise", ["pairwise"])


def test_an_endpoint_that_is_down_is_told_when_nothing_can_be_ranked_without_it(with_model, server):
    server.stop()
    page = visit(systems="rewrite,multi-hop", seeds="1")
    page.button(key="evaluate_run").click()
    page = finished(run(page), with_model.evaluations.job)
    assert "127.0.0.1" in shown(page)
    assert "Not ranked yet" in shown(page)
    assert not page.button(key="evaluate_run").disabled


@pytest.mark.parametrize(
    ("params", "button"),
    [({**SYSTEMS, "depth": "7"}, "evaluate_run"), ({**GAP, "sizes": "3"}, "evaluate_gap_run")],
    ids=["systems", "gap"],
)
def test_without_an_endpoint_the_page_says_how_to_connect_one(lab, params, button):
    page = visit(**params)
    assert page.button(key=button).disabled
    assert "No language model is connected" in shown(page)
    assert "OPENAI_BASE_URL" in shown(page)
    assert "requests in" in shown(page), "what it would cost is said all the same"


def test_a_gap_is_measured_shown_and_there_on_return(with_model, server):
    page = visit(**GAP)
    assert "Not measured yet" in shown(page)
    page.button(key="evaluate_gap_run").click()
    page = finished(run(page), lambda: with_model.gaps.job("lab"))
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
    assert between(0.14, 0.1401, " and ") == "+0.140"
    plain = point_rows(FOUND, plain=True)
    assert plain["Upper 95 % high"][0] == 0.87
    assert plain["Gap to"][0] == pytest.approx(0.35)
