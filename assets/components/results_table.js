// The first results, or the next so many, as a table, sorted by any column; a title unfolds its result below it.
const best = (result) => result.evidence[0]
const moved = (result) => (result.by_model ? result.move?.by : result.rank_change) ?? null

// name, heading, what it is sorted by, whether high comes first, what stands in the cell
const COLUMNS = [
  ["rank", "Rank", (r) => r.rank, false, (r) => String(r.rank)],
  ["title", "Title", (r) => r.title.toLocaleLowerCase(), false, (r, shown) => titleButton(r, shown)],
  ["year", "Year", (r) => r.year, true, (r) => String(r.year ?? "")],
  ["venue", "Venue", (r) => r.venue.toLocaleLowerCase() || null, false, (r) => r.venue],
  ["score", "Score", (r) => r.score, true, (r) => r.score.toPrecision(3)],
  ["change", "Change", moved, true, (r, shown) => movement(r, shown.data.reads_aspect) ?? ""],
  ["grade", "Grade", (r, grades) => grades.get(r.doc_id) ?? null, true, (r, shown) => String(shown.grades.get(r.doc_id) ?? "")],
  ["evidence", "Best evidence", (r) => best(r)?.score ?? null, true, (r) => evidenceCell(best(r))],
]
const NUMBERS = ["rank", "year", "score", "change", "grade"]

// A column, after "-" from high to low.
const orderOf = (sort) => ({ column: sort.replace("-", ""), down: sort.startsWith("-") })

// What has no value comes last either way; equals stay by rank.
const inOrder = (results, { column, down }, grades) => {
  const value = COLUMNS.find(([name]) => name === column)[2]
  const keyed = results.map((result) => [value(result, grades), result])
  keyed.sort(([a, first], [b, second]) => {
    if (a === null || b === null) return (a === null) - (b === null) || first.rank - second.rank
    const order = typeof a === "string" ? a.localeCompare(b) : a - b
    return (down ? -order : order) || first.rank - second.rank
  })
  return keyed.map(([, result]) => result)
}

const evidenceCell = (pair) => {
  if (!pair) return ""
  const node = make("span", roleClass(pair.role))
  setTip(node, `Cosine of the two passages: ${pair.score.toFixed(2)}`)
  node.append(make("span", "letter", pair.letter), " ", marked(pair.doc_text, pair.doc_marks))
  return node
}

const headerCell = ([name, heading, , high], shown) => {
  const { column, down } = shown.order
  const node = make("th", NUMBERS.includes(name) ? "number" : "")
  node.scope = "col"
  if (column === name) node.setAttribute("aria-sort", down ? "descending" : "ascending")
  const sort = action("sort", heading, null, `sort-${name}`, () => shown.sort(name, column === name ? !down : high))
  setTip(sort, `Sort by ${heading.toLowerCase()}`)
  const arrow = make("span", "arrow", column === name ? (down ? "↓" : "↑") : "")
  arrow.setAttribute("aria-hidden", "true")
  sort.append(arrow)
  node.append(sort)
  return node
}

const tableRows = (result, shown) => {
  const row = make("tr", shown.at === result.doc_id ? "current" : "")
  row.dataset.doc = result.doc_id
  for (const [name, , , , cell] of COLUMNS) {
    const heads = name === "title"
    const node = make(heads ? "th" : "td", heads ? "" : NUMBERS.includes(name) ? `${name} number` : name)
    if (heads) node.scope = "row"
    node.append(cell(result, shown))
    row.append(node)
  }
  if (shown.kept.has(result.doc_id)) row.querySelector("th").append(make("span", "kept", " Kept ✓"))
  if (!shown.open.has(result.doc_id)) return [row]
  const below = make("tr", "below")
  below.dataset.doc = result.doc_id
  const whole = make("td")
  whole.colSpan = COLUMNS.length
  whole.append(bodyNode(result, shown))
  below.append(whole)
  return [row, below]
}

const whatIsSorted = ({ results, total }) => {
  if (results.length === total) return "Sorting applies to all results."
  const ranks = results.map((result) => result.rank)
  return `Sorting applies to ranks ${Math.min(...ranks)}–${Math.max(...ranks)} of ${total.toLocaleString("en")}.`
}

const tableNode = (shown) => {
  const frame = make("div", "frame")
  frame.tabIndex = 0 // it scrolls sideways in a narrow window
  frame.dataset.key = "frame"
  frame.setAttribute("role", "region")
  setLabel(frame, "Results as a table")
  const table = make("table")
  table.append(make("caption", "", whatIsSorted(shown.data)))
  const head = make("tr")
  head.append(...COLUMNS.map((column) => headerCell(column, shown)))
  const body = make("tbody")
  body.append(...shown.results.flatMap((result) => tableRows(result, shown)))
  table.append(make("thead"), body)
  table.tHead.append(head)
  frame.append(table)
  return frame
}
