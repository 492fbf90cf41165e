"""One workspace: each page is found as it was left, about what the page used last was about."""

import json
import shutil
from dataclasses import replace

import pytest

from engine.types.comparisons import Variant
from engine.types.corpora import ImportRequest
from pages._annotate.annotate_url import AnnotateView
from pages._ask.ask_page import AskView
from pages._build.build_words import BuildView
from pages._common import visit_memory
from pages._common.state import Pages
from pages._common.visit_memory import Visits
from pages._compare.compare_state import CompareView, variants_from_json
from pages._explore.explore_state import View
from tests.pages.visits import (
    APP,
    address,
    param,
    run,
    script,
    shown,
)
from tests.support import make_explorer

SEED, OTHER, THIRD = "demo-0001", "demo-0002", "demo-0003"
WORDING = "trained without labelled data"
SEARCH = {"corpus": "lab", "seed": SEED, "aspect": "method", "q": WORDING, "steer": "0.7"}


# -- pages and what they share -------------------------------------------------------------


def test_a_page_goes_on_as_it_was_left():
    left = View("lab", SEED, aspect="method", instruction=WORDING, page=3, trail="t")
    assert Pages().leave(left).leave(AskView("lab", "Why?")).found(View) == left


def test_pages_share_corpus_seed_and_aspect():
    pages = Pages().leave(View("lab", SEED, aspect="method", instruction=WORDING, steer=0.7))
    assert pages.found(CompareView) == CompareView("lab", SEED, aspect="method")
    assert pages.found(AskView) == AskView("lab")
    assert pages.found(BuildView) == BuildView("lab")
    assert pages.found(AnnotateView) == AnnotateView("lab")


def test_compare_takes_a_search_over_once_and_keeps_what_was_made_of_it():
    search = View("lab", SEED, instruction=WORDING, reading=("-result",), focus=(1,))
    pages = Pages().leave(search)
    compare = CompareView.found_in(pages)
    assert compare.variants[0] == search.variant("aspect")
    edited = replace(compare, variants=(Variant("mine", "other words"),), aspect="method")
    pages = pages.leave(edited)
    assert CompareView.found_in(pages) == edited
    assert CompareView.found_in(pages.leave(search)) == edited, "Explore was only looked at"
    changed = replace(search, instruction="other data")
    own = CompareView.found_in(pages.leave(changed)).variants[0]
    assert own == changed.variant("aspect")


def test_a_search_of_ones_own_stands_among_the_variants_once():
    own, base = Variant("mine", WORDING, steer=0.7), Variant("base", "Alike in method.")
    compare = CompareView("lab", SEED).with_own(own)
    assert compare.variants == (own, Variant("none", "", steer=0.7))
    assert compare.with_own(own) is compare
    former = CompareView("lab", SEED, variants=(base, Variant("mine", "before")))
    assert former.with_own(own).variants == (own, base)
    many = CompareView("lab", SEED, variants=tuple(Variant(f"v{n}", "w") for n in range(12)))
    assert len(many.with_own(own).variants) == 12


def test_nothing_of_one_corpus_goes_to_another_but_the_trail():
    first = View("lab", SEED, aspect="method", instruction=WORDING, trail="t")
    pages = Pages().leave(first).leave(AskView("small", "Why?"))
    assert pages.found(View) == View("small", trail="t")
    assert pages.found(CompareView) == CompareView("small")
    assert pages.leave(AskView("lab", "Why?")).found(View) == first, "back on the first corpus"
    assert pages.found(View, "lab") == first, "which was chosen"
    assert pages.found(View, "third") == View("third", trail="t")


def test_what_a_corpus_had_is_forgotten_with_it():
    pages = Pages().leave(View("lab", SEED, trail="t")).leave(AskView("small"))
    pages = pages.leave(BuildView("gone", "b", "labels")).within({"lab", "small"})
    assert (pages.corpus, pages.found(BuildView)) == ("", BuildView())
    assert pages.within({"lab", "small"}) is pages
    assert len(pages.views) == 2


# -- the pages themselves ------------------------------------------------------------------


@pytest.fixture(scope="module")
def home_of_two(small_home, lab_source, tmp_path_factory):
    """A home with two corpora, ``lab`` with a test collection. For reading only."""
    home = tmp_path_factory.mktemp("two") / "home"
    shutil.copytree(small_home, home)
    make_explorer(home).library.import_documents(ImportRequest(lab_source, "lab"))
    return home


@pytest.fixture
def two(home_of_two, home, serve):
    """The app on a copy of that home."""
    shutil.copytree(home_of_two, home)
    return serve(make_explorer(home))


@pytest.fixture
def browser(monkeypatch):
    """All visits are of one browser, which no test before has used."""
    monkeypatch.setattr(visit_memory, "_VISITS", Visits())
    monkeypatch.setattr(visit_memory, "_visit", lambda: "browser")
    return monkeypatch


def by_menu(page, name):
    """A click in the menu, which opens a page without parameters."""
    page.query_params.clear()
    page.switch_page(script(name))
    return run(page)


def components(page):
    """The data of the components of a page."""
    return [json.loads(one.proto.json) for one in page.get("bidi_component")]


def search_of(page):
    return {name: param(page, name) for name in SEARCH}


def test_the_menu_brings_back_the_search_and_takes_it_to_all_pages(two):
    page = run(address(APP, **SEARCH))
    trail = param(page, "trail")
    assert trail
    by_menu(page, "library")
    by_menu(page, "explore")
    assert search_of(page) == SEARCH
    assert param(page, "trail") == trail
    assert len(two.notebook.trail(trail)) == 1

    by_menu(page, "compare")
    assert (param(page, "corpus"), param(page, "seed")) == ("lab", SEED)
    assert param(page, "aspect") == "method"
    assert [v.instruction for v in variants_from_json(param(page, "variants"))] == [WORDING, ""]
    for name in ("ask", "build", "annotate"):
        assert param(by_menu(page, name), "corpus") == "lab", name
    assert param(by_menu(page, "evaluate"), "collection") == "lab"

    page.slider(key="evaluate_steer").set_value(20)
    run(page)
    by_menu(page, "ask")
    page.text_area(key="ask_question").set_value("Why do loaves rise?")
    run(page)
    by_menu(page, "explore")
    assert search_of(page) == SEARCH
    assert param(by_menu(page, "evaluate"), "steer") == "0.2"
    by_menu(page, "ask")
    assert page.text_area(key="ask_question").value == "Why do loaves rise?"


def test_a_reload_and_another_tab_find_the_pages_as_they_were_left(two, browser):
    run(address(APP, **SEARCH))
    assert search_of(run(address(APP))) == SEARCH
    assert param(by_menu(address(APP), "ask"), "corpus") == "lab"
    browser.setattr(visit_memory, "_visit", lambda: "another")
    assert param(run(address(APP)), "q") == ""


def test_two_tabs_do_not_fight_and_a_link_wins(two, browser):
    first = run(address(APP, **SEARCH))
    second = run(address(APP, corpus="small", seed="bread-survey"))
    assert (param(second, "seed"), param(second, "q")) == ("bread-survey", "")
    assert param(by_menu(first, "ask"), "corpus") == "lab"
    assert search_of(by_menu(first, "explore")) == SEARCH


def test_a_link_goes_on_with_the_trail_and_going_back_walks_it_and_adds_nothing(two):
    page = run(address(APP, **SEARCH))
    before, trail = page.query_params.copy(), param(page, "trail")
    page.query_params.clear()
    page.query_params["corpus"], page.query_params["seed"] = "lab", OTHER
    run(page)
    assert param(page, "trail") == trail
    page.query_params["seed"] = THIRD
    run(page)
    page.query_params.clear()
    page.query_params.update(before)  # as the browser does
    run(page)
    assert [query.seed for query in two.notebook.trail(trail)] == [SEED, OTHER, THIRD]
    breadcrumb = next(data for data in components(page) if "steps" in data)
    assert (len(breadcrumb["steps"]), breadcrumb["current"]) == (3, 0)


def test_a_corpus_that_was_deleted_is_not_opened_again(two, browser):
    run(address(APP, **SEARCH))
    two.library.delete("lab")
    page = run(address(APP))
    assert param(page, "corpus") == "small"
    assert 'role="alert"' not in shown(page)


def begins_tour(page):
    """Whether Explore begins its tour by itself."""
    return bool(next(data for data in components(run(page)) if "tour" in data)["tour"])


def test_the_tour_begins_on_a_first_visit_but_not_for_who_follows_a_link(two, browser):
    assert begins_tour(address(APP))
    assert begins_tour(address(APP, **SEARCH)), "over a reload, until it is left"
    browser.setattr(visit_memory, "_visit", lambda: "another")
    assert not begins_tour(address(APP, **SEARCH))
    assert not begins_tour(address(APP)), "this is no first visit any more"


def test_another_corpus_comes_back_as_it_was_left(two):
    page = run(address(APP, **SEARCH))
    trail = param(page, "trail")
    page.selectbox(key="explore_corpus").set_value("small")
    run(page)
    assert (param(page, "corpus"), param(page, "q"), param(page, "trail")) == ("small", "", trail)
    page.selectbox(key="explore_corpus").set_value("lab")
    run(page)
    assert search_of(page) == SEARCH
    assert page.text_input(key="explore_instruction").value == WORDING


def test_compare_shows_a_search_without_an_aspect_as_it_is_and_says_what_it_measures(two):
    words = "Which papers came to the same result?"
    page = run(address(APP, corpus="lab", seed=SEED, q=words))
    by_menu(page, "compare")
    mine = variants_from_json(param(page, "variants"))[0]
    assert (mine.instruction, mine.aspect) == (words, "")
    assert param(page, "aspect") == "result", "which the wording asks for"
    assert "use Result" in shown(page)
    by_menu(page, "explore")
    assert (param(page, "q"), param(page, "aspect")) == (words, "")
