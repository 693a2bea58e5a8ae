// What the page shows is in its address, behind the #: it can be bookmarked, and is sent to nobody.

export const EMPTY = {
  view: "ask",
  // ask
  text: "", before: "", causal: "", join: "", lists: "gender", first: "", second: "", models: "",
  kind: "knowledge", of: "", set: "", chosen: "",
  // compare
  a: "", b: "", masking: "each",
  // run
  probe: "", search: "", filters: "", apart: "", sort: "", ascending: "", start: "", verdict: "", every: "",
};
export const VIEWS = ["ask", "compare", "run"];

export function read(hash = location.hash) {
  const [view, query = ""] = hash.replace(/^#/, "").split("?");
  const state = { ...EMPTY };
  for (const [key, value] of new URLSearchParams(query)) if (key in EMPTY && key !== "view") state[key] = value;
  if (VIEWS.includes(view)) state.view = view;
  return state;
}

export function written(state) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) if (key !== "view" && value !== EMPTY[key]) query.set(key, value);
  const text = query.toString();
  return `#${state.view}${text ? `?${text}` : ""}`;
}

export const words = (text) => text.split(",").map((word) => word.trim()).filter(Boolean);
export const numbers = (text) => words(text).map(Number).filter(Number.isInteger);
