"""Compare with a language model: a real server on loopback that goes by wordings and grades."""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.browser_steps import connect, until
from tests.browser.conftest import ROOT, visit_with
from tests.fakes.model_answers import read_knowledge
from tests.fakes.model_server import obedient, serving
from tests.fakes.model_sessions import KEY

VARIANTS = [
    {"name": "base", "wording": "Papers that use a similar method or procedure."},
    {"name": "deaf", "wording": "Papers that use a similar method.", "system": "dense"},
    {"name": "none", "wording": "", "system": "dense"},
]
pytestmark = pytest.mark.usefixtures("demo_indexed")
PLAIN = {"corpus": "demo", "seed": "demo-0232", "aspect": "method"}


def link(**more):
    return "/compare?" + urlencode({**PLAIN, "variants": json.dumps(VARIANTS), **more})


RERANK = link(rerank="pairwise-lite", rerank_depth="40")


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge(ROOT / "assets" / "demo")


@pytest.fixture
def model(knowledge):
    """A model that is asked by this test only: its address is in every stored answer."""
    with serving(knowledge, noise=0.5, latency=0.1, key=KEY) as running:
        running.behaviour.handlers = [obedient(running.answerer)]
        yield running


def open_comparison(visit, address=RERANK):
    page = visit.open(address)
    expect(page.locator(".cmp-verdict")).to_have_count(3, timeout=60_000)
    expect(page.locator(".lines > g").first).to_be_attached()
    return page


def run_area(page):
    return page.locator(".st-key-compare_run")


def report(page):
    return run_area(page).locator(".md-line.sl-dim")


def verdict(page, number):
    return page.locator(".cmp-verdict").nth(number)


def lines(page):
    """Every paper of the rank flow with its ranks."""
    found: list[str] = page.locator(".lines > g").evaluate_all("all => all.map(g => g.ariaLabel)")
    return sorted(found)


def settled(page):
    """The rank flow once it does not change any more."""
    found = lines(page)
    page.wait_for_timeout(1_000)
    return found if lines(page) == found else settled(page)


def expect_lines(page, expected):
    """The verdicts are drawn first: the rank flow follows."""
    until(page, lambda: lines(page) == expected, what="the rank flow")


def ask(page, name="Rerank"):
    run_area(page).get_by_role("button", name=name, exact=True).click()


@pytest.mark.nightly
def test_the_variants_are_reranked_and_judged_by_whether_the_model_follows_them(
    visit, model, browser, server
):
    page = open_comparison(visit)
    before = lines(page)
    expect(verdict(page, 1)).to_contain_text("does not read wordings")
    connect(page, model.url, KEY)
    estimate = re.compile(r"All 3 variants: \d+ requests in \d+ rounds")
    expect(run_area(page)).to_contain_text(estimate)
    assert model.seen.questions == 0, "nobody pressed the button"
    model.behaviour.latency = 0.3
    ask(page)
    expect(run_area(page).get_by_role("progressbar")).to_be_visible()
    expect(run_area(page)).to_contain_text(
        re.compile(r"[12] of 3 variants done.*round \d+ of \d+.*\d+ requests")
    )
    visit.shoot("compare-model-running")
    expect(report(page)).to_contain_text(re.compile(r"\d+ requests in \d+ rounds"))
    expect(
        page.get_by_role("heading", name="Does the model follow the instruction?")
    ).to_be_visible()
    expect(verdict(page, 1)).to_contain_text("“deaf” on dense with the model follows")
    expect(verdict(page, 1)).to_contain_text(re.compile(r"rank gain \+0\.\d\d"))
    expect(verdict(page, 1)).to_contain_text(
        re.compile(r"The model moved \d+ of the top 20, .* Original: no effect\.")
    )
    expect(verdict(page, 2)).to_contain_text("changes nothing")
    after = settled(page)
    assert after != before
    visit.shoot("compare-model-done")

    page.get_by_role("radio", name="Original").click()
    expect(verdict(page, 1)).to_contain_text("does not read wordings")
    expect_lines(page, before)

    asked = model.seen.questions
    other = visit_with(browser, server)
    again = open_comparison(other)
    connect(again, model.url, KEY)
    expect(report(again)).to_contain_text("no requests")
    expect(verdict(again, 1)).to_contain_text("with the model follows")
    expect_lines(again, after)
    assert model.seen.questions == asked, "who opens the link is shown what the ledger knows"
    other.page.context.close()
