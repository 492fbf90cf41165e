"""Login in a real browser, against a real OpenID Connect provider on this machine."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
from dataclasses import dataclass

import pytest
from oidc_provider_mock import User, run_server_in_thread
from playwright.sync_api import expect

from engine.explorer import Explorer
from engine.types.annotating import PoolRequest, Project
from engine.types.searches import Query
from tests.browser.browser_steps import until
from tests.browser.conftest import Server, free_port, start_app, visit_with
from tests.support import make_explorer

SEED = "demo-0232"
SECRETS = """
[auth]
redirect_uri = "{url}/oauth2callback"
cookie_secret = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184"
client_id = "seedlens"
client_secret = "keep-this-quiet"
server_metadata_url = "http://localhost:{provider}/.well-known/openid-configuration"

[people]
"Ada@example.org" = {{ name = "Ada", role = "annotator" }}
"eve@example.org" = {{ name = "Eve", role = "annotator" }}
"grace@example.org" = {{ name = "Grace", role = "lead" }}
"""


@dataclass(frozen=True)
class Served:
    """The app with login, and a second view of its home."""

    server: Server
    explorer: Explorer


@pytest.fixture(scope="module")
def provider():
    """The port of an OpenID Connect provider that knows four people."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    people = [
        # The names are what they call themselves there: the list has others.
        User(sub=who, claims={"email": f"{who}@example.org", "email_verified": True, "name": "Eve"})
        for who in ("ada", "eve", "grace", "mallory")
    ]
    with run_server_in_thread(user_claims=people) as running:
        yield running.server_port


@pytest.fixture(scope="module")
def served(provider, demo_home, tmp_path_factory):
    """``seedlens app`` of an operator with a secrets.toml in their home folder; cold at first."""
    folder, port = tmp_path_factory.mktemp("operator"), free_port()
    home, log = folder / "app-home", folder / "app.log"
    shutil.copytree(demo_home, home)
    secrets = folder / ".streamlit" / "secrets.toml"
    secrets.parent.mkdir()
    url = f"http://127.0.0.1:{port}"
    secrets.write_text(SECRETS.format(url=url, provider=provider))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        process = start_app(home, port, log)
    yield Served(Server(url, home, log), make_explorer(home))
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(timeout=20)
    said = log.read_text()
    assert "Traceback" not in said
    assert "b1946ac92492" not in said
    assert "keep-this-quiet" not in said


@pytest.fixture
def visit(browser, served):
    """A visitor of the app with login; afterwards: no console errors of the app's own."""
    visitor = visit_with(browser, served.server)
    visitor.page.context.route(re.compile("cdn"), lambda route: route.abort())  # the provider's
    yield visitor
    visitor.page.context.close()
    assert [error for error in visitor.errors if "ERR_FAILED" not in error] == []


def make_project(explorer, name):
    annotation = explorer.annotation
    project = annotation.save(Project("demo", name, guidelines={"": "Hidden words"}), "Grace")
    annotation.add_queries(project, [Query("demo", seed=SEED, aspect="method")])
    annotation.fill_pool(project, PoolRequest(("dense",), 6))
    return project


def log_in(page, who):
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name=who, exact=True).click()


def log_out(page, who):
    page.locator(".st-key-login_corner").get_by_text(who).click()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="End session").click()  # the provider's own question


def candidate(page):
    return page.locator(".candidate .title")


def test_an_annotator_logs_in_grades_as_themselves_and_reaches_no_page_for_leads(visit, served):
    page = visit.open(f"/?corpus=demo&seed={SEED}&aspect=method")
    log_in(page, "ada")
    grade = page.locator("article").first.get_by_role("button", name="3: Nearly the same")
    grade.click(timeout=120_000)
    expect(grade).to_have_attribute("aria-pressed", "true")
    query = Query("demo", seed=SEED, aspect="method")
    notebook = served.explorer.notebook
    until(page, lambda: notebook.grades(query, "Ada"), what="the grade")
    assert list(notebook.grades(query, "Ada").values()) == [3]
    expect(page.get_by_role("link", name="Library")).to_have_count(0)
    visit.open("/library")
    expect(page.get_by_text("Library requires the lead role.")).to_be_visible(timeout=60_000)


@pytest.mark.nightly
def test_a_forged_message_stores_nothing_under_another_name(visit, served):
    project = make_project(served.explorer, "forged")
    forged: list[bytes] = []

    def forge(socket):
        server = socket.connect_to_server()

        def send(message):
            data = message if isinstance(message, bytes) else message.encode()
            if b"u001fAda" in data and b'"kind"' in data:  # names of the same length
                data = data.replace(b"u001fAda", b"u001fEve")
                forged.append(data)
            server.send(data)

        socket.on_message(send)

    visit.page.route_web_socket(re.compile("_stcore/stream"), forge)
    page = visit.open("/annotate?corpus=demo&project=forged")
    log_in(page, "ada")
    expect(candidate(page)).to_be_visible(timeout=120_000)
    page.keyboard.press("2")
    until(page, lambda: forged, what="the forged message")
    page.wait_for_timeout(2000)  # the app would have stored it by then
    assert served.explorer.annotation.judgments(project) == []


@pytest.mark.nightly
def test_logging_out_ends_the_login_in_every_tab_and_for_every_copy_of_it(visit, browser, served):
    project = make_project(served.explorer, "tabs")
    page = visit.open("/annotate?corpus=demo&project=tabs")
    log_in(page, "ada")
    expect(candidate(page)).to_be_visible(timeout=120_000)
    second = page.context.new_page()
    second.goto(f"{served.server.url}/annotate?corpus=demo&project=tabs")
    expect(candidate(second)).to_be_visible(timeout=60_000)
    copied = page.context.cookies()

    log_out(page, "Ada")
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    assert not [c for c in page.context.cookies() if c["name"].startswith("_streamlit_user")]
    second.keyboard.press("2")
    expect(second.get_by_role("button", name="Log in")).to_be_visible(timeout=60_000)
    assert served.explorer.annotation.judgments(project) == []

    thief = visit_with(browser, served.server)
    thief.page.context.add_cookies(copied)  # type: ignore[arg-type]
    thief.open("/annotate?corpus=demo&project=tabs")
    expect(thief.page.get_by_role("button", name="Log in")).to_be_visible()
    thief.page.context.close()
