// What a result shows of itself: how it moved, evidence, facts, a model's words.
import {
  beginning, button, evidence, html, marked, metaLine, passage, roleClass, sentence, toolbar,
} from "./base.js"
import { showDialog } from "./keys.js"

const LONGEST = 40 // sentences of a text that are shown at once

// Where a model has ranked, the moves are against the ranking without it.
const modelMove = ({ move, rank }) => {
  if (!move) return ["new", "new", "Not in the original ranking"]
  if (!move.read) return ["", "not read", "Not reranked (below depth)"]
  const { by, from, sure } = move
  const belongs = rank <= 20 ? "to belong in" : "not to belong in"
  const how = sure === null ? "" : `; ${Math.round(100 * sure)} % sure ${belongs} the top 20`
  if (!by) return ["", "=", `Same rank without the model${how}`]
  return moved(by, `by the model. Original rank: ${from}${how}`)
}

const moved = (by, why) =>
  by > 0
    ? ["up", `↑ ${by}`, `Moved up ${by} ${why}`]
    : ["down", `↓ ${-by}`, `Moved down ${-by} ${why}`]

const aspectMove = ({ rank_change: by }) => {
  if (by === null) return ["new", "new", "Not ranked without aspect and instruction"]
  if (by) return moved(by, "by aspect and instruction")
  return ["", "=", "Same rank without aspect and instruction"]
}

export const movement = (result, reads) => {
  if (!result.by_model && !reads) return html`<span></span>`
  const [cls, words, title] = result.by_model ? modelMove(result) : aspectMove(result)
  return html`<span class="move ${cls}" title=${title}>${words}</span>`
}

// Whether the document has a term of the wording, and the passage that has it.
const termOf = ({ name, has, by_meaning, text, marks, letter, role, sure }) => {
  const how = by_meaning ? `says something close to “${name}”` : `mentions “${name}”`
  const what = has ? `This ${how}` : "No passage mentions it"
  const title = `${what}: ${Math.round(100 * sure)} % probable`
  const said = has ? `mentions “${name}” in the title` : `does not mention “${name}”`
  const words =
    has && text
      ? passage(letter, role, "term", marked(text, marks))
      : html`<span class="text how">${said}</span>`
  return html`<div class="term" title=${title}>${words}</div>`
}

// A date, an amount or a place that answers the query, and what it follows from.
const factOf = ({ kind, asked, sure, text, how, generated }) => {
  const precision = `Precision of this method: ${Math.round(100 * sure)} %.`
  return html`<div class="fact ${kind}" title='Extracted for "${asked}". ${precision}'>
    <span class="tag">${kind}</span><strong class="text">${text}</strong>
    <span class="text how">${how}</span>${generated ? html`<span class="tag">generated</span>` : ""}
  </div>`
}

const BY_MODEL = "when the corpus was prepared. May be wrong."
const SOURCES = {
  generated: ["generated", `Written by a language model ${BY_MODEL}`],
  distilled: ["generated", `Written by a small model ${BY_MODEL}`],
  extractive: ["extract", "Extracted from the document's sentences by rule"],
}

// What the document may be of use for: the scenario that was nearest to the query.
const scenarioOf = ({ source, model, need, why, score }) => {
  const [word, title] = SOURCES[source]
  const about = "An information need that this document meets. Cosine with the query:"
  return html`<div class="scenario" title="${about} ${score.toFixed(2)}">
    <div class="need">
      <span class="who">need</span>
      <span
        ><span class="text">${need}</span>
        <span class="tag" title=${title}>${model ? `${word} by ${model}` : word}</span></span
      >
    </div>
    <div class="why"><span class="who">why</span><span class="text">${why}</span></div>
  </div>`
}

const reason = (words) => (words ? html`<div class="why text">${words}</div>` : "")

const unfolded = ({ doc_id, evidence: pairs, explanation, sentences, fact_marks }, page) => {
  const rows = sentences.map((one, i) =>
    sentence(one, { cls: "line", words: marked(one.text, fact_marks[i]) }),
  )
  const { whole } = page.state
  return html`<div>
    ${pairs.slice(1).map((pair) => evidence(pair))}
    ${pairs.length ? reason(explanation) : ""}
    <div class="abstract">
      ${beginning(rows, LONGEST, whole, doc_id, () => page.redraw())}
      ${rows.length ? "" : html`<div>Title only.</div>`}
    </div>
  </div>`
}

const quotes = (whose, texts) =>
  texts.length
    ? html`<div class="quotes">
        <span class="who">${whose}</span>
        <span class="text">${texts.map((text) => html`<q class="text">${text}</q>`)}</span>
      </div>`
    : ""

const explained = ({ text, similar, seed_quotes, document_quotes, checked }) => html`
  ${similar ? "" : html`<p>Not similar, according to the model:</p>`}
  <p class="text">${text}</p>
  ${quotes("seed", seed_quotes)}${quotes("this", document_quotes)}
  <p class="small">${checked}</p>
`

// What a model wrote about a result: never to be taken for the document's own words.
const generatedBy = ({ doc_id, title }, words, page) => {
  const hide = button("plain", "hide", null, () => page.toggle(page.state.hidden, doc_id))
  return html`<section class="generated ${words.state}" aria-live="polite"
    aria-label="Generated explanation of ${title}">
    <div class="head">
      <span class="tag text">${words.title}</span>${words.state === "asking" ? "" : hide}
    </div>
    ${
      words.state === "done"
        ? explained(words)
        : words.lines.map((line) => html`<p class="text">${line}</p>`)
    }
  </section>`
}

// The seed and a result side by side, aligned by aspect: what each says of it.
const ofRole = ({ sentences }, marks, role) =>
  sentences.flatMap(({ text, role: own }, i) =>
    (own ?? null) === role ? [marked(text, marks[i], "said")] : [],
  )

const side = (whose, lines, aspect) => {
  const none = aspect ? `No sentence of ${aspect}.` : "No other sentence."
  return html`<div class="side">
    <span class="who">${whose}</span>
    ${lines.length ? lines : html`<span class="none">${none}</span>`}
  </div>`
}

const titleSide = (whose, one) =>
  html`<div class="side">
    <div class="kicker">${whose}</div>
    <div class="title text">${one.title || "Pasted text"}</div>
    ${metaLine(one)}
  </div>`

const showPair = (parent, result, { seed, aspects }) => {
  const hit = `Hit ${result.rank}`
  const row = ({ name, letter }, role) => {
    const own = ofRole(seed, result.seed_marks, role)
    const its = ofRole(result, result.own_marks, role)
    if (!name && !own.length && !its.length) return ""
    return html`<section class="aspectrow ${roleClass(role)}">
      <h3><span class="letter">${letter}</span> ${name ?? "No aspect"}</h3>
      ${side("Seed", own, name)}${side(hit, its, name)}
    </section>`
  }
  showDialog(
    parent,
    "pairdialog",
    "Side by side, by aspect",
    html`<div class="aspectrow titles">
        <div></div>
        ${titleSide("Seed", seed)}${titleSide(hit, result)}
      </div>
      ${aspects.map(row)}${row({ letter: "·" }, null)}
      <p class="small">Highlighted: matching words in the evidence.</p>`,
  )
}

const actions = (result, page) => {
  const { doc_id, title } = result
  const [open, kept] = [page.state.open.has(doc_id), page.kept.has(doc_id)]
  const grade = ([value, meaning]) => {
    const pressed = page.grades.get(doc_id) === value
    const words = html`${value}<span class="meaning"> ${meaning}</span>`
    return button("", words, `${value}: ${meaning}`, () => page.grade(result, value), { pressed })
  }
  const plain = (words, label, does, more) => button("plain", words, label, does, more)
  const seed = () => page.post("seed", { doc_id })
  const keep = () => page.keep(result)
  const turn = () => page.details(result)
  const compare = () => showPair(page.parent, result, page.data)
  const explain = () => page.explain(result)
  const disabled = page.generated.get(doc_id)?.state === "asking"
  const [sides, why] = ["Compare side by side", "Explain with the model"]
  const buttons = [
    html`<span class="grades" role="group" aria-label="Grade">${page.data.grades.map(grade)}</span>`,
    plain("Use as seed", `Use “${title}” as seed`, seed),
    plain(kept ? "Kept ✓" : "Keep", `Keep “${title}”`, keep, { pressed: kept }),
    plain(open ? "Less" : "Details", `Details of “${title}”`, turn, { expanded: open }),
    plain(sides, `${sides}: the seed and “${title}”`, compare, { popup: "dialog" }),
  ]
  const label = `${why}: “${title}” (one request)`
  if (open && page.data.edits) {
    const edit = () => page.post("edit", { doc_id })
    buttons.push(plain("Edit record", `Edit the record of “${title}”`, edit))
  }
  if (page.data.explains) buttons.push(plain(why, label, explain, { disabled }))
  return toolbar("bar", `Actions for “${title}”`, buttons)
}

// The title unfolds the result, here and in the table.
export const titleOf = (result, page) => {
  const expanded = page.state.open.has(result.doc_id)
  return button("title text", result.title, null, () => page.details(result), { expanded })
}

// All of a result but what stands in its first line.
export const bodyOf = (result, page) => {
  const { doc_id, explanation, facts, scenario, terms } = result
  const words = page.generated.get(doc_id)
  const [best] = result.evidence
  return html`<div class="body">
    ${metaLine(result)}${terms.map(termOf)}${facts.map(factOf)}
    ${scenario ? scenarioOf(scenario) : ""}
    ${best ? evidence(best) : reason(explanation)}
    ${page.state.open.has(doc_id) ? unfolded(result, page) : ""}
    ${words && !page.state.hidden.has(doc_id) ? generatedBy(result, words, page) : ""}
    ${actions(result, page)}
  </div>`
}
