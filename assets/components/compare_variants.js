// The variants as rows to edit. A field tells Python when it is left, a button at once. What
// somebody types stays while data comes: a field takes a new value only where that has changed.
import { button, component, CROSS, html, options, render } from "./base.js"

const grow = (area) => {
  area.style.height = "auto"
  area.style.height = `${Math.min(area.scrollHeight + 2, 220)}px`
}

const field = (label, tip, content) =>
  html`<label class="field" title=${tip}><span class="name">${label}</span>${content}</label>`

export default component(({ data, root, send }) => {
  const { aspects, models, most, names, read, readers, rows, steered, systems } = data
  const full = rows.length >= most
  const post = (next) => send("rows", { rows: next })
  const set = (row, change) => {
    Object.assign(row, change)
    redraw() // what Python answers is not new then, and takes nothing from somebody who types on
    post(rows)
  }

  const corrections = (row, index) => {
    const known = new Map(aspects.map(({ key, name }) => [key, name]))
    const parts = (text) => text.split(",").filter(Boolean)
    const sign = (term) => (term[0] === "-" ? "−" : "+")
    const part = (term) => sign(term) + (known.get(term.slice(1)) ?? term.slice(1))
    const how = models[index] ? `interpreted by ${models[index]} as` : "corrected to"
    const reading = parts(row.reading).map((term) => (term === "any" ? "no aspect" : part(term)))
    const sentences = parts(row.sentences).map((i) => `sentence ${Number(i) + 1}`)
    const tag = (name, words, before) => {
      const label = `Variant ${index + 1}: remove “${words}”`
      const cross = button("icon", CROSS, label, () => set(row, { [name]: "" }))
      return words
        ? html`<span class="correction"><span class="text">${before}${words}</span>${cross}</span>`
        : ""
    }
    return [
      tag("reading", reading.join(" "), `${how} `),
      tag("sentences", sentences.join(", "), ""),
    ]
  }

  const variant = (row, index) => {
    const number = index + 1
    const rename = ({ target }) => {
      if (target.value.trim()) set(row, { name: target.value })
      else target.value = row.name
    }
    const copy = () => post(rows.toSpliced(index, 0, row))
    const remove = () => post(rows.toSpliced(index, 1))
    const leave = (event) =>
      event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.blur()
    // What another wording or aspect was corrected to says nothing of this one.
    const reword = ({ target }) => set(row, { wording: target.value, reading: "" })
    const choose = ({ target }) => set(row, { aspect: target.value, reading: "" })
    const steer = Math.round(row.steer * 100)
    const show = ({ target }) => (target.nextElementSibling.textContent = `${target.value} %`)
    const labels = [...new Set([...systems, row.system])].map((one) => [one, names[one] ?? one])
    const choices = [["", "from the instruction"], ...aspects.map(({ key, name }) => [key, name])]
    if (!choices.some(([key]) => key === row.aspect)) choices.push([row.aspect, row.aspect])
    const weight = html`<input class="steer" type="range" min="0" max="100" step="5"
        .value=${String(steer)} @input=${show}
        @change=${({ target }) => set(row, { steer: Number(target.value) / 100 })} />
      <span class="value" .textContent=${`${steer} %`}></span>`
    const aspect = html`<select class="aspect" @change=${choose}>
      ${options(choices, row.aspect)}
    </select>`
    const range = "0 %: whole document. 100 %: aspect only."
    const about = "If set, the instruction weights the aspect's sentences and excludes others."
    return html`<fieldset class="variant">
      <legend>Variant ${number}</legend>
      <div class="first">
        <span class="number">${number}</span>
        <input class="called text" maxlength="80" aria-label="Name of variant ${number}"
          .value=${row.name} @change=${rename} />
        <select aria-label="System of variant ${number}"
          @change=${({ target }) => set(row, { system: target.value })}
          >${options(labels, row.system)}</select>
        ${button("icon copy", "", `Duplicate variant ${number}`, copy, { disabled: full })}
        ${button("icon", CROSS, `Remove variant ${number}`, remove, { disabled: rows.length < 2 })}
      </div>
      <textarea class="wording text" rows="1" placeholder="no instruction"
        aria-label="Instruction of variant ${number}" .value=${row.wording}
        @input=${({ target }) => grow(target)} @change=${reword} @keydown=${leave}></textarea>
      <div class="last">
        ${steered.includes(row.system) ? field("aspect weight", range, weight) : ""}
        ${field("aspect", about, aspect)}
        <label class="field cut" title="Ignores the seed's other sentences.">
          <input type="checkbox" .checked=${row.subset}
            @change=${({ target }) => set(row, { subset: target.checked })} />
          <span>only the aspect's sentences</span>
        </label>
        ${corrections(row, index)}
      </div>
      <div class="reading text">${read[index] ?? ""}</div>
    </fieldset>`
  }

  // On a system that reads wordings: on another one, none would change anything.
  const add = () => {
    const like = rows.find(({ system }) => readers.includes(system))
    const none = { wording: "", name: "mine", subset: false, aspect: "", sentences: "", reading: "" }
    const last = rows.at(-1)
    post([...rows, { ...(like ?? { ...last, system: readers[0] ?? last.system }), ...none }])
  }
  const redraw = () => {
    const more = button("add", "Add variant", null, add, { disabled: full })
    const count = html`<span class="count">${rows.length} of up to ${most}</span>`
    const end = html`<div class="end">${more}${count}</div>`
    render(html`<div class="variants">${rows.map(variant)}${end}</div>`, root)
  }
  redraw()
  // Once it is laid out: before, a text has no height.
  requestAnimationFrame(() => root.querySelectorAll("textarea").forEach(grow))
})
