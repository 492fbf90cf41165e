// The seed card: the document with its sentences by role. A click on a role makes it the
// aspect; a click on a sentence asks for more like exactly this. Document text only ever
// enters through textContent.
const make = (tag, cls, text) => {
  const node = document.createElement(tag)
  if (cls) node.className = cls
  if (text !== undefined) node.textContent = text
  return node
}

const roleClass = (role) => (role === null || role === undefined ? "role-none" : `role-${role % 3}`)

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  const scrolled = root.querySelector(".sentences")?.scrollTop ?? 0
  const focused = parentElement.activeElement ?? root.getRootNode().activeElement
  const focusKey = focused?.dataset?.key

  const card = make("section", "card")
  card.setAttribute("aria-label", "Seed")
  card.append(make("div", "kicker", data.pasted ? "Seed · pasted text" : "Seed"))
  if (data.title) card.append(make("div", "title text", data.title))
  if (data.meta) card.append(make("div", "meta text", data.meta))

  const aspects = make("div", "aspects")
  aspects.setAttribute("role", "group")
  aspects.setAttribute("aria-label", "Aspect")
  aspects.append(make("span", "label", "Alike in"))
  data.aspects.forEach((aspect, index) => {
    const button = make("button", data.aspect === aspect.key ? "" : roleClass(index))
    button.type = "button"
    button.dataset.key = `aspect-${aspect.key}`
    button.title = aspect.definition
    button.setAttribute("aria-pressed", String(data.aspect === aspect.key))
    button.append(make("span", "", `${aspect.letter} · ${aspect.name}`))
    button.onclick = () => setTriggerValue("aspect", { key: data.aspect === aspect.key ? "" : aspect.key })
    aspects.append(button)
  })
  card.append(aspects)

  const list = make("div", "sentences")
  data.sentences.forEach((sentence, index) => {
    const weight = data.weights[index] ?? 0
    const picked = data.focus.includes(index)
    const row = make("button", `sentence ${roleClass(sentence.role)}${weight > 0.02 ? " on" : ""}`)
    row.type = "button"
    row.dataset.key = `sentence-${index}`
    row.setAttribute("aria-pressed", String(picked))
    row.title = weight > 0 ? `Weighs ${Math.round(weight * 100)} % of the aspect` : "Click: more like exactly this sentence"
    row.append(make("span", "letter", sentence.letter))
    row.append(make("span", "text", sentence.text))
    row.onclick = () => setTriggerValue("focus", { index })
    list.append(row)
  })
  card.append(list)
  card.append(make("div", "hint", data.focus.length
    ? "Ranking by the sentences you picked. Click them again to let go."
    : "Click a sentence for more like exactly this."))

  root.replaceChildren(card)
  list.scrollTop = scrolled
  if (focusKey) root.querySelector(`[data-key="${CSS.escape(focusKey)}"]`)?.focus({ preventScroll: true })
}
