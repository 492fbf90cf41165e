// To the first result at once: by keyboard, and on a phone, where results are below the controls.
export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  if (!root.firstChild) root.append(button("skip", "Skip to results", null, () => globalThis.seedlensToResults?.()))
  const watcher = new IntersectionObserver(([entry]) =>
    root.classList.toggle("there", entry.isIntersecting || entry.boundingClientRect.top < 0))
  // The list of results is drawn later, and again after a search without results.
  const watch = () => {
    watcher.disconnect()
    root.classList.toggle("there", !globalThis.seedlensResults)
    if (globalThis.seedlensResults) watcher.observe(globalThis.seedlensResults)
  }
  root.seedlensStop?.()
  root.seedlensStop = () => {
    document.removeEventListener("seedlens-results", watch)
    watcher.disconnect()
  }
  document.addEventListener("seedlens-results", watch)
  watch()
  return () => root.seedlensStop()
}
