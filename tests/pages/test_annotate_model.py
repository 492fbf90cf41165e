"""Where a model grades on the Annotate page: cost, progress, a blind check, differences."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.config import ROOT
from engine.explorer import Explorer
from engine.types import PoolRequest, Project, Query
from pages import _annotate_model_check
from pages._annotate_desk import Sitting, desk_data, take_in
from pages._annotate_items import Papers, from_key
from tests.grading_answers import grades_by
from tests.judging import SEED
from tests.model_answers import MODEL, Knowledge
from tests.model_server import ModelServer, serving
from tests.support import make_explorer

JUDGE = f"model:{MODEL}"
QUERY = f"{SEED}_method"
PLACE = "small_p"


@pytest.fixture(autouse=True)
def _no_cache_outlives_a_test() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def grader() -> Iterator[ModelServer]:
    """A model that gives 3 to what trains a network, and 0 to the rest."""
    with serving(Knowledge({}, {}), handlers=[grades_by()]) as running:
        yield running


@pytest.fixture
def graded(small_copy: Explorer, grader: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Explorer:
    """An explorer whose endpoint is that model, and a project of twelve items."""
    home = small_copy.home.ledger.parent
    explorer = make_explorer(home, openai_base_url=grader.url, llm_model=MODEL)
    monkeypatch.setattr("pages._shared.open_engine", lambda: explorer)
    return explorer


def make_project(explorer: Explorer, **settings: Any) -> Project:
    annotation = explorer.annotation
    project = annotation.save(Project("small", "p", **settings), "lead")
    annotation.add_queries(project, [Query("small", seed=SEED, aspect="method")])
    annotation.fill_pool(project, PoolRequest(("dense",), 12))
    return project


def visit(**params: str) -> AppTest:
    page = AppTest.from_file(str(ROOT / "pages" / "annotate.py"), default_timeout=60)
    for name, value in {"corpus": "small", "project": "p", "part": "model", **params}.items():
        page.query_params[name] = value
    return run(page)


def run(page: AppTest) -> AppTest:
    page.run()
    assert not page.exception, page.exception
    return page


def shown(page: AppTest) -> str:
    return "\n".join(e.value for e in page.get("html"))


def until_graded(page: AppTest) -> AppTest:
    deadline = time.monotonic() + 180
    while 'role="progressbar"' in shown(run(page)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return page


def test_a_model_grades_a_sample_is_checked_blindly_and_differences_are_shown(
    graded: Explorer,
) -> None:
    project = make_project(graded)
    page = visit()
    assert "No model has graded anything" in shown(page)
    assert "12 candidates of 1 query: at most 12 calls" in shown(page)
    assert "Its grades are no qrels." in shown(page)
    page.button(key="annotate_model_start").click()
    until_graded(page)
    assert f"{JUDGE}: done" in shown(page)
    assert f"{JUDGE} graded 12 items; people graded none of them." in shown(page)
    assert page.button(key="annotate_model_start").disabled

    page.text_input(key="annotate_name").set_value("Ada")
    page.number_input(key="annotate_sample_size_12").set_value(4)
    run(page)
    page.button(key="annotate_sample_begin").click()
    run(page)
    assert page.get("bidi_component")
    assert "hidden until you are through" in shown(page)
    _, items = page.session_state[_annotate_model_check._SAMPLE]
    place = Sitting(project, "Ada", Papers("small"), only=items)
    data = desk_data(graded, place)
    assert data["progress"]["total"] == 4
    assert {from_key(key) for key in data["next"]} == set(items)
    assert all(item["said"] is None for item in data["items"])
    assert JUDGE not in str(data), "nothing of the model is on the desk"
    said = {"verdict": "grade", "relevance": 1, "note": "<b>close</b>", "marks": [], "seconds": 1.0}
    events = [
        {"event": f"e{n}", "kind": "judge", "key": key, **dict(zip(("query_id", "doc_id"),
         from_key(key) or (), strict=False)), **said}
        for n, key in enumerate(data["next"])
    ]  # fmt: skip
    assert not take_in(graded, place, {"turn": 1, "events": events}).refused
    assert desk_data(graded, place)["next"] == []

    page.button(key="annotate_sample_end").click()
    run(page)
    assert "people graded 4 of them." in shown(page)
    assert "Rows: what people said. Columns: what model:judge said." in shown(page)
    assert "&lt;b&gt;close&lt;/b&gt;" in shown(page)
    assert "<b>close" not in shown(page)
    assert "does something else." in shown(page) or "does the same." in shown(page)


def test_a_run_is_cancelled_found_again_and_resumed(graded: Explorer, grader: ModelServer) -> None:
    project = make_project(graded)
    graded.annotation.grading.batch = 2
    grader.behaviour.latency = 0.5
    page = visit()
    page.button(key="annotate_model_start").click()
    run(page)
    assert page.button(key="annotate_model_start").disabled
    other = visit()
    assert other.button(key="annotate_model_cancel"), "another visit finds it under way"
    other.button(key="annotate_model_cancel").click()
    run(other)
    until_graded(other)
    assert "cancelled" in shown(other)
    grader.behaviour.latency = 0.0
    other.button(key="annotate_model_resume").click()
    until_graded(other)
    assert "done" in shown(other)
    assert len(graded.annotation.judgments(project, annotator=JUDGE)) == 12
    other.button(key="annotate_model_dismiss").click()
    run(other)
    assert "done" not in shown(other)


def test_without_an_endpoint_the_page_says_how_to_connect_one(
    small_copy: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages._shared.open_engine", lambda: small_copy)
    make_project(small_copy)
    page = visit()
    assert page.button(key="annotate_model_start").disabled
    assert "No language model is connected." in shown(page)
    assert "12 candidates of 1 query" in shown(page)


def test_only_leads_see_the_model_and_let_its_grades_count(graded: Explorer) -> None:
    make_project(graded, leads=("Grace",))
    page = visit()
    assert "is for the leads of this project" in shown(page)
    page.text_input(key="annotate_name").set_value("Grace")
    run(page)
    page.segmented_control(key="annotate_part").set_value("project")
    run(page)
    page.toggle(key="annotate_model_grades_p").set_value(True)
    page.button(key="annotate_save_p").click()
    run(page)
    assert graded.annotation.project("small", "p").model_grades
    page.segmented_control(key="annotate_part").set_value("model")
    run(page)
    assert "the project says so." in shown(page)
