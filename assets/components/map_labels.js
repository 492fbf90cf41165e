// Names of clusters, placed so that none covers another: coarse ones from afar, fine ones from near.
const NEAR = 2.2 // zoom from which fine names are shown
const DOT = 14 // pixels, of the colour before a name
const FONTS = { coarse: "600 14px", fine: "500 12.5px" }

class ClusterLabels {
  // Args: choose: called with a level and a label when a name is clicked.
  constructor(layer, choose) {
    Object.assign(this, { layer, choose, nodes: new Map(), widths: new Map(), levels: { coarse: [], fine: [] }, colourOf: null })
    this.pen = document.createElement("canvas").getContext("2d")
  }

  set(levels) {
    this.levels = levels
    this.nodes.forEach((node) => node.remove())
    this.nodes.clear()
  }

  // Args: colourOf: the colour of a cluster, by its level; null where points have other colours.
  paint(colourOf) {
    this.colourOf = colourOf
    this.set(this.levels)
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
    for (const cluster of clusters) {
      if (boxes.length >= most) break
      const [x, y] = toScreen([cluster.x, cluster.y])
      const half = this.width(level, cluster.name) / 2
      if (x < 0 || x > wide || y < 0 || y > high) continue
      const middle = Math.max(half + 2, Math.min(wide - half - 2, x))
      const box = { level, cluster, x: middle, y, left: middle - half, right: middle + half, top: y - 13, bottom: y + 13 }
      const free = boxes.every((one) => box.right < one.left || box.left > one.right || box.bottom < one.top || box.top > one.bottom)
      if (free) boxes.push(box)
    }
    return boxes
  }

  // Args: middles: () -> label -> the middle of what is seen of a fine cluster, for when no middle
  //   of a whole one is seen.
  draw(toScreen, size, zoom, middles) {
    const seen = new Set()
    const level = zoom < NEAR ? "coarse" : "fine"
    let boxes = this.placed(level, this.levels[level], toScreen, size)
    if (!boxes.length && level === "fine") {
      const near = middles()
      const clusters = this.levels.fine.filter(({ label }) => near.has(label)).map((one) => ({ ...one, ...near.get(one.label) }))
      boxes = this.placed(level, clusters, toScreen, size)
    }
    for (const { level, cluster, x, y } of boxes) {
      const key = `${level} ${cluster.label}`
      seen.add(key)
      if (!this.nodes.has(key)) this.nodes.set(key, this.node(level, cluster))
      const node = this.nodes.get(key)
      node.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) translate(-50%, -50%)`
      node.hidden = false
    }
    for (const [key, node] of this.nodes) if (!seen.has(key)) node.hidden = true
  }

  node(level, cluster) {
    const documents = `${cluster.count.toLocaleString("en")} ${cluster.count === 1 ? "document" : "documents"}`
    const node = button(`cluster ${level}`, cluster.name, `${cluster.name}: select its ${documents}`, (event) => {
      this.choose(level, cluster, event)
    })
    if (this.colourOf) node.prepend(Object.assign(make("span", "dot"), { style: `background: ${this.colourOf(level, cluster)}` }))
    this.layer.append(node)
    return node
  }
}
