"""The app is killed twenty times under an annotator who goes on judging."""

import os
import random
import shutil
import signal

import pytest
from playwright.sync_api import expect

from engine.types.annotating import PoolRequest, Project
from engine.types.searches import Query
from tests.browser.conftest import Server, free_port, start_app, visit_with
from tests.support import make_explorer

KILLS = 20
PRESSES = 7
"""Per life of the app; it is killed somewhere among them."""


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_twenty_kills_of_the_app_lose_no_judgment_and_double_none(browser, demo_home, home):
    shutil.copytree(demo_home, home)
    explorer, project, port = make_explorer(home), Project("demo", "killed"), free_port()
    explorer.annotation.save(project, "lead")
    explorer.annotation.add_queries(project, [Query("demo", seed="demo-0232", aspect="method")])
    explorer.annotation.fill_pool(project, PoolRequest(("dense",), KILLS * PRESSES + 20))
    chance, log = random.Random(11), home.parent / "killed.log"  # noqa: S311 - when to kill
    app = start_app(home, port, log)
    page = visit_with(browser, Server(f"http://127.0.0.1:{port}", home, log)).open(
        "/annotate?corpus=demo&project=killed"
    )
    page.get_by_role("textbox", name="Annotator").fill("Ada")
    page.get_by_role("textbox", name="Annotator").press("Enter")
    expect(words(page)).to_contain_text("Ada: 0 of", timeout=120_000)
    page.locator(".kicker", has_text="Candidate").click()

    pressed = acknowledged = 0
    for _ in range(KILLS):
        fatal = chance.randrange(1, PRESSES)
        for press in range(PRESSES):
            before = page.locator(".candidate .title").inner_text()
            page.keyboard.press(str(pressed % 4))
            pressed += 1
            expect(page.locator(".candidate .title")).not_to_have_text(before)
            page.wait_for_timeout(chance.choice((20, 60, 150, 400)))
            if page.locator(".progress .stored").inner_text() == "Saved":
                acknowledged = pressed
            if press == fatal:
                os.killpg(app.pid, signal.SIGKILL)
                app.wait()
                stored = explorer.annotation.history(project)
                assert acknowledged <= len(stored) <= pressed
        app = start_app(home, port, log)
        expect(page.locator(".progress .stored")).to_have_text("Saved", timeout=120_000)
        acknowledged = pressed
    os.killpg(app.pid, signal.SIGKILL)
    app.wait()

    history = explorer.annotation.history(project)
    assert len(history) == pressed
    assert len({judgment.event for judgment in history}) == pressed
    assert len({judgment.doc_id for judgment in history}) == pressed
    assert [judgment.relevance for judgment in history] == [n % 4 for n in range(pressed)]


def words(page):
    return page.locator(".st-key-annotate_session .words")
