// The ranked list, as cards or as a table. Everything that only unfolds happens here; what changes
// the search or the ledger goes to Python as an event.
import { button, component, html, render, repeat } from "./base.js"
import { isForPage } from "./keys.js"
import { bodyOf, movement, titleOf } from "./results_parts.js"
import { byId, inOrder, orderOf, tableOf } from "./results_table.js"

// The list that is on the page; "seedlens-results" tells when it comes or goes.
export let shownRoot = null

const announce = (root) => {
  shownRoot = root
  document.dispatchEvent(new Event("seedlens-results"))
}

export const toResults = () => shownRoot?.querySelector("button.title")?.focus()

// One page of results, and what a click or a key does to it.
class ResultPage {
  constructor({ data, root, parent, state, post }) {
    if (state.search !== data.search) {
      const none = { open: new Set(), whole: new Set(), hidden: new Set(), at: null }
      Object.assign(state, { search: data.search, ...none })
    }
    Object.assign(this, { data, root, parent, state, post, layout: data.layout, status: "" })
    this.order = orderOf(data.sort)
    this.grades = new Map(data.graded)
    this.kept = new Set(data.kept)
    this.generated = new Map(data.generated)
    root.sent.forEach((event) => this.foresee(event))
  }

  // In the order in which they are seen.
  get results() {
    return this.layout === "table" ? inOrder(this) : this.data.results
  }

  get current() {
    return this.data.results.find(({ doc_id }) => doc_id === this.state.at)
  }

  redraw() {
    const cards = () => repeat(this.results, byId, (result) => card(result, this))
    const list = this.layout === "table" ? tableOf(this) : cards()
    const status = html`<div class="unseen" role="status">${this.status}</div>`
    render(html`${head(this)}<div class="list">${list}</div>${status}`, this.root)
  }

  toggle(set, doc_id) {
    set.has(doc_id) ? set.delete(doc_id) : set.add(doc_id)
    this.redraw()
  }

  details({ doc_id }) {
    this.toggle(this.state.open, doc_id)
  }

  grade({ doc_id, rank }, grade) {
    const relevance = this.grades.get(doc_id) === grade ? null : grade
    this.status = relevance === null ? "Grade cleared" : `Graded ${relevance}`
    this.tell("grade", { doc_id, relevance, rank })
  }

  keep({ doc_id }) {
    const kept = !this.kept.has(doc_id)
    this.status = kept ? "Kept" : "Removed from the reading list"
    this.tell("keep", { doc_id, kept })
  }

  tell(name, event) {
    this.foresee({ name, ...event })
    this.redraw()
    this.post(name, event)
  }

  // Shows what is under way, which the data does not have yet.
  foresee({ name, doc_id, kept, relevance }) {
    if (name === "keep") kept ? this.kept.add(doc_id) : this.kept.delete(doc_id)
    if (name !== "grade") return
    relevance === null ? this.grades.delete(doc_id) : this.grades.set(doc_id, relevance)
  }

  explain({ doc_id }) {
    this.state.hidden.delete(doc_id)
    if (this.generated.get(doc_id)?.state === "done") this.redraw()
    else this.post("explain", { doc_id })
  }

  sort(column, down) {
    this.order = { column, down }
    this.redraw()
    this.post("sort", { sort: (down ? "-" : "") + column })
  }

  show(layout) {
    this.layout = layout
    this.redraw()
    this.post("layout", { layout })
  }

  // To the next result or the one before; to the first where there is none yet. What has the
  // focus is the current result.
  step(by) {
    const ids = this.results.map(({ doc_id }) => doc_id)
    const index = ids.indexOf(this.state.at)
    const id = ids[index < 0 ? 0 : Math.min(ids.length - 1, Math.max(0, index + by))]
    const node = this.root.querySelector(`[data-doc="${CSS.escape(id)}"]`)
    node?.querySelector(".title").focus({ preventScroll: true })
    node?.scrollIntoView({ block: "nearest" })
  }

  focused(event) {
    const id = event.target.closest?.("[data-doc]")?.dataset.doc
    if (id === undefined || id === this.state.at) return
    this.state.at = id
    this.redraw()
  }

  pressed(event) {
    if (!isForPage(event)) return
    const does = this.actionOf(event)
    if (!does) return
    event.preventDefault()
    const walks = ["j", "k"].includes(event.key.toLowerCase())
    if (!event.repeat || walks) does()
  }

  // Keys that need no result are in help.js.
  actionOf(event) {
    const { current } = this
    const grade = current && this.data.grades.find(([value]) => String(value) === event.key)
    if (grade) return () => this.grade(current, grade[0])
    // Enter on a button or a link is its own.
    const taking = "a, button, summary, [role=button], [role=slider], [role=tab]"
    const taken = event.composedPath()[0]?.closest?.(taking)
    const actions = new Map([
      ["j", () => this.step(1)],
      ["k", () => this.step(-1)],
      ["x", current && (() => this.keep(current))],
      ["enter", current && !taken && (() => this.details(current))],
    ])
    return actions.get(event.key.toLowerCase())
  }
}

const card = (result, page) => html`
  <article class=${page.state.at === result.doc_id ? "current" : ""} data-doc=${result.doc_id}>
    <div class="top">
      <span class="rank">${result.rank}</span>
      <h3>${titleOf(result, page)}</h3>
      ${movement(result, page.data.reads_aspect)}
    </div>
    ${bodyOf(result, page)}
  </article>
`

const head = (page) => {
  const choice = (layout, words) =>
    button("", words, null, () => page.show(layout), { pressed: page.layout === layout })
  return html`<div class="listhead">
    <h2>Results</h2>
    <span class="joined" role="group" aria-label="Show results as">
      ${choice("cards", "Cards")}${choice("table", "Table")}
    </span>
  </div>`
}

export default component((drawn) => {
  const { data, on, root, state } = drawn
  const page = new ResultPage(drawn)
  page.redraw()
  on(document, "keydown", (event) => page.pressed(event))
  on(root, "focusin", (event) => page.focused(event))
  announce(root)
  // Another page of results is read from its top: what was clicked stands below it.
  const first = data.results[0]?.rank
  if ("first" in state && state.first !== first) root.scrollIntoView({ block: "start" })
  state.first = first
  return () => shownRoot === root && announce(null)
})
