// The rank flow: one line a document through the variants' rankings. Pointing at a line follows
// it, a click opens its evidence; the keyboard walks the lines with the arrow keys.
const ROW = 24
const NAME_LINES = { page: 5, file: 8 }
const MANY = 5 // wordings: from here on, a narrow window scrolls rather than leaves names out
const seen = new WeakMap()

const gradeOf = (line) => (line.grade === null ? "unjudged" : `grade ${line.grade}`)

const isJudged = (data) => data.lines.some((line) => line.grade !== null)

const told = (line, data) => {
  const ranks = data.columns.map((column, i) => `${column.label} ${line.ranks[i] ?? "–"}`)
  return [...ranks, ...(isJudged(data) ? [gradeOf(line)] : [])].join(" · ")
}

// Widths of names at both ends where there is room, and where the variants stand between them.
const layout = (data, width, family, most) => {
  const count = data.columns.length
  const both = count > 1 && (count >= MANY || width >= 560)
  const share = count > 6 ? 0.22 : 0.26
  const labels = count < 2 ? width - 90 : both ? width * (share + 0.02) : Math.min(380, Math.max(130, width * 0.38))
  const before = both ? width * share : 0
  const left = before + 34
  const right = width - labels
  const step = count > 1 ? (right - left - 20) / (count - 1) : 0
  const room = count > 1 ? step - 8 : 200
  // Names break between words and at hyphens; within a word only where smaller letters do not help.
  const parts = data.columns.flatMap((column) => column.name.match(/[^\s-]+-?/gu) ?? [])
  const longest = Math.max(1, ...parts.map((part) => widthOf(part, { size: 12.5, weight: 600, family })))
  const size = Math.max(9.5, Math.min(12.5, (12.5 * room) / longest))
  const heads = data.columns.map((column, i) => {
    const own = i || both ? room : room * 0.75
    return {
      name: wrap(column.name, own, { size, weight: 600, family }, most),
      system: cut(column.system, own, { size: 11, family }),
    }
  })
  const head = 15 * Math.max(...heads.map((h) => h.name.length)) + 16
  const top = head + 14
  const bottom = top + data.depth * ROW + 14
  const shortest = Math.min(labels - 16, both ? before - 6 : Infinity)
  const whole = data.lines.every((line) => widthOf(line.title, { size: 12.5, weight: 600, family }) <= shortest)
  return {
    size, whole, labels, before, left, right, step, heads, head, top, bottom, family, both,
    height: bottom + 16 + 22 * Number(isJudged(data)),
    x: (i) => left + 20 + (count > 1 ? i * step : 0),
    y: (rank) => (rank !== null && rank <= data.depth ? top + (rank - 0.5) * ROW : bottom),
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
    const place = i || at.both ? { x, "text-anchor": "middle" } : { x: x - 8, "text-anchor": "start" }
    const { name, system } = at.heads[i]
    const first = at.head - 16 - 15 * (name.length - 1)
    name.forEach((text, row) => {
      const head = draw("text", { ...place, y: first + 15 * row, "font-size": at.size, "font-weight": 600, fill: ink.text }, text)
      head.append(draw("title", {}, `${column.name}: ${column.wording || "no instruction"}`))
      svg.append(head)
    })
    svg.append(
      draw("text", { ...place, y: at.head, "font-size": 11, fill: ink.text }, system),
      draw("line", { x1: x, x2: x, y1: at.top - 6, y2: at.bottom - 4, stroke: ink.faint }),
    )
  })
  for (let rank = 1; rank <= data.depth; rank += 1) {
    svg.append(draw("text", { x: at.left - 8, y: at.y(rank) + 4, "text-anchor": "end", "font-size": 12, fill: ink.text }, String(rank)))
  }
  if (data.columns.length < 2) return
  svg.append(draw("line", { x1: at.left, x2: at.right, y1: at.bottom, y2: at.bottom, stroke: ink.unjudged, "stroke-dasharray": "2 3" }))
  svg.append(draw("text", { x: at.right + 12, y: at.bottom + 4, "font-size": 11, fill: ink.text }, `beyond rank ${data.depth}`))
}

// What the lines' colours, widths and dashes mean, as far as they are there.
const legend = (svg, data, at, ink) => {
  if (!isJudged(data)) return
  const found = [...new Set(data.lines.map((line) => line.grade))].sort((a, b) => (b ?? -9) - (a ?? -9))
  const font = { size: 11.5, family: at.family }
  const y = at.height - 8
  let x = at.before ? 8 : 4
  for (const grade of found) {
    const words = gradeOf({ grade })
    svg.append(
      draw("line", { x1: x, x2: x + 30, y1: y - 4, y2: y - 4, ...look({ grade }, ink) }),
      draw("text", { x: x + 36, y, "font-size": font.size, fill: ink.text }, words),
    )
    x += 36 + widthOf(words, font) + 22
  }
}

// Where nobody judged anything, who moves much is drawn darker: the eye follows what moves.
const look = (line, ink) => {
  const graded = Object.keys(ink.grades).length
  const plain = graded ? { colour: ink.unjudged, width: 1.3, dash: "1.5 3" } : { colour: ink.text, width: 1.4 }
  const { colour, width, dash } = ink.grades[line.grade] ?? plain
  const opacity = graded ? 1 : 0.4 + 0.5 * line.moved
  return { stroke: colour, "stroke-width": width, "stroke-dasharray": dash || "none", opacity }
}

// A title at one end of a line: all of them on one row, or all in smaller letters on up to two.
const titleNode = (title, x, y, anchor, pixels, at, ink) => {
  const font = { size: at.whole ? 12.5 : 10.5, weight: 600, family: at.family }
  const rows = at.whole ? [title] : wrap(title, pixels, font, 2)
  const node = draw("text", { class: "label text", y, "text-anchor": anchor, "font-size": font.size, fill: ink.text })
  rows.forEach((text, i) => node.append(draw("tspan", { x, y: rows.length < 2 ? y + 4 : y - 1.5 + 11 * i }, text)))
  return node
}

const lineNode = (line, data, at, ink) => {
  const node = draw("g", { "data-doc": line.doc_id })
  const path = course(line, data.depth, at)
  const style = look(line, ink)
  const stroke = draw("path", { class: "stroke", d: path, fill: "none", "stroke-linecap": "butt", ...style })
  node.append(draw("path", { class: "hit", d: path, fill: "none", stroke: "transparent", "stroke-width": 12 }), stroke)
  line.ranks.forEach((rank, i) => {
    if (rank === null || rank > data.depth) return
    node.append(draw("circle", { class: "spot", cx: at.x(i), cy: at.y(rank), r: 4, fill: style.stroke, opacity: style.opacity }))
  })
  const [first, last] = [line.ranks[0], line.ranks.at(-1)]
  if (at.both && first !== null && first <= data.depth) {
    node.append(titleNode(line.title, at.before, at.y(first), "end", at.before - 6, at, ink))
  }
  if (last !== null && last <= data.depth) {
    node.append(titleNode(line.title, at.x(data.columns.length - 1) + 12, at.y(last), "start", at.labels - 16, at, ink))
  }
  node.append(draw("title", {}, `${line.title}\n${told(line, data)}`))
  return node
}

const emphasise = (node, line, on, ink) => {
  const style = look(line, ink)
  for (const part of node.querySelectorAll(".stroke, .spot, .label")) {
    const kind = part.classList[0]
    if (kind === "stroke") {
      part.setAttribute("stroke", on ? ink.accent : style.stroke)
      part.setAttribute("stroke-width", on ? 4.4 : style["stroke-width"])
    } else part.setAttribute("fill", on ? ink.accent : kind === "spot" ? style.stroke : ink.text)
    if (kind === "spot") part.setAttribute("r", on ? 5.5 : 4)
    if (kind !== "label") part.setAttribute("opacity", on ? 1 : style.opacity)
    else part.setAttribute("font-weight", on ? 600 : 400)
  }
}

const picture = (data, width, ink, family, most = NAME_LINES.page) => {
  const at = layout(data, width, family, most)
  const svg = draw("svg", { width, height: at.height, viewBox: `0 0 ${width} ${at.height}`, "font-family": family, style: "white-space: pre" })
  frame(svg, data, at, ink)
  const lines = draw("g", { class: "lines" })
  for (const line of data.lines) lines.append(lineNode(line, data, at, ink))
  svg.append(lines)
  legend(svg, data, at, ink)
  return svg
}

// For a file: as wide as the slide leaves room beside the height that so many ranks need.
const paintFile = (data) => async (room) => {
  const family = `"${FILE_FONT}"`
  const high = layout(data, 1.1 * room.width, family, NAME_LINES.file).height
  const width = Math.round((room.width / room.height) * high)
  const svg = picture(data, width, data.file_ink, family, NAME_LINES.file)
  for (const part of svg.querySelectorAll(".hit, title")) part.remove()
  return { node: svg, width, height: Number(svg.getAttribute("height")) }
}

const listen = (svg, data, ink, status, open) => {
  const nodes = [...svg.querySelectorAll(".lines > g")]
  const of = new Map(data.lines.map((line) => [line.doc_id, line]))
  let followed = null
  const follow = (node) => {
    if (followed && followed !== node && followed.dataset.doc !== data.selected) emphasise(followed, of.get(followed.dataset.doc), false, ink)
    followed = node
    const doc = node?.dataset.doc ?? data.selected
    if (node) emphasise(node, of.get(node.dataset.doc), true, ink)
    const line = of.get(doc)
    status.replaceChildren()
    if (line) status.append(make("span", "title text", line.title), make("span", "ranks text", told(line, data)))
    else status.append(make("span", "hint", "Point at a line to follow it. Click it for the evidence per variant."))
  }
  nodes.forEach((node, index) => {
    const line = of.get(node.dataset.doc)
    node.setAttribute("role", "button")
    setLabel(node, `${line.title}. Ranks: ${told(line, data)}`)
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
  if (chosen) emphasise(chosen, of.get(chosen.dataset.doc), true, ink)
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
    state.width = Math.floor(root.clientWidth)
    const count = data.columns.length
    const width = Math.max(count < MANY ? 320 : 300 + 56 * count, state.width)
    const svg = picture(data, width, data.ink, getComputedStyle(root).fontFamily)
    svg.setAttribute("role", "group")
    setLabel(svg, `Ranks of ${data.lines.length} documents across ${data.columns.length} variants`)
    const status = make("div", "status")
    const top = make("div", "flowtop")
    top.append(status, exportMenu({ ...data, ink: data.file_ink }, paintFile(data)))
    const scroll = make("div", "scroll")
    scroll.append(svg)
    redrawn(root, focusKey(root), data.plain ? [scroll] : [top, scroll])
    listen(svg, data, data.ink, status, (doc_id) => setTriggerValue("open", { doc_id, at: Date.now() }))
  }
  show()
  state.observer?.disconnect()
  state.observer = new ResizeObserver(() => {
    if (Math.abs(Math.floor(root.clientWidth) - state.width) > 2) show()
  })
  state.observer.observe(root)
  return () => state.observer?.disconnect()
}
