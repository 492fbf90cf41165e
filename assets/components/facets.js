// Facets of a corpus: how many documents have what. A choice is sent with the whole choice of its
// facet; what is drawn is what Python says is set.
const SVG = "http://www.w3.org/2000/svg"
const FIRST = 8 // values and units that are shown before anybody asks for more
const MOST_BARS = 60
const figure = (number) => Number(number).toLocaleString("en", { maximumSignificantDigits: 6 })
const documents = (count) => `${count.toLocaleString("en")} ${count === 1 ? "document" : "documents"}`

const draw = (tag, attributes) => {
  const node = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  return node
}

// Bars of equal numbers of years: [first year, last year, documents] each.
const binned = (bars) => {
  if (!bars.length) return []
  const first = bars[0][0]
  const span = bars.at(-1)[0] - first + 1
  const size = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((years) => span / years <= MOST_BARS) ?? 1000
  const last = bars.at(-1)[0]
  const bins = Array.from({ length: Math.ceil(span / size) }, (_, i) =>
    [first + i * size, Math.min(last, first + (i + 1) * size - 1), 0])
  for (const [year, count] of bars) bins[Math.floor((year - first) / size)][2] += count
  return bins
}

// A number field of a bound, which is sent when it is left or at Enter.
const bound = (key, name, value, about, send) => {
  const label = make("label", "bound", name)
  const field = make("input")
  Object.assign(field, { type: "text", inputMode: "decimal", value, placeholder: about })
  field.dataset.key = key
  field.onchange = () => send(field.value.trim())
  label.append(field)
  return label
}

const rangeFields = (section, about, send) => {
  const row = make("div", "bounds")
  row.append(
    bound(`${section.field}-low`, "from", section.low, about[0], (low) => send(low, section.high)),
    bound(`${section.field}-high`, "to", section.high, about[1], (high) => send(section.low, high)))
  setLabel(row, `${section.title ?? section.unit}: range`)
  row.setAttribute("role", "group")
  return row
}

// Year bars. Dragging over them chooses from the first to the last; a click chooses one.
const histogram = (root, section, send) => {
  const bins = binned(section.bars)
  const most = Math.max(1, ...bins.map(([, , count]) => count))
  const svg = draw("svg", { viewBox: `0 0 ${bins.length} 100`, preserveAspectRatio: "none", role: "img", class: "bars" })
  const year = (text) => Number.parseInt(text, 10)
  const chosen = () => (section.low || section.high)
    ? bins.map(([first, last]) => !(last < year(section.low || -1e9)) && !(first > year(section.high || 1e9)))
    : bins.map(() => true)
  const rects = bins.map(([first, last, count], i) => {
    const height = count ? Math.max(4, (count / most) * 100) : 0
    const bar = draw("rect", { x: i + 0.08, width: 0.84, y: 100 - height, height })
    const tip = draw("title", {})
    tip.textContent = withMarks(`${first === last ? first : `${first} to ${last}`}: ${documents(count)}`)
    const whole = draw("rect", { x: i, width: 1, y: 0, height: 100, class: "all" })
    whole.append(tip)
    svg.append(bar, whole)
    return bar
  })
  const mark = (flags) => rects.forEach((bar, i) => bar.setAttribute("class", flags[i] ? "in" : "out"))
  mark(chosen())
  const top = bins.find(([, , count]) => count === most)
  setLabel(svg, bins.length
    ? `${section.title}: ${bins[0][0]} to ${bins.at(-1)[1]}, most in ${top[0]} (${documents(top[2])}). Drag to choose a range, or type it below.`
    : section.title)
  const at = (event) => {
    const box = svg.getBoundingClientRect()
    const place = Math.floor(((event.clientX - box.left) / box.width) * bins.length)
    return Math.min(bins.length - 1, Math.max(0, place))
  }
  let from = null
  let to = null
  svg.onpointerdown = (event) => {
    if (event.button || !bins.length) return
    svg.setPointerCapture(event.pointerId)
    from = to = at(event)
    mark(bins.map((_, i) => i === from))
  }
  svg.onpointermove = (event) => {
    if (from === null) return
    to = at(event)
    mark(bins.map((_, i) => i >= Math.min(from, to) && i <= Math.max(from, to)))
  }
  svg.onpointerup = () => {
    if (from === null) return
    const [low, high] = [String(bins[Math.min(from, to)][0]), String(bins[Math.max(from, to)][1])]
    const every = Math.abs(to - from) + 1 === bins.length
    const same = low === section.low && high === section.high
    from = to = null
    if (every || same) send("", "")
    else send(low, high)
  }
  svg.onpointercancel = () => { from = to = null; mark(chosen()) }
  const axis = make("div", "axis")
  axis.append(make("span", "", bins.length ? String(bins[0][0]) : ""), make("span", "", bins.length ? String(bins.at(-1)[1]) : ""))
  return bins.length ? [svg, axis] : []
}

const range = (root, section, change) => {
  const send = (low, high) => change({ field: section.field, low, high })
  const years = section.bars.map(([year]) => year)
  const about = years.length ? [String(years[0]), String(years.at(-1))] : ["", ""]
  return [...histogram(root, section, send), rangeFields(section, about, send)]
}

// Dots where the places lie, on squares of land that have cities; the list below says the same.
const worldMap = (section, toggle) => {
  const svg = draw("svg", { viewBox: "0 8 360 140", class: "world", "aria-hidden": "true" })
  svg.append(draw("path", { d: section.land, class: "land" }))
  const most = Math.max(1, ...section.values.map(({ count }) => count))
  for (const place of [...section.values].filter(({ at }) => at)) {
    const [latitude, longitude] = place.at
    const r = 2.5 + 8 * Math.sqrt(place.count / most)
    const dot = draw("circle", { cx: longitude + 180, cy: 90 - latitude, r, class: place.on ? "on" : "" })
    const tip = draw("title", {})
    tip.textContent = withMarks(`${place.name}: ${documents(place.count)}`)
    dot.append(tip)
    dot.onclick = () => toggle(place.value)
    svg.append(dot)
  }
  return svg
}

const row = (section, value, toggle) => {
  const label = make("label", `value ${value.role === undefined ? "" : roleClass(value.role)}`)
  const box = make("input")
  Object.assign(box, { type: "checkbox", checked: value.on })
  box.dataset.key = `${section.field}=${value.value}`
  box.onchange = () => toggle(value.value)
  const share = section.of ? value.count / section.of : 0
  const count = section.every && section.of
    ? `${Math.round(share * 100)} % · ${value.count.toLocaleString("en")}`
    : value.count.toLocaleString("en")
  label.style.setProperty("--share", `${Math.min(100, share * 100)}%`)
  label.append(box, make("span", "name text", value.name), make("span", "count", count))
  const item = make("li")
  item.append(label)
  return item
}

const values = (root, section, change, again) => {
  const state = root.facets.get(section.field) ?? {}
  root.facets.set(section.field, state)
  const on = section.values.filter((value) => value.on).map(({ value }) => value)
  const send = (chosen) => change({ field: section.field, values: chosen })
  const toggle = (value) => send(on.includes(value) ? on.filter((one) => one !== value) : [...on, value])
  const parts = section.land ? [worldMap(section, toggle)] : []
  const many = section.values.length > FIRST || section.typed
  const words = (state.words ?? "").trim().toLowerCase()
  const list = make("ul", "values")
  const fill = () => {
    const found = section.values.filter(({ name }) => !words || withMarks(name).toLowerCase().includes(words))
    const shown = state.all || words ? found : found.filter((value, i) => value.on || i < FIRST)
    list.replaceChildren(...shown.map((value) => row(section, value, toggle)))
    if (!shown.length) {
      const why = !words ? "No matches with the current filters"
        : section.typed ? "Press Enter to filter by this value" : "No such value"
      list.append(make("li", "none", why))
    }
  }
  fill()
  if (many) {
    const search = make("input", "search")
    Object.assign(search, { type: "search", value: state.words ?? "", placeholder: `Search ${(section.distinct ?? section.values.length).toLocaleString("en")} values` })
    setLabel(search, `Search the values of ${section.title}`)
    search.dataset.key = `${section.field}-search`
    search.oninput = () => { state.words = search.value; again() }
    search.onkeydown = (event) => {
      const typed = search.value.trim()
      if (event.key !== "Enter" || !typed || !section.typed) return
      state.words = ""
      send([...on, typed])
    }
    parts.push(search)
  }
  parts.push(list)
  if (section.values.length > FIRST && !words) {
    const more = button("more", state.all ? "Show fewer" : `Show all ${section.values.length}`, null,
      () => { state.all = !state.all; again() })
    setLabel(more, `${more.textContent} values of ${section.title}`)
    more.dataset.key = `${section.field}-more`
    parts.push(more)
  }
  return parts
}

const amounts = (root, section, change, again) => {
  const state = root.facets.get(section.field) ?? {}
  root.facets.set(section.field, state)
  const shown = state.all ? section.units : section.units.filter((unit, i) => unit.set || i < 4)
  const parts = shown.map((unit) => {
    const part = make("div", "unit")
    const [least, quarter, , threeQuarters, most] = unit.quantiles
    part.append(make("div", "", `${unit.unit} · ${documents(unit.count)}`),
      make("div", "dim", `${figure(least)} to ${figure(most)}; half of them ${figure(quarter)} to ${figure(threeQuarters)}`),
      rangeFields({ ...unit, title: `Amounts in ${unit.unit}` }, [figure(least), figure(most)].map((text) => text.replaceAll(",", "")),
        (low, high) => change({ field: unit.field, low, high })))
    return part
  })
  if (section.units.length > shown.length || state.all) {
    const more = button("more", state.all ? "Show fewer units" : `Show all ${section.units.length} units`, null,
      () => { state.all = !state.all; again() })
    more.dataset.key = `${section.field}-more`
    parts.push(more)
  }
  return parts
}

const KINDS = { range, values, amounts }

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  root.facets ??= new Map()
  root.unfolded ??= new Map()
  const change = (event) => setTriggerValue("change", { ...event, at: Date.now() })
  const redraw = () => {
    const key = focusKey(root)
    const active = root.getRootNode().activeElement
    const caret = active?.type === "search" ? active.selectionStart : null
    const parts = data.sections.map((section) => {
      const part = make("details", "facet")
      part.open = root.unfolded.get(section.field) ?? section.open
      part.ontoggle = () => root.unfolded.set(section.field, part.open)
      const head = make("summary")
      head.dataset.key = `${section.field}-head`
      head.append(make("span", "head text", section.title))
      if (section.set) head.append(make("span", "isset", "set"))
      if (section.note) head.append(make("span", "dim", section.note))
      part.append(head, ...KINDS[section.kind](root, section, change, redraw))
      return part
    })
    const total = make("div", "dim total", `${data.documents.toLocaleString("en")} of ${documents(data.total)}${data.documents === data.total ? "" : " match the filters"}`)
    total.setAttribute("role", "status")
    redrawn(root, key, [total, ...parts])
    if (caret !== null) root.getRootNode().activeElement?.setSelectionRange?.(caret, caret)
  }
  drawWhenReleased(root, redraw)
}
