"""What holds for every component."""

import pytest
from playwright.sync_api import expect

from pages._common.components import component
from tests.components.conftest import ADDRESS, DARK, serve
from tests.components.samples import EVERY


@pytest.mark.parametrize("name", EVERY)
def test_texts_are_shown_as_text_and_drawing_again_keeps_what_has_the_focus(mount, name):
    styles, data = EVERY[name]
    drawn = mount(name, *styles)
    root = drawn.draw(data)
    expect(root.locator("img, script")).to_have_count(0)
    words = root.evaluate("""root => {
        const labels = [...root.querySelectorAll("*")].flatMap((one) =>
            [one.title ?? "", one.ariaLabel ?? "", one.placeholder ?? ""])
        return root.textContent + labels.join(" ")
    }""")
    assert "\u202e" not in words
    assert "<img src=x onerror=alert(1)> \u25caabc" in words
    assert not any(fault in words for fault in ("undefined", "[object", "NaN"))
    first = root.locator("button:not(:disabled), input, [tabindex='0']").first
    first.evaluate("node => { node.focus(); globalThis.first = node }")
    drawn.draw(data, DARK)
    active = "first.getRootNode().activeElement === first && first.isConnected"
    assert drawn.page.evaluate(active), "the same node has the focus"
    assert [event for event, _ in drawn.calls()] == []
    sizes = """root => [...root.querySelectorAll(":not(svg, svg *)")]
        .map((one) => parseFloat(getComputedStyle(one).fontSize))"""
    before = root.evaluate(sizes)
    drawn.page.evaluate("document.documentElement.style.fontSize = '32px'")
    assert root.evaluate(sizes) == pytest.approx([2 * size for size in before], abs=0.1)


def test_a_script_is_loaded_once_for_all_drawings_and_again_where_that_failed(browser, monkeypatch):
    made, asked = {}, []
    monkeypatch.setattr("streamlit.components.v2.component", lambda _, **given: made.update(given))
    component("seed")
    page = browser.new_page()
    page.route("**/*", serve)

    def answer(route):
        asked.append(route.request.url.partition("seed.js")[2])
        script = "export default () => { globalThis.drawn = (globalThis.drawn ?? 0) + 1 }"
        route.abort() if len(asked) == 1 else route.fulfill(
            body=script, content_type="text/javascript"
        )

    page.route("**/seed.js*", answer)
    page.goto(ADDRESS)
    page.evaluate(
        """async (js) => {
          const script = new Blob([js], { type: "text/javascript" })
          const { default: draw } = await import(URL.createObjectURL(script))
          for (const _ of [1, 2]) await Promise.allSettled([draw({}), draw({})])
        }""",
        made["js"],
    )
    assert asked == ["", "?again=2"]
    assert page.evaluate("drawn") == 2
    page.close()


def test_what_a_run_did_not_receive_is_sent_again(browser):
    page = browser.new_page()
    page.route("**/*", serve)
    page.goto(ADDRESS)
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    page.evaluate("""async () => {
      const { outbox } = await import("/base.js")
      const root = {}, calls = globalThis.calls = []
      const drawn = (received) =>
        outbox(root, { received }, (_, events) => calls.push(events.map((e) => e.name)))
      const send = drawn(0)
      send("grade", {})
      send("keep", {})
      drawn(root.sent[0].at)
      globalThis.settle = () => drawn(root.sent[0].at)
    }""")
    page.clock.run_for(2500)
    assert page.evaluate("calls") == [["grade"], ["grade", "keep"], ["keep"]]
    page.evaluate("() => { settle() }")
    page.clock.run_for(5000)
    assert len(page.evaluate("calls")) == 3
    page.close()


def test_each_page_is_one_entry_of_the_history_in_whichever_order_its_address_comes(browser):
    page = browser.new_page()
    page.route("**/*", serve)
    page.goto(ADDRESS)
    page.evaluate("import('/base.js')")
    for addresses, entries in (
        (["/x?q=1", "/x?q=2"], ["/x?q=1", "/x?q=2"]),  # a page that was changed
        (["/x?q=1", "/y", "/y?q=2"], ["/x?q=1", "/y?q=2"]),  # one that says what it shows
        (["/x?q=1", "/x?q=2", "/y?q=2"], ["/x?q=1", "/y?q=2"]),  # before it has its path
        (["/x", "/x?q=2", "/y?q=2"], ["/x", "/y?q=2"]),
    ):
        seen = page.evaluate(
            """(addresses) => {
              history.pushState({}, "", "/before")
              for (const address of addresses) history.pushState({}, "", address)
              const urls = navigation.entries().map((entry) => new URL(entry.url))
              const from = urls.findLastIndex((url) => url.pathname === "/before")
              return urls.slice(from + 1).map((url) => url.pathname + url.search)
            }""",
            addresses,
        )
        assert seen == entries
    page.close()
