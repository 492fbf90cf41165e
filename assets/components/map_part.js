// Apart from the store: a script that is loaded twice would have two of them.
export { takePart as default } from "./map_store.js"
