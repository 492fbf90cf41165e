// The variants as rows to edit. A field tells Python when it is left, a button at once; what
// comes back unchanged is not redrawn, so nothing is taken from somebody who types.
const shown = new WeakMap()

const field = (label, node, cls) => {
  const wrap = make("label", `field ${cls ?? ""}`)
  wrap.append(make("span", "name", label), node)
  return wrap
}

const grow = (area) => {
  area.style.height = "auto"
  area.style.height = `${Math.min(area.scrollHeight + 2, 220)}px`
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  const before = shown.get(parentElement)
  const textOf = (rows) => JSON.stringify([rows, data.models])
  const same = before && before.text === textOf(data.rows)
  if (same) {
    before.read(data.read)
    return
  }
  const rows = data.rows.map((row) => ({ ...row }))
  const state = { text: textOf(data.rows), read: () => {} }
  shown.set(parentElement, state)

  const send = (next) => {
    state.text = textOf(next)
    setTriggerValue("rows", { rows: next, at: Date.now() })
  }
  const changed = () => send(rows)
  // Rows that come or go are drawn when Python has named and checked them.
  const ask = (next) => setTriggerValue("rows", { rows: next, at: Date.now() })

  const readings = []
  const list = make("div", "variants")
  rows.forEach((row, index) => {
    const label = `Variant ${index + 1}`
    const node = make("fieldset", "variant")
    node.append(make("legend", "", label))

    const name = make("input", "called text")
    name.type = "text"
    name.value = row.name
    name.maxLength = 80
    setLabel(name, `Name of variant ${index + 1}`)
    name.dataset.key = `name-${index}`
    name.onchange = () => {
      if (!name.value.trim()) {
        name.value = row.name
        return
      }
      row.name = name.value
      changed()
    }

    const system = make("select")
    setLabel(system, `System of variant ${index + 1}`)
    system.dataset.key = `system-${index}`
    const labels = new Map(Object.entries(data.names))
    const known = data.systems.includes(row.system) ? data.systems : [...data.systems, row.system]
    for (const choice of known) {
      const option = make("option", "", labels.get(choice) ?? choice)
      option.value = choice
      option.selected = choice === row.system
      system.append(option)
    }

    const copy = button("icon copy", "", `Duplicate variant ${index + 1}`, () =>
      ask([...rows.slice(0, index + 1), row, ...rows.slice(index + 1)]))
    copy.disabled = rows.length >= data.most
    copy.dataset.key = `copy-${index}`
    const remove = crossButton("icon", `Remove variant ${index + 1}`, () =>
      ask(rows.filter((_, i) => i !== index)))
    remove.disabled = rows.length < 2
    remove.dataset.key = `remove-${index}`
    const top = make("div", "first")
    top.append(make("span", "number", String(index + 1)), name, system, copy, remove)

    const wording = make("textarea", "wording text")
    wording.value = row.wording
    wording.rows = 1
    wording.placeholder = "no instruction"
    setLabel(wording, `Instruction of variant ${index + 1}`)
    wording.dataset.key = `wording-${index}`
    wording.oninput = () => grow(wording)
    wording.onchange = () => {
      row.wording = wording.value
      // What another wording was corrected to says nothing of this one.
      const corrected = row.reading
      row.reading = ""
      if (corrected) ask(rows)
      else changed()
    }
    wording.onkeydown = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) wording.blur()
    }

    const steer = make("input", "steer")
    steer.type = "range"
    steer.min = 0
    steer.max = 100
    steer.step = 5
    steer.value = Math.round(row.steer * 100)
    steer.dataset.key = `steer-${index}`
    const value = make("span", "value", `${steer.value} %`)
    steer.oninput = () => (value.textContent = `${steer.value} %`)
    steer.onchange = () => {
      row.steer = Number(steer.value) / 100
      changed()
    }
    const steering = field("aspect weight", steer)
    setTip(steering, "0 %: whole document. 100 %: aspect only.")
    steering.append(value)
    const showSteer = () => (steering.hidden = !data.steered.includes(row.system))
    showSteer()

    const subset = make("input")
    subset.type = "checkbox"
    subset.checked = row.subset
    subset.dataset.key = `subset-${index}`
    subset.onchange = () => {
      row.subset = subset.checked
      changed()
    }
    const cutting = make("label", "field cut")
    setTip(cutting, "Ignores the seed's other sentences.")
    cutting.append(subset, make("span", "", "only the aspect's sentences"))

    system.onchange = () => {
      row.system = system.value
      showSteer()
      changed()
    }
    const aspect = make("select", "aspect")
    aspect.dataset.key = `aspect-${index}`
    const choices = [{ key: "", name: "from the instruction" }, ...data.aspects]
    if (!choices.some(({ key }) => key === row.aspect)) choices.push({ key: row.aspect, name: row.aspect })
    for (const { key, name: words } of choices) {
      const option = make("option", "", words)
      option.value = key
      option.selected = key === row.aspect
      aspect.append(option)
    }
    aspect.onchange = () => {
      row.aspect = aspect.value
      row.reading = ""
      ask(rows)
    }
    const choosing = field("aspect", aspect)
    setTip(choosing, "If set, the instruction weights the aspect's sentences and excludes others.")

    const last = make("div", "last")
    last.append(steering, choosing, cutting)
    const named = new Map(data.aspects.map(({ key, name: words }) => [key, words]))
    const corrections = [
      ["reading", row.reading.split(",").filter(Boolean).map((term) =>
        term === "any" ? "no aspect" : `${term[0] === "-" ? "−" : "+"}${named.get(term.slice(1)) ?? term.slice(1)}`).join(" ")],
      ["sentences", row.sentences.split(",").filter(Boolean).map((i) => `sentence ${Number(i) + 1}`).join(", ")],
    ]
    const how = data.models[index] ? `interpreted by ${data.models[index]} as` : "corrected to"
    for (const [what, words] of corrections) {
      if (!words) continue
      const tag = make("span", "correction")
      const off = crossButton("icon", `Variant ${index + 1}: remove “${words}”`, () => {
        row[what] = ""
        ask(rows)
      })
      off.dataset.key = `${what}-${index}`
      tag.append(make("span", "text", what === "reading" ? `${how} ${words}` : words), off)
      last.append(tag)
    }
    const reading = make("div", "reading text")
    readings.push(reading)
    node.append(top, wording, last, reading)
    list.append(node)
  })

  // On a system that reads wordings: on another one, none would change anything.
  const like = rows.find((row) => data.readers.includes(row.system)) ?? { ...rows.at(-1), system: data.readers[0] ?? rows.at(-1).system }
  const add = button("add", "Add variant", null, () => ask([...rows, {
    ...like, wording: "", name: "mine", subset: false, aspect: "", sentences: "", reading: "",
  }]))
  add.dataset.key = "add"
  add.disabled = rows.length >= data.most
  const end = make("div", "end")
  end.append(add, make("span", "count", `${rows.length} of up to ${data.most}`))
  list.append(end)

  state.read = (lines) => readings.forEach((node, i) => {
    const line = withMarks(lines[i] ?? "")
    if (node.textContent !== line) node.textContent = line
  })
  state.read(data.read)
  // A model's reading may come while somebody types: the words stay as they are being written.
  const key = focusKey(root)
  const find = () => key && root.querySelector(`.text[data-key="${CSS.escape(key)}"]`)
  const typed = find()
  redrawn(root, key, [list])
  const again = find()
  if (typed && again && again.value !== typed.value) {
    again.value = typed.value
    again.setSelectionRange(typed.selectionStart, typed.selectionEnd)
    again.addEventListener("blur", again.onchange, { once: true })
  }
  // Once it is laid out: before, a text has no height.
  requestAnimationFrame(() => list.querySelectorAll("textarea").forEach(grow))
}
