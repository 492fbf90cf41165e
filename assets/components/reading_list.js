// The documents of a reading list, each with why it was kept, tags and a note. They are moved with
// the arrows, with Alt and an arrow key, or by dragging their number.
import {
  activeIn, button, component, CROSS, html, icon, marked, metaLine, nothing, options, passage, render, repeat,
} from "./base.js"

const UP = icon("M8 13V3M3.5 7.5 8 3l4.5 4.5")
const DOWN = icon("M8 3v10M3.5 8.5 8 13l4.5-4.5")

export default component(({ data: { documents, own, by_hand, tags, lists }, root, post, state }) => {
  const movable = own && by_hand
  const act = (name, one, more) => () => post(name, { corpus: one.corpus, doc_id: one.doc_id, title: one.title, ...more })
  const keyOf = (one) => `${one.corpus} ${one.doc_id}`

  // Before another document, or to the end.
  const place = (one, other) => act("move", one, { before: other ? [other.corpus, other.doc_id] : null })()
  const move = (one, index, by) => {
    if (documents[index + by]) place(one, documents[by < 0 ? index - 1 : index + 2])
  }

  const why = (one) => html`<div class="why">
    <span class="text">${one.why}</span>
    ${button("plain", "Show search", `Show the search that found “${one.title}”`, act("search", one))}
  </div>`

  const evidence = ([seed, own]) => html`
    ${passage("", null, "seed", marked(seed, [], "seedtext"))}${passage("", null, "this", marked(own, []))}`

  const chip = (one) => (tag) => html`<span class="chip"><span class="text">${tag}</span>
    ${own ? button("off", CROSS, `Remove the tag “${tag}”`, act("untag", one, { tag })) : nothing}</span>`

  const addTag = (one) => {
    const add = ({ target }) => {
      if (target.value.trim()) act("tag", one, { tag: target.value })()
      target.value = ""
    }
    return html`<input class="tag" list="tags" maxlength="200" placeholder="Add tag"
      aria-label="Add a tag to “${one.title}”" @blur=${add}
      @keydown=${(event) => event.key === "Enter" && add(event)} />`
  }

  const note = (one) => {
    if (!own) return html`<div class="note text">${one.note}</div>`
    const save = ({ target: { value } }) => {
      if (value.trim() !== one.note) act("note", one, { note: value, before: one.note })()
    }
    // What is being written outlives the answer to what was written before.
    const active = activeIn(root)
    const value = active?.dataset.key === keyOf(one) ? active.value : one.note
    return html`<textarea class="note text" rows="1" maxlength="4000" placeholder="Note"
      data-key=${keyOf(one)} aria-label="Note on “${one.title}”"
      .value=${value} @blur=${save}></textarea>`
  }

  const send = (one) => {
    const group = (label, copy) => {
      const all = lists.map(([id, name]) => [JSON.stringify([id, copy]), name])
      return html`<optgroup label=${label}>${options(all, "")}</optgroup>`
    }
    const chosen = ({ target }) => {
      const [list, copy] = JSON.parse(target.value)
      target.value = ""
      act("send", one, { target: list, copy })()
    }
    return html`<select aria-label="Move or copy “${one.title}” to another list" @change=${chosen}>
      ${options([["", own ? "Move or copy" : "Copy"]], "")}
      ${own ? group("Move to", false) : nothing}${group("Copy to", true)}
    </select>`
  }

  const arrows = (one, index) => html`
    ${button("icon", UP, `Move “${one.title}” up`, () => move(one, index, -1), { disabled: !index })}
    ${button("icon", DOWN, `Move “${one.title}” down`, () => move(one, index, 1), {
      disabled: index === documents.length - 1,
    })}`

  const actions = (one, index) => {
    const onKey = (event) => {
      const by = event.altKey && movable && { ArrowUp: -1, ArrowDown: 1 }[event.key]
      if (!by) return
      event.preventDefault()
      move(one, index, by)
    }
    return html`<div class="actions" @keydown=${onKey}>
      ${button("plain", "Use as seed", `Use “${one.title}” as seed`, act("seed", one))}
      ${lists.length ? send(one) : nothing}
      ${own ? button("plain", "Remove", `Remove “${one.title}” from the list`, act("remove", one)) : nothing}
      ${movable ? arrows(one, index) : nothing}
    </div>`
  }

  // Dragged over the lower half of a document, another one goes behind it.
  const isBehind = ({ currentTarget, clientY }) => {
    const { top, height } = currentTarget.getBoundingClientRect()
    return clientY > top + height / 2
  }
  const over = (event) => {
    if (!state.dragged) return
    event.preventDefault()
    event.currentTarget.dataset.drop = isBehind(event) ? "after" : "before"
  }
  const leave = ({ currentTarget }) => delete currentTarget.dataset.drop
  const drop = (one, index) => (event) => {
    event.preventDefault()
    leave(event)
    const other = isBehind(event) ? documents[index + 1] : one
    if (state.dragged !== one && state.dragged !== other) place(state.dragged, other)
    state.dragged = null
  }
  const drag = (one) => (event) => {
    state.dragged = one
    event.dataTransfer.setDragImage(event.target.closest("li"), 10, 10)
  }

  const entry = (one, index) => html`<li @dragover=${over} @dragleave=${leave} @drop=${drop(one, index)}>
    <span class="number" draggable=${movable} title=${movable ? "Drag to move" : nothing}
      @dragstart=${drag(one)} @dragend=${() => (state.dragged = null)}>${index + 1}</span>
    <div><div class="title text">${one.title}</div>${metaLine(one)}
      ${one.why ? why(one) : nothing}${one.evidence ? evidence(one.evidence) : nothing}</div>
    <div class="tags" role="group" aria-label="Tags of “${one.title}”">
      ${one.tags.map(chip(one))}${own ? addTag(one) : nothing}
    </div>
    ${note(one)}${actions(one, index)}
  </li>`

  render(
    html`<ol class="list">${repeat(documents, keyOf, entry)}</ol>
      <datalist id="tags">${options(tags.map((tag) => [tag, tag]), "")}</datalist>`,
    root,
  )
})
