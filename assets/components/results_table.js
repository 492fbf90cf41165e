// The first results, or the next so many, as a table, sorted by any column; a title unfolds its
// result below it.
import { cosine, html, marked, nothing, repeat, roleClass } from "./base.js"
import { bodyOf, movement, titleOf } from "./results_parts.js"

const change = (result) => (result.by_model ? result.move?.by : result.rank_change) ?? null

const best = ({ evidence: [pair] }) =>
  pair
    ? html`<span class=${roleClass(pair.role)} title=${cosine(pair)}>
        <span class="letter">${pair.letter}</span> ${marked(pair.doc_text, pair.doc_marks)}
      </span>`
    : ""

// name, heading, what it is sorted by, whether high comes first, what stands in the cell
const COLUMNS = [
  ["rank", "Rank", (r) => r.rank, false],
  ["title", "Title", (r) => r.title.toLocaleLowerCase(), false, titleOf],
  ["year", "Year", (r) => r.year, true],
  ["venue", "Venue", (r) => r.venue.toLocaleLowerCase() || null, false, (r) => r.venue],
  ["score", "Score", (r) => r.score, true, (r) => r.score.toPrecision(3)],
  ["change", "Change", change, true, (r, page) => movement(r, page.data.reads_aspect)],
  ["grade", "Grade", (r, { grades }) => grades.get(r.doc_id) ?? null, true],
  ["evidence", "Best evidence", (r) => r.evidence[0]?.score ?? null, true, best],
]
const NUMBERS = ["rank", "year", "score", "change", "grade"]

export const byId = ({ doc_id }) => doc_id

// A column, after "-" from high to low.
export const orderOf = (sort) => ({ column: sort.replace("-", ""), down: sort.startsWith("-") })

// What has no value comes last either way; equals stay by rank.
export const inOrder = (page) => {
  const { column, down } = page.order
  const [, , value] = COLUMNS.find(([name]) => name === column)
  const keyed = page.data.results.map((result) => [value(result, page), result])
  keyed.sort(([a, first], [b, second]) => {
    if (a === null || b === null) return (a === null) - (b === null) || first.rank - second.rank
    const order = typeof a === "string" ? a.localeCompare(b) : a - b
    return (down ? -order : order) || first.rank - second.rank
  })
  return keyed.map(([, result]) => result)
}

const header = ([name, heading, , high], page) => {
  const { column, down } = page.order
  const sorted = column === name ? (down ? "descending" : "ascending") : nothing
  const sort = () => page.sort(name, column === name ? !down : high)
  const arrow = { descending: "↓", ascending: "↑" }[sorted] ?? ""
  return html`<th scope="col" class=${NUMBERS.includes(name) ? "number" : ""} aria-sort=${sorted}>
    <button class="sort" title="Sort by ${heading.toLowerCase()}" @click=${sort}
      >${heading}<span class="arrow" aria-hidden="true">${arrow}</span></button>
  </th>`
}

const rows = (result, page) => {
  const { doc_id } = result
  const kept = page.kept.has(doc_id) ? html`<span class="kept"> Kept ✓</span>` : ""
  const cell = ([name, , value, , words = value]) => {
    if (name === "title") return html`<th scope="row">${words(result, page)}${kept}</th>`
    const cls = NUMBERS.includes(name) ? "number" : ""
    return html`<td class="${name} ${cls}">${words(result, page)}</td>`
  }
  const below = html`<tr class="below" data-doc=${doc_id}>
    <td colspan=${COLUMNS.length}>${bodyOf(result, page)}</td>
  </tr>`
  return html`<tr class=${page.state.at === doc_id ? "current" : ""} data-doc=${doc_id}>
      ${COLUMNS.map(cell)}
    </tr>
    ${page.state.open.has(doc_id) ? below : ""}`
}

const whatIsSorted = ({ results, total }) => {
  if (results.length === total) return "Sorting applies to all results."
  const ranks = results.map(({ rank }) => rank)
  const [first, last] = [Math.min(...ranks), Math.max(...ranks)]
  return `Sorting applies to ranks ${first}–${last} of ${total.toLocaleString("en")}.`
}

// It scrolls sideways in a narrow window.
export const tableOf = (page) =>
  html`<div class="frame" role="region" tabindex="0" aria-label="Results as a table">
    <table>
      <caption>${whatIsSorted(page.data)}</caption>
      <thead><tr>${COLUMNS.map((column) => header(column, page))}</tr></thead>
      <tbody>
        ${repeat(page.results, byId, (result) => rows(result, page))}
      </tbody>
    </table>
  </div>`
