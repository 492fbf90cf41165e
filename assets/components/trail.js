// The trail as a breadcrumb: the seeds in order, the one that is shown marked. Of more than four,
// the first are behind a button until they are asked for.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const LATEST = 3

  const draw = (all, focus) => {
    const nav = make("nav")
    setLabel(nav, "Trail")
    const list = make("ol", "steps")
    const hidden = all || data.steps.length <= LATEST + 1 ? 0 : data.steps.length - LATEST
    if (hidden) {
      const more = button("plain", `${hidden} earlier`, `Show ${hidden} earlier seeds`, () => draw(true, "step-0"))
      more.dataset.key = "earlier"
      list.append(item(more))
    }
    data.steps.slice(hidden).forEach((step, at) => list.append(item(crumb(step, at + hidden))))
    nav.append(list)
    redrawn(root, focus, [nav])
  }

  const item = (node) => {
    const li = make("li")
    li.append(node)
    return li
  }

  const crumb = (title, index) => {
    if (index !== data.current) {
      const node = button("plain text", title, `Go back to “${title}”`, () =>
        setTriggerValue("step", { index, at: Date.now() }))
      node.dataset.key = `step-${index}`
      return node
    }
    const node = make("span", "current text", title)
    setTip(node, title)
    node.setAttribute("aria-current", "page")
    return node
  }

  draw(false, focusKey(root))
}
