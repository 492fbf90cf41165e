// To the first result at once: by keyboard, and on a phone, where results are below the controls.
import { button, component, render } from "./base.js"
import { shownRoot, toResults } from "./results.js"

export default component(({ on, root }) => {
  render(button("skip", "Skip to results", null, toResults), root)
  const watcher = new IntersectionObserver(([{ isIntersecting, boundingClientRect }]) =>
    root.classList.toggle("there", isIntersecting || boundingClientRect.top < 0),
  )
  // The list of results is drawn later, and again after a search without results.
  const watch = () => {
    watcher.disconnect()
    root.classList.toggle("there", !shownRoot)
    if (shownRoot) watcher.observe(shownRoot)
  }
  on(document, "seedlens-results", watch)
  watch()
  return () => watcher.disconnect()
})
