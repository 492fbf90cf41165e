// The seed and a result side by side, aligned by aspect: what each says of it.
import { html, marked, metaLine, roleClass } from "./base.js"
import { showDialog } from "./keys.js"

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

export const showPair = (parent, result, { seed, aspects }) => {
  const row = ({ name, letter }, role) => {
    const own = ofRole(seed, result.seed_marks, role)
    const its = ofRole(result, result.own_marks, role)
    if (!name && !own.length && !its.length) return ""
    return html`<section class="aspectrow ${roleClass(role)}">
      <h3><span class="letter">${letter}</span> ${name ?? "No aspect"}</h3>
      ${side("Seed", own, name)}${side("Result", its, name)}
    </section>`
  }
  showDialog(
    parent,
    "pairdialog",
    "Side by side, by aspect",
    html`<div class="aspectrow titles">
        <div></div>
        ${titleSide("Seed", seed)}${titleSide(`Result ${result.rank}`, result)}
      </div>
      ${aspects.map(row)}${row({ letter: "·" }, null)}
      <p class="small">Highlighted: matching words in the evidence.</p>`,
  )
}
