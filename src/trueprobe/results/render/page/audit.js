"use strict";
// What is behind a number: a dialog that any number of the page opens, by click, Enter or Space; Escape closes it.
(() => {
const FIRST = 12, MODEL = "model", WHY = "not scored because";
const box = document.getElementById("audit"), data = document.getElementById("audit-data");
if (!box || !data) return;
const cache = new Map(), $ = (at, q) => at.querySelector(q);
async function unpacked(id) {
  if (!cache.has(id)) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), c => c.charCodeAt(0));
    cache.set(id, new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json());
  }
  return cache.get(id);
}
function make(tag, props = {}, ...inside) {
  const made = Object.assign(document.createElement(tag), props);
  made.append(...inside);
  return made;
}
const pairs = rows => make("dl", {}, ...rows.map(([name, text]) =>
  make("div", {}, make("dt", { textContent: name }), make("dd", { textContent: text }))));
function table(header, rows, { chosen = -1, kinds = [] } = {}) {
  const body = rows.map((row, i) => make("tr", { className: i === chosen ? "chosen" : "" },
    ...row.map((text, j) => make("td", { textContent: text, className: { number: "num", text: "long" }[kinds[j]] ?? "" }))));
  const made = make("table", {}, make("thead", {}, make("tr", {}, ...header.map(text =>
    make("th", { scope: "col", textContent: text })))), make("tbody", {}, ...body));
  return make("div", { className: "scroll", tabIndex: 0 }, made);
}
const part = (title, ...inside) => make("section", {}, make("h3", { textContent: title }), ...inside);

// ---- items: those rows of the item table that have the number's conditions and model
const text = (c, row) => {
  if (c.k !== "number") return c.u[c.c[row]];
  return c.v[row] === null ? "–" : c.v[row].toFixed(c.d).replace("-", "−");
};
function chosenRows(items, one) {
  const wanted = [], filtered = new Set();
  for (const c of items.columns) {
    if (c.k !== "choice") continue;
    const values = c.t === MODEL ? one.models : c.t in one.where ? [one.where[c.t]] : [];
    const codes = values.map(value => c.u.indexOf(value)).filter(code => code >= 0);
    if (codes.length) { wanted.push([c, new Set(codes)]); filtered.add(c.t); }
  }
  const rows = Array.from({ length: items.n }, (_, i) => i).filter(i => wanted.every(([c, codes]) => codes.has(c.c[i])));
  return [rows, filtered];
}
const counts = (c, rows) => {
  const many = new Map();
  for (const row of rows) { const at = text(c, row); if (at) many.set(at, (many.get(at) ?? 0) + 1); }
  return many;
};
function itemPart(items, one, words) {
  const [rows, filtered] = chosenRows(items, one), facts = [];
  for (const c of items.columns) {
    if (c.k !== "choice" || filtered.has(c.t)) continue;
    const many = counts(c, rows);
    if (c.t === WHY) facts.push([words.unscored, [...many].map(([why, n]) => `${n} ${why}`).join(", ") || "0"]);
    else if (many.size > 1) facts.push([`${words.pools} ${c.t}`, `${many.size}: ${[...many.keys()].join(", ")}`]);
  }
  const header = items.columns.map(c => c.t);
  const shown = many => table(header, rows.slice(0, many).map(row => items.columns.map(c => text(c, row))),
    { kinds: items.columns.map(c => c.k) });
  if (one.items !== null && rows.length > one.items) facts.push([words.counted, one.items.toLocaleString("en")]);
  let view = shown(FIRST);
  const made = part(`${words.items}: ${rows.length.toLocaleString("en")} ${words.filtered}`, pairs(facts), view);
  if (rows.length > FIRST) {
    const more = make("button", { type: "button", textContent: words.all });
    more.onclick = () => { const all = shown(rows.length); view.replaceWith(all); view = all; more.remove(); };
    made.append(more);
  }
  return made;
}

async function open(button) {
  const all = await unpacked("audit-data"), one = all.numbers[Number(button.dataset.number)], words = all.words;
  document.getElementById("audit-title").textContent = `${one.title} · ${one.model}`;
  const body = document.getElementById("audit-body");
  body.replaceChildren(part(words.test, pairs(one.rows)));
  const items = make("div");
  const listed = one.list === null ? make("p", { textContent: words.no_list })
    : make("details", { open: true },
      make("summary", { textContent: `${words.list} (${all.lists[one.list].length})` }),
      table(all.header, all.lists[one.list], { chosen: one.place - 1 }));
  body.firstChild.append(listed);
  body.append(items, part(words.others, one.others.length
    ? table(["condition", "value", "number"], one.others) : make("p", { textContent: words.no_others })));
  body.append(part(words.weights, ...one.models.flatMap(name => all.models[name].map(pairs))));
  body.append(part(words.repeat, pairs(all.run), make("pre", { textContent: all.repeat.join("\n"), tabIndex: 0 })));
  box.showModal();
  $(body, "tr.chosen")?.scrollIntoView({ block: "center" });
  box.scrollTop = 0;
  const pack = `i-${one.probe}`;
  items.replaceChildren(document.getElementById(pack) ? itemPart(await unpacked(pack), one, words)
    : part(words.items, make("p", { textContent: words.none })));
}
document.addEventListener("click", event => {
  const button = event.target.closest("[data-number]");
  if (button) open(button);
  else if (event.target === box) box.close(); // beside the dialog
});
})();
