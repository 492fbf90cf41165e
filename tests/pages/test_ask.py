"""The Ask page when things are not as they should be."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.model_answers import MODEL, Knowledge
from tests.model_server import ModelServer, serving

ROOT = Path(__file__).resolve().parents[2]
LONG = "Why do honey bees collapse? " * 40


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(Knowledge({}, {})) as running:
        yield running


@pytest.fixture
def page(
    small_home: Path, home: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> AppTest:
    """The app on the small corpus, with a model."""
    import streamlit as st

    st.cache_resource.clear()
    shutil.copytree(small_home, home)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("SEEDLENS_LLM_MODEL", MODEL)
    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=120)
    app.switch_page(str(ROOT / "pages" / "ask.py"))
    app.query_params["corpus"] = "small"
    return app


def words(app: AppTest) -> str:
    """All HTML of the page."""
    return " ".join(element.proto.body for element in app.get("html"))


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("k", "many", "This link cannot be read"),
        ("k", "99", "not a number from 1 to 20"),
        ("system", "magic", "there is no system &#x27;magic&#x27;"),
        ("corpus", "nowhere", "nowhere"),
    ],
)
def test_a_link_that_cannot_be_read_is_explained_and_the_question_stays(
    page: AppTest, name: str, value: str, says: str
) -> None:
    page.query_params["question"] = "Why do bees collapse?"
    page.query_params[name] = value
    page.run()
    assert not page.exception
    assert says in words(page)
    assert page.text_area(key="ask_question").value == "Why do bees collapse?"
    assert page.selectbox(key="ask_corpus").value == "small"


def test_the_cost_is_shown_before_anything_is_sent(page: AppTest, server: ModelServer) -> None:
    page.query_params["question"] = "Why do honey bees collapse?"
    page.run()
    assert not page.exception
    assert "6 passages, about" in words(page)
    assert not page.button(key="ask_button").disabled
    assert server.seen.requests == 0
    page.slider(key="ask_passages").set_value(1).run()
    assert "1 passage, about" in words(page)


def test_a_long_question_stays_out_of_the_link_but_in_the_visit(page: AppTest) -> None:
    page.run()
    page.text_area(key="ask_question").set_value(LONG).run()
    assert "question" not in page.query_params
    page.slider(key="ask_passages").set_value(3).run()
    assert page.text_area(key="ask_question").value == LONG
    page.text_area(key="ask_question").set_value("Short?").run()
    assert "Short?" in page.query_params["question"]


def test_an_empty_question_is_refused_in_words(page: AppTest, server: ModelServer) -> None:
    page.run()
    page.button(key="ask_button").click().run()
    assert not page.exception
    assert "The question is empty." in words(page)
    assert server.seen.requests == 0
