// The trail as a breadcrumb: the seeds in order, the one that is shown marked. Of more than four,
// the first are behind a button until they are asked for.
import { button, component, html, render } from "./base.js"

const LATEST = 3

export default component(({ data: { steps, current }, root, send }) => {
  const crumb = (title, index) =>
    index === current
      ? html`<span class="current text" title=${title} aria-current="page">${title}</span>`
      : button("plain text", title, `Go back to “${title}”`, () => send("step", { index }))

  const draw = (all) => {
    const hidden = all || steps.length <= LATEST + 1 ? 0 : steps.length - LATEST
    const crumbs = steps.map(crumb).slice(hidden)
    const showAll = () => {
      draw(true)
      root.querySelector("button").focus()
    }
    const label = `Show ${hidden} earlier seeds`
    if (hidden) crumbs.unshift(button("plain", `${hidden} earlier`, label, showAll))
    const items = crumbs.map((one) => html`<li>${one}</li>`)
    render(html`<nav aria-label="Trail"><ol class="steps">${items}</ol></nav>`, root)
  }

  draw(false)
})
