// The page: one state, in the address, and three views of it.

import { get } from "./api.js";
import { Ask } from "./ask.js";
import { Browse } from "./browse.js";
import { Compare } from "./compare.js";
import { fill, h } from "./dom.js";
import { read, words, written } from "./state.js";

const TITLES = { ask: "Ask", compare: "Compare", run: "Run" };
const KEYS = [["/", "to the sentence"], ["1, 2, 3", "Ask, Compare, Run"], ["Enter", "ask at once"], ["↑ ↓", "from clue to clue; space adds or removes it"], ["?", "this list"]];

const app = {
  state: read(),
  start: null,
  views: {},

  /** The families that are asked: those in the address that are here, else all. */
  families() {
    const named = words(this.state.models);
    const chosen = this.start.families.filter((family) => named.includes(family.name));
    return chosen.length ? chosen : this.start.families;
  },

  change(patch, now = false) {
    const turned = patch.view && patch.view !== this.state.view;
    Object.assign(this.state, patch);
    const address = written(this.state);
    if (turned) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    if (turned) show();
    this.views[this.state.view].update(now || turned);
  },
};

function show() {
  const { view } = app.state;
  const made = { ask: Ask, compare: Compare, run: Browse };
  app.views[view] ??= new made[view](app);
  fill(document.getElementById("view"), app.views[view].element);
  const links = Object.entries(TITLES).map(([name, title]) => h("li", {}, h("a", { href: `#${name}`, "aria-current": name === view ? "page" : null, onclick: (event) => turn(event, name) }, title)));
  fill(document.getElementById("views"), h("li", {}, h("span.mark", {}, "trueprobe")), links,
    h("li.right", {}, h("button.quiet", { type: "button", "aria-label": "Keys", onclick: keys }, "?")));
  document.title = `${TITLES[view]} · trueprobe`;
}

function turn(event, view) {
  event?.preventDefault();
  if (view !== app.state.view) app.change({ view });
}

function keys() {
  const dialog = document.getElementById("keys");
  fill(dialog, h("h2", { id: "keys-title" }, "Keys"), h("dl", {}, KEYS.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)))),
    h("form", { method: "dialog" }, h("button", { autofocus: true, onclick: (event) => { event.preventDefault(); dialog.close(); } }, "Close")));
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  const writing = event.target.closest?.("input, textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || !app.start) return;
  if (writing) {
    if (event.key === "Escape") writing.blur();
    return;
  }
  const view = { 1: "ask", 2: "compare", 3: "run" }[event.key];
  if (view) turn(event, view);
  else if (event.key === "?") keys();
  else if (event.key === "/") {
    event.preventDefault();
    document.querySelector("#text, #first-sentence, .items input")?.focus();
  }
});

addEventListener("popstate", () => {
  app.state = read();
  show();
  app.views[app.state.view].update(true);
});

/** A first visit begins with an example: an occupation, and a counterexample in front. */
async function example() {
  const ask = app.views.ask;
  await ask.suggestions.choose("knowledge");
  const clue = ask.suggestions.data?.clues.find((one) => one.name === "tcsyn");
  if (clue) app.change({ before: clue.text }, true);
}

try {
  app.start = await get("api/start");
  show();
  const { state } = app;
  if (state.view === "ask" && !state.text && !state.before) await example();
  else app.views[state.view].update(true);
} catch (error) {
  fill(document.getElementById("view"), h("p.note.problem", { role: "alert" }, error.message));
}
