"use strict";
// Figures: drawn by Vega from packed specifications. Menus, the model and the width of the page lay a chart out anew;
// the legend hides series. Until a chart is drawn, and without scripts, its numbers are there as a table.
(() => {
const $ = (at, q) => at.querySelector(q), $$ = (at, q) => [...at.querySelectorAll(q)];
const GAP = 44, EDGE = 24, // with room for labels of axes
  LEAST = { x: 170, y: 220 }, MOST = { x: 420, y: 380 }, ALONE = 540, LONGEST = 230, CHARACTER = 6;
// an interpreter of expressions instead of eval, so that a strict content security policy can stay
const OPTIONS = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false,
  tooltip: { disableDefaultStyle: true } };

async function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), c => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" "))
    if (lines.at(-1) && lines.at(-1).length + word.length >= most) lines.push(word);
    else lines.push(`${lines.pop()} ${word}`.trim());
  return lines;
}
const pen = document.createElement("canvas").getContext("2d");
function labelled(labels, font) { // the room that they take
  pen.font = `11px ${font}`;
  return labels.length ? 16 + Math.min(LONGEST, Math.max(...labels.map(text => pen.measureText(text).width))) : 56;
}
function inLines(spec, labels, most) { // of a narrow page
  const lines = labels.map(text => wrapped(text, most));
  const tallest = Math.max(...lines.map(one => one.length));
  spec.spec.height = Math.max(spec.spec.height, (13 * tallest + 8) * lines.length);
  for (const { encoding } of spec.spec.layer)
    if (encoding.y?.axis) encoding.y.axis.labelExpr = `${JSON.stringify(lines)}[datum.value]`;
}
function laidOut(spec, panels, width) {
  const meta = spec.usermeta, left = Math.min(labelled(meta.labels, spec.config.font), 0.42 * width);
  const room = width - left - EDGE;
  const fitting = Math.floor((room + GAP) / (LEAST[meta.values] + GAP));
  const rows = Math.ceil(panels.length / Math.max(1, Math.min(fitting, panels.length)));
  const columns = Math.ceil(panels.length / rows);
  spec.columns = columns;
  spec.spec.width = Math.min(columns === 1 ? ALONE : MOST[meta.values], Math.floor((room - GAP * (columns - 1)) / columns));
  spec.config.axisYDiscrete.labelLimit = left - 15;
  if (left < labelled(meta.labels, spec.config.font)) inLines(spec, meta.labels, (left - 15) / CHARACTER);
  spec.config.header.labelLimit = spec.spec.width + 20;
  const length = meta.values === "x" ? spec.spec.width : spec.spec.height;
  for (const { encoding } of spec.spec.layer)
    if (encoding[meta.values]?.axis) encoding[meta.values].axis.title = wrapped(meta.title, length / CHARACTER);
  spec.facet.sort = panels;
  spec.datasets.rows = spec.datasets.rows.filter(row => panels.includes(row.panel));
}
function ownScales(spec) {
  const values = spec.usermeta.values;
  spec.resolve = { scale: { [values]: "independent" }, axis: { x: "independent", [values]: "independent" } };
  for (const layer of spec.spec.layer) {
    const channel = layer.encoding[values];
    delete channel?.scale?.domain;
    if (channel?.axis) { delete channel.axis.values; delete channel.axis.format; channel.axis.tickCount = 5; }
  }
}

class Chart {
  constructor(fig) {
    this.fig = fig; this.at = $(fig, ".chart"); this.hidden = new Set(); this.width = 0;
    this.model = $(fig, "[data-model]"); this.scale = $(fig, "[data-scale]"); this.choices = $$(fig, "[data-choice]");
    $(fig, "details.numbers").open = false;
    this.at.hidden = false;
    const choose = $(fig, ".choose");
    if (choose) choose.hidden = false;
    for (const select of this.choices) select.addEventListener("change", () => this.choose());
    for (const select of [this.model, this.scale]) select?.addEventListener("change", () => this.draw());
    fig.addEventListener("click", event => this.toggle(event.target.closest(".legend [data-series]")));
  }
  async start() { // once
    this.started ??= unpacked(this.fig.dataset.packed).then(all => {
      this.all = all;
      this.picture = all[this.choices.map(select => select.value).join("|")];
      return this.draw();
    });
    return this.started;
  }
  async choose() {
    await this.start();
    const open = $(this.fig, "details.numbers")?.open ?? false;
    this.picture = this.all[this.choices.map(select => select.value).join("|")];
    $(this.fig, ".above").innerHTML = this.picture?.above ?? "";
    $(this.fig, ".below").innerHTML = this.picture?.below ?? "";
    const numbers = $(this.fig, "details.numbers");
    if (numbers) numbers.open = open;
    await this.draw();
  }
  async draw() {
    const turn = this.turn = {}, model = this.model?.value ?? "";
    const spec = structuredClone(this.picture?.spec);
    const panels = spec?.usermeta.models.flatMap((name, i) => !model || name === model ? [i] : []) ?? [];
    this.width = this.room();
    if (!panels.length) return this.nothing(spec ? `${model}: ${this.at.dataset.none}` : this.at.dataset.none);
    laidOut(spec, panels, this.width);
    const each = Boolean(this.scale?.value);
    if (each) ownScales(spec);
    const box = document.createElement("div");
    const made = await vegaEmbed(box, spec, { ...OPTIONS, logLevel: each ? 1 : 2 }); // a panel may lack seeds: no warning
    if (turn !== this.turn) return made.finalize(); // another choice came in between
    this.made?.finalize();
    this.made = made;
    for (const g of box.querySelectorAll("g[role]:empty")) g.removeAttribute("role"); // of a panel without such marks
    this.at.replaceChildren(box);
    this.legend();
  }
  room() { // of a figure that is folded: that of its column, so that a print has it
    return this.at.clientWidth || this.fig.closest("section").clientWidth;
  }
  nothing(text) {
    this.made?.finalize();
    this.made = null;
    const note = Object.assign(document.createElement("p"), { className: "note nobody", textContent: text });
    this.at.replaceChildren(note);
  }
  toggle(button) {
    if (!button) return;
    const name = button.textContent;
    this.hidden.has(name) ? this.hidden.delete(name) : this.hidden.add(name);
    this.legend();
  }
  legend() {
    const off = $$(this.fig, ".legend [data-series]").filter(button => {
      const hidden = this.hidden.has(button.textContent);
      button.setAttribute("aria-pressed", String(!hidden));
      return hidden;
    });
    this.made?.view.signal("hidden", off.map(button => Number(button.dataset.series))).runAsync();
  }
}

const charts = new Map($$(document, ".fig").map(fig => [fig, new Chart(fig)]));
const near = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) charts.get(entry.target).start();
}, { rootMargin: "800px" });
for (const fig of charts.keys()) near.observe(fig);
(async () => { // the others when there is time, so that a print has all
  for (const chart of charts.values()) {
    await new Promise(done => setTimeout(done, 20));
    await chart.start();
  }
  document.documentElement.dataset.drawn = "";
})();
let wait;
addEventListener("resize", () => {
  clearTimeout(wait);
  wait = setTimeout(() => {
    for (const chart of charts.values()) if (chart.picture && chart.room() !== chart.width) chart.draw();
  }, 150);
});
document.addEventListener("toggle", event => {
  for (const [fig, chart] of charts)
    if (event.target.open && event.target.contains(fig)) chart.start().then(() => chart.room() !== chart.width && chart.draw());
}, true);
})();
