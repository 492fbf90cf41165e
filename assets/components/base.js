// What all components use: the frame of a component, templates in which outside text is text, and
// the parts of documents.
import {
  html as asHtml, svg as asSvg, live, nothing, render as draw, repeat,
} from "./vendor/lit-html.js"

export { live, nothing, repeat }

// Characters that turn the order of what follows, unseen, are seen: one mark each.
export const withMarks = (text) => String(text).replace(/[\u202a-\u202e\u2066-\u2069]/g, "\u25ca")

// Values that a template takes as they are: properties, keys and addresses; others are words.
const AS_IS = /(\.\w+|data-[\w-]+|href|value)="?$/

const marking =
  (tag) =>
  (strings, ...values) => {
    const isWords = (value, i) => typeof value === "string" && !AS_IS.test(strings[i])
    return tag(strings, ...values.map((value, i) => (isWords(value, i) ? withMarks(value) : value)))
  }

export const html = marking(asHtml)
export const svg = marking(asSvg)

export const activeIn = (root) => root.getRootNode().activeElement

// Draws a template; what had the focus keeps it where its node moves.
export const render = (template, root) => {
  const focused = activeIn(root)
  draw(template, root)
  if (focused?.isConnected && activeIn(root) !== focused) focused.focus({ preventScroll: true })
  for (const bar of root.querySelectorAll("[role=toolbar]")) stopAt(bar)
}

// Whether the theme is dark: its letters are light then.
const isDark = (root) => {
  const [red, green, blue] = getComputedStyle(root).color.match(/[\d.]+/g)
  return 2 * red + 5 * green + Number(blue) > 8 * 128
}

// The default export of a module. Streamlit calls it with new data, and when the theme changes.
// Args: show: gets the data, the root to draw in, `state`, which lasts from one call to the next,
//   ways to tell Python, and `on`, which listens until the next drawing; returns what else ends it.
export const component =
  (show) =>
  ({ data, parentElement: parent, setTriggerValue, setStateValue: setState }) => {
    const root = parent.querySelector(".root")
    if (!root.isConnected) return undefined // the page went on while the module was on its way
    root.end?.()
    if (root.version !== import.meta.url) {
      // Drawn first, or by another version before an upgrade: what was not sent stays.
      root.version = import.meta.url
      root.state = {}
      render(nothing, root)
    }
    const dark = isDark(root)
    const host = root.getRootNode().host ?? parent
    host.style.colorScheme = dark ? "dark" : "light"
    const listening = new AbortController()
    const on = (target, event, does, how) =>
      target.addEventListener(event, does, { ...how, signal: listening.signal })
    // Two equal triggers in a row are two events: a number that grows tells them apart.
    const send = (name, event) => setTriggerValue(name, { ...event, at: Date.now() })
    const post = outbox(root, data, setTriggerValue)
    const stop = show({ data, root, parent, state: root.state, dark, send, post, setState, on })
    const end = () => {
      listening.abort()
      stop?.()
    }
    root.end = end
    // The end of a former drawing comes after the next one has begun.
    return () => root.end === end && end()
  }

// Sends what people do, in order, until Python has said that it came (`data.received`). Streamlit
// keeps only the last of what a component tells it before a run begins, and what comes while a run
// asks for another one can be lost: what a run did not receive is sent again after a while.
// Returns: a function of an event's name and what it says.
export const outbox = (root, data, setTriggerValue) => {
  root.sent = (root.sent ?? []).filter(({ at }) => at > data.received)
  clearTimeout(root.again)
  if (root.sent.length) root.again = setTimeout(() => setTriggerValue("events", root.sent), 2000)
  return (name, event) => {
    const last = Math.max(data.received, ...root.sent.map(({ at }) => at))
    root.sent.push({ ...event, name, at: Math.max(Date.now(), last + 1) })
    setTriggerValue("events", root.sent)
  }
}

// As many roles as a lens may have; base.css gives each a colour.
export const roleClass = (role) => `role-${role ?? "none"}`

export const counted = (count, what = "document") =>
  `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`

// An icon, drawn: fonts lack signs. Its path lies in a square of 16.
export const icon = (path, style = nothing) =>
  html`<svg class="drawn" style=${style} viewBox="0 0 16 16" aria-hidden="true">
    <path d=${path}></path>
  </svg>`

export const CROSS = icon("M4 4l8 8M12 4l-8 8")

// A link to the paper itself, in a new tab; nothing where Python found none. Only http and https.
const paperLink = (address, title) => {
  const url = address && URL.canParse(address) ? new URL(address) : null
  if (!["http:", "https:"].includes(url?.protocol)) return nothing
  return html`<a class="paperlink" href=${url.href} target="_blank" rel="noopener noreferrer"
    title=${url.href} aria-label="Open “${title}” at ${url.hostname}, in a new tab"
    >Open at ${url.hostname}</a>`
}

// Year, authors and venue, and the link.
export const metaLine = ({ meta, link, title }) => {
  const paper = paperLink(link, title)
  if (!meta && paper === nothing) return nothing
  const words = meta ? html`<span class="text">${meta}</span>` : nothing
  return html`<div class="meta">${words}${meta && paper !== nothing ? " · " : ""}${paper}</div>`
}

// Text with some of its spans marked; offsets count code points, as Python's do.
export const marked = (text, spans, cls = "") => {
  const points = Array.from(text)
  const part = (from, to) => points.slice(from, to).join("")
  const parts = []
  let at = 0
  for (const [start, end] of spans ?? []) {
    if (start < at) continue
    parts.push(html`${part(at, start)}<mark>${part(start, end)}</mark>`)
    at = end
  }
  return html`<span class="text ${cls}">${parts}${part(at)}</span>`
}

// Options of a select, each [value, words].
export const options = (all, chosen) =>
  all.map(([value, words]) => {
    const selected = live(value === chosen)
    return html`<option value=${value} .selected=${selected}>${words}</option>`
  })

// Args: label: says more than the words, as tooltip and to screen readers.
export const button = (
  cls, words, label, onclick, { pressed, expanded, disabled, popup, style, title } = {},
) =>
  html`<button class=${cls} title=${title ?? label ?? nothing} aria-label=${label ?? nothing}
    aria-pressed=${pressed ?? nothing} aria-expanded=${expanded ?? nothing}
    aria-haspopup=${popup ?? nothing} style=${style ?? nothing}
    ?disabled=${disabled} @click=${onclick}>${words}</button>`

// A sentence with the letter of its role. Args: does: what a click does, if anything.
export const sentence = ({ role, letter, text }, { cls = "sentence", words, title, pressed, does } = {}) => {
  const shown = html`<span class="letter">${letter}</span
    >${words ?? html`<span class="text">${text}</span>`}`
  return does
    ? button(`${cls} ${roleClass(role)}`, shown, null, does, { pressed, title })
    : html`<div class="${cls} ${roleClass(role)}">${shown}</div>`
}

// A passage with the letter of its role, and whose it is.
export const passage = (letter, role, whose, words) =>
  html`<div class="pair ${roleClass(role)}">
    <span class="letter">${letter}</span><span class="who">${whose}</span>${words}
  </div>`

export const cosine = ({ score }) => `Cosine of the two passages: ${score.toFixed(2)}`

// Evidence: a passage of the seed, and the passage of a document that is closest to it.
export const evidence = (pair, cls = "", about = "") => {
  const own = marked(pair.seed_text, pair.seed_marks, "seedtext")
  return html`<div class=${cls} title=${pair.score === undefined ? nothing : cosine(pair)}>
    ${about}${passage(pair.seed_letter, pair.seed_role, "seed", own)}
    ${passage(pair.letter, pair.role, "this", marked(pair.doc_text, pair.doc_marks))}
  </div>`
}

// The first of many rows, and a button for the rest: nothing is cut without a cue.
// Args: whole: the set of keys that are shown whole, changed by the button.
export const beginning = (rows, most, whole, key, redraw) => {
  const rest = rows.length - most
  if (rest <= 0) return rows
  const all = whole.has(key)
  const turn = () => {
    all ? whole.delete(key) : whole.add(key)
    redraw()
  }
  const words = all ? "Show less" : `Show the rest (${rest} more)`
  const more = button("rest", words, null, turn, { expanded: all })
  return html`${all ? rows : rows.slice(0, most)}${more}`
}

// A row of buttons with one tab stop; arrows go from one to the next (ARIA's toolbar).
export const toolbar = (cls, label, buttons) =>
  html`<div class=${cls} role="toolbar" aria-label=${label} @keydown=${walk}
    @focusin=${({ currentTarget, target }) => stopAt(currentTarget, target)}>${buttons}</div>`

const buttonsOf = (bar) => [...bar.querySelectorAll("button:not(:disabled)")]

const stopAt = (bar, stop) => {
  const all = buttonsOf(bar)
  stop ??= all.find(({ tabIndex }) => tabIndex === 0) ?? all[0]
  for (const each of all) each.tabIndex = each === stop ? 0 : -1
}

const walk = (event) => {
  const all = buttonsOf(event.currentTarget)
  const from = all.indexOf(event.target)
  const steps = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: all.length - 1 }
  const to = steps[event.key]
  if (to === undefined || from < 0) return
  event.preventDefault()
  all[(to + all.length) % all.length].focus()
}

// The menu opens a page without parameters; the page then says in its address what it shows. That
// would be an entry of its own in the history, and going back would open the same page again.
// On a busy machine Streamlit has them in the other order: the new page's parameters come onto
// the former page's path, then the path changes. Going back would open that mixture.
if (!history.tidied) {
  history.tidied = true
  const push = history.pushState.bind(history)
  let filled = null // the address that the last parameters took the place of, where they did
  history.pushState = (state, title, url) => {
    const next = new URL(url ?? "", location.href)
    const here = next.pathname === location.pathname
    const early = !here && next.search && next.search === location.search
    const former = filled
    filled = here && next.search && !location.search ? location.href : null
    if (early && former) history.replaceState(state, title, former)
    return filled || (early && !former)
      ? history.replaceState(state, title, url)
      : push(state, title, url)
  }
}
