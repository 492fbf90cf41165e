// Names of clusters, placed so that none covers another: coarse ones from afar, fine ones from near.
import { button, counted, html, render, repeat } from "./base.js"

const NEAR = 2.2 // zoom from which fine names are shown
const DOT = 14 // pixels, of the colour before a name
const FONTS = { coarse: "600 14px", fine: "500 12.5px" }

export class ClusterLabels {
  widths = new Map()
  levels = { coarse: [], fine: [] }
  colourOf = null // the colour of a cluster, by its level; null where points have other colours
  pen = document.createElement("canvas").getContext("2d")

  // Args: choose: called with a level, a cluster and a click on its name.
  constructor(layer, choose) {
    Object.assign(this, { layer, choose })
  }

  width(level, name) {
    const key = level + name
    if (!this.widths.has(key)) {
      this.pen.font = `${FONTS[level]} ${getComputedStyle(this.layer).fontFamily}`
      this.widths.set(key, Math.min(230, this.pen.measureText(name).width) + DOT + 10)
    }
    return this.widths.get(key)
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
    const name = ({ cluster, x, y }) => {
      const colour = this.colourOf?.(level, cluster)
      const dot = colour ? html`<span class="dot" style="background: ${colour}"></span>` : ""
      const label = `${cluster.name}: select its ${counted(cluster.count)}`
      const choose = (event) => this.choose(level, cluster, event)
      const words = html`${dot}${cluster.name}`
      const place = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) translate(-50%, -50%)`
      return button(`cluster ${level}`, words, label, choose, { style: `transform: ${place}` })
    }
    const key = ({ cluster }) => `${level} ${cluster.label}`
    render(html`${repeat(boxes, key, name)}`, this.layer)
  }
}
