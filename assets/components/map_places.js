// Where points of a layout lie: which is near a place, which lie in an outline, where clusters are.
import { ABSENT } from "./map_gl.js"

export const LOOSE = 65535 // the label of a point that no cluster has
const MOST = 65535 // of a number that stands for a place from 0 to 1

export class Places {
  // Args: positions: 2n numbers.
  constructor(positions) {
    this.positions = positions
    this.count = positions.length / 2
  }

  has(row) {
    return this.positions[2 * row] !== ABSENT
  }

  at(row) {
    return [this.positions[2 * row] / MOST, this.positions[2 * row + 1] / MOST]
  }

  // Calls `see` with each row in a box, and its place. All are looked at: a hundred thousand take
  // less than a millisecond.
  within(box, see) {
    const [left, bottom, right, top] = box.map((side) => side * MOST)
    for (let row = 0; row < this.count; row += 1) {
      const [x, y] = [this.positions[2 * row], this.positions[2 * row + 1]]
      const isIn = x >= left && x <= right && y >= bottom && y <= top && x !== ABSENT
      if (isIn) see(row, x / MOST, y / MOST)
    }
  }

  // The row that is nearest to a place, at most so far away in each direction, of those that may be
  // it; null for none.
  nearest([x, y], [wide, high], may) {
    let [best, least] = [null, 1]
    this.within([x - wide, y - high, x + wide, y + high], (row, px, py) => {
      const far = ((px - x) / wide) ** 2 + ((py - y) / high) ** 2
      if (far < least && may(row)) [best, least] = [row, far]
    })
    return best
  }

  // The rows inside an outline of places.
  inside(outline) {
    const [xs, ys] = [0, 1].map((side) => outline.map((place) => place[side]))
    const rows = []
    this.within([Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)], (row, x, y) => {
      let odd = false
      outline.forEach(([ax, ay], i) => {
        const [bx, by] = outline.at(i - 1)
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd
      })
      if (odd) rows.push(row)
    })
    return rows
  }

  // Clusters with their middle (of the median of each direction) and how many points they have.
  clusters(labels, names) {
    const members = names.map(() => [[], []])
    for (let row = 0; row < this.count; row += 1) {
      if (labels[row] === LOOSE || !this.has(row)) continue
      members[labels[row]]?.forEach((side, i) => side.push(this.positions[2 * row + i]))
    }
    const middle = (values) => Uint16Array.from(values).sort()[values.length >> 1] / MOST
    const cluster = ([xs, ys], label) => {
      return { label, name: names[label], count: xs.length, x: middle(xs), y: middle(ys) }
    }
    const all = members.map(cluster).filter(({ count }) => count)
    return all.sort((a, b) => b.count - a.count)
  }
}
