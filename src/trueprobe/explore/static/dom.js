// Elements, made of text only: nothing here or elsewhere parses HTML.

/** h("p.note", {role: "alert"}, "text", child): null children are left out, on… are listeners. */
export function h(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  set(element, attributes);
  append(element, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  append(element, children);
  return element;
}

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else if (value === null || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
}

const present = (children) => children.flat().filter((child) => child !== null && child !== undefined && child !== false);

function append(element, children) {
  element.append(...present(children));
}

const FOCUSABLE = "a, button, input, select, textarea, summary, [tabindex]";

/** New children. Those that are there already are not touched, so that bars go on moving; the focus stays where it was. */
export function fill(element, ...children) {
  const wanted = present(children);
  if (wanted.length === element.childNodes.length && wanted.every((child, i) => child === element.childNodes[i])) return;
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  const place = [...element.querySelectorAll(FOCUSABLE)].indexOf(focused);
  element.replaceChildren(...wanted);
  if (!focused) return;
  if (element.contains(focused)) focused.focus();
  else element.querySelectorAll(FOCUSABLE)[place]?.focus();
}

/** A label around a control. */
export function field(title, control, hint = null) {
  return h("label.field", {}, h("span.field-title", {}, title, hint ? h("span.hint", {}, ` · ${hint}`) : null), control);
}

export function select(options, value, onchange, attributes = {}) {
  const element = h("select", { ...attributes, onchange: () => onchange(element.value) });
  for (const [key, title] of options) element.append(h("option", { value: key }, title));
  element.value = value;
  return element;
}

/** A text area that grows with its text; Enter asks at once and writes no line. */
export function sentence(value, oninput, attributes = {}) {
  const area = h("textarea", { rows: 1, spellcheck: false, maxLength: 2000, ...attributes });
  area.value = value;
  const grow = () => {
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
  };
  area.addEventListener("input", () => {
    if (/[\r\n]/.test(area.value)) area.value = area.value.replace(/\s*[\r\n]+\s*/g, " ");
    grow();
    oninput(area.value);
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      oninput(area.value, true);
    }
  });
  area.write = (text) => {
    if (area.value !== text) area.value = text;
    grow();
  };
  requestAnimationFrame(grow);
  return area;
}

/** Arrow keys move the focus among buttons; one of them is reached by Tab. */
export function arrows(container, selector = "button") {
  container.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const every = [...container.querySelectorAll(selector)];
    const at = every.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = every[(at + step + every.length) % every.length];
    for (const one of every) one.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

let fading = 0;
export function toast(text) {
  const element = document.getElementById("toast");
  element.textContent = text;
  element.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => element.classList.remove("shown"), 2600);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // without permission, or on an address that is not this machine: through a selection
    const area = h("textarea.off", {});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`${what} copied`);
}
