// Takes one part of a map, which it keeps for the map; nothing of it is seen.
import { keepPart, unpacked } from "./map_store.js"

const taken = new WeakMap() // by its place on the page

export default async ({ data, parentElement }) => {
  if (!data || taken.get(parentElement) === data) return
  taken.set(parentElement, data)
  keepPart(await unpacked(data))
}
