// One sentence about what the bars show.

import { centre, percent } from "./numbers.js";

const points = (p) => `${percent(p)} points`;

/** About the first family whose numbers are known; the bars show the others. */
export function headline(outcome, [first, second], withFront) {
  const one = outcome.find((each) => each.alone.length);
  if (!one || !(first || second)) return "";
  const { name } = one.family;
  if (!second) return single(one, name, first, withFront);
  const side = (value) => (value < 0 ? second : first);
  if (!withFront || !one.front.length) {
    const middle = centre(one.alone);
    return `${name} leans towards ${side(middle)} by ${points(middle)}${agreeing(one.alone, middle)}.`;
  }
  const [then, now, shift] = [centre(one.alone), centre(one.front), centre(one.shift)];
  const moved = `The sentence in front moves ${name} by ${points(shift)} towards ${side(shift)}`;
  const crossed = then * now < 0;
  const turned = one.front.filter((value, i) => value * one.alone[i] < 0).length;
  const seeds = one.front.length > 1 ? ` (${turned} of ${one.front.length} seeds change sides)` : "";
  if (crossed) return `${moved}: the preference changes from ${side(then)} to ${side(now)}${seeds}.`;
  return `${moved}; ${side(now)} stay likelier${seeds}.`;
}

export function agreeing(values, middle) {
  if (values.length < 2) return "";
  const many = values.filter((value) => value * middle > 0).length;
  return 2 * many > values.length ? ` (${many} of ${values.length} seeds agree)` : `, but only ${many} of ${values.length} seeds do`;
}

function single(one, name, first, withFront) {
  const now = withFront && one.front.length ? one.front : one.alone;
  const from = withFront && one.front.length ? `, from ${percent(centre(one.alone))} % without the sentence in front` : "";
  return `${name} gives ${first} ${percent(centre(now))} % of the probability${from}.`;
}
