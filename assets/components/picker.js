// A list of documents to choose one from. Titles only ever enter through textContent.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const list = document.createElement("div")
  list.className = "rows"
  for (const document_ of data.documents) {
    const row = document.createElement("button")
    row.type = "button"
    row.className = "row"
    const title = document.createElement("span")
    title.className = "text"
    title.textContent = document_.title
    const year = document.createElement("span")
    year.className = "year"
    year.textContent = document_.year ?? ""
    row.append(title, year)
    row.onclick = () => setTriggerValue("pick", { doc_id: document_.doc_id, at: Date.now() })
    list.append(row)
  }
  root.replaceChildren(list)
}
