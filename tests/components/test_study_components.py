"""The components of Annotate, Ask and Build, and the facets of corpora."""

import pytest
from playwright.sync_api import expect

from tests.components.conftest import ADDRESS, serve
from tests.components.samples import SHOWN, answer, ask, facets, judging, steps


def test_a_key_judges_one_item_at_once_and_its_judgment_is_sent_until_it_is_settled(mount):
    desk = mount("annotate", "keys")
    root = desk.draw(judging())
    keyboard = desk.page.keyboard
    expect(root.locator(".progress .words")).to_contain_text("0 of 3")
    root.get_by_role("button", name=f"M {SHOWN} 1.").click()  # evidence for the grade
    keyboard.press("n")
    note = root.get_by_label("Note")
    expect(note).to_be_focused()
    keyboard.type("s2")
    keyboard.press("Escape")
    keyboard.press("2")
    expect(root.locator(".progress .words")).to_contain_text("1 of 3")
    expect(root.locator(".stored")).to_have_text("Saving…")
    expect(note).to_have_value("")
    desk.page.wait_for_timeout(60)
    keyboard.press("u")
    [(_, first)] = desk.calls()
    [event] = first["events"]
    assert (event["key"], event["relevance"], event["note"]) == ("a", 2, "s2")
    assert (event["verdict"], event["marks"], event["first"]) == ("grade", [1], True)
    settled = answer(session="s", turn=first["turn"], settled=[event["event"]])
    desk.draw(judging(answer=settled))
    [_, (_, second)] = desk.calls()
    assert [(e["key"], e["verdict"]) for e in second["events"]] == [("b", "unsure")]
    # Back shows what was said; another key changes it.
    desk.page.wait_for_timeout(60)
    keyboard.press("b")
    expect(root.locator(".before")).to_contain_text("You were unsure")
    expect(root.get_by_role("button", name="Unsure")).to_have_attribute("aria-pressed", "true")
    keyboard.press("f")
    expect(root.locator(".before")).to_have_count(0)
    desk.draw(judging(answer=answer(session="s", turn=second["turn"], refused=["b"], message="No")))
    expect(root.get_by_role("status")).to_have_text("No")


def test_fast_held_and_doubled_presses_judge_one_item_each(mount):
    keys = [f"k{i}" for i in range(30)]
    [first, *_] = judging()["items"]
    items = [{**first, "key": key, "doc_id": key, "title": key} for key in keys]
    progress = {**judging()["progress"], "total": 30}
    desk = mount("annotate", "keys")
    root = desk.draw(judging(items=items, next=keys, progress=progress))
    done = root.locator(".progress .words")
    for _ in range(20):
        desk.page.keyboard.down("2")
    desk.page.keyboard.up("2")
    expect(done).to_contain_text("1 of 30")
    for count, name in enumerate(("grade 1", "Skip", "Unsure"), 2):
        root.get_by_role("button", name=name).dblclick()
        expect(done).to_contain_text(f"{count} of 30")
    root.locator(".kicker", has_text="Candidate").click()  # the focus leaves the buttons
    for count in range(4, 24):
        expect(root.locator(".candidate .title")).to_have_text(keys[count])
        desk.page.wait_for_timeout(60)  # a key that bounces is one press
        desk.page.keyboard.press("1")
    expect(done).to_contain_text("24 of 30")


def test_guidelines_and_evidence_open_by_keys_and_keep_where_they_were_scrolled_to(mount):
    desk = mount("annotate", "keys")
    root = desk.draw(judging())
    expect(root.locator(".guides a")).not_to_have_attribute("href", "javascript:alert(1)")
    expect(root.locator(".guides p")).to_contain_text(SHOWN)
    desk.page.keyboard.press("e")
    expect(root.locator(".evidence .pair")).to_have_count(2)
    guides = root.locator(".guides")
    guides.evaluate("node => { node.style.height = '50px'; node.scrollTop = 20 }")
    desk.page.keyboard.press("1")
    expect(root.locator(".evidence .pair")).to_have_count(0)
    assert guides.evaluate("node => node.scrollTop") == 20
    desk.page.wait_for_timeout(60)
    desk.page.keyboard.press("g")
    expect(guides).to_have_count(0)
    desk.page.keyboard.press("?")
    keys = desk.page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text(f"grade 1: {SHOWN}")
    expect(keys).to_contain_text("Next without answering")


def test_the_end_of_a_queue_leads_to_what_was_skipped(mount):
    desk = mount("annotate", "keys")
    done = {"total": 3, "done": 3, "skipped": 1, "unsure": 0, "per_minute": 12}
    root = desk.draw(judging(next=[], later={"skip": ["b"], "unsure": []}, progress=done))
    expect(root.locator(".end")).to_contain_text("You graded 2 items, skipped 1 and")
    expect(root.get_by_role("button", name="0 grade 0")).to_be_disabled()
    root.get_by_role("button", name="Review skipped (1)").click()
    expect(root.locator(".card.candidate")).to_be_visible()


def test_a_slow_app_is_not_asked_again_while_it_works(browser):
    page = browser.new_page()
    page.route("**/*", serve)
    page.goto(ADDRESS)
    page.clock.install(time=0)
    page.clock.pause_at(1000)  # only `told` lets time pass
    page.evaluate("""async () => {
        const { Outbox } = await import("/annotate_session.js")
        globalThis.box = new Outbox()
        box.messages = box.runs = 0
        box.send = () => { box.messages += 1 }
        globalThis.seedlensRunPage = () => { box.runs += 1 }
        box.put({})
    }""")

    def told(seconds):
        """Messages, and runs of the page that were asked for, after that time."""
        page.clock.run_for(1000 * seconds)
        return page.evaluate("[box.messages, box.runs]")  # type: ignore[no-any-return]

    assert told(6) == [1, 0]
    page.evaluate("""() => {
        box.answered({ turn: box.turn, settled: box.events.map((e) => e.event), retry: false })
        box.put({})
    }""")
    assert told(23) == [2, 0], "answers took 6 s: four times as long is no reason for doubt"
    assert told(2) == [2, 1]
    assert told(12) == [3, 1], "what was lost is sent again"
    assert told(46) == [3, 1], "and then there is more time"
    page.close()


def test_a_citation_opens_its_passage_at_the_sentence_it_is_closest_to(mount):
    made = mount("ask")
    root = made.draw(ask())
    expect(root.locator(".unfounded")).to_have_text("[9]")
    root.get_by_role("button", name="Passage 1:").click()
    expect(root.locator("article .title")).to_be_focused()
    expect(root.locator("mark")).to_have_text("src")
    root.locator("article .title").click()
    expect(root.locator(".document")).to_have_count(0)
    made.draw(ask(bare=True, parts=[], id="other"))
    expect(root.locator("mark")).to_have_text("<img")
    root.get_by_role("button", name="Open this document as the seed").click()
    assert made.calls() == [("seed", {"doc_id": "a"})]


def test_a_step_of_a_build_opens(mount):
    build = mount("build_steps")
    build.draw(steps()).get_by_role("button").click()
    assert build.calls() == [("open", {"step": "a"})]


def test_facets_are_chosen_by_dragging_typing_and_clicking(mount):
    panel = mount("facets")
    root = panel.draw(facets())
    bars = root.get_by_role("img", name="Year: 2000 to 2003, most in 2001 (5 documents)")
    box = bars.bounding_box()
    assert box
    at = [box["x"] + box["width"] * (i + 0.5) / 4 for i in range(4)]
    mouse = panel.page.mouse
    mouse.move(at[1], box["y"] + 20)
    mouse.down()
    mouse.move(at[2], box["y"] + 20, steps=3)
    expect(root.locator(".bars .in")).to_have_count(2)
    mouse.up()
    years = root.get_by_role("group", name="Year: range").get_by_label("from")
    years.fill("2002")
    years.press("Enter")
    expect(root.get_by_role("checkbox")).to_have_count(8)
    search = root.get_by_label("Search the values of")
    search.fill("v1")
    expect(root.get_by_role("checkbox")).to_have_count(2)
    root.get_by_role("checkbox").last.check()
    search.fill("other")
    expect(root.locator(".values")).to_have_text("Press Enter to filter by this value")
    search.press("Enter")
    root.get_by_role("button", name="Show all 12 values").click()
    expect(root.get_by_role("checkbox")).to_have_count(12)
    assert [value for _, value in panel.calls()] == [
        {"field": "year", "low": "2001", "high": "2002"},
        {"field": "year", "low": "2002", "high": ""},
        {"field": "place", "values": ["v10"]},
        {"field": "place", "values": ["other"]},
    ]


@pytest.mark.parametrize("key", ["Enter", "n"])
def test_a_decision_needs_a_reason(mount, key):
    desk = mount("annotate_decide")
    desk.page.evaluate("""() => {
        const form = document.createElement("div")
        form.dataset.testid = "stForm"
        form.innerHTML = `<div class="st-key-annotate_decision">
            <button data-variant="segmented_control">1 · some</button></div><input type="text">`
        document.body.append(form)
    }""")
    desk.draw({"grades": [0, 1]})
    chosen = desk.page.locator("button")
    chosen.evaluate("node => { node.onclick = () => { node.dataset.selected = '' } }")
    desk.page.keyboard.press("1")
    expect(chosen).to_have_attribute("data-selected", "")
    desk.page.keyboard.press(key)
    expect(desk.page.locator("input")).to_be_focused()
    desk.page.keyboard.press("Escape")
    expect(desk.page.locator("input")).not_to_be_focused()
