// The ranked list. Everything that only unfolds happens here; what changes the search or the
// ledger goes to Python as a trigger.
const opened = new WeakMap()

// Text with some of its spans marked; offsets count code points, as Python's do.
const marked = (text, spans, cls) => {
  const node = make("span", `text ${cls ?? ""}`)
  const points = Array.from(text)
  let at = 0
  for (const [start, end] of spans) {
    if (start < at) continue
    node.append(document.createTextNode(points.slice(at, start).join("")))
    node.append(make("mark", "", points.slice(start, end).join("")))
    at = end
  }
  node.append(document.createTextNode(points.slice(at).join("")))
  return node
}

const movement = (result, reads) => {
  if (!reads) return null
  const change = result.rank_change
  const chip = (cls, text, title) => {
    const node = make("span", `move ${cls}`, text)
    node.title = title
    return node
  }
  if (change === null) return chip("new", "new", "Not among the documents ranked without the aspect")
  if (change > 0) return chip("up", `↑ ${change}`, `Moved up ${change} because of the aspect`)
  if (change < 0) return chip("down", `↓ ${-change}`, `Moved down ${-change} because of the aspect`)
  return chip("", "=", "Same rank as without the aspect")
}

const line = (letter, role, who, body) => {
  const row = make("div", `pair ${roleClass(role)}`)
  row.append(make("span", "letter", letter), make("span", "who", who), body)
  return row
}

const pairNode = (pair) => {
  const node = make("div")
  node.title = `Cosine of the two passages: ${pair.score.toFixed(2)}`
  node.append(line(pair.seed_letter, pair.seed_role, "seed", marked(pair.seed_text, pair.seed_marks, "seedtext")))
  node.append(line(pair.letter, pair.role, "this", marked(pair.doc_text, pair.doc_marks)))
  return node
}

const unfolded = (result) => {
  const node = make("div")
  for (const pair of result.evidence.slice(1)) node.append(pairNode(pair))
  if (result.explanation) node.append(make("div", "why text", result.explanation))
  const abstract = make("div", "abstract")
  for (const sentence of result.sentences) {
    const row = make("div", `line ${roleClass(sentence.role)}`)
    row.append(make("span", "letter", sentence.letter), make("span", "text", sentence.text))
    abstract.append(row)
  }
  node.append(abstract)
  return node
}

const actions = (result, data, state, redraw, send) => {
  const bar = make("div", "bar")
  const grades = make("span", "grades")
  grades.setAttribute("role", "group")
  grades.setAttribute("aria-label", `Grade ${result.title}`)
  data.grades.forEach((meaning, grade) => {
    const on = state.grades.get(result.doc_id) === grade
    const node = button("", String(grade), `${grade}: ${meaning}`, () => {
      state.grades.set(result.doc_id, on ? undefined : grade)
      redraw()
      send("grade", { doc_id: result.doc_id, relevance: on ? null : grade, rank: result.rank })
    })
    node.setAttribute("aria-pressed", String(on))
    node.dataset.key = `grade-${result.doc_id}-${grade}`
    grades.append(node)
  })
  const open = state.open.has(result.doc_id)
  const why = button("plain", open ? "less" : "why, and the whole text", null, () => {
    open ? state.open.delete(result.doc_id) : state.open.add(result.doc_id)
    redraw()
  })
  why.setAttribute("aria-expanded", String(open))
  why.dataset.key = `why-${result.doc_id}`
  const kept = state.kept.has(result.doc_id)
  const keep = button("plain", kept ? "kept ✓" : "keep", "Keep this document in the trail", () => {
    kept ? state.kept.delete(result.doc_id) : state.kept.add(result.doc_id)
    redraw()
    send("keep", { doc_id: result.doc_id, kept: !kept })
  })
  keep.setAttribute("aria-pressed", String(kept))
  keep.dataset.key = `keep-${result.doc_id}`
  const seed = button("plain", "use as seed", null, () => send("seed", { doc_id: result.doc_id }))
  seed.dataset.key = `seed-${result.doc_id}`
  bar.append(grades, seed, keep, why)
  return bar
}

const articleNode = (result, data, state, redraw, send) => {
  const node = make("article")
  node.dataset.doc = result.doc_id
  const top = make("div", "top")
  const title = button("title text", result.title, null, () => {
    state.open.has(result.doc_id) ? state.open.delete(result.doc_id) : state.open.add(result.doc_id)
    redraw()
  })
  title.setAttribute("aria-expanded", String(state.open.has(result.doc_id)))
  title.dataset.key = `title-${result.doc_id}`
  top.append(make("span", "rank", String(result.rank)), title)
  const chip = movement(result, data.reads_aspect)
  top.append(chip ?? make("span"))
  const body = make("div", "body")
  if (result.meta) body.append(make("div", "meta text", result.meta))
  if (result.evidence.length) body.append(pairNode(result.evidence[0]))
  if (state.open.has(result.doc_id)) body.append(unfolded(result))
  body.append(actions(result, data, state, redraw, send))
  node.append(top, body)
  return node
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  const before = opened.get(parentElement)
  const state = {
    search: data.search,
    open: before?.search === data.search ? before.open : new Set(),
    grades: new Map(Object.entries(data.graded)),
    kept: new Set(data.kept),
  }
  opened.set(parentElement, state)
  // Two equal triggers in a row are two events: a number that grows tells them apart.
  const send = (name, value) => setTriggerValue(name, { ...value, at: Date.now() })
  const redraw = () => {
    const list = make("div", "list")
    for (const result of data.results) list.append(articleNode(result, data, state, redraw, send))
    redrawn(root, focusKey(root), [list])
  }
  redraw()
}
