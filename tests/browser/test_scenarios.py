"""Scenarios on the Library page, and what Explore makes of them; the model is a real server."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engine.importing import ImportRequest
from tests.browser.conftest import Server, Visit, free_port, visit_with
from tests.model_answers import MODEL, Knowledge
from tests.model_server import ModelServer, serving
from tests.scenario_answers import IMPLIED, shown_document, writes_scenarios
from tests.small_corpus import DOCUMENTS
from tests.support import make_explorer, write_jsonl

MORE = [
    {"doc_id": f"shed-{n}", "title": f"Shed {n}", "text": f"Shed {n} has {n + 2} windows."}
    for n in range(60)
]
"""With these, the corpus is written in four batches."""
FERRIES = "A timetable of ferries: when may a ferry leave, and how late can it be?"
PLAIN = "**bold** ![a](http://192.0.2.1/y.png)"
HOSTILE = f'<img src="http://192.0.2.1/x.png"> {PLAIN}'


class Author:
    """Writes scenarios, for one document after another: ``mumbles`` about the titles in it."""

    def __init__(self) -> None:
        self.mumbles: set[str] = set()

    def __call__(self, prompt: str, body: Mapping[str, Any]) -> Any:
        title, _ = shown_document(prompt)
        if title in self.mumbles:
            return "I had rather not."
        written = writes_scenarios(prompt, body)
        if written is not None and title == "Bees by survey":
            written["scenarios"][0]["information_need"] = HOSTILE
        return written


@pytest.fixture(autouse=True, scope="module")
def warm(browser: Browser, server: Server) -> None:
    """The first visitor waits for the demo, and for the encoder."""
    visit = visit_with(browser, server)
    visit.open()
    expect(visit.page.locator("article").first).to_be_visible(timeout=300_000)
    visit.page.context.close()


@pytest.fixture
def author() -> Author:
    return Author()


@pytest.fixture
def model(author: Author) -> Iterator[ModelServer]:
    with serving(Knowledge({}, {}), handlers=[author]) as running:
        yield running


def bring(server: Server, folder: Path, name: str, documents: list[dict[str, Any]]) -> None:
    """Index a corpus of this name."""
    source = write_jsonl(folder / f"{name}.jsonl", documents)
    make_explorer(server.home).library.import_documents(ImportRequest(source, name))
    time.sleep(1.1)  # the app looks at the list of corpora once a second


def open_section(visit: Visit, name: str) -> Locator:
    """The section of a corpus, unfolded."""
    page = visit.open("/library")
    page.locator(f".st-key-library_scenarios_{name} summary").first.click()
    section = corpus(page, name)
    expect(section.get_by_text("Written by")).to_be_visible()
    return section


def corpus(page: Page, name: str) -> Locator:
    return page.locator(f".st-key-library_corpus_{name}")


def connect(page: Page, url: str) -> None:
    page.get_by_label("Address").fill(url)
    page.get_by_label("Model", exact=True).fill(MODEL)
    page.get_by_role("button", name="Connect for this visit").click()
    expect(page.get_by_label("Key", exact=True).first).to_have_value("")
    expect(page.get_by_text("Asking the endpoint")).to_have_count(0)


def look_at(section: Locator, title: str) -> Locator:
    """The scenarios of the document of this title."""
    section.get_by_label("Look at the scenarios of a document").fill(title)
    section.get_by_role("button", name=title).click()
    read = section.locator(".sc-read")
    expect(read.locator(".sc-title")).to_have_text(title)
    return read


def test_a_model_writes_scenarios_with_progress_cancel_and_resume(
    visit: Visit, server: Server, model: ModelServer, author: Author, tmp_path: Path
) -> None:
    bring(server, tmp_path, "needs", [*DOCUMENTS, *MORE])
    section = open_section(visit, "needs")
    page = visit.page
    expect(section).to_contain_text("None of the 100 documents has scenarios yet")
    expect(section.get_by_role("button", name="Write scenarios")).to_be_disabled()
    connect(page, model.url)
    expect(section).to_contain_text(
        re.compile(r"100 documents: at most 100 calls, [\d.]+ M tokens")
    )
    assert model.seen.questions == 0, "an estimate asks nothing"

    author.mumbles.add("Bread by survey")
    model.behaviour.latency = 0.5
    section.get_by_role("button", name="Write scenarios").click()
    expect(section.get_by_role("progressbar")).to_be_visible()
    running = re.compile(r"32 of 100 documents.*documents/s.*left")
    expect(section).to_contain_text(running, timeout=120_000)  # the encoder is loaded first
    model.behaviour.latency = 4.0  # time to leave and come back
    visit.shoot("scenarios-running")
    page.get_by_role("link", name="Evaluate").click()
    expect(section).to_have_count(0)
    page.get_by_role("link", name="Library").click()
    section = corpus(page, "needs")
    section.get_by_role("button", name="Cancel").click()
    stopped = re.compile(r"Cancelled.*not reached.*1 without a usable answer: asked again")
    expect(section).to_contain_text(stopped)

    author.mumbles.clear()
    model.behaviour.latency = 0.0
    section.get_by_role("button", name="Resume").click()
    expect(section).to_contain_text(re.compile(r"Done.*scenarios for"))
    assert model.seen.questions < 125, "documents that have theirs are not asked about again"
    section.get_by_text("Scenarios", exact=True).click()
    expect(section).to_contain_text("100 of 100 documents have scenarios")
    expect(section).to_contain_text(f"generated by {MODEL}")
    expect(look_at(section, "Bees by survey")).to_contain_text(PLAIN)
    visit.shoot("scenarios-done")
    section.get_by_role("button", name="Search by them").click()
    expect(page).to_have_url(re.compile("corpus=needs.*system=scenario"))

    asked = make_explorer(server.home).notebook.put_text(FERRIES)
    page.goto(f"{server.url}/?corpus=needs&text={asked}&system=scenario")
    first = page.locator("article").first
    need, why = IMPLIED["Tides by sensor"]
    expect(first.locator(".title")).to_have_text("Tides by sensor")
    expect(first.locator(".scenario .need .text")).to_have_text(need)
    expect(first.locator(".scenario .why .text")).to_have_text(why)
    expect(first.locator(".scenario .tag")).to_have_text(f"generated by {MODEL}")
    visit.shoot("explore-scenario")


def test_an_endpoint_that_fails_is_named_with_a_way_on(
    visit: Visit, server: Server, tmp_path: Path
) -> None:
    bring(server, tmp_path, "nobody", DOCUMENTS[:3])
    section = open_section(visit, "nobody")
    connect(visit.page, f"http://127.0.0.1:{free_port()}/v1")
    section.get_by_role("button", name="Write scenarios").click()
    card = section.locator(".st-key-library_scenarios_job_nobody")
    expect(card.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(section.get_by_role("button", name="Write scenarios")).to_be_enabled()


def test_extracts_need_no_model_are_labelled_weighed_and_removed(
    visit: Visit, server: Server, tmp_path: Path
) -> None:
    bring(server, tmp_path, "extracted", DOCUMENTS)
    plain = "/?corpus=extracted&seed=bees-network&system=scenario"
    page = visit.open(plain)
    expect(page.get_by_role("alert")).to_contain_text("scenarios")
    page.get_by_role("combobox", name="System").click()
    expect(page.get_by_role("option", name="facts", exact=True)).to_be_visible()
    expect(page.get_by_role("option", name="scenario")).to_have_count(0)
    page.get_by_role("option", name="dense", exact=True).click()
    expect(page.locator("article").first).to_be_visible()

    section = open_section(visit, "extracted")
    section.get_by_text("Extracts, without a model").click()
    expect(section).to_contain_text("no clear gain over dense")
    section.get_by_role("button", name="Write scenarios").click()
    expect(section).to_contain_text(re.compile(r"Done.*scenarios for 40 documents"))
    expect(section).to_contain_text(re.compile(r"extracts: \d+ scenarios for 40 documents"))
    weight = section.get_by_role("slider")
    weight.press("ArrowLeft")
    expect(section.get_by_text("65 %")).to_be_visible()
    visit.shoot("scenarios-extracts")
    settings = make_explorer(server.home).scenarios
    deadline = time.monotonic() + 30  # the slider moves before the server is told
    while settings.status("extracted").weight != 0.65:
        assert time.monotonic() < deadline, settings.status("extracted")
        time.sleep(0.2)

    page.goto(server.url + plain)
    tag = page.locator("article").first.locator(".scenario .tag")
    expect(tag).to_have_text("extract")
    page.get_by_role("combobox", name="System").click()
    expect(page.get_by_role("option", name="scenario")).to_be_visible()

    section = open_section(visit, "extracted")
    section.get_by_role("button", name="Remove all scenarios").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(section).to_contain_text("None of the 40 documents has scenarios yet")
