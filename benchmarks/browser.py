"""The app in a real Chromium: how long until it can be used."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.figures import Figure
from benchmarks.sources import cache
from engine.config import ROOT

PART = "browser"
# What the page is known by. Streamlit says on stApp whether a script is running.
IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
RESULTS = ".st-key-explore_results"
SEED_CARD = ".st-key-explore_seed"


def measure() -> list[Figure]:
    """All figures of this part; none, with the reason on stderr, where it cannot run."""
    if missing := _missing():
        print(f"Browser: skipped, {missing}", file=sys.stderr)
        return []
    started = time.perf_counter()
    with _app() as url:
        return [_start(url, started)]


def _missing() -> str:
    if not (ROOT / "app.py").exists():
        return "there is no app.py"
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        if not os.path.exists(playwright.chromium.executable_path):  # noqa: PTH110
            return "Chromium is not installed (make browser)"
    return ""


@contextmanager
def _app() -> Iterator[str]:
    """The app on a free port, in the benchmarks' home."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "engine.cli", "app", "--port", str(port)],
        env={**os.environ, "SEEDLENS_HOME": str(cache() / "home")},
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # the command starts Streamlit, and both have to end
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=30)


def _wait_for(url: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise TimeoutError(f"The app at {url} did not answer within {seconds:.0f} s.")


def _start(url: str, started: float) -> Figure:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch()
        page = browser.new_page()
        page.goto(url)
        page.wait_for_selector(RESULTS, timeout=120_000)
        page.wait_for_selector(IDLE, timeout=120_000)
        seconds = time.perf_counter() - started
        browser.close()
    return Figure(PART, "app start to first results", seconds, "s")
