// What part of the map is seen, and how pointers, wheel and keys change it.
const [LEAST_ZOOM, MOST_ZOOM] = [0.6, 200]
const MARGIN = 26 // pixels about the points when all are seen
const CLICK_PIXELS = 5 // a press that moves less is a click
const WIDEST = 1.6 // how much wider than high, or higher than wide, points are drawn

const LINK_MS = 250 // from the last move until the link has it

const between = (least, value, most) => Math.max(least, Math.min(most, value))

// The part that is seen is in the link, as `at`. After a reload and with Back the link decides;
// otherwise what this tab saw last of the corpus, as the app knows links only from when it was
// asked. A page without an origin has no storage.
const storage = () => {
  try {
    return sessionStorage
  } catch {
    return {} // also where site data are blocked
  }
}
const kept = storage()
const cameras = new Map(JSON.parse(kept.seedlensMaps ?? "[]"))
const loaded = performance.getEntriesByType("navigation")[0]?.name ?? location.href
let byLink = new URL(loaded).pathname // of the page on which the link decides
addEventListener("popstate", () => (byLink = location.pathname))
addEventListener("pagehide", () => (kept.seedlensMaps = JSON.stringify([...cameras])))

export const ofLink = (name) => new URLSearchParams(location.search).get(name) ?? ""

export class Camera {
  constructor() {
    this.size = [1, 1]
    this.fit()
  }

  fit() {
    Object.assign(this, { x: 0.5, y: 0.5, zoom: 1 })
  }

  // As the link has it; empty where all is seen.
  get text() {
    const text = `${this.x.toFixed(4)},${this.y.toFixed(4)},${this.zoom.toFixed(2)}`
    return text === "0.5000,0.5000,1.00" ? "" : text
  }

  remember(corpus) {
    cameras.set(corpus, this.text)
    clearTimeout(this.links)
    const { pathname } = location
    if (origin !== "null") this.links = setTimeout(() => this.link(corpus, pathname), LINK_MS)
  }

  link(corpus, pathname) {
    const search = new URLSearchParams(location.search)
    if (location.pathname !== pathname || search.get("corpus") !== corpus || ofLink("at") === this.text) return
    search.delete("at")
    if (this.text) search.set("at", this.text)
    history.replaceState(history.state, "", `?${search}`)
  }

  recall(corpus) {
    const known = byLink === location.pathname ? undefined : cameras.get(corpus)
    const [x, y, zoom] = (known ?? ofLink("at")).split(",").map(Number)
    this.fit()
    const isIn = (value) => value >= 0 && value <= 1
    if (zoom && isIn(x) && isIn(y)) {
      Object.assign(this, { x, y, zoom: between(LEAST_ZOOM, zoom, MOST_ZOOM) })
    }
    byLink = ""
  }

  leave() {
    clearTimeout(this.links)
  }

  // Pixels for the whole of each direction.
  get scale() {
    const [wide, high] = this.size.map((pixels) => Math.max(40, pixels - 2 * MARGIN))
    return [this.zoom * Math.min(wide, WIDEST * high), this.zoom * Math.min(high, WIDEST * wide)]
  }

  toScreen = ([x, y]) => {
    const [sx, sy] = this.scale
    return [(x - this.x) * sx + this.size[0] / 2, (this.y - y) * sy + this.size[1] / 2]
  }

  toPlace = ([px, py]) => {
    const [sx, sy] = this.scale
    return [this.x + (px - this.size[0] / 2) / sx, this.y - (py - this.size[1] / 2) / sy]
  }

  // Scale and offset of places to what WebGL draws, from -1 to 1, on a canvas of so many pixels.
  matrix([wide, high]) {
    const [sx, sy] = [(2 * this.scale[0]) / wide, (2 * this.scale[1]) / high]
    return [sx, sy, -this.x * sx, -this.y * sy]
  }

  // How a picture that was drawn at another time lies now: pixels to shift it by, and its size.
  since({ x, y, zoom }) {
    const [sx, sy] = this.scale
    return { shift: [(x - this.x) * sx, (this.y - y) * sy], size: this.zoom / zoom }
  }

  move(x, y) {
    this.x = between(0, this.x + x, 1)
    this.y = between(0, this.y + y, 1)
  }

  pan(dx, dy) {
    const [sx, sy] = this.scale
    this.move(-dx / sx, dy / sy)
  }

  // Zooms so that what is at a pixel stays there.
  zoomAt(factor, pixel = this.size.map((side) => side / 2)) {
    const before = this.toPlace(pixel)
    this.zoom = between(LEAST_ZOOM, this.zoom * factor, MOST_ZOOM)
    const now = this.toPlace(pixel)
    this.move(before[0] - now[0], before[1] - now[1])
  }

  // Shows places of a box with some room about it.
  show([left, bottom, right, top]) {
    Object.assign(this, { x: (left + right) / 2, y: (bottom + top) / 2, zoom: 1 })
    const [sx, sy] = this.scale
    const [wide, high] = [right - left, top - bottom].map((side) => Math.max(side, 0.01))
    const zoom = Math.min(this.size[0] / (sx * wide), this.size[1] / (sy * high))
    this.zoom = between(1, 0.7 * zoom, 30)
  }
}

const pixelOf = (event, stage) => {
  const box = stage.getBoundingClientRect()
  return [event.clientX - box.left, event.clientY - box.top]
}

// Pointers on the stage: one pans or draws an outline, two zoom.
// Args: on: mode() -> "pan", "rectangle" or "lasso"; moved(); hover(pixel, event); leave();
//   click(pixel, event); outline(pixels, done, event).
export const listenToPointers = (stage, camera, on) => {
  const down = new Map()
  let [start, path, far] = [null, [], false]

  // How far two fingers are apart, and what lies between them.
  const fingers = () => {
    const [[ax, ay], [bx, by]] = [...down.values()]
    return [Math.hypot(ax - bx, ay - by), (ax + bx) / 2, (ay + by) / 2]
  }
  const pinch = (event) => {
    const [apart, left, top] = fingers()
    down.set(event.pointerId, pixelOf(event, stage))
    const [now, x, y] = fingers()
    camera.pan(x - left, y - top)
    camera.zoomAt(now / Math.max(1, apart), [x, y])
    on.moved()
  }

  stage.onpointerdown = (event) => {
    if (event.button > 0) return
    const pixel = pixelOf(event, stage)
    down.set(event.pointerId, pixel)
    if (down.size === 1) [start, path, far] = [pixel, [pixel], false]
    else [far, path] = [true, []]
    on.outline([], false, event)
  }
  stage.onpointermove = (event) => {
    const pixel = pixelOf(event, stage)
    if (!down.has(event.pointerId)) return event.pointerType === "touch" || on.hover(pixel, event)
    if (down.size > 1) return pinch(event)
    const last = down.get(event.pointerId)
    far ||= Math.hypot(pixel[0] - start[0], pixel[1] - start[1]) >= CLICK_PIXELS
    if (!far) return
    // Only what moves is captured: a click on a name stays the name's.
    if (!stage.hasPointerCapture(event.pointerId)) stage.setPointerCapture(event.pointerId)
    down.set(event.pointerId, pixel)
    if (on.mode() === "pan") {
      camera.pan(pixel[0] - last[0], pixel[1] - last[1])
      on.moved()
    } else if (path.length) {
      path = on.mode() === "lasso" ? [...path, pixel] : rectangle(start, pixel)
      on.outline(path, false, event)
    }
  }
  const up = (event) => {
    if (!down.delete(event.pointerId)) return
    const ended = event.type === "pointerup" && !down.size
    if (ended && !far && !event.target.closest("button")) on.click(pixelOf(event, stage), event)
    else if (ended && far && path.length > 2 && on.mode() !== "pan") on.outline(path, true, event)
    if (!down.size) on.outline([], false, event)
  }
  stage.onpointerup = up
  stage.onpointercancel = up
  stage.onpointerleave = () => on.leave()
  stage.onwheel = (event) => {
    event.preventDefault()
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1)
    const speed = event.ctrlKey ? 0.01 : 0.002
    camera.zoomAt(Math.exp(-between(-240, pixels, 240) * speed), pixelOf(event, stage))
    on.moved()
  }
}

const rectangle = ([ax, ay], [bx, by]) => [[ax, ay], [bx, ay], [bx, by], [ax, by]]

const STEP = 60 // pixels that an arrow pans by

// What a key does to the camera; null where it does nothing.
export const cameraKey = (key, camera) =>
  ({
    ArrowLeft: () => camera.pan(STEP, 0),
    ArrowRight: () => camera.pan(-STEP, 0),
    ArrowUp: () => camera.pan(0, STEP),
    ArrowDown: () => camera.pan(0, -STEP),
    "+": () => camera.zoomAt(1.4),
    "=": () => camera.zoomAt(1.4),
    "-": () => camera.zoomAt(1 / 1.4),
    0: () => camera.fit(),
  })[key] ?? null
