// What stands around the map: its tools, the search in titles, and the legend.
const MODES = {
  pan: ["Move", "move the map; click to select a document", "M8 1.5v13M1.5 8h13M6 3.5 8 1.5l2 2M6 12.5l2 2 2-2M3.5 6l-2 2 2 2M12.5 6l2 2-2 2"],
  rectangle: ["Rectangle", "select the documents in a rectangle", "M2.5 3.5h11v9h-11z"],
  lasso: ["Lasso", "select the documents in a drawn outline", "M8 2.5c3.6 0 6 1.6 6 4s-2.4 4-6 4-6-1.6-6-4 2.4-4 6-4M5.5 10c-.8 1.2-.8 2.8.6 3.8"],
}
const ZOOMS = [
  ["+", "Zoom in", (camera) => camera.zoomAt(1.6), "M8 3v10M3 8h10"],
  ["-", "Zoom out", (camera) => camera.zoomAt(1 / 1.6), "M3 8h10"],
  ["0", "Show all documents", (camera) => camera.fit(), "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10"],
]
const MOST_FOUND = 8
const FEWEST_LETTERS = 2

const iconButton = (cls, path, label, onclick, words) => {
  const node = button(cls, undefined, label, onclick)
  node.append(icon(path))
  if (words) node.append(make("span", "words", words))
  return node
}

// Args: map: has mode, setMode(mode), zoom(change), clear().
const toolsNode = (map) => {
  const node = make("div", "tools")
  const modes = make("div", "group modes")
  for (const [mode, [words, label, path]] of Object.entries(MODES)) {
    const one = iconButton("tool", path, `${words}: ${label}`, () => map.setMode(mode), words)
    one.dataset.mode = mode
    modes.append(one)
  }
  toolbar(modes, "Drag mode")
  const zooms = make("div", "group")
  for (const [key, label, change, path] of ZOOMS) {
    zooms.append(iconButton("tool", path, `${label} (key ${key})`, () => map.zoom(change)))
  }
  toolbar(zooms, "Zoom")
  const clear = button("tool clear", "Clear selection", "Clear selection (Escape)", () => map.clear())
  node.append(modes, zooms, clear)
  return node
}

// The rows whose titles have all the words.
const withWords = (titles, words) => {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  const rows = []
  titles.forEach((title, row) => {
    const lower = title.toLowerCase()
    if (wanted.every((word) => lower.includes(word))) rows.push(row)
  })
  return rows
}

// Args: map: has titles(), found(rows), select(rows, said), show(rows).
const searchNode = (map) => {
  const node = make("div", "search")
  const field = make("input")
  Object.assign(field, { type: "search", placeholder: "Find in titles", autocomplete: "off" })
  setLabel(field, "Find in titles on the map")
  const list = make("div", "found")
  const look = () => {
    clearTimeout(node.waits) // Enter looks at once: a later list would take the focus off its first title
    const words = field.value.trim()
    const enough = words.length >= FEWEST_LETTERS
    const rows = enough ? withWords(map.titles(), words).filter((row) => map.passes(row)) : []
    map.found(rows)
    list.replaceChildren(...(enough ? foundNodes(map, rows, words) : []))
  }
  field.oninput = () => {
    clearTimeout(node.waits)
    node.waits = setTimeout(look, 120)
  }
  field.onkeydown = (event) => {
    if (event.key === "Escape") {
      field.value = ""
      look()
    } else if (event.key === "Enter") {
      look()
      list.querySelector("button")?.focus()
    } else return
    event.stopPropagation()
  }
  node.append(field, list)
  node.again = () => field.value && look()
  return node
}

const foundNodes = (map, rows, words) => {
  const said = make("div", "said", rows.length ? `${counted(rows.length)} on the map` : "No titles match.")
  const nodes = rows.slice(0, MOST_FOUND).map((row) => {
    const title = map.titles()[row]
    return button("hit text", title, `Select ${title}`, () => map.select([row], { show: true }))
  })
  if (rows.length > 1) {
    const all = `Select all ${rows.length.toLocaleString("en")}`
    nodes.unshift(button("all", all, `${all} documents with “${words}” in the title`, () => map.select(rows, { show: true })))
  }
  return [said, ...nodes]
}

const counted = (count) => `${count.toLocaleString("en")} ${count === 1 ? "document" : "documents"}`

const OUTLINES = {
  disc: "M8 3.5a4.5 4.5 0 1 0 .01 0z",
  ring: "M8 3.5a4.5 4.5 0 1 0 .01 0z",
  square: "M3.5 3.5h9v9h-9z",
  diamond: "M8 2.5 13.5 8 8 13.5 2.5 8z",
  triangle: "M8 3 13.5 12.5h-11z",
  cross: "M4 4l8 8M12 4l-8 8",
}

const signNode = (shape, colour) => {
  const node = icon(OUTLINES[shape])
  node.style.color = colour
  if (shape === "disc") node.style.fill = colour
  return node
}

const entryNode = (shape, colour, words, count) => {
  const node = make("span", "entry")
  node.append(signNode(shape, colour), make("span", "text", words))
  if (count !== undefined) node.append(make("span", "count", count.toLocaleString("en")))
  return node
}

// Args: colour: label, scale, entries ({ label, value, count }), low, high, none; layers: what lies
//   over the points ({ shape, colour, label, count }).
const legendNodes = (colour, layers, dark) => {
  const first = make("div", "line")
  first.append(make("span", "about", `Colour: ${withMarks(colour.label)}`))
  if (colour.scale === "clusters") first.append(make("span", "dim", "see names on the map"))
  if (colour.scale === "range" && colour.high) first.append(rampNode(colour, dark))
  for (const { label, value, count } of colour.entries) {
    first.append(entryNode("disc", css(colourOf(value, colour.scale, dark)), label, count))
  }
  if (colour.none) first.append(entryNode("disc", css(colourOf(NONE, "range", dark)), colour.none_label, colour.none))
  const lines = [first]
  if (layers.length) {
    const second = make("div", "line")
    second.append(make("span", "about", "Marked:"))
    for (const one of layers) second.append(entryNode(one.shape, one.colour, one.label, one.count))
    lines.push(second)
  }
  return lines
}

const rampNode = ({ low, high }, dark) => {
  const node = make("span", "ramp")
  const bar = make("span", "bar")
  const stops = [0, 85, 170, 254].map((value) => css(colourOf(value, "range", dark)))
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`
  node.append(make("span", "", low), bar, make("span", "", high))
  return node
}
