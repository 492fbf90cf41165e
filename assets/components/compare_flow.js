// The rank flow: one line a document through the variants' rankings. Pointing at a line follows
// it, a click opens its evidence; the keyboard walks the lines with the arrow keys.
import { component, html, nothing, render, svg } from "./base.js"
import { cut, exportMenu, FILE_FONT, widthOf, wrap } from "./figure.js"

const ROW = 24
const NAME_LINES = { page: 5, file: 8 }
const MANY = 5 // wordings: from here on, a narrow window scrolls rather than leaves names out
const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }

const gradeOf = (grade) => (grade === null ? "unjudged" : `grade ${grade}`)

const isJudged = ({ lines }) => lines.some(({ grade }) => grade !== null)

const ranksOf = ({ ranks, grade }, data) => {
  const words = data.columns.map(({ label }, i) => `${label} ${ranks[i] ?? "–"}`)
  return [...words, ...(isJudged(data) ? [gradeOf(grade)] : [])].join(" · ")
}

// Widths of names at both ends where there is room, and where the variants stand between them.
const layout = (data, width, family, most) => {
  const { columns, depth, lines } = data
  const count = columns.length
  const both = count > 1 && (count >= MANY || width >= 560)
  const share = count > 6 ? 0.22 : 0.26
  const before = both ? width * share : 0
  const narrow = Math.min(380, Math.max(130, width * 0.38))
  const labels = count < 2 ? width - 90 : both ? width * (share + 0.02) : narrow
  const left = before + 34
  const right = width - labels
  const step = count > 1 ? (right - left - 20) / (count - 1) : 0
  const room = count > 1 ? step - 8 : 200
  const bold = { size: 12.5, weight: 600, family }
  // Names break between words and at hyphens; within a word only where smaller letters do not help.
  const parts = columns.flatMap(({ name }) => name.match(/[^\s-]+-?/gu) ?? [])
  const longest = Math.max(1, ...parts.map((part) => widthOf(part, bold)))
  const size = Math.max(9.5, Math.min(12.5, (12.5 * room) / longest))
  const heads = columns.map(({ name, system }, i) => {
    const own = i || both ? room : room * 0.75
    const words = wrap(name, own, { ...bold, size }, most)
    return { name: words, system: cut(system, own, { size: 11, family }) }
  })
  const head = 15 * Math.max(...heads.map(({ name }) => name.length)) + 16
  const top = head + 14
  const bottom = top + depth * ROW + 14
  const shortest = Math.min(labels - 16, both ? before - 6 : Infinity)
  return {
    ...{ size, labels, before, left, right, step, heads, head, top, bottom, family, both },
    whole: lines.every(({ title }) => widthOf(title, bold) <= shortest),
    height: bottom + 16 + 22 * Number(isJudged(data)),
    x: (i) => left + 20 + i * step,
    y: (rank) => (rank !== null && rank <= depth ? top + (rank - 0.5) * ROW : bottom),
  }
}

// Pieces between neighbouring variants; where both are beyond the depth there is nothing to see.
const course = ({ ranks }, depth, at) => {
  const inside = (rank) => rank !== null && rank <= depth
  const piece = (a, i) => {
    const b = ranks[i + 1]
    if (i + 1 === ranks.length || (!inside(a) && !inside(b))) return ""
    let [x0, y0, x1, y1] = [at.x(i), at.y(a), at.x(i + 1), at.y(b)]
    const bend = (x1 - x0) * 0.45
    // Who leaves turns down to its own place on the bottom edge, the lower the sooner, so that
    // those who leave do not cross; who comes in likewise.
    const turn = (rank) => at.step * (0.48 - (0.4 * rank) / depth)
    if (!inside(b)) return `M${x0},${y0}Q${x0 + turn(a)},${y0} ${x0 + turn(a)},${y1}`
    if (!inside(a)) return `M${x1 - turn(b)},${y0}Q${x1 - turn(b)},${y1} ${x1},${y1}`
    return `M${x0},${y0}C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}`
  }
  return ranks.map(piece).join("")
}

const frame = ({ columns, depth }, at, ink) => {
  const words = (text, x, y, size, more = {}) =>
    svg`<text x=${x} y=${y} font-size=${size} fill=${ink.text}
      text-anchor=${more.anchor ?? "start"} font-weight=${more.weight ?? nothing}>${text}</text>`
  const column = ({ name, wording }, i) => {
    const [x, anchor] = i || at.both ? [at.x(i), "middle"] : [at.x(i) - 8, "start"]
    const head = at.heads[i]
    const first = at.head - 16 - 15 * (head.name.length - 1)
    const line = (text, row) => words(text, x, first + 15 * row, at.size, { anchor, weight: 600 })
    return svg`<g><title>${name}: ${wording || "no instruction"}</title>${head.name.map(line)}</g>
      ${words(head.system, x, at.head, 11, { anchor })}
      <line x1=${at.x(i)} x2=${at.x(i)} y1=${at.top - 6} y2=${at.bottom - 4}
        stroke=${ink.faint}></line>`
  }
  const ranks = Array.from({ length: depth }, (_, i) =>
    words(i + 1, at.left - 8, at.y(i + 1) + 4, 12, { anchor: "end" }),
  )
  const edge = svg`<line x1=${at.left} x2=${at.right} y1=${at.bottom} y2=${at.bottom}
      stroke=${ink.unjudged} stroke-dasharray="2 3"></line>
    ${words(`beyond rank ${depth}`, at.right + 12, at.bottom + 4, 11)}`
  return [columns.map(column), ranks, columns.length > 1 ? edge : ""]
}

// Where nobody judged anything, who moves much is drawn darker: the eye follows what moves.
const look = ({ grade, moved }, ink) => {
  const graded = Object.keys(ink.grades).length
  const unjudged = { colour: ink.unjudged, width: 1.3, dash: "1.5 3" }
  const plain = graded ? unjudged : { colour: ink.text, width: 1.4 }
  return { opacity: graded ? 1 : 0.4 + 0.5 * moved, ...(ink.grades[grade] ?? plain) }
}

// What the lines' colours, widths and dashes mean, as far as they are there.
const legend = (data, at, ink) => {
  if (!isJudged(data)) return ""
  const grades = new Set(data.lines.map(({ grade }) => grade))
  const y = at.height - 8
  let x = at.before ? 8 : 4
  return [...grades]
    .sort((a, b) => (b ?? -9) - (a ?? -9))
    .map((grade) => {
      const { colour, width, dash } = look({ grade }, ink)
      const from = x
      x += 58 + widthOf(gradeOf(grade), { size: 11.5, family: at.family })
      return svg`<line x1=${from} x2=${from + 30} y1=${y - 4} y2=${y - 4} stroke=${colour}
          stroke-width=${width} stroke-dasharray=${dash || "none"}></line>
        <text x=${from + 36} y=${y} font-size="11.5" fill=${ink.text}>${gradeOf(grade)}</text>`
    })
}

// A title at one end of a line: all of them on one row, or all in smaller letters on up to two.
const titleOf = (title, x, y, anchor, pixels, at, style) => {
  const size = at.whole ? 12.5 : 10.5
  const rows = at.whole ? [title] : wrap(title, pixels, { size, weight: 600, family: at.family }, 2)
  const row = (text, i) =>
    svg`<tspan x=${x} y=${rows.length < 2 ? y + 4 : y - 1.5 + 11 * i}>${text}</tspan>`
  return svg`<text class="label text" text-anchor=${anchor} font-size=${size} fill=${style.fill}
    font-weight=${style.weight}>${rows.map(row)}</text>`
}

// Args: on: whether the line is followed.
const lineOf = (line, data, at, ink, on) => {
  const { columns, depth } = data
  const { ranks, title } = line
  const path = course(line, depth, at)
  const { colour, width, dash, opacity } = look(line, ink)
  const [stroke, shown] = on ? [ink.accent, 1] : [colour, opacity]
  const isIn = (rank) => rank !== null && rank <= depth
  const spot = (rank, i) =>
    isIn(rank)
      ? svg`<circle class="spot" cx=${at.x(i)} cy=${at.y(rank)} r=${on ? 5.5 : 4} fill=${stroke}
          opacity=${shown}></circle>`
      : ""
  const style = on ? { fill: ink.accent, weight: 600 } : { fill: ink.text, weight: 400 }
  const [first, last] = [ranks[0], ranks.at(-1)]
  const end = at.x(columns.length - 1) + 12
  const name = (x, rank, anchor, pixels) => titleOf(title, x, at.y(rank), anchor, pixels, at, style)
  return svg`<path class="hit" d=${path} fill="none" stroke="transparent" stroke-width="12"></path>
    <path class="stroke" d=${path} fill="none" stroke=${stroke} stroke-width=${on ? 4.4 : width}
      stroke-dasharray=${dash || "none"} opacity=${shown}></path>
    ${ranks.map(spot)}
    ${at.both && isIn(first) ? name(at.before, first, "end", at.before - 6) : ""}
    ${isIn(last) ? name(end, last, "start", at.labels - 16) : ""}
    <title>${title}\n${ranksOf(line, data)}</title>`
}

// Args: lines: templates of the lines; label: what it is, to screen readers.
const picture = (data, at, width, ink, lines, label) =>
  html`<svg width=${width} height=${at.height} viewBox="0 0 ${width} ${at.height}" role="group"
    aria-label=${label} font-family=${at.family} style="white-space: pre"
    >${frame(data, at, ink)}<g class="lines">${lines}</g>${legend(data, at, ink)}</svg>`

// For a file: as wide as the slide leaves room beside the height that so many ranks need.
const paintFile = (data) => async (room) => {
  const ink = data.file_ink
  const high = layout(data, 1.1 * room.width, FILE_FONT, NAME_LINES.file).height
  const width = Math.round((room.width / room.height) * high)
  const at = layout(data, width, FILE_FONT, NAME_LINES.file)
  const lines = data.lines.map((line) => svg`<g>${lineOf(line, data, at, ink, false)}</g>`)
  const stage = document.createElement("div")
  render(picture(data, at, width, ink, lines, "Ranks"), stage)
  for (const part of stage.querySelectorAll(".hit, title")) part.remove()
  return { node: stage.firstElementChild, width, height: at.height }
}

export default component(({ data, root, state, send, dark }) => {
  const { columns, inks, lines, selected } = data
  const ink = inks[Number(dark)]
  let [followed, at, width] = [null, null, 0]
  state.stop = Math.max(0, Math.min(state.stop ?? 0, lines.length - 1)) // the line that Tab goes to

  const follow = (doc_id) => {
    followed = doc_id
    redraw()
  }

  const walk = (event, index) => {
    const step = STEPS[event.key]
    if (event.key === "Enter" || event.key === " ") send("open", { doc_id: lines[index].doc_id })
    else if (step) {
      state.stop = (index + step + lines.length) % lines.length
      redraw()
      root.querySelectorAll(".lines > g")[state.stop].focus({ preventScroll: true })
    } else return
    event.preventDefault()
  }

  const lineNode = (line, index) => {
    const { doc_id, title } = line
    const [on, off] = [() => follow(doc_id), () => follow(null)]
    const isOn = doc_id === selected || doc_id === followed
    return svg`<g data-doc=${doc_id} role="button" tabindex=${index === state.stop ? 0 : -1}
      aria-pressed=${doc_id === selected} aria-label="${title}. Ranks: ${ranksOf(line, data)}"
      @pointerenter=${on} @pointerleave=${off} @focus=${on} @blur=${off}
      @click=${() => send("open", { doc_id })} @keydown=${(event) => walk(event, index)}
      >${lineOf(line, data, at, ink, isOn)}</g>`
  }

  const redraw = () => {
    const line = lines.find(({ doc_id }) => doc_id === (followed ?? selected))
    const words = line
      ? html`<span class="title text">${line.title}</span>
          <span class="ranks text">${ranksOf(line, data)}</span>`
      : html`<span class="hint"
          >Point at a line to follow it. Click it for the evidence per variant.</span
        >`
    const label = `Ranks of ${lines.length} documents across ${columns.length} variants`
    const menu = exportMenu({ ...data, ink: data.file_ink }, paintFile(data))
    render(
      html`${data.plain ? "" : html`<div class="flowtop"><div class="status">${words}</div>${menu}</div>`}
        <div class="scroll">${picture(data, at, width, ink, lines.map(lineNode), label)}</div>`,
      root,
    )
  }

  const measure = () => {
    const own = Math.floor(root.clientWidth)
    if (Math.abs(own - state.width) <= 2 && at) return
    state.width = own
    width = Math.max(columns.length < MANY ? 320 : 300 + 56 * columns.length, own)
    at = layout(data, width, getComputedStyle(root).fontFamily, NAME_LINES.page)
    redraw()
  }
  measure()
  const observer = new ResizeObserver(measure)
  observer.observe(root)
  return () => observer.disconnect()
})
