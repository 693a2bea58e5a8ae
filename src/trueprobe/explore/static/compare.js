// Two sentences, token by token: how probable each token is, and which sentence a model prefers.

import { stream } from "./api.js";
import { Lean, extentOf, scale } from "./charts.js";
import { copy, field, fill, h, select, sentence } from "./dom.js";
import { agreeing } from "./headline.js";
import { comparePython } from "./keep.js";
import { centre, count, nats } from "./numbers.js";
import { modelChips, settle, WAIT, whyNot } from "./shared.js";

const MASKING = [["each", "each token alone (CrowS-Pairs)"], ["rest_of_word", "with the rest of its word"]];
const SHADES = 8;
const WORST = 12; // nats: the darkest shade

export class Compare {
  constructor(app) {
    this.app = app;
    this.results = new Map();
    this.cards = new Map();
    const write = (key) => (value, now) => app.change({ [key]: value }, now === true);
    this.a = sentence("", write("a"), { id: "first-sentence", placeholder: "The nurse said that she was late." });
    this.b = sentence("", write("b"), { placeholder: "The nurse said that he was late." });
    this.masking = select(MASKING, "each", (masking) => app.change({ masking }, true));
    const pairs = app.start.pairs.map(([first], i) => [String(i), first]);
    this.pairs = select([["", "choose one …"], ...pairs], "", (i) => i && app.change({ a: app.start.pairs[i][0], b: app.start.pairs[i][1] }, true));
    this.models = h("div", {});
    this.form = h("section.form", { "aria-label": "Question" },
      this.models,
      h("div.fields", {}, field("First sentence", this.a), field("Second sentence", this.b)),
      h("div.row", {}, field("Masked models: masked is", this.masking)),
      h("div.row", {}, field("Pairs in the manner of CrowS-Pairs", this.pairs)),
      h("div.row", {}, h("div.keep", { role: "group", "aria-label": "Keep" },
        h("button", { type: "button", onclick: () => this.exchange() }, "Exchange"),
        h("button", { type: "button", onclick: () => copy(location.href, "Address") }, "Copy link"),
        h("button", { type: "button", onclick: () => copy(comparePython(app.state, app.families()), "Python") }, "Python"))));
    this.status = h("p.wait", { role: "status" });
    this.problem = h("p.note.problem", { role: "alert", hidden: true });
    this.headline = h("p.headline", { "aria-live": "polite" });
    this.scale = h("div", {});
    this.bars = h("div", {});
    this.unit = h("p.cap", {});
    this.charts = h("div.charts", {}, this.scale, this.bars, this.unit);
    this.texts = h("div.texts", {});
    this.answers = h("section.answers", { "aria-label": "Answers" }, this.status, this.problem, this.headline, this.charts, this.texts);
    this.element = h("div.two", {}, h("h1.off", {}, "Compare two sentences"), this.form, this.answers);
  }

  exchange() {
    const { a, b } = this.app.state;
    this.app.change({ a: b, b: a }, true);
  }

  update(now = false) {
    const { state, start } = this.app;
    if (!state.a && !state.b && start.pairs.length && !this.begun) [state.a, state.b] = start.pairs[0];
    this.begun = true;
    this.a.write(state.a);
    this.b.write(state.b);
    this.masking.value = state.masking;
    this.pairs.value = String(start.pairs.findIndex(([a, b]) => a === state.a && b === state.b)).replace("-1", "");
    fill(this.models, modelChips(this.app));
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.ask(), now ? 0 : WAIT);
  }

  async ask() {
    const { state } = this.app;
    this.asking?.abort();
    this.asking = new AbortController();
    if (!state.a.trim() || !state.b.trim()) return this._nothing();
    const question = { first: state.a, second: state.b, masking: state.masking, models: this.app.families().map((family) => family.name) };
    const key = JSON.stringify(question);
    if (key === this.answered) return;
    this.answers.classList.add("waiting");
    const fresh = new Map();
    try {
      const whole = await stream("api/compare", question, (part) => {
        this.status.textContent = part.opening ? `Opening ${part.opening} …` : `${fresh.size + 1} checkpoints done …`;
        if (part.model) fresh.set(part.model, part);
      }, this.asking.signal);
      if (!whole) return;
      this.results = fresh;
      this.answered = key;
      settle(this, "compared");
      this.show();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.answered = "";
      settle(this, "compared", error.message);
    }
  }

  _nothing() {
    this.answered = "";
    settle(this, "compared");
    fill(this.headline, "Write two sentences that differ in a word or two, or choose a pair.");
    for (const part of [this.scale, this.bars, this.unit, this.texts]) fill(part);
  }

  show() {
    const outcome = this.app.families().map((family) => this._outcome(family)).filter(Boolean);
    const extent = extentOf(outcome.flatMap((one) => [one.shared, one.whole]));
    fill(this.headline, headline(outcome));
    fill(this.scale, scale("second", "first", extent, (value) => nats(value, true)));
    fill(this.bars, outcome.map((one) => this._card(one, extent)));
    fill(this.unit, "Log-probability of the first sentence minus that of the second, in nats. Shared: the tokens that both sentences have, CrowS-Pairs' score of masked models; whole: all tokens, summed.");
    fill(this.texts, outcome.map((one) => this._texts(one)), outcome.length ? legend() : null);
  }

  _outcome(family) {
    const parts = family.checkpoints.map((checkpoint) => this.results.get(checkpoint.name));
    if (!parts.every(Boolean)) return null;
    const known = parts.filter((part) => !part.why);
    const of = (key) => known.map((part) => part[key][0] - part[key][1]);
    return { family, known, why: parts.find((part) => part.why), shared: known.length ? of("shared") : [], whole: known.length ? of("whole") : [] };
  }

  _card(one, extent) {
    const { name, kind, checkpoints } = one.family;
    if (!this.cards.has(name)) {
      const rows = { shared: new Lean("shared"), whole: new Lean("whole") };
      const seeds = checkpoints.length;
      const element = h("section.card", { "aria-label": name }, h("h2", {}, name, " ", h("span.of", {}, `${kind}${seeds > 1 ? `, ${seeds} seeds` : ""}`)),
        rows.shared.element, rows.whole.element, h("p.cap.why", {}));
      this.cards.set(name, { element, rows });
    }
    const card = this.cards.get(name);
    const format = (value) => nats(value, true);
    card.rows.shared.show(one.shared, extent, format);
    card.rows.whole.show(one.whole, extent, format);
    card.element.querySelector(".why").textContent = one.why ? whyNot(one.why) : "";
    return card.element;
  }

  /** The means over seeds: checkpoints of a family have the same tokens. */
  _texts(one) {
    if (!one.known.length) return null;
    const sides = [0, 1].map((side) => one.known[0].sides[side].map((token, i) => ({
      ...token,
      logps: one.known.map((part) => part.sides[side][i].logp),
      ranks: one.known.map((part) => part.sides[side][i].rank),
    })));
    const { a, b } = this.app.state;
    return h("section.shaded", { "aria-label": `Tokens, ${one.family.name}` }, h("h2", {}, one.family.name),
      coloured(a, sides[0], "First sentence"), coloured(b, sides[1], "Second sentence"), table(sides));
  }
}

/** The sentence as it was written, with the white space between tokens. */
function coloured(text, tokens, title) {
  const paragraph = h("p.colour", { "aria-label": title });
  let end = 0;
  for (const token of tokens) {
    const [from, to] = token.span || [end, end];
    if (from > end) paragraph.append(text.slice(end, from));
    const shown = token.span ? text.slice(Math.max(from, end), to) : token.text;
    const shade = Math.min(SHADES, Math.round((SHADES * -centre(token.logps)) / WORST));
    const mark = h(`span.token.shade${shade}${token.shared ? "" : ".differs"}`, { "data-tip": about(token) }, shown || " ");
    paragraph.append(mark);
    end = Math.max(end, to);
  }
  paragraph.append(text.slice(end));
  return paragraph;
}

function about(token) {
  const ranks = token.ranks.filter((rank) => rank !== null);
  const apart = token.logps.length > 1 ? ` (seeds ${nats(Math.min(...token.logps))} to ${nats(Math.max(...token.logps))})` : "";
  const rank = ranks.length ? `, rank ${count(Math.min(...ranks))}${Math.max(...ranks) > Math.min(...ranks) ? ` to ${count(Math.max(...ranks))}` : ""}` : "";
  return `${token.text.trim()}: ${nats(centre(token.logps))} nats${apart}${rank}`;
}

function table(sides) {
  const rows = (tokens) => tokens.map((token) => h("tr", {}, h("th", { scope: "row" }, token.text.trim(), token.shared ? null : h("span.of", {}, " differs")),
    h("td.num", {}, nats(centre(token.logps))), h("td.num", {}, token.ranks[0] === null ? "–" : count(token.ranks[0]))));
  const one = (title, tokens) => h("table", {}, h("caption", {}, title), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "token"), h("th.num", { scope: "col" }, "nats"), h("th.num", { scope: "col" }, "rank, first seed"))), h("tbody", {}, rows(tokens)));
  return h("details", {}, h("summary", {}, "Numbers as tables"), h("div.tables", {}, one("first", sides[0]), one("second", sides[1])));
}

const legend = () => h("p.cap.legend", {}, "likely ", Array.from({ length: SHADES + 1 }, (_, i) => h(`i.token.shade${i}`, { "aria-hidden": "true" })), ` unlikely (${WORST} nats and more). Underlined: tokens that the other sentence does not have.`);

function headline(outcome) {
  const one = outcome.find((each) => each.whole.length);
  if (!one) return "";
  const values = one.family.kind === "causal" ? one.whole : one.shared;
  const middle = centre(values);
  return `${one.family.name} prefers the ${middle < 0 ? "second" : "first"} sentence by ${nats(Math.abs(middle))} nats${agreeing(values, middle)}.`;
}
