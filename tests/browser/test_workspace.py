"""One workspace in a real browser: from page to page, over a reload, in another tab."""

from __future__ import annotations

import os
import re
import shutil
import signal
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.browser_steps import bring, choose_page, until
from tests.browser.conftest import Server, free_port, start_app, visit_with
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import make_explorer

pytestmark = pytest.mark.usefixtures("demo_indexed")
SEED, WORDING = "tides-network", "trained without labelled data"


def go(page, name):
    """A click in the menu."""
    choose_page(page, name)
    path = "" if name == "Explore" else name.lower()
    expect(page).to_have_url(re.compile(rf"//[^/]+/{path}([?]|$)"))


def wording(page):
    return page.get_by_role("textbox", name="Instruction")


def search(page):
    """What the address says of the search."""
    asked = parse_qs(urlsplit(page.url).query)
    return tuple(asked.get(name, [""])[0] for name in ("corpus", "seed", "aspect", "q", "trail"))


def test_pages_a_reload_and_a_new_tab_find_the_search(visit, server, tmp_path):
    bring(server.home, tmp_path, "harbour", DOCUMENTS[12:24])
    page = visit.open(f"/?corpus=harbour&seed={SEED}&aspect=method")
    expect(page.locator("article").first).to_be_visible()
    wording(page).fill(WORDING)
    wording(page).press("Enter")
    expect(page).to_have_url(re.compile("q=trained"))
    left = search(page)
    assert left[:4] == ("harbour", SEED, "method", WORDING)
    assert left[4]
    go(page, "Library")
    go(page, "Explore")
    expect(page).to_have_url(re.compile(f"seed={SEED}"))
    until(page, lambda: search(page) == left, what="the search as it was left")
    go(page, "Compare")
    expect(page.get_by_role("textbox", name="Instruction of variant 1")).to_have_value(WORDING)
    expect(page).to_have_url(re.compile("variants="))
    page.go_back()
    expect(page).to_have_url(re.compile("q=trained"))  # not Compare without its parameters
    page.reload()
    expect(page).to_have_url(re.compile("q=trained"))
    second = page.context.new_page()
    second.goto(f"{server.url}/ask")
    expect(second).to_have_url(re.compile("corpus=harbour"))
    go(second, "Explore")
    expect(second).to_have_url(re.compile(f"seed={SEED}"))
    until(second, lambda: search(second) == left, what="the search in this tab")
    expect(wording(second)).to_have_value(WORDING)


def of_new_connections(page):
    """Tells whether a page received anything over a connection that it makes from now on."""
    frames: list[object] = []
    page.on("websocket", lambda one: one.on("framereceived", lambda frame: frames.append(frame)))
    return lambda: bool(frames)


@pytest.mark.nightly
def test_pages_that_were_open_at_a_restart_keep_what_was_written_and_do_what_is_clicked_first(
    browser, demo_home, tmp_path
):
    home, log, port = tmp_path / "home", tmp_path / "app.log", free_port()
    shutil.copytree(demo_home, home)
    app = start_app(home, port, log)
    explore = visit_with(browser, Server(f"http://127.0.0.1:{port}", home, log))
    page = explore.open("/?corpus=demo&aspect=method")
    expect(page.locator("article").first).to_be_visible(timeout=120_000)
    form = page.context.new_page()
    form.goto(f"{explore.server.url}/annotate?corpus=demo&part=new")
    form.get_by_role("textbox", name="Name", exact=True).fill("weir")
    guidelines = form.get_by_role("textbox", name="Guidelines: All aspects")
    guidelines.fill("The same procedure.")
    form.get_by_role("textbox", name="Annotators", exact=True).fill("Ada, Grace")
    os.killpg(app.pid, signal.SIGKILL)
    app.wait()
    runs = [of_new_connections(tab) for tab in (page, form)]
    app = start_app(home, port, log)
    try:
        for tab, received in zip((page, form), runs, strict=True):
            until(tab, received, what="the page's run on the server that was started again")
            idle = tab.locator("[data-test-script-state=notRunning]")
            expect(idle).to_have_count(1, timeout=120_000)
        page.get_by_role("button", name="R · Result").click()
        expect(page).to_have_url(re.compile("aspect=result"))
        expect(guidelines).to_have_value("The same procedure.")
        form.get_by_role("button", name="Create project").click()
        expect(form).to_have_url(re.compile("project=weir"))
        page.context.close()
    finally:
        os.killpg(app.pid, signal.SIGKILL)
        app.wait()
    project = make_explorer(home).annotation.project("demo", "weir")
    assert project.guidelines == {"": "The same procedure."}
    assert project.annotators == ("Ada", "Grace")
