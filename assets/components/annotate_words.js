// Guidelines: the Markdown that rules are written in (headings, lists, quotes, bold, italics,
// code), as nodes. Everything else is shown as it stands: no links, no images, no HTML.
const inline = (node, text) => {
  const pattern = /\*\*(.+?)\*\*|\*([^*\s][^*]*)\*|_([^_\s][^_]*)_|`([^`]+)`/g
  let at = 0
  for (const found of text.matchAll(pattern)) {
    if (found.index > at) node.append(text.slice(at, found.index))
    const [whole, strong, star, line, code] = found
    if (strong !== undefined) node.append(make("strong", "", strong))
    else if (code !== undefined) node.append(make("code", "", code))
    else node.append(make("em", "", star ?? line))
    at = found.index + whole.length
  }
  node.append(text.slice(at))
  return node
}

const markdown = (source) => {
  const nodes = []
  let open = null // the paragraph or list that the next line may belong to
  for (const line of source.split(/\r?\n/)) {
    const heading = line.match(/^#{1,6}\s+(.*)/)
    const bullet = line.match(/^\s*[-*+]\s+(.*)/)
    const number = line.match(/^\s*\d+[.)]\s+(.*)/)
    const quote = line.match(/^>\s?(.*)/)
    if (!line.trim()) {
      open = null
    } else if (heading) {
      nodes.push(inline(make("h4"), heading[1]))
      open = null
    } else if (bullet || number) {
      const tag = bullet ? "UL" : "OL"
      if (open?.tagName !== tag) nodes.push((open = make(tag)))
      open.append(inline(make("li"), (bullet ?? number)[1]))
    } else if (open && /^\s/.test(line) && open.lastElementChild?.tagName === "LI") {
      inline(open.lastElementChild, ` ${line.trim()}`)
    } else {
      const tag = quote ? "BLOCKQUOTE" : "P"
      if (open?.tagName !== tag) nodes.push((open = make(tag, "text")))
      else open.append(" ")
      inline(open, quote ? quote[1] : line)
    }
  }
  return nodes
}
