"""The app in a real Chromium: until it can be used, until a click shows, until nothing shows."""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from benchmarks.figures import Figure
from benchmarks.homes import CORPUS, app, cache
from tests.browser.conftest import WIDE
from tests.support import ARGUMENTS, CHROMIUM

# What the page is known by. Streamlit says on stApp whether a script is running.
IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
FIRST_TITLE = ".st-key-explore_results article .title"
ASPECTS = ("R · Result", "B · Background", "M · Method")
CLICKS = 12
# Watches for a script to start and end; the promise gives the seconds from now till then.
WATCH = """() => {
  const app = document.querySelector("[data-testid=stApp]")
  const started = performance.now()
  let ran = false
  window.seedlensRerun = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("no rerun within 10 s")), 10000)
    new MutationObserver((_, observer) => {
      const state = app.dataset.testScriptState
      if (state !== "notRunning") ran = true  // a quick one is asked for, and never "running"
      if (ran && state === "notRunning") {
        observer.disconnect()
        resolve((performance.now() - started) / 1000)
      }
    }).observe(app, { attributes: true })
  })
}"""


@contextmanager
def chromium() -> Iterator[Page | None]:
    """A page of a headless Chromium; None, with the reason on stderr, where there is none."""
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        print("Browser: skipped, Chromium is not installed", file=sys.stderr)
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser.new_page(viewport=WIDE)
        browser.close()


def measure() -> list[Figure]:
    """Explore in headless Chromium."""
    started = time.perf_counter()
    with app(cache() / "home") as served, chromium() as page:
        if page is None:
            return []
        page.goto(f"{served.url}/?corpus={CORPUS}")
        page.wait_for_selector(FIRST_TITLE, timeout=120_000)
        usable = time.perf_counter() - started
        page.wait_for_timeout(8000)  # the models go on warming up beside the first page
        return [
            Figure("app start to first results", usable, "s", most=10),
            Figure("click on an aspect to new results", _clicks(page), "s", most=1),
            Figure("rerun that changes nothing", _reruns(page), "s", most=0.2),
        ]


def _clicks(page: Page) -> float:
    """Median seconds from a click on a role to another first result."""
    seconds = []
    for i in range(CLICKS):
        page.wait_for_selector(IDLE)
        before = page.locator(FIRST_TITLE).first.inner_text()
        started = time.perf_counter()
        page.get_by_role("button", name=ASPECTS[i % len(ASPECTS)]).click()
        page.wait_for_selector(f'button[aria-pressed=true]:has-text("{ASPECTS[i % len(ASPECTS)]}")')
        page.wait_for_selector(IDLE)
        if page.locator(FIRST_TITLE).first.inner_text() != before:
            seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def _reruns(page: Page) -> float:
    """Median seconds of a rerun asked for by the R key."""
    seconds = []
    page.evaluate("document.activeElement.blur()")
    for _ in range(CLICKS):
        page.wait_for_selector(IDLE)
        page.evaluate(WATCH)
        page.keyboard.press("r")
        seconds.append(float(page.evaluate("() => window.seedlensRerun")))
    return statistics.median(seconds)
