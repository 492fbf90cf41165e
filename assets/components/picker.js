// A list of documents to choose one from.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const list = make("div", "rows")
  for (const choice of data.documents) {
    const row = button("row", undefined, null, () =>
      setTriggerValue("pick", { doc_id: choice.doc_id, at: Date.now() }))
    row.append(make("span", "text", choice.title), make("span", "year", choice.year ?? ""))
    list.append(row)
  }
  root.replaceChildren(list)
}
