// The five steps of a build: how each stands, and a way to open it.
const SIGNS = { done: "✓", stale: "!", running: "…", failed: "×" }

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", data.dark)
  const focused = focusKey(root)
  const list = make("ol", "steps")
  for (const step of data.steps) {
    const item = make("li", `step ${step.kind}`)
    const open = button("open", undefined, null, () =>
      setTriggerValue("open", { step: step.key, at: Date.now() }))
    open.disabled = !step.open
    open.dataset.key = step.key
    if (step.current) open.setAttribute("aria-current", "step")
    const sign = make("span", "sign", SIGNS[step.kind] ?? String(step.number))
    sign.setAttribute("aria-hidden", "true")
    const words = make("span", "words")
    words.append(make("span", "name", step.name), make("span", "state", step.words || " "))
    open.append(sign, words)
    item.append(open)
    list.append(item)
  }
  const nav = make("nav")
  setLabel(nav, "Steps of the build")
  nav.append(list)
  redrawn(root, focused, [nav])
}
