"""The Ask page when things are not as they should be."""

from __future__ import annotations

import json
from html import escape

import pytest

from engine.ask.answering import read_citations
from engine.types.documents import Document
from engine.types.jobs import Job
from engine.types.models import ModelReport
from engine.types.reading import Answer, AskJob, AskRequest, GivenPassage
from pages._ask.ask_page import answer_data
from tests.fakes.model_answers import Knowledge
from tests.fakes.model_server import serving
from tests.pages.visits import APP, address, click, param, run, run_until, script, shown

LONG = "Why do honey bees collapse? " * 40


@pytest.fixture
def server():
    with serving(Knowledge({}, {})) as running:
        yield running


@pytest.fixture
def page(small_copy, server, connect):
    """The app on the small corpus, which is that of this test's home, with a model."""
    connect(server.url)
    app = address(APP, corpus="small")
    app.switch_page(script("ask"))
    return app


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("k", "99", "k is 99, input should be less than or equal to 20"),
        ("corpus", "nowhere", "nowhere"),
    ],
)
def test_a_link_that_cannot_be_read_is_explained_and_the_question_stays(page, name, value, says):
    page.query_params["question"] = "Why do bees collapse?"
    page.query_params[name] = value
    run(page)
    assert says in shown(page)
    assert page.text_area(key="ask_question").value == "Why do bees collapse?"
    assert page.selectbox(key="ask_corpus").value == "small"


def test_the_cost_is_shown_before_anything_is_sent(page, server):
    page.query_params["answer"] = "gone"
    run(page)
    assert "This answer is not stored here." in shown(page)
    click(page, "ask_button")
    assert "The question is empty." in shown(page)
    page.text_area(key="ask_question").set_value("Why do honey bees collapse?")
    run(page)
    assert "6 passages, about" in shown(page)
    assert not page.button(key="ask_button").disabled
    assert server.seen.requests == 0
    page.slider(key="ask_passages").set_value(1).run()
    assert "1 passage, about" in shown(page)


def test_a_long_question_stays_out_of_the_link_but_in_the_visit(page):
    run(page)
    page.text_area(key="ask_question").set_value(LONG).run()
    assert "question" not in page.query_params
    page.slider(key="ask_passages").set_value(3).run()
    assert page.text_area(key="ask_question").value == LONG
    page.text_area(key="ask_question").set_value("Short?").run()
    assert "Short?" in page.query_params["question"]


def test_without_a_model_passages_are_shown_and_the_page_says_how_to_connect_one(small_copy):
    page = address(APP, corpus="small", question="Why do trees cool?")
    page.switch_page(script("ask"))
    run(page)
    assert page.text_area(key="ask_question").value == "Why do trees cool?"
    words = shown(page, "markdown", "caption", "text")
    assert "No language model is connected." in words
    assert "Connect a model for an answer." in words
    assert "Passages only: no model is connected." in shown(page)
    assert "ask_find" in keys(page)
    assert "ask_button" not in keys(page)
    assert "No scenarios yet." in words


def answered(page):
    return run_until(page, lambda: "ask_cancel" not in keys(page), what="the answer")


def answers(page):
    """What the components of answers were told, the first one first."""
    all_of = [one.proto for one in page.get("bidi_component")]
    return [json.loads(one.json) for one in all_of if one.component_name == "seedlens_ask"]


def keys(page):
    return [str(button.key) for button in page.button]


def test_an_example_is_asked_followed_up_reopened_and_removed(page, server):
    server.behaviour.handlers = [lambda prompt, _: "So it is [1]."]
    run(page)
    example = page.button(key="ask_example_0").label
    click(page, "ask_example_0")
    question = page.text_area(key="ask_question").value
    assert question
    assert question.split()[0] in example
    click(page, "ask_button")
    answered(page)
    first = param(page, "answer")
    assert "Export as Markdown" in [b.proto.label for b in page.get("download_button")]

    assert not page.text_area(key="ask_question").value, "there is one box, for the next question"

    page.text_area(key="ask_question").set_value("And then?")
    click(page, "ask_button")
    answered(page)
    second = param(page, "answer")
    assert second != first
    assert "former answer" in server.seen.prompts[-1]
    assert shown(page).index(escape(question)) < shown(page).index("And then?"), "newest last"
    assert f"answer={first}" in shown(page), "each answer has its link"

    later = address(APP, corpus="small", answer=first)
    later.switch_page(script("ask"))
    run(later)
    assert "Previous questions (2)" in [e.label for e in later.expander]
    assert "And then?" not in shown(later)
    click(later, f"ask_reopen_{second}")
    assert "And then?" in shown(later)
    click(later, "ask_forget")
    assert f"ask_reopen_{second}" not in keys(later)
    assert param(later, "answer") == first
    click(later, "ask_new")
    assert "ask_example_0" in keys(later)


def test_a_failed_question_can_be_asked_again(page, server):
    server.behaviour.handlers = [lambda *_: ""]
    page.query_params["question"] = "Why?"
    answered(click(run(page), "ask_button"))
    assert "The model wrote nothing." in shown(page)
    server.behaviour.handlers = [lambda *_: "Mites, says the first one [1]. Nobody knows why."]
    answered(click(page, "ask_again"))
    parts = answers(page)[-1]["parts"]
    assert [part["label"] for part in parts] == ["check", "no source"]


def test_sentences_without_a_source_are_marked():
    document = Document("d", "t", "Most bees die of mites in winter.", ())
    passages = (GivenPassage(1, document, (0, 33)),)
    text = "Most bees die of mites [1]. They all fly. It is so [9]. Yes."
    cited = read_citations(text, passages)
    report = ModelReport(model="m", endpoint="e", mode="ask", depth=1)
    job: AskJob = Job("a", AskRequest("Why?", "c"), "done", Answer(passages, *cited, report))
    parts = answer_data(job)["parts"]
    assert "".join(part["text"] for part in parts) == "".join(p.text for p in cited.parts)
    found = [(part["unfounded"], part["label"]) for part in parts]
    assert found == [
        ("", ""),
        ("They all fly.", "no source"),
        ("It is so", "no such passage"),
        ("", ""),
    ]
