// Adjudicating by keys, as on the desk: a digit is the decision, and decides where a reason is
// written already; N goes to the reason, Enter there decides, Escape comes back to the keys.
const writes = (node) => node instanceof HTMLElement && (node.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName))

export default function (component) {
  const { data, parentElement } = component
  const form = () => document.querySelector('[class*="st-key-annotate_decision"]')?.closest('[data-testid="stForm"]')
  let held = "" // the key that was pressed last here: held down, it writes no reason
  const onKey = (event) => {
    if (!event.repeat) held = ""
    else if (event.key === held) event.preventDefault()
    const target = event.composedPath()[0]
    const reason = form()?.querySelector('input[type="text"]')
    if (!reason || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    if (writes(target)) {
      if (event.key === "Escape" && target === reason) reason.blur()
      return
    }
    if (event.repeat || document.querySelector('[role="dialog"], [data-baseweb="popover"]')) return
    const note = event.key.toLowerCase() === "n"
    if (!note && !data.grades.map(String).includes(event.key)) return
    event.preventDefault()
    held = event.key
    if (!note) {
      const choices = [...form().querySelectorAll('[data-variant="segmented_control"]')]
      const choice = choices.find((one) => one.textContent.trim().startsWith(`${event.key} `))
      if (choice && !choice.hasAttribute("data-selected")) choice.click()
    }
    if (note || !reason.value.trim()) reason.focus()
    else setTimeout(() => form()?.querySelector('[data-testid="stFormSubmitButton"] button')?.click())
  }
  document.addEventListener("keydown", onKey)
  parentElement.querySelector(".root").dataset.listening = "true"
  parentElement.seedlensStop?.()
  parentElement.seedlensStop = () => document.removeEventListener("keydown", onKey)
  return () => parentElement.seedlensStop()
}
