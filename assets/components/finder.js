// Finding a document to start from: a field for words with the list of what Python found for them
// (ARIA's combobox), the documents of the corpus in turn where there are no words, and a text of
// one's own.
import { button, component, html, marked, nothing, render } from "./base.js"

const TYPING = 150 // ms of rest after which what was typed is looked up
const WHERE = { title: "in the title", text: "in the text", meaning: "similar meaning" }

export default component(({ data, root, state, send }) => {
  const { found, page, pages } = data
  const field = (name) => root.querySelector(name)
  const words = () => field(".words").value.trim()
  const ask = (to) => send("search", { words: words(), page: to })
  const isOld = () => data.words !== words() // what was typed since is looked up
  state.at = -1 // the option that Enter takes

  const typed = () => {
    clearTimeout(state.rest)
    state.rest = setTimeout(() => ask(0), TYPING)
    redraw()
  }

  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const count = found.length
    if (step && count) {
      state.at = state.at < 0 && step < 0 ? count - 1 : (state.at + step + count) % count
      redraw()
      field("[aria-selected=true]").scrollIntoView({ block: "nearest" })
    } else if (event.key === "Enter" && !event.isComposing) {
      // Without a choice, the first of what was found for these very words.
      if (state.at >= 0) pick(state.at)
      else if (words() && !isOld() && count) pick(0)
    } else return
    event.preventDefault()
  }

  const finish = (name, value) => {
    clearTimeout(state.rest)
    field("textarea").value = ""
    send(name, value)
    if (data.stays) return
    field(".words").value = ""
    // Once that is on its way, the popover is closed as a person would: it goes by this key.
    const escape = new KeyboardEvent("keydown", { key: "Escape", bubbles: true })
    setTimeout(() => document.dispatchEvent(escape))
  }

  const pick = (index) => finish("pick", { doc_id: found[index].doc_id })

  const useText = () => {
    const text = field("textarea").value
    if (text.trim()) return finish("paste", { text })
    redraw("Enter a text.")
    field("textarea").focus()
  }

  const ownKeys = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && useText()

  const option = (one, index) => {
    const about = [one.year, WHERE[one.where]].filter(Boolean).join(" · ")
    return html`<div class="option" role="option" id="option-${index}"
      aria-selected=${index === state.at} @click=${() => pick(index)}>
      <div class="top">${marked(one.title, one.title_marks, "name")}<span class="about">${about}</span></div>
      ${one.snippet ? marked(one.snippet, one.marks, "snippet") : ""}
    </div>`
  }

  // Where no words are given, the corpus page by page.
  const turn = (to, name) => {
    const disabled = to < 0 || to >= pages
    return button("", name, `${name} documents of the corpus`, () => ask(to), { disabled })
  }
  const pager = () =>
    html`${turn(page - 1, "Previous")}<span>Page ${page + 1} of ${pages}</span>${turn(page + 1, "Next")}`

  const redraw = (missing = "") => {
    const isNew = !field(".words")
    const busy = !isNew && isOld()
    if (!busy) state.status = data.status
    const active = state.at < 0 ? nothing : `option-${state.at}`
    render(
      html`<label class="field">
          <span>Search titles, texts and meaning</span>
          <input class="words" autocomplete="off" spellcheck="false" @input=${typed}
            placeholder="Words, topic or id" role="combobox" aria-autocomplete="list"
            aria-expanded="true" aria-controls="options" aria-activedescendant=${active}
            @keydown=${keys} />
        </label>
        <div class="status" role="status">${state.status}</div>
        <div class="options" id="options" role="listbox" aria-label="Documents"
          aria-busy=${busy || nothing}>${found.map(option)}</div>
        <div class="pager">${pages < 2 ? "" : pager()}</div>
        <div class="own">
          <label class="field">
            <span>Or paste a text</span>
            <textarea rows="3" placeholder="An abstract, a paragraph, an idea"
              @input=${() => redraw()} @keydown=${ownKeys}></textarea>
          </label>
          <div class="ownrow">
            <button class="use" @click=${useText}>Start from this text</button>
            <span class="missing" role="alert">${missing}</span>
          </div>
        </div>`,
      root,
    )
    if (!isNew) return
    field(".words").value = data.words
    requestAnimationFrame(() => field(".words").focus())
  }
  redraw()
})
