// How numbers read. Probabilities are shown in percent, differences of them in percentage points.

const MINUS = "−";

/** 100 × p with the digits that count: 34.2, 3.42, 0.034. */
export function percent(p) {
  const value = 100 * Math.abs(p);
  const digits = value >= 10 ? 1 : value >= 1 ? 2 : value >= 0.0005 ? 3 : 0;
  if (value > 0 && value < 0.0005) return "< 0.001";
  return value.toFixed(digits);
}

export const signed = (p) => (p === 0 ? "0" : `${p < 0 ? MINUS : "+"}${percent(p)}`);

export function nats(value, plus = false) {
  const text = Math.abs(value).toFixed(2);
  return `${value < 0 ? MINUS : plus ? "+" : ""}${text}`;
}

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** One value is itself: dividing a sum by one changes no bit, but says so. */
export const centre = (values) => (values.length === 1 ? values[0] : mean(values));

export function median(values) {
  const ordered = [...values].sort((a, b) => a - b);
  const middle = ordered.length >> 1;
  return ordered.length % 2 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2;
}

/** A round number that is not smaller. */
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value * 0.999999);
}

export const count = (n) => n.toLocaleString("en");
export const several = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
