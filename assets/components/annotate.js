// The session of one annotator as it is seen and used: the seed left, the candidate right, the
// grades below.
import { Session, sessions } from "./annotate_session.js"
import {
  button, component, counted, evidence, html, live, nothing, render, roleClass, sentence, withMarks,
} from "./base.js"
import { isForPage, isWriting, keyList, showDialog } from "./keys.js"

const BOUNCE = 50 // ms within which the same key is the same press
const STIRS = ["pointermove", "keydown", "scroll"]

// Of each key: its button, if it has one, what it does, and more words in the list of keys.
const KEYS = {
  S: { name: "Skip", does: (session) => session.say("skip") },
  U: { name: "Unsure", does: (session) => session.say("unsure") },
  B: { name: "Back", does: (session) => session.back(), words: "Previous" },
  F: { does: (session) => session.onward(), words: "Next without answering" },
  Z: { name: "Undo", does: (session) => session.undo() },
  N: { does: (_, { note }) => note().focus(), words: "Write a note; Esc returns to the keys" },
  E: { does: (session) => session.item && session.look(), words: "Show or hide evidence" },
  G: { name: "Guidelines", does: (session) => session.guide(), words: "Show or hide guidelines" },
  "?": { name: "Keys", does: (session, { listKeys }) => listKeys() },
}

const named = ({ name, meaning }) => (meaning ? `${name}: ${meaning}` : name)

const paceWords = ({ per_minute }, left) => {
  if (!per_minute) return ""
  const pace = per_minute < 10 ? Number(per_minute.toFixed(1)) : Math.round(per_minute)
  const minutes = Math.ceil(left / per_minute)
  const time = minutes < 90 ? `${minutes} min` : `${Number((minutes / 60).toFixed(1))} hours`
  return `, about ${pace} a minute${left ? `, ${time} left` : ""}`
}

const progressOf = ({ data, outbox }) => {
  const { annotator, people, progress } = data
  const { total } = progress
  const fresh = new Set(outbox.events.filter(({ first }) => first).map(({ key }) => key))
  const done = Math.min(total, progress.done + fresh.size)
  const [all, some] = [total, done].map((n) => n.toLocaleString("en"))
  const share = people > 1 ? " (your share)" : ""
  const shared = people > 1 ? `, shared by ${people} people` : ""
  const tip = `Your progress${shared}. Pace: last 20 judgments without breaks.`
  return html`<div class="progress">
    <span class="meter"><span style="width: ${total ? (100 * done) / total : 0}%"></span></span>
    <span class="words" title=${tip}
      >${annotator}: ${some} of ${all}${share}${paceWords(progress, total - done)}</span
    >
    <span class="stored">${outbox.events.length ? "Saving…" : "Saved"}</span>
  </div>`
}

const card = (cls, kicker, { title, meta }, content) =>
  html`<section class="card ${cls}" tabindex="0" aria-label=${kicker}>
    <div class="kicker">${kicker}</div>
    ${title ? html`<div class="title text">${title}</div>` : ""}
    ${meta ? html`<div class="meta text">${meta}</div>` : ""}${content}
  </section>`

const seedOf = (seed) => {
  const row = (one) => sentence(one, { cls: one.on ? "sentence on" : "sentence" })
  return card("seed", seed.kicker, seed, html`<div class="sentences">${seed.sentences.map(row)}</div>`)
}

// What is asked for stays above the item, however long its text is.
const askedOf = ({ aspect, asked, letter, role }) => {
  if (!asked && !aspect) return ""
  const badge = aspect ? html`<span class="badge">${letter} · ${aspect}</span>` : ""
  const words = asked ? html`<span class="text">${asked}</span>` : ""
  return html`<div class="asked ${roleClass(role)}">${badge}${words}</div>`
}

// A low window begins with the sentences that count, where it does not show all of them.
const reveal = (box) => {
  const boxes = [...box.querySelectorAll(".sentence.on")].map((one) => one.getBoundingClientRect())
  const { top, bottom } = box.getBoundingClientRect()
  if (boxes.length && boxes.at(-1).bottom > bottom) box.scrollTop = boxes[0].top - top - 12
}

const keyButton = (cap, { name, meaning }, pressed, does, disabled) =>
  html`<button class="key" title=${named({ name, meaning })} aria-keyshortcuts=${cap}
    aria-pressed=${pressed ?? nothing} ?disabled=${disabled} @click=${does}
    ><kbd>${cap}</kbd><span class="name">${name}</span>${
      meaning ? html`<span class="meaning">${meaning}</span>` : ""
    }</button>`

// Guidelines as nodes, from the tree that pages/_annotate/judging_data.py made of their Markdown.
const nodeOf = ({ tag, children, href, start }) => {
  const node = document.createElement(/^h[1-6]$/.test(tag) ? "h4" : tag)
  const text = (part) => (typeof part === "string" ? withMarks(part) : nodeOf(part))
  node.append(...(children ?? []).map(text))
  if (tag === "a" && /^https?:/i.test(href)) {
    Object.assign(node, { href, target: "_blank", rel: "noopener noreferrer" })
  }
  if (tag === "ol" && start !== 1) node.start = start
  if (tag === "th") node.scope = "col"
  if (tag !== "table") return node
  const box = document.createElement("div") // wide tables scroll in a box of their own
  Object.assign(box, { className: "table", tabIndex: 0, role: "region" })
  box.ariaLabel = "Table of the guidelines"
  box.append(node)
  return box
}

const guides = new WeakMap()

// A part of the guidelines; made once, so that it keeps its place and the focus.
const guideNode = (part) => {
  if (typeof part === "string") return html`${part}`
  if (!guides.has(part)) guides.set(part, nodeOf(part))
  return guides.get(part)
}

// The second click of a double click would judge a document that nobody has read.
const once = (does) => (event) => event.detail < 2 && does()

// What is drawn of a session.
class JudgingView {
  constructor({ root, parent }, session) {
    Object.assign(this, { root, parent, session })
    this.note = () => root.querySelector("textarea")
    this.listKeys = () => {
      const grades = session.data.scale.map((one) => [[String(one.value)], named(one)])
      const known = Object.entries(KEYS).filter(([key]) => key !== "?")
      const others = known.map(([key, { name, words }]) => [[key], words ?? name])
      showDialog(parent, "keysdialog", "Keys", keyList([...grades, ...others]))
    }
  }

  act(does) {
    does(this.session, this)
    this.redraw()
  }

  press(key) {
    return () => this.act(KEYS[key].does)
  }

  redraw() {
    const { root, session } = this
    const { at, item, guides, message } = session
    const seed = item && session.seeds.get(item.query_id)
    const panes =
      at === null
        ? this.end()
        : seed
          ? [seedOf(seed), this.candidate(item, seed)]
          : waitingFor("Loading…")
    render(
      html`${progressOf(session)}${seed ? askedOf(seed) : ""}
        <div class="panes ${guides ? "guided" : ""}">
          ${panes}${guides ? this.guides(seed) : ""}
        </div>
        <div class="message" role="status">${message}</div>
        <div class="foot">${this.noteField()}${this.keys()}</div>`,
      root,
    )
    // What stays the same stays where it was scrolled to.
    const now = { seed: item?.query_id, guides: seed?.aspect_key, candidate: at }
    for (const [name, shown] of Object.entries(now)) {
      const box = root.querySelector(`.card.${name}`)
      if (!box || root.state.shown?.[name] === shown) continue
      box.scrollTop = 0
      reveal(box)
    }
    root.state.shown = now
    session.lookAgain()
  }

  candidate(item, seed) {
    const { session } = this
    const { marks } = session.draft()
    const sources = item.sources.map(({ name, rank }) => `${name} ${rank}`).join(", ")
    const row = (one, index) => {
      const does = () => this.act((s) => s.mark(index))
      const cls = seed.wanted.includes(one.role) ? "sentence on" : "sentence"
      return sentence(one, { cls, title: "Mark as evidence", pressed: marks.includes(index), does })
    }
    const from = html`<div class="meta text">Retrieved by ${sources}</div>`
    return card(
      "candidate",
      item.everybody ? "Candidate · for everybody" : "Candidate",
      item,
      html`${this.before()}${sources ? from : ""}
        <div class="sentences">${item.sentences.map(row)}</div>
        <div class="hint">Click the sentences that support your grade.</div>
        ${this.evidence()}`,
    )
  }

  // What was said of the item, and the way on.
  before() {
    const { session } = this
    const before = session.earlier(session.at)
    if (!before && !session.beyond) return ""
    const grade = session.data.scale.find(({ value }) => value === before?.relevance)
    const said = {
      skip: "skipped this",
      unsure: "were unsure",
      grade: `graded ${before?.relevance}${grade ? ` · ${grade.name}` : ""}`,
    }
    const words = before
      ? `You ${said[before.verdict]}. Press another key to change it.`
      : "This item has enough annotations. Yours is saved as extra."
    return html`<div class="before">
      <span>${words}</span><button @click=${this.press("F")}><kbd>F</kbd>Next</button>
    </div>`
  }

  evidence() {
    const { looking, evidence: known, at } = this.session
    const found = known.get(at)
    const none = (words) => html`<div class="hint">${words}</div>`
    const pairs = !found
      ? none("Loading…")
      : found.pairs.length
        ? found.pairs.map((pair) => evidence(pair))
        : none(found.message || "No matching passages.")
    return html`<div class="evidence">
      <button aria-expanded=${looking} title="Matching passages. May bias your judgment."
        @click=${this.press("E")}
        ><kbd>E</kbd>${looking ? "Hide evidence" : "Show evidence"}</button>
      ${looking ? pairs : ""}
    </div>`
  }

  guides(seed) {
    const { guidelines, scale } = this.session.data
    const known = new Map(Object.entries(guidelines))
    const keys = new Set(["", seed?.aspect_key ?? ""])
    const texts = [...keys].map((key) => known.get(key)).filter((parts) => parts?.length)
    const none = html`<p>No guidelines yet. Leads can write them under Project.</p>`
    const grade = ({ value, name, meaning }) =>
      html`<dt>${value} · ${name}</dt>
        <dd>${meaning}</dd>`
    return html`<aside class="card guides" tabindex="0" aria-label="Guidelines">
      <div class="kicker">Guidelines</div>
      ${texts.length ? texts.flat().map(guideNode) : none}
      <dl class="scale">${scale.map(grade)}</dl>
    </aside>`
  }

  end() {
    const { data, outbox } = this.session
    const { later, progress, waiting } = data
    if (outbox.events.length) return waitingFor("Saving…")
    const { done, skipped, unsure } = progress
    const graded = counted(done - skipped - unsure, "item")
    const words = done
      ? `You graded ${graded}, skipped ${skipped} and were unsure of ${unsure}.`
      : "All items have enough annotations."
    const again = (keys, label) => {
      const review = () => this.act((session) => session.again(keys))
      return keys.length ? button("again", `${label} (${keys.length})`, null, review) : ""
    }
    return html`<section class="card end">
      <div class="title">${waiting?.title ?? (done ? "All done" : "Queue complete")}</div>
      ${waiting ? html`<p>${waiting.words}</p>` : ""}
      ${done || !waiting ? html`<p>${words}</p>` : ""}
      <div class="row">
        ${again(later.skip, "Review skipped")}${again(later.unsure, "Review unsure")}
      </div>
    </section>`
  }

  noteField() {
    const { session } = this
    const draft = session.item && session.draft()
    const type = ({ target }) => (draft.note = target.value)
    return html`<label class="note">
      <kbd>N</kbd><span class="name">Note</span>
      <textarea rows="1" maxlength=${session.data.longest_note} ?disabled=${!draft}
        placeholder="Reason for the grade. Esc returns to the keys."
        .value=${live(draft?.note ?? "")} @input=${type}></textarea>
    </label>`
  }

  keys() {
    const { session } = this
    const before = session.item && session.earlier(session.at)
    const grade = (one) => {
      const pressed = before?.verdict === "grade" && before.relevance === one.value
      const say = once(() => this.act((s) => s.say("grade", one.value)))
      return keyButton(one.value, one, pressed, say, !session.item)
    }
    const judging = (key) => {
      const pressed = before?.verdict === KEYS[key].name.toLowerCase()
      return keyButton(key, KEYS[key], pressed, once(this.press(key)), !session.item)
    }
    const plain = (key, pressed) => keyButton(key, KEYS[key], pressed, this.press(key))
    return html`<div class="keys">
      <div class="grades">${session.data.scale.map(grade)}</div>
      <div class="others">
        ${judging("S")}${judging("U")}${plain("B")}${plain("Z")}${plain("G", session.guides)}
        ${plain("?")}
      </div>
    </div>`
  }

  pressed(event) {
    const { root, session } = this
    const target = event.composedPath()[0]
    const ours = target instanceof Node && root.contains(target)
    if (event.key === "Escape" && isWriting(target) && ours) target.blur()
    const repeats = event.repeat && ours && !isWriting(target)
    if (repeats && ["Enter", " "].includes(event.key)) event.preventDefault()
    if (!isForPage(event)) return
    const grade = session.data.scale.find(({ value }) => String(value) === event.key)
    const does = grade ? (s) => s.say("grade", grade.value) : KEYS[event.key.toUpperCase()]?.does
    if (!does) return
    event.preventDefault()
    // A held key judges one item, and a key that bounces is one press.
    const [last, at] = session.pressed
    if (event.repeat || (last === event.key && event.timeStamp - at < BOUNCE)) return
    session.pressed = [event.key, event.timeStamp]
    this.act(does)
  }
}

const waitingFor = (words) => html`<section class="card end"><p>${words}</p></section>`

export default component((drawn) => {
  const { data, on, root, setState } = drawn
  if (!sessions.has(data.id)) sessions.set(data.id, new Session())
  const session = sessions.get(data.id)
  const view = new JudgingView(drawn, session)
  for (const [id, each] of sessions) {
    each.outbox.send = (message) => setState("sent", { session: id, held: each.held(), ...message })
  }
  const { answer } = data
  if (answer.session !== data.id) sessions.get(answer.session)?.outbox.answered(answer)
  if (session.data !== data) session.take(data)
  view.redraw()
  on(document, "keydown", (event) => view.pressed(event))
  on(window, "beforeunload", (event) => session.outbox.events.length && event.preventDefault())
  // A key elsewhere on the page may ask for a run of it, which would be lost beside this message.
  const stir = (event) => {
    if (event.type !== "keydown" || event.composedPath().includes(root)) session.stirred()
  }
  for (const name of STIRS) on(document, name, stir, { capture: true, passive: true })
  return () => session.stop()
})
