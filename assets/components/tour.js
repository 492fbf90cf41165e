// The tour of Explore: stops beside what they are about, over a page that can be used meanwhile.
import { button, html, render } from "./base.js"

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

export class Tour {
  at = null // the stop that is shown
  scrolled = new Map() // node -> where it stood

  // Args: left: called when the tour is left.
  constructor(parent, left) {
    Object.assign(this, { parent, left })
  }

  get panel() {
    return this.layer.querySelector(".panel")
  }

  go(at) {
    this.at = at
    this.fresh = true
    this.show()
  }

  // Put on the page, and kept in place while it is there: the page moves under it.
  show() {
    if (this.at === null) return
    if (!this.layer?.isConnected) {
      this.layer = document.createElement("div")
      Object.assign(this.layer, { className: "root tour", popover: "manual" })
      this.parent.append(this.layer)
      this.layer.showPopover()
    }
    cancelAnimationFrame(this.frame)
    const follow = () => {
      this.draw()
      this.frame = requestAnimationFrame(follow)
    }
    follow()
    if (this.fresh) this.panel.focus({ preventScroll: true })
    this.fresh = false
  }

  hide() {
    this.fresh ||= Boolean(this.layer?.matches(":focus-within"))
    cancelAnimationFrame(this.frame)
    this.layer?.remove()
  }

  leave() {
    const hadFocus = this.layer.matches(":focus-within")
    this.hide()
    this.at = null
    for (const [node, top] of this.scrolled) node.scrollTop = top
    this.scrolled.clear()
    this.left(hadFocus)
  }

  // Where all that is scrolled stood before is put back at the end of the tour.
  reveal(target, narrow) {
    for (let node = target; node; node = node.parentElement ?? node.getRootNode().host) {
      if (!this.scrolled.has(node)) this.scrolled.set(node, node.scrollTop)
    }
    Object.assign(target.style, { scrollMarginTop: "5rem", scrollMarginBottom: "1.5rem" })
    target.scrollIntoView({ block: narrow ? "start" : "nearest" })
  }

  draw() {
    const targets = STOPS[this.at][2]().filter((node) => node?.getClientRects().length)
    const narrow = window.innerWidth < NARROW
    if (targets.length && this.seen !== this.at) {
      this.seen = this.at
      this.reveal(targets[0], narrow)
    }
    const boxes = targets.map((node) => node.getBoundingClientRect())
    const rings = boxes.map(({ left, top, width, height }) => {
      const style = place({ left: left - 5, top: top - 5, width: width + 10, height: height + 10 })
      return html`<div class="ring" style=${style}></div>`
    })
    const docked = narrow || !boxes.length
    render(html`${rings}${this.words(docked ? null : boxes.at(-1))}`, this.layer)
  }

  // Args: box: what the words stand beside; null at the foot of the window.
  words(box) {
    const [heading, words] = STOPS[this.at]
    const last = this.at === STOPS.length - 1
    const next = () => (last ? this.leave() : this.go(this.at + 1))
    const back = () => this.go(this.at - 1)
    const style = box && this.panel ? place(this.beside(box)) : ""
    return html`<section class="panel ${box ? "" : "docked"}" style=${style} role="dialog"
      tabindex="-1" aria-labelledby="tour-heading" aria-describedby="tour-words">
      <div class="kicker">Tour · ${this.at + 1} of ${STOPS.length}</div>
      <h2 id="tour-heading">${heading}</h2>
      <div id="tour-words">${words.map((line) => html`<p>${line}</p>`)}</div>
      <div class="tourbar">
        ${button("plain leave", "Leave", "Leave the tour (Esc)", () => this.leave())}
        ${button("", "Back", null, back, { disabled: !this.at })}
        ${button("next", last ? "Done" : "Next", null, next)}
      </div>
    </section>`
  }

  // To the right of a box, or to its left where that is too near the edge; always in the window.
  beside(box) {
    const { offsetWidth: width, offsetHeight: height } = this.panel
    const right = box.right + GAP
    const fits = right + width + GAP <= window.innerWidth
    const left = fits ? right : Math.max(GAP, box.left - GAP - width)
    return { left, top: Math.max(70, Math.min(box.top, window.innerHeight - height - GAP)) }
  }
}

const place = (box) =>
  Object.entries(box)
    .map(([name, value]) => `${name}: ${Math.round(value)}px`)
    .join("; ")
