// The help of Explore: a button for its keys and its tour, and the keys that need no result.
import { button, component, html, render } from "./base.js"
import { isCovered, isForPage, keyList, showDialog } from "./keys.js"
import { Tour } from "./tour.js"

const rows = (grades) => [
  [["J", "K"], "Next result, previous result"],
  [grades, "Grade; press again to clear"],
  [["X"], "Keep or unkeep"],
  [["Enter"], "Show or hide details"],
  [["←", "→"], "Move between actions"],
  [["/"], "Choose another seed"],
]

export default component(({ data, root, parent, state, send }) => {
  const left = (hadFocus) => {
    if (hadFocus) root.querySelector(".open").focus({ preventScroll: true })
    if (state.due) send("left", {})
  }
  const tour = (state.tour ??= new Tour(parent, left))
  // It begins by itself once, where it is due.
  if (data.tour && !state.due) Object.assign(tour, { at: 0, fresh: true })
  state.due ||= data.tour

  const listKeys = () =>
    showDialog(parent, "keysdialog", "Help", (close) => {
      const start = () => {
        close()
        tour.go(0)
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

  const onKey = (event) => {
    const isOpen = tour.at !== null
    if (event.key === "Escape" && event.isTrusted && isOpen && !isCovered()) return tour.leave()
    const does = { "/": openFinder, "?": listKeys }[event.key]
    if (event.repeat || !does || !isForPage(event)) return
    event.preventDefault()
    does()
  }

  const label = "Help: keys and tour (?)"
  render(button("open", "Help", label, listKeys, { popup: "dialog" }), root)
  document.addEventListener("keydown", onKey)
  tour.show()
  return () => {
    document.removeEventListener("keydown", onKey)
    tour.hide()
  }
})
