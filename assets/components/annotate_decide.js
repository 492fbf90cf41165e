// Adjudicating by keys: a digit chooses the decision, N goes to the reason, Enter decides, or
// goes to the reason where there is none yet; Escape leaves the reason.
const writes = (node) => node instanceof HTMLElement && (node.isContentEditable || node.matches('input:not([type="checkbox"], [type="radio"]), textarea, select'))

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
    const choices = [...form().querySelectorAll('[data-variant="segmented_control"]')]
    const enters = event.key === "Enter" && (choices.includes(target) || !target.closest("button, a, summary"))
    const note = event.key.toLowerCase() === "n" || (enters && !reason.value.trim())
    if (!note && !enters && !data.grades.map(String).includes(event.key)) return
    event.preventDefault()
    held = event.key
    const choice = choices.find((one) => one.textContent.trim().startsWith(`${event.key} `))
    if (note) reason.focus()
    else if (enters) form().querySelector('[data-testid="stFormSubmitButton"] button')?.click()
    else if (choice && !choice.hasAttribute("data-selected")) choice.click()
  }
  document.addEventListener("keydown", onKey)
  parentElement.querySelector(".root").dataset.listening = "true"
  parentElement.seedlensStop?.()
  parentElement.seedlensStop = () => document.removeEventListener("keydown", onKey)
  return () => parentElement.seedlensStop()
}
