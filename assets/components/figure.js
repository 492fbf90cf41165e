// Files of a figure: SVG, PNG at the size of a slide, CSV. On white, between title and caption,
// with letters as outlines: whoever opens the file needs no font.
const NS = "http://www.w3.org/2000/svg"
const XLINK = "http://www.w3.org/1999/xlink"
const SLIDE = { width: 1280, height: 720, scale: 1.5, side: 40 }
const FILE_FONT = "SeedLens Figure"

const draw = (tag, attributes, text) => {
  const node = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  if (text !== undefined) node.textContent = withMarks(text)
  return node
}

const ruler = document.createElement("canvas").getContext("2d")
const widthOf = (text, { size, weight = 400, family }) => {
  ruler.font = `${weight} ${size}px ${family}`
  return ruler.measureText(text).width
}

// How many letters of a text fit into so many pixels, one at least; `end` is what follows them.
const fitting = (points, pixels, font, end = "") => {
  let [low, high] = [1, points.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (widthOf(points.slice(0, middle).join("") + end, font) <= pixels) low = middle
    else high = middle - 1
  }
  return low
}

const cut = (text, pixels, font) => {
  if (widthOf(text, font) <= pixels) return text
  const points = Array.from(text)
  return `${points.slice(0, fitting(points, pixels, font, "…")).join("").trimEnd()}…`
}

// A text on lines of so many pixels; the last of `most` ends in an ellipsis where it is cut.
const wrap = (text, pixels, font, most) => {
  const lines = []
  let line = ""
  const parts = text.trim().match(/\S+?(?:-(?=\S)|(?=\s|$))\s*/gu) ?? []
  for (const [i, part] of parts.entries()) {
    if (widthOf((line + part).trimEnd(), font) <= pixels) {
      line += part
      continue
    }
    if (lines.length + 1 >= most) return [...lines, cut(line + parts.slice(i).join(""), pixels, font)]
    if (line) lines.push(line.trimEnd())
    line = part
    while (widthOf(line.trimEnd(), font) > pixels && lines.length + 1 < most) {
      const points = Array.from(line)
      const head = fitting(points, pixels, font)
      lines.push(points.slice(0, head).join(""))
      line = points.slice(head).join("")
    }
  }
  return line ? [...lines, cut(line.trimEnd(), pixels, font)] : lines
}

// -- letters as outlines ---------------------------------------------------------------------

// The font is asked for once a page: with the first file.
const figureFont = () => (globalThis.seedlensFigureFont ??= loadFont().catch((error) => {
  globalThis.seedlensFigureFont = undefined
  throw error
}))

const loadFont = async () => {
  const answer = await fetch(new URL("figures/font.json", document.baseURI))
  if (!answer.ok) throw new Error(`The font for figures is missing (${answer.status}).`)
  const font = await answer.json()
  for (const [weight, { woff2 }] of Object.entries(font.weights)) {
    const face = new FontFace(font.family, `url(data:font/woff2;base64,${woff2})`, { weight })
    document.fonts.add(await face.load())
  }
  return font
}

// Letters become uses of outlines that are defined once. A text with a letter that the font has
// not (Chinese, say) stays a text.
const outline = (svg, font) => {
  const defined = draw("defs", {})
  const ids = new Map()
  const glyph = (weight, letter) => {
    const id = `g${weight}-${letter.codePointAt(0).toString(16)}`
    if (!ids.has(id)) defined.append(draw("path", { id, d: font.weights[weight].glyphs[letter][1] }))
    ids.set(id, true)
    return id
  }
  for (const text of svg.querySelectorAll("text")) {
    if (!text.getNumberOfChars()) {
      text.remove()
      continue
    }
    const known = Array.from(text.textContent).every((c) => font.weights[400].glyphs[c])
    if (known) text.replaceWith(outlined(text, font, glyph))
    else text.style.fontFamily = `"${FILE_FONT}", sans-serif`
  }
  svg.prepend(defined)
}

const outlined = (text, font, glyph) => {
  const group = draw("g", { class: "letters", "aria-label": text.textContent, opacity: getComputedStyle(text).opacity })
  if (text.hasAttribute("transform")) group.setAttribute("transform", text.getAttribute("transform"))
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT)
  let at = 0
  while (walker.nextNode()) {
    const style = getComputedStyle(walker.currentNode.parentElement)
    const weight = Number(style.fontWeight) >= 550 ? 600 : 400
    const scale = parseFloat(style.fontSize) / font.units
    const run = draw("g", { fill: style.fill, "fill-opacity": style.fillOpacity })
    for (const letter of walker.currentNode.data) {
      const { x, y } = text.getStartPositionOfChar(at)
      at += letter.length
      if (!font.weights[weight].glyphs[letter][1]) continue
      const use = draw("use", { transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${scale.toFixed(5)})` })
      use.setAttributeNS(XLINK, "xlink:href", `#${glyph(weight, letter)}`)
      run.append(use)
    }
    group.append(run)
  }
  return group
}

// -- the sheet -------------------------------------------------------------------------------

const lines = (texts, x, y, step, font, fill) =>
  texts.map((text, i) => draw("text", { x, y: y + i * step, "font-size": font.size, "font-weight": font.weight ?? 400, "font-family": font.family, fill, "xml:space": "preserve", style: "white-space: pre" }, text))

// Title, drawing and caption on a slide; `paint` gets the pixels it has, and returns a drawing
// { node, width, height } in pixels of its own, which is fitted in.
const sheet = async ({ title, caption, ink }, paint) => {
  const font = await figureFont()
  const family = `"${FILE_FONT}"`
  const [heading, small] = [{ size: 28, weight: 600, family }, { size: 16, family }]
  const wide = SLIDE.width - 2 * SLIDE.side
  const top = wrap(title, wide, heading, 3)
  const under = wrap(caption, wide, small, 5)
  const before = 36 + top.length * 34
  const after = 22 + under.length * 22
  const room = { width: wide, height: SLIDE.height - before - after }
  const drawing = await paint(room)
  const scale = Math.min(room.width / drawing.width, room.height / drawing.height)
  const { width, height } = SLIDE
  const svg = draw("svg", { xmlns: NS, "xmlns:xlink": XLINK, width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": withMarks(title) })
  const left = SLIDE.side + (room.width - scale * drawing.width) / 2
  const place = draw("g", { transform: `translate(${left.toFixed(2)} ${before}) scale(${scale.toFixed(4)})` })
  place.append(drawing.node)
  svg.append(
    draw("title", {}, title), draw("desc", {}, caption),
    draw("rect", { width, height, fill: ink.paper }),
    ...lines(top, SLIDE.side, 50, 34, heading, ink.text), place,
    ...lines(under, SLIDE.side, height - 14 - (under.length - 1) * 22, 22, small, ink.text),
  )
  // Only what is in the page has places of letters.
  const stage = make("div")
  stage.style.cssText = "position: absolute; left: -9999px; top: 0; visibility: hidden"
  stage.append(svg)
  document.body.append(stage)
  try {
    outline(svg, font)
  } finally {
    stage.remove()
  }
  return svg
}

const save = (blob, name) => {
  const link = make("a")
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

const asImage = async (text) => {
  const image = new Image(SLIDE.width, SLIDE.height)
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`
  await image.decode()
  const canvas = make("canvas")
  canvas.width = SLIDE.scale * SLIDE.width
  canvas.height = SLIDE.scale * SLIDE.height
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
  return new Promise((done) => canvas.toBlob(done, "image/png"))
}

const ICON = "M8 1.5v8M4.8 6.7 8 9.9l3.2-3.2M2 11v3h12v-3"
const KINDS = {
  svg: ["SVG", "SVG, for slides and print"],
  png: ["PNG", `PNG, ${SLIDE.scale * SLIDE.width} × ${SLIDE.scale * SLIDE.height}`],
  csv: ["CSV", "CSV, the data, safe for spreadsheets"],
}

// The menu of one chart; `paint` as in `sheet`.
const exportMenu = (file, paint) => {
  const panel = make("div", "files")
  panel.popover = "auto"
  const status = make("div", "status")
  status.setAttribute("role", "status")
  const write = async (kind) => {
    const name = `seedlens-${file.name.replaceAll(/[^\p{L}\p{N}]+/gu, "-")}.${kind}`
    if (kind === "csv") return save(new Blob([file.csv], { type: "text/csv" }), name)
    const text = new XMLSerializer().serializeToString(await sheet(file, paint))
    save(kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await asImage(text), name)
  }
  for (const [kind, [short, words]] of Object.entries(KINDS)) {
    panel.append(button("file", words, `Download ${file.name} as ${short}`, async () => {
      status.textContent = "Creating the file…"
      try {
        await write(kind)
        panel.hidePopover()
        status.textContent = ""
      } catch (error) {
        status.textContent = `Export failed. Reload the page and try again. (${error.message})`
      }
    }))
  }
  panel.append(status)
  const opener = button("menu", "", `Export chart: ${file.name}`, () => {})
  const icon = draw("svg", { viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "stroke-width": 1.6, "aria-hidden": "true" })
  icon.append(draw("path", { d: ICON }))
  opener.append(icon, "Export chart")
  opener.dataset.key = "export"
  opener.popoverTargetElement = panel
  panel.addEventListener("beforetoggle", (event) => {
    if (event.newState !== "open") return
    const box = opener.getBoundingClientRect()
    panel.style.top = `${Math.min(box.bottom + 4, innerHeight - 150)}px` // within the window
    panel.style.right = `${Math.max(8, document.documentElement.clientWidth - box.right)}px`
  })
  const bar = make("div", "bar")
  bar.append(opener, panel)
  return bar
}
