// What all components use. Document text only ever enters through textContent.
const make = (tag, cls, text) => {
  const node = document.createElement(tag)
  if (cls) node.className = cls
  if (text !== undefined) node.textContent = text
  return node
}

// As many roles as a lens may have; common.css gives each a colour.
const roleClass = (role) => (role === null || role === undefined ? "role-none" : `role-${role}`)

const button = (cls, text, label, onclick) => {
  const node = make("button", cls, text)
  node.type = "button"
  if (label) {
    node.title = label
    node.setAttribute("aria-label", label)
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

// The menu opens a page without parameters; the page then says in its address what it shows. That
// would be an entry of its own in the history, and going back would open the same page again.
if (!history.tidied) {
  history.tidied = true
  const push = history.pushState.bind(history)
  history.pushState = (state, title, url) => {
    const next = new URL(url ?? "", location.href)
    const filled = next.pathname === location.pathname && next.search && !location.search
    return filled ? history.replaceState(state, title, url) : push(state, title, url)
  }
}
