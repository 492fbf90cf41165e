"""A connected model reads wordings on Explore and Compare; without one, nothing is different."""

import json

import pytest

from engine.lenses.definitions import RESEARCH, find_aspect
from pages._compare.compare_state import variants_from_json
from tests.fakes.model_answers import CONTENT, MODEL, WORDS, reads
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import SEED, knowledge
from tests.pages.visits import click, param, run, run_until, shown, visit
from tests.support import make_explorer

OTHER = "the same measurements, whoever made them"


@pytest.fixture
def server(small_copy, serve):
    """A model that reads every wording alike, for a copy of the small corpus."""
    with serving(knowledge(), handlers=[reads()]) as running:
        home = small_copy.home.root
        serve(make_explorer(home, openai_base_url=running.url, llm_model=MODEL))
        yield running


def explore(**params):
    return visit("explore", corpus="small", seed=SEED, **params)


def switch(page, *, on, name="explore"):
    page.toggle(key=f"{name}_reads").set_value(on)
    return run(page)


def read(page):
    """Explore with the wording, read by the model."""
    switch(page, on=True)
    return run_until(page, lambda: param(page, "reading"), what="the model's reading")


def worded(page, words):
    page.text_input(key="explore_instruction").set_value(words)
    return run(page)


def chips(page):
    """What the chips of the reading show."""
    [found] = [
        json.loads(one.proto.json)
        for one in page.get("bidi_component")
        if one.proto.component_name == "seedlens_reading"
    ]
    return dict(found)


def test_without_a_model_there_is_no_switch(small_copy, serve):
    serve(small_copy)
    for page in (explore(q=WORDS), visit("compare", corpus="small", seed=SEED)):
        assert not [t for t in page.toggle if "Interpret with a model" in t.label]


def test_the_model_reads_a_wording_only_when_it_is_let_and_the_link_has_what_it_read(server):
    page = explore(q=WORDS)
    assert server.seen.requests == 0
    read(page)
    assert param(page, "reading") == "+method,-result"
    assert "interpreted as Method, excluding Result" in shown(page)
    assert f"Interpreted as content: “{CONTENT}”" in shown(page)
    assert chips(page)["model"] == "judge"

    other = explore(q=WORDS, reading="+method,-result")
    assert not other.toggle(key="explore_reads").value, "another visit"
    assert chips(other)["model"] == ""
    assert "interpreted as Method, excluding Result" in shown(other)
    assert server.seen.questions == 1


def test_what_the_model_read_is_taken_back_and_used_again(server):
    page = read(explore(q=WORDS))
    assert chips(page)["other"]["reading"] == ""
    del page.query_params["reading"]  # as the button or the browser's Back do
    assert chips(run(page))["other"]["reading"] == "+method,-result", "offered"
    assert param(run(page), "reading") == "", "and not forced upon who went back"
    worded(page, OTHER)
    run_until(page, lambda: param(page, "reading"), what="the model's reading")
    assert param(worded(page, WORDS), "reading") == "", "it was taken back before"
    page.query_params["reading"] = "+method,-result"
    assert chips(run(page))["model"] == "judge"
    switch(page, on=False)
    assert param(page, "reading") == ""

    worded(page, "the same instruments")
    assert server.seen.questions == 2, "switched off, nothing is asked"
    read(page)
    assert server.seen.questions == 3
    page.selectbox(key="explore_aspect").set_value(page.selectbox(key="explore_aspect").options[0])
    run(page)
    assert param(page, "reading") == "+background,-result", "the aspect that was chosen decides"
    assert param(worded(page, WORDS), "reading") == "+background,-result"
    assert server.seen.questions == 3, "what was asked before is known"


def test_a_wording_that_the_model_cannot_read_is_read_as_without_it(server):
    page = explore(q=WORDS)
    before = page.get("html")
    server.behaviour.faults = {"prose": 1.0}
    switch(page, on=True)
    run_until(page, lambda: "judge did not interpret the instruction" in shown(page), what="a note")
    assert param(page, "reading") == ""
    assert "Using the built-in interpretation" in shown(page)
    assert len(page.get("html")) >= len(before)
    server.behaviour.faults = {}
    click(page, "explore_read_again")
    run_until(page, lambda: param(page, "reading"), what="the model's reading")


def test_on_compare_wordings_of_ones_own_are_read_and_those_of_the_lens_are_not(server):
    rows = [
        {"name": "mine", "wording": WORDS},
        {"name": "base", "wording": find_aspect(RESEARCH, "result").instruction},
        {"name": "words", "wording": WORDS, "system": "dense"},
        {"name": "chosen", "wording": OTHER, "aspect": "background"},
        {"name": "corrected", "wording": OTHER, "reading": "+result"},
    ]
    page = visit("compare", corpus="small", seed=SEED, aspect="method", variants=json.dumps(rows))

    def readings():
        return [",".join(v.reading) for v in variants_from_json(param(page, "variants"))]

    assert readings() == ["", "", "", "", "+result"]
    switch(page, on=True, name="compare")
    run_until(page, lambda: any(readings()), what="the model's readings")
    assert readings() == ["+method,-result", "", "", "+background,-result", "+method,-result"]
    assert server.seen.questions == 2, "equal wordings are one question"
    switch(page, on=False, name="compare")
    assert not any(readings())
