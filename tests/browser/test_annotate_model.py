"""A model that grades, in a real browser: connected, started, left alone, checked, contradicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from engine.types.annotating import PoolRequest, Project
from engine.types.searches import Query
from tests.browser.browser_steps import bring, connect
from tests.browser.conftest import Server, Visit
from tests.fakes.model_answers import MODEL, Knowledge, grades_by
from tests.fakes.model_server import ModelServer, serving
from tests.fakes.model_sessions import SEED
from tests.fakes.small_corpus import DOCUMENTS

HOSTILE = '<img src="http://192.0.2.1/x.png"> **bold** ![a](http://192.0.2.1/y.png)'
JUDGE = f"model:{MODEL}"
pytestmark = pytest.mark.usefixtures("demo_indexed")


@pytest.fixture
def grader() -> Iterator[ModelServer]:
    """A model that gives 3 to what trains a network, 0 to the rest, and means no good."""
    grades = grades_by()

    def hostile(prompt: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        said: dict[str, Any] | None = grades(prompt, body)
        return said and {**said, "reason": f"{said['reason']} {HOSTILE}"}

    with serving(Knowledge({}, {}), handlers=[hostile]) as running:
        yield running


@pytest.mark.nightly
def test_a_model_grades_and_people_check_a_sample_without_seeing_what_it_said(
    visit: Visit, server: Server, grader: ModelServer, tmp_path: Path
) -> None:
    annotation = bring(server.home, tmp_path, "graded", DOCUMENTS).annotation
    project = annotation.save(Project("graded", "by-model", guidelines={"": "Be strict."}), "lead")
    annotation.add_queries(project, [Query("graded", seed=SEED, aspect="method")])
    annotation.fill_pool(project, PoolRequest(("dense",), 39))
    page = visit.open("/annotate?corpus=graded&project=by-model&part=model")
    expect(page.get_by_text("39 candidates of 1 query have no human grade")).to_be_visible()
    connect(page, grader.url)
    expect(page.get_by_text("of 1 query: 39 requests, up to 88 including retries")).to_be_visible()
    grader.behaviour.latency = 0.6
    page.get_by_role("button", name="Start grading").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.locator(".md-line", has_text="of 39 candidates graded")).to_be_visible()
    # It goes on while the part is left, and is there on return.
    page.get_by_role("radio", name="Pool").click()
    expect(page.get_by_role("button", name="Fill the pool")).to_be_visible()
    grader.behaviour.latency = 0.0
    page.get_by_role("radio", name="Model").click()
    expect(page.get_by_text(f"graded by {JUDGE}")).to_be_visible()
    expect(page.get_by_text(f"{JUDGE} graded 39 items; people graded none")).to_be_visible()
    visit.shoot("annotate-model")
    check_a_sample_of_three(page)

    page.get_by_role("button", name="Show differences").click()
    expect(page.get_by_text("Differences (3)")).to_be_visible()
    expect(page.locator(".sl-differ").first).to_contain_text(HOSTILE.replace("<img", "< img"))
    expect(page.locator(".sl-differ img")).to_have_count(0)
    page.locator(".sl-differ summary").first.click()
    expect(page.locator(".sl-differ .sl-paper").first).to_be_visible()
    mine = [j for j in annotation.judgments(project) if j.origin == "audit"]
    assert [j.relevance for j in mine] == [1, 1, 1]
    assert annotation.grading.check(project).items == 3
    assert annotation.exchange.qrels(project).count("model") == 0


def check_a_sample_of_three(page: Page) -> None:
    """Grade three of its items by keys, and the last one again; nothing it said is shown."""
    page.get_by_label("Items").fill("3")
    page.get_by_label("Items").press("Enter")
    page.get_by_role("button", name="Check a sample of 3").click()
    session = page.locator(".st-key-annotate_session")
    expect(session.locator(".words")).to_contain_text("0 of 3")
    expect(session.get_by_text("does something else.")).to_have_count(0)
    expect(session.get_by_text("does the same.")).to_have_count(0)
    for done in range(1, 4):
        page.keyboard.press("1")
        expect(session.locator(".words")).to_contain_text(f"{done} of 3")
        page.wait_for_timeout(80)
    expect(session.get_by_text("All done")).to_be_visible()
    page.keyboard.press("z")  # of the sample, the last one
    expect(session.locator(".words")).to_contain_text("2 of 3")
    page.wait_for_timeout(80)
    page.keyboard.press("1")
    expect(session.get_by_text("All done")).to_be_visible()
    expect(session.locator(".stored")).to_have_text("Saved")
