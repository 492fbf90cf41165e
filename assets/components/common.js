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

