import { readColour } from "./colour.js";
import { setAttributes, shorten } from "./dom.js";
import { svgContext } from "./save.js";
import { escape, fitted, tag } from "./svg_context.js";

// What an element of the page shows, as vectors: boxes, texts, bars, canvases and SVGs, at their places. For pictures
// that are made of HTML. Not drawn: what only a person at a screen needs, such as menus and fields.

const LEFT_OUT = ".hs-save, .hs-tip, .hs-spoken, .hs-sentinel, [data-not-saved], select, textarea, script, style";
const SVG_STYLES = [
  ...["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin"],
  ...["opacity", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline", "paint-order"],
];
const SIDES = ["top", "right", "bottom", "left"];

const read = new Map();

// A CSS colour -> {colour: "rgb(…)", alpha}; programs that read SVG know neither color-mix() nor color().
function inkOf(text) {
  if (!read.has(text)) {
    const [r, g, b, alpha] = readColour(text);
    read.set(text, { colour: `rgb(${r},${g},${b})`, alpha: alpha / 255 });
  }
  return read.get(text);
}

const paint = (name, text) => {
  const { colour, alpha } = inkOf(text);
  return { [name]: colour, ...(alpha < 1 ? { [`${name}-opacity`]: short(alpha) } : {}) };
};

const isVisible = (text) => inkOf(text).alpha > 0;
const short = (value) => Math.round(value * 100) / 100;
const pixels = (text) => parseFloat(text) || 0;

// "a, b(c, d)" -> ["a", "b(c, d)"]
export function splitList(text) {
  return text.split(/,\s*(?![^()]*\))/);
}

// The stops of a gradient to the right, as the browser writes it: [[colour, share of the width]], or null.
export function gradientStops(image) {
  const inside = /^linear-gradient\(to right, (.*)\)$/.exec(image)?.[1];
  if (!inside) return null;
  const stops = splitList(inside).map((stop) => {
    const [, colour, at] = /^(.*?)(?: ([\d.]+)%)?$/.exec(stop);
    return [colour, at === undefined ? null : Number(at) / 100];
  });
  return stops.map(([colour, at], i) => [colour, at ?? i / Math.max(1, stops.length - 1)]);
}

// The words of a text node, one entry for each line they stand in: {text, left, right, top, height}.
function linesOf(node) {
  const range = document.createRange();
  const lines = [];
  const place = (text, index, between) => {
    range.setStart(node, index);
    range.setEnd(node, index + text.length);
    const boxes = range.getClientRects();
    if (boxes.length > 1 && text.length > 1) {
      // a word that is broken over lines, letter by letter
      let at = index;
      for (const letter of text) {
        place(letter, at, at === index ? between : "");
        at += letter.length;
      }
      return;
    }
    const [box] = boxes;
    if (!box || !box.width) return;
    const last = lines.at(-1);
    if (last && Math.abs(last.top - box.top) < 2 && last.right <= box.left + 1)
      Object.assign(last, { text: last.text + between + text, right: box.right });
    else lines.push({ text, left: box.left, right: box.right, top: box.top, height: box.height });
  };
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) place(word, index, " ");
  return lines;
}

class Snapshot {
  constructor(root) {
    const frame = root.getBoundingClientRect();
    this.origin = { x: frame.left, y: frame.top };
    this.size = { width: 0, height: 0 };
    this.end = Infinity; // where texts end in the window
    this.context = svgContext();
    this.measure = document.createElement("canvas").getContext("2d");
    this.gradients = 0;
  }

  // Position and size in the picture of a box of the window.
  at({ left, top, width, height }) {
    return {
      x: short(left - this.origin.x),
      y: short(top - this.origin.y),
      width: short(width),
      height: short(height),
    };
  }

  // The same for what is drawn: the picture ends where the last of it ends.
  place(rect) {
    const box = this.at(rect);
    this.size.width = Math.max(this.size.width, box.x + box.width);
    this.size.height = Math.max(this.size.height, box.y + box.height);
    return box;
  }

  visit(node) {
    if (node.nodeType === Node.TEXT_NODE) return this.text(node);
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches(LEFT_OUT)) return "";
    const style = getComputedStyle(node);
    const rect = node.getBoundingClientRect();
    if (style.display === "none" || (rect.width <= 1 && rect.height <= 1 && style.position === "absolute")) return "";
    if (node instanceof HTMLCanvasElement) return this.canvas(node, rect);
    if (node instanceof SVGSVGElement) return style.visibility === "hidden" ? "" : this.svg(node, rect);
    if (node instanceof HTMLInputElement) return node.type === "range" ? this.slider(node, rect, style) : "";
    const own = style.visibility === "hidden" || style.display === "contents" ? "" : this.box(rect, style);
    const { end } = this;
    if (style.overflowX !== "visible") this.end = Math.min(end, rect.right);
    const inside = own + [...node.childNodes].map((child) => this.visit(child)).join("");
    this.end = end;
    return inside && style.opacity !== "1" ? tag("g", { opacity: style.opacity }, inside) : inside;
  }

  text(node) {
    const style = getComputedStyle(node.parentElement);
    if (style.visibility === "hidden") return "";
    this.measure.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = this.measure.measureText("x");
    const centred = style.textAlign === "center" || /grid|flex/.test(style.display);
    const anchor = centred ? "middle" : /right|end/.test(style.textAlign) ? "end" : "start";
    const attributes = {
      "font-size": short(pixels(style.fontSize)),
      ...(style.fontWeight === "400" ? {} : { "font-weight": style.fontWeight }),
      ...(style.fontStyle === "normal" ? {} : { "font-style": style.fontStyle }),
      ...(anchor === "start" ? {} : { "text-anchor": anchor }),
      ...(style.textDecorationLine === "line-through" ? { "text-decoration": "line-through" } : {}),
      ...paint("fill", style.color),
    };
    return linesOf(node)
      .filter(({ left }) => left < this.end)
      .map((line) => {
        const { left, top, height } = line;
        const right = Math.min(line.right, this.end);
        const text = right < line.right - 1 ? shorten(this.measure, line.text, right - left) : line.text;
        const { x, y, width } = this.place({ left, top, width: right - left, height });
        const at = anchor === "middle" ? x + width / 2 : anchor === "end" ? x + width : x;
        const position = { x: short(at), y: short(y + (height - up - down) / 2 + up) };
        return tag("text", { ...position, ...fitted(width), ...attributes }, escape(text));
      })
      .join("");
  }

  // Background, frame and outline of an element.
  box(rect, style) {
    const { x, y, width, height } = this.at(rect);
    const rx = Math.min(pixels(style.borderTopLeftRadius), width / 2, height / 2);
    const round = rx ? { rx } : {};
    const parts = [];
    if (isVisible(style.backgroundColor))
      parts.push(tag("rect", { x, y, width, height, ...round, ...paint("fill", style.backgroundColor) }));
    const stops = gradientStops(style.backgroundImage);
    if (stops?.some(([colour, at], i) => isVisible(colour) && (at > 0 || i === stops.length - 1)))
      parts.push(this.gradient(stops, { x, y, width, height }, style, round));
    const frame = (inset, thick, colour) => {
      const at = { x: x + inset, y: y + inset, width: width - 2 * inset, height: height - 2 * inset };
      if (at.width > 0 && at.height > 0)
        parts.push(tag("rect", { ...at, ...round, fill: "none", ...paint("stroke", colour), "stroke-width": thick }));
    };
    const shadow = /^(.+) 0px 0px 0px ([\d.]+)px inset$/.exec(style.boxShadow);
    if (shadow && isVisible(shadow[1])) frame(Number(shadow[2]) / 2, Number(shadow[2]), shadow[1]);
    const outline = pixels(style.outlineWidth);
    if (style.outlineStyle !== "none" && outline && isVisible(style.outlineColor))
      frame(-pixels(style.outlineOffset) - outline / 2, outline, style.outlineColor);
    const sides = SIDES.map((side) => ({
      thick: pixels(style.getPropertyValue(`border-${side}-width`)), // 0 where the style is none
      colour: style.getPropertyValue(`border-${side}-color`),
    })).map((side) => (isVisible(side.colour) ? side : { ...side, thick: 0 }));
    const [top, right, bottom, left] = sides;
    if (top.thick && sides.every((side) => side.thick === top.thick && side.colour === top.colour))
      frame(top.thick / 2, top.thick, top.colour);
    else {
      const line = (side, at) => side.thick && parts.push(tag("rect", { ...at, ...paint("fill", side.colour) }));
      line(top, { x, y, width, height: top.thick });
      line(bottom, { x, y: short(y + height - bottom.thick), width, height: bottom.thick });
      line(left, { x, y, width: left.thick, height });
      line(right, { x: short(x + width - right.thick), y, width: right.thick, height });
    }
    if (parts.length) this.place(rect);
    return parts.join("");
  }

  // A background image of any size, at the left and, if lower than its element, in the middle.
  gradient(stops, { x, y, width, height }, style, round) {
    const part = (text, whole) => (text.endsWith("%") ? (whole * pixels(text)) / 100 : pixels(text) || whole);
    const [across, down = "auto"] = style.backgroundSize.split(" ");
    const size = { width: short(part(across, width)), height: short(part(down, height)) };
    const id = `gradient${++this.gradients}`;
    const inside = stops.map(([colour, at]) => tag("stop", { offset: short(at), ...paint("stop-color", colour) }));
    const named = inside.map((stop) => stop.replace("stop-color-opacity", "stop-opacity"));
    const at = { x, y: short(y + (height - size.height) / 2), ...size, ...round };
    return tag("linearGradient", { id }, named.join("")) + tag("rect", { ...at, fill: `url(#${id})` });
  }

  slider(input, rect, style) {
    const { x, y, width, height } = this.place(rect);
    const [low, high] = [Number(input.min), Number(input.max)];
    const thumb = Math.max(6, pixels(style.getPropertyValue("--thumb")) / 2);
    const at = x + thumb + ((width - 2 * thumb) * (Number(input.value) - low)) / (high - low || 1);
    const middle = y + height / 2;
    const line = { d: `M${x + thumb} ${middle}H${x + width - thumb}`, "stroke-width": 3, "stroke-opacity": 0.2 };
    const { colour } = inkOf(style.color);
    return (
      tag("path", { ...line, stroke: colour }) +
      tag("circle", { cx: short(at), cy: middle, r: thumb * 0.7, fill: colour })
    );
  }

  // Its owner draws it again.
  canvas(/** @type {any} */ canvas, rect) {
    const { x, y } = this.place(rect);
    const before = this.context.markup.length;
    this.context.save();
    this.context.translate(x, y);
    canvas.drawOn(this.context);
    this.context.restore();
    return this.context.markup.slice(before);
  }

  svg(svg, rect) {
    const { x, y, width, height } = this.place(rect);
    const { overflow } = getComputedStyle(svg);
    const copy = styledSvg(svg);
    const view = svg.getAttribute("viewBox") ? {} : { viewBox: `0 0 ${width} ${height}` };
    setAttributes(copy, { x, y, width, height, overflow, ...view });
    return new XMLSerializer().serializeToString(copy);
  }
}

// A copy of an SVG of the page with the styles that its style sheet gives it, and without what is hidden.
export function styledSvg(svg) {
  const copy = svg.cloneNode(true);
  const originals = svg.querySelectorAll("*");
  const hidden = [];
  copy.querySelectorAll("*").forEach((element, i) => {
    const original = originals[i];
    const style = getComputedStyle(original);
    if (style.display === "none" || style.visibility === "hidden") hidden.push(element);
    for (const name of SVG_STYLES) {
      const value = style.getPropertyValue(name);
      const isColour = (name === "fill" || name === "stroke") && /^(?:rgba?|color|oklab)\(/.test(value);
      if (isColour) setAttributes(element, paint(name, value));
      else if (!name.endsWith("-opacity") || value !== "1") element.setAttribute(name, value);
    }
    if (original instanceof SVGTextElement) aloneStanding(element, original, style);
    element.removeAttribute("class");
  });
  for (const element of hidden) element.remove();
  copy.removeAttribute("class");
  copy.removeAttribute("style");
  return copy;
}

// For programs that have another font, or do not know `dominant-baseline`.
function aloneStanding(copy, text, { dominantBaseline, fontSize }) {
  copy.removeAttribute("dominant-baseline");
  if (/central|middle/.test(dominantBaseline))
    copy.setAttribute("y", short(pixels(text.getAttribute("y")) + 0.355 * pixels(fontSize)));
  if (text.children.length) return;
  setAttributes(copy, fitted(text.getComputedTextLength()));
}

// Calls `then` while everything that scrolls in an element is laid out at its whole size, and nothing sticks.
function unrolled(root, then) {
  const restores = [];
  const set = (element, styles) => {
    const before = element.getAttribute("style");
    restores.push(() => (before === null ? element.removeAttribute("style") : element.setAttribute("style", before)));
    Object.assign(element.style, styles);
  };
  const scrolling = [];
  for (const element of [root, ...root.querySelectorAll("*")]) {
    const { overflowX, overflowY, position } = getComputedStyle(element);
    const across = element.scrollWidth > element.clientWidth + 1 && /auto|scroll/.test(overflowX);
    const down = element.scrollHeight > element.clientHeight + 1 && /auto|scroll/.test(overflowY);
    if (across || down) scrolling.push(element);
    if (position === "sticky") set(element, { position: "static" });
  }
  const more = Math.max(0, ...scrolling.map((element) => element.scrollWidth - element.clientWidth));
  if (more) set(root, { minWidth: `${root.clientWidth + more}px` });
  for (const element of scrolling) set(element, { overflow: "visible", maxHeight: "none" });
  try {
    return then();
  } finally {
    for (const restore of restores.reverse()) restore();
  }
}

// {markup, width, height} of what an element shows.
export function elementSvg(root) {
  return unrolled(root, () => {
    const snapshot = new Snapshot(root);
    const markup = snapshot.visit(root);
    return { markup, width: Math.ceil(snapshot.size.width), height: Math.ceil(snapshot.size.height) };
  });
}
