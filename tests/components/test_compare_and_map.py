"""The components of Compare and Map."""

import base64
import json
import zlib
from pathlib import Path

from playwright.sync_api import expect

from tests.components.samples import HOSTILE, SHOWN, flow, papers, variants


def test_a_variant_is_edited_and_nothing_is_taken_from_somebody_who_types_on(mount):
    rows = mount("compare_variants")
    root = rows.draw(variants())
    wording = root.get_by_label("Instruction of variant 1")
    expect(root.locator(".correction")).to_have_count(2)
    wording.fill("the result")
    wording.press("Control+Enter")
    expect(root.locator(".correction")).to_have_count(1)  # of the sentences, which stay
    wording.fill("the result and more")
    sent = rows.calls()[0][1]["rows"]
    assert (sent[0]["wording"], sent[0]["reading"]) == ("the result", "")
    rows.draw(variants(rows=sent, read=["Interpreted as Result", ""]))
    expect(wording).to_have_value("the result and more")
    expect(root.locator(".reading").first).to_have_text("Interpreted as Result")
    name = root.get_by_label("Name of variant 2")
    name.fill(" ")
    name.blur()
    expect(name).to_have_value("b")
    # A slider is for systems that have one.
    expect(root.get_by_role("slider")).to_have_count(1)
    root.get_by_label("System of variant 2").select_option("aspect")
    expect(root.get_by_role("slider")).to_have_count(2)
    root.get_by_role("button", name="Add variant").click()
    root.get_by_role("button", name="Remove variant 1").click()
    sizes = [len(value["rows"]) for event, value in rows.calls()]
    assert sizes[-2:] == [3, 1]
    rows.draw(variants(rows=[*sent, sent[0]]))
    expect(root.get_by_role("button", name="Add variant")).to_be_disabled()


def test_the_rank_flow_is_walked_by_keys_and_a_line_opens(mount):
    chart = mount("compare_flow", "figure")
    root = chart.draw(flow())
    lines = root.locator(".lines > g")
    expect(lines).to_have_count(6)
    lines.first.focus()
    expect(root.locator(".status .title")).to_have_text(SHOWN)
    expect(root.locator(".status .ranks")).to_contain_text("base 1")
    chart.page.keyboard.press("ArrowDown")
    expect(lines.nth(1)).to_be_focused()
    expect(lines.nth(1).locator(".stroke")).to_have_attribute("stroke", "#7a2e3a")
    expect(lines.first.locator(".stroke")).to_have_attribute("stroke", "#111111")
    chart.page.keyboard.press("Enter")
    lines.nth(2).locator(".spot").first.click()
    assert chart.calls() == [("open", {"doc_id": "d1"}), ("open", {"doc_id": "d2"})]
    chart.draw(flow(selected="d2"))
    expect(root.locator("g[aria-pressed=true]")).to_have_count(1)


def test_a_chart_is_exported_as_data_and_as_a_figure_without_fonts(mount, tmp_path):
    chart = mount("compare_flow", "figure")
    root = chart.draw(flow())
    files = {}
    for kind in ("CSV", "SVG"):
        root.get_by_role("button", name="Export chart: rank flow").click()
        with chart.page.expect_download() as download:
            root.get_by_role("button", name=f"Download rank flow as {kind}").click()
        assert download.value.suggested_filename == f"seedlens-rank-flow.{kind.lower()}"
        files[kind] = Path(download.value.path()).read_text("utf-8")
    assert files["CSV"] == "a,b\n1,2\n"
    assert "<!--" not in files["SVG"]
    assert "<text" not in files["SVG"].replace("<text-", "")
    assert 'aria-label="beyond rank 5"' in files["SVG"]


def test_the_evidence_of_a_document_that_moved_unfolds(mount):
    moved = mount("compare_papers")
    root = moved.draw(papers())
    expect(root.locator(".paper.on .gained .tag")).to_have_text(f"not in {SHOWN}")
    row = root.get_by_role("button", name=f"{SHOWN}. Ranks: {SHOWN} 1, b none")
    row.click()
    assert moved.calls() == [("open", {"doc_id": "a"})]


def packed(about, **arrays):
    """As ``pages._map.map_parts.packed``, in base64."""
    kinds = {"titles": "text", "values": "u8"}
    heads = [{"name": n, "type": kinds.get(n, "u16"), "bytes": len(b)} for n, b in arrays.items()]
    head = json.dumps({"about": about, "arrays": heads}).encode()
    parts = [len(head).to_bytes(4, "little"), head, *arrays.values()]
    content = parts[0] + parts[1]
    for part in parts[2:]:
        content += b"\0" * (-len(content) % 4) + part
    return base64.b64encode(content).decode()


def test_documents_of_the_map_are_found_clicked_and_chosen_by_their_cluster(mount):
    def numbers(*values):
        return b"".join(value.to_bytes(2, "little") for value in values)

    names = {"coarse": ["left", HOSTILE], "fine": ["left", "right"], "absent": 1, "label": "method"}
    about = {"key": "places", "corpus": "c", "name": "whole", **names}
    places = numbers(9000, 9000, 12000, 9000, 50000, 50000, 65535, 65535)
    layout = packed(about, positions=places, coarse=numbers(0, 0, 1, 1), fine=numbers(0, 0, 1, 1))
    titles = "\n".join(["Bees and maps", "Bees", HOSTILE, "None"]).encode()
    map_ = mount("map")
    for part in (layout, packed({"key": "titles"}, titles=zlib.compress(titles))):
        map_.page.evaluate(
            """async (text) => {
              const { default: take } = await import("/map_part.js")
              const data = Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
              await take({ data, parentElement: {} })
            }""",
            part,
        )
    colour = {"label": "cluster", "scale": "clusters", "entries": [], "key": ""}
    keys = {"layout": "places", "titles": "titles", "corpus": "c", "size": 4}
    layers = [{"name": "seed", "label": HOSTILE, "rows": [0]}]
    data = {**keys, "received": 0, "selected": "AA==", "colour": colour, "layers": layers}
    root = map_.draw({**data, "within": None})
    expect(root.locator(".margin")).to_have_text("1 document without method is not on this map")
    expect(root.locator(".legend")).to_contain_text(SHOWN)
    root.get_by_role("button", name=f"{SHOWN}: select its 1 document").click()
    expect(root.get_by_role("status")).to_have_text(f"Selected: “{SHOWN}”")
    field = root.get_by_label("Find in titles on the map")
    field.fill("bees")
    expect(root.locator(".said")).to_have_text("2 documents on the map")
    root.get_by_role("button", name="Select all 2").click()
    expect(root.get_by_role("status")).to_have_text("Selected: 2 documents")
    field.fill("bees and")
    field.press("Enter")
    map_.page.wait_for_timeout(300)  # more than the page waits after a letter before it looks
    expect(root.get_by_role("button", name="Select Bees and maps")).to_be_focused()
    expect(root.get_by_role("status")).to_have_text("Selected: “Bees and maps”")
    root.locator("canvas").focus()
    map_.page.keyboard.press("Escape")
    expect(root.get_by_role("button", name="Clear selection")).to_be_disabled()
    rows = [base64.b64decode(event["rows"])[0] for event in map_.calls()[-1][1]]
    assert rows == [0b100, 0b011, 0b001, 0]
    map_.page.keyboard.press("0")
    map_.draw({**data, "within": "AQ=="})  # the first document
    root.get_by_role("button", name=f"{SHOWN}: select its 1 document").click()
    expect(root.get_by_role("status")).to_have_text("Of 1 document, 0 match the filters.")
    root.get_by_role("button", name="Remove filters").click()
    assert map_.calls()[-1][1][-1]["name"] == "unfilter"
