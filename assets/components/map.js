// The map: all documents as points, which move from one layout to another.
const MOVE_MS = 1100
const FAINT = 0.22 // of points that are not selected or found, while others are
const OUTSIDE = 0.08 // of points that filters rule out
const REACH = { mouse: 9, pen: 12, touch: 22 } // pixels from a point that still choose it
const LAYER_SHAPES = new Map([["seed", "ring"], ["pool", "ring"], ["judged", "square"], ["holes", "diamond"], ["results", "triangle"]])
// Many points take a while to draw without a graphics card, so that they are drawn beyond the edges
// too: while the map is moved, the picture is moved, and drawn again when it ends or rests.
const MANY = 20_000
const BEYOND = 0.35 // of width and height, on each side
const REST_MS = 140
const LATE_MS = 60 // between two frames: fewer points are drawn while they move
const maps = new WeakMap()

const slow = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2)
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches

class DocumentMap {
  constructor(root) {
    this.root = root
    this.path = location.pathname
    this.camera = new Camera()
    this.mode = "pan"
    Object.assign(this, { selected: [], matches: [], hovered: null, within: null, layout: null, places: null, moving: null, shownColour: null })
    this.build()
    this.painter = new Painter(this.canvas)
    this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault())
    this.canvas.addEventListener("webglcontextrestored", () => this.restore())
    this.labels = new ClusterLabels(this.names, (level, cluster, event) => this.choose(level, cluster, event))
    this.listen()
    this.setMode("pan")
  }

  build() {
    this.tools = toolsNode(this)
    this.search = searchNode(this)
    this.stage = make("div", "stage")
    this.canvas = make("canvas")
    this.canvas.tabIndex = 0
    this.canvas.setAttribute("role", "img")
    this.names = make("div", "names")
    this.names.setAttribute("role", "group")
    setLabel(this.names, "Clusters; each name selects its documents")
    this.outline = document.createElementNS("http://www.w3.org/2000/svg", "svg")
    this.outline.setAttribute("class", "outline")
    this.outline.setAttribute("aria-hidden", "true")
    this.outline.append(document.createElementNS("http://www.w3.org/2000/svg", "polygon"))
    this.ring = make("div", "ring")
    this.ring.hidden = true
    this.tip = make("div", "tip text")
    this.tip.hidden = true
    this.margin = make("div", "margin text")
    this.legend = make("div", "legend")
    this.status = make("div", "unseen")
    this.status.setAttribute("role", "status")
    this.stage.append(this.canvas, this.names, this.outline, this.ring, this.tip, this.margin)
    const bar = make("div", "above")
    bar.append(this.tools, this.search)
    this.root.replaceChildren(bar, this.stage, this.legend, this.status)
  }

  listen() {
    listenToPointers(this.stage, this.camera, {
      mode: () => this.mode,
      moved: () => this.moved(),
      hover: (pixel, event) => this.hover(pixel, event),
      leave: () => this.hover(null),
      click: (pixel, event) => this.click(pixel, event),
      outline: (path, done, event) => this.drawOutline(path, done, event),
    })
    this.stage.onkeydown = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return
      const does = event.key === "Escape" ? () => this.clear() : event.target === this.canvas ? cameraKey(event.key, this.camera) : null
      if (!does) return
      event.preventDefault()
      does()
      this.moved()
    }
    this.resizing = new ResizeObserver(() => this.resize())
    this.resizing.observe(this.stage)
  }

  // -- what Python said ------------------------------------------------------------------------

  show(data, send) {
    const before = this.data
    Object.assign(this, { data, send })
    setLabel(this.canvas, `Map of ${data.corpus}: ${counted(data.size)}. Arrows move it, + and - zoom, 0 shows all. Select documents by title search, or clusters by name.`)
    if (before && before.dark !== data.dark) this.shownColour = null
    if (before?.within !== data.within) this.setWithin(data.within ? fromBits(data.within) : null)
    if (!this.root.sent.length && before?.selected !== data.selected) this.setSelected(fromBits(data.selected))
    this.take()
  }

  // Takes what has come of what is to be shown.
  take() {
    const layout = mapStore.parts.get(this.data?.layout)
    this.root.classList.toggle("waiting", !layout)
    if (!layout) return
    if (layout !== this.layout) this.setLayout(layout)
    this.setColour()
    this.setLayers()
    this.setMargin()
    this.search.again()
    this.redraw()
  }

  // The link is another one: where it is about the same corpus, so is what is seen of the map.
  goBack() {
    const here = location.pathname === this.path && ofLink("corpus") === this.layout?.corpus
    if (!here) return
    this.camera.recall(this.layout.corpus)
    this.moved()
  }

  setLayout(layout) {
    const { positions } = layout.arrays
    const moves = this.layout && this.layout.corpus === layout.corpus
    if (!moves) this.camera.recall(layout.corpus)
    this.painter.set("before", moves ? this.layout.arrays.positions : positions)
    this.painter.set("after", positions)
    this.layout = layout
    this.places = new Places(positions)
    this.painter.setGroup("sample", Array.from({ length: MANY }, () => Math.floor(Math.random() * this.places.count)))
    if (this.data.size > MANY !== this.beyond > 0) this.resize()
    const { coarse, fine } = layout.arrays
    this.labels.set({ coarse: this.places.clusters(coarse, layout.coarse), fine: this.places.clusters(fine, layout.fine) })
    this.partOf = []
    fine.forEach((label, row) => (this.partOf[label] = coarse[row]))
    this.hover(null)
    this.moving = moves && !still() ? {} : null
    this.root.dataset.layout = layout.name
  }

  // Where the new layout's colours wait for a message, the former ones stay until it is there.
  setColour() {
    const { colour, dark } = this.data
    const ofClusters = colour.scale === "clusters"
    const part = ofClusters ? this.layout : mapStore.parts.get(colour.key)
    if (!part || this.shownColour === part) return
    const { coarse, values } = part.arrays
    const each = ofClusters ? Uint8Array.from(coarse, (label) => (label === LOOSE ? NONE : label % 240)) : values
    const opaque = this.data.size > 20_000 ? 175 : 225
    this.painter.set("colour", coloursOf(each, colour.scale, dark, opaque))
    this.shownColour = part
    const colourOfCluster = (level, { label }) => css(colourOf((level === "fine" ? this.partOf[label] : label) % 240, colour.scale, dark))
    this.labels.paint(ofClusters ? colourOfCluster : null)
  }

  setLayers() {
    const { layers, dark, colour } = this.data
    const colours = new Map(Object.entries(LAYERS[theme(dark)]))
    this.layers = layers.map((layer) => ({ ...layer, shape: LAYER_SHAPES.get(layer.name), colour: colours.get(layer.name) }))
    for (const { name, rows } of this.layers) this.painter.setGroup(name, rows)
    const shown = this.layers.map((layer) => ({ ...layer, count: layer.name === "seed" ? undefined : layer.rows.length }))
    this.legend.replaceChildren(...legendNodes(colour, shown, dark))
  }

  setMargin() {
    const absent = this.layout.absent
    this.margin.hidden = !absent
    this.margin.textContent = absent ? withMarks(`${counted(absent)} without ${this.layout.label} ${absent === 1 ? "is" : "are"} not on this map`) : ""
  }

  // Args: rows: what filters let through; null without filters.
  setWithin(rows) {
    this.within = rows && new Set(rows)
    this.painter.setGroup("within", rows ?? [])
    this.redraw()
  }

  passes(row) {
    return !this.within || this.within.has(row)
  }

  titles() {
    return mapStore.parts.get(this.data?.titles)?.arrays.titles ?? []
  }

  // -- selecting -------------------------------------------------------------------------------

  setSelected(rows) {
    this.selected = rows
    this.painter.setGroup("selected", rows)
    this.root.querySelector(".clear").disabled = !rows.length
    this.redraw()
  }

  // Args: add: to what is selected already; show: move the map to where they lie.
  select(rows, { add = false, show = false } = {}) {
    rows = rows.filter((row) => this.passes(row))
    if (add) rows = [...new Set([...this.selected, ...rows])]
    this.setSelected(rows)
    if (show) this.zoomTo(rows)
    const one = rows.length === 1 ? `“${this.titles()[rows[0]] ?? "document"}”` : counted(rows.length)
    this.say(`Selected: ${one}`)
    this.send("select", { rows: toBits(rows, this.data.size) })
  }

  clear() {
    if (!this.selected.length) return
    this.setSelected([])
    this.say("Nothing selected")
    this.send("select", { rows: toBits([], this.data.size) })
  }

  say(words) {
    this.status.textContent = withMarks(words)
  }

  choose(level, cluster, event) {
    const labels = this.layout.arrays[level]
    const rows = []
    labels.forEach((label, row) => label === cluster.label && this.places.has(row) && rows.push(row))
    this.select(rows, { add: event.shiftKey })
  }

  // The document at a pixel; null for none.
  find(pixel, type = "mouse") {
    if (!this.places || this.moving) return null
    const scale = this.camera.scale
    const reach = Math.max(REACH[type] ?? 9, this.pointSize / 2 + 2)
    return this.places.nearest(this.camera.toPlace(pixel), scale.map((side) => reach / side), (row) => this.passes(row))
  }

  click(pixel, event) {
    const row = this.find(pixel, event.pointerType)
    this.canvas.focus({ preventScroll: true })
    if (row === null) return
    const known = this.selected.includes(row)
    if (event.shiftKey && known) this.select(this.selected.filter((one) => one !== row))
    else this.select([row], { add: event.shiftKey })
    if (event.pointerType === "touch") this.point(row)
  }

  drawOutline(path, done, event) {
    const points = path.map((pixel) => pixel.map((part) => part.toFixed(1)).join(",")).join(" ")
    this.outline.firstChild.setAttribute("points", done ? "" : points)
    if (!done || !this.places) return
    const rows = this.places.inside(path.map(this.camera.toPlace)).filter((row) => this.passes(row))
    if (rows.length) this.select(rows, { add: event.shiftKey })
    else this.say("Nothing selected")
  }

  found(rows) {
    this.matches = rows
    this.painter.setGroup("found", rows)
    this.redraw()
  }

  zoomTo(rows) {
    const places = rows.filter((row) => this.places?.has(row)).map((row) => this.places.at(row))
    if (!places.length) return
    const ends = (i) => places.reduce(([low, high], place) => [Math.min(low, place[i]), Math.max(high, place[i])], [1, 0])
    const [[left, right], [bottom, top]] = [ends(0), ends(1)]
    this.camera.show([left, bottom, right, top])
    this.redraw()
  }

  hover(pixel, event) {
    if (event?.target.closest?.("button")) pixel = null
    const row = pixel && this.mode === "pan" ? this.find(pixel, event.pointerType) : null
    this.point(row)
  }

  // Shows the title of a document, and marks it.
  point(row) {
    if (row === this.hovered) return
    this.hovered = row
    this.tip.hidden = row === null
    this.ring.hidden = row === null
    this.stage.classList.toggle("over", row !== null)
    if (row !== null) this.tip.textContent = withMarks(this.titles()[row] ?? "Loading titles…")
    this.placeTip()
  }

  // -- tools -----------------------------------------------------------------------------------

  setMode(mode) {
    this.mode = mode
    this.stage.dataset.mode = mode
    for (const one of this.tools.querySelectorAll("[data-mode]")) one.setAttribute("aria-pressed", String(one.dataset.mode === mode))
  }

  zoom(change) {
    change(this.camera)
    this.moved()
  }

  moved() {
    this.hover(null)
    this.redraw(this.beyond > 0)
  }

  // -- drawing ---------------------------------------------------------------------------------

  resize() {
    const { clientWidth, clientHeight } = this.stage
    this.beyond = (this.data?.size ?? 0) > MANY ? BEYOND : 0
    this.density = Math.min(devicePixelRatio || 1, this.beyond ? 1.5 : 2)
    this.camera.size = [clientWidth, clientHeight]
    this.area = this.camera.size.map((side) => Math.round(side * (1 + 2 * this.beyond)))
    const [wide, high] = this.area
    this.canvas.width = Math.round(wide * this.density)
    this.canvas.height = Math.round(high * this.density)
    const style = { width: wide, height: high, left: (clientWidth - wide) / 2, top: (clientHeight - high) / 2 }
    const node = this.canvas
    for (const [name, pixels] of Object.entries(style)) node.style[name] = `${pixels}px`
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
    const covers = this.camera.size.every((side, i) => this.area[i] * size - 2 * Math.abs(shift[i]) >= side)
    if (!covers || size > 2) return false
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

  layersToDraw() {
    const size = this.pointSize * this.density
    const colours = LAYERS[theme(this.data.dark)]
    const rest = this.selected.length || this.matches.length ? FAINT : 1
    const all = this.sampled ? "sample" : undefined
    const big = Math.max(size + 7 * this.density, 13 * this.density)
    const above = this.layers.filter(({ name }) => name !== "seed")
    return [
      { group: all, size, faint: this.within ? OUTSIDE : rest },
      ...(this.within ? [{ group: "within", size, faint: rest }] : []),
      ...["found", "selected"].map((group) => ({ group, size: 1.3 * size + this.density })),
      ...above.map(({ name, shape, colour }) => ({ group: name, shape, size: big, tint: rgb(colour) })),
      { group: "found", shape: "ring", size: size + 5 * this.density, tint: rgb(colours.found), faint: 0.8 },
      ...(this.selected.length > 200 ? [] : [{ group: "selected", shape: "ring", size: size + 6 * this.density, tint: rgb(colours.selected) }]),
      { group: "seed", size: 1.5 * size, tint: rgb(colours.seed) },
      { group: "seed", shape: "ring", size: big + 8 * this.density, tint: rgb(colours.seed) },
    ]
  }

  paint(now) {
    if (!this.layout || !this.layers || !this.area) return
    const moved = this.progress(now)
    const paper = getComputedStyle(this.root).getPropertyValue("--st-background-color").trim()
    this.painter.draw({
      camera: this.camera.matrix(this.area), moved: slow(moved), passes: this.layersToDraw(),
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
    this.labels.draw(this.camera.toScreen, this.camera.size, this.camera.zoom, () => this.middles())
    this.placeTip()
  }

  // The middle of what is seen of each fine cluster, by its label.
  middles() {
    const [[left, top], [right, bottom]] = [this.camera.toPlace([0, 0]), this.camera.toPlace(this.camera.size)]
    const sums = new Map()
    this.places.within([left, bottom, right, top], (row) => {
      const [x, y] = this.places.at(row)
      if (x < left || x > right || y < bottom || y > top) return
      const label = this.layout.arrays.fine[row]
      const [sx, sy, count] = sums.get(label) ?? [0, 0, 0]
      sums.set(label, [sx + x, sy + y, count + 1])
    })
    return new Map([...sums].map(([label, [x, y, count]]) => [label, { x: x / count, y: y / count }]))
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
    const [wide] = this.camera.size
    const across = this.pointSize + 10
    Object.assign(this.ring.style, { width: `${across}px`, height: `${across}px`, transform: `translate(${x - across / 2}px, ${y - across / 2}px)` })
    const left = Math.max(8, Math.min(wide - this.tip.offsetWidth - 8, x - this.tip.offsetWidth / 2))
    const above = y - this.tip.offsetHeight - 14
    this.tip.style.transform = `translate(${left.toFixed(0)}px, ${(above > 4 ? above : y + 14).toFixed(0)}px)`
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  root.classList.toggle("dark", Boolean(data.dark))
  const send = outbox(root, data, setTriggerValue)
  if (!maps.has(root)) {
    try {
      maps.set(root, new DocumentMap(root))
    } catch (error) {
      root.replaceChildren(make("p", "missing", `The map needs a browser with WebGL 2. Use Explore instead. (${error.message})`))
      return undefined
    }
  }
  const map = maps.get(root)
  map.show(data, send)
  const look = () => map.take()
  root.seedlensStop?.()
  const back = () => map.goBack()
  root.seedlensStop = () => {
    mapStore.watching.delete(look)
    removeEventListener("popstate", back)
    map.camera.leave()
  }
  mapStore.watching.add(look)
  addEventListener("popstate", back)
  return () => root.seedlensStop()
}
