// One sentence about what the bars show.

import { centre, percent } from "./numbers.js";

const points = (p) => `${percent(p)} points`;

/** About the family that moves most, one that changes sides before all others; then which others do what it does not. */
export function headline(outcome, [first, second], withFront) {
  const known = outcome.filter((each) => each.alone.length);
  if (!known.length || !(first || second)) return "";
  if (!second) return single(known[0], known[0].family.name, first, withFront);
  const side = (value) => (value < 0 ? second : first);
  const moved = withFront ? known.filter((one) => one.front.length) : [];
  return moved.length ? shifted(moved, side) : leaning(known, side);
}

const name = (one) => one.family.name;
const largest = (families, size) => [...families].sort((a, b) => size(b) - size(a))[0];

function leaning(known, side) {
  const middle = (one) => centre(one.alone);
  const one = largest(known, (each) => Math.abs(middle(each)));
  const others = known.filter((each) => middle(each) * middle(one) < 0);
  const against = others.length ? `; ${others.map(name).join(", ")} towards ${side(-middle(one))}` : "";
  return `${name(one)} leans towards ${side(middle(one))} by ${points(middle(one))}${agreeing(one.alone, middle(one))}${against}.`;
}

function shifted(moved, side) {
  const shift = (one) => centre(one.shift);
  const crosses = (one) => centre(one.alone) * centre(one.front) < 0;
  const crossing = moved.filter(crosses);
  const one = largest(crossing.length ? crossing : moved, (each) => Math.abs(shift(each)));
  const turned = one.front.filter((value, i) => value * one.alone[i] < 0).length;
  const seeds = one.front.length > 1 ? ` (${turned} of ${one.front.length} seeds change sides)` : "";
  const says = `The sentence in front moves ${name(one)} by ${points(shift(one))} towards ${side(shift(one))}`;
  const now = side(centre(one.front));
  const what = crosses(one) ? `: the preference changes from ${side(centre(one.alone))} to ${now}${seeds}` : `; ${now} stay likelier${seeds}`;
  const others = moved.filter((each) => each !== one);
  const too = others.filter(crosses);
  const apart = others.filter((each) => shift(each) * shift(one) < 0);
  return [`${says}${what}.`,
    too.length ? ` It changes in ${too.map(name).join(", ")} too.` : "",
    apart.length ? ` ${apart.map(name).join(", ")} moves the other way.` : ""].join("");
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
