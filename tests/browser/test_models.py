"""Explore and Compare with a language model, a real server on loopback that knows the grades."""

import json
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser import browser_steps
from tests.browser.conftest import ROOT, visit_with
from tests.fakes.model_answers import read_knowledge
from tests.fakes.model_server import obedient, serving
from tests.fakes.model_sessions import KEY

pytestmark = pytest.mark.usefixtures("demo_indexed")
PLAIN = "/?corpus=demo&seed=demo-0232&aspect=method"
RERANK = f"{PLAIN}&rerank=pairwise-lite&depth=50"


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge(ROOT / "assets" / "demo")


@pytest.fixture
def model(knowledge):
    """A model that is asked by this test only: its address is in every stored answer."""
    with serving(knowledge, noise=0.5, latency=0.1, key=KEY) as running:
        yield running


def titles(page):
    expect(page.locator("article")).to_have_count(20)
    return page.locator("article .title").all_inner_texts()


def open_search(visit, link):
    """Open a search, and wait for its results."""
    page = visit.open(link)
    expect(page.locator("article")).to_have_count(20)
    return page


def panel(page):
    return page.locator("[class*=st-key-explore_panel]")


def connect(page, url, key=KEY):
    """Fill in the form and wait until the endpoint was tried."""
    folded = page.locator(".st-key-explore_panel_False")  # its name says whether it opens by itself
    expect(panel(page)).to_be_visible()
    if folded.count():
        folded.locator("summary").click()
    expect(page.get_by_label("Address")).to_be_visible()
    browser_steps.connect(page, url, key)


def run_area(page):
    return page.locator(".st-key-explore_run")


def report(page):
    """What the model took, shown when it is done."""
    return run_area(page).locator(".md-line.sl-dim")


def ask(page):
    page.get_by_role("button", name="Rerank", exact=True).click()


def test_a_model_is_connected_for_the_visit_and_its_key_is_seen_nowhere(visit, model, server):
    page = open_search(visit, RERANK)
    connect(page, model.url, key="sk-wrong-000000")
    expect(panel(page).get_by_role("alert")).to_contain_text("key")
    connect(page, model.url)
    expect(page.get_by_role("button", name="Rerank", exact=True)).to_be_enabled()
    expect(page.get_by_role("button", name="Disconnect")).to_be_hidden()
    panel(page).locator("summary").click()
    expect(panel(page)).to_contain_text("token probabilities")
    assert KEY in model.seen.keys
    inputs = page.locator("input").evaluate_all("nodes => nodes.map(n => n.value)")
    assert KEY not in "\n".join([page.content(), page.url, *inputs])
    assert [f for f in files(server.home) if KEY.encode() in f.read_bytes()] == []
    assert KEY not in server.log.read_text("utf-8")
    page.get_by_role("button", name="Disconnect").click()
    expect(panel(page)).to_contain_text("No language model is connected")
    assert model.seen.questions == 0, "nothing was ranked: nobody pressed the button"


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.nightly
def test_reranking_shows_its_progress_then_what_it_changed_and_the_way_back(
    visit, model, browser, server
):
    page = open_search(visit, RERANK)
    before = titles(page)
    connect(page, model.url)
    assert model.seen.questions == 0
    model.behaviour.latency = 0.3
    ask(page)
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(run_area(page)).to_contain_text(re.compile(r"Round \d of 4.*of \d+ questions"))
    visit.shoot("explore-model-running")
    expect(report(page)).to_contain_text(re.compile(r"\d+ requests in 4 rounds"))
    expect(page.get_by_text(re.compile(r"The model moved \d+ of the top 20"))).to_be_visible()
    expect(page.locator("article .move").first).to_have_attribute(
        "title", re.compile("by the model|Same rank without the model")
    )
    visit.shoot("explore-model-done")
    after = titles(page)
    assert after != before

    page.get_by_role("radio", name="Original").click()
    expect(page.locator("article .title")).to_have_text(before)
    page.get_by_role("radio", name="With the model").click()
    expect(page.locator("article .title").first).to_have_text(after[0])
    page.get_by_role("button", name="Page 2", exact=True).click()
    expect(page.locator("article .rank").first).to_have_text("21")
    assert not set(titles(page)) & set(after)

    asked = model.seen.questions
    other = visit_with(browser, server)
    again = open_search(other, RERANK)
    connect(again, model.url)
    expect(report(again)).to_contain_text("no requests")
    assert titles(again) == after
    assert model.seen.questions == asked, "who opens the link is shown what the ledger knows"
    other.page.context.close()


@pytest.mark.nightly
def test_a_result_is_explained_in_its_card_in_words_marked_as_generated(visit, model):
    page = open_search(visit, PLAIN)
    page.get_by_text("Advanced: system, model").click()
    connect(page, model.url)
    card = page.locator("article").nth(2)
    title = card.locator(".title").inner_text()
    card.get_by_role("button", name="explain with the model").click()
    words = card.locator(".generated")
    expect(words).to_contain_text("Generated by judge")
    expect(words.locator("q").last).to_contain_text(title.split()[0])
    expect(words).to_contain_text("One unverifiable quote was removed")
    visit.shoot("explore-model-explained")
    words.get_by_role("button", name="hide").click()
    expect(words).to_have_count(0)

    model.behaviour.key = "another by now"
    other = page.locator("article").nth(3)
    other.get_by_role("button", name="explain with the model").click()
    expect(other.locator(".generated")).to_contain_text("could not explain this")


VARIANTS = [
    {"name": "base", "wording": "Papers that use a similar method or procedure."},
    {"name": "deaf", "wording": "Papers that use a similar method.", "system": "dense"},
    {"name": "none", "wording": "", "system": "dense"},
]
COMPARED = {"corpus": "demo", "seed": "demo-0232", "aspect": "method", "rerank": "pairwise-lite"}


@pytest.mark.nightly
def test_the_variants_are_reranked_and_judged_by_whether_the_model_follows_them(visit, model):
    model.behaviour.handlers = [obedient(model.answerer)]
    params = {**COMPARED, "rerank_depth": "40", "variants": json.dumps(VARIANTS)}
    page = visit.open(f"/compare?{urlencode(params)}")
    verdicts = page.locator(".cmp-verdict")
    expect(verdicts).to_have_count(3, timeout=60_000)
    expect(verdicts.nth(1)).to_contain_text("does not read wordings")
    browser_steps.connect(page, model.url, KEY)
    run_area = page.locator(".st-key-compare_run")
    estimate = re.compile(r"All 3 variants: \d+ requests in \d+ rounds")
    expect(run_area).to_contain_text(estimate)
    assert model.seen.questions == 0, "nobody pressed the button"
    model.behaviour.latency = 0.3
    run_area.get_by_role("button", name="Rerank", exact=True).click()
    expect(run_area.get_by_role("progressbar")).to_be_visible()
    expect(run_area).to_contain_text(
        re.compile(r"[12] of 3 variants done.*round \d+ of \d+.*\d+ requests")
    )
    expect(run_area.locator(".md-line.sl-dim")).to_contain_text(
        re.compile(r"\d+ requests in \d+ rounds")
    )
    expect(verdicts.nth(1)).to_contain_text("Meaning with the model follows")
    expect(verdicts.nth(1)).to_contain_text(
        re.compile(r"The model moved \d+ of the top 20, .* Original: no effect\.")
    )
    expect(verdicts.nth(2)).to_contain_text("changes nothing")
    page.get_by_role("radio", name="Original").click()
    expect(verdicts.nth(1)).to_contain_text("does not read wordings")
