// Files of a figure: SVG, PNG at the size of a slide, CSV. On white, between title and caption,
// with letters as outlines: whoever opens the file needs no font.
import { button, html, icon, render, svg, withMarks } from "./base.js"

const NS = "http://www.w3.org/2000/svg"
const XLINK = "http://www.w3.org/1999/xlink"
const SLIDE = { width: 1280, height: 720, scale: 1.5, side: 40 }
export const FILE_FONT = '"SeedLens Figure"'

const ruler = document.createElement("canvas").getContext("2d")
export const widthOf = (text, { size, weight = 400, family }) => {
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

export const cut = (text, pixels, font) => {
  if (widthOf(text, font) <= pixels) return text
  const points = Array.from(text)
  const shown = points.slice(0, fitting(points, pixels, font, "…")).join("")
  return `${shown.trimEnd()}…`
}

// A text on lines of so many pixels; the last of `most` ends in an ellipsis where it is cut.
export const wrap = (text, pixels, font, most) => {
  const lines = []
  let line = ""
  const parts = text.trim().match(/\S+?(?:-(?=\S)|(?=\s|$))\s*/gu) ?? []
  for (const [i, part] of parts.entries()) {
    if (widthOf((line + part).trimEnd(), font) <= pixels) {
      line += part
      continue
    }
    if (lines.length + 1 >= most)
      return [...lines, cut(line + parts.slice(i).join(""), pixels, font)]
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

let figureFont = null // that is loaded with the first file

const loadFont = async () => {
  const answer = await fetch(new URL("figures/font.json", document.baseURI))
  if (!answer.ok) throw new Error(`The font for figures is missing (${answer.status}).`)
  const font = await answer.json()
  for (const [weight, { woff2 }] of Object.entries(font.weights)) {
    const face = new FontFace(font.family, `url(data:font/woff2;base64,${woff2})`, { weight })
    document.fonts.add(await face.load())
  }
  figureFont = font
}

const draw = (tag, attributes) => {
  const node = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  return node
}

// Letters become uses of outlines that are defined once. A text with a letter that the font has
// not (Chinese, say) stays a text.
const outline = (sheet, { weights, units }) => {
  const glyphs = new Map()
  const glyph = (weight, letter) => {
    const id = `g${weight}-${letter.codePointAt(0).toString(16)}`
    glyphs.set(id, weights[weight].glyphs[letter][1])
    return `#${id}`
  }

  const outlined = (text) => {
    const { opacity } = getComputedStyle(text)
    const transform = text.getAttribute("transform")
    const about = { "aria-label": withMarks(text.textContent), opacity }
    const group = draw("g", { class: "letters", ...about })
    if (transform) group.setAttribute("transform", transform)
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT)
    let at = 0
    while (walker.nextNode()) {
      const style = getComputedStyle(walker.currentNode.parentElement)
      const weight = Number(style.fontWeight) >= 550 ? 600 : 400
      const scale = (parseFloat(style.fontSize) / units).toFixed(5)
      const run = draw("g", { fill: style.fill, "fill-opacity": style.fillOpacity })
      for (const letter of walker.currentNode.data) {
        const { x, y } = text.getStartPositionOfChar(at)
        at += letter.length
        if (!weights[weight].glyphs[letter][1]) continue
        const place = `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${scale})`
        const use = draw("use", { transform: place })
        use.setAttributeNS(XLINK, "xlink:href", glyph(weight, letter))
        run.append(use)
      }
      group.append(run)
    }
    return group
  }

  for (const text of sheet.querySelectorAll("text")) {
    const known = Array.from(text.textContent).every((letter) => weights[400].glyphs[letter])
    if (!text.getNumberOfChars()) text.remove()
    else if (known) text.replaceWith(outlined(text))
    else text.style.fontFamily = `${FILE_FONT}, sans-serif`
  }
  const defined = draw("defs", {})
  for (const [id, d] of glyphs) defined.append(draw("path", { id, d }))
  sheet.prepend(defined)
}

// -- the sheet -------------------------------------------------------------------------------

// Title, drawing and caption on a slide; `paint` gets the pixels it has, and returns a drawing
// { node, width, height } in pixels of its own, which is fitted in.
const sheetOf = async ({ title, caption, ink }, paint) => {
  if (!figureFont) await loadFont()
  const { width, height, side } = SLIDE
  const wide = width - 2 * side
  const top = wrap(title, wide, { size: 28, weight: 600, family: FILE_FONT }, 3)
  const under = wrap(caption, wide, { size: 16, family: FILE_FONT }, 5)
  const before = 36 + top.length * 34
  const room = { width: wide, height: height - before - 22 - under.length * 22 }
  const drawing = await paint(room)
  const scale = Math.min(room.width / drawing.width, room.height / drawing.height)
  const left = side + (room.width - scale * drawing.width) / 2
  const place = `translate(${left.toFixed(2)} ${before}) scale(${scale.toFixed(4)})`
  const line = (y, step, size, weight) => (text, i) =>
    svg`<text x=${side} y=${y + i * step} font-size=${size} font-weight=${weight} fill=${ink.text}
      font-family=${FILE_FONT} xml:space="preserve" style="white-space: pre">${text}</text>`
  // Only what is in the page has places of letters.
  const stage = document.createElement("div")
  stage.style.cssText = "position: absolute; left: -9999px; top: 0; visibility: hidden"
  document.body.append(stage)
  render(
    html`<svg width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img"
      aria-label=${title}
      ><title>${title}</title><desc>${caption}</desc>
      <rect width=${width} height=${height} fill=${ink.paper}></rect>
      ${top.map(line(50, 34, 28, 600))}<g transform=${place}>${drawing.node}</g>
      ${under.map(line(height - 14 - (under.length - 1) * 22, 22, 16, 400))}
    </svg>`,
    stage,
  )
  const sheet = stage.querySelector("svg")
  outline(sheet, figureFont)
  stage.remove()
  const comments = document.createNodeIterator(sheet, NodeFilter.SHOW_COMMENT)
  for (let node = comments.nextNode(); node; node = comments.nextNode()) node.remove()
  return sheet
}

const save = (blob, name) => {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

const asImage = async (text) => {
  const image = new Image(SLIDE.width, SLIDE.height)
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`
  await image.decode()
  const canvas = new OffscreenCanvas(SLIDE.scale * SLIDE.width, SLIDE.scale * SLIDE.height)
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
  return canvas.convertToBlob()
}

const ICON = "M8 1.5v8M4.8 6.7 8 9.9l3.2-3.2M2 11v3h12v-3"
const KINDS = {
  SVG: "SVG, for slides and print",
  PNG: `PNG, ${SLIDE.scale * SLIDE.width} × ${SLIDE.scale * SLIDE.height}`,
  CSV: "CSV, the data, safe for spreadsheets",
}

// The menu of one chart; `paint` as in `sheetOf`.
export const exportMenu = (file, paint) => {
  const write = async (kind) => {
    const name = file.name.replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    const saveAs = (blob) => save(blob, `seedlens-${name}.${kind.toLowerCase()}`)
    if (kind === "CSV") return saveAs(new Blob([file.csv], { type: "text/csv" }))
    const text = new XMLSerializer().serializeToString(await sheetOf(file, paint))
    saveAs(kind === "SVG" ? new Blob([text], { type: "image/svg+xml" }) : await asImage(text))
  }
  const download = async (kind, panel) => {
    const status = panel.querySelector(".status")
    status.textContent = "Creating the file…"
    try {
      await write(kind)
      panel.hidePopover()
      status.textContent = ""
    } catch (error) {
      status.textContent = `Export failed. Reload the page and try again. (${error.message})`
    }
  }
  const choice = ([kind, words]) =>
    button("file", words, `Download ${file.name} as ${kind}`, ({ currentTarget }) =>
      download(kind, currentTarget.parentNode),
    )
  const place = ({ newState, target }) => {
    if (newState !== "open") return
    const { bottom, right } = target.previousElementSibling.getBoundingClientRect()
    target.style.top = `${Math.min(bottom + 4, innerHeight - 150)}px` // within the window
    target.style.right = `${Math.max(8, document.documentElement.clientWidth - right)}px`
  }
  const label = `Export chart: ${file.name}`
  return html`<div class="bar">
    <button class="menu" popovertarget="files" title=${label} aria-label=${label}
      >${icon(ICON)}Export chart</button>
    <div class="files" id="files" popover @beforetoggle=${place}>
      ${Object.entries(KINDS).map(choice)}
      <div class="status" role="status"></div>
    </div>
  </div>`
}
