// The rank flow: one line a document through the variants' rankings. Pointing at a line follows
// it, a click opens its evidence; the keyboard walks the lines with the arrow keys.
const SVG = "http://www.w3.org/2000/svg"
const FONT = "Georgia, 'Iowan Old Style', 'Palatino Linotype', 'Times New Roman', serif"
const ROW = 24
const TOP = 46
const seen = new WeakMap()

const draw = (tag, attributes, text) => {
  const node = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  if (text !== undefined) node.textContent = text
  return node
}

const ruler = document.createElement("canvas").getContext("2d")

// What of a text fits into so many pixels.
const cut = (text, pixels, size, weight = 400) => {
  ruler.font = `${weight} ${size}px ${FONT}`
  if (ruler.measureText(text).width <= pixels) return text
  const points = Array.from(text)
  let [low, high] = [1, points.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (ruler.measureText(`${points.slice(0, middle).join("")}…`).width <= pixels) low = middle
    else high = middle - 1
  }
  return `${points.slice(0, low).join("").trimEnd()}…`
}

const told = (line, columns) =>
  columns.map((column, i) => `${column.name} ${line.ranks[i] ?? "–"}`).join(" · ")

const layout = (data, width) => {
  // Where there is room, the first ranking has its titles too.
  const both = width >= 720 && data.columns.length > 1 && data.columns.length < 5
  const alone = data.columns.length < 2
  const labels = alone ? width - 90 : both ? width * 0.3 : Math.min(380, Math.max(130, width * 0.38))
  const before = both ? width * 0.27 : 0
  const left = before + 34
  const right = width - labels
  const step = data.columns.length > 1 ? (right - left - 20) / (data.columns.length - 1) : 0
  const bottom = TOP + data.depth * ROW + 14
  return {
    labels, before, left, right, step, bottom, height: bottom + 16,
    x: (i) => left + 20 + (data.columns.length > 1 ? i * step : 0),
    y: (rank) => (rank !== null && rank <= data.depth ? TOP + (rank - 0.5) * ROW : bottom),
  }
}

// Pieces between neighbouring variants; where both are beyond the depth there is nothing to see.
const course = (line, depth, at) => {
  const inside = (rank) => rank !== null && rank <= depth
  let path = ""
  for (let i = 0; i + 1 < line.ranks.length; i += 1) {
    const [a, b] = [line.ranks[i], line.ranks[i + 1]]
    if (!inside(a) && !inside(b)) continue
    let [x0, y0, x1, y1] = [at.x(i), at.y(a), at.x(i + 1), at.y(b)]
    const bend = (x1 - x0) * 0.45
    // Who leaves turns down to its own place on the bottom edge, the lower the sooner, so that
    // those who leave do not cross; who comes in likewise.
    if (!inside(b)) {
      x1 = x0 + at.step * (0.48 - (0.4 * a) / depth)
      path += `M${x0},${y0}Q${x1},${y0} ${x1},${y1}`
    } else if (!inside(a)) {
      x0 = x1 - at.step * (0.48 - (0.4 * b) / depth)
      path += `M${x0},${y0}Q${x0},${y1} ${x1},${y1}`
    } else path += `M${x0},${y0}C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}`
  }
  return path
}

const frame = (svg, data, at, ink) => {
  data.columns.forEach((column, i) => {
    const x = at.x(i)
    const width = data.columns.length > 1 ? at.step - 8 : 200
    const head = draw("text", { x, y: 14, "text-anchor": i ? "middle" : "start", "font-size": 13, "font-weight": 600, fill: ink.text })
    if (!i) head.setAttribute("x", x - 8)
    head.append(cut(column.name, i ? width : width * 0.75, 13, 600))
    head.append(draw("title", {}, `${column.name}: ${column.wording || "no instruction"}`))
    const under = draw("text", { x: i ? x : x - 8, y: 30, "text-anchor": i ? "middle" : "start", "font-size": 11, fill: ink.text, opacity: 0.8 }, cut(column.system, width, 11))
    svg.append(head, under, draw("line", { x1: x, x2: x, y1: TOP - 6, y2: at.bottom - 4, stroke: ink.text, opacity: 0.12 }))
  })
  for (let rank = 1; rank <= data.depth; rank += 1) {
    svg.append(draw("text", { x: at.left - 8, y: at.y(rank) + 4, "text-anchor": "end", "font-size": 12, fill: ink.text, opacity: 0.8 }, String(rank)))
  }
  if (data.columns.length < 2) return
  svg.append(draw("line", { x1: at.left, x2: at.right, y1: at.bottom, y2: at.bottom, stroke: ink.text, opacity: 0.35, "stroke-dasharray": "2 3" }))
  svg.append(draw("text", { x: at.right + 12, y: at.bottom + 4, "font-size": 11, fill: ink.text, opacity: 0.8 }, `beyond rank ${data.depth}`))
}

const lineNode = (line, data, at, ink) => {
  const node = draw("g", { "data-doc": line.doc_id })
  const path = course(line, data.depth, at)
  // Who moves much is drawn darker: the eye follows what the wording did.
  const calm = 0.22 + 0.4 * line.moved
  const stroke = draw("path", { class: "stroke", d: path, fill: "none", stroke: ink.text, "stroke-width": 1.4, opacity: calm })
  node.append(draw("path", { class: "hit", d: path, fill: "none", stroke: "transparent", "stroke-width": 12 }), stroke)
  line.ranks.forEach((rank, i) => {
    if (rank === null || rank > data.depth) return
    node.append(draw("circle", { class: "spot", cx: at.x(i), cy: at.y(rank), r: 4, fill: ink.text, opacity: calm + 0.15 }))
  })
  const first = line.ranks[0]
  if (at.before && first !== null && first <= data.depth) {
    node.append(draw("text", { class: "label text", x: at.before, y: at.y(first) + 4, "text-anchor": "end", "font-size": 12.5, fill: ink.text, opacity: 0.9 }, cut(line.title, at.before - 6, 12.5, 700)))
  }
  const last = line.ranks.at(-1)
  if (last !== null && last <= data.depth) {
    const label = draw("text", { class: "label text", x: at.x(data.columns.length - 1) + 12, y: at.y(last) + 4, "font-size": 12.5, fill: ink.text, opacity: 0.9 }, cut(line.title, at.labels - 14, 12.5, 700))
    node.append(label)
  }
  node.append(draw("title", {}, `${line.title}\n${told(line, data.columns)}`))
  return node
}

const emphasise = (node, on, ink) => {
  for (const part of node.querySelectorAll(".stroke, .spot, .label")) {
    if (!part.dataset.calm) part.dataset.calm = part.getAttribute("opacity")
    part.setAttribute("opacity", on ? 1 : part.dataset.calm)
    if (part.classList.contains("stroke")) {
      part.setAttribute("stroke", on ? ink.accent : ink.text)
      part.setAttribute("stroke-width", on ? 3.2 : 1.4)
    } else part.setAttribute("fill", on ? ink.accent : ink.text)
    if (part.classList.contains("spot")) part.setAttribute("r", on ? 5.5 : 4)
    if (part.classList.contains("label")) part.setAttribute("font-weight", on ? 700 : 400)
  }
}

const picture = (data, width, ink) => {
  const at = layout(data, width)
  const svg = draw("svg", { xmlns: SVG, width, height: at.height, viewBox: `0 0 ${width} ${at.height}`, "font-family": FONT })
  frame(svg, data, at, ink)
  const lines = draw("g", { class: "lines" })
  for (const line of data.lines) lines.append(lineNode(line, data, at, ink))
  svg.append(lines)
  return svg
}

const save = (blob, name) => {
  const link = make("a")
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

const asFile = (svg, ink) => {
  const copy = svg.cloneNode(true)
  for (const hit of copy.querySelectorAll(".hit")) hit.remove()
  copy.prepend(draw("rect", { width: "100%", height: "100%", fill: ink.paper }))
  return new XMLSerializer().serializeToString(copy)
}

const saveImage = (svg, ink, kind) => {
  const text = asFile(svg, ink)
  const name = `rank-flow.${kind}`
  if (kind === "svg") return save(new Blob([text], { type: "image/svg+xml" }), name)
  const image = new Image()
  image.onload = () => {
    const canvas = make("canvas")
    canvas.width = 2 * Number(svg.getAttribute("width"))
    canvas.height = 2 * Number(svg.getAttribute("height"))
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
    canvas.toBlob((blob) => save(blob, name), "image/png")
  }
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`
}

const listen = (svg, data, ink, status, open) => {
  const nodes = [...svg.querySelectorAll(".lines > g")]
  const of = new Map(data.lines.map((line) => [line.doc_id, line]))
  let followed = null
  const follow = (node) => {
    if (followed && followed !== node && followed.dataset.doc !== data.selected) emphasise(followed, false, ink)
    followed = node
    const doc = node?.dataset.doc ?? data.selected
    if (node) emphasise(node, true, ink)
    const line = of.get(doc)
    status.replaceChildren()
    if (line) status.append(make("span", "title text", line.title), make("span", "ranks text", told(line, data.columns)))
    else status.append(make("span", "hint", "Point at a line to follow it; click it for its evidence under each wording."))
  }
  nodes.forEach((node, index) => {
    const line = of.get(node.dataset.doc)
    node.setAttribute("role", "button")
    node.setAttribute("aria-label", `${line.title}. Ranks: ${told(line, data.columns)}`)
    node.setAttribute("aria-pressed", String(line.doc_id === data.selected))
    node.setAttribute("tabindex", index ? "-1" : "0")
    node.dataset.key = `line-${line.doc_id}`
    node.onpointerenter = () => follow(node)
    node.onpointerleave = () => follow(null)
    node.onfocus = () => follow(node)
    node.onblur = () => follow(null)
    node.onclick = () => open(line.doc_id)
    node.onkeydown = (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key]
      if (event.key === "Enter" || event.key === " ") open(line.doc_id)
      else if (step) {
        const next = nodes[(index + step + nodes.length) % nodes.length]
        node.setAttribute("tabindex", "-1")
        next.setAttribute("tabindex", "0")
        next.focus({ preventScroll: true })
      } else return
      event.preventDefault()
    }
  })
  const chosen = nodes.find((node) => node.dataset.doc === data.selected)
  if (chosen) emphasise(chosen, true, ink)
  follow(null)
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  const state = seen.get(parentElement) ?? {}
  seen.set(parentElement, state)
  const text = JSON.stringify(data)
  if (state.text === text && root.querySelector("svg")) return
  state.text = text

  const show = () => {
    const width = Math.max(320, Math.floor(root.clientWidth))
    state.width = width
    const style = getComputedStyle(root)
    const ink = {
      text: style.color,
      accent: style.getPropertyValue("--st-primary-color").trim() || style.color,
      paper: style.getPropertyValue("--st-background-color").trim() || "#fff",
    }
    const svg = picture(data, width, ink)
    svg.setAttribute("role", "group")
    svg.setAttribute("aria-label", `Ranks of ${data.lines.length} documents across ${data.columns.length} variants`)
    const status = make("div", "status")
    const bar = make("div", "bar")
    for (const kind of ["svg", "png"]) {
      bar.append(button("plain", kind.toUpperCase(), `Download the rank flow as ${kind.toUpperCase()}`, () => saveImage(svg, ink, kind)))
    }
    const top = make("div", "flowtop")
    top.append(status, bar)
    redrawn(root, focusKey(root), [top, svg])
    listen(svg, data, ink, status, (doc_id) => setTriggerValue("open", { doc_id, at: Date.now() }))
  }
  show()
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => {
    if (Math.abs(Math.max(320, Math.floor(root.clientWidth)) - state.width) > 2) show()
  })
  state.observer.observe(root)
  return () => state.observer?.disconnect()
}
