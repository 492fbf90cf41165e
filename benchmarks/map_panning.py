"""How smoothly the map moves: frames a second while it is panned in headless Chromium.

``python -m benchmarks.map_panning [documents]`` draws synthetic points with the component of the
page, and pans them for three seconds. Without a graphics card Chromium draws in software.
"""

from __future__ import annotations

import base64
import json
import shutil
import sys
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from engine.types.maps import ClusterLevel, Layout
from pages._common.components import _assets
from pages._map.map_parts import PARTS, layout_part, titles_part
from tests.browser.conftest import ARGUMENTS, CHROMIUM

DOCUMENTS = 100_000
SECONDS = 3
VIEWPORT = {"width": 1360, "height": 950}
PAN = """async (seconds) => {
  const stage = document.querySelector(".stage"), box = stage.getBoundingClientRect()
  const gl = document.querySelector("canvas").getContext("webgl2")
  const send = (type, x, y) => stage.dispatchEvent(new PointerEvent(type, { pointerId: 1,
    isPrimary: true, bubbles: true, clientX: box.x + x, clientY: box.y + y }))
  stage.setPointerCapture = () => {}
  send("pointerdown", 400, 300)
  const times = []
  const pixel = new Uint8Array(4)
  const began = performance.now()
  while (performance.now() - began < 1000 * seconds) {
    const now = await new Promise(requestAnimationFrame)
    times.push(now)
    const turn = (now - began) / 500
    send("pointermove", 400 + 400 * Math.sin(turn), 300 + 250 * Math.sin(1.3 * turn))
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel) // waits until it is drawn
  }
  send("pointerup", 400, 300)
  const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b)
  return { frames: 1000 * gaps.length / (times.at(-1) - times[0]), slowest: gaps.at(-1),
    median: gaps[gaps.length >> 1] }
}"""
SHOW = """async ({ scripts, parts, data }) => {
  const load = (code) => import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })))
  const [part, map] = await Promise.all(scripts.map(load))
  const own = (cls) => document.body.appendChild(Object.assign(document.createElement("div"),
    { className: cls, innerHTML: '<div class="root"></div>' }))
  for (const bytes of parts) await part.default({ parentElement: own("part"),
    data: Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)) })
  const parentElement = own("map")
  window.render = (change) => map.default({ parentElement, data: Object.assign(data, change),
    setTriggerValue: (name, value) => (window.told = value) })
  window.render({})
}"""


def synthetic(documents: int, layouts: int = 2, clusters: int = 40) -> list[Layout]:
    """Layouts of points around centres, other ones in each; a tenth is not in the second."""
    random = np.random.default_rng(7)
    labels = random.integers(0, clusters, documents)
    made = []
    for number in range(layouts):
        centres = random.uniform(0.1, 0.9, (clusters, 2))
        places = centres[labels] + random.normal(0, 0.025, (documents, 2))
        places = places.clip(0, 1).astype(np.float32)
        if number:
            places[random.random(documents) < 0.1] = np.nan
        levels = [
            ClusterLevel(labels % count, tuple(f"{word} {i}, its words" for i in range(count)),
                         centres[:count], np.bincount(labels % count))
            for count, word in ((12, "topic"), (clusters, "subtopic"))
        ]  # fmt: skip
        made.append(Layout(("document", "method")[number], places, tuple(levels)))
    return made


def show(page: Page, documents: int, **change: Any) -> dict[str, int]:
    """Draw synthetic points on a page.

    Returns:
        bytes of each message.
    """
    titles = [f"A study of subject {i} and of {i % 977} more" for i in range(documents)]
    parts = {one.name: layout_part(one.name, "synthetic", one, one.name)
             for one in synthetic(documents)}  # fmt: skip
    parts["titles"] = titles_part("titles", titles)
    colour = {"label": "cluster", "scale": "clusters", "key": "", "entries": [], "none": 0,
              "none_label": "in no cluster"}  # fmt: skip
    data = {"corpus": "synthetic", "size": documents, "layout": "document", "titles": "titles",
            "colour": colour, "layers": [], "selected": "", "dark": False,
            "received": 0, **change}  # fmt: skip
    page.set_content(
        '<body style="margin: 20px; --st-background-color: #fbfaf6; --st-text-color: #23211c;'
        f' --st-primary-color: #7a2e3a"><style>{_assets(("common", "map"), "css")}</style>'
    )
    scripts = [
        _assets(names, "js") for names in (("map_store", "map_part"), ("common", *PARTS, "map"))
    ]
    encoded = [base64.b64encode(part).decode() for part in parts.values()]
    page.evaluate(SHOW, {"scripts": scripts, "parts": encoded, "data": data})
    page.wait_for_selector(".root:not(.waiting) .cluster, .missing")
    return {name: len(part) for name, part in parts.items()} | {"data": len(json.dumps(data))}


def measure(documents: int = DOCUMENTS) -> dict[str, Any]:
    """Frames a second, the slowest frame in milliseconds, and the messages' bytes."""
    path = next(found for name in CHROMIUM if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        page = browser.new_page(viewport=VIEWPORT)  # type: ignore[arg-type]
        sizes = show(page, documents)
        panned = page.evaluate(PAN, SECONDS)
        browser.close()
    return {"documents": documents, **panned, "bytes": sizes}


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:2])), indent=1))
