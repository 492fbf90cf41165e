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

const chip = (cls, text, title) => {
  const node = make("span", `move ${cls}`, text)
  node.title = title
  return node
}

// Where a model has ranked, the moves are against the ranking without it.
const modelMovement = ({ move, rank }) => {
  if (!move) return chip("new", "new", "Not in the ranking without the model")
  if (!move.read) return chip("", "not read", "Beyond the documents that the model read")
  const sure = move.sure === null ? "" : `; ${Math.round(100 * move.sure)} % sure ${rank <= 20 ? "to belong in" : "not to belong in"} the top 20`
  const from = `It was ${move.from} without it${sure}`
  if (move.by > 0) return chip("up", `↑ ${move.by}`, `Moved up ${move.by} by the model. ${from}`)
  if (move.by < 0) return chip("down", `↓ ${-move.by}`, `Moved down ${-move.by} by the model. ${from}`)
  return chip("", "=", `Same rank as without the model${sure}`)
}

const movement = (result, reads) => {
  if (result.by_model) return modelMovement(result)
  if (!reads) return null
  const change = result.rank_change
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

// A date, an amount or a place that answers the query, and what it follows from.
const factNode = (fact) => {
  const node = make("div", `fact ${fact.kind}`)
  node.title = `Answers "${fact.asked}". ${Math.round(100 * fact.sure)} % of the facts got in this way are right.`
  node.append(make("span", "tag", fact.kind), make("strong", "text", fact.text), make("span", "text how", fact.how))
  if (fact.generated) node.append(make("span", "tag", "generated"))
  return node
}

const SOURCES = {
  generated: ["generated", "A language model wrote this when the corpus was prepared; it may be wrong about the document"],
  distilled: ["generated", "A small model wrote this when the corpus was prepared; it may be wrong about the document"],
  extractive: ["extract", "Made from the document's own sentences, by rule"],
}

// What the document may be of use for: the scenario that was nearest to the query.
const scenarioNode = (scenario) => {
  const node = make("div", "scenario")
  const [word, title] = SOURCES[scenario.source]
  const tag = make("span", "tag", scenario.model ? `${word} by ${scenario.model}` : word)
  tag.title = title
  const said = make("span")
  said.append(make("span", "text", scenario.need), " ", tag)
  const need = make("div", "need")
  need.append(make("span", "who", "need"), said)
  const why = make("div", "why")
  why.append(make("span", "who", "why"), make("span", "text", scenario.why))
  node.append(need, why)
  node.title = `A need that this document meets, and why. Cosine of query and scenario: ${scenario.score.toFixed(2)}`
  return node
}

const unfolded = (result) => {
  const node = make("div")
  for (const pair of result.evidence.slice(1)) node.append(pairNode(pair))
  if (result.explanation) node.append(make("div", "why text", result.explanation))
  const abstract = make("div", "abstract")
  result.sentences.forEach((sentence, i) => {
    const row = make("div", `line ${roleClass(sentence.role)}`)
    row.append(make("span", "letter", sentence.letter), marked(sentence.text, result.fact_marks[i] ?? []))
    abstract.append(row)
  })
  node.append(abstract)
  return node
}

const quotes = (who, texts) => {
  const row = make("div", "quotes")
  row.append(make("span", "who", who))
  const list = make("span", "text")
  for (const text of texts) list.append(make("q", "text", text))
  row.append(list)
  return row
}

const explained = (words) => {
  const nodes = [make("p", "text", words.text)]
  if (!words.similar) nodes.unshift(make("p", "", "The model finds the two not similar in this:"))
  if (words.seed_quotes.length) nodes.push(quotes("seed", words.seed_quotes))
  if (words.document_quotes.length) nodes.push(quotes("this", words.document_quotes))
  nodes.push(make("p", "small", words.checked))
  return nodes
}

// A line in which backticks stand around code.
const instruction = (text) => {
  const node = make("p", "text")
  text.split("`").forEach((part, i) => node.append(i % 2 ? make("code", "", part) : document.createTextNode(part)))
  return node
}

// What a model wrote about a result: never to be taken for the document's own words.
const generatedNode = (result, words, state, redraw) => {
  const node = make("section", `generated ${words.state}`)
  node.setAttribute("aria-label", `Generated explanation of ${result.title}`)
  node.setAttribute("aria-live", "polite")
  const head = make("div", "head")
  head.append(make("span", "tag text", words.title))
  const hide = button("plain", "hide", null, () => {
    state.hidden.add(result.doc_id)
    redraw()
  })
  hide.dataset.key = `hide-${result.doc_id}`
  if (words.state !== "asking") head.append(hide)
  node.append(head)
  if (words.state === "done") node.append(...explained(words))
  else for (const line of words.lines) node.append(words.state === "connect" ? instruction(line) : make("p", "text", line))
  return node
}

const actions = (result, data, state, redraw, send) => {
  const bar = make("div", "bar")
  const grades = make("span", "grades")
  grades.setAttribute("role", "group")
  grades.setAttribute("aria-label", `Grade ${result.title}`)
  data.grades.forEach(([grade, meaning]) => {
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
  const why = button("plain", open ? "less" : "Details", null, () => {
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
  const words = data.generated[result.doc_id]
  const asking = words?.state === "asking"
  const explain = button("plain", "explain with the model", null, () => {
    state.hidden.delete(result.doc_id)
    if (words?.state === "done") return redraw()
    send("explain", { doc_id: result.doc_id })
  })
  explain.title = "Ask the model why this is similar: one question, answered here"
  explain.disabled = asking
  explain.dataset.key = `explain-${result.doc_id}`
  bar.append(grades, seed, keep, why, explain)
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
  for (const fact of result.facts) body.append(factNode(fact))
  if (result.scenario) body.append(scenarioNode(result.scenario))
  if (result.evidence.length) body.append(pairNode(result.evidence[0]))
  if (state.open.has(result.doc_id)) body.append(unfolded(result))
  const words = data.generated[result.doc_id]
  if (words && !state.hidden.has(result.doc_id)) body.append(generatedNode(result, words, state, redraw))
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
    hidden: before?.search === data.search ? before.hidden : new Set(),
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
  // Another page of results is read from its top: what was clicked stands below it.
  const first = data.results[0]?.rank
  if (before && before.first !== first) root.scrollIntoView({ block: "start" })
  state.first = first
}
