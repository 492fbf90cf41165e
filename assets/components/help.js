// The help of Explore: a button for its keys and its tour, and the keys that need no result. The
// tour has stops beside what they are about, over a page that can be used meanwhile.
import { button, component, html, render } from "./base.js"
import { isCovered, isForPage, keyList, showDialog } from "./keys.js"

const inside = (key, selector) => {
  const nodes = [...document.querySelectorAll(`.st-key-${key} *`)]
  return nodes.find((node) => node.shadowRoot)?.shadowRoot.querySelector(selector)
}

// heading, words, what is outlined: the last of them is what the words stand beside
const STOPS = [
  [
    "Seed",
    [
      "Start from one document, the seed. Letters and colours mark the aspect of each sentence.",
      "“Choose another seed” searches by words or meaning, or takes your own text.",
    ],
    () => [inside("explore_seed", "section")],
  ],
  [
    "Aspect and instruction",
    [
      "Choose an aspect, or click its letter in the seed. In the instruction, add or exclude aspects.",
      "Correct the interpretation below it: remove, reverse or add aspects and words.",
    ],
    () => [document.querySelector(".st-key-explore_asked")],
  ],
  [
    "Result and evidence",
    [
      "Each result shows the matching sentences of both documents. The arrow shows how far the aspect moved it.",
      "“Changed by” counts the top 20 results that your aspect or instruction brought in.",
    ],
    () => [document.querySelector(".sl-changed"), inside("explore_results", "[data-doc]")],
  ],
]
const NARROW = 800 // px: below, the words stand at the foot of the window
const GAP = 14

const place = (box) =>
  Object.entries(box)
    .map(([name, value]) => `${name}: ${Math.round(value)}px`)
    .join("; ")

// To the right of a box, or to its left where that is too near the edge; always in the window.
const beside = (box, { offsetWidth: width, offsetHeight: height }) => {
  const right = box.right + GAP
  const fits = right + width + GAP <= innerWidth
  const left = fits ? right : Math.max(GAP, box.left - GAP - width)
  return place({ left, top: Math.max(70, Math.min(box.top, innerHeight - height - GAP)) })
}

const rows = (grades) => [
  [["J", "K"], "Next result, previous result"],
  [grades, "Grade; press again to clear"],
  [["X"], "Keep or unkeep"],
  [["Enter"], "Show or hide details"],
  [["←", "→"], "Move between actions"],
  [["/"], "Choose another seed"],
]

export default component(({ data, on, root, parent, state, send }) => {
  state.at ??= null // the stop that is shown
  state.scrolled ??= new Map() // node -> where it stood
  let frame = 0

  const go = (at) => {
    Object.assign(state, { at, fresh: true })
    draw()
  }
  const leave = () => {
    const hadFocus = root.querySelector(".tour").matches(":focus-within")
    for (const [node, top] of state.scrolled) node.scrollTop = top
    state.scrolled.clear()
    go(null)
    if (hadFocus) root.querySelector(".open").focus({ preventScroll: true })
    if (state.due) send("left", {})
  }

  // Where all that is scrolled stood before is put back at the end of the tour.
  const reveal = (target) => {
    for (let node = target; node; node = node.parentElement ?? node.getRootNode().host) {
      if (!state.scrolled.has(node)) state.scrolled.set(node, node.scrollTop)
    }
    Object.assign(target.style, { scrollMarginTop: "5rem", scrollMarginBottom: "1.5rem" })
    target.scrollIntoView({ block: innerWidth < NARROW ? "start" : "nearest" })
  }

  const tour = () => {
    const { at } = state
    const [heading, words, find] = STOPS[at]
    const targets = find().filter((node) => node?.getClientRects().length)
    if (targets.length && state.revealed !== at) reveal(targets[0])
    if (targets.length) state.revealed = at
    const boxes = targets.map((node) => node.getBoundingClientRect())
    const ring = ({ left, top, width, height }) =>
      html`<div class="ring" style=${place({ left, top, width, height })}></div>`
    const docked = innerWidth < NARROW || !boxes.length
    const panel = root.querySelector(".panel")
    const last = at === STOPS.length - 1
    return html`<div class="tour" popover="manual">
      ${boxes.map(ring)}
      <section class="panel ${docked ? "docked" : ""}" role="dialog" tabindex="-1"
        style=${docked || !panel ? "" : beside(boxes.at(-1), panel)}
        aria-labelledby="tour-heading" aria-describedby="tour-words">
        <div class="kicker">Tour · ${at + 1} of ${STOPS.length}</div>
        <h2 id="tour-heading">${heading}</h2>
        <div id="tour-words">${words.map((line) => html`<p>${line}</p>`)}</div>
        <div class="tourbar">
          ${button("plain leave", "Leave", "Leave the tour (Esc)", leave)}
          ${button("", "Back", null, () => go(at - 1), { disabled: !at })}
          ${button("next", last ? "Done" : "Next", null, () => (last ? leave() : go(at + 1)))}
        </div>
      </section>
    </div>`
  }

  // The tour is kept in place while it is there: the page moves under it.
  const draw = () => {
    cancelAnimationFrame(frame)
    const isOpen = state.at !== null
    const help = button("open", "Help", "Help: keys and tour (?)", listKeys, { popup: "dialog" })
    render(html`${help}${isOpen ? tour() : ""}`, root)
    root.getRootNode().host?.toggleAttribute("data-tour", isOpen)
    if (!isOpen) return
    root.querySelector(".tour:not(:popover-open)")?.showPopover()
    if (state.fresh) root.querySelector(".panel").focus({ preventScroll: true })
    state.fresh = false
    frame = requestAnimationFrame(draw)
  }

  const listKeys = () =>
    showDialog(parent, "keysdialog", "Help", (close) => {
      const start = () => {
        close()
        go(0)
      }
      return html`<h3>Tour</h3>
        <div class="offer">
          <span>Three steps: seed, aspect, results.</span>
          <button class="start" @click=${start}>Start the tour</button>
        </div>
        <h3>Keys</h3>
        ${keyList(rows(data.grades))}`
    })
  const openFinder = () => document.querySelector(`.st-key-${data.finder} button`)?.click()

  on(document, "keydown", (event) => {
    const isOpen = state.at !== null
    if (event.key === "Escape" && event.isTrusted && isOpen && !isCovered()) return leave()
    const does = { "/": openFinder, "?": listKeys }[event.key]
    if (event.repeat || !does || !isForPage(event)) return
    event.preventDefault()
    does()
  })
  // It begins by itself once, where it is due.
  if (data.tour && !state.due) Object.assign(state, { at: 0, fresh: true })
  state.due ||= data.tour
  draw()
  return () => cancelAnimationFrame(frame)
})
