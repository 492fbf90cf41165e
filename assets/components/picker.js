// A list of documents to choose one from.
import { component, html, render } from "./base.js"

export default component(({ data, root, send }) => {
  const row = ({ doc_id, title, year }) =>
    html`<button class="row" @click=${() => send("pick", { doc_id })}>
      <span class="text">${title}</span><span class="year">${year}</span>
    </button>`
  render(html`<div class="rows">${data.documents.map(row)}</div>`, root)
})
