// The reading list: the documents that a trail keeps, in order, each with a note.
import { button, component, CROSS, html, icon, render, repeat } from "./base.js"

const UP = icon("M8 13V3M3.5 7.5 8 3l4.5 4.5")
const DOWN = icon("M8 3v10M3.5 8.5 8 13l4.5-4.5")

export default component(({ data: { documents }, root, post }) => {
  const act =
    (name, { corpus, doc_id }, more) =>
    () =>
      post(name, { corpus, doc_id, ...more })

  const entry = (one, index) => {
    const { meta, note, title, url } = one
    const save = ({ target }) => target.value !== note && act("note", one, { note: target.value })()
    const link = html`<a href=${url} target="_blank" rel="noopener noreferrer"
      aria-label="Open “${title}” in a new tab">open paper</a>`
    const move = (by, sign, words) => {
      const disabled = !documents[index + by]
      return button("icon", sign, `Move “${title}” ${words}`, act("move", one, { by }), {
        disabled,
      })
    }
    const remove = `Remove “${title}” from the reading list`
    return html`<li>
      <span class="number">${index + 1}</span>
      <div class="about">
        <div class="title text">${title}</div>
        ${meta ? html`<div class="meta text">${meta}</div>` : ""}
      </div>
      <div class="actions">
        ${button("", "Use as seed", `Use “${title}” as seed`, act("seed", one))}
        ${/^https?:\/\//i.test(url) ? link : ""}${move(-1, UP, "up")}${move(1, DOWN, "down")}
        ${button("icon", CROSS, remove, act("remove", one))}
      </div>
      <textarea class="note text" rows="1" maxlength="4000" placeholder="Note"
        aria-label="Note on “${title}”" .value=${note} @blur=${save}></textarea>
    </li>`
  }
  const keyOf = ({ corpus, doc_id }) => `${corpus} ${doc_id}`
  render(html`<ol class="list">${repeat(documents, keyOf, entry)}</ol>`, root)
})
