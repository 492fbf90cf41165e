// The reading list: the documents that a trail keeps, in order, each with a note.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const post = outbox(root, data, setTriggerValue)
  const send = (event, one, more) => post(event, { corpus: one.corpus, doc_id: one.doc_id, ...more })
  // A note that is being written outlives the redrawing after another change.
  const active = root.getRootNode().activeElement
  const writing = active?.tagName === "TEXTAREA" && root.contains(active)
    ? { key: active.dataset.key, value: active.value, at: active.selectionStart }
    : null

  const list = make("ol", "list")
  data.documents.forEach((one, index) => list.append(entry(one, index)))
  if (writing) {
    const field = list.querySelector(`[data-key="${CSS.escape(writing.key)}"]`)
    if (field) {
      field.value = writing.value
      field.setSelectionRange(writing.at, writing.at)
    }
  }
  drawWhenReleased(root, () => redrawn(root, focusKey(root), [list]))

  function entry(one, index) {
    const item = make("li")
    const about = make("div", "about")
    about.append(make("div", "title text", one.title))
    if (one.meta) about.append(make("div", "meta text", one.meta))
    item.append(make("span", "number", `${index + 1}`), about, actions(one, index), note(one))
    return item
  }

  function actions(one, index) {
    const bar = make("div", "actions")
    const act = (name, label, onclick, disabled = false) => {
      const node = button(ICONS[name] ? "icon" : "", ICONS[name] ? undefined : name, label, onclick)
      if (ICONS[name]) node.append(icon(ICONS[name]))
      node.dataset.key = `${name}-${one.corpus}-${one.doc_id}`
      node.disabled = disabled
      bar.append(node)
    }
    act("Use as seed", `Use “${one.title}” as seed`, () => send("seed", one))
    if (/^https?:\/\//i.test(one.url)) {
      const link = make("a", "", "open paper")
      Object.assign(link, { href: one.url, target: "_blank", rel: "noopener noreferrer" })
      setLabel(link, `Open “${one.title}” in a new tab`)
      bar.append(link)
    }
    act("up", `Move “${one.title}” up`, () => send("move", one, { by: -1 }), index === 0)
    act("down", `Move “${one.title}” down`, () => send("move", one, { by: 1 }), index === data.documents.length - 1)
    act("remove", `Remove “${one.title}” from the reading list`, () => send("remove", one))
    return bar
  }

  function note(one) {
    const field = make("textarea", "note text")
    field.rows = 1
    field.value = one.note
    field.placeholder = "Note"
    field.maxLength = 4000
    setLabel(field, `Note on “${one.title}”`)
    field.dataset.key = `note-${one.corpus}-${one.doc_id}`
    // Not its change event: there is none for what was typed before a redrawing put it back.
    field.onblur = () => field.value !== one.note && send("note", one, { note: field.value })
    return field
  }
}

const ICONS = { up: "M8 13V3M3.5 7.5 8 3l4.5 4.5", down: "M8 3v10M3.5 8.5 8 13l4.5-4.5", remove: "M4 4l8 8M12 4l-8 8" }
