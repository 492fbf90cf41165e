"""The Evaluate page: from a click on Run to numbers, and everything that can be missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import engine.evaluate.evaluations
from engine.explorer import Explorer
from engine.search.reports import evaluation_report
from engine.types.corpora import ImportRequest
from engine.types.evaluations import CSFCUBE_NDCG, Evaluation, EvaluationRequest
from pages._common.shared import escape_label
from pages._evaluate.evaluate_charts import strip_frame, strip_plot, trade_off, trade_off_frame
from tests.fakes.small_corpus import write_collection
from tests.pages.evaluate_page import finished, shown, visit
from tests.pages.visits import Serve, run
from tests.support import make_explorer


@pytest.fixture
def lab(lab_home: Path, serve: Serve) -> Explorer:
    return serve(make_explorer(lab_home))


def test_a_first_visit_says_what_to_do_and_run_brings_a_leaderboard(lab: Explorer) -> None:
    page = visit()
    assert "Not ranked yet with these settings: bm25, dense, aspect." in shown(page)
    assert "12 queries over 4 seeds" in shown(page)
    assert page.toggle(key="evaluate_human").disabled
    page.button(key="evaluate_run").click()
    page = finished(run(page), lab.evaluations.job)
    board = page.dataframe[0].value
    assert sorted(board["System"]) == ["aspect", "bm25", "dense"]
    assert list(board["nDCG@20"]) == sorted(board["nDCG@20"], reverse=True)
    assert set(board["Queries"]) == {12}
    assert "–" in board["95 % interval"][0]
    assert "Holm-corrected, n = 12" in shown(page)
    assert len(page.get("plotly_chart")) == 3
    assert CSFCUBE_NDCG in board
    assert CSFCUBE_NDCG in [caption.value for caption in page.caption], "beside the paper's figures"


def test_a_measure_that_is_newer_than_a_stored_evaluation_is_a_dash(
    lab: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def older(found: Evaluation) -> dict[str, Any]:
        report = evaluation_report(found)
        for scores in report["systems"].values():
            groups = (*scores["by_aspect"].values(), *scores["per_query"])
            for values in (scores["metrics"], scores["confidence"], *groups):
                del values["R@100"], values[CSFCUBE_NDCG]
        return report

    with monkeypatch.context() as patched:
        patched.setattr(engine.evaluate.evaluations, "evaluation_report", older)
        lab.evaluations.run(EvaluationRequest("lab", ("dense", "bm25", "aspect")))
    board = visit().dataframe[0].value
    assert board["R@100"].isna().all()
    assert board[CSFCUBE_NDCG].isna().all()
    assert board["nDCG@20"].notna().all()


def test_nothing_is_measured_that_was_changed_just_before_the_click(lab: Explorer) -> None:
    page = visit()
    page.multiselect(key="evaluate_systems").set_value(["bm25"])
    page.button(key="evaluate_run").click()
    assert "Settings changed before your click" in shown(run(page))
    page.button(key="evaluate_run").click()
    page = finished(run(page), lab.evaluations.job)
    assert list(page.dataframe[0].value["System"]) == ["bm25"]


def test_a_link_restores_collection_systems_steer_and_measure(lab: Explorer) -> None:
    lab.evaluations.run(EvaluationRequest("lab", ("dense",), steer=0.25))
    page = visit(collection="lab", systems="dense", steer="0.25", measure="RR")
    assert page.multiselect(key="evaluate_systems").value == ["dense"]
    assert page.slider(key="evaluate_steer").value == 25
    assert list(page.dataframe[0].value["System"]) == ["dense"]
    assert MEASURE in shown(page)


MEASURE = "1 divided by the rank of the first relevant document"


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"systems": "magic"}, "&#x27;magic&#x27; is not one of"),
        ({"steer": "7"}, "steer is 7"),
        ({"seeds": "-3"}, "seeds is -3"),
        ({"measure": "luck"}, "&#x27;luck&#x27; is not one of"),
        ({"collection": "nope"}, "no test collection &#x27;nope&#x27;"),
    ],
)
def test_a_link_that_cannot_be_read_is_explained_and_the_page_stands(
    lab: Explorer, params: dict[str, str], says: str
) -> None:
    page = visit(**params)
    assert says in shown(page)
    assert page.selectbox(key="evaluate_collection").value == "lab"


def test_changing_the_steer_asks_for_another_run(lab: Explorer) -> None:
    lab.evaluations.run(EvaluationRequest("lab", ("aspect",)))
    page = visit(systems="aspect")
    assert page.dataframe
    page.slider(key="evaluate_steer").set_value(75)
    page = run(page)
    assert page.query_params["steer"] in ("0.75", ["0.75"])
    assert "Not ranked yet with these settings: aspect." in shown(page)
    former = next(b for b in page.button if (b.key or "").startswith("evaluate_previous_"))
    former.click()
    assert run(page).dataframe, "a former evaluation is a click away"


def test_an_uploaded_run_is_a_row_and_can_be_removed(lab: Explorer) -> None:
    request = EvaluationRequest("lab", ("dense",))
    lab.evaluations.run(request)
    text = lab.evaluations.run_file(request, "dense").replace(" dense\n", " mine\n")
    page = visit(systems="dense")
    page.get("file_uploader")[0].upload("mine.run", text.encode())
    page = finished(run(page), lab.evaluations.job)
    assert set(page.dataframe[0].value["System"]) == {"dense", "mine"}
    (uploaded,) = lab.collections.runs("lab")
    page.button(key=f"evaluate_remove_run_{uploaded.id}").click()
    assert set(finished(run(page), lab.evaluations.job).dataframe[0].value["System"]) == {"dense"}


def test_an_uploaded_run_with_a_bad_line_is_refused_with_its_number(lab: Explorer) -> None:
    page = visit(systems="dense")
    page.get("file_uploader")[0].upload("bad.run", b"q Q0 d 1 1 me\nnonsense\n")
    assert "bad.run, line 2" in shown(run(page))
    assert lab.collections.runs("lab") == ()


def test_uploaded_judgments_open_as_a_collection(lab: Explorer) -> None:
    seed, other = lab.library.open("lab").doc_ids[:2]
    page = visit(systems="dense")
    page.get("file_uploader")[1].upload("own.qrels", f"{seed}_method 0 {other} 2\n".encode())
    page = run(page)
    (info,) = [c for c in lab.collections.all() if c.uploaded]
    assert page.selectbox(key="evaluate_collection").value == info.key
    assert "1 query over 1 seed ·" in shown(page)
    page.button(key=f"evaluate_remove_{info.key}").click()
    assert run(page).selectbox(key="evaluate_collection").value == "lab"


def test_a_collection_that_broke_says_where(fresh: Explorer, tmp_path: Path, serve: Serve) -> None:
    # Files of its own: those of ``lab`` are read by other tests meanwhile, in other processes too.
    folder = write_collection(tmp_path / "lab")
    serve(fresh).library.import_documents(ImportRequest(folder, "lab"))
    with (folder / "qrels.txt").open("a", encoding="utf-8") as lines:
        lines.write("half a line\n")
    page = visit()
    assert "qrels.txt, line" in shown(page)
    assert page.button(key="evaluate_run").disabled


def test_a_home_without_judgments_says_what_to_import(small: Explorer, serve: Serve) -> None:
    serve(small)
    assert "No collection with judgments" in shown(visit())


EVIL = "![](http://host/x.png)"


def test_a_runs_tag_and_a_files_name_are_shown_as_they_are(lab: Explorer) -> None:
    request = EvaluationRequest("lab", ("dense",))
    lab.evaluations.run(request)
    lines = lab.evaluations.run_file(request, "dense").replace(" dense\n", f" {EVIL}\n")
    run_id = lab.collections.add_run("lab", "mine.run", lines.encode()).id
    seed, other = lab.library.open("lab").doc_ids[:2]
    judged = lab.collections.add_qrels("lab", "**x** <b>", f"{seed}_method 0 {other} 2\n".encode())
    try:
        page = finished(visit(systems="dense"), lab.evaluations.job)
        page.session_state["evaluate_export"] = True
        run(page)
        assert not any(b.proto.deferred_file_id for b in page.get("download_button"))
        labels = [button.label for button in page.get("download_button")]
        assert escape_label(f"Run of {EVIL} (TREC)") in labels
        assert not any(EVIL in label for label in labels)
        uploader = visit(collection=judged.key).get("file_uploader")[0]
        assert "**x**" not in uploader.label
        assert "<b>" not in uploader.label
    finally:
        lab.collections.remove_run(run_id)
        lab.collections.remove_qrels(judged.key)


def test_a_name_in_a_chart_is_not_filled_in_as_a_template(lab: Explorer) -> None:
    found = lab.evaluations.run(EvaluationRequest("lab", ("dense",))).result.evaluation
    assert found is not None
    named = replace(found, systems={"%{x} <b>": found.systems["dense"]})
    strip, trade = strip_frame(named, "nDCG@20", {}), trade_off_frame(named)
    assert set(strip["seed"]) == {""}, "there are no titles"
    assert list(trade)[:2] == ["system", "nDCG@20"]
    for figure in (
        strip_plot(strip, named, (), dark=False),
        trade_off(trade, named, dark=False),
    ):
        templates = [trace.hovertemplate or "" for trace in figure.data]
        assert not any("<b>" in template or "{x} " in template for template in templates)


def test_a_query_in_sql_is_run_and_what_is_wrong_with_it_is_shown(lab: Explorer) -> None:
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
