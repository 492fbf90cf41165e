// To the first result at once, for who goes through the page by keyboard.
export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  if (!root.firstChild) root.append(button("skip", "Skip to results", null, () => globalThis.seedlensToResults?.()))
}
