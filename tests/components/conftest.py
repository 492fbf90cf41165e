"""Components in a real Chromium on a page of their own, without a server."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from engine.config import ROOT

FOLDER = ROOT / "assets" / "components"
ADDRESS = "http://components.test/"
LIGHT = {"background-color": "#fbfaf6", "text-color": "#23211c", "primary-color": "#7a2e3a"}
DARK = {"background-color": "#191815", "text-color": "#ece8dd", "primary-color": "#e39aa5"}
# Draws as Streamlit does: in a shadow tree, once more with new data or another theme.
MOUNT = """async ([name, css, page, data, theme]) => {
  for (const [key, value] of Object.entries(theme)) {
    document.body.style.setProperty(`--st-${key}`, value)
  }
  if (!globalThis.parent_) {
    const host = document.createElement("div")
    document.body.append(host)
    globalThis.parent_ = host.attachShadow({ mode: "open" })
    parent_.innerHTML = `<div><div class="root"></div><style>${css}</style></div>`
    document.head.append(Object.assign(document.createElement("style"), { textContent: page }))
    globalThis.calls = []
  }
  const { default: draw } = await import(`/${name}.js`)
  const tell = (event, value) => calls.push([event, value])
  globalThis.end = draw({
    data, parentElement: parent_, setTriggerValue: tell, setStateValue: tell,
  })
}"""


class Mounted:
    """A component on its page."""

    def __init__(self, page, name, styles):
        self.page, self._name = page, name
        sheets = [FOLDER / f"{one}.css" for one in ("base", *styles, name)]
        self._css = "".join(sheet.read_text("utf-8") for sheet in sheets if sheet.exists())

    def draw(self, data, theme=LIGHT):
        """Draw it with this data, the first time or once more."""
        page = (FOLDER.parent / "style.css").read_text("utf-8")
        plain = json.loads(json.dumps(data))
        self.page.evaluate(MOUNT, [self._name, self._css, page, plain, theme])
        return self.page.locator(".root").first

    def calls(self):
        """What it told Python, in order, without the numbers that tell equal events apart."""
        return [(event, _without_at(value)) for event, value in self.page.evaluate("calls")]


def _without_at(value):
    return {k: v for k, v in value.items() if k != "at"} if isinstance(value, dict) else value


@cache
def policy():
    """What the app allows its pages: no script but from files, no code from text."""
    from app import content_security_policy

    return content_security_policy()


def serve(route):
    path = route.request.url.removeprefix(ADDRESS)
    headers = {"content-security-policy": policy()}
    if path.endswith(".js"):
        route.fulfill(path=FOLDER / path, content_type="text/javascript")
    elif path:
        route.fulfill(path=FOLDER.parent / path)  # the font of figures
    else:
        route.fulfill(body="<!doctype html><body>", content_type="text/html", headers=headers)


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker("browser")


Mount = Callable[..., Mounted]


@pytest.fixture
def mount(browser):
    """Opens a page for a component of this name and its style sheets; the page has no faults."""
    page, faults = browser.new_page(viewport={"width": 900, "height": 800}), []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: line.type == "error" and faults.append(line.text))
    page.route("**/*", serve)
    page.goto(ADDRESS)
    yield lambda name, *styles: Mounted(page, name, styles)
    page.close()
    assert faults == []
