// Takes one part of a map, which it keeps for the map; nothing of it is seen.
const taken = new WeakMap()

export default async function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".root")
  if (!data || taken.get(root) === data) return
  taken.set(root, data)
  keepPart(await unpacked(data))
}
