// Adjudicating by keys: a digit chooses the decision, N goes to the reason, Enter decides, or
// goes to the reason where there is none yet; Escape leaves the reason.
import { component } from "./base.js"
import { isCovered } from "./keys.js"

const FIELDS = 'input:not([type="checkbox"], [type="radio"]), textarea, select'
const writes = (node) =>
  node instanceof HTMLElement && (node.isContentEditable || node.matches(FIELDS))

const formOfPage = () =>
  document.querySelector('[class*="st-key-annotate_decision"]')?.closest('[data-testid="stForm"]')

export default component(({ data, on, root }) => {
  let held = "" // the key that was pressed last here: held down, it writes no reason
  on(document, "keydown", (event) => {
    if (!event.repeat) held = ""
    else if (event.key === held) event.preventDefault()
    const target = event.composedPath()[0]
    const form = formOfPage()
    const reason = form?.querySelector('input[type="text"]')
    if (!reason || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    if (writes(target)) {
      if (event.key === "Escape" && target === reason) reason.blur()
      return
    }
    if (event.repeat || isCovered()) return
    const choices = [...form.querySelectorAll('[data-variant="segmented_control"]')]
    const free = choices.includes(target) || !target.closest("button, a, summary")
    const enters = event.key === "Enter" && free
    const note = event.key.toLowerCase() === "n" || (enters && !reason.value.trim())
    if (!note && !enters && !data.grades.map(String).includes(event.key)) return
    event.preventDefault()
    held = event.key
    const choice = choices.find((one) => one.textContent.trim().startsWith(`${event.key} `))
    if (note) reason.focus()
    else if (enters) form.querySelector('[data-testid="stFormSubmitButton"] button')?.click()
    else if (choice && !choice.hasAttribute("data-selected")) choice.click()
  })
  root.dataset.listening = "true"
})
