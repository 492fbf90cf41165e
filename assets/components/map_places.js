// Where points of a layout lie: which is near a place, which lie in an outline, where clusters are.
import { ABSENT } from "./map_gl.js"

const CELLS = 128
export const LOOSE = 65535 // the label of a point that no cluster has

export class Places {
  // Args: positions: 2n numbers from 0 to 65535.
  constructor(positions) {
    this.positions = positions
    this.count = positions.length / 2
    const cellOf = (row) =>
      this.cell(positions[2 * row]) * CELLS + this.cell(positions[2 * row + 1])
    this.starts = new Uint32Array(CELLS * CELLS + 1)
    for (let row = 0; row < this.count; row += 1)
      if (this.has(row)) this.starts[cellOf(row) + 1] += 1
    for (let i = 0; i < CELLS * CELLS; i += 1) this.starts[i + 1] += this.starts[i]
    const next = this.starts.slice()
    this.rows = new Uint32Array(this.starts.at(-1))
    for (let row = 0; row < this.count; row += 1)
      if (this.has(row)) this.rows[next[cellOf(row)]++] = row
  }

  has(row) {
    return this.positions[2 * row] !== ABSENT
  }

  at(row) {
    return [this.positions[2 * row] / 65535, this.positions[2 * row + 1] / 65535]
  }

  cell(value) {
    return Math.min(CELLS - 1, (value * CELLS) >> 16)
  }

  // Calls `see` with each row in the box, and some near it. The box is in 0..1.
  within([left, bottom, right, top], see) {
    const cell = (value) => this.cell(Math.max(0, Math.min(65535, value * 65535)))
    for (let x = cell(left); x <= cell(right); x += 1) {
      const from = this.starts[x * CELLS + cell(bottom)]
      const to = this.starts[x * CELLS + cell(top) + 1]
      for (let i = from; i < to; i += 1) see(this.rows[i])
    }
  }

  // The row that is nearest to a place, at most so far away in each direction, of those that may be
  // it; null for none.
  nearest([x, y], [wide, high], may) {
    let [best, least] = [null, 1]
    this.within([x - wide, y - high, x + wide, y + high], (row) => {
      const [px, py] = this.at(row)
      const far = ((px - x) / wide) ** 2 + ((py - y) / high) ** 2
      if (far < least && may(row)) [best, least] = [row, far]
    })
    return best
  }

  // The rows inside an outline of places.
  inside(outline) {
    const xs = outline.map(([x]) => x)
    const ys = outline.map(([, y]) => y)
    const rows = []
    this.within([Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)], (row) => {
      const [x, y] = this.at(row)
      let odd = false
      for (let i = 0, j = outline.length - 1; i < outline.length; j = i, i += 1) {
        const [[ax, ay], [bx, by]] = [outline[i], outline[j]]
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd
      }
      if (odd) rows.push(row)
    })
    return rows
  }

  // Clusters with their middle (of the median of each direction) and how many points they have.
  clusters(labels, names) {
    const members = names.map(() => [[], []])
    for (let row = 0; row < this.count; row += 1) {
      if (labels[row] === LOOSE || !this.has(row)) continue
      members[labels[row]]?.[0].push(this.positions[2 * row])
      members[labels[row]]?.[1].push(this.positions[2 * row + 1])
    }
    const middle = (values) => Uint16Array.from(values).sort()[values.length >> 1] / 65535
    return members
      .map(([xs, ys], label) => ({
        label,
        name: names[label],
        count: xs.length,
        x: middle(xs),
        y: middle(ys),
      }))
      .filter(({ count }) => count)
      .sort((a, b) => b.count - a.count)
  }
}
