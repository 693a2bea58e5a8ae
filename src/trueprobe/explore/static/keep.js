// Taking a question away: as Python that gives the same numbers, as a row for the probe `cloze`.

import { words } from "./state.js";

/** A Python string: JSON's escapes are Python's, too. */
const py = (text) => JSON.stringify(text);
const list = (texts) => `[${texts.map(py).join(", ")}]`;

const upToBlank = (text) => text.replace(/(_{3,}).*$/su, "$1");

/** One call for each kind of model: causal models may read another sentence. */
export function askPython(state, families, lists) {
  const listed = lists ? lists.groups.flatMap((group) => group.words) : [...words(state.first), ...words(state.second)];
  const causalText = state.causal || upToBlank(state.text);
  const calls = [["masked", state.text], ["causal", causalText]].flatMap(([kind, text]) => {
    const specs = families.filter((family) => (family.kind === "causal") === (kind === "causal")).map((family) => family.spec);
    return specs.length ? [{ specs, text }] : [];
  });
  const front = state.before && state.join !== "space" ? `, before=${py(state.before)}` : "";
  const whole = (text) => (state.before && !front ? `${state.before} ${text}` : text);
  const asked = listed.length ? `, words=words` : "";
  return [
    "import trueprobe",
    "",
    ...(listed.length ? [`words = ${list(listed)}`] : []),
    ...calls.map(({ specs, text }) => `print(trueprobe.fill(${py(whole(text))}, ${list([...new Set(specs)])}${asked}, top=10${front}))`),
    "",
  ].join("\n");
}

export function comparePython(state, families) {
  const specs = [...new Set(families.map((family) => family.spec))];
  const pll = state.masking === "each" ? "original" : "within_word_l2r";
  return [
    "import trueprobe",
    "",
    `sentences = ${list([state.a, state.b])}`,
    `print(trueprobe.score(sentences, ${list(specs)}, by="token", pll="${pll}"))`,
    "",
  ].join("\n");
}

const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** The sentence in front becomes a part of the text: cloze has one text. */
export function clozeRow(state, lists) {
  const [first, second] = lists ? lists.groups.map((group) => group.words) : [words(state.first), words(state.second)];
  const text = [state.before, state.text].filter(Boolean).join(" ").replace(/_{3,}/, "___");
  return `text,right,wrong\n${[text, first.join("|"), second.join("|")].map(cell).join(",")}\n`;
}
