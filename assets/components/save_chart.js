// Saves a Plotly chart of the page as SVG or PNG. Plotly's own tool bar knows one format at a
// time; its button reads the format when it is pressed.
export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".root")
  const bar = make("div", "bar")
  for (const kind of ["svg", "png"]) {
    bar.append(button("plain", kind.toUpperCase(), `Download ${data.chart} as ${kind.toUpperCase()}`, () => {
      const plot = document.querySelector(`.st-key-${CSS.escape(data.key)} .js-plotly-plot`)
      if (!plot?._context) return
      plot._context.toImageButtonOptions = { ...plot._context.toImageButtonOptions, format: kind }
      plot.querySelector(".modebar-btn")?.click()
    }))
  }
  redrawn(root, focusKey(root), [bar])
}
