"""Evaluate in a real browser: two systems on the demo, then a run of one's own beside them."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.browser_steps import assert_sound_figure, download, exported, read_text


@pytest.mark.nightly
def test_two_systems_are_evaluated_and_an_uploaded_run_stands_beside_them(visit, tmp_path):
    page = visit.open("/evaluate?collection=demo&systems=bm25,dense&seeds=20")
    page.get_by_role("button", name="Run", exact=True).click(timeout=180_000)
    expect(page.get_by_role("heading", name="Significance")).to_be_visible(timeout=60_000)
    expect(page.locator(".st-key-evaluate_strip .scatterlayer .point").first).to_be_visible()
    cells = page.locator(".st-key-evaluate_leaderboard [data-testid^=glide-cell]")
    expect(cells.filter(has_text=re.compile(r"^Word match \(bm25\)$"))).to_be_attached()
    visit.shoot("evaluate")

    sheet = page.context.new_page()
    for chart in ("queries", "aspects"):
        file = exported(page, chart, "SVG")
        assert file.suggested_filename == f"seedlens-{chart}.svg"
        assert_sound_figure(sheet, read_text(file))
    sheet.close()

    page.get_by_role("button", name="Export", exact=True).click()
    lines = read_text(download(page, "Run of dense (TREC)"))
    run = tmp_path / "mine.run"
    run.write_text(lines.replace(" dense\n", " mine\n"), "utf-8")
    page.keyboard.press("Escape")

    page.locator("input[type=file]").first.set_input_files(run)
    expect(cells.filter(has_text=re.compile("^mine$"))).to_be_attached(timeout=60_000)
    visit.shoot("evaluate-uploaded")
    page.reload()
    expect(cells.filter(has_text=re.compile("^mine$"))).to_be_attached(timeout=60_000)
