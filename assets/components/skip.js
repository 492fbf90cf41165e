// To the first result at once: by keyboard, and on a phone, where results are below the controls.
const watchers = new WeakMap()

export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  if (!root.firstChild) root.append(button("skip", "Skip to results", null, () => globalThis.seedlensToResults?.()))
  watchers.get(root)?.disconnect()
  const watcher = new IntersectionObserver(([entry]) =>
    root.classList.toggle("there", entry.isIntersecting || entry.boundingClientRect.top < 0))
  watchers.set(root, watcher)
  const results = document.querySelector("[class*=st-key-explore_results]")
  if (results) watcher.observe(results)
}
