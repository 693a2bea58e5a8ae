// Prompts of the papers, with clues that one click adds or removes, and what each clue or step does.

import { post, stream } from "./api.js";
import { lines } from "./charts.js";
import { arrows, field, fill, h, select } from "./dom.js";
import { centre, count, median, roundUp, signed } from "./numbers.js";
import { numbers } from "./state.js";

const KINDS = [["knowledge", "Counterexamples"], ["properties", "Properties"], ["distractors", "Distractors"]];
const ABOUT = {
  knowledge: "Nine kinds of knowledge to put in front (Zhang, Rayz & Pradhan). Bars: the shift each one makes.",
  properties: "Properties that people name, one by one (Weir, Poliak & Van Durme): does the concept rise?",
  distractors: "Other facts behind the fact, up to three (Pandia & Ettinger): does the target stay?",
};
const MOST_FAMILIES = 3; // with a bar in each clue

export class Suggestions {
  constructor(app, outcome) {
    this.app = app;
    this.outcome = outcome;
    this.data = null;
    this.series = new Map(); // checkpoint -> a reading for each clue or step
    this.tabs = h("div.tabs", { role: "group", "aria-label": "Suggestions" });
    this.choices = h("div.row", {});
    this.about = h("p.cap", {});
    this.clues = h("div.clues", { role: "group", "aria-label": "Clues" });
    arrows(this.clues);
    this.element = h("div.suggest", {}, this.tabs, this.choices, this.about, this.clues);
    this.chart = h("section.growth", { hidden: true, "aria-label": "Step by step" });
  }

  /** Clues are about the occupation that the sentence names, whoever wrote it. */
  _follow() {
    const { start, state } = this.app;
    if (state.kind !== "knowledge" || !state.of) return;
    const named = (name) => new RegExp(`(^|[^\\p{L}])${name}([^\\p{L}]|$)`, "iu").test(state.text);
    const typed = named(state.of) ? null : start.occupations.find((one) => named(one.name));
    if (typed) state.of = typed.name;
  }

  _about() {
    const { state } = this.app;
    const foreign = this.data?.text && state.of && this.data.text !== state.text && !state.text.includes(state.of);
    return foreign ? `${ABOUT[state.kind]} They are about “${state.of}”, not about your sentence.` : ABOUT[state.kind];
  }

  update() {
    const { state } = this.app;
    this._follow();
    fill(this.tabs, KINDS.map(([kind, title]) => h("button", { type: "button", "aria-pressed": String(kind === state.kind), onclick: () => this.choose(kind) }, title)));
    fill(this.choices, this._choices());
    const key = JSON.stringify([state.kind, state.of, state.set, state.kind === "knowledge" ? "" : state.chosen]);
    if (!state.of) this._none();
    else if (key !== this.key) {
      this.key = key;
      this._load(false);
    }
    this.show();
  }

  _choices() {
    const { start, state } = this.app;
    const change = (patch) => this.take({ ...patch });
    if (state.kind === "knowledge") {
      const options = start.occupations.map((one) => [one.name, `${one.name} (mostly ${one.dominant})`]);
      return field("Occupation", select(options, state.of, (of) => change({ of })));
    }
    if (state.kind === "properties") {
      return field("Concept", select(start.concepts.map((name) => [name, name]), state.of, (of) => change({ of, chosen: "0" })));
    }
    const sets = Object.entries(start.sets).flatMap(([set, of]) => of.map((one) => [`${set}/${one}`, `${set}: ${one}`]));
    const split = (value) => ({ set: value.split("/")[0], of: value.slice(value.indexOf("/") + 1), chosen: "" });
    return field("Fact", select(sets, `${state.set}/${state.of}`, (value) => change(split(value))));
  }

  /** The question is not a suggestion's: an item of a run. */
  _none() {
    this.data = null;
    this.key = "";
    fill(this.clues);
    this.chart.hidden = true;
  }

  /** Another kind of suggestion, with its first example. */
  choose(kind) {
    const { start } = this.app;
    const [set] = Object.keys(start.sets);
    const preferred = (name, names) => (names.includes(name) ? name : names[0]);
    const first = {
      knowledge: { of: preferred("lawyer", start.occupations.map((one) => one.name)) },
      properties: { of: preferred("bear", start.concepts), chosen: "0" },
      distractors: { set, of: start.sets[set][0] },
    }[kind];
    return this.take({ kind, chosen: "", ...first });
  }

  /** The chosen suggestion becomes the question; a clue in front that was pressed stays pressed. */
  async take(patch) {
    const { state } = this.app;
    const pressed = state.kind === "knowledge" && (!patch.kind || patch.kind === "knowledge") ? this.data?.clues.find((clue) => clue.text === state.before)?.name : null;
    Object.assign(state, patch);
    this.key = JSON.stringify([state.kind, state.of, state.set, state.kind === "knowledge" ? "" : state.chosen]);
    await this._load(true, pressed);
  }

  async _load(apply, pressed = null) {
    const { state } = this.app;
    const wanted = { kind: state.kind, of: state.of, set: state.kind === "distractors" ? state.set : "", chosen: state.kind === "knowledge" ? [] : numbers(state.chosen) };
    const key = this.key;
    let data;
    try {
      data = await post("api/suggest", wanted);
    } catch {
      return; // an address that names what is not there: the question itself is still asked
    }
    if (key !== this.key) return;
    const steps = (one) => JSON.stringify(one?.series || one?.clues);
    if (steps(this.data) !== steps(data)) {
      this.series.clear();
      this.seriesKey = "";
    }
    this.data = data;
    if (!apply) return this.show();
    const before = pressed ? data.clues.find((clue) => clue.name === pressed)?.text || "" : "";
    const counted = data.lists ? { lists: data.lists, first: "", second: "" } : { lists: "", first: data.first.join(", "), second: (data.second || []).join(", ") };
    this.app.change({ text: data.text, causal: data.causal, before, join: "", ...counted }, true);
  }

  press(clue, i) {
    const { state } = this.app;
    if (state.kind === "knowledge") {
      this.app.change({ before: state.before === clue.text ? "" : clue.text }, true);
      return;
    }
    const chosen = numbers(state.chosen);
    const next = chosen.includes(i) ? chosen.filter((one) => one !== i) : [...chosen, i];
    if (this.data.most && next.length > this.data.most) next.shift();
    this.take({ chosen: next.join(",") });
  }

  show() {
    const { state } = this.app;
    this.about.textContent = this._about();
    if (!this.data) return;
    const chosen = this.data.chosen || [];
    const shifts = state.kind === "knowledge" ? this._shifts() : null;
    const extent = roundUp(Math.max(1e-9, ...(shifts || []).flatMap((one) => one.values.map(Math.abs))));
    fill(this.clues, this.data.clues.map((clue, i) => {
      const pressed = state.kind === "knowledge" ? state.before === clue.text : chosen.includes(i);
      const bars = shifts ? h("span.minis", {}, shifts.map((one) => mini(one.values[i], extent, one.name))) : null;
      return h(`button.clue${shifts ? "" : ".small"}`, { type: "button", "aria-pressed": String(pressed), tabIndex: i ? -1 : 0, onclick: () => this.press(clue, i) },
        h("span.clue-text", {}, clue.text, clue.meaning ? h("span.of", {}, clue.meaning) : null), bars);
    }));
    this.clues.classList.toggle("wrap", state.kind !== "knowledge");
    this._growth();
  }

  // ------------------------------------------------------------ all clues or steps at once

  async fetchSeries(counted) {
    const { state } = this.app;
    if (!this.data) return;
    const prompts = this.data.series || this.data.clues.map((clue) => ({ text: state.text, before: clue.text, causal: state.causal, join: state.join }));
    const question = { prompts, ...counted, top: 0 };
    const key = JSON.stringify(question);
    if (key === this.seriesKey) return;
    this.seriesKey = key;
    this.series.clear();
    try {
      await stream("api/ask?channel=series", question, (part) => {
        if (part.opening || key !== this.seriesKey) return;
        this.series.set(part.model, part.readings);
        if (this.app.families().some((family) => family.checkpoints.at(-1).name === part.model)) this.show();
      });
    } catch {
      this.seriesKey = ""; // the answer itself says what is wrong
    }
    if (key === this.seriesKey) this.show();
  }

  /** A family's value at each clue or step, by `of`; null where one of its checkpoints has none. */
  _values(family, i, of, middle = centre) {
    const readings = family.checkpoints.map((checkpoint) => this.series.get(checkpoint.name)?.[i]);
    const values = readings.map((reading) => (reading && !reading.why ? of(reading) : null));
    return values.every((value) => value !== null && value !== undefined) ? middle(values) : null;
  }

  _shifts() {
    const known = this.outcome().filter((one) => one.alone.length === one.family.checkpoints.length);
    return known.slice(0, MOST_FAMILIES).map(({ family, alone, key }) => ({
      name: family.name,
      values: this.data.clues.map((_, i) => {
        const value = this._values(family, i, (reading) => reading[key]);
        return value === null ? null : value - centre(alone);
      }),
    })).filter((one) => one.values.some((value) => value !== null));
  }

  _growth() {
    const { state } = this.app;
    const grows = Boolean(this.data.series) && this.series.size > 0;
    this.chart.hidden = !grows;
    if (!grows) return;
    const rank = state.kind === "properties";
    const of = rank ? (reading) => reading.best?.rank ?? null : (reading) => reading.margin;
    const from = rank ? 1 : 0;
    const steps = this.data.series.map((_, i) => String(i + from));
    const every = this.app.families().map((family) => ({ name: family.name, values: steps.map((_, i) => this._values(family, i, of, rank ? median : centre)) }));
    const title = rank ? `Rank of “${this.data.first[0]}” as properties grow` : `“${this.data.first[0]}” minus the other targets, as distractors are added`;
    const format = rank ? count : signed;
    const chosen = this.data.chosen || [];
    const current = chosen.every((place, i) => place === i) ? chosen.length - from : -1;
    const shown = every.filter((one) => one.values.some((value) => value !== null));
    fill(this.chart, h("h2", {}, title), h("p.cap", {}, rank ? "Median over seeds, in the whole vocabulary; 1 is best." : "Percentage points, mean over seeds."),
      lines(shown, steps, { rank, format, title, current }));
  }
}

function mini(value, extent, name) {
  const bar = h("i.bar", {});
  if (value !== null) {
    bar.style.left = `${50 + Math.min(0, (50 * value) / extent)}%`;
    bar.style.width = `${(50 * Math.abs(value)) / extent}%`;
    bar.classList.toggle("second", value < 0);
  }
  const text = value === null ? "–" : signed(value);
  return h("span.mini", { title: `${name}: shift ${text} points` }, h("span.track", { "aria-hidden": "true" }, h("i.zero", {}), bar), h("span.num", {}, text));
}
