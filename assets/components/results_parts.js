// What a result shows of itself: how it moved, evidence, facts, a model's words.
const LONGEST = 40 // sentences of a text that are shown at once

const chip = (cls, text, title) => {
  const node = make("span", `move ${cls}`, text)
  setTip(node, title)
  return node
}

// Where a model has ranked, the moves are against the ranking without it.
const modelMovement = ({ move, rank }) => {
  if (!move) return chip("new", "new", "Not in the original ranking")
  if (!move.read) return chip("", "not read", "Not reranked (below depth)")
  const sure = move.sure === null ? "" : `; ${Math.round(100 * move.sure)} % sure ${rank <= 20 ? "to belong in" : "not to belong in"} the top 20`
  const from = `Original rank: ${move.from}${sure}`
  if (move.by > 0) return chip("up", `↑ ${move.by}`, `Moved up ${move.by} by the model. ${from}`)
  if (move.by < 0) return chip("down", `↓ ${-move.by}`, `Moved down ${-move.by} by the model. ${from}`)
  return chip("", "=", `Same rank without the model${sure}`)
}

const movement = (result, reads) => {
  if (result.by_model) return modelMovement(result)
  if (!reads) return null
  const change = result.rank_change
  if (change === null) return chip("new", "new", "Not ranked without aspect and instruction")
  if (change > 0) return chip("up", `↑ ${change}`, `Moved up ${change} by aspect and instruction`)
  if (change < 0) return chip("down", `↓ ${-change}`, `Moved down ${-change} by aspect and instruction`)
  return chip("", "=", "Same rank without aspect and instruction")
}

const line = (letter, role, who, body) => {
  const row = make("div", `pair ${roleClass(role)}`)
  row.append(make("span", "letter", letter), make("span", "who", who), body)
  return row
}

const pairNode = (pair) => {
  const node = make("div")
  setTip(node, `Cosine of the two passages: ${pair.score.toFixed(2)}`)
  node.append(line(pair.seed_letter, pair.seed_role, "seed", marked(pair.seed_text, pair.seed_marks, "seedtext")))
  node.append(line(pair.letter, pair.role, "this", marked(pair.doc_text, pair.doc_marks)))
  return node
}

// Whether the document has a term of the wording, and the passage that has it.
const termNode = (term) => {
  const node = make("div", "term")
  const how = term.by_meaning ? `says something close to “${term.name}”` : `mentions “${term.name}”`
  if (!term.has) node.append(make("span", "text how", `does not mention “${term.name}”`))
  else if (term.text) node.append(line(term.letter, term.role, "term", marked(term.text, term.marks)))
  else node.append(make("span", "text how", `mentions “${term.name}” in the title`))
  setTip(node, `${term.has ? `This ${how}` : "No passage mentions it"}: ${Math.round(100 * term.sure)} % probable`)
  return node
}

// A date, an amount or a place that answers the query, and what it follows from.
const factNode = (fact) => {
  const node = make("div", `fact ${fact.kind}`)
  setTip(node, `Extracted for "${fact.asked}". Precision of this method: ${Math.round(100 * fact.sure)} %.`)
  node.append(make("span", "tag", fact.kind), make("strong", "text", fact.text), make("span", "text how", fact.how))
  if (fact.generated) node.append(make("span", "tag", "generated"))
  return node
}

const SOURCES = new Map(Object.entries({
  generated: ["generated", "Written by a language model when the corpus was prepared. May be wrong."],
  distilled: ["generated", "Written by a small model when the corpus was prepared. May be wrong."],
  extractive: ["extract", "Extracted from the document's sentences by rule"],
}))

// What the document may be of use for: the scenario that was nearest to the query.
const scenarioNode = (scenario) => {
  const node = make("div", "scenario")
  const [word, title] = SOURCES.get(scenario.source)
  const tag = make("span", "tag", scenario.model ? `${word} by ${scenario.model}` : word)
  setTip(tag, title)
  const said = make("span")
  said.append(make("span", "text", scenario.need), " ", tag)
  const need = make("div", "need")
  need.append(make("span", "who", "need"), said)
  const why = make("div", "why")
  why.append(make("span", "who", "why"), make("span", "text", scenario.why))
  node.append(need, why)
  setTip(node, `An information need that this document meets. Cosine with the query: ${scenario.score.toFixed(2)}`)
  return node
}

const sentenceLine = (sentence, marks) => {
  const row = make("div", `line ${roleClass(sentence.role)}`)
  row.append(make("span", "letter", sentence.letter), marked(sentence.text, marks ?? []))
  return row
}

const unfolded = (result, shown) => {
  const node = make("div")
  for (const pair of result.evidence.slice(1)) node.append(pairNode(pair))
  if (result.explanation && result.evidence.length) node.append(make("div", "why text", result.explanation))
  const abstract = make("div", "abstract")
  const rows = result.sentences.map((sentence, i) => sentenceLine(sentence, result.fact_marks[i]))
  abstract.append(...beginning(rows, LONGEST, shown.whole, result.doc_id, () => shown.redraw()))
  if (!rows.length) abstract.append(make("div", "", "Title only."))
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
  if (!words.similar) nodes.unshift(make("p", "", "Not similar, according to the model:"))
  if (words.seed_quotes.length) nodes.push(quotes("seed", words.seed_quotes))
  if (words.document_quotes.length) nodes.push(quotes("this", words.document_quotes))
  nodes.push(make("p", "small", words.checked))
  return nodes
}

// What a model wrote about a result: never to be taken for the document's own words.
const generatedNode = (result, words, shown) => {
  const node = make("section", `generated ${words.state}`)
  setLabel(node, `Generated explanation of ${result.title}`)
  node.setAttribute("aria-live", "polite")
  const head = make("div", "head")
  head.append(make("span", "tag text", words.title))
  const hide = button("plain", "hide", null, () => {
    shown.hidden.add(result.doc_id)
    shown.redraw()
  })
  hide.dataset.key = `hide-${result.doc_id}`
  if (words.state !== "asking") head.append(hide)
  node.append(head)
  if (words.state === "done") node.append(...explained(words))
  else for (const line of words.lines) node.append(make("p", "text", line))
  return node
}

