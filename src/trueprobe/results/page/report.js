"use strict";
// Everything this page does is here and works without a network. Without it the page shows the first choice of all.
(() => {
const $ = (at, q) => at.querySelector(q), $$ = (at, q) => [...at.querySelectorAll(q)];
const kept = new Map();
async function unpacked(id) {
  if (!kept.has(id)) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    kept.set(id, new Response(stream).json());
  }
  return kept.get(id);
}
function make(tag, props = {}, ...inside) {
  const made = Object.assign(document.createElement(tag), props);
  made.append(...inside);
  return made;
}
const say = text => { document.getElementById("said").textContent = text; };

// ---- figures: choose what is drawn, which series, which model
function panels(fig) {
  const only = $(fig, "[data-panel]")?.value ?? "";
  const shown = $$(fig, ".panels > svg").filter(svg => {
    const on = !only || svg.dataset.title === only || svg.dataset.title.split(" · ").includes(only);
    svg.toggleAttribute("hidden", !on);
    svg.style.display = on ? "" : "none";
    return on;
  });
  $(fig, ".panels")?.classList.toggle("alone", shown.length === 1);
  $(fig, ".nobody")?.remove();
  if (only && !shown.length)
    $(fig, ".panels")?.after(make("p", { className: "note nobody", textContent: `${only} has no numbers for this choice.` }));
}
function series(fig) {
  for (const button of $$(fig, ".legend [data-s]")) {
    const off = fig.hiddenSeries.has(button.textContent);
    button.setAttribute("aria-pressed", String(!off));
    for (const s of $$(fig, `.s[data-s="${button.dataset.s}"]`)) s.classList.toggle("off", off);
  }
}
for (const fig of $$(document, ".fig")) {
  fig.hiddenSeries = new Set();
  const choose = $(fig, ".choose");
  if (choose) choose.hidden = false;
  for (const select of $$(fig, "[data-choice]")) select.addEventListener("change", async () => {
    const all = await unpacked(fig.dataset.packed);
    const key = $$(fig, "[data-choice]").map(s => s.value).join("|");
    $(fig, ".drawn").innerHTML = all[key] ?? '<p class="note">This run has no numbers for this choice.</p>';
    panels(fig); series(fig);
    say("figure changed");
  });
  $(fig, "[data-panel]")?.addEventListener("change", () => panels(fig));
  fig.addEventListener("click", event => {
    const button = event.target.closest(".legend [data-s]");
    if (!button) return;
    const name = button.textContent;
    fig.hiddenSeries.has(name) ? fig.hiddenSeries.delete(name) : fig.hiddenSeries.add(name);
    series(fig);
  });
  panels(fig); series(fig);
}

// ---- hovering: what is behind a mark
const tip = document.getElementById("tip");
document.addEventListener("pointerover", event => {
  const mark = event.target.closest?.(".p");
  if (!mark) { tip.hidden = true; return; }
  const title = $(mark, "title");
  if (title) { mark.dataset.told = title.textContent; title.remove(); } // the browser's own would come on top
  tip.textContent = mark.dataset.told;
  tip.hidden = false;
  const at = mark.getBoundingClientRect(), own = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.left + at.width / 2 - own.width / 2), innerWidth - own.width - 8);
  tip.style.left = `${left}px`;
  tip.style.top = `${at.top - own.height - 8 > 0 ? at.top - own.height - 8 : at.bottom + 8}px`;
});
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

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
    const found = this.words || this.chosen.size ? this.order.filter(row => this.fits(row)) : this.order;
    const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
    this.page = Math.min(Math.max(0, this.page), last);
    const from = this.page * PAGE, rows = found.slice(from, from + PAGE);
    $(this.at, "tbody").replaceChildren(...Array.from(rows, row => make("tr", {}, ...this.columns.map(c => {
      const v = this.value(c, row);
      const text = c.k === "number" ? (v === null ? "–" : v.toFixed(c.d).replace("-", "−")) : v;
      return make("td", { textContent: text, className: { number: "num", text: "long" }[c.k] ?? "" });
    }))));
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page === last;
    this.count.textContent = found.length
      ? `${(from + 1).toLocaleString("en")} to ${(from + rows.length).toLocaleString("en")} of ${found.length.toLocaleString("en")}`
      : "nothing found";
  }
}
const seen = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) {
    seen.unobserve(entry.target);
    unpacked(entry.target.dataset.items).then(data => { entry.target.table = new Items(entry.target, data); });
  }
}, { rootMargin: "600px" });
for (const at of $$(document, "[data-items]")) seen.observe(at);

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
    say(`${kind} saved`);
  });
}
for (const button of $$(document, "[data-copy]")) {
  button.parentElement.hidden = false;
  button.addEventListener("click", async () => {
    const at = document.getElementById(button.dataset.copy);
    try { await navigator.clipboard.writeText(at.textContent); button.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(at); button.textContent = "Selected: copy it"; }
    say(button.textContent);
  });
}
})();
