// Guidelines as nodes, from the tree that pages/_annotate/guidelines.py made of their Markdown.
const GUIDE_TAGS = new Set(["p", "ul", "ol", "li", "blockquote", "strong", "em", "code", "pre", "hr", "br", "a", "table", "thead", "tbody", "tr", "th", "td"])

const guideNode = (part) => {
  if (typeof part === "string") return document.createTextNode(withMarks(part))
  const heading = /^h[1-6]$/.test(part.tag)
  const node = make(heading ? "h4" : GUIDE_TAGS.has(part.tag) ? part.tag : "span")
  node.append(...(part.children ?? []).map(guideNode))
  if (part.tag === "a" && /^https?:/i.test(part.href)) {
    Object.assign(node, { href: part.href, target: "_blank", rel: "noopener noreferrer" })
  }
  if (part.tag === "ol" && part.start !== 1) node.start = part.start
  if (part.tag === "th") node.scope = "col"
  if (part.tag !== "table") return node
  const box = make("div", "table") // wide tables scroll in a box of their own
  box.tabIndex = 0
  box.setAttribute("role", "region")
  setLabel(box, "Table of the guidelines")
  box.append(node)
  return box
}
