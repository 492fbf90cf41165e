// The tour of Explore: stops beside what they are about, over a page that can be used meanwhile.
const inside = (key, selector) => {
  const nodes = [...document.querySelectorAll(`.st-key-${key} *`)]
  return nodes.find((node) => node.shadowRoot)?.shadowRoot.querySelector(selector)
}

// heading, words, what is outlined: the last of them is what the words stand beside
const STOPS = [
  ["Seed", [
    "Start from one document, the seed. Letters and colours mark the aspect of each sentence.",
    "“Choose another seed” searches by words or meaning, or takes your own text.",
  ], () => [inside("explore_seed", "section")]],
  ["Aspect and instruction", [
    "Choose an aspect, or click its letter in the seed. In the instruction, add or exclude aspects.",
    "Correct the interpretation below it: remove, turn or add aspects and words.",
  ], () => [document.querySelector(".st-key-explore_asked")]],
  ["Result and evidence", [
    "Each result shows the matching sentences of both documents. The arrow shows how far the aspect moved it.",
    "“Changed by” counts the top 20 results that your aspect or instruction brought in.",
  ], () => [document.querySelector(".sl-changed"), inside("explore_results", "[data-doc]")]],
]
const NARROW = 800 // px: below, the words stand at the foot of the window
const GAP = 14

class Tour {
  constructor(parent) {
    this.parent = parent
    this.at = null // the stop that is shown
    this.ended = false
    this.scrolled = new Map() // node -> where it stood
  }

  get open() {
    return this.at !== null
  }

  take(data, tell) {
    this.tell = tell
    this.due = data.tour
    this.dark = data.dark
    if (data.tour && !this.open && !this.ended) this.at = 0
  }

  go(at) {
    this.at = at
    this.layer?.remove()
    this.layer = null
    this.show()
    this.panel.focus({ preventScroll: true })
  }

  leave() {
    const hadFocus = this.layer?.matches(":focus-within")
    this.hide()
    this.layer = this.at = null
    this.ended = true
    this.scrolled.forEach((top, node) => { node.scrollTop = top })
    this.scrolled.clear()
    if (hadFocus) this.home.focus({ preventScroll: true })
    if (this.due) this.tell()
  }

  // Where all that the tour scrolls stood before it, to be put back at its end.
  remember(target) {
    for (let node = target; node; node = node.parentElement ?? node.getRootNode().host) {
      if (!this.scrolled.has(node)) this.scrolled.set(node, node.scrollTop)
    }
  }

  // Put on the page, and kept in place while it is there: the page moves under it.
  show() {
    if (!this.open) return
    const isNew = !this.layer
    if (isNew) this.draw()
    this.layer.classList.toggle("dark", Boolean(this.dark))
    if (!this.layer.isConnected) {
      this.parent.append(this.layer)
      this.layer.showPopover()
    }
    if (isNew) {
      this.reveal = true
      this.panel.focus({ preventScroll: true })
    }
    cancelAnimationFrame(this.frame)
    const follow = () => {
      this.place()
      this.frame = requestAnimationFrame(follow)
    }
    follow()
  }

  hide() {
    cancelAnimationFrame(this.frame)
    this.layer?.remove()
  }

  draw() {
    const [heading, words] = STOPS[this.at]
    const last = this.at === STOPS.length - 1
    this.layer = make("div", "root tour")
    this.layer.popover = "manual"
    this.panel = make("section", "panel")
    Object.assign(this.panel, { role: "dialog", tabIndex: -1 })
    this.panel.setAttribute("aria-labelledby", "tour-heading")
    this.panel.setAttribute("aria-describedby", "tour-words")
    const title = make("h2", "", heading)
    title.id = "tour-heading"
    const text = make("div")
    text.id = "tour-words"
    text.append(...words.map((line) => make("p", "", line)))
    const bar = make("div", "tourbar")
    const back = button("", "Back", null, () => this.go(this.at - 1))
    back.disabled = this.at === 0
    const next = button("next", last ? "Done" : "Next", null, () => (last ? this.leave() : this.go(this.at + 1)))
    bar.append(button("plain leave", "Leave", "Leave the tour (Esc)", () => this.leave()), back, next)
    this.panel.append(make("div", "kicker", `Tour · ${this.at + 1} of ${STOPS.length}`), title, text, bar)
    this.layer.append(this.panel)
  }

  place() {
    const targets = STOPS[this.at][2]().filter((node) => node?.getClientRects().length)
    const narrow = window.innerWidth < NARROW
    if (this.reveal && targets.length) {
      this.reveal = false
      this.remember(targets[0])
      Object.assign(targets[0].style, { scrollMarginTop: "5rem", scrollMarginBottom: "1.5rem" })
      targets[0].scrollIntoView({ block: narrow ? "start" : "nearest" })
    }
    const boxes = targets.map((node) => node.getBoundingClientRect())
    const rings = [...this.layer.querySelectorAll(".ring")]
    while (rings.length < boxes.length) {
      rings.push(make("div", "ring"))
      this.layer.prepend(rings.at(-1))
    }
    rings.splice(boxes.length).forEach((ring) => ring.remove())
    boxes.forEach((box, i) => moved(rings[i], { left: box.left - 5, top: box.top - 5, width: box.width + 10, height: box.height + 10 }))
    const docked = narrow || !boxes.length
    this.panel.classList.toggle("docked", docked)
    if (docked) this.panel.removeAttribute("style")
    else moved(this.panel, this.beside(boxes.at(-1)))
  }

  // To the right of a box, or to its left where that is too near the edge; always in the window.
  beside(box) {
    const { offsetWidth: width, offsetHeight: height } = this.panel
    const right = box.right + GAP
    const left = right + width + GAP <= window.innerWidth ? right : Math.max(GAP, box.left - GAP - width)
    return { left, top: Math.max(70, Math.min(box.top, window.innerHeight - height - GAP)) }
  }
}

// In pixels of the window; written only where it changes.
const moved = (node, box) => {
  for (const [name, value] of Object.entries(box)) {
    const px = `${Math.round(value)}px`
    if (node.style[name] !== px) node.style[name] = px
  }
}
