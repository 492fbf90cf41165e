// Facets of a corpus: how many documents have what. A choice is sent with the whole choice of its
// facet; what is drawn is what Python says is set.
import { button, component, counted, html, live, render, roleClass, svg, withMarks } from "./base.js"

const FIRST = 8 // values and units that are shown before anybody asks for more
const MOST_BARS = 60
const SPANS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
const figure = (number) => Number(number).toLocaleString("en", { maximumSignificantDigits: 6 })

// Bars of equal numbers of years: [first year, last year, documents] each.
const binned = (bars) => {
  if (!bars.length) return []
  const [first, last] = [bars[0][0], bars.at(-1)[0]]
  const span = last - first + 1
  const size = SPANS.find((years) => span / years <= MOST_BARS)
  const bins = Array.from({ length: Math.ceil(span / size) }, (_, i) => {
    const from = first + i * size
    return [from, Math.min(last, from + size - 1), 0]
  })
  for (const [year, count] of bars) bins[Math.floor((year - first) / size)][2] += count
  return bins
}

// Number fields of two bounds, each sent when it is left or at Enter.
const rangeFields = ({ title, low, high }, [least, most], send) => {
  const bound = (name, value, placeholder, change) =>
    html`<label class="bound">${name}<input inputmode="decimal" .value=${value}
      placeholder=${placeholder} @change=${({ target }) => change(target.value.trim())} /></label>`
  return html`<div class="bounds" role="group" aria-label="${title}: range">
    ${bound("from", low, least, (from) => send(from, high))}
    ${bound("to", high, most, (to) => send(low, to))}
  </div>`
}

// Year bars. Dragging over them chooses from the first to the last; a click chooses one.
const histogram = (section, state, send, redraw) => {
  const { title, low, high } = section
  const bins = binned(section.bars)
  if (!bins.length) return ""
  const most = Math.max(1, ...bins.map(([, , count]) => count))
  const dragged = (i) => i >= Math.min(...state.drag) && i <= Math.max(...state.drag)
  const chosen = ([first, last]) => !(last < parseInt(low, 10)) && !(first > parseInt(high, 10))
  const bar = (bin, i) => {
    const [first, last, count] = bin
    const height = count ? Math.max(4, (count / most) * 100) : 0
    const isIn = state.drag ? dragged(i) : chosen(bin)
    const years = first === last ? first : `${first} to ${last}`
    return svg`<rect x=${i + 0.08} width="0.84" y=${100 - height} height=${height}
        class=${isIn ? "in" : "out"}></rect>
      <rect x=${i} width="1" y="0" height="100" class="all"
        ><title>${years}: ${counted(count)}</title></rect>`
  }
  const at = ({ clientX, currentTarget }) => {
    const box = currentTarget.getBoundingClientRect()
    const place = Math.floor(((clientX - box.left) / box.width) * bins.length)
    return Math.min(bins.length - 1, Math.max(0, place))
  }
  const drag = (value) => {
    state.drag = value
    redraw()
  }
  const begin = (event) => {
    if (event.button) return
    event.currentTarget.setPointerCapture(event.pointerId)
    drag([at(event), at(event)])
  }
  const move = (event) => state.drag && drag([state.drag[0], at(event)])
  const end = () => {
    if (!state.drag) return
    const [from, to] = state.drag.toSorted((a, b) => a - b)
    const years = [String(bins[from][0]), String(bins[to][1])]
    const every = to - from + 1 === bins.length
    const same = years[0] === low && years[1] === high
    state.drag = null
    send(...(every || same ? ["", ""] : years))
  }
  const [first, last] = [bins[0][0], bins.at(-1)[1]]
  const [peak, , count] = bins.find((bin) => bin[2] === most)
  const how = "Drag to choose a range, or type it below."
  return html`<svg class="bars" viewBox="0 0 ${bins.length} 100" preserveAspectRatio="none"
      role="img"
      aria-label="${title}: ${first} to ${last}, most in ${peak} (${counted(count)}). ${how}"
      @pointerdown=${begin} @pointermove=${move} @pointerup=${end}
      @pointercancel=${() => drag(null)}>${bins.map(bar)}</svg>
    <div class="axis"><span>${first}</span><span>${last}</span></div>`
}

const range = (section, state, change, redraw) => {
  const send = (low, high) => change({ field: section.field, low, high })
  const about = [section.bars[0], section.bars.at(-1)].map((bar) => bar?.[0] ?? "")
  return html`${histogram(section, state, send, redraw)}${rangeFields(section, about, send)}`
}

// Dots where the places lie, on squares of land that have cities; the list below says the same.
const worldMap = ({ land, values: places }, toggle) => {
  const most = Math.max(1, ...places.map(({ count }) => count))
  const dot = ({ at: [latitude, longitude], count, name, on, value }) =>
    svg`<circle cx=${longitude + 180} cy=${90 - latitude} r=${2.5 + 8 * Math.sqrt(count / most)}
      class=${on ? "on" : ""} @click=${() => toggle(value)}
      ><title>${name}: ${counted(count)}</title></circle>`
  return html`<svg class="world" viewBox="0 8 360 140" aria-hidden="true">
    <path class="land" d=${land}></path>
    ${places.filter(({ at }) => at).map(dot)}
  </svg>`
}

const row = ({ of, every }, { value, name, role, on, count }, toggle) => {
  const share = Math.round(of ? (count / of) * 100 : 0)
  const number = count.toLocaleString("en")
  return html`<li>
    <label class="value ${role === undefined ? "" : roleClass(role)}"
      style="--share: ${Math.min(100, share)}%">
      <input type="checkbox" .checked=${live(on)} @change=${() => toggle(value)} />
      <span class="name text">${name}</span>
      <span class="count">${every && of ? `${share} % · ${number}` : number}</span>
    </label>
  </li>`
}

// More of a list, or less of it.
const moreButton = (state, redraw, words, label) => {
  const turn = () => {
    state.all = !state.all
    redraw()
  }
  return button("more plain", words, label, turn)
}

const values = (section, state, change, redraw) => {
  const { distinct, field, land, title, typed, values: all } = section
  const chosen = all.filter(({ on }) => on).map(({ value }) => value)
  const send = (these) => change({ field, values: these })
  const toggle = (value) =>
    send(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value])
  const words = (state.words ?? "").trim().toLowerCase()
  const find = ({ target }) => {
    state.words = target.value
    redraw()
  }
  const enter = ({ key, target }) => {
    const own = target.value.trim()
    if (key !== "Enter" || !own || !typed) return
    state.words = ""
    send([...chosen, own])
    redraw()
  }
  const count = (distinct ?? all.length).toLocaleString("en")
  const search = html`<input type="search" class="search" .value=${live(state.words ?? "")}
    placeholder="Search ${count} values" aria-label="Search the values of ${title}"
    @input=${find} @keydown=${enter} />`
  const found = all.filter(({ name }) => withMarks(name).toLowerCase().includes(words))
  const shown = state.all || words ? found : found.filter(({ on }, i) => on || i < FIRST)
  const why = typed ? "Press Enter to filter by this value" : "No such value"
  const none = html`<li class="none">${words ? why : "No matches with the current filters"}</li>`
  const rows = shown.map((value) => row(section, value, toggle))
  const turn = state.all ? "Show fewer" : `Show all ${all.length}`
  return html`${land ? worldMap(section, toggle) : ""}
    ${all.length > FIRST || typed ? search : ""}
    <ul class="values">${rows.length ? rows : none}</ul>
    ${all.length > FIRST && !words ? moreButton(state, redraw, turn, `${turn} values of ${title}`) : ""}`
}

const amounts = ({ units }, state, change, redraw) => {
  const shown = state.all ? units : units.filter(({ set }, i) => set || i < 4)
  const one = (unit) => {
    const { field, quantiles } = unit
    const [least, quarter, , threeQuarters, most] = quantiles.map(figure)
    const fields = { ...unit, title: `Amounts in ${unit.unit}` }
    const about = [least, most].map((text) => text.replaceAll(",", ""))
    return html`<div class="unit">
      <div>${unit.unit} · ${counted(unit.count)}</div>
      <div class="dim">${least} to ${most}; half of them ${quarter} to ${threeQuarters}</div>
      ${rangeFields(fields, about, (low, high) => change({ field, low, high }))}
    </div>`
  }
  const words = state.all ? "Show fewer units" : `Show all ${units.length} units`
  const more = units.length > shown.length || state.all
  return html`${shown.map(one)}${more ? moreButton(state, redraw, words) : ""}`
}

const KINDS = { range, values, amounts }

export default component(({ data, root, state, send }) => {
  const facets = (state.facets ??= new Map()) // what is unfolded and sought in each
  const change = (event) => send("change", event)
  const facet = (section) => {
    const { field, kind, note, open, set, title } = section
    const own = facets.get(field) ?? {}
    facets.set(field, own)
    return html`<details class="facet" .open=${live(own.open ?? open)}
      @toggle=${({ target }) => (own.open = target.open)}>
      <summary>
        <span class="head text">${title}</span>${set ? html`<span class="isset">set</span>` : ""}
        ${note ? html`<span class="dim">${note}</span>` : ""}
      </summary>
      ${KINDS[kind](section, own, change, redraw)}
    </details>`
  }
  const redraw = () => {
    const { documents, sections, total } = data
    const rest = documents === total ? "" : " match the filters"
    const of = `${documents.toLocaleString("en")} of ${counted(total)}${rest}`
    const status = html`<div class="dim total" role="status">${of}</div>`
    render(html`${status}${sections.map(facet)}`, root)
  }
  redraw()
})
