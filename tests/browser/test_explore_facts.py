"""A document that only implies the day that was asked for, and how the page shows it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.browser_steps import bring
from tests.browser.conftest import Server, Visit
from tests.fakes.small_corpus import LETTERS


def test_a_result_found_by_a_fact_shows_its_derivation(
    visit: Visit, server: Server, tmp_path: Path
) -> None:
    explorer = bring(server.home, tmp_path, "messages", LETTERS)
    asked = explorer.notebook.put_text("Who walked along the coast on 1 March 2024?")
    page = visit.open(f"/?corpus=messages&text={asked}&system=facts")
    first = page.locator("article").first
    expect(first.locator(".fact strong")).to_have_text("1 March 2024")
    expect(first.locator(".fact .how")).to_have_text(
        "from 'four days ago' in a message of 5 March 2024"
    )
    first.get_by_role("button", name="Details").click()
    expect(first.locator(".abstract mark").filter(has_text="four days ago")).to_have_count(1)
    visit.shoot("explore-facts")
