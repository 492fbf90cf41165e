"""Building a collection, each step read and corrected; the model is a real server."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from engine.types.builds import BuildSpec
from tests.browser.browser_steps import connect, download
from tests.fakes.build_answers import builds_collections, demo_methods
from tests.fakes.model_answers import Knowledge
from tests.fakes.model_server import serving
from tests.support import make_explorer

ROW = 33
"""Pixels of a row of a table, its head included."""
DOCUMENTS = 120
pytestmark = pytest.mark.usefixtures("demo_indexed")
ATTRIBUTE = "The method by which the authors went about it."


@pytest.fixture
def model():
    with serving(Knowledge({}, {}), handlers=[builds_collections(demo_methods())]) as running:
        yield running


@pytest.fixture
def explorer(server):
    """A second process over the app's home."""
    return make_explorer(server.home)


def step(page, name):
    """The button of a step, with how it stands."""
    return page.get_by_role("navigation", name="Steps of the build").get_by_role(
        "button", name=name
    )


def box(page, label):
    """A field for text; its help has the label too."""
    return page.get_by_role("textbox", name=label, exact=True)


def click_row(page, place, row, *, tick=False):
    """Open a row of a table, or tick it."""
    idle = page.locator("[data-testid=stApp][data-test-script-state=notRunning]")
    expect(idle).to_be_attached()
    table = page.locator(f".st-key-{place} [data-testid=stDataFrame]")
    # The table learns from the mouse's coming where it lies after the page was scrolled.
    table.hover(position={"x": 120, "y": ROW / 2})
    table.click(position={"x": 15 if tick else 120, "y": ROW * (row + 1.5)})


def settled(page):
    """A run came to its end."""
    line = page.locator(".st-key-build_job").get_by_role("status").first
    expect(line).to_contain_text("Done", timeout=120_000)


def describe(page, name):
    """Describe the attribute."""
    box(page, "Name").fill(name)
    box(page, "Implicit attribute").fill(ATTRIBUTE)
    page.locator(".st-key-build_limit_new input").fill(str(DOCUMENTS))
    page.get_by_text("Advanced").click()
    page.locator(".st-key-build_depth_new input").fill("5")
    page.get_by_role("button", name="Save and continue").click()
    expect(page).to_have_url(re.compile(f"build={name}&step=labels"))


@pytest.mark.nightly
def test_a_collection_is_built_from_an_attribute_and_corrected_between_the_steps(
    visit, model, explorer
):
    page = visit.open("/build?corpus=demo")
    box(page, "Annotator").fill("ada")
    box(page, "Annotator").press("Enter")
    describe(page, "methods")
    expect(page.get_by_role("button", name="Label the documents")).to_be_disabled()
    connect(page, model.url)
    expect(
        page.get_by_text(re.compile("120 documents: .* requests, up to .* retries"))
    ).to_be_visible()
    labels(visit, explorer)
    clusters(visit, explorer)
    queries(visit, explorer)
    result(visit, explorer)


def labels(visit, explorer):
    """One is corrected."""
    page, builds = visit.page, explorer.builds
    page.get_by_role("button", name="Label the documents").click()
    settled(page)
    expect(step(page, "Labels")).to_contain_text("120 documents")
    click_row(page, "build_labels", 1)
    corrected = builds.open("demo", "methods").labels()[1]
    card = page.locator(".bd-card")
    expect(card).to_contain_text(corrected.doc_id)
    expect(card.locator("mark").first).to_be_visible()
    box(page, "Label").fill("Boosted trees")
    box(page, "Label").press("Enter")
    expect(page.get_by_text("Labelled by ada.")).to_be_visible()
    assert builds.open("demo", "methods").labels()[1].text == "Boosted trees"
    page.keyboard.press("Escape")
    visit.shoot("build-labels")


def clusters(visit, explorer):
    """Two are merged."""
    page, builds = visit.page, explorer.builds
    step(page, "Clusters").click()
    page.get_by_role("button", name="Cluster the labels").click()
    settled(page)
    before = builds.open("demo", "methods").clusters()
    click_row(page, "build_clusters", 0, tick=True)
    click_row(page, "build_clusters", 1, tick=True)
    page.get_by_role("button", name="Merge").click()
    expect(step(page, "Clusters")).to_contain_text(f"{len(before) - 1} clusters,")
    largest = builds.open("demo", "methods").clusters()[0]
    assert set(largest.doc_ids) == {d for cluster in before[:2] for d in cluster.doc_ids}
    visit.shoot("build-clusters")


def queries(visit, explorer):
    """One is worded better."""
    page, builds = visit.page, explorer.builds
    page.get_by_role("button", name="Next: Queries").click()
    page.get_by_role("button", name="Write the queries").click()
    settled(page)
    click_row(page, "build_queries", 0)
    wording = box(page, "Query")
    expect(wording).to_have_value(builds.open("demo", "methods").queries()[0].text)
    wording.fill("Whoever went about it in one of two fashions")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Edited manually.")).to_be_visible()
    assert builds.open("demo", "methods").queries()[0].text.startswith("Whoever went")
    visit.shoot("build-queries")


def result(visit, explorer):
    """Pooled and graded; downloaded; and the ways on lead to the project."""
    page, builds = visit.page, explorer.builds
    step(page, "Result").click()
    page.get_by_role("button", name="Pool and grade").click()
    settled(page)
    number = len(builds.open("demo", "methods").queries())
    expect(page.get_by_text(f"{number} queries ·")).to_be_visible()
    expect(page.locator(".bd-provenance")).to_contain_text(ATTRIBUTE)
    visit.shoot("build-result")
    page.get_by_role("button", name="Export", exact=True).click()
    provenance = read_archive(Path(download(page, "Download ZIP").path()), number)
    page.keyboard.press("Escape")
    assert provenance["edits"]["label"] == 1
    assert provenance["edits"]["collapse"] > 0
    project = builds.open("demo", "methods").project()
    assert project.model_grades
    page.get_by_role("button", name="Open in Annotate").click()
    expect(page).to_have_url(re.compile("annotate.*project=methods"))
    expect(page.get_by_role("textbox", name="Annotator")).to_have_value("ada")
    page.go_back()
    expect(step(page, "Result")).to_have_attribute("aria-current", "step")


def read_archive(path, queries):
    """The provenance in a collection of so many queries, as it was downloaded."""
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        names = {name.rpartition("/")[2]: name for name in archive.namelist()}
        assert {"corpus.jsonl", "queries.jsonl", "test.tsv", "provenance.json"} <= names.keys()
        assert len(archive.read(names["queries.jsonl"]).splitlines()) == queries
        found: dict[str, dict[str, int]] = json.loads(archive.read(names["provenance.json"]))
        return found


def test_a_link_restores_the_step_and_one_that_leads_nowhere_says_so(visit, explorer):
    explorer.builds.save(BuildSpec("demo", "linked", ATTRIBUTE), "ada")
    page = visit.open("/build?corpus=demo&build=linked&step=clusters")
    expect(page.get_by_text("Waiting for step 2, Labels.")).to_be_visible()
    expect(page.get_by_role("button", name="Go to Labels")).to_be_visible()
    step(page, "Attribute").click()
    expect(box(page, "Implicit attribute")).to_have_value(ATTRIBUTE)
    page.go_back()
    expect(step(page, "Clusters")).to_have_attribute("aria-current", "step")
    page = visit.open("/build?corpus=demo&build=nowhere")
    expect(page.get_by_role("alert")).to_contain_text("has no build")
