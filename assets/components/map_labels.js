// Names of clusters, placed so that none covers another: coarse ones from afar, fine ones from near.
import { counted, withMarks } from "./base.js"

const NEAR = 2.2 // zoom from which fine names are shown
const DOT = 14 // pixels, of the colour before a name
const FONTS = { coarse: "600 14px", fine: "500 12.5px" }

export class ClusterLabels {
  nodes = new Map()
  widths = new Map()
  levels = { coarse: [], fine: [] }
  pen = document.createElement("canvas").getContext("2d")

  // Args: choose: called with a level and a label when a name is clicked.
  constructor(layer, choose) {
    Object.assign(this, { layer, choose })
  }

  set(levels) {
    this.levels = levels
    this.nodes.forEach((node) => node.remove())
    this.nodes.clear()
  }

  width(level, name) {
    const key = level + name
    if (!this.widths.has(key)) {
      this.pen.font = `${FONTS[level]} ${getComputedStyle(this.layer).fontFamily}`
      this.widths.set(key, Math.min(230, this.pen.measureText(name).width) + DOT + 10)
    }
    return this.widths.get(key)
  }

  // Args: colourOf: the colour of a cluster, by its level; null where points have other colours.
  paint(colourOf) {
    this.colourOf = colourOf
    this.set(this.levels)
  }

  // The names that are seen now.
  // Args: clusters: of a level, the largest first; toScreen: a place -> pixels; size: of the map, in
  //   pixels.
  placed(level, clusters, toScreen, [wide, high]) {
    const most = Math.max(6, Math.round((wide * high) / 16000))
    const boxes = []
    const covers = (a, b) =>
      a.left <= b.right && a.right >= b.left && a.top <= b.bottom && a.bottom >= b.top
    for (const cluster of clusters) {
      if (boxes.length >= most) break
      const [x, y] = toScreen([cluster.x, cluster.y])
      if (x < 0 || x > wide || y < 0 || y > high) continue
      const half = this.width(level, cluster.name) / 2
      const middle = Math.max(half + 2, Math.min(wide - half - 2, x))
      const sides = { left: middle - half, right: middle + half, top: y - 13, bottom: y + 13 }
      const box = { cluster, x: middle, y, ...sides }
      if (!boxes.some((one) => covers(one, box))) boxes.push(box)
    }
    return boxes
  }

  // Args: middles: () -> label -> the middle of what is seen of a fine cluster, for when no middle
  //   of a whole one is seen.
  draw(toScreen, size, zoom, middles) {
    const level = zoom < NEAR ? "coarse" : "fine"
    let boxes = this.placed(level, this.levels[level], toScreen, size)
    if (!boxes.length && level === "fine") {
      const near = middles()
      const known = this.levels.fine.filter(({ label }) => near.has(label))
      const clusters = known.map((one) => ({ ...one, ...near.get(one.label) }))
      boxes = this.placed(level, clusters, toScreen, size)
    }
    for (const node of this.nodes.values()) node.hidden = true
    for (const { cluster, x, y } of boxes) {
      const key = `${level} ${cluster.label}`
      if (!this.nodes.has(key)) this.nodes.set(key, this.node(level, cluster))
      const node = this.nodes.get(key)
      const place = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`
      node.style.transform = `${place} translate(-50%, -50%)`
      node.hidden = false
    }
  }

  node(level, cluster) {
    const node = document.createElement("button")
    const name = withMarks(cluster.name)
    const label = `${name}: select its ${counted(cluster.count)}`
    const onclick = (event) => this.choose(level, cluster, event)
    const about = { className: `cluster ${level}`, textContent: name, title: label }
    Object.assign(node, { ...about, ariaLabel: label, onclick })
    if (this.colourOf) {
      const dot = document.createElement("span")
      dot.className = "dot"
      dot.style.background = this.colourOf(level, cluster)
      node.prepend(dot)
    }
    this.layer.append(node)
    return node
  }
}
