// What a search was read as: a chip for each aspect asked for (+) or ruled out (−), each term and
// each sentence. A click turns the sign, the cross takes a chip away, the list of a term moves it to
// an aspect. The list and the box at the end add.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  const key = focusKey(root)
  const change = (event) => setTriggerValue("change", { ...event, at: Date.now() })
  const aspects = new Map(data.aspects.map((aspect) => [aspect.key, aspect]))
  const cross = (label, name, event) => {
    const node = crossButton("off", label, () => change(event))
    node.dataset.key = `off-${name}`
    return node
  }

  const row = make("section", "reading")
  setLabel(row, "Interpretation")
  row.append(make("span", "label", data.model ? `Interpreted by ${data.model} as` : "Interpreted as"))
  const chips = make("ul", "chips")
  for (const term of data.reading) {
    const aspect = aspects.get(term.slice(1))
    if (!aspect) continue
    const wanted = term[0] === "+"
    const chip = make("li", `chip ${wanted ? "" : "against "}${roleClass(aspect.role)}`)
    const turned = `${wanted ? "-" : "+"}${aspect.key}`
    const name = button("flip", `${wanted ? "+" : "−"} ${aspect.name}`, null, () => change({ old: term, term: turned }))
    setTip(name, wanted
      ? `${aspect.name} is included. Click to exclude.`
      : `${aspect.name} is excluded. Click to include.`)
    setLabel(name, `${wanted ? "+" : "−"} ${aspect.name}: ${name.title}`)
    name.dataset.key = `term-${aspect.key}`
    chip.append(name, cross(`Remove ${aspect.name}`, aspect.key, { old: term }))
    chips.append(chip)
  }
  for (const { part, text, aspect, documents } of data.terms) {
    const wanted = part[0] === "+"
    const rest = part.slice(part.indexOf(":"))
    const chip = make("li", `chip term ${wanted ? "" : "against"}`)
    const turned = `${wanted ? "-" : "+"}${part.slice(1)}`
    const name = button("flip", `${wanted ? "+" : "−"} ${text}`, null, () => change({ old: part, term: turned }))
    const count = documents ? ` (in ${documents} documents)` : ""
    setTip(name, wanted
      ? `Documents with “${text}” come first${count}. Click to exclude.`
      : `Documents with “${text}” come last${count}. Click to include.`)
    setLabel(name, `${wanted ? "+" : "−"} ${text}: ${name.title}`)
    name.dataset.key = `term-${rest}`
    const where = make("select", "where")
    setLabel(where, `Where documents should have ${text}`)
    where.dataset.key = `where-${rest}`
    where.append(new Option("anywhere", "term"), ...data.aspects.map((one) => new Option(`in ${withMarks(one.name)}`, one.key)))
    where.value = aspect || "term"
    where.onchange = () => change({ old: part, term: `${part[0]}${where.value}${rest}` })
    chip.append(name, where, cross(`Remove ${text}`, rest, { old: part }))
    chips.append(chip)
  }
  for (const index of data.sentences) {
    const chip = make("li", "chip")
    const name = make("span", "name", `sentence ${index + 1}`)
    setTip(name, data.texts[index] ?? "")
    chip.append(name, cross(`Remove sentence ${index + 1}`, `s${index}`, { sentence: index }))
    chips.append(chip)
  }
  if (!chips.children.length) row.append(make("span", "none", "the whole text"))
  row.append(chips)

  const add = make("select", "add")
  setLabel(add, "Add to the interpretation")
  add.dataset.key = "add"
  add.append(new Option("Add…", ""))
  const group = (label, options) => {
    if (!options.length) return
    const node = make("optgroup")
    node.label = label
    node.append(...options.map(([text, value]) => new Option(withMarks(text), value)))
    add.append(node)
  }
  const free = data.aspects.filter(({ key: one }) => !data.reading.some((term) => term.slice(1) === one))
  const short = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text)
  group("Include", free.map(({ key: one, name }) => [`+ ${name}`, `+${one}`]))
  group("Exclude", free.map(({ key: one, name }) => [`− ${name}`, `-${one}`]))
  group("Sentences of the seed", data.texts.flatMap((text, index) =>
    data.sentences.includes(index) ? [] : [[`${index + 1} · ${short(text)}`, String(index)]]))
  add.onchange = () => {
    const value = add.value
    if (/^[0-9]+$/.test(value)) change({ sentence: Number(value) })
    else if (value) change({ term: value })
  }
  row.append(add)
  const words = make("input", "words")
  words.placeholder = "+ or − words"
  setLabel(words, "Words to include, or with a minus to exclude")
  words.dataset.key = "words"
  words.onkeydown = (event) => {
    const [, sign, text] = /^\s*([+−-]?)\s*(.*?)\s*$/.exec(words.value)
    if (event.key !== "Enter" || !text) return
    words.value = ""
    change({ term: `${sign && sign !== "+" ? "-" : "+"}term:${text.replace(/([,\\])/g, "\\$1")}` })
  }
  row.append(words)

  if (data.by_words) {
    const again = button("again", "Reset", null, () => change({ by_words: true }))
    setTip(again, "Clear aspect, sentences and corrections")
    again.dataset.key = "again"
    row.append(again)
  }
  if (data.other) {
    const other = button("again", data.other.label, null, () => change({ reading: data.other.reading }))
    setTip(other, data.other.tip)
    other.dataset.key = "other"
    row.append(other)
  }
  redrawn(root, key, [row])
}
