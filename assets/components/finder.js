// Finding a document to start from: a field for words with the list of what Python found for them
// (ARIA's combobox), the documents of the corpus in turn where there are no words, and a text of
// one's own.
const TYPING = 150 // ms of rest after which what was typed is looked up
const WHERE = new Map([["title", "in the title"], ["text", "in the text"], ["meaning", "similar meaning"]])
const finders = new WeakMap()

const optionNode = (found, index, finder) => {
  const node = make("div", "option")
  node.id = `option-${index}`
  node.setAttribute("role", "option")
  const top = make("div", "top")
  top.append(marked(found.title, found.title_marks, "name"))
  const about = [found.year, WHERE.get(found.where)].filter(Boolean).join(" · ")
  top.append(make("span", "about", about))
  node.append(top)
  if (found.snippet) node.append(marked(found.snippet, found.marks, "snippet"))
  node.onclick = () => finder.pick(index)
  return node
}

class Finder {
  constructor(root) {
    this.root = root
    this.at = -1 // the option that Enter takes
    this.input = make("input", "words")
    Object.assign(this.input, { type: "text", autocomplete: "off", spellcheck: false, placeholder: "Words, topic or id" })
    for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "true"], ["aria-controls", "options"]]) {
      this.input.setAttribute(name, value)
    }
    this.input.oninput = () => this.typed()
    this.input.onkeydown = (event) => this.key(event)
    this.status = make("div", "status")
    this.status.setAttribute("role", "status")
    this.list = make("div", "options")
    this.list.id = "options"
    this.list.setAttribute("role", "listbox")
    setLabel(this.list, "Documents")
    this.pager = make("div", "pager")
    const label = make("label", "field")
    label.append(make("span", "", "Search titles, texts and meaning"), this.input)
    root.replaceChildren(label, this.status, this.list, this.pager, this.ownText())
  }

  ownText() {
    const section = make("div", "own")
    const label = make("label", "field")
    this.text = make("textarea")
    this.text.rows = 3
    this.text.placeholder = "An abstract, a paragraph, an idea"
    label.append(make("span", "", "Or paste a text"), this.text)
    this.missing = make("span", "missing")
    this.missing.setAttribute("role", "alert")
    this.text.oninput = () => { this.missing.textContent = "" }
    this.text.onkeydown = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.useText()
    }
    const row = make("div", "ownrow")
    row.append(button("use", "Start from this text", null, () => this.useText()), this.missing)
    section.append(label, row)
    return section
  }

  take(data, send) {
    Object.assign(this, { data, send })
    const fits = data.words === this.words
    this.list.ariaBusy = fits ? null : "true"
    this.at = -1
    this.list.replaceChildren(...data.found.map((found, index) => optionNode(found, index, this)))
    this.mark()
    if (fits) this.status.textContent = data.status
    this.pager.replaceChildren(...this.pages())
  }

  // Where no words are given, the corpus page by page.
  pages() {
    const { page, pages } = this.data
    if (pages < 2) return []
    const turn = (to, text) => {
      const node = button("", text, `${text} documents of the corpus`, () => this.ask(to))
      node.disabled = to < 0 || to >= pages
      node.dataset.key = text
      return node
    }
    return [turn(page - 1, "Previous"), make("span", "", `Page ${page + 1} of ${pages}`), turn(page + 1, "Next")]
  }

  get words() {
    return this.input.value.trim()
  }

  ask(page = 0) {
    this.send("search", { words: this.words, page, at: Date.now() })
  }

  typed() {
    this.list.ariaBusy = "true"
    clearTimeout(this.rest)
    this.rest = setTimeout(() => this.ask(), TYPING)
  }

  mark() {
    ;[...this.list.children].forEach((node, index) => node.setAttribute("aria-selected", String(index === this.at)))
    const node = this.list.children[this.at]
    node ? this.input.setAttribute("aria-activedescendant", node.id) : this.input.removeAttribute("aria-activedescendant")
    node?.scrollIntoView({ block: "nearest" })
  }

  key(event) {
    const count = this.list.children.length
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && count) {
      this.at = this.at < 0 ? (step > 0 ? 0 : count - 1) : (this.at + step + count) % count
      this.mark()
    } else if (event.key === "Enter") {
      // Without a choice, the first of what was found for these very words.
      if (this.at >= 0) this.pick(this.at)
      else if (this.words && this.data.words === this.words && count) this.pick(0)
    } else return
    event.preventDefault()
  }

  pick(index) {
    this.finish("pick", { doc_id: this.data.found[index].doc_id })
  }

  useText() {
    const text = this.text.value
    if (text.trim()) return this.finish("paste", { text })
    this.missing.textContent = "Enter a text."
    this.text.focus()
  }

  finish(name, value) {
    clearTimeout(this.rest)
    this.input.value = this.text.value = ""
    this.send(name, { ...value, at: Date.now() })
    // Once that is on its way, the popover is closed as a person would: it goes by this key.
    setTimeout(() => document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })))
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  if (!finders.has(root)) {
    const finder = new Finder(root)
    finders.set(root, finder)
    finder.input.value = data.words
    requestAnimationFrame(() => finder.input.focus())
  }
  finders.get(root).take(data, setTriggerValue)
}
