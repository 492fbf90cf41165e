// What stands around the map: its tools, the search in titles, and the legend.
import { button, counted, html, icon, toolbar } from "./base.js"
import { colourOf, css, NONE } from "./map_colours.js"

const ARROWS = "M8 1.5v13M1.5 8h13M6 3.5 8 1.5l2 2M6 12.5l2 2 2-2M3.5 6l-2 2 2 2M12.5 6l2 2-2 2"
const ROPE = "M8 2.5c3.6 0 6 1.6 6 4s-2.4 4-6 4-6-1.6-6-4 2.4-4 6-4M5.5 10c-.8 1.2-.8 2.8.6 3.8"
const MODES = [
  ["pan", "Move", "move the map; click to select a document", ARROWS],
  ["rectangle", "Rectangle", "select the documents in a rectangle", "M2.5 3.5h11v9h-11z"],
  ["lasso", "Lasso", "select the documents in a drawn outline", ROPE],
]
const ZOOMS = [
  ["Zoom in (key +)", (camera) => camera.zoomAt(1.6), "M8 3v10M3 8h10"],
  ["Zoom out (key -)", (camera) => camera.zoomAt(1 / 1.6), "M3 8h10"],
  [
    "Show all documents (key 0)",
    (camera) => camera.fit(),
    "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  ],
]
const MOST_FOUND = 8

// Args: map: has mode, selected, setMode(mode), zoom(change), clear().
export const toolsOf = (map) => {
  const mode = ([name, words, does, path]) => {
    const shown = html`${icon(path)}<span class="words">${words}</span>`
    const choose = () => map.setMode(name)
    return button("tool", shown, `${words}: ${does}`, choose, { pressed: map.mode === name })
  }
  const zoom = ([label, change, path]) => button("tool", icon(path), label, () => map.zoom(change))
  const clear = "Clear selection"
  const disabled = !map.selected.length
  return html`<div class="tools">
    ${toolbar("joined", "Drag mode", MODES.map(mode))}
    ${toolbar("joined", "Zoom", ZOOMS.map(zoom))}
    ${button("tool clear", clear, `${clear} (Escape)`, () => map.clear(), { disabled })}
  </div>`
}

// Args: map: has words, matches, titles(), find(words), select(rows, said).
export const searchOf = (map) => {
  const { matches: rows, words } = map
  const typed = ({ target }) => map.find(target.value)
  const keys = (event) => {
    const { key, target } = event
    if (key === "Escape") {
      target.value = ""
      map.find("", true)
    } else if (key === "Enter") {
      map.find(target.value, true) // at once: a later list would take the focus off its first title
      target.nextElementSibling.querySelector("button")?.focus()
    } else return
    event.stopPropagation()
  }
  const hit = (row) => {
    const title = map.titles()[row]
    return button("hit text", title, `Select ${title}`, () => map.select([row], { show: true }))
  }
  const every = `Select all ${rows.length.toLocaleString("en")}`
  const label = `${every} documents with “${words}” in the title`
  const all = () => button("all", every, label, () => map.select(rows, { show: true }))
  const found = html`<div class="said">
      ${rows.length ? `${counted(rows.length)} on the map` : "No titles match."}
    </div>
    ${rows.length > 1 ? all() : ""}${rows.slice(0, MOST_FOUND).map(hit)}`
  return html`<div class="search">
    <input type="search" placeholder="Find in titles" autocomplete="off"
      aria-label="Find in titles on the map" @input=${typed} @keydown=${keys} />
    <div class="found">${words ? found : ""}</div>
  </div>`
}

const OUTLINES = {
  disc: "M8 3.5a4.5 4.5 0 1 0 .01 0z",
  ring: "M8 3.5a4.5 4.5 0 1 0 .01 0z",
  square: "M3.5 3.5h9v9h-9z",
  diamond: "M8 2.5 13.5 8 8 13.5 2.5 8z",
  triangle: "M8 3 13.5 12.5h-11z",
}

const entry = (shape, colour, words, count) => {
  const style = `color: ${colour}${shape === "disc" ? `; fill: ${colour}` : ""}`
  const number = html`<span class="count">${count?.toLocaleString("en")}</span>`
  return html`<span class="entry">
    ${icon(OUTLINES[shape], style)}<span class="text">${words}</span>
    ${count === undefined ? "" : number}
  </span>`
}

// Args: colour: label, scale, entries ({ label, value, count }), low, high, none; layers: what lies
//   over the points ({ shape, colour, label, count }).
export const legendOf = ({ label, scale, entries, low, high, none, none_label }, layers, dark) => {
  const shade = (value, of = scale) => css(colourOf(value, of, dark))
  const one = ({ label: words, value, count }) => entry("disc", shade(value), words, count)
  const stops = [0, 85, 170, 254].map((value) => shade(value, "range")).join(", ")
  const ramp = html`<span class="ramp">
    <span>${low}</span>
    <span class="bar" style="background: linear-gradient(to right, ${stops})"></span>
    <span>${high}</span>
  </span>`
  const mark = ({ shape, colour, label: words, count }) => entry(shape, colour, words, count)
  const marks = html`<div class="line"><span class="about">Marked:</span>${layers.map(mark)}</div>`
  return html`<div class="line">
      <span class="about">Colour: ${label}</span>
      ${scale === "range" && high ? ramp : ""}${entries.map(one)}
      ${none ? entry("disc", shade(NONE, "range"), none_label, none) : ""}
    </div>
    ${layers.length ? marks : ""}`
}
