"""A model that grades, in a real browser: connected, started, left alone, checked, contradicted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from engine.importing import ImportRequest
from engine.types import PoolRequest, Project, Query
from tests.browser.conftest import Server, Visit, visit_with
from tests.grading_answers import grades_by
from tests.judging import SEED
from tests.model_answers import MODEL, Knowledge
from tests.model_server import ModelServer, serving
from tests.small_corpus import DOCUMENTS
from tests.support import make_explorer, write_jsonl

HOSTILE = '<img src="http://192.0.2.1/x.png"> **bold** ![a](http://192.0.2.1/y.png)'
JUDGE = f"model:{MODEL}"


@pytest.fixture(autouse=True, scope="module")
def warm(browser: Browser, server: Server) -> None:
    """The first visitor waits for the demo, and for the encoder."""
    visit = visit_with(browser, server)
    visit.open()
    expect(visit.page.locator("article").first).to_be_visible(timeout=300_000)
    visit.page.context.close()


@pytest.fixture
def grader() -> Iterator[ModelServer]:
    """A model that gives 3 to what trains a network, 0 to the rest, and means no good."""
    grades = grades_by()

    def hostile(prompt: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        said: dict[str, Any] | None = grades(prompt, body)
        return said and {**said, "reason": f"{said['reason']} {HOSTILE}"}

    with serving(Knowledge({}, {}), handlers=[hostile]) as running:
        yield running


def test_a_model_grades_and_people_check_a_sample_without_seeing_what_it_said(
    visit: Visit, server: Server, grader: ModelServer, tmp_path: Path
) -> None:
    explorer, annotation = make_explorer(server.home), make_explorer(server.home).annotation
    source = write_jsonl(tmp_path / "graded.jsonl", DOCUMENTS)
    explorer.library.import_documents(ImportRequest(source, "graded"))
    project = annotation.save(Project("graded", "by-model", guidelines={"": "Be strict."}), "lead")
    annotation.add_queries(project, [Query("graded", seed=SEED, aspect="method")])
    annotation.fill_pool(project, PoolRequest(("dense",), 39))
    time.sleep(1.1)  # the app looks at the list of corpora once a second

    page = visit.open("/annotate?corpus=graded&project=by-model&part=model")
    expect(page.get_by_text("39 candidates of 1 query have no grade by people")).to_be_visible()
    page.get_by_label("Address").fill(grader.url)
    page.get_by_label("Model", exact=True).fill(MODEL)
    page.get_by_role("button", name="Connect for this visit").click()
    expect(page.get_by_text("Asking the endpoint")).to_have_count(0)
    expect(page.get_by_text("39 candidates of 1 query: at most 39 calls")).to_be_visible()
    grader.behaviour.latency = 0.6
    page.get_by_role("button", name="Let it grade").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.locator(".md-line", has_text="of 39 candidates graded")).to_be_visible()
    # It goes on while the part is left, and is there on return.
    page.get_by_role("radio", name="Pool").click()
    expect(page.get_by_role("button", name="Fill the pool")).to_be_visible()
    grader.behaviour.latency = 0.0
    page.get_by_role("radio", name="Model").click()
    expect(page.get_by_text(f"{JUDGE}: done")).to_be_visible()
    expect(page.get_by_text(f"{JUDGE} graded 39 items; people graded none")).to_be_visible()
    visit.shoot("annotate-model")

    page.get_by_label("Items").fill("3")
    page.get_by_label("Items").press("Enter")
    page.get_by_role("button", name="Check a sample of 3").click()
    desk = page.locator(".st-key-annotate_desk")
    expect(desk.locator(".words")).to_contain_text("0 of 3")
    expect(desk.get_by_text("does something else.")).to_have_count(0)
    expect(desk.get_by_text("does the same.")).to_have_count(0)
    for done in range(1, 4):
        page.keyboard.press("1")
        expect(desk.locator(".words")).to_contain_text(f"{done} of 3")
        page.wait_for_timeout(80)
    expect(desk.get_by_text("That was the last one")).to_be_visible()
    page.keyboard.press("z")  # of the sample, the last one
    expect(desk.locator(".words")).to_contain_text("2 of 3")
    page.wait_for_timeout(80)
    page.keyboard.press("1")
    expect(desk.get_by_text("That was the last one")).to_be_visible()
    expect(desk.locator(".stored")).to_have_text("all stored")

    page.get_by_role("button", name="See where you differ").click()
    expect(page.get_by_text("Where they differ (3)")).to_be_visible()
    expect(page.locator(".sl-differ").first).to_contain_text(HOSTILE.replace("<img", "< img"))
    expect(page.locator(".sl-differ img")).to_have_count(0)
    page.locator(".sl-differ summary").first.click()
    expect(page.locator(".sl-differ .sl-paper").first).to_be_visible()
    mine = [j for j in annotation.judgments(project) if j.origin == "person"]
    assert [j.relevance for j in mine] == [1, 1, 1]
    assert annotation.grading.check(project).items == 3
    assert annotation.qrels(project).count("model") == 0
