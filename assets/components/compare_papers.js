// Documents that the wording moves, with their ranks; one of them unfolds its evidence under
// each variant, with what the first variant does not show marked.
import { component, evidence, html, render, sentence } from "./base.js"

const blockOf = ({ name, rank, same, pairs }, first) => {
  const none = same ? `Same passages as ${first}.` : "No passage stands out."
  const gained = html`<span class="tag text">not in ${first}</span>`
  const shown = (pair) =>
    pair.gained ? evidence(pair, "both gained", gained) : evidence(pair, "both")
  return html`<div class="block">
    <div class="blockhead">
      <span class="name text">${name}</span>
      <span class="where">${rank === null ? "not ranked" : `rank ${rank}`}</span>
    </div>
    ${pairs.length ? pairs.map(shown) : html`<div class="same text">${none}</div>`}
  </div>`
}

const openedOf = ({ meta, blocks, sentences }) =>
  html`<div class="opened">
    ${meta ? html`<div class="meta text">${meta}</div>` : ""}
    ${blocks.map((block) => blockOf(block, blocks[0].name))}
    <details class="whole"><summary>Full text by aspect</summary>${sentences.map((one) => sentence(one, { cls: "line" }))}</details>
  </div>`

const cells = (all) =>
  html`<span class="cells"
    >${all.map(([words, tip]) => html`<span class="cell" title=${tip}>${words}</span>`)}</span
  >`

export default component(({ data: { columns, papers, opened }, root, send }) => {
  const paper = ({ doc_id, title, ranks }) => {
    const open = opened?.doc_id === doc_id
    const all = columns.map((name, i) => `${name} ${ranks[i] ?? "none"}`).join(", ")
    const tips = columns.map((name, i) => {
      const rank = ranks[i] === null ? "not ranked" : `rank ${ranks[i]}`
      return [ranks[i] ?? "–", `${name}: ${rank}`]
    })
    return html`<article class="paper ${open ? "on" : ""}" data-doc=${doc_id}>
      <button class="row" aria-expanded=${open} aria-label="${title}. Ranks: ${all}"
        @click=${() => send("open", { doc_id })}
        ><span class="title text">${title}</span>${cells(tips)}</button>
      ${open ? openedOf(opened) : ""}
    </article>`
  }
  const numbers = columns.map((name, i) => [i + 1, name])
  const head = html`<div class="head"><span>Rank per variant</span>${cells(numbers)}</div>`
  render(html`<div class="papers">${papers.length ? head : ""}${papers.map(paper)}</div>`, root)
})
