// What has come of maps: each part is a message of its own, sent once, and the map takes what it
// shows from here by its key.
const MOST_PARTS = 40
export const parts = new Map()
export const watching = new Set() // what is called when a part has come

const TYPES = { u8: Uint8Array, u16: Uint16Array }

// A part as `packed` (pages/_map/map_parts.py) wrote it: the length of a head in four bytes, the
// head as JSON, then arrays, each on a multiple of four bytes.
const unpacked = async (bytes) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = 4 + view.getUint32(0, true)
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, end)))
  const part = { ...head.about, arrays: {} }
  let at = Math.ceil(end / 4) * 4
  for (const { name, type, bytes: length } of head.arrays) {
    const own = bytes.slice(at, at + length)
    part.arrays[name] = type === "text" ? await inflated(own) : new TYPES[type](own.buffer)
    at += Math.ceil(length / 4) * 4
  }
  return part
}

const inflated = async (bytes) => {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))
  return (await new Response(stream).text()).split("\n")
}

const taken = new WeakMap() // by its place on the page

// Takes one part of a map; nothing of it is seen.
export default async ({ data, parentElement }) => {
  if (!data || taken.get(parentElement) === data) return
  taken.set(parentElement, data)
  const part = await unpacked(data)
  parts.delete(part.key)
  parts.set(part.key, part)
  for (const key of parts.keys()) if (parts.size > MOST_PARTS) parts.delete(key)
  for (const look of watching) look()
}

// A selection as text: a bit for each document, so that all of them are short too.
export const toBits = (rows, size) => {
  const bytes = new Uint8Array(Math.ceil(size / 8))
  for (const row of rows) bytes[row >> 3] |= 1 << (row & 7)
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
}

const BITS = [0, 1, 2, 3, 4, 5, 6, 7]

export const fromBits = (text) =>
  Array.from(atob(text)).flatMap((byte, at) =>
    BITS.filter((bit) => (byte.charCodeAt(0) >> bit) & 1).map((bit) => 8 * at + bit),
  )
