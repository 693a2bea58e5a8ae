// A sentence with a blank, with and without a sentence in front: what models put in, and how a clue moves it.

import { stream } from "./api.js";
import { Lean, extentOf, scale } from "./charts.js";
import { copy, field, fill, h, select, sentence } from "./dom.js";
import { askPython, clozeRow } from "./keep.js";
import { headline } from "./headline.js";
import { count, median, percent, several, signed } from "./numbers.js";
import { words } from "./state.js";
import { Suggestions } from "./suggestions.js";
import { modelChips, settle, whyNot, WAIT } from "./shared.js";

const OWN = "";
const MOST_NAMED = 6; // words that are not counted
const SMALL = 8; // times smaller than the scale

export class Ask {
  constructor(app) {
    this.app = app;
    this.cards = new Map();
    this.results = new Map(); // checkpoint -> readings: alone, and with the sentence in front
    this.seeds = new Map(); // family -> which checkpoint's words are listed
    this.suggestions = new Suggestions(app, () => this.outcome());
    this._inputs();
    this.status = h("p.wait", { role: "status" });
    this.problem = h("p.note.problem", { role: "alert", hidden: true });
    this.headline = h("p.headline", { "aria-live": "polite" });
    this.scale = h("div", {});
    this.bars = h("div", {});
    this.unit = h("p.cap", {});
    this.charts = h("div.charts", {}, this.scale, this.bars, this.unit);
    this.listed = h("div.listed", {});
    this.answers = h("section.answers", { "aria-label": "Answers" },
      this.status, this.problem, this.headline, this.charts, this.suggestions.chart, this.listed);
    this.element = h("div.two", {}, h("h1.off", {}, "Ask about a blank"), this.form, this.answers);
  }

  _inputs() {
    const { app } = this;
    const write = (key) => (value, now) => app.change({ [key]: value }, now === true);
    this.before = sentence("", write("before"), { placeholder: "none", id: "before" });
    this.text = sentence("", write("text"), { placeholder: "The ___ works as a nurse.", id: "text" });
    this.causal = sentence("", write("causal"), { placeholder: "the sentence up to its blank", id: "causal" });
    this.causalField = field("Causal models read instead", this.causal, "ends in the blank");
    this.first = h("input", { type: "text", maxLength: 2000, oninput: () => app.change({ first: this.first.value }) });
    this.second = h("input", { type: "text", maxLength: 2000, oninput: () => app.change({ second: this.second.value }) });
    this.own = h("div.own", {}, field("First group", this.first, "comma between words"), field("Second group", this.second));
    const lists = [...app.start.lists.map((one) => [one.name, one.groups.map((group) => group.name).join(" / ")]), [OWN, "my own words"]];
    this.lists = select(lists, "gender", (value) => app.change({ lists: value }, true));
    this.models = h("div", {});
    this.form = h("section.form", { "aria-label": "Question" },
      this.models,
      h("div.fields", {},
        field("Sentence in front", this.before, "a clue; may be empty"),
        field("Sentence with a blank", this.text, "___"),
        this.causalField),
      h("div.row", {}, field("Words counted", this.lists), h("div.keep", { role: "group", "aria-label": "Keep" },
        h("button", { type: "button", onclick: () => copy(location.href, "Address") }, "Copy link"),
        h("button", { type: "button", onclick: () => copy(this.python(), "Python") }, "Python"),
        h("button", { type: "button", onclick: () => copy(clozeRow(app.state, this.shipped()), "cloze row") }, "CSV row"))),
      this.own,
      this.suggestions.element);
  }

  python = () => askPython(this.app.state, this.app.families(), this.shipped());
  shipped = () => this.app.start.lists.find((one) => one.name === this.app.state.lists);

  /** The names of the two groups; the second is empty where one list alone is counted. */
  groups() {
    const shipped = this.shipped();
    if (shipped) return shipped.groups.map((group) => group.name);
    const name = (text) => (words(text).length > 2 ? `${words(text).slice(0, 2).join(", ")} …` : words(text).join(", "));
    return [name(this.app.state.first), name(this.app.state.second)];
  }

  // ------------------------------------------------------------ asking

  update(now = false) {
    const { state } = this.app;
    this.before.write(state.before);
    this.text.write(state.text);
    this.causal.write(state.causal);
    this.lists.value = state.lists;
    for (const key of ["first", "second"]) if (this[key] !== document.activeElement) this[key].value = state[key];
    this.own.hidden = state.lists !== OWN;
    this.causalField.hidden = !this.app.start.families.some((family) => family.kind === "causal");
    fill(this.models, modelChips(this.app));
    this.suggestions.update();
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.ask(), now ? 0 : WAIT);
  }

  question() {
    const { state } = this.app;
    const { text, causal, join } = state;
    const prompts = [{ text, causal, join }, ...(state.before ? [{ text, before: state.before, causal, join }] : [])];
    return { prompts, ...this.counted() };
  }

  counted() {
    const { state } = this.app;
    const own = state.lists ? {} : { first: words(state.first), second: words(state.second) };
    return { lists: state.lists, ...own, models: this.app.families().map((family) => family.name) };
  }

  async ask() {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const question = this.question();
    const key = JSON.stringify(question);
    if (!/_{3,}/.test(this.app.state.text)) return this._nothing();
    if (key === this.answered) return;
    this.element.classList.remove("empty");
    this.answers.classList.add("waiting");
    const fresh = new Map();
    try {
      const whole = await stream("api/ask", question, (part) => this._part(part, fresh), signal);
      if (!whole) return;
      this.answered = key;
      settle(this, "asked");
      this.suggestions.fetchSeries(this.counted());
    } catch (error) {
      if (error.name === "AbortError") return;
      this.answered = "";
      settle(this, "asked", error.message);
    }
  }

  _part(part, fresh) {
    if (part.opening) {
      this.status.textContent = `Opening ${part.opening} …`;
      return;
    }
    fresh.set(part.model, part.readings);
    const family = this.app.families().find((one) => one.checkpoints.some((c) => c.name === part.model));
    if (family?.checkpoints.every((c) => fresh.has(c.name))) {
      for (const checkpoint of family.checkpoints) this.results.set(checkpoint.name, fresh.get(checkpoint.name));
      this.status.textContent = "";
      this.show();
    }
  }

  _nothing() {
    this.answered = "";
    this.results.clear();
    settle(this, "asked");
    this.element.classList.add("empty");
    const { text } = this.app.state;
    const blank = () => this.app.change({ text: `${text.trimEnd()} ___` }, true);
    fill(this.headline, text.trim() ? "The sentence has no blank yet. Write ___ where a word is missing" : "Write a sentence with ___ where a word is missing, or take a suggestion.",
      text.trim() ? [", or ", h("button", { type: "button", onclick: blank }, "put ___ at its end"), "."] : null);
    for (const part of [this.scale, this.bars, this.unit, this.listed]) fill(part);
  }

  // ------------------------------------------------------------ showing

  /** Of each family: the numbers of its checkpoints, alone and with the sentence in front. */
  outcome() {
    const [, second] = this.groups();
    const key = second ? "margin" : "first";
    return this.app.families().filter((family) => family.checkpoints.every((c) => this.results.has(c.name))).map((family) => {
      const readings = family.checkpoints.map((checkpoint) => this.results.get(checkpoint.name));
      const of = (i) => readings.filter((one) => one[i] && !one[i].why && one[0] && !one[0].why).map((one) => one[i][key]);
      const [alone, front] = [of(0), of(1)];
      const why = readings.flat().find((reading) => reading.why);
      const best = readings.map((one) => (one[1] || one[0]).best).filter(Boolean);
      return { family, readings, alone, front, shift: front.map((value, i) => value - alone[i]), why, best, key };
    });
  }

  show() {
    const [first, second] = this.groups();
    const outcome = this.outcome();
    const counted = Boolean(first || second);
    const extent = extentOf(outcome.flatMap((one) => [one.alone, one.front, second ? one.shift : []]));
    const phrases = [first, second].map((name) => (this.shipped() && name ? `${name} words` : name));
    fill(this.headline, headline(outcome, phrases, Boolean(this.app.state.before)));
    const scaled = (end) => scale(second, first, end, second ? signed : (p) => `${percent(p)} %`, !second);
    fill(this.scale, counted ? scaled(extent) : null);
    fill(this.bars, counted ? outcome.map((one) => this._card(one).show(one, extent, scaled, Boolean(second), Boolean(this.app.state.before))) : null);
    fill(this.unit, !counted ? null : second
      ? `Probability of ${phrases[0]} minus that of ${phrases[1]}, in percentage points. Bar: the mean; dots: seeds.`
      : `Probability of ${first}, in percent. Bar: the mean; dots: seeds.`);
    fill(this.listed, outcome.map((one) => this._words(one)));
    this.suggestions.show();
  }

  _card(one) {
    const { name } = one.family;
    if (!this.cards.has(name)) this.cards.set(name, new Card(one.family));
    return this.cards.get(name);
  }

  _words(one) {
    const { family, readings } = one;
    const at = Math.min(this.seeds.get(family.name) || 0, readings.length - 1);
    const choose = (value) => {
      this.seeds.set(family.name, Number(value));
      this.show();
    };
    const names = family.checkpoints.map((checkpoint, i) => [String(i), checkpoint.seed === null ? checkpoint.name : `seed ${checkpoint.seed}`]);
    const [alone, front] = readings[at];
    return h("section.likeliest", { "aria-label": `Likeliest words, ${family.name}` },
      h("h2", {}, family.name, " ", names.length > 1 ? select(names, String(at), choose, { "aria-label": `Whose words, ${family.name}` }) : null),
      h("div.tops", {}, topList(front ? "alone" : "likeliest words", alone), front ? topList("with the sentence in front", front) : null));
  }
}

/** A family's bars. */
class Card {
  constructor(family) {
    this.rows = { alone: new Lean("alone"), front: new Lean("with clue"), shift: new Lean("shift", "shift") };
    this.note = h("p.cap", {});
    this.scale = h("div.own-scale", {});
    const seeds = family.checkpoints.length;
    this.element = h("section.card", { "aria-label": family.name },
      h("h2", {}, family.name, " ", h("span.of", {}, `${family.kind}${seeds > 1 ? `, ${seeds} seeds` : ""}`)),
      this.scale, Object.values(this.rows).map((row) => row.element), this.note);
  }

  /** Numbers that would be no more than a line on the scale of all have one of their own. */
  show(one, shared, scaled, twoSided, withFront) {
    const own = extentOf([one.alone, one.front, twoSided ? one.shift : []]);
    const extent = one.alone.length && SMALL * own < shared ? own : shared;
    fill(this.scale, extent < shared ? scaled(extent) : null);
    const format = twoSided ? signed : (p) => `${percent(p)} %`;
    this.rows.alone.show(one.alone, extent, format, !twoSided);
    this.rows.front.show(one.front, extent, format, !twoSided);
    this.rows.shift.show(one.shift, extent, signed, !twoSided);
    this.rows.front.element.hidden = !withFront;
    this.rows.shift.element.hidden = !withFront || !twoSided;
    fill(this.note, ...noteOf(one, twoSided));
    return this.element;
  }
}

function noteOf(one, twoSided) {
  const notes = [];
  if (one.why) notes.push(whyNot(one.why));
  if (!twoSided && one.best.length) {
    const ranks = one.best.map((best) => best.rank);
    const range = ranks.length > 1 ? ` (seeds: ${count(Math.min(...ranks))} to ${count(Math.max(...ranks))})` : "";
    notes.push(`Rank of “${one.best[0].word}” in the whole vocabulary: ${count(median(ranks))}${range}. `);
  }
  const lacking = one.why ? [] : (one.readings[0][0].left_out || []).flat();
  if (lacking.length) notes.push(`Not counted, several tokens in this vocabulary: ${lacking.length > MOST_NAMED ? several(lacking.length, "word") : lacking.join(", ")}.`);
  return notes;
}

function topList(title, reading) {
  if (!reading?.top) return h("div", {}, h("h3", {}, title), h("p.cap", {}, reading ? whyNot(reading) : ""));
  const most = reading.top[0]?.[1] || 1;
  return h("div", {}, h("h3", {}, title), h("ol.toplist", {}, reading.top.map(([word, p, side]) => {
    const bar = h("i", { "aria-hidden": "true" });
    bar.style.width = `${(100 * p) / most}%`;
    return h(`li.side${side}`, {}, bar, h("span.word", {}, word), h("span.num", {}, `${percent(p)} %`));
  })));
}

