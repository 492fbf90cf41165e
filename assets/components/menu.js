// The menu of pages on narrow screens: it closes after a choice. Streamlit puts its sections into a
// list, where only items may be: for screen readers it is a group.
import { component } from "./base.js"

const NARROW = 768
const ITEMS = '[data-testid="stSidebarNavItems"]'
const COLLAPSE = '[data-testid="stSidebarCollapseButton"] button'

export default component(({ on }) => {
  on(document, "click", ({ target }) => {
    const chosen = target.closest?.('[data-testid="stSidebarNavLink"]')
    if (chosen && innerWidth <= NARROW) document.querySelector(COLLAPSE)?.click()
  })
  const group = () => {
    for (const node of document.querySelectorAll(`${ITEMS}, ${ITEMS} li`)) {
      node.setAttribute("role", node.tagName === "LI" ? "none" : "group")
    }
  }
  const watch = new MutationObserver(group)
  watch.observe(document.body, { childList: true, subtree: true })
  group()
  return () => watch.disconnect()
})
