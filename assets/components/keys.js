// Keys that work on a whole page, and the dialog that names them all.

const isWriting = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))

// Whether a dialog or a menu lies over the page: Streamlit's, or one of ours in any component.
// A dialog of ours is closed before it is removed: a key pressed meanwhile is for the page.
const isCovered = () => {
  const ours = globalThis.seedlensDialog
  return Boolean((ours?.open && ours.isConnected) || document.querySelector('[role="dialog"], [data-baseweb="popover"]'))
}

// Whether a key is for the page: nobody is writing, nothing lies over it, no modifier is held.
const isForPage = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return false
  return !isWriting(event.composedPath()[0]) && !isCovered()
}

// A dialog over the page: Escape, the button or a click beside it closes it. It stands beside the
// root, since what is in there is drawn anew with every change.
const showDialog = (parent, cls, heading, nodes) => {
  const dialog = make("dialog", `root ${cls}`)
  dialog.classList.toggle("dark", parent.querySelector(".root").classList.contains("dark"))
  const inside = make("div", "inside")
  const head = make("div", "dialoghead")
  const title = make("h2", "text", heading)
  title.id = "dialog-heading"
  dialog.setAttribute("aria-labelledby", title.id)
  head.append(title, button("", "Close", null, () => dialog.close()))
  inside.append(head, ...nodes)
  dialog.append(inside)
  dialog.onclick = (event) => event.target === dialog && dialog.close()
  dialog.onclose = () => dialog.remove()
  parent.append(dialog)
  globalThis.seedlensDialog = dialog
  dialog.showModal()
}

// Args: rows of [keys, what they do]; first: what stands above them, in a dialog called "Help".
const showKeys = (parent, rows, first = []) => {
  const list = make("dl", "keylist")
  for (const [keys, does] of [...rows, [["?"], "Show keys"], [["Esc"], "Close"]]) {
    const term = make("dt")
    term.append(...keys.map((key) => make("kbd", "", key)))
    list.append(term, make("dd", "", does))
  }
  const words = make("p", "small", "Keys are off while you type in a field.")
  showDialog(parent, "keysdialog", first.length ? "Help" : "Keys", [...first, list, words])
}
