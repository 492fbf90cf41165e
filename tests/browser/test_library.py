"""Bringing one's own documents in, in a real browser."""

import pytest
from playwright.sync_api import expect

HOSTILE = (
    '<img src="http://192.0.2.1/x.png" onerror="document.title=1"> **bold** '
    "[a](http://192.0.2.1) $x$"
)


def write_csv(path, rows):
    lines = ["PMID,Title,Abstract,Year"]
    for i in range(rows):
        title = HOSTILE if i == 0 else f"Counting bees {i}"
        words = f"Bees decline in county {i}. We count them with nets. They fell by {i} percent."
        quoted = title.replace('"', '""')
        lines.append(f'b{i},"{quoted}","{words}",{2000 + i}')
    lines.append("b-empty,“Größe” without abstract,,1999")
    path.write_text("\n".join(lines), encoding="cp1252")
    return path


@pytest.mark.nightly
def test_a_small_csv_is_uploaded_previewed_indexed_and_explored(visit, tmp_path):
    page = visit.open("/library")
    page.locator("input[type=file]").set_input_files(write_csv(tmp_path / "bees.csv", 30))
    expect(page.get_by_text("31 records, 30 with abstracts")).to_be_visible()
    page.get_by_text("Rows and notes").click()
    page.get_by_text("Skip", exact=True).click()
    expect(page.get_by_text("30 records, 30 with abstracts")).to_be_visible()
    page.get_by_text("Columns and format").click()
    expect(page.get_by_text("Preview of the first document")).to_be_visible()
    expect(page.get_by_text("Using csv, Windows-1252")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    visit.shoot("library-preview")
    page.set_viewport_size({"width": 1360, "height": 950})
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("30 documents: 30 added")).to_be_visible(timeout=120_000)
    visit.shoot("library-done")
    page.goto(f"{visit.server.url}/?corpus=bees&seed=b0")
    expect(page.locator("section.card .title")).to_have_text(HOSTILE)
    expect(page.locator("article")).to_have_count(20)
    assert page.title() == "Explore · SeedLens"
