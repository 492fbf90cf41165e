// The seed card: the document with its sentences by role. A click on a role makes it the
// aspect; a click on a sentence matches only the selected sentences.
import { beginning, component, html, metaLine, render, roleClass, sentence } from "./base.js"

const wholes = new Set() // seeds whose text is shown to its end
const LONGEST = 10 // sentences that are shown at once
const LEAST = 0.02 // weight from which a sentence is marked

export default component(({ data, root, send }) => {
  const { aspects, focus, sentences, weights } = data
  const redraw = () => render(card(), root)
  const hint = focus.length
    ? "Matching selected sentences only. Click to deselect."
    : "Click sentences to match only these."

  const aspectButton = ({ key, letter, name, definition }, role) => {
    const on = data.aspect === key
    return html`<button class=${on ? "" : roleClass(role)} aria-pressed=${on}
      title=${definition} @click=${() => send("aspect", { key: on ? "" : key })}
      >${letter} · ${name}</button>`
  }

  const row = (one, index) => {
    const weight = weights[index] ?? 0
    const words = weight
      ? `Weight in aspect: ${Math.round(weight * 100)} %`
      : "Click: match only selected sentences"
    const cls = weight > LEAST ? "sentence on" : "sentence"
    const does = () => send("focus", { index })
    return sentence(one, { cls, title: words, pressed: focus.includes(index), does })
  }

  const text = () => {
    if (!sentences.length) return html`<div class="hint">Title only.</div>`
    // What the search goes by is shown in any case.
    const counts = sentences.map((_, i) => focus.includes(i) || (weights[i] ?? 0) > LEAST)
    const most = Math.max(LONGEST, counts.lastIndexOf(true) + 1)
    return beginning(sentences.map(row), most, wholes, `${data.title}-${sentences.length}`, redraw)
  }

  const card = () => html`<section class="card" aria-label="Seed">
    <h2 class="kicker">${data.pasted ? "Seed · pasted text" : "Seed"}</h2>
    ${data.title ? html`<h3 class="title text">${data.title}</h3>` : ""}
    ${metaLine(data)}
    <div class="aspects" role="group" aria-label="Aspect">
      <span class="label">Aspect</span>${aspects.map(aspectButton)}
    </div>
    <div class="sentences">${text()}</div>
    <div class="hint">${hint}</div>
  </section>`

  redraw()
})
