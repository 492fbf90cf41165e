// Documents that the wording moves, with their ranks; one of them unfolds its evidence under
// each variant, with what the first variant does not show marked.
const drawn = new WeakMap()

const side = (letter, role, who, body) => {
  const row = make("div", `pair ${roleClass(role)}`)
  row.append(make("span", "letter", letter), make("span", "who", who), body)
  return row
}

const pairNode = (pair, first) => {
  const node = make("div", pair.gained ? "both gained" : "both")
  setTip(node, `Cosine of the two passages: ${pair.score.toFixed(2)}`)
  if (pair.gained) node.append(make("span", "tag text", `not in ${first}`))
  node.append(
    side(pair.seed_letter, pair.seed_role, "seed", marked(pair.seed_text, pair.seed_marks, "seedtext")),
    side(pair.letter, pair.role, "this", marked(pair.doc_text, pair.doc_marks)))
  return node
}

const blockNode = (block, first) => {
  const node = make("div", "block")
  const head = make("div", "blockhead")
  head.append(make("span", "name text", block.name), make("span", "where", block.rank === null ? "not ranked" : `rank ${block.rank}`))
  node.append(head)
  if (block.same) node.append(make("div", "same text", `Same passages as ${first}.`))
  for (const pair of block.pairs) node.append(pairNode(pair, first))
  if (!block.pairs.length && !block.same) node.append(make("div", "same", "No passage stands out."))
  return node
}

const openedNode = (opened) => {
  const node = make("div", "opened")
  if (opened.meta) node.append(make("div", "meta text", opened.meta))
  for (const block of opened.blocks) node.append(blockNode(block, opened.blocks[0].name))
  const whole = make("details", "whole")
  whole.append(make("summary", "", "Full text by aspect"))
  for (const sentence of opened.sentences) {
    const row = make("div", `line ${roleClass(sentence.role)}`)
    row.append(make("span", "letter", sentence.letter), make("span", "text body", sentence.text))
    whole.append(row)
  }
  node.append(whole)
  return node
}

const rankCells = (paper, columns) => {
  const cells = make("span", "cells")
  paper.ranks.forEach((rank, i) => {
    const cell = make("span", "cell", rank === null ? "–" : String(rank))
    setTip(cell, `${columns[i]}: ${rank === null ? "not ranked" : `rank ${rank}`}`)
    cells.append(cell)
  })
  return cells
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  const text = JSON.stringify(data)
  if (drawn.get(parentElement) === text && root.firstChild) return
  drawn.set(parentElement, text)

  const list = make("div", "papers")
  if (data.papers.length) {
    const head = make("div", "head")
    const cells = make("span", "cells")
    data.columns.forEach((name, i) => {
      const cell = make("span", "cell", String(i + 1))
      setTip(cell, name)
      cells.append(cell)
    })
    head.append(make("span", "", "Rank per variant"), cells)
    list.append(head)
  }
  for (const paper of data.papers) {
    const open = data.opened?.doc_id === paper.doc_id
    const node = make("article", open ? "paper on" : "paper")
    node.dataset.doc = paper.doc_id
    const row = button("row", undefined, null, () => setTriggerValue("open", { doc_id: paper.doc_id, at: Date.now() }))
    row.setAttribute("aria-expanded", String(open))
    row.dataset.key = `paper-${paper.doc_id}`
    row.append(make("span", "title text", paper.title), rankCells(paper, data.columns))
    setLabel(row, `${paper.title}. Ranks: ${data.columns.map((c, i) => `${c} ${paper.ranks[i] ?? "none"}`).join(", ")}`)
    node.append(row)
    if (open) node.append(openedNode(data.opened))
    list.append(node)
  }
  redrawn(root, focusKey(root), [list])
}
