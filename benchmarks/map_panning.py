"""How smoothly the map moves: frames a second while it is panned in headless Chromium.

Synthetic points are drawn with the component of the page, and panned for three seconds. Without a
graphics card Chromium draws in software.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from playwright.sync_api import Page

from benchmarks.browser import chromium
from benchmarks.figures import Figure
from engine.types.maps import ClusterLevel, Layout
from pages._common.modules import FOLDER
from pages._map.map_parts import layout_part, titles_part
from tests.components.conftest import ADDRESS, serve

DOCUMENTS = 100_000
SECONDS = 3
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
SHOW = """async ({ parts, data }) => {
  const [part, map] = await Promise.all([import("/map_part.js"), import("/map.js")])
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
        levels = []
        for count, word in ((12, "topic"), (clusters, "subtopic")):
            names = tuple(f"{word} {i}, its words" for i in range(count))
            levels.append(ClusterLevel(labels % count, names))
        made.append(Layout(("document", "method")[number], places, tuple(levels)))
    return made


def show(page: Page, documents: int, **change: Any) -> dict[str, int]:
    """Draw synthetic points on a page; bytes of each message."""
    titles = [f"A study of subject {i} and of {i % 977} more" for i in range(documents)]
    layouts = synthetic(documents)
    parts = {one.name: layout_part(one.name, "synthetic", one, one.name) for one in layouts}
    parts["titles"] = titles_part("titles", titles)
    colour = {"label": "cluster", "scale": "clusters", "key": "", "entries": []}
    colour |= {"none": 0, "none_label": "in no cluster"}
    data = {"corpus": "synthetic", "size": documents, "layout": "document", "titles": "titles"}
    data |= {"colour": colour, "layers": [], "selected": "", "received": 0, **change}
    page.route("**/*", serve)
    page.goto(ADDRESS)
    sheets = "".join((FOLDER / f"{name}.css").read_text("utf-8") for name in ("base", "map"))
    theme = "--st-background-color: #fbfaf6; --st-text-color: #23211c; --st-primary-color: #7a2e3a"
    page.add_style_tag(content=f"body {{ margin: 20px; {theme} }} {sheets}")
    encoded = [base64.b64encode(part).decode() for part in parts.values()]
    page.evaluate(SHOW, {"parts": encoded, "data": data})
    page.wait_for_selector(".root:not(.waiting) .cluster, .missing")
    return {name: len(part) for name, part in parts.items()} | {"data": len(json.dumps(data))}


def measure(documents: int = DOCUMENTS) -> list[Figure]:
    """Frames a second, the slowest frame, and the messages' bytes."""
    with chromium() as page:
        if page is None:
            return []
        sizes = show(page, documents)
        panned = page.evaluate(PAN, SECONDS)
    note = f"{documents:,} documents; messages of {sum(sizes.values()) / 2**20:.1f} MiB"
    return [
        Figure("frames a second", panned["frames"], "", note, least=30),
        Figure("slowest frame", panned["slowest"], "ms"),
    ]
