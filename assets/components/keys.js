// Keys that work on a whole page, and the dialog that names them all.
import { html, render } from "./base.js"

let dialog = null // that was shown last

export const isWriting = (target) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))

// Whether a dialog or a menu lies over the page: Streamlit's, or one of ours in any component.
// A dialog of ours is closed before it is removed: a key pressed meanwhile is for the page.
export const isCovered = () =>
  Boolean(dialog?.open && dialog.isConnected) ||
  Boolean(document.querySelector('[role="dialog"], [data-baseweb="popover"]'))

// Whether a key is for the page: nobody is writing, nothing lies over it, no modifier is held.
export const isForPage = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return false
  return !isWriting(event.composedPath()[0]) && !isCovered()
}

// A dialog over the page: Escape, the button or a click beside it closes it.
// Args: content: a template, or a function that gets what closes the dialog and returns one.
export const showDialog = (parent, cls, heading, content) => {
  const shown = document.createElement("dialog")
  const close = () => shown.close()
  shown.className = `root ${cls}`
  shown.setAttribute("aria-labelledby", "dialog-heading")
  shown.onclick = ({ target }) => target === shown && close()
  shown.onclose = () => shown.remove()
  parent.append(shown)
  render(
    html`<div class="inside">
      <div class="dialoghead">
        <h2 class="text" id="dialog-heading">${heading}</h2>
        <button @click=${close}>Close</button>
      </div>
      ${typeof content === "function" ? content(close) : content}
    </div>`,
    shown,
  )
  dialog = shown
  shown.showModal()
}

// Args: rows of [keys, what they do].
export const keyList = (rows) => {
  const all = [...rows, [["?"], "Show keys"], [["Esc"], "Close"]]
  const named = (keys) => keys.map((key) => html`<kbd>${key}</kbd>`)
  return html`<dl class="keylist">
      ${all.map(([keys, does]) => html`<dt>${named(keys)}</dt><dd>${does}</dd>`)}
    </dl>
    <p class="small">Keys are off while you type in a field.</p>`
}
