// The help of Explore: a button for its keys and its tour, and the keys that need no result.
const helps = new WeakMap()

const listKeys = (help) => {
  const { grades } = help.data
  const start = button("start", "Start the tour", null, () => {
    start.closest("dialog").close()
    help.tour.go(0)
  })
  const offer = make("div", "offer")
  offer.append(make("span", "", "Three steps: seed, aspect, results."), start)
  showKeys(help.parent, [
    [["J", "K"], "Next result, previous result"],
    [grades, "Grade; press again to clear"],
    [["X"], "Keep or unkeep"],
    [["Enter"], "Show or hide details"],
    [["←", "→"], "Move between actions"],
    [["/"], "Choose another seed"],
  ], [make("h3", "", "Tour"), offer, make("h3", "", "Keys")])
}

const openFinder = (key) => document.querySelector(`.st-key-${key} button`)?.click()

const pressed = (help) => (event) => {
  const { tour, data } = help // as they are when a key is pressed
  if (event.key === "Escape" && event.isTrusted && tour.open && !isCovered()) return tour.leave()
  if (event.repeat || !isForPage(event)) return
  const does = { "/": () => openFinder(data.finder), "?": () => listKeys(help) }[event.key]
  if (!does) return
  event.preventDefault()
  does()
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  if (!helps.has(parentElement)) {
    const help = { parent: parentElement, tour: new Tour(parentElement) }
    helps.set(parentElement, help)
    const open = button("open", "Help", "Help: keys and tour (?)", () => listKeys(help))
    open.setAttribute("aria-haspopup", "dialog")
    root.append(open)
    help.tour.home = open
  }
  const help = helps.get(parentElement)
  help.data = data
  help.tour.take(data, () => setTriggerValue("left", { at: Date.now() }))
  help.onKey ??= pressed(help)
  document.addEventListener("keydown", help.onKey) // once: it is the same each time
  help.tour.show()
  return () => {
    document.removeEventListener("keydown", help.onKey)
    help.tour.hide()
  }
}
