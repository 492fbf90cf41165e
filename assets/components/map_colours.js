// Colours of points. All have 3:1 at least on the page they lie on; legend and names say it too.
const LIGHT = "#1d5f9e #b85600 #0a7a4b #8a3fd1 #b3262e #00798c #856700 #b83a85 #5a5f2a #4b57c9"
const DARK = "#8cc1f5 #f2ac6b #7fdc9a #c9a2ff #ff9a94 #6fd6e6 #e0c450 #f49ad0 #c3cc7a #a8b1ff"
// All of these: light, dark.
const PALETTE = [`${LIGHT} #7a4a2b #4f6d7a`, `${DARK} #d3a98a #a9c3cf`].map((all) => all.split(" "))
const RAMP = [
  ["#8f8a78", "#b9731f", "#a8443a", "#4f1240"],
  ["#79756a", "#c98f4a", "#ee9f8f", "#fbe3f8"],
]
const NO_COLOUR = ["#9b9685", "#77736a"]
const LAYERS = {
  seed: ["#7a2e3a", "#e39aa5"],
  selected: ["#23211c", "#ece8dd"],
  found: ["#7a2e3a", "#e39aa5"],
  pool: ["#1d5f9e", "#8cc1f5"],
  judged: ["#0a5c3c", "#9be8a4"],
  holes: ["#964400", "#f2ac6b"],
  results: ["#7e1be1", "#f06cc3"],
}
const OTHERS = 11 // the value of all categories without a colour of their own
export const NONE = 255 // the value of a point that has none

export const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16))
export const layerColour = (name, dark) => LAYERS[name][Number(dark)]

// The colour of a value from 0 to 254 on a scale, "categories" or "range".
export const colourOf = (value, scale, dark) => {
  const isOther = scale === "categories" && value === OTHERS
  const [none, colours, ramp] = [NO_COLOUR, PALETTE, RAMP].map((of) => of[Number(dark)])
  if (value === NONE || isOther) return rgb(none)
  if (scale !== "range") return rgb(colours[value % colours.length])
  const stops = ramp.map(rgb)
  const at = (value / 254) * (stops.length - 1)
  const low = Math.min(Math.floor(at), stops.length - 2)
  return stops[low].map((from, i) => Math.round(from + (stops[low + 1][i] - from) * (at - low)))
}

export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`

// Four bytes a point: red, green, blue, and how opaque it is.
export const colourBytes = (values, scale, dark, opaque) => {
  const known = Array.from({ length: 256 }, (_, value) => colourOf(value, scale, dark))
  const bytes = new Uint8Array(4 * values.length)
  for (let i = 0; i < values.length; i += 1) {
    bytes.set(known[values[i]], 4 * i)
    bytes[4 * i + 3] = values[i] === NONE ? 0.6 * opaque : opaque
  }
  return bytes
}
