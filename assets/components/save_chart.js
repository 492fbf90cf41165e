// The export menu of a Plotly chart of the page, which Streamlit's Plotly draws once more: in
// light colours, as large as the file wants it.
import { component, render } from "./base.js"
import { exportMenu } from "./figure.js"

const LEAST = 337 // pixels; a page's chart is this high where it may be, so that letters are large

export default component(({ data, root }) => {
  const paint = async (room) => {
    if (!window.Plotly) throw new Error("The chart is not drawn yet.")
    const height = Math.max(LEAST, data.layout.height)
    const width = Math.round((room.width / room.height) * height)
    const layout = { ...data.layout, width, height }
    const options = { format: "svg", width, height, imageDataOnly: true }
    const drawn = await window.Plotly.toImage({ data: data.data, layout }, options)
    const node = new DOMParser().parseFromString(drawn, "image/svg+xml").documentElement
    return { node: document.importNode(node, true), width, height }
  }
  const ink = { paper: data.layout.paper_bgcolor, text: data.layout.font.color }
  render(exportMenu({ ...data, ink }, paint), root)
})
