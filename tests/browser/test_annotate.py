"""Annotate in a real browser: judging and deciding by keys alone."""

import secrets

import pytest
from playwright.sync_api import expect

from engine.types.annotating import Judgment, PoolRequest, Project
from engine.types.searches import Query
from tests.support import make_explorer, wait_until

SEED = "demo-0232"
GUIDELINES = {
    "": "# What counts\nGrade what the paper **does**.\n\n| 3 | *same* |\n| - | - |",
    "method": "The same procedure.",
}


@pytest.fixture(scope="module")
def explorer(server):
    """A second process's view of the app's home, once the demo is indexed there."""
    explorer = make_explorer(server.home)
    wait_until(lambda: "demo" in explorer.library.names(), what="the demo", seconds=240, pause=0.5)
    return explorer


def make_project(explorer, name, depth, **settings):
    """Of another name each time: a second try would find the first one's judgments."""
    name = f"{name}-{secrets.token_hex(3)}"
    annotation = explorer.annotation
    project = Project("demo", name, guidelines=GUIDELINES, **settings)  # type: ignore[arg-type]
    project = annotation.save(project, "lead")
    annotation.add_queries(project, [Query("demo", seed=SEED, aspect="method")])
    annotation.fill_pool(project, PoolRequest(("dense",), depth))
    return project


def sit_down(visit, project, who):
    """Open a project and give one's name."""
    page = visit.open(f"/annotate?corpus={project.corpus}&project={project.name}")
    expect(candidate(page)).to_be_visible(timeout=180_000)
    name = page.get_by_role("textbox", name="Annotator")
    name.fill(who)
    name.press("Enter")
    expect(page.locator(".st-key-annotate_session .words")).to_contain_text(f"{who}: 0 of")
    expect(name).not_to_be_focused()  # the keys that follow are grades
    return page


def candidate(page):
    return page.locator(".candidate .title")


def stored(page, words):
    """All that was said is stored, and the progress line says so."""
    expect(page.locator(".progress .words")).to_contain_text(words)
    expect(page.locator(".progress .stored")).to_have_text("Saved")


def said(explorer, project, who):
    return explorer.annotation.judgments(project, annotator=who)


def test_a_queue_of_ten_is_judged_by_keyboard_alone_over_a_reload(visit, explorer):
    project = make_project(explorer, "ten", 10)
    page = sit_down(visit, project, "Ada")
    expect(page.get_by_text("The same procedure.")).to_be_visible()
    expect(page.locator(".guides table em")).to_have_text("same")
    visit.shoot("annotate")
    what_is_asked_stays_in_view(page)

    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("Undo")
    page.keyboard.press("3")  # no grade while the keys are read
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    page.keyboard.press("2")
    page.keyboard.press("n")
    page.keyboard.type("u & <b>0</b>")  # digits and letters of a note are no grades
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    stored(page, "2 of 10")
    assert [(j.relevance, j.note) for j in said(explorer, project, "Ada")] == [
        (2, ""), (3, "u & <b>0</b>"),
    ]  # fmt: skip

    second = candidate_text(page)
    page.keyboard.press("b")
    expect(page.get_by_text("You graded 3 · Nearly the same")).to_be_visible()
    expect(page.locator("textarea")).to_have_value("u & <b>0</b>")
    page.wait_for_timeout(80)
    page.keyboard.press("1")
    expect(candidate(page)).to_have_text(second)
    stored(page, "2 of 10")
    assert [j.relevance for j in said(explorer, project, "Ada")] == [2, 1]

    page.wait_for_timeout(80)
    page.keyboard.press("z")
    expect(page.get_by_text("You graded 3 · Nearly the same")).to_be_visible()
    page.keyboard.press("f")
    expect(candidate(page)).to_have_text(second)
    stored(page, "2 of 10")
    page.reload()
    expect(candidate(page)).to_have_text(second)
    expect(page.get_by_role("textbox", name="Annotator")).to_have_value("Ada")

    marked_with_its_evidence(page)
    (marked,) = (judgment for judgment in said(explorer, project, "Ada") if judgment.marks)
    document = explorer.document("demo", marked.doc_id)
    assert (marked.marks, marked.blind) == ((document.sentences[1].span,), True)
    assert marked.seconds
    for key in "su01230":
        page.wait_for_timeout(80)
        page.keyboard.press(key)
    expect(page.get_by_text("All done")).to_be_visible()
    expect(page.get_by_text("You graded 8 items, skipped 1 and were unsure of 1.")).to_be_visible()
    visit.shoot("annotate-end")
    verdicts = [j.verdict for j in said(explorer, project, "Ada")]
    assert sorted(verdicts) == ["grade"] * 8 + ["skip", "unsure"]

    page.get_by_role("button", name="Review skipped (1)").click()
    expect(page.get_by_text("You skipped this")).to_be_visible()
    page.keyboard.press("2")
    expect(page.get_by_text("You graded 9 items, skipped 0 and were unsure of 1.")).to_be_visible()


def what_is_asked_stays_in_view(page):
    """On a phone too, below the bar of the page, while a long text scrolls."""
    wide = page.viewport_size
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".candidate .hint").first.scroll_into_view_if_needed()
    asked = page.locator(".asked")
    expect(asked).to_be_in_viewport(ratio=1)
    box = asked.bounding_box()
    assert box is not None
    assert 50 <= box["y"] < 70
    page.set_viewport_size(wide or {"width": 1400, "height": 900})


def marked_with_its_evidence(page):
    """Evidence is shown when it is asked for; a sentence is marked, and the item graded 1."""
    assert page.locator(".pair").count() == 0
    page.keyboard.press("e")
    expect(page.locator(".pair").first).to_be_visible()
    sentence = page.locator(".candidate button.sentence").nth(1)
    sentence.click()
    expect(sentence).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("1")
    stored(page, "3 of 10")
    assert page.locator(".pair").count() == 0


@pytest.mark.nightly
def test_digits_choose_and_enter_decides_a_disagreement_whatever_has_the_focus(visit, explorer):
    project = make_project(explorer, "decided", 2)
    annotation = explorer.annotation
    for item in annotation.pool(project):
        annotation.judge(project, Judgment(*item.item, "Ada", 0))
        annotation.judge(project, Judgment(*item.item, "Grace", 3))
    page = visit.open(f"/annotate?corpus=demo&project={project.name}&part=disagreements")
    expect(page.get_by_text("2 to decide, 0 decided")).to_be_visible(timeout=180_000)
    expect(page.locator(".st-key-annotate_decide_keys [data-listening]")).to_be_attached()
    page.locator(".kicker").first.click()
    reason = page.get_by_role("textbox", name="Reason")
    page.keyboard.press("0")
    page.keyboard.press("2")
    expect(reason).not_to_be_focused()
    page.keyboard.press("n")
    page.keyboard.type("uncompiled, so 3")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 to decide, 1 decided")).to_be_visible()
    page.get_by_text("Show decided").click()  # the focus is on the toggle
    page.get_by_text("Show decided").click()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(reason).to_be_focused()
    page.keyboard.type("other data")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(page.get_by_text("0 to decide, 2 decided")).to_be_visible()
    decided = [d.decided for d in annotation.disagreements(project) if d.decided is not None]
    assert {(d.relevance, d.note) for d in decided} == {(2, "uncompiled, so 3"), (1, "other data")}


def candidate_text(page):
    return page.locator(".candidate .title").inner_text()
