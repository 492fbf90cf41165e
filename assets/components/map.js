// The map: all documents as points, which move from one layout to another.
import { button, component, counted, html, render, withMarks } from "./base.js"
import { Camera, cameraKey, listenToPointers, ofLink } from "./map_camera.js"
import { colourBytes, colourOf, css, layerColour, NONE, rgb } from "./map_colours.js"
import { Painter } from "./map_gl.js"
import { ClusterLabels } from "./map_labels.js"
import { legendOf, searchOf, toolsOf } from "./map_panel.js"
import { LOOSE, Places } from "./map_places.js"
import { fromBits, parts, toBits, watching } from "./map_part.js"

const MOVE_MS = 1100
const FAINT = 0.22 // of points that are not selected or found, while others are
const OUTSIDE = 0.08 // of points that filters rule out
const REACH = { mouse: 9, pen: 12, touch: 22 } // pixels from a point that still choose it
const SHAPES = { pool: "ring", judged: "square", holes: "diamond", results: "triangle", seed: "ring" }
// Many points take a while to draw without a graphics card, so that they are drawn beyond the edges
// too: while the map is moved, the picture is moved, and drawn again when it ends or rests.
const MANY = 20_000
const BEYOND = 0.35 // of width and height, on each side
const REST_MS = 140
const LATE_MS = 60 // between two frames: fewer points are drawn while they move
const FIND_MS = 120 // of rest after which typed words are looked for
const FEWEST_LETTERS = 2

const slow = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2)
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches

// The rows whose titles have all the words.
const withWords = (titles, words) => {
  const wanted = words.toLowerCase().split(/\s+/)
  const rows = []
  titles.forEach((title, row) => {
    const lower = title.toLowerCase()
    if (wanted.every((word) => lower.includes(word))) rows.push(row)
  })
  return rows
}

class DocumentMap {
  camera = new Camera()
  mode = "pan"
  selected = []
  matches = [] // rows whose titles have the words
  words = ""
  layers = []
  status = ""
  hovered = null
  within = null // rows that filters let through; null without filters
  outside = 0 // documents that were chosen last, when filters let none of them through
  layout = null
  moving = null

  constructor(root) {
    this.root = root
    this.path = location.pathname
    this.panel()
    const [stage, canvas, names, ring, tip] = ["stage", "points", "names", "ring", "tip"].map(
      (name) => root.querySelector(`.${name}`),
    )
    Object.assign(this, { stage, canvas, names, ring, tip })
    this.painter = new Painter(canvas)
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault())
    canvas.addEventListener("webglcontextrestored", () => this.restore())
    this.labels = new ClusterLabels(names, (...chosen) => this.choose(...chosen))
    listenToPointers(stage, this.camera, {
      mode: () => this.mode,
      moved: () => this.moved(),
      hover: (pixel, event) => this.hover(pixel, event),
      leave: () => this.point(null),
      click: (pixel, event) => this.click(pixel, event),
      outline: (path, done, event) => this.drawOutline(path, done, event),
    })
    new ResizeObserver(() => this.resize()).observe(stage)
  }

  // What stands around the points.
  panel() {
    const { data, dark, layout } = this
    const keys = "Arrows move it, + and - zoom, 0 shows all."
    const select = "Select documents by title search, or clusters by name."
    const label = data && `Map of ${data.corpus}: ${counted(data.size)}. ${keys} ${select}`
    const absent = layout?.absent
    const missing = absent
      ? `${counted(absent)} without ${layout.label} ${absent === 1 ? "is" : "are"} not on this map`
      : ""
    const unfilter = button("", "Remove filters", null, () => this.post("unfilter", {}))
    const shown = this.layers.map(({ rows, ...layer }) => ({ ...layer, count: rows.length }))
    for (const layer of shown) if (layer.name === "seed") delete layer.count
    render(
      html`<div class="above">${toolsOf(this)}${searchOf(this)}</div>
        <div class="stage" data-mode=${this.mode} @keydown=${(event) => this.key(event)}>
          <canvas class="points" tabindex="0" role="img" aria-label=${label ?? ""}></canvas>
          <div class="names" role="group"
            aria-label="Clusters; each name selects its documents"></div>
          <svg class="outline" aria-hidden="true"><polygon points=""></polygon></svg>
          <div class="ring" hidden></div>
          <div class="tip text" hidden></div>
          <div class="margin text" ?hidden=${!absent}>${missing}</div>
          ${this.outside ? html`<div class="outside">${this.status} ${unfilter}</div>` : ""}
        </div>
        <div class="legend">${data ? legendOf(data.colour, shown, dark) : ""}</div>
        <div class="unseen" role="status">${this.status}</div>`,
      this.root,
    )
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const move = event.target === this.canvas && cameraKey(event.key, this.camera)
    const does = event.key === "Escape" ? () => this.clear() : move
    if (!does) return
    event.preventDefault()
    does()
    this.moved()
  }

  // -- what Python says ------------------------------------------------------------------------

  show({ data, dark, post }) {
    const before = this.data
    if (before && this.dark !== dark) this.shownColour = null
    Object.assign(this, { data, dark, post })
    if (before?.within !== data.within) this.setWithin(data.within ? fromBits(data.within) : null)
    if (!this.root.sent.length && before?.selected !== data.selected) {
      this.setSelected(fromBits(data.selected))
    }
    this.take()
  }

  // Takes what has come of what is to be shown.
  take() {
    const layout = parts.get(this.data?.layout)
    this.root.classList.toggle("waiting", !layout)
    if (!layout) return
    if (layout !== this.layout) this.setLayout(layout)
    this.setColour()
    this.layers = this.data.layers.map((layer) => {
      this.painter.setGroup(layer.name, layer.rows)
      return { ...layer, shape: SHAPES[layer.name], colour: layerColour(layer.name, this.dark) }
    })
    if (this.words) this.look()
    this.panel()
    this.redraw()
  }

  // The link is another one: where it is about the same corpus, so is what is seen of the map.
  goBack() {
    const { corpus } = this.layout ?? {}
    if (location.pathname !== this.path || ofLink("corpus") !== corpus) return
    this.camera.recall(corpus)
    this.moved()
  }

  setLayout(layout) {
    const { positions, coarse, fine } = layout.arrays
    const moves = this.layout?.corpus === layout.corpus
    if (!moves) this.camera.recall(layout.corpus)
    this.painter.set("before", moves ? this.layout.arrays.positions : positions)
    this.painter.set("after", positions)
    this.layout = layout
    this.places = new Places(positions)
    const some = Array.from({ length: MANY }, () => Math.floor(Math.random() * this.places.count))
    this.painter.setGroup("sample", some)
    if (this.data.size > MANY !== this.beyond > 0) this.resize()
    this.labels.levels = {
      coarse: this.places.clusters(coarse, layout.coarse),
      fine: this.places.clusters(fine, layout.fine),
    }
    this.partOf = [] // by fine cluster, the coarse one
    fine.forEach((label, row) => (this.partOf[label] = coarse[row]))
    this.point(null)
    this.moving = moves && !still() ? {} : null
    this.root.dataset.layout = layout.name
  }

  // Where the new layout's colours wait for a message, the former ones stay until it is there.
  setColour() {
    const { scale, key } = this.data.colour
    const ofClusters = scale === "clusters"
    const part = ofClusters ? this.layout : parts.get(key)
    if (!part || this.shownColour === part) return
    const { coarse, values } = part.arrays
    const ofCluster = (label) => (label === LOOSE ? NONE : label % 240)
    const each = ofClusters ? Uint8Array.from(coarse, ofCluster) : values
    const opaque = this.data.size > MANY ? 175 : 225
    this.painter.set("colour", colourBytes(each, scale, this.dark, opaque))
    this.shownColour = part
    const colourOfCluster = (level, { label }) => {
      const value = level === "fine" ? this.partOf[label] : label
      return css(colourOf(value % 240, scale, this.dark))
    }
    this.labels.colourOf = ofClusters ? colourOfCluster : null
  }

  setWithin(rows) {
    this.within = rows && new Set(rows)
    this.outside = 0
    this.painter.setGroup("within", rows ?? [])
    this.redraw()
  }

  passes(row) {
    return !this.within || this.within.has(row)
  }

  titles() {
    return parts.get(this.data?.titles)?.arrays.titles ?? []
  }

  // -- selecting -------------------------------------------------------------------------------

  setSelected(rows) {
    this.selected = rows
    this.painter.setGroup("selected", rows)
    this.panel()
    this.redraw()
  }

  // Args: add: to what is selected already; show: move the map to where they lie.
  select(rows, { add = false, show = false } = {}) {
    const own = rows.filter((row) => this.passes(row))
    this.outside = own.length ? 0 : rows.length
    if (this.outside) {
      this.status = `Of ${counted(this.outside)}, 0 match the filters.`
      return this.panel()
    }
    const all = add ? [...new Set([...this.selected, ...own])] : own
    const [first] = all
    const what = all.length > 1 ? counted(all.length) : `“${this.titles()[first] ?? "document"}”`
    this.status = all.length ? `Selected: ${what}` : "Nothing selected"
    this.setSelected(all)
    if (show) this.zoomTo(all)
    this.post("select", { rows: toBits(all, this.data.size) })
  }

  clear() {
    if (this.selected.length) this.select([])
  }

  choose(level, cluster, event) {
    const rows = []
    this.layout.arrays[level].forEach((label, row) => {
      if (label === cluster.label && this.places.has(row)) rows.push(row)
    })
    this.select(rows, { add: event.shiftKey })
  }

  // The document at a pixel; null for none.
  rowAt(pixel, type) {
    if (!this.places || this.moving) return null
    const reach = Math.max(REACH[type] ?? 9, this.pointSize / 2 + 2)
    const sides = this.camera.scale.map((side) => reach / side)
    return this.places.nearest(this.camera.toPlace(pixel), sides, (row) => this.passes(row))
  }

  click(pixel, { pointerType, shiftKey }) {
    const row = this.rowAt(pixel, pointerType)
    this.canvas.focus({ preventScroll: true })
    if (row === null) return
    const others = this.selected.filter((one) => one !== row)
    if (shiftKey && others.length < this.selected.length) this.select(others)
    else this.select([row], { add: shiftKey })
    if (pointerType === "touch") this.point(row)
  }

  drawOutline(path, done, event) {
    const points = path.map((pixel) => pixel.map((part) => part.toFixed(1)).join(",")).join(" ")
    this.stage.querySelector("polygon").setAttribute("points", done ? "" : points)
    if (!done || !this.places) return
    const rows = this.places.inside(path.map(this.camera.toPlace))
    if (rows.length) return this.select(rows, { add: event.shiftKey })
    this.status = "Nothing selected"
    this.panel()
  }

  // Args: now: without waiting for more to be typed.
  find(text, now = false) {
    clearTimeout(this.finding)
    const words = text.trim()
    this.words = words.length >= FEWEST_LETTERS ? words : ""
    const look = () => {
      this.look()
      this.panel()
      this.redraw()
    }
    if (now) look()
    else this.finding = setTimeout(look, FIND_MS)
  }

  look() {
    const rows = this.words ? withWords(this.titles(), this.words) : []
    this.matches = rows.filter((row) => this.passes(row))
    this.painter.setGroup("found", this.matches)
  }

  zoomTo(rows) {
    const places = rows.filter((row) => this.places?.has(row)).map((row) => this.places.at(row))
    if (!places.length) return
    const ends = (i) =>
      places.reduce(([a, b], at) => [Math.min(a, at[i]), Math.max(b, at[i])], [1, 0])
    const [[left, right], [bottom, top]] = [ends(0), ends(1)]
    this.camera.show([left, bottom, right, top])
    this.redraw()
  }

  hover(pixel, event) {
    const free = this.mode === "pan" && !event.target.closest?.("button")
    this.point(free ? this.rowAt(pixel, event.pointerType) : null)
  }

  // Shows the title of a document, and marks it.
  point(row) {
    if (row === this.hovered) return
    this.hovered = row
    this.tip.hidden = this.ring.hidden = row === null
    this.stage.classList.toggle("over", row !== null)
    this.tip.textContent = withMarks(this.titles()[row] ?? "Loading titles…")
    this.placeTip()
  }

  setMode(mode) {
    this.mode = mode
    this.panel()
  }

  zoom(change) {
    change(this.camera)
    this.moved()
  }

  moved() {
    this.point(null)
    this.redraw(this.beyond > 0)
  }

  // -- drawing ---------------------------------------------------------------------------------

  resize() {
    const { clientWidth, clientHeight } = this.stage
    this.beyond = (this.data?.size ?? 0) > MANY ? BEYOND : 0
    this.density = Math.min(devicePixelRatio || 1, this.beyond ? 1.5 : 2)
    this.camera.size = [clientWidth, clientHeight]
    this.area = this.camera.size.map((side) => Math.round(side * (1 + 2 * this.beyond)))
    const [width, height] = this.area
    this.canvas.width = Math.round(width * this.density)
    this.canvas.height = Math.round(height * this.density)
    const [left, top] = [(clientWidth - width) / 2, (clientHeight - height) / 2]
    for (const [name, pixels] of Object.entries({ width, height, left, top })) {
      this.canvas.style[name] = `${pixels}px`
    }
    this.paint(performance.now())
  }

  restore() {
    this.painter.prepare()
    Object.assign(this, { layout: null, shownColour: null })
    this.setWithin(this.within && [...this.within])
    this.setSelected(this.selected)
    this.take()
  }

  // Args: camera: nothing but what is seen has changed.
  redraw(camera = false) {
    this.onlyCamera = camera && (this.onlyCamera ?? true)
    this.frame ??= requestAnimationFrame((now) => {
      if (this.layout) this.camera.remember(this.layout.corpus)
      const shifts = this.onlyCamera && this.shifted()
      Object.assign(this, { frame: null, onlyCamera: null })
      if (shifts) this.placeNames()
      else this.paint(now)
    })
  }

  // Moves the picture to where it lies now; false where it does not cover what is seen.
  shifted() {
    if (!this.drawnAt || this.moving) return false
    const { shift, size } = this.camera.since(this.drawnAt)
    const room = (side, i) => this.area[i] * size - 2 * Math.abs(shift[i]) >= side
    if (!this.camera.size.every(room) || size > 2) return false
    this.canvas.style.transform = `translate(${shift[0]}px, ${shift[1]}px) scale(${size})`
    clearTimeout(this.rests)
    this.rests = setTimeout(() => this.redraw(), REST_MS)
    return true
  }

  // Diameter of a point in pixels: smaller where there are many, larger from near.
  get pointSize() {
    const size = Math.max(2.2, Math.min(9, 330 / Math.sqrt(this.data?.size || 1)))
    return Math.min(14, size * Math.sqrt(Math.max(1, this.camera.zoom)))
  }

  passesToDraw() {
    const { density } = this
    const size = this.pointSize * density
    const tint = (name) => rgb(layerColour(name, this.dark))
    const big = Math.max(size + 7 * density, 13 * density)
    const rest = this.selected.length || this.matches.length ? FAINT : 1
    const all = { group: this.sampled ? "sample" : undefined, size, faint: rest }
    const ring = (group, more, faint = 1) => {
      return { group, shape: "ring", size: more, tint: tint(group), faint }
    }
    const marked = this.layers
      .filter(({ name }) => name !== "seed")
      .map(({ name, shape, colour }) => ({ group: name, shape, size: big, tint: rgb(colour) }))
    const few = this.selected.length <= 200
    const passing = [{ ...all, faint: OUTSIDE }, { group: "within", size, faint: rest }]
    return [
      ...(this.within ? passing : [all]),
      { group: "found", size: 1.3 * size + density },
      { group: "selected", size: 1.3 * size + density },
      ...marked,
      ring("found", size + 5 * density, 0.8),
      ...(few ? [ring("selected", size + 6 * density)] : []),
      { group: "seed", size: 1.5 * size, tint: tint("seed") },
      ring("seed", big + 8 * density),
    ]
  }

  paint(now) {
    if (!this.layout || !this.area) return
    const moved = this.progress(now)
    const paper = getComputedStyle(this.root).getPropertyValue("--st-background-color").trim()
    this.painter.draw({
      camera: this.camera.matrix(this.area),
      moved: slow(moved),
      passes: this.passesToDraw(),
      paper: rgb(/^#[0-9a-f]{6}$/i.test(paper) ? paper : "#ffffff"),
    })
    clearTimeout(this.rests)
    const { x, y, zoom } = this.camera
    this.drawnAt = { x, y, zoom }
    this.canvas.style.transform = ""
    this.names.classList.toggle("away", moved < 1)
    if (moved < 1) this.redraw()
    else this.placeNames()
  }

  placeNames() {
    const { size, toScreen, zoom } = this.camera
    this.labels.draw(toScreen, size, zoom, () => this.middles())
    this.placeTip()
  }

  // The middle of what is seen of each fine cluster, by its label.
  middles() {
    const { size, toPlace } = this.camera
    const [[left, top], [right, bottom]] = [toPlace([0, 0]), toPlace(size)]
    const sums = new Map()
    this.places.within([left, bottom, right, top], (row, x, y) => {
      const label = this.layout.arrays.fine[row]
      const [sx, sy, count] = sums.get(label) ?? [0, 0, 0]
      sums.set(label, [sx + x, sy + y, count + 1])
    })
    return new Map([...sums].map(([label, [x, y, n]]) => [label, { x: x / n, y: y / n }]))
  }

  // How far the move between two layouts is, 0 to 1; it begins with its first frame. Where frames
  // come late, it goes on with some of the points.
  progress(now) {
    if (!this.moving) return 1
    const { began = now, last = now } = this.moving
    Object.assign(this.moving, { began, last: now })
    const t = Math.min(1, (now - began) / MOVE_MS)
    if (now - last > LATE_MS && this.data.size > MANY) this.sampled = true
    if (t === 1) Object.assign(this, { moving: null, sampled: false })
    return t
  }

  placeTip() {
    if (this.hovered === null || !this.places.has(this.hovered)) return
    const [x, y] = this.camera.toScreen(this.places.at(this.hovered))
    const { offsetWidth: width, offsetHeight: height } = this.tip
    const side = this.pointSize + 10
    this.ring.style.width = this.ring.style.height = `${side}px`
    this.ring.style.transform = `translate(${x - side / 2}px, ${y - side / 2}px)`
    const left = Math.max(8, Math.min(this.camera.size[0] - width - 8, x - width / 2))
    const above = y - height - 14
    const top = above > 4 ? above : y + 14
    this.tip.style.transform = `translate(${left.toFixed(0)}px, ${top.toFixed(0)}px)`
  }
}

export default component((drawn) => {
  const { on, root, state } = drawn
  try {
    state.map ??= new DocumentMap(root)
  } catch ({ message }) {
    const words = "The map needs a browser with WebGL 2. Use Explore instead."
    render(html`<p class="missing">${words} (${message})</p>`, root)
    return undefined
  }
  state.map.show(drawn)
  const look = () => state.map.take()
  watching.add(look)
  on(window, "popstate", () => state.map.goBack())
  return () => {
    watching.delete(look)
    state.map.camera.leave()
  }
})
