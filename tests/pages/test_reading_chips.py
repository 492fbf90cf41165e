"""What a wording was read as can be corrected, and choosing an aspect never erases a wording."""

import pytest

from engine.types.searches import WHOLE
from pages._common.state import Pages
from pages._compare.compare_state import CompareView, variants_from_json, variants_to_json
from pages._explore.explore_page import correct
from pages._explore.explore_state import View
from tests.pages.visits import param, run, shown, visit

WORDS = "similar evaluation set-up, ignore the topic"
READ = ("+method", "-background")
WORDED = View("demo", "demo-0232", instruction=WORDS)
CHOSEN = View("demo", "demo-0232", aspect="method")


def explore(**params):
    return visit("explore", corpus="demo", seed="demo-0232", **params)


@pytest.mark.parametrize(
    ("event", "reading", "aspect"),
    [
        ({"old": "-background"}, ("+method",), "method"),
        ({"old": "+method"}, ("-background",), ""),
        ({"old": "-background", "term": "+background"}, ("+method", "+background"), ""),
        ({"old": "+method", "term": "-method"}, ("-method", "-background"), ""),
        ({"term": "+result"}, ("+method", "-background", "+result"), ""),
        ({"by_words": True}, (), ""),
        ({"reading": "+result,-method"}, ("+result", "-method"), ""),
        ({"reading": ""}, (), ""),
    ],
)
def test_a_chip_is_removed_turned_or_added(event, reading, aspect):
    found = correct(WORDED, READ, (), event)
    assert (found.reading, found.aspect, found.focus) == (reading, aspect, ())
    assert found.instruction == WORDS


def test_taking_the_last_chip_away_reads_the_wording_as_asking_for_nothing():
    assert correct(WORDED, ("+method",), (), {"old": "+method"}).reading == WHOLE
    assert correct(WORDED, (), (3,), {"sentence": 3}).reading == WHOLE, "quoted by the wording"


def test_without_a_wording_a_chip_is_the_aspect_itself():
    gone = correct(CHOSEN, ("+method",), (), {"old": "+method"})
    assert (gone.aspect, gone.reading) == ("", ())
    assert correct(gone, (), (), {"term": "+method"}) == CHOSEN
    turned = correct(CHOSEN, ("+method",), (), {"old": "+method", "term": "-method"})
    assert (turned.aspect, turned.reading) == ("", ("-method",))


def test_sentences_come_and_go_beside_the_aspects():
    picked = correct(CHOSEN, ("+method",), (), {"sentence": 2})
    assert (picked.focus, picked.reading, picked.aspect) == ((2,), ("+method",), "method")
    assert correct(picked, ("+method",), (2,), {"sentence": 2}) == CHOSEN
    quoted = correct(WORDED, (), (1, 4), {"sentence": 1})
    assert (quoted.focus, quoted.reading) == ((4,), ())


def test_a_correction_is_part_of_the_link_and_goes_along_to_compare():
    view = View("demo", "demo-0232", instruction=WORDS, reading=("+method",), focus=(2,), steer=0.8)
    assert View.from_params(view.to_params()) == view
    own = view.variant("aspect")
    assert own is not None
    assert variants_from_json(variants_to_json([own])) == (own,)
    compare = CompareView.found_in(Pages().leave(view))
    assert compare.variants[0].reading == ("+method",)


def test_a_reading_that_names_no_aspect_of_the_lens_is_explained(demo):
    assert "There is no aspect &#x27;taste&#x27;" in shown(explore(reading="+taste"))
    assert "The reading &#x27;+method,-method&#x27;" in shown(explore(reading="+method,-method"))


def test_choosing_and_clearing_the_aspect_keep_the_wording(demo):
    page = explore(q=WORDS, aspect="result")
    preset = page.selectbox(key="explore_aspect")
    preset.set_value(preset.options[1])
    run(page)
    assert (param(page, "aspect"), param(page, "q")) == ("method", WORDS)
    page.selectbox(key="explore_aspect").set_value(None)
    run(page)
    assert (param(page, "aspect"), param(page, "q")) == ("", WORDS)
    assert "interpreted as Method, excluding Background" in shown(page)


def test_other_words_are_read_anew(demo):
    page = explore(q=WORDS, reading="+result")
    assert "interpreted as Result" in shown(page)
    assert param(page, "reading") == "+result"
    page.text_input(key="explore_instruction").set_value("the same task")
    run(page)
    assert (param(page, "q"), param(page, "reading")) == ("the same task", "")
