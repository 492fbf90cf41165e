// What an annotator sees, what comes next and what was before. The next documents are here
// already, so a key shows the next one at once; what was said goes to Python through the
// outbox.
// Outlives a redraw and a look at another part of the page; nothing said is forgotten by that.
// Also another version of this module after an upgrade.
export const sessions = (globalThis.seedlensSessions ??= new Map())

const LOOK_AGAIN = 5000 // ms until the app is asked whether others left items that are needed here
const STIRRED = 20000 // ms after which somebody who reads is known to be still here

export class Session {
  items = new Map() // key -> document with what it is asked for; everything seen on this visit
  seeds = new Map()
  said = new Map() // key -> what was said on this visit
  drafts = new Map() // key -> note and marks that were not said yet
  evidence = new Map()
  trail = [] // keys in the order in which they were judged here
  review = [] // keys to look at once more
  at = null
  shown = 0
  pressed = ["", 0] // the last key, and when
  guides = false
  looking = false // at the evidence
  message = ""
  undoing = ""
  heard = 0 // number of the last message whose answer was read
  outbox = new Outbox()
  data = null
  timer = 0 // until the next look while others have what is left

  take(data) {
    const first = this.data === null
    const changed = !first && data.version !== this.data.version
    if (changed) this.forget()
    this.data = data
    for (const item of data.items) this.items.set(item.key, item)
    for (const seed of data.seeds) this.seeds.set(seed.query_id, seed)
    if (data.evidence) this.evidence.set(data.evidence.key, data.evidence)
    if (data.answer.session === data.id) this.hear(data.answer)
    else if (!data.answer.session && this.outbox.waits) this.outbox.again() // the app started anew
    if (first) this.guides = localStorage.getItem("seedlens-guidelines") !== "closed"
    if (first) this.show(data.start ?? this.front())
    else if (this.at === null || (changed && !this.items.has(this.at))) this.show(this.front())
    this.locate()
  }

  // The corpus was imported again: documents may say something else now.
  forget() {
    for (const held of [this.items, this.seeds, this.evidence]) held.clear()
    for (const own of [...this.drafts.values(), ...this.said.values()]) own.marks = []
  }

  // Others have all that is left for this annotator: it may come here.
  get waits() {
    return this.at === null && Boolean(this.data.waiting)
  }

  lookAgain() {
    if (!this.waits) return this.stop()
    this.timer ||= setTimeout(() => {
      this.timer = 0
      this.outbox.ask({ at: null })
    }, LOOK_AGAIN)
  }

  stop() {
    clearTimeout(this.timer)
    this.timer = 0
  }

  // What lies here stays here while somebody moves, scrolls or types.
  stirred() {
    if (this.at !== null && performance.now() - this.outbox.sent > STIRRED)
      this.outbox.ask({ at: this.at })
  }

  // Others judged the item at hand as often as it needs, or have it before them.
  get beyond() {
    return this.at !== null && this.at === this.data.beyond
  }

  hear(answer) {
    if (answer.turn > this.heard) {
      this.heard = answer.turn
      this.message = answer.message
      for (const key of answer.refused) this.said.delete(key)
      if (answer.refused.length) this.show(answer.refused[0])
      for (const [event, key] of answer.undone) if (event === this.undoing) this.undone(key)
    }
    this.outbox.answered(answer)
  }

  undone(key) {
    this.undoing = ""
    if (!key) return (this.message = "Nothing to undo.")
    this.said.delete(key)
    this.trail = this.trail.filter((k) => k !== key)
    this.show(key)
  }

  // What comes next and is here already need not be sent again.
  held() {
    return this.data.next.filter((key) => this.items.has(key) && !this.said.has(key))
  }

  front() {
    return this.data.next.find((key) => !this.said.has(key)) ?? null
  }

  show(key) {
    if (key !== this.at) this.looking = false
    this.at = key
    this.shown = performance.now()
    if (key !== null && !this.items.has(key)) this.outbox.ask({ at: key })
    this.locate()
  }

  // The address keeps the place for a reload and a second tab.
  locate() {
    const url = new URL(location.href)
    const { item } = this
    if (!item && this.at !== null) return
    for (const [name, value] of [["query", item?.query_id], ["doc", item?.doc_id]]) {
      item ? url.searchParams.set(name, value) : url.searchParams.delete(name)
    }
    if (url.href !== location.href) history.replaceState(history.state, "", url)
  }

  get item() {
    return this.at === null ? undefined : this.items.get(this.at)
  }

  earlier(key) {
    return this.said.get(key) ?? this.items.get(key)?.said ?? null
  }

  draft() {
    if (!this.drafts.has(this.at)) {
      const before = this.earlier(this.at)
      this.drafts.set(this.at, { note: before?.note ?? "", marks: [...(before?.marks ?? [])] })
    }
    return this.drafts.get(this.at)
  }

  say(verdict, relevance = null) {
    const item = this.item
    if (!item) return
    const { note, marks } = this.draft()
    const first = this.earlier(item.key) === null
    const seconds = Math.round(performance.now() - this.shown) / 1000
    this.said.set(item.key, { verdict, relevance, note, marks })
    this.drafts.delete(item.key)
    this.trail = [...this.trail.filter((k) => k !== item.key), item.key]
    this.message = ""
    this.show(this.review.shift() ?? this.front())
    const { key, query_id, doc_id } = item
    const judged = { key, query_id, doc_id, verdict, relevance, note, marks, seconds, first }
    this.outbox.put({ kind: "judge", ...judged }, { at: this.at })
  }

  past() {
    return [...this.data.past.filter((k) => !this.trail.includes(k)), ...this.trail]
  }

  back() {
    const past = this.past()
    const index = past.indexOf(this.at)
    const key = past[(index < 0 ? past.length : index) - 1]
    this.message = key ? "" : "First item."
    if (key) this.show(key)
  }

  onward() {
    if (this.earlier(this.at) || this.beyond) this.show(this.review.shift() ?? this.front())
  }

  undo() {
    this.undoing = eventId()
    this.outbox.put({ kind: "undo", event: this.undoing })
  }

  mark(index) {
    const { marks } = this.draft()
    const at = marks.indexOf(index)
    at < 0 ? marks.push(index) : marks.splice(at, 1)
  }

  look() {
    this.looking = !this.looking
    const key = this.at
    if (this.looking && key && !this.evidence.has(key)) this.outbox.ask({ evidence: key })
  }

  guide() {
    this.guides = !this.guides
    localStorage.setItem("seedlens-guidelines", this.guides ? "open" : "closed")
  }

  again(keys) {
    this.review = [...keys]
    this.show(this.review.shift() ?? null)
  }
}

// What was said and is not stored yet. A message carries all of it, one message at a time: what
// is said meanwhile goes with the next one, and a message that got lost is sent again. Every
// event has an id of its own, so what arrives twice is stored once.
const TIMEOUT = 8000 // least ms without an answer until the page runs and the message is sent again
const LONGEST = 60000 // and most
const SLOWEST = 4 // times as long as the slowest of the last answers took
const RETRY = 2000 // ms until the app is asked again when it could not store

const eventId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) =>
    b.toString(16).padStart(2, "0"),
  ).join("")

export class Outbox {
  events = []
  turn = 0 // number of the last message; 0 for none
  sent = performance.now() // when it was sent
  waits = false // for the answer to it
  wants = null // what else to ask for with the next message
  timer = 0
  slowest = 0 // ms until an answer came; older ones count less
  stalls = 0 // messages in a row without an answer in time
  send = () => {} // set on every draw: sends a message to Python

  put(event, wanted = null) {
    this.events.push({ event: eventId(), ...event })
    this.wants = wanted ? { ...this.wants, ...wanted } : this.wants
    this.flush()
  }

  ask(wanted) {
    this.wants = { ...this.wants, ...wanted }
    this.flush()
  }

  flush() {
    if (this.waits || (!this.events.length && !this.wants)) return
    this.waits = true
    this.turn = Math.max(this.turn + 1, Date.now())
    this.sent = performance.now()
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.stalled(), this.patience)
    const wants = this.wants
    this.wants = null
    this.send({ turn: this.turn, events: [...this.events], ...wants })
  }

  again() {
    this.waits = false
    this.flush()
  }

  // No answer. An app that was started anew knows nothing of a session until the whole page runs.
  stalled() {
    const patience = this.patience
    this.stalls += 1
    globalThis.seedlensRunPage?.()
    this.timer = setTimeout(() => this.again(), patience / 2)
  }

  // A slow app gets no second message while it works on the first: that would make it slower.
  get patience() {
    const wait = Math.max(TIMEOUT, SLOWEST * this.slowest) * 2 ** Math.min(this.stalls, 3)
    return Math.min(LONGEST, wait)
  }

  // The answer: ids that are settled, and whether to try again with the others.
  answered({ turn, settled, retry }) {
    this.events = this.events.filter((e) => !settled.includes(e.event))
    if (turn !== this.turn) return
    clearTimeout(this.timer)
    this.waits = false
    this.stalls = 0
    this.slowest = Math.max(performance.now() - this.sent, 0.9 * this.slowest)
    if (!retry) return this.flush()
    this.wants = { ...this.wants } // there is something to ask for even when all is settled
    this.timer = setTimeout(() => this.flush(), RETRY)
  }
}
