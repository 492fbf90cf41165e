// What a search was read as: a chip for each aspect asked for (+) or ruled out (−), each term and
// each sentence. A click turns the sign, the cross takes a chip away, the list of a term moves it to
// an aspect. The list and the box at the end add.
import { button, component, CROSS, html, options, render, roleClass } from "./base.js"

export default component(({ data, root, send }) => {
  const change = (event) => send("change", event)
  const aspects = new Map(data.aspects.map((aspect) => [aspect.key, aspect]))
  const cross = (name, event) => button("off", CROSS, `Remove ${name}`, () => change(event))

  // Args: old: the part of the reading that it shows; about: what its sign means.
  const chip = (cls, name, old, about, where) => {
    const wanted = old[0] === "+"
    const words = `${wanted ? "+" : "−"} ${name}`
    const turn = () => change({ old, term: (wanted ? "-" : "+") + old.slice(1) })
    const way = wanted ? "exclude" : "include"
    return html`<li class="chip ${cls} ${wanted ? "" : "against"}">
      ${button("flip", words, `${words}: ${about}. Click to ${way}.`, turn)}
      ${where}${cross(name, { old })}
    </li>`
  }

  const aspectChip = (part) => {
    const { name, role } = aspects.get(part.slice(1))
    return chip(roleClass(role), name, part, `${name} is ${part[0] === "+" ? "in" : "ex"}cluded`)
  }

  const termChip = ({ part, text, aspect, documents }) => {
    const count = documents ? ` (in ${documents} documents)` : ""
    const about = `Documents with “${text}” come ${part[0] === "+" ? "first" : "last"}${count}`
    const rest = part.slice(part.indexOf(":"))
    const move = ({ target }) => change({ old: part, term: part[0] + target.value + rest })
    const places = data.aspects.map(({ key, name }) => [key, `in ${name}`])
    const where = html`<select class="where" aria-label="Where documents should have ${text}"
      @change=${move}>${options([["term", "anywhere"], ...places], aspect || "term")}</select>`
    return chip("term", text, part, about, where)
  }

  const sentenceChip = (sentence) =>
    html`<li class="chip">
      <span class="name" title=${data.texts[sentence] ?? ""}>sentence ${sentence + 1}</span>
      ${cross(`sentence ${sentence + 1}`, { sentence })}
    </li>`

  const addList = () => {
    const used = new Set(data.reading.map((part) => part.slice(1)))
    const free = data.aspects.filter(({ key }) => !used.has(key))
    const signed = (sign, shown) => free.map(({ key, name }) => [sign + key, `${shown} ${name}`])
    const short = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text)
    const sentences = data.texts.map((text, i) => [String(i), `${i + 1} · ${short(text)}`])
    const group = (label, all) =>
      all.length ? html`<optgroup label=${label}>${options(all, "")}</optgroup>` : ""
    const add = ({ target: { value } }) =>
      change(/^[0-9]+$/.test(value) ? { sentence: Number(value) } : { term: value })
    return html`<select class="add" aria-label="Add to the interpretation" @change=${add}>
      ${options([["", "Add…"]], "")}
      ${group("Include", signed("+", "+"))}
      ${group("Exclude", signed("-", "−"))}
      ${group(
        "Sentences of the seed",
        sentences.filter((_, i) => !data.sentences.includes(i)),
      )}
    </select>`
  }

  const addWords = ({ key, target }) => {
    const [, sign, text] = /^\s*([+−-]?)\s*(.*?)\s*$/.exec(target.value)
    if (key !== "Enter" || !text) return
    target.value = ""
    const escaped = text.replace(/([,\\])/g, "\\$1")
    change({ term: `${sign && sign !== "+" ? "-" : "+"}term:${escaped}` })
  }

  const again = (words, tip, event) =>
    html`<button class="again" title=${tip} @click=${() => change(event)}>${words}</button>`

  const chips = [
    ...data.reading.filter((part) => aspects.has(part.slice(1))).map(aspectChip),
    ...data.terms.map(termChip),
    ...data.sentences.map(sentenceChip),
  ]
  const by = data.model ? ` by ${data.model}` : ""
  const { by_words, other } = data
  render(
    html`<section class="reading" aria-label="Interpretation">
      <span class="label">Interpreted${by} as</span>
      ${chips.length ? "" : html`<span class="none">the whole text</span>`}
      <ul class="chips">${chips}</ul>
      ${addList()}
      <input class="words" placeholder="+ or − words" @keydown=${addWords}
        aria-label="Words to include, or with a minus to exclude" />
      ${by_words ? again("Reset", "Clear aspect, sentences and corrections", { by_words }) : ""}
      ${other ? again(other.label, other.tip, { reading: other.reading }) : ""}
    </section>`,
    root,
  )
})
