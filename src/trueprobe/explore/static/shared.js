// What several views share.

import { h } from "./dom.js";

export const WAIT = 180; // milliseconds of a typing pause

/** Which families are asked: pressed buttons; one stays pressed. */
export function modelChips(app) {
  const chosen = app.families().map((family) => family.name);
  const toggle = (name) => {
    const next = app.start.families.map((family) => family.name).filter((one) => (one === name) !== chosen.includes(one));
    if (next.length) app.change({ models: next.length === app.start.families.length ? "" : next.join(",") }, true);
  };
  return h("div.chips", { role: "group", "aria-label": "Models" }, app.start.families.map((family) => {
    const seeds = family.checkpoints.length;
    const about = [family.kind, seeds > 1 ? `${seeds} seeds` : "", family.self_trained ? "self-trained, to show the method" : ""];
    return h("button.chip", { type: "button", "aria-pressed": String(chosen.includes(family.name)), title: about.filter(Boolean).join(", "), onclick: () => toggle(family.name) },
      family.name, seeds > 1 ? h("span.of", {}, ` ×${seeds}`) : null);
  }));
}

const REASONS = {
  right_context: "A causal model reads nothing behind the blank: write a sentence that ends in ___ for it.",
  no_head: "This model fills no blanks and gives no word a probability.",
  no_start: "This causal model has no start token, so nothing stands before the first word.",
  too_long: "More tokens than this model reads.",
  multi_piece: "Too few of the words are one token of this vocabulary: nothing to count.",
  not_finite: "The network's answer is not a finite number.",
  empty_text: "Nothing to read.",
};

export const whyNot = (reading) => REASONS[reading.why] || `${reading.why.replaceAll("_", " ")}: ${reading.detail}`;

/** A view's question is answered, or there is a problem; `data-${what}` of the page counts that. */
export function settle(view, what, problem = "") {
  view.answers.classList.remove("waiting");
  view.status.textContent = "";
  view.problem.hidden = !problem;
  view.problem.textContent = problem;
  const { dataset } = document.documentElement;
  dataset[what] = String(Number(dataset[what] || 0) + 1);
}
