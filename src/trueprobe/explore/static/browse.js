// A run: its findings by families, its items by what tells most, and from an item into a question.

import { get, post } from "./api.js";
import { field, fill, h, select, toast } from "./dom.js";
import { count, several } from "./numbers.js";

const ROWS = 20;

export class Browse {
  constructor(app) {
    this.app = app;
    this.element = h("div.run", {}, h("p.wait", { role: "status" }, "Reading the run …"));
    this.matrix = h("div", {});
    this.items = h("div.items", {});
  }

  async update() {
    if (!this.app.start.run) {
      fill(this.element, h("section", {}, h("h1", {}, "No run to browse"), h("p", {}, "Start with a run folder, and its findings and items are here:"), h("pre.quote", {}, "trueprobe explore --run runs/mine")));
      return;
    }
    try {
      this.run ??= await get("api/run");
      if (!this.shown) this._show();
      this.showMatrix();
      await this.showItems();
    } catch (error) {
      fill(this.element, h("p.note.problem", { role: "alert" }, error.message));
    }
  }

  _show() {
    const { run } = this;
    this.shown = true;
    fill(this.element,
      h("section.answer", {}, h("header", {}, h("h1", {}, run.title), h("p.meta", {}, run.facts)), h("p.headline", {}, run.answer), h("p.cap", {}, run.how_far), this.matrix),
      h("section", {}, h("h2", {}, "Items"), this.items));
  }

  // ------------------------------------------------------------ findings

  showMatrix() {
    const { run } = this;
    const { state } = this.app;
    const outcomes = [["", "any verdict"], ...Object.entries(run.outcomes)];
    const fits = (finding) => !state.verdict || finding.numbers.some((number) => number?.outcome === state.verdict);
    const wanted = run.findings.filter((finding) => fits(finding) && (state.every || state.verdict || finding.main));
    const every = h("input", { type: "checkbox", checked: Boolean(state.every), onchange: () => this.app.change({ every: every.checked ? "1" : "" }) });
    fill(this.matrix,
      h("div.controls", {}, field("Verdict", select(outcomes, state.verdict, (verdict) => this.app.change({ verdict }))), h("label.check", {}, every, ` all ${several(run.findings.length, "finding")}`)),
      wanted.length ? this._table(wanted) : h("p.cap", {}, "No finding has this verdict."));
  }

  _table(findings) {
    const { families } = this.run;
    const head = h("tr", {}, h("th", { scope: "col" }, "finding"), families.map((name) => h("th.num", { scope: "col" }, name)));
    return h("div.matrix.scroll", { tabIndex: 0, role: "region", "aria-label": "Findings" }, h("table", {}, h("thead", {}, head), h("tbody", {}, findings.map((finding) => h("tr", {},
      h("th", { scope: "row" }, h("span.of", {}, `${finding.probe} `), finding.statement, finding.held_against ? h("span.unit", {}, ` ${finding.held_against}`) : null),
      finding.of_pairs ? h("td.num", { colSpan: families.length }, finding.numbers.map((number) => h("span.pair", {}, `${number.model} `, shownNumber(number))))
        : finding.numbers.map((number) => h(`td.num.${number ? number.outcome : "none"}`, {}, number ? shownNumber(number) : "–")))))));
  }

  // ------------------------------------------------------------ items

  async showItems() {
    const { state } = this.app;
    const probe = this.run.probes.includes(state.probe) ? state.probe : this.run.probes[0];
    if (!probe) return fill(this.items, h("p.cap", {}, "This run has no items."));
    const filters = Object.fromEntries(new URLSearchParams(state.filters));
    const start = Number(state.start) || 0;
    const wanted = { probe, search: state.search, filters, apart: Boolean(state.apart), sort: state.sort, ascending: Boolean(state.ascending), start, rows: ROWS };
    const key = JSON.stringify(wanted);
    if (key === this.itemsKey) return;
    this.itemsKey = key;
    this.items.classList.add("waiting");
    let page;
    try {
      page = await post("api/items", wanted);
    } catch (error) {
      if (!state.filters && !state.sort) throw error;
      return this.app.change({ filters: "", sort: "", start: "" }); // of another probe
    }
    if (key !== this.itemsKey) return;
    this.items.classList.remove("waiting");
    this._items(page, wanted);
    document.documentElement.dataset.listed = String(Number(document.documentElement.dataset.listed || 0) + 1);
  }

  _items(page, wanted) {
    const change = (patch) => this.app.change({ start: "", ...patch });
    const filter = (title) => (value) => {
      const filters = new URLSearchParams(wanted.filters);
      if (value) filters.set(title, value);
      else filters.delete(title);
      change({ filters: filters.toString() });
    };
    const choices = page.columns.filter((column) => column.kind === "choice");
    if (!this.search) {
      this.search = h("input", { type: "search", placeholder: "search", "aria-label": "Search items", maxLength: 200, oninput: () => {
        clearTimeout(this.pause);
        this.pause = setTimeout(() => change({ search: this.search.value }), 200);
      } });
      this.controls = h("div.controls", {});
      this.table = h("div", {});
      fill(this.items, this.controls, this.table);
    }
    if (this.search !== document.activeElement) this.search.value = wanted.search;
    const apart = h("input", { type: "checkbox", checked: wanted.apart, onchange: () => change({ apart: apart.checked ? "1" : "" }) });
    fill(this.controls,
      field("Probe", select(this.run.probes.map((name) => [name, name]), wanted.probe, (probe) => change({ probe, filters: "", sort: "", search: "" }))),
      choices.map((column) => field(column.title, select([["", "all"], ...column.choices.map((one) => [one, one || "–"])], wanted.filters[column.title] || "", filter(column.title)))),
      field("Sorted by", select([["", "effect size"], ...page.columns.filter((column) => column.kind === "number").map((column) => [column.title, column.title])], wanted.sort, (sort) => change({ sort, ascending: "" }))),
      page.apart ? h("label.check", {}, apart, " seeds on both sides") : null, this.search);
    fill(this.table, this._rows(page, wanted, change), pager(page, wanted, change));
  }

  _rows(page, wanted, change) {
    if (!page.total) return h("p.cap", {}, "No item fits.");
    const sort = (column) => () => change({ sort: column.title, ascending: wanted.sort === column.title && !wanted.ascending ? "1" : "" });
    const sorted = (column) => (wanted.sort !== column.title ? null : wanted.ascending ? "ascending" : "descending");
    const head = page.columns.map((column) => h(`th${column.kind === "number" ? ".num" : ""}`, { scope: "col", "aria-sort": sorted(column) },
      column.kind === "number" ? h("button", { type: "button", onclick: sort(column) }, column.title) : column.title));
    const body = page.rows.map((row) => h("tr", {}, row.cells.map((text, i) => {
      const { kind, title } = page.columns[i];
      const content = i ? text : h("button.asks", { type: "button", title: "Try this prompt", onclick: () => this.ask(row, wanted.probe) }, text, h("span", { "aria-hidden": "true" }, " →"));
      return h(`td${kind === "number" ? ".num" : kind === "text" ? ".long" : ""}`, { "data-title": title }, content);
    })));
    return h("div.scroll", { tabIndex: 0, role: "region", "aria-label": "Items" }, h("table.stack", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
  }

  /** The prompt as the model was asked it, in the view that asks such prompts. */
  async ask(row, probe) {
    toast("Looking up the prompt …");
    try {
      const question = await post("api/item", { probe, item: row.item, family: row.family });
      const { view } = question;
      const here = this.app.start.families.some((family) => family.name === row.family) ? row.family : "";
      if (view === "compare") this.app.change({ view, a: question.first, b: question.second, masking: question.masking, models: here });
      else if (view === "ask") {
        const lists = question.lists || "";
        const counted = { lists, first: (question.first || []).join(", "), second: (question.second || []).join(", ") };
        this.app.change({ view, text: question.text, before: question.before || "", causal: question.causal || "", join: question.join || "", models: here, ...counted, of: "" });
      } else toast("This item cannot be tried here");
    } catch (error) {
      toast(error.message);
    }
  }
}

function shownNumber(number) {
  const value = number.value === "–" ? h("span.why", {}, number.verdict) : h("span.n", {}, number.value);
  const tip = [`${number.interval} ${number.unit}`.trim(), number.behind, number.seeds].filter(Boolean).join("; ");
  return h("span.value", { tabIndex: 0 }, value, number.mark ? h("span.sign", { "aria-hidden": "true" }, number.mark) : null, number.interval ? h("span.interval", {}, ` ${number.interval}`) : null, number.side ? h("span.why", {}, ` ${number.side}`) : null,
    h("span.tip", {}, tip));
}

function pager(page, wanted, change) {
  const end = Math.min(page.total, wanted.start + ROWS);
  const to = (start) => () => change({ start: start ? String(start) : "" });
  return h("div.controls", {},
    h("button", { type: "button", disabled: !wanted.start, onclick: to(Math.max(0, wanted.start - ROWS)) }, "previous"),
    h("span", {}, page.total ? `${count(wanted.start + 1)} to ${count(end)} of ${count(page.total)}` : "none"),
    h("button", { type: "button", disabled: end >= page.total, onclick: to(end) }, "next"));
}
