"""Where a model grades on the Annotate page: cost, progress, a blind check, differences."""

import pytest

from pages._annotate import assessor
from pages._annotate.judging import JudgingSession, from_key, receive, view_data
from tests.engine.annotate.conftest import grader as grader
from tests.engine.annotate.grading_steps import JUDGE, project_with_pool
from tests.fakes.model_answers import MODEL
from tests.pages.visits import click, judged_on, run, run_until, shown, visit
from tests.support import make_explorer

TWELVE = {"systems": ("dense",), "depth": 12}


@pytest.fixture
def graded(small_copy, grader, serve):
    """An explorer whose endpoint is that model, and a project of twelve items."""
    home = small_copy.home.ledger.parent
    return serve(make_explorer(home, openai_base_url=grader.url, llm_model=MODEL))


def test_an_unnamed_model_is_refused_with_the_names_there_and_the_form_stays(
    small_copy, grader, serve
):
    project_with_pool(serve(small_copy), **TWELVE)
    page = visit_grading()
    page.text_input(key="model_address").set_value(grader.url)
    click(page, "model_connect")
    run_until(page, lambda: "No model is named" in shown(page), what="the names")
    assert page.text_input(key="model_address").value == grader.url
    page.pills(key="model_offered").set_value(MODEL)
    run_until(page, lambda: f"<strong>{MODEL}</strong>" in shown(page), what="the connection")
    assert page.button(key="annotate_model_start").disabled is False


def visit_grading():
    return visit("annotate", corpus="small", project="p", part="model")


def until_graded(page):
    return run_until(page, lambda: 'role="progressbar"' not in shown(page), what="the last grade")


def test_a_model_grades_a_sample_is_checked_blindly_and_differences_are_shown(graded):
    project = project_with_pool(graded, **TWELVE)
    page = visit_grading()
    assert "No model grades in this project yet" in shown(page)
    assert "12 candidates of 1 query: 12 requests, up to 34 including retries" in shown(page)
    assert "Model grades are not used in qrels" in shown(page)
    page.button(key="annotate_model_start").click()
    until_graded(page)
    assert f"12 candidates graded by {JUDGE}" in shown(page)
    assert f"{JUDGE} graded 12 items; people graded none of them." in shown(page)
    assert page.button(key="annotate_model_start").disabled

    page.text_input(key="annotate_name").set_value("Ada")
    page.number_input(key="annotate_sample_size_12").set_value(4)
    run(page)
    click(page, "annotate_sample_begin")
    assert judged_on(page)
    assert "hidden until you finish" in shown(page)
    assert "exports and agreement leave them out" in shown(page)
    _, items = page.session_state[assessor._SAMPLE]
    place = JudgingSession(project, "Ada", only=items)
    data = view_data(graded, place)
    assert data["progress"]["total"] == 4
    assert {from_key(key) for key in data["next"]} == set(items)
    assert all(item["said"] is None for item in data["items"])
    assert JUDGE not in str(data), "nothing of the model is sent"
    said = {"verdict": "grade", "relevance": 1, "note": "<b>close</b>", "marks": [], "seconds": 1.0}
    events = [
        {"event": f"e{n}", "kind": "judge", "key": key, **dict(zip(("query_id", "doc_id"),
         from_key(key) or (), strict=False)), **said}
        for n, key in enumerate(data["next"])
    ]  # fmt: skip
    assert not receive(graded, place, {"turn": 1, "events": events}).refused
    assert view_data(graded, place)["next"] == []
    assert {j.origin for j in graded.annotation.judgments(project, annotator="Ada")} == {"audit"}

    click(page, "annotate_sample_end")
    assert "people graded 4 of them." in shown(page)
    assert "Rows: grades of people. Columns: grades of model:judge." in shown(page)
    assert "&lt;b&gt;close&lt;/b&gt;" in shown(page)
    assert "<b>close" not in shown(page)
    assert "does something else." in shown(page) or "does the same." in shown(page)


def test_a_run_is_cancelled_found_again_and_resumed(graded, grader):
    project = project_with_pool(graded, **TWELVE)
    graded.annotation.grading.batch = 2
    grader.behaviour.latency = 0.5
    page = visit_grading()
    click(page, "annotate_model_start")
    assert page.button(key="annotate_model_start").disabled
    other = visit_grading()
    assert other.button(key="annotate_model_cancel"), "another visit finds it under way"
    click(other, "annotate_model_cancel")
    until_graded(other)
    assert "Cancelled" in shown(other)
    grader.behaviour.latency = 0.0
    other.button(key="annotate_model_resume").click()
    until_graded(other)
    assert "Done" in shown(other)
    assert len(graded.annotation.judgments(project, annotator=JUDGE)) == 12
    click(other, "annotate_model_dismiss")
    assert "Done" not in shown(other)


def test_only_leads_see_the_model_and_let_its_grades_count(graded):
    project_with_pool(graded, **TWELVE, leads=("Grace",))
    page = visit_grading()
    assert "Only leads of this project can open" in shown(page)
    page.text_input(key="annotate_name").set_value("Grace")
    run(page)
    page.segmented_control(key="annotate_part").set_value("project")
    run(page)
    page.toggle(key="annotate_model_grades_small_p").set_value(True)
    click(page, "annotate_save_small_p")
    assert graded.annotation.project("small", "p").model_grades
    page.segmented_control(key="annotate_part").set_value("model")
    run(page)
    assert "set under Project" in shown(page)
