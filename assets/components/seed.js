// The seed card: the document with its sentences by role. A click on a role makes it the
// aspect; a click on a sentence matches only the selected sentences.
const shownWhole = new Set() // seeds whose text is shown to its end
const LONGEST = 10 // sentences that are shown at once

const drawSeed = (root, data, setTriggerValue) => {
  const draw = () => drawSeed(root, data, setTriggerValue)
  const card = make("section", "card")
  setLabel(card, "Seed")
  card.append(make("h2", "kicker", data.pasted ? "Seed · pasted text" : "Seed"))
  if (data.title) card.append(make("h3", "title text", data.title))
  const meta = metaLine(data)
  if (meta) card.append(meta)

  const aspects = make("div", "aspects")
  aspects.setAttribute("role", "group")
  setLabel(aspects, "Aspect")
  aspects.append(make("span", "label", "Similar in"))
  data.aspects.forEach((aspect, index) => {
    const on = data.aspect === aspect.key
    const name = `${aspect.letter} · ${aspect.name}`
    const node = button(on ? "" : roleClass(index), name, null, () =>
      setTriggerValue("aspect", { key: on ? "" : aspect.key, at: Date.now() }))
    node.dataset.key = `aspect-${aspect.key}`
    setTip(node, aspect.definition)
    node.setAttribute("aria-pressed", String(on))
    aspects.append(node)
  })
  card.append(aspects)

  const list = make("div", "sentences")
  const rows = data.sentences.map((sentence, index) => {
    const weight = data.weights[index] ?? 0
    const picked = data.focus.includes(index)
    const cls = `sentence ${roleClass(sentence.role)}${weight > 0.02 ? " on" : ""}`
    const row = button(cls, undefined, null, () => setTriggerValue("focus", { index, at: Date.now() }))
    row.dataset.key = `sentence-${index}`
    row.setAttribute("aria-pressed", String(picked))
    setTip(row, weight > 0 ? `Weight in aspect: ${Math.round(weight * 100)} %` : "Click: match only selected sentences")
    row.append(make("span", "letter", sentence.letter))
    row.append(make("span", "text", sentence.text))
    return row
  })
  // What the search goes by is shown in any case.
  const counts = data.sentences.map((_, i) => data.focus.includes(i) || (data.weights[i] ?? 0) > 0.02)
  const most = Math.max(LONGEST, counts.lastIndexOf(true) + 1)
  list.append(...beginning(rows, most, shownWhole, `${data.title}-${rows.length}`, draw))
  if (!rows.length) list.append(make("div", "hint", "Title only."))
  card.append(list)
  card.append(make("div", "hint", data.focus.length
    ? "Matching selected sentences only. Click to deselect."
    : "Click sentences to match only these."))

  redrawn(root, focusKey(root), [card])
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  drawSeed(root, data, setTriggerValue)
}
