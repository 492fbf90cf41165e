// The five steps of a build: how each stands, and a way to open it.
import { component, html, nothing, render } from "./base.js"

const SIGNS = { done: "✓", stale: "!", running: "…", failed: "×" }

export default component(({ data, root, send }) => {
  const step = ({ key, kind, number, name, words, open, current }) =>
    html`<li class="step ${kind}">
      <button class="open" ?disabled=${!open} aria-current=${current ? "step" : nothing}
        @click=${() => send("open", { step: key })}>
        <span class="sign" aria-hidden="true">${SIGNS[kind] ?? number}</span>
        <span class="words"
          ><span class="name">${name}</span><span class="state">${words || "\u00a0"}</span></span
        >
      </button>
    </li>`
  const steps = html`<ol class="steps">${data.steps.map(step)}</ol>`
  render(html`<nav aria-label="Steps of the build">${steps}</nav>`, root)
})
