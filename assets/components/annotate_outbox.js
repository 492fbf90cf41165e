// What was said and is not stored yet. A message carries all of it, one message at a time: what
// is said meanwhile goes with the next one, and a message that got lost is sent again. Every
// event has an id of its own, so what arrives twice is stored once.
const TIMEOUT = 8000 // least ms without an answer until the page runs and the message is sent again
const LONGEST = 60000 // and most
const SLOWEST = 4 // times as long as the slowest of the last answers took
const RETRY = 2000 // ms until the app is asked again when it could not store

export const eventId = () =>
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
