// The seed and a result side by side, aligned by aspect: what each says of it.

const ofRole = (document_, marks, role) => {
  const lines = []
  document_.sentences.forEach((sentence, i) => {
    if ((sentence.role ?? null) === role) lines.push(marked(sentence.text, marks[i] ?? [], "said"))
  })
  return lines
}

const sideNode = (who, lines, aspect) => {
  const node = make("div", "side")
  node.append(make("span", "who", who))
  if (lines.length) node.append(...lines)
  else node.append(make("span", "none", aspect ? `No sentence of ${aspect}.` : "No other sentence."))
  return node
}

const aspectRow = (name, letter, role, [mine, theirs]) => {
  const row = make("section", `aspectrow ${roleClass(role)}`)
  const heading = make("h3")
  heading.append(make("span", "letter", letter), ` ${name ?? "No aspect"}`)
  row.append(heading, sideNode("Seed", mine, name), sideNode("Result", theirs, name))
  return row
}

const titleSide = (who, document_) => {
  const node = make("div", "side")
  node.append(make("div", "kicker", who), make("div", "title text", document_.title || "Pasted text"))
  const meta = metaLine(document_)
  if (meta) node.append(meta)
  return node
}

const showPair = (parent, result, { seed, aspects }) => {
  const titles = make("div", "aspectrow titles")
  titles.append(make("div"), titleSide("Seed", seed), titleSide(`Result ${result.rank}`, result))
  const rows = [titles]
  const roles = [...aspects.map((aspect, i) => [aspect.name, aspect.letter, i]), [null, "·", null]]
  for (const [name, letter, role] of roles) {
    const sides = [ofRole(seed, result.seed_marks, role), ofRole(result, result.own_marks, role)]
    if (name !== null || sides.some((lines) => lines.length)) rows.push(aspectRow(name, letter, role, sides))
  }
  const words = make("p", "small", "Highlighted: matching words in the evidence.")
  showDialog(parent, "pairdialog", "Side by side, by aspect", [...rows, words])
}
