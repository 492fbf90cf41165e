// The session of one annotator as it is seen and used: the seed left, the candidate right, the
// grades below.
const BOUNCE = 50 // ms within which the same key is the same press

const plural = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`

const paceWords = ({ per_minute }, left) => {
  if (!per_minute) return ""
  const pace = per_minute < 10 ? Number(per_minute.toFixed(1)) : Math.round(per_minute)
  const minutes = Math.ceil(left / per_minute)
  const time = minutes < 90 ? `${minutes} min` : `${Number((minutes / 60).toFixed(1))} hours`
  return `, about ${pace} a minute${left ? `, ${time} left` : ""}`
}

const progressNode = (session) => {
  const { progress } = session.data
  const fresh = new Set(session.outbox.events.filter((e) => e.first).map((e) => e.key))
  const done = Math.min(progress.total, progress.done + fresh.size)
  const node = make("div", "progress")
  const meter = make("span", "meter")
  meter.append(make("span"))
  meter.firstChild.style.width = `${progress.total ? (100 * done) / progress.total : 0}%`
  const { annotator, people } = session.data
  const words = make("span", "words", `${annotator}: ${done.toLocaleString("en")} of ${progress.total.toLocaleString("en")}${people > 1 ? " (your share)" : ""}${paceWords(progress, progress.total - done)}`)
  const shared = people > 1 ? `, shared by ${people} people` : ""
  setTip(words, `Your progress${shared}. Pace: last 20 judgments without breaks.`)
  node.append(meter, words)
  node.append(make("span", "stored", session.outbox.events.length ? "Saving…" : "Saved"))
  return node
}

const sentenceRows = (sentences, on) => sentences.map((sentence) => {
  const row = make("div", `sentence ${roleClass(sentence.role)}${on(sentence) ? " on" : ""}`)
  row.append(make("span", "letter", sentence.letter), make("span", "text", sentence.text))
  return row
})

const headed = (cls, kicker, document_) => {
  const card = make("section", `card ${cls}`)
  card.tabIndex = 0
  card.dataset.key = cls
  setLabel(card, kicker)
  card.append(make("div", "kicker", kicker))
  if (document_.title) card.append(make("div", "title text", document_.title))
  if (document_.meta) card.append(make("div", "meta text", document_.meta))
  return card
}

const seedNode = (seed) => {
  const card = headed("seed", seed.kicker, seed)
  const list = make("div", "sentences")
  list.append(...sentenceRows(seed.sentences, (s) => s.on))
  card.append(list)
  return card
}

// What is asked for stays above the item, however long its text is.
const askedNode = (seed) => {
  const asked = make("div", `asked ${roleClass(seed.role)}`)
  if (seed.aspect) asked.append(make("span", "badge", `${seed.letter} · ${seed.aspect}`))
  if (seed.asked) asked.append(make("span", "text", seed.asked))
  return asked
}

// A low window shows the sentences that count first.
const reveal = (card) => {
  const on = card ? [...card.querySelectorAll(".sentence.on")] : []
  if (!on.length) return
  const box = card.getBoundingClientRect()
  const below = on.at(-1).getBoundingClientRect().bottom - box.bottom
  const above = on[0].getBoundingClientRect().top - box.top
  if (below <= 0) return
  const wanted = Math.min(below + 12, above - 12)
  // No line is cut in two at the top.
  const parts = [...card.children, ...card.querySelectorAll(".sentence")]
  const tops = parts.map((part) => part.getBoundingClientRect().top - box.top - 12)
  card.scrollTop = tops.filter((top) => top >= wanted).reduce((a, b) => Math.min(a, b), above - 12)
}

const pairNode = (pair) => {
  const node = make("div", "pair")
  for (const [side, letter, role, text] of [
    ["seed", pair.seed_letter, pair.seed_role, pair.seed_text],
    ["it", pair.letter, pair.role, pair.doc_text],
  ]) {
    const row = make("div", `sentence ${roleClass(role)}`)
    row.append(make("span", "side", side), make("span", "letter", letter), make("span", "text", text))
    node.append(row)
  }
  return node
}

const evidenceNode = (session, act) => {
  const node = make("div", "evidence")
  const toggle = button("", session.looking ? "Hide evidence" : "Show evidence", null, () => act((d) => d.look()))
  toggle.prepend(make("kbd", "", "E"))
  toggle.dataset.key = "evidence"
  toggle.setAttribute("aria-expanded", String(session.looking))
  setTip(toggle, "Matching passages. May bias your judgment.")
  node.append(toggle)
  if (!session.looking) return node
  const found = session.evidence.get(session.at)
  if (!found) node.append(make("div", "hint", "Loading…"))
  else if (!found.pairs.length) node.append(make("div", "hint", found.message || "No matching passages."))
  else node.append(...found.pairs.map(pairNode))
  return node
}

const saidWords = (session, said) => {
  if (said.verdict !== "grade") return said.verdict === "skip" ? "skipped this" : "were unsure"
  const grade = session.data.scale.find((g) => g.value === said.relevance)
  return `graded ${said.relevance}${grade ? ` · ${grade.name}` : ""}`
}

const withOnward = (words, act) => {
  const line = make("div", "before")
  const on = button("", "Next", null, () => act((d) => d.onward()))
  on.prepend(make("kbd", "", "F"))
  on.dataset.key = "onward"
  line.append(make("span", "", words), on)
  return line
}

const candidateNode = (session, item, act) => {
  const card = headed("candidate", "Candidate", item)
  const before = session.earlier(item.key)
  if (before) {
    card.append(withOnward(`You ${saidWords(session, before)}. Press another key to change it.`, act))
  } else if (session.beyond) {
    card.append(withOnward("This item has enough annotations. Yours is saved as extra.", act))
  }
  if (item.sources.length) {
    const words = item.sources.map((s) => `${s.name} ${s.rank}`).join(", ")
    card.append(make("div", "meta text", `Retrieved by ${words}`))
  }
  const { marks } = session.draft()
  const list = make("div", "sentences")
  item.sentences.forEach((sentence, index) => {
    const row = button(`sentence ${roleClass(sentence.role)}`, undefined, null, () => act((d) => d.mark(index)))
    row.dataset.key = `mark-${index}`
    row.setAttribute("aria-pressed", String(marks.includes(index)))
    setTip(row, "Mark as evidence")
    row.append(make("span", "letter", sentence.letter), make("span", "text", sentence.text))
    list.append(row)
  })
  card.append(list, make("div", "hint", "Click the sentences that support your grade."), evidenceNode(session, act))
  return card
}

const guidesNode = (session, seed) => {
  const drawer = make("aside", "card guides")
  drawer.tabIndex = 0
  drawer.dataset.key = "guides"
  setLabel(drawer, "Guidelines")
  drawer.append(make("div", "kicker", "Guidelines"))
  const guidelines = new Map(Object.entries(session.data.guidelines))
  const texts = [guidelines.get(""), guidelines.get(seed?.aspect_key ?? "")]
  const words = [...new Set(texts)].filter((parts) => parts?.length)
  for (const parts of words) drawer.append(...parts.map(guideNode))
  if (!words.length) drawer.append(make("p", "", "No guidelines yet. Leads can write them under Project."))
  const scale = make("dl", "scale")
  for (const grade of session.data.scale) {
    scale.append(make("dt", "", `${grade.value} · ${grade.name}`), make("dd", "", grade.meaning))
  }
  drawer.append(scale)
  return drawer
}

const endNode = (session, act) => {
  const { progress, later } = session.data
  const node = make("section", "card end")
  if (session.outbox.events.length) {
    node.append(make("p", "", "Saving…"))
    return node
  }
  const graded = progress.done - progress.skipped - progress.unsure
  const { waiting } = session.data
  const title = waiting ? waiting.title : progress.done ? "All done" : "Queue complete"
  node.append(make("div", "title", title))
  const words = progress.done
    ? `You graded ${plural(graded, "item", "items")}, skipped ${progress.skipped} and were unsure of ${progress.unsure}.`
    : "All items have enough annotations."
  if (waiting) node.append(make("p", "", waiting.words))
  if (progress.done || !waiting) node.append(make("p", "", words))
  const row = make("div", "row")
  for (const [keys, label] of [[later.skip, "Review skipped"], [later.unsure, "Review unsure"]]) {
    if (!keys.length) continue
    row.append(button("again", `${label} (${keys.length})`, null, () => act((d) => d.again(keys))))
  }
  node.append(row)
  return node
}

const keyButton = (cap, name, meaning, pressed, does) => {
  const node = button("key", undefined, null, does)
  node.dataset.key = `key-${cap}`
  node.append(make("kbd", "", cap), make("span", "name", name))
  if (meaning) node.append(make("span", "meaning", meaning))
  setTip(node, meaning ? `${name}: ${meaning}` : name)
  node.setAttribute("aria-keyshortcuts", cap)
  if (pressed !== null) node.setAttribute("aria-pressed", String(pressed))
  return node
}

// The second click of a double click would judge a document that nobody has read.
const once = (does) => (event) => event.detail < 2 && does()

const keysNode = (session, act, parent) => {
  const before = session.item ? session.earlier(session.at) : null
  const node = make("div", "keys")
  const grades = make("div", "grades")
  for (const { value, name, meaning } of session.data.scale) {
    const pressed = before?.verdict === "grade" && before.relevance === value
    grades.append(keyButton(String(value), name, meaning, pressed, once(() => act((d) => d.say("grade", value)))))
  }
  const others = make("div", "others")
  others.append(
    keyButton("S", "Skip", "", before?.verdict === "skip", once(() => act((d) => d.say("skip")))),
    keyButton("U", "Unsure", "", before?.verdict === "unsure", once(() => act((d) => d.say("unsure")))),
    keyButton("B", "Back", "", null, () => act((d) => d.back())),
    keyButton("Z", "Undo", "", null, () => act((d) => d.undo())),
    keyButton("G", "Guidelines", "", session.guides, () => act((d) => d.guide())),
    keyButton("?", "Keys", "", null, () => listKeys(session, parent)),
  )
  for (const key of [...grades.children, ...others.querySelectorAll('[data-key="key-S"], [data-key="key-U"]')]) {
    key.disabled = !session.item
  }
  node.append(grades, others)
  return node
}

const noteNode = (session) => {
  const label = make("label", "note")
  label.append(make("kbd", "", "N"), make("span", "name", "Note"))
  const field = make("textarea")
  field.rows = 1
  field.maxLength = session.data.longest_note
  field.placeholder = "Reason for the grade. Esc returns to the keys."
  field.dataset.key = "note"
  field.disabled = !session.item
  field.value = session.item ? session.draft().note : ""
  field.oninput = () => { session.draft().note = field.value }
  label.append(field)
  return label
}

const drawn = (session, act, parent) => {
  const item = session.item
  const seed = item && session.seeds.get(item.query_id)
  const panes = make("div", `panes${session.guides ? " guided" : ""}`)
  if (session.at === null) panes.append(endNode(session, act))
  else if (!item || !seed) panes.append(make("section", "card end", "Loading…"))
  else panes.append(seedNode(seed), candidateNode(session, item, act))
  if (session.guides) panes.append(guidesNode(session, seed))
  const message = make("div", "message", session.message)
  message.setAttribute("role", "status")
  const foot = make("div", "foot")
  foot.append(noteNode(session), keysNode(session, act, parent))
  const pinned = seed && (seed.asked || seed.aspect) ? [askedNode(seed)] : []
  return [progressNode(session), ...pinned, panes, message, foot]
}

// -- keys -------------------------------------------------------------------------------------

const actionOf = (session, key, root) => {
  const grade = session.data.scale.find((g) => String(g.value) === key)
  if (grade) return (d) => d.say("grade", grade.value)
  return {
    s: (d) => d.say("skip"),
    u: (d) => d.say("unsure"),
    b: (d) => d.back(),
    z: (d) => d.undo(),
    e: (d) => d.item && d.look(),
    g: (d) => d.guide(),
    f: (d) => d.onward(),
    n: () => root.querySelector("textarea")?.focus(),
    "?": (d) => listKeys(d, root.parentNode),
  }[key.toLowerCase()]
}

const listKeys = (session, parent) => showKeys(parent, [
  ...session.data.scale.map(({ value, name, meaning }) => [[String(value)], meaning ? `${name}: ${meaning}` : name]),
  [["S"], "Skip"],
  [["U"], "Unsure"],
  [["B"], "Previous"],
  [["F"], "Next without answering"],
  [["Z"], "Undo"],
  [["N"], "Write a note; Esc returns to the keys"],
  [["E"], "Show or hide evidence"],
  [["G"], "Show or hide guidelines"],
])

const pressed = (session, root, act) => (event) => {
  const target = event.composedPath()[0]
  if (event.key === "Escape" && isWriting(target) && root.contains(target)) target.blur()
  const ours = target instanceof Node && root.contains(target)
  if (event.repeat && ours && !isWriting(target) && ["Enter", " "].includes(event.key)) event.preventDefault()
  if (!isForPage(event)) return
  const action = actionOf(session, event.key, root)
  if (!action) return
  event.preventDefault()
  // A held key judges one item, and a key that bounces is one press.
  const [last, at] = session.pressed
  if (event.repeat || (last === event.key && event.timeStamp - at < BOUNCE)) return
  session.pressed = [event.key, event.timeStamp]
  act(action)
}

export default function (component) {
  const { data, parentElement, setStateValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  if (!sessions.has(data.id)) sessions.set(data.id, new Session())
  const session = sessions.get(data.id)
  const redraw = () => {
    const before = root.seedlensShown ?? {}
    const now = { seed: session.item?.query_id, guides: session.item && session.seeds.get(session.item.query_id)?.aspect_key, candidate: session.at }
    const scrolled = Object.fromEntries([...root.querySelectorAll(".card")].map((card) => [card.dataset.key, card.scrollTop]))
    const note = root.querySelector("textarea")
    const selection = note && [note.selectionStart, note.selectionEnd]
    redrawn(root, focusKey(root), drawn(session, act, parentElement))
    // What stays the same stays where it was scrolled to.
    for (const [name, shown] of Object.entries(now)) {
      const card = root.querySelector(`.card[data-key="${name}"]`)
      if (card && before[name] === shown) card.scrollTop = scrolled[name] ?? 0
    }
    if (before.seed !== now.seed) reveal(root.querySelector(".card.seed"))
    const field = root.querySelector("textarea")
    if (before.candidate === now.candidate && selection && root.getRootNode().activeElement === field) {
      field.setSelectionRange(...selection)
    }
    root.seedlensShown = now
    session.lookAgain()
  }
  const act = (action) => {
    action(session)
    redraw()
  }
  for (const [id, each] of sessions) each.outbox.send = (message) => setStateValue("sent", { session: id, held: each.held(), ...message })
  if (data.answer.session !== data.id) sessions.get(data.answer.session)?.outbox.answered(data.answer)
  if (session.data !== data) session.take(data)
  redraw()
  const onKey = pressed(session, root, act)
  const onLeave = (event) => session.outbox.events.length && event.preventDefault()
  // A key elsewhere on the page may ask for a run of it, which would be lost beside this message.
  const onStir = (event) => {
    if (event.type !== "keydown" || event.composedPath().includes(root)) session.stirred()
  }
  const stirs = ["pointermove", "keydown", "scroll"]
  document.addEventListener("keydown", onKey)
  window.addEventListener("beforeunload", onLeave)
  root.seedlensStop?.()
  for (const name of stirs) document.addEventListener(name, onStir, { capture: true, passive: true })
  root.seedlensStop = () => {
    for (const name of stirs) document.removeEventListener(name, onStir, { capture: true })
    document.removeEventListener("keydown", onKey)
    window.removeEventListener("beforeunload", onLeave)
  }
  return () => {
    session.stop()
    root.seedlensStop()
  }
}
