// Bars that lean to one side, with a dot for each seed, and lines that grow.

import { h, svg } from "./dom.js";
import { centre, count, roundUp } from "./numbers.js";

/** One row: a bar from zero to the mean, a dot for each seed. It is made once and moved later. */
export class Lean {
  constructor(label, kind = "") {
    this.bar = h("i.bar", {});
    this.track = h("span.track", { "aria-hidden": "true" }, h("i.zero", {}), this.bar);
    this.number = h("b.num", {});
    this.spread = h("span.of.num", {});
    this.element = h(`div.lean${kind ? `.${kind}` : ""}`, {}, h("span.lean-label", {}, label), this.track,
      h("span.lean-value", {}, this.number, " ", this.spread));
    this.dots = [];
  }

  show(values, extent, format, oneSided = false) {
    const at = (value) => (oneSided ? value / extent : 0.5 + value / extent / 2);
    const known = values.length > 0;
    this.element.classList.toggle("unknown", !known);
    this.track.classList.toggle("one-sided", oneSided);
    const middle = known ? centre(values) : 0;
    const from = Math.min(at(0), at(middle));
    this.bar.style.left = `${100 * from}%`;
    this.bar.style.width = `${100 * Math.abs(at(middle) - at(0))}%`;
    this.bar.classList.toggle("second", middle < 0);
    this._dots(values.length > 1 ? values : [], at);
    this.number.textContent = known ? format(middle) : "–";
    this.number.dataset.value = known ? String(middle) : "";
    this.number.dataset.seeds = values.map(String).join(" ");
    const apart = values.length > 1;
    const [low, high] = [format(Math.min(...values)), format(Math.max(...values))];
    this.spread.textContent = apart ? `${low.replace(/ %$/, "")} to ${high}` : "";
  }

  _dots(values, at) {
    while (this.dots.length < values.length) {
      const dot = h("i.dot", {});
      this.dots.push(dot);
      this.track.append(dot);
    }
    while (this.dots.length > values.length) this.dots.pop().remove();
    values.forEach((value, i) => (this.dots[i].style.left = `${100 * at(value)}%`));
  }
}

/** The largest number of several lists, rounded up: one scale for bars that stand below each other. */
export function extentOf(lists, least = 0) {
  return roundUp(Math.max(least, ...lists.flat().map(Math.abs), 1e-9));
}

/** What the sides and the ends of a scale mean. */
export function scale(left, right, extent, format, oneSided = false) {
  const end = (value) => h("span.end", {}, ` ${short(format(value))} `);
  const ends = oneSided ? [h("span", {}, "0"), h("span", {}), end(extent)]
    : [h("span", {}, end(-extent), h("b.second", {}, `← ${left}`)), h("span", {}, "0"), h("span", {}, h("b.first", {}, `${right} →`), end(extent))];
  return h("div.scale", { "aria-hidden": "true" }, h("span", {}), h("span.ends", {}, ends), h("span", {}));
}

/** `+5.00` -> `+5`. */
const short = (text) => text.replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");

const SIZE = { width: 560, height: 190, left: 52, right: 110, top: 14, bottom: 30 };

/** Lines of several families over steps. `rank`: one is at the top, on a logarithmic scale. */
export function lines(series, steps, { rank = false, format, title, current = -1 }) {
  const { width, height, left, right, top, bottom } = SIZE;
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const x = (i) => left + (i * (width - left - right)) / Math.max(1, steps.length - 1);
  const y = rank ? ranked(values) : linear(values);
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "lines", role: "img", "aria-label": described(series, steps, format, title) });
  for (const tick of y.ticks) {
    chart.append(svg("line", { x1: left, x2: width - right, y1: y.at(tick), y2: y.at(tick), class: tick === 0 ? "axis" : "grid" }),
      svg("text", { x: left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, rank ? count(tick) : short(format(tick))));
  }
  steps.forEach((step, i) => chart.append(svg("text", { x: x(i), y: height - 10, "text-anchor": "middle", class: i === current ? "current" : "" }, step)));
  const ends = spreadOut(series.map((one) => y.at(one.values.at(-1) ?? y.ticks[0])));
  series.forEach((one, k) => {
    const points = one.values.map((value, i) => (value === null ? null : [x(i), y.at(value)])).filter(Boolean);
    chart.append(svg("polyline", { points: points.map((point) => point.join(",")).join(" "), class: `line c${k % 7}` }));
    points.forEach(([px, py], i) => chart.append(svg("circle", { cx: px, cy: py, r: i === current ? 5 : 3, class: `point c${k % 7}` })));
    chart.append(svg("text", { x: width - right + 8, y: ends[k] + 4, class: `name c${k % 7}` }, one.name));
  });
  return chart;

  function ranked(every) {
    const most = Math.max(10, ...every);
    const at = (value) => top + ((height - top - bottom) * Math.log(value)) / Math.log(most);
    return { at, ticks: [1, 10, 100, 1000, 10000].filter((tick) => tick <= most) };
  }

  function linear(every) {
    const low = Math.min(0, ...every);
    const high = Math.max(0, ...every);
    const end = Math.max(high, -low, 1e-9);
    const [from, to] = [low < 0 ? -roundUp(-low) : 0, high > 0 ? roundUp(high) : low < 0 ? 0 : roundUp(end)];
    const at = (value) => top + ((height - top - bottom) * (to - value)) / (to - from);
    return { at, ticks: [...new Set([to, (to + from) / 2, from, 0])].filter((tick) => tick >= from && tick <= to) };
  }
}

/** Names at the ends of lines do not cover each other. */
function spreadOut(heights, least = 15) {
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const placed = [...heights];
  order.forEach((i, k) => {
    if (k) placed[i] = Math.max(placed[i], placed[order[k - 1]] + least);
  });
  return placed;
}

const described = (series, steps, format, title) =>
  `${title}. ${series.map((one) => `${one.name}: ${one.values.map((v, i) => `${steps[i]} ${v === null ? "–" : format(v)}`).join(", ")}`).join(". ")}`;
