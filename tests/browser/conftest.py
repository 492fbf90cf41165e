"""A real server on a fresh home, and a real Chromium."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Page,
    ViewportSize,
    expect,
)

from tests.support import wait_until

# A busy machine may take long to load the model; what is expected still has to come.
expect.set_options(timeout=30_000)
ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = Path(__file__).parent / "artefacts"
WIDE: ViewportSize = {"width": 1360, "height": 950}


def pytest_collection_modifyitems(items):
    """A browser is driven against the clock: on a busy machine it may come too late, once."""
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker("browser")
            if not item.get_closest_marker("nightly"):
                item.add_marker(pytest.mark.flaky(reruns=1))


@dataclass(frozen=True)
class Server:
    """The app under test."""

    url: str
    home: Path
    log: Path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_app(home, port, log):
    """``seedlens app`` in a process group of its own, once it answers."""
    environment = {**os.environ, "SEEDLENS_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    with log.open("a") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "engine.cli", "app", "--port", str(port)],
            cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    wait_until(lambda: answers(f"http://127.0.0.1:{port}"), what="the app", seconds=90, pause=0.2)
    return process


def answers(url):
    """Whether an app is there and says that it is well."""
    try:
        urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def running_app(home, log):
    """``seedlens app`` over this home, until the block ends."""
    port = free_port()
    process = start_app(home, port, log)
    try:
        yield Server(f"http://127.0.0.1:{port}", home, log)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=20)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """``seedlens app`` on a new home, to which it adds the demo."""
    home = tmp_path_factory.mktemp("browser") / "home"
    with running_app(home, home.parent / "app.log") as running:
        yield running


@dataclass
class Visit:
    """A page together with everything it complained of or asked the network for."""

    page: Page
    server: Server
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.page.set_default_timeout(30_000)
        self._listeners: dict[str, Callable[[Any], None]] = {
            "console": self._listen,
            "pageerror": lambda error: self.errors.append(str(error)),
            "request": self._watch,
        }
        for event, listener in self._listeners.items():
            self.page.on(event, listener)  # type: ignore[call-overload]

    def _listen(self, message):
        # A deep link makes Streamlit ask for two files at a wrong place first: harmless.
        if message.type == "error" and "404" not in message.text:
            self.errors.append(message.text)

    def _watch(self, request):
        if not request.url.startswith((self.server.url, "data:", "blob:")):
            self.foreign.append(request.url)

    def open(self, path="/"):
        self.page.goto(self.server.url + path)
        return self.page

    def shoot(self, name):
        ARTEFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=ARTEFACTS / f"{name}.png")

    def leave(self):
        """Clear everything but the compiled scripts."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        context = self.page.context
        for other in context.pages:
            if other != self.page:
                other.close()
        if self.page.url.startswith(self.server.url):
            self.page.evaluate("sessionStorage.clear()")
        self.page.goto("about:blank")
        origin = {"origin": self.server.url, "storageTypes": "all"}
        context.new_cdp_session(self.page).send("Storage.clearDataForOrigin", origin)
        context.clear_cookies()


def visit_with(browser, server, **context):
    """A second visitor at the same time, with separate cookies, until the context is closed."""
    opened = browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **context})  # type: ignore[arg-type]
    return Visit(opened.new_page(), server)


@contextmanager
def visiting(browser, server, *, viewport=WIDE, dark=False):
    """A fresh visitor; afterwards: no console errors, no request to another host.

    All visits share one tab: in a new one Chromium compiles the scripts again, for 3 seconds.
    """
    page = browser.contexts[0].pages[0]
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme="dark" if dark else "light")
    visitor = Visit(page, server)
    try:
        yield visitor
    finally:
        visitor.leave()
    assert visitor.errors == []
    assert visitor.foreign == []


@pytest.fixture
def visit(browser, server):
    """A fresh visitor of the app (see ``visiting``)."""
    with visiting(browser, server) as visitor:
        yield visitor


@pytest.fixture(scope="session")
def demo_indexed(browser, server):
    """The first visitor waits until the encoder is loaded."""
    with visiting(browser, server) as visit:
        visit.open()
        expect(visit.page.locator("article").first).to_be_visible(timeout=300_000)
