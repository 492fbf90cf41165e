"""Evaluate with a language model in a real browser, against a real server on loopback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import browser_steps
from tests.browser.conftest import Server, Visit, free_port, running_app, visiting
from tests.fakes.model_answers import read_knowledge
from tests.fakes.model_server import ModelServer, serving

GAP = (
    "/evaluate?collection=lab&seeds=1&part=gap&retrievers=bm25,dense&verifier=pointwise&sizes=5,20"
)
RERANK = "/evaluate?collection=lab&seeds=1&systems=dense&rerank=pairwise&depth=12"
KEY = "sk-Bb5nW8qT1vXz"


@dataclass(frozen=True)
class Lab:
    """An app over a small collection, and the model that its visitors may connect."""

    server: Server
    model: ModelServer


@pytest.fixture(scope="module")
def lab(lab_source: Path, lab_home: Path) -> Iterator[Lab]:
    log = lab_home.parent / "lab-app.log"
    with (
        serving(read_knowledge(lab_source), latency=0.03, key=KEY) as model,
        running_app(lab_home, log) as server,
    ):
        yield Lab(server, model)
    assert KEY not in log.read_text("utf-8")


@pytest.fixture
def visitor(browser: Browser, lab: Lab) -> Iterator[Visit]:
    """Somebody to whom no model is connected yet."""
    with visiting(browser, lab.server) as found:
        yield found


def connect(page: Page, address: str) -> None:
    expect(page.get_by_text("No language model is connected").first).to_be_visible(timeout=90_000)
    browser_steps.connect(page, address, KEY)


def cells(page: Page, table: str) -> Locator:
    return page.locator(f".st-key-{table} [data-testid^=glide-cell]")


@pytest.mark.nightly
def test_a_gap_is_measured_with_progress_drawn_and_there_on_return(
    visitor: Visit, lab: Lab
) -> None:
    page = visitor.open(GAP)
    expect(page.get_by_role("button", name="Measure", exact=True)).to_be_disabled(timeout=90_000)
    connect(page, lab.model.url)
    expect(page.get_by_text(re.compile(r"[\d,]+ requests in [\d,]+ rounds"))).to_be_visible()
    lab.model.behaviour.latency = 0.3  # slow enough to be seen
    page.get_by_role("button", name="Measure", exact=True).click(timeout=60_000)
    expect(page.get_by_text(re.compile("Verifying, pointwise.* pools"))).to_be_visible()
    lab.model.behaviour.latency = 0.03
    expect(page.locator(".st-key-evaluate_gap_chart .scatterlayer .point").first).to_be_visible(
        timeout=180_000
    )
    expect(page.get_by_text("The gap lies between")).to_be_visible()
    sizes = cells(page, "evaluate_gap_points").filter(has_text=re.compile("^20$"))
    expect(sizes.first).to_be_attached()
    visitor.shoot("evaluate-gap")
    sheet = page.context.new_page()
    svg = browser_steps.read_text(browser_steps.exported(page, "gap", "SVG"))
    browser_steps.assert_sound_figure(sheet, svg)
    sheet.close()
    asked = lab.model.seen.requests
    page.reload()  # another visit: the model is not connected any more
    expect(page.get_by_text("The gap lies between")).to_be_visible(timeout=60_000)
    assert lab.model.seen.requests == asked


@pytest.mark.nightly
def test_a_reranked_system_stands_beside_dense_with_its_calls(visitor: Visit, lab: Lab) -> None:
    page = visitor.open(RERANK)
    connect(page, lab.model.url)
    run = page.get_by_role("button", name="Run", exact=True)
    expect(run).to_be_enabled(timeout=60_000)
    lab.model.behaviour.latency = 0.4
    run.click()
    cancel = page.get_by_role("button", name="Cancel", exact=True)
    expect(page.get_by_text("Reranking dense, pairwise")).to_be_visible()
    cancel.click()
    ended = page.locator(".st-key-evaluate_job").get_by_role("status")
    expect(ended.first).to_contain_text("Cancelled", timeout=90_000)
    expect(cells(page, "evaluate_leaderboard").filter(has_text="dense+pairwise")).to_be_attached()
    visitor.shoot("evaluate-cancelled")

    lab.model.behaviour.latency = 0.03
    page.get_by_role("button", name="Run", exact=True).click(timeout=60_000)
    expect(page.get_by_text("Model requests")).to_be_visible(timeout=120_000)
    expect(page.get_by_text("All answers are cached")).to_be_visible(timeout=120_000)
    expect(ended).to_have_count(0)
    reported = cells(page, "evaluate_reports")
    expect(reported.filter(has_text=re.compile("^dense\\+pairwise$"))).to_be_attached()
    visitor.shoot("evaluate-reranked")


@pytest.mark.nightly
def test_an_endpoint_that_is_gone_is_told_with_what_to_do(visitor: Visit) -> None:
    page = visitor.open(RERANK.replace("depth=12", "depth=11"))
    connect(page, f"http://127.0.0.1:{free_port()}/v1")
    expect(page.locator(".sl-error").first).to_contain_text("127.0.0.1", timeout=60_000)
    page.get_by_role("button", name="Run", exact=True).click(timeout=60_000)
    problem = page.locator(".st-key-evaluate_job .sl-note")
    expect(problem.first).to_contain_text("127.0.0.1", timeout=120_000)
    expect(
        cells(page, "evaluate_leaderboard").filter(has_text=re.compile("^dense$"))
    ).to_be_attached()
    visitor.shoot("evaluate-endpoint-gone")
