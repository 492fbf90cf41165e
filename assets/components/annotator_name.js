// Keeps an annotator's name in a cookie for the next visit. Enter leaves its field: the keys after
// it are grades, and no part of the name.
import { component } from "./base.js"

const YEAR = 365 * 24 * 3600

export default component(({ data }) => {
  const kept = `${data.cookie}=${encodeURIComponent(data.name)}`
  if (data.name) document.cookie = `${kept}; path=/; max-age=${YEAR}; SameSite=Strict`
  const leave = ({ key, target }) => {
    if (key === "Enter" && target.matches?.('input[aria-label="Annotator"]')) target.blur()
  }
  document.addEventListener("keyup", leave)
  return () => document.removeEventListener("keyup", leave)
})
