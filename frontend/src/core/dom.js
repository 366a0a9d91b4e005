// Small helpers for the page. Text is always set as text: what a user typed never becomes markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

// Functions listen to events; null, undefined and false are left out.
export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function fillElement(element, attributes, children) {
  setAttributes(element, attributes);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// el("button", {class: "x", click: handler}, "text", otherElement): strings become text nodes.
export function el(tag, attributes, ...children) {
  return fillElement(document.createElement(tag), attributes, children);
}

export const buttonEl = (attributes, ...children) => el("button", { type: "button", ...attributes }, ...children);

// A slider. bounds: its min, max and step; move: called with the number that was chosen.
export function sliderEl(testid, label, bounds, move) {
  const input = (event) => move(Number(event.target.value));
  return el("input", { type: "range", "data-testid": testid, "aria-label": label, ...bounds, input });
}

export function svgEl(tag, attributes, ...children) {
  return fillElement(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

// eslint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/g;

// Control characters, line separators and direction overrides would break a picture: show a dot instead.
export function printable(label) {
  const text = String(label).toWellFormed ? String(label).toWellFormed() : String(label);
  const clean = text.replace(UNPRINTABLE, "·");
  return clean.trim() === "" ? "␣" : clean;
}

export function shorten(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = Array.from(text);
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(letters.slice(0, middle).join("") + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return letters.slice(0, low).join("") + "…";
}

// Sets a canvas to a size in CSS pixels, sharp on any screen; returns its context, scaled to CSS pixels.
export function sizeCanvas(canvas, width, height) {
  const ratio = Math.min(4, window.devicePixelRatio || 1);
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  if (canvas.style) {
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// The position of an element in the document, independent of scrolling.
export function documentTop(element) {
  let top = 0;
  for (let at = element; at; at = at.offsetParent) top += at.offsetTop;
  return top;
}
