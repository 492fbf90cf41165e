// What all components use. Document text only ever enters through textContent.

// Characters that turn the order of what follows, unseen, are seen: one mark each.
const withMarks = (text) => String(text).replace(/[\u202a-\u202e\u2066-\u2069]/g, "\u25ca")

// The words of an attribute, as those of a node.
const setTip = (node, words) => { node.title = withMarks(words) }
const setLabel = (node, words) => node.setAttribute("aria-label", withMarks(words))

const make = (tag, cls, text) => {
  const node = document.createElement(tag)
  if (cls) node.className = cls
  if (text !== undefined) node.textContent = text === null ? "" : withMarks(text)
  return node
}

// As many roles as a lens may have; common.css gives each a colour.
const roleClass = (role) => (role === null || role === undefined ? "role-none" : `role-${role}`)

const button = (cls, text, label, onclick) => {
  const node = make("button", cls, text)
  node.type = "button"
  if (label) {
    setTip(node, label)
    setLabel(node, label)
  }
  node.onclick = onclick
  return node
}

// Redrawing replaces the nodes; what had the keyboard's focus gets it back.
const redrawn = (root, key, nodes) => {
  root.replaceChildren(...nodes)
  if (key) root.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true })
}

const focusKey = (root) => root.getRootNode().activeElement?.dataset?.key

// Draws at once or, while a button is held down, after the click: a click is lost where its node
// is replaced between press and release, as when the press itself saves what was typed before.
const drawWhenReleased = (root, draw) => {
  root.onpointerdown = () => {
    root.pressed = true
    const release = () => setTimeout(() => {
      root.pressed = false
      root.waiting?.()
      root.waiting = null
    }, 50)
    for (const end of ["pointerup", "pointercancel", "dragend"]) {
      window.addEventListener(end, release, { once: true })
    }
  }
  if (root.pressed) root.waiting = draw
  else draw()
}

// Sends what people do, in order, until Python has said that it came (`data.received`). Streamlit
// keeps only the last of what a component tells it before a run begins, and what comes while a run
// asks for another one can be lost: what a run did not receive is sent again after a while.
// Returns: a function of an event's name and what it says.
const outbox = (root, data, setTriggerValue) => {
  root.sent = (root.sent ?? []).filter(({ at }) => at > data.received)
  clearTimeout(root.again)
  if (root.sent.length) root.again = setTimeout(() => setTriggerValue("events", root.sent), 2000)
  return (name, event) => {
    const last = Math.max(data.received, ...root.sent.map(({ at }) => at))
    root.sent.push({ ...event, name, at: Math.max(Date.now(), last + 1) })
    setTriggerValue("events", root.sent)
  }
}


// A link to the paper itself, in a new tab; nothing where Python found none. Only http and https.
const paperLink = (address, title) => {
  const url = address && URL.canParse(address) ? new URL(address) : null
  if (!url || !["http:", "https:"].includes(url.protocol)) return null
  const node = make("a", "paperlink", `Open at ${url.hostname}`)
  Object.assign(node, { href: url.href, target: "_blank", rel: "noopener noreferrer" })
  setTip(node, url.href)
  setLabel(node, `Open “${title}” at ${url.hostname}, in a new tab`)
  return node
}

// Year, authors and venue, and the link; null where there is none of them.
const metaLine = (document_) => {
  const link = paperLink(document_.link, document_.title)
  if (!document_.meta && !link) return null
  const node = make("div", "meta")
  if (document_.meta) node.append(make("span", "text", document_.meta))
  if (document_.meta && link) node.append(" · ")
  if (link) node.append(link)
  return node
}

// Text with some of its spans marked; offsets count code points, as Python's do.
const marked = (text, spans, cls) => {
  const node = make("span", `text ${cls ?? ""}`)
  const points = Array.from(withMarks(text))
  let at = 0
  for (const [start, end] of spans) {
    if (start < at) continue
    node.append(points.slice(at, start).join(""), make("mark", "", points.slice(start, end).join("")))
    at = end
  }
  node.append(points.slice(at).join(""))
  return node
}

// The first of many nodes, and a button for the rest: nothing is cut without a cue.
// Args: whole: the set of keys that are shown whole, changed by the button.
const beginning = (nodes, most, whole, key, redraw) => {
  const rest = nodes.length - most
  if (rest <= 0) return nodes
  const all = whole.has(key)
  const more = button("rest", all ? "Show less" : `Show the rest (${rest} more)`, null, () => {
    all ? whole.delete(key) : whole.add(key)
    redraw()
  })
  more.setAttribute("aria-expanded", String(all))
  more.dataset.key = `rest-${key}`
  return [...(all ? nodes : nodes.slice(0, most)), more]
}

// One tab stop for a row of buttons; arrows go from one to the next (ARIA's toolbar).
const toolbar = (node, label) => {
  node.setAttribute("role", "toolbar")
  setLabel(node, label)
  const buttons = () => [...node.querySelectorAll("button:not(:disabled)")]
  const stopAt = (one) => buttons().forEach((each) => { each.tabIndex = each === one ? 0 : -1 })
  stopAt(buttons()[0])
  node.addEventListener("focusin", (event) => stopAt(event.target))
  node.addEventListener("keydown", (event) => {
    const all = buttons()
    const from = all.indexOf(event.target)
    const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: all.length - 1 }[event.key]
    if (to === undefined || from < 0) return
    event.preventDefault()
    all[(to + all.length) % all.length].focus()
  })
  return node
}

// The menu opens a page without parameters; the page then says in its address what it shows. That
// would be an entry of its own in the history, and going back would open the same page again.
// On a busy machine Streamlit has them in the other order: the new page's parameters come onto
// the former page's path, then the path changes. Going back would open that mixture.
if (!history.tidied) {
  history.tidied = true
  const push = history.pushState.bind(history)
  let filled = null  // the address that the last parameters took the place of, where they did
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

// An icon, drawn: fonts lack signs. Its path lies in a square of 16.
const icon = (path) => {
  const space = "http://www.w3.org/2000/svg"
  const svg = document.createElementNS(space, "svg")
  svg.setAttribute("viewBox", "0 0 16 16")
  svg.setAttribute("aria-hidden", "true")
  svg.setAttribute("class", "drawn")
  const line = document.createElementNS(space, "path")
  line.setAttribute("d", path)
  svg.append(line)
  return svg
}

const crossButton = (cls, label, onclick) => {
  const node = button(cls, "", label, onclick)
  node.append(icon("M4 4l8 8M12 4l-8 8"))
  return node
}
