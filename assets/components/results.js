// The ranked list, as cards or as a table. Everything that only unfolds happens here; what changes
// the search or the ledger goes to Python as a trigger.
const shownIn = new WeakMap()

// One page of results, and what a click or a key does to it.
class Shown {
  constructor(data, before, send, redraw) {
    const same = before?.data.search === data.search
    Object.assign(this, { data, send, redraw })
    this.open = same ? before.open : new Set()
    this.whole = same ? before.whole : new Set() // texts that are shown to their end
    this.hidden = same ? before.hidden : new Set()
    this.at = same ? before.at : null // the result that keys are about
    this.order = orderOf(data.sort)
    this.layout = data.layout
    this.grades = new Map(data.graded)
    this.kept = new Set(data.kept)
    this.generated = new Map(data.generated)
    this.said = "" // to those who do not see it change
  }

  // In the order in which they are seen.
  get results() {
    return this.layout === "table" ? inOrder(this.data.results, this.order, this.grades) : this.data.results
  }

  get current() {
    return this.data.results.find((result) => result.doc_id === this.at)
  }

  toggle(set, doc_id) {
    set.has(doc_id) ? set.delete(doc_id) : set.add(doc_id)
    this.redraw()
  }

  details(result) {
    this.toggle(this.open, result.doc_id)
  }

  grade(result, grade) {
    const given = this.grades.get(result.doc_id) === grade ? null : grade
    given === null ? this.grades.delete(result.doc_id) : this.grades.set(result.doc_id, given)
    this.said = given === null ? "Grade cleared" : `Graded ${given}`
    this.redraw()
    this.send("grade", { doc_id: result.doc_id, relevance: given, rank: result.rank })
  }

  keep(result) {
    const kept = !this.kept.has(result.doc_id)
    this.said = kept ? "Kept" : "Removed from the reading list"
    this.toggle(this.kept, result.doc_id)
    this.send("keep", { doc_id: result.doc_id, kept })
  }

  // Shows what was said and is under way, which the data does not have yet.
  foresee({ name, doc_id, kept, relevance }) {
    if (name === "keep") kept ? this.kept.add(doc_id) : this.kept.delete(doc_id)
    if (name === "grade") relevance === null ? this.grades.delete(doc_id) : this.grades.set(doc_id, relevance)
  }

  explain(result) {
    this.hidden.delete(result.doc_id)
    if (this.generated.get(result.doc_id)?.state === "done") this.redraw()
    else this.send("explain", { doc_id: result.doc_id })
  }

  sort(column, down) {
    this.order = { column, down }
    this.redraw()
    this.send("sort", { sort: (down ? "-" : "") + column })
  }

  show(layout) {
    this.layout = layout
    this.redraw()
    this.send("layout", { layout })
  }

  // The next result or the one before; the first where there is none yet.
  beside(by) {
    const ids = this.results.map((result) => result.doc_id)
    const index = ids.indexOf(this.at)
    return ids[index < 0 ? 0 : Math.min(ids.length - 1, Math.max(0, index + by))]
  }
}

const action = (cls, text, label, key, onclick) => {
  const node = button(cls, text, label, onclick)
  node.dataset.key = key
  return node
}

const gradeButtons = (result, shown) => {
  const grades = make("span", "grades")
  grades.setAttribute("role", "group")
  setLabel(grades, "Grade")
  for (const [grade, meaning] of shown.data.grades) {
    const node = action("", String(grade), `${grade}: ${meaning}`, `grade-${result.doc_id}-${grade}`, () => shown.grade(result, grade))
    node.setAttribute("aria-pressed", String(shown.grades.get(result.doc_id) === grade))
    grades.append(node)
  }
  return grades
}

const actions = (result, shown) => {
  const { doc_id, title } = result
  const bar = make("div", "bar")
  const seed = action("plain", "Use as seed", `Use “${title}” as seed`, `seed-${doc_id}`, () => shown.send("seed", { doc_id }))
  const kept = shown.kept.has(doc_id)
  const keep = action("plain", kept ? "Kept ✓" : "Keep", `Keep “${title}”`, `keep-${doc_id}`, () => shown.keep(result))
  keep.setAttribute("aria-pressed", String(kept))
  const open = shown.open.has(doc_id)
  const details = action("plain", open ? "Less" : "Details", `Details of “${title}”`, `why-${doc_id}`, () => shown.details(result))
  details.setAttribute("aria-expanded", String(open))
  const pair = action("plain", "Compare side by side", `Compare side by side: the seed and “${title}”`, `pair-${doc_id}`, () => shown.pair(result))
  pair.setAttribute("aria-haspopup", "dialog")
  bar.append(gradeButtons(result, shown), seed, keep, details, pair)
  if (shown.data.explains) {
    const explain = action("plain", "Explain with the model", `Explain with the model: “${title}”`, `explain-${doc_id}`, () => shown.explain(result))
    setTip(explain, "Ask the model why this is similar (one request)")
    explain.disabled = shown.generated.get(doc_id)?.state === "asking"
    bar.append(explain)
  }
  return toolbar(bar, `Actions for “${title}”`)
}

// The title unfolds the result, here and in the table.
const titleButton = (result, shown) => {
  const title = action("title text", result.title, null, `title-${result.doc_id}`, () => shown.details(result))
  title.setAttribute("aria-expanded", String(shown.open.has(result.doc_id)))
  return title
}

// All of a result but what stands in its first line.
const bodyNode = (result, shown) => {
  const body = make("div", "body")
  const meta = metaLine(result)
  if (meta) body.append(meta)
  for (const term of result.terms) body.append(termNode(term))
  for (const fact of result.facts) body.append(factNode(fact))
  if (result.scenario) body.append(scenarioNode(result.scenario))
  if (result.evidence.length) body.append(pairNode(result.evidence[0]))
  else if (result.explanation) body.append(make("div", "why text", result.explanation)) // that nothing stands out
  if (shown.open.has(result.doc_id)) body.append(unfolded(result, shown))
  const words = shown.generated.get(result.doc_id)
  if (words && !shown.hidden.has(result.doc_id)) body.append(generatedNode(result, words, shown))
  body.append(actions(result, shown))
  return body
}

const articleNode = (result, shown) => {
  const node = make("article", shown.at === result.doc_id ? "current" : "")
  node.dataset.doc = result.doc_id
  const top = make("div", "top")
  const heading = make("h3")
  heading.append(titleButton(result, shown))
  top.append(make("span", "rank", String(result.rank)), heading)
  top.append(movement(result, shown.data.reads_aspect) ?? make("span"))
  node.append(top, bodyNode(result, shown))
  return node
}

const headNode = (shown) => {
  const head = make("div", "listhead")
  const choice = make("span", "layouts")
  choice.setAttribute("role", "group")
  setLabel(choice, "Show results as")
  for (const [layout, name] of [["cards", "Cards"], ["table", "Table"]]) {
    const node = action("", name, null, `layout-${layout}`, () => shown.show(layout))
    node.setAttribute("aria-pressed", String(shown.layout === layout))
    choice.append(node)
  }
  head.append(make("h2", "", "Results"), choice)
  return head
}

const listNode = (shown) => {
  if (shown.layout === "table") return tableNode(shown)
  const list = make("div", "list")
  list.append(...shown.data.results.map((result) => articleNode(result, shown)))
  return list
}

// -- keys: those that need no result are in help.js ---------------------------------------------

// What has the focus is the current result: see onFocus.
const step = (by, shown, root) => {
  const title = root.querySelector(`[data-key="${CSS.escape(`title-${shown.beside(by)}`)}"]`)
  title?.focus({ preventScroll: true })
  title?.closest("[data-doc]").scrollIntoView({ block: "nearest" })
}

const actionOf = (event, shown, parent) => {
  const { current, data } = shown
  const root = parent.querySelector(".root")
  const grade = current && data.grades.find(([value]) => String(value) === event.key)
  if (grade) return () => shown.grade(current, grade[0])
  // Enter on a button or a link is its own.
  const own = event.composedPath()[0]?.closest?.("a, button, summary, [role=button], [role=slider], [role=tab]")
  const keys = {
    j: () => step(1, shown, root),
    k: () => step(-1, shown, root),
    x: current && (() => shown.keep(current)),
    enter: current && !own && (() => shown.details(current)),
  }
  return Object.hasOwn(keys, event.key.toLowerCase()) ? keys[event.key.toLowerCase()] : null
}

const pressed = (shown, parent) => (event) => {
  if (!isForPage(event)) return
  const does = actionOf(event, shown(), parent)
  if (!does) return
  event.preventDefault()
  const walks = ["j", "k"].includes(event.key.toLowerCase())
  if (!event.repeat || walks) does()
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  const send = outbox(root, data, setTriggerValue)
  const said = root.querySelector("[role=status]") ?? make("div", "unseen")
  said.setAttribute("role", "status")
  const redraw = () => {
    redrawn(root, focusKey(root), [headNode(shown), listNode(shown), said])
    said.textContent = withMarks(shown.said)
  }
  const before = shownIn.get(parentElement)
  const shown = new Shown(data, before, send, redraw)
  root.sent.forEach((event) => shown.foresee(event))
  shown.pair = (result) => showPair(parentElement, result, data)
  shownIn.set(parentElement, shown)
  redraw()

  const onKey = pressed(() => shownIn.get(parentElement), parentElement)
  const onFocus = (event) => {
    const doc = event.target.closest?.("[data-doc]")?.dataset.doc
    if (doc !== undefined && doc !== shown.at) {
      shown.at = doc
      for (const node of root.querySelectorAll("[data-doc]")) node.classList.toggle("current", node.dataset.doc === doc)
    }
  }
  globalThis.seedlensToResults = () => root.querySelector("button.title")?.focus()
  const announce = (node) => {
    globalThis.seedlensResults = node
    document.dispatchEvent(new Event("seedlens-results"))
  }
  root.seedlensStop?.()
  root.seedlensStop = () => {
    if (globalThis.seedlensResults === root) announce(undefined)
    document.removeEventListener("keydown", onKey)
    root.removeEventListener("focusin", onFocus)
  }
  announce(root)
  document.addEventListener("keydown", onKey)
  root.addEventListener("focusin", onFocus)
  // Another page of results is read from its top: what was clicked stands below it.
  if (before && before.data.results[0]?.rank !== data.results[0]?.rank) root.scrollIntoView({ block: "start" })
  return () => root.seedlensStop()
}
