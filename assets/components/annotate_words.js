// Guidelines as nodes, from the tree that pages/_annotate/guidelines.py made of their Markdown.
import { html, withMarks } from "./base.js"

const TAGS = "p ul ol li blockquote strong em code pre hr br a table thead tbody tr th td".split(
  " ",
)
const known = new WeakMap()

const nodeOf = ({ tag, children, href, start }) => {
  const heading = /^h[1-6]$/.test(tag)
  const node = document.createElement(heading ? "h4" : TAGS.includes(tag) ? tag : "span")
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

// A part of the guidelines; made once, so that it keeps its place and the focus.
export const guideNode = (part) => {
  if (typeof part === "string") return html`${part}`
  if (!known.has(part)) known.set(part, nodeOf(part))
  return known.get(part)
}
