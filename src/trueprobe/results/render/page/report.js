"use strict";
// Everything this page does is here and works without a network. Without it the page shows the first choice of all.
(() => {
const $ = (at, q) => at.querySelector(q), $$ = (at, q) => [...at.querySelectorAll(q)];
const cache = new Map();
async function unpacked(id) {
  if (!cache.has(id)) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    cache.set(id, new Response(stream).json());
  }
  return cache.get(id);
}
function make(tag, props = {}, ...inside) {
  const made = Object.assign(document.createElement(tag), props);
  made.append(...inside);
  return made;
}
const announce = text => { document.getElementById("status").textContent = text; };

// ---- columns: as many as find room, from the left; the others on demand
function cut(table, from) {
  for (const row of table.rows)
    if (row.cells.length > 1) [...row.cells].forEach((cell, i) => { cell.hidden = i >= from; });
}
function fit(table) {
  const box = table.parentElement, many = table.tHead.rows[0].cells.length;
  cut(table, many);
  if (!box.clientWidth) return;
  let shown = many;
  if (!table.all) while (shown > 2 && table.offsetWidth > box.clientWidth + 1) cut(table, --shown);
  const more = $(box.parentElement, ".more");
  more.hidden = shown === many && !table.all;
  more.textContent = table.all ? "fewer columns" : `${many - shown} more columns`;
}
const fitted = $$(document, "table[data-fit]");
for (const table of fitted) {
  const more = make("button", { type: "button", className: "more", hidden: true });
  more.onclick = () => { table.all = !table.all; fit(table); };
  table.parentElement.after(more);
  fit(table);
}
const fitAll = at => { for (const table of fitted) if (at.contains(table)) fit(table); };
let later;
addEventListener("resize", () => { clearTimeout(later); later = setTimeout(() => fitAll(document), 150); });
document.addEventListener("toggle", event => { if (event.target.open) fitAll(event.target); }, true);

// ---- item tables: sorted, searched, chosen and paged from packed columns
const PAGE = 20;
class Items {
  constructor(at, data) {
    this.at = at; this.columns = data.columns; this.page = 0; this.by = null; this.down = true;
    this.words = ""; this.chosen = new Map();
    this.order = Uint32Array.from({ length: data.n }, (_, i) => i);
    this.lower = this.columns.map(c => c.u ? c.u.map(t => t.toLowerCase()) : null);
    this.controls(); this.head(); this.show();
  }
  value(c, row) { return c.k === "number" ? c.v[row] : c.u[c.c[row]]; }
  controls() {
    const search = make("input", { type: "search", placeholder: "search" });
    let wait;
    search.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(() => {
      this.words = search.value.trim().toLowerCase(); this.page = 0; this.show(); }, 120); });
    const box = make("div", { className: "controls" }, make("label", {}, "find ", search));
    this.columns.forEach((c, i) => {
      if (c.k !== "choice") return;
      const select = make("select", {}, make("option", { value: "", textContent: "all" }));
      c.u.map((text, code) => [text, code]).sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }))
        .forEach(([text, code]) => select.append(make("option", { value: String(code), textContent: text || "–" })));
      select.addEventListener("change", () => {
        select.value === "" ? this.chosen.delete(i) : this.chosen.set(i, Number(select.value));
        this.page = 0; this.show(); });
      box.append(make("label", {}, `${c.t} `, select));
    });
    this.back = make("button", { type: "button", textContent: "back" });
    this.next = make("button", { type: "button", textContent: "next" });
    this.back.onclick = () => { this.page--; this.show(); };
    this.next.onclick = () => { this.page++; this.show(); };
    this.count = make("span", { className: "cap" });
    this.at.prepend(box);
    this.at.append(make("div", { className: "controls" }, this.back, this.next, this.count));
  }
  head() {
    $$(this.at, "thead th").forEach((th, i) => {
      const button = make("button", { type: "button", textContent: th.textContent });
      button.onclick = () => this.sort(i);
      th.replaceChildren(button);
    });
  }
  sort(i) {
    const c = this.columns[i], number = c.k === "number";
    this.down = this.by === i ? !this.down : number;
    this.by = i; this.page = 0;
    const sign = this.down ? -1 : 1;
    this.order.sort((a, b) => {
      const x = this.value(c, a), y = this.value(c, b);
      if (x === null || y === null) return (x === null) - (y === null) || a - b; // without a number: last
      return sign * (number ? x - y : x.localeCompare(y, "en", { numeric: true })) || a - b;
    });
    $$(this.at, "thead th").forEach((th, j) => j === i
      ? th.setAttribute("aria-sort", this.down ? "descending" : "ascending") : th.removeAttribute("aria-sort"));
    this.show();
  }
  fits(row) {
    for (const [i, code] of this.chosen) if (this.columns[i].c[row] !== code) return false;
    return !this.words || this.columns.some((c, i) => c.u && this.lower[i][c.c[row]].includes(this.words));
  }
  show() {
    const rowsHere = this.words || this.chosen.size ? this.order.filter(row => this.fits(row)) : this.order;
    const last = Math.max(0, Math.ceil(rowsHere.length / PAGE) - 1);
    this.page = Math.min(Math.max(0, this.page), last);
    const from = this.page * PAGE, rows = rowsHere.slice(from, from + PAGE);
    $(this.at, "tbody").replaceChildren(...Array.from(rows, row => make("tr", {}, ...this.columns.map(c => {
      const v = this.value(c, row);
      const text = c.k === "number" ? (v === null ? "–" : v.toFixed(c.d).replace("-", "−")) : v;
      return make("td", { textContent: text, className: { number: "num", text: "long" }[c.k] ?? "" });
    }))));
    fit($(this.at, "table"));
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page === last;
    this.count.textContent = rowsHere.length
      ? `${(from + 1).toLocaleString("en")} to ${(from + rows.length).toLocaleString("en")} of ${rowsHere.length.toLocaleString("en")}`
      : "nothing found";
  }
}
const watcher = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) {
    watcher.unobserve(entry.target);
    unpacked(entry.target.dataset.items).then(data => { entry.target.table = new Items(entry.target, data); });
  }
}, { rootMargin: "600px" });
for (const at of $$(document, "[data-items]")) watcher.observe(at);

// ---- tables and texts to take away
function save(name, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text])), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
for (const at of $$(document, "[data-export]")) {
  at.hidden = false;
  at.addEventListener("click", async event => {
    const kind = event.target.dataset.as;
    if (!kind) return;
    const all = await unpacked("exports");
    save(`${at.dataset.export}.${kind}`, all[at.dataset.export][kind]);
    announce(`${kind} saved`);
  });
}
for (const button of $$(document, "[data-copy]")) {
  button.parentElement.hidden = false;
  button.addEventListener("click", async () => {
    const at = document.getElementById(button.dataset.copy);
    try { await navigator.clipboard.writeText(at.textContent); button.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(at); button.textContent = "Selected: copy it"; }
    announce(button.textContent);
  });
}
})();
