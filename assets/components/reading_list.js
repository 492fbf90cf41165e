// The documents of a reading list, each with why it was kept, tags and a note. They are moved with
// the arrows, by dragging, or with Alt and an arrow key.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  const post = outbox(root, data, setTriggerValue)
  const send = (event, one, more) => post(event, { corpus: one.corpus, doc_id: one.doc_id, title: one.title, ...more })
  const keyOf = (name, one) => `${name}-${one.corpus}-${one.doc_id}`
  // What is being written outlives the redrawing after another change.
  const active = root.getRootNode().activeElement
  const writing = ["TEXTAREA", "INPUT"].includes(active?.tagName) && root.contains(active)
    ? { key: active.dataset.key, value: active.value, at: active.selectionStart }
    : null
  const movable = data.own && data.by_hand
  let dragged = null

  const list = make("ol", "list")
  data.documents.forEach((one, index) => list.append(entry(one, index)))
  const tags = make("datalist")
  tags.id = "tags"
  for (const tag of data.tags) tags.append(make("option", "", tag))
  if (writing) {
    const field = list.querySelector(`[data-key="${CSS.escape(writing.key)}"]`)
    if (field) {
      field.value = writing.value
      field.setSelectionRange(writing.at, writing.at)
    }
  }
  drawWhenReleased(root, () => redrawn(root, focusKey(root), [list, tags]))

  function entry(one, index) {
    const item = make("li")
    const about = make("div", "about")
    about.append(make("div", "title text", one.title), metaLine(one) ?? "")
    if (one.why) about.append(why(one))
    if (one.evidence) about.append(evidence(one.evidence))
    item.append(make("span", "number", `${index + 1}`), about, tagLine(one), note(one), actions(one, index))
    if (movable) draggable(item, one, index)
    return item
  }

  function why(one) {
    const node = make("div", "why")
    node.append(make("span", "text", one.why), " ")
    node.append(action("search", "Show search", `Show the search that found “${one.title}”`, one, () => send("search", one)))
    return node
  }

  function evidence([seed, own]) {
    const pair = make("dl", "pair")
    pair.append(make("dt", "", "seed"), make("dd", "text", seed), make("dt", "", "this"), make("dd", "text", own))
    return pair
  }

  function action(name, text, label, one, onclick, disabled = false) {
    const node = button(ICONS[name] ? "icon" : "plain", ICONS[name] ? undefined : text, label, onclick)
    if (ICONS[name]) node.append(icon(ICONS[name]))
    node.dataset.key = keyOf(name, one)
    node.disabled = disabled
    return node
  }

  function tagLine(one) {
    const node = make("div", "tags")
    setLabel(node, `Tags of “${one.title}”`)
    node.setAttribute("role", "group")
    for (const tag of one.tags) {
      const chip = make("span", "chip")
      chip.append(make("span", "text", tag))
      if (data.own) chip.append(action("close", "", `Remove the tag “${tag}”`, one, () => send("untag", one, { tag })))
      node.append(chip)
    }
    if (!data.own) return node
    const field = make("input", "tag")
    Object.assign(field, { placeholder: "Add tag", maxLength: 200, type: "text" })
    field.setAttribute("list", "tags")
    field.dataset.key = keyOf("tag", one)
    setLabel(field, `Add a tag to “${one.title}”`)
    const add = () => {
      if (!field.value.trim()) return
      send("tag", one, { tag: field.value })
      field.value = ""
    }
    field.onkeydown = (event) => event.key === "Enter" && add()
    field.onblur = add
    node.append(field)
    return node
  }

  function note(one) {
    if (!data.own) return make("div", "note text", one.note)
    const field = make("textarea", "note text")
    field.rows = 1
    field.value = one.note
    field.placeholder = "Note"
    field.maxLength = 4000
    setLabel(field, `Note on “${one.title}”`)
    field.dataset.key = keyOf("note", one)
    // Not its change event: there is none for what was typed before a redrawing put it back.
    field.onblur = () => field.value.trim() !== one.note && send("note", one, { note: field.value, before: one.note })
    return field
  }

  function actions(one, index) {
    const bar = make("div", "actions")
    bar.append(action("seed", "Use as seed", `Use “${one.title}” as seed`, one, () => send("seed", one)))
    if (data.lists.length) bar.append(sender(one))
    if (!data.own) return bar
    bar.append(action("remove", "Remove", `Remove “${one.title}” from the list`, one, () => send("remove", one)))
    if (!movable) return bar
    bar.append(
      action("up", "", `Move “${one.title}” up`, one, () => move(one, index, -1), index === 0),
      action("down", "", `Move “${one.title}” down`, one, () => move(one, index, 1), index === data.documents.length - 1),
    )
    bar.onkeydown = (event) => {
      const by = event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key]
      if (!by) return
      event.preventDefault()
      move(one, index, by)
    }
    return bar
  }

  function sender(one) {
    const field = make("select", "send")
    setLabel(field, `Move or copy “${one.title}” to another list`)
    field.dataset.key = keyOf("send", one)
    field.append(new Option(data.own ? "Move or copy" : "Copy", ""))
    for (const copy of data.own ? [false, true] : [true]) {
      const group = make("optgroup")
      group.label = copy ? "Copy to" : "Move to"
      for (const [id, name] of data.lists) group.append(new Option(withMarks(name), JSON.stringify([id, copy])))
      field.append(group)
    }
    field.onchange = () => {
      const [target, copy] = JSON.parse(field.value)
      field.value = ""
      send("send", one, { target, copy })
    }
    return field
  }

  function move(one, index, by) {
    const to = index + by
    if (to < 0 || to >= data.documents.length) return
    place(one, data.documents[by < 0 ? to : to + 1])
  }

  // Before another document, or to the end.
  function place(one, other) {
    send("move", one, { before: other ? [other.corpus, other.doc_id] : null })
  }

  function draggable(item, one, index) {
    const number = item.querySelector(".number")
    number.draggable = true
    number.title = "Drag to move"
    number.ondragstart = (event) => {
      dragged = one
      event.dataTransfer.effectAllowed = "move"
      event.dataTransfer.setDragImage(item, 10, 10)
    }
    const after = (event) => event.clientY > item.getBoundingClientRect().top + item.offsetHeight / 2
    item.ondragover = (event) => {
      if (!dragged) return
      event.preventDefault()
      item.dataset.drop = after(event) ? "after" : "before"
    }
    item.ondragleave = () => delete item.dataset.drop
    item.ondrop = (event) => {
      event.preventDefault()
      delete item.dataset.drop
      const other = data.documents[after(event) ? index + 1 : index]
      if (dragged !== one && dragged !== other) place(dragged, other)
      dragged = null
    }
  }
}

const ICONS = { up: "M8 13V3M3.5 7.5 8 3l4.5 4.5", down: "M8 3v10M3.5 8.5 8 13l4.5-4.5", close: "M4 4l8 8M12 4l-8 8" }
