"""What people do on more than one page, in a real browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Download, Page, expect

from engine.explorer import Explorer
from engine.types.corpora import ImportRequest
from tests.fakes.model_answers import MODEL
from tests.support import make_explorer, wait_until, write_jsonl


def choose_page(page: Page, name: str) -> None:
    """A click in the menu, which has the pages for studies in one of its own."""
    if name in ("Annotate", "Evaluate", "Build", "Ask"):
        page.get_by_test_id("stTopNavSection").click()
        page.get_by_role("menuitem", name=name, exact=True).click()
    else:
        page.get_by_role("link", name=name, exact=True).click()


def connect(page: Page, url: str, key: str = "") -> None:
    """Fill in the form of the language model, and wait until the endpoint was tried."""
    page.get_by_label("Address").fill(url)
    page.get_by_label("Model", exact=True).fill(MODEL)
    if key:
        page.get_by_label("Key", exact=True).fill(key)
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page.get_by_text(f"Language model: {MODEL}").first).to_be_visible()
    expect(page.get_by_label("Key", exact=True).first).to_have_value("")
    expect(page.get_by_text("Testing the endpoint")).to_have_count(0, timeout=60_000)


def download(page: Page, button: str, *, exact: bool = False) -> Download:
    """What a click on the button of this name brings home."""
    with page.expect_download() as found:
        page.get_by_role("button", name=button, exact=exact).click()
    return found.value


def exported(page: Page, chart: str, kind: str) -> Download:
    """A file of a chart, from its menu.

    Args:
        kind: SVG, PNG or CSV.
    """
    page.get_by_role("button", name=f"Export chart: {chart}", exact=True).click()
    return download(page, f"Download {chart} as {kind}", exact=True)


def assert_sound_figure(page: Page, svg: str) -> None:
    """An exported figure lies on white, needs no font, and nothing of it is cut off.

    Args:
        page: an empty one, to look at it.
    """
    page.set_content(f"<body style='margin: 0'>{svg}</body>")
    found = page.evaluate(
        """() => {
            const svg = document.querySelector("svg")
            const sheet = svg.getBoundingClientRect()
            const letters = [...svg.querySelectorAll(".letters")]
            const outside = letters.filter((g) => {
                const box = g.getBoundingClientRect()
                return box.width && (box.left < sheet.left || box.top < sheet.top
                    || box.right > sheet.right || box.bottom > sheet.bottom)
            })
            return {
                texts: svg.querySelectorAll("text, foreignObject").length,
                paper: svg.querySelector(":scope > rect").getAttribute("fill"),
                title: svg.querySelector(":scope > title").textContent,
                caption: svg.querySelector(":scope > desc").textContent,
                words: letters.map((g) => g.getAttribute("aria-label")),
                outside: outside.map((g) => g.getAttribute("aria-label")),
            }
        }"""
    )
    assert found["texts"] == 0, "letters are outlines"
    assert found["paper"] == "#ffffff"
    assert found["outside"] == []
    written = "".join("".join(found["words"]).split())
    assert "".join(found["title"].split()) in written
    assert "".join(found["caption"].split()) in written


def read_text(download: Download) -> str:
    """A file that was downloaded."""
    return Path(download.path()).read_text("utf-8")


def until(page: Page, condition: Callable[[], object], *, what: str) -> None:
    """Wait for what Playwright has no expectation of; the page goes on meanwhile."""
    wait_until(
        condition,
        what=what,
        seconds=30,
        pause=0.1,
        sleep=lambda seconds: page.wait_for_timeout(1000 * seconds),
    )


def bring(home: Path, folder: Path, name: str, documents: list[dict[str, Any]]) -> Explorer:
    """Index a corpus of this name beside the app, which sees it; a second view of its home."""
    explorer = make_explorer(home)
    source = write_jsonl(folder / f"{name}.jsonl", documents)
    explorer.library.import_documents(ImportRequest(source, name))
    time.sleep(1.1)  # the app looks at the list of corpora once a second
    return explorer


def assert_fits(page: Page) -> None:
    """Nothing sticks out of the window to the right."""
    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0, "the page scrolls sideways"
