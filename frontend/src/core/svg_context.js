import { cssColour } from "./colour.js";

// The font of saved pictures: that of the page, and for a program that does not have it some that programs have, with letters
// of Korean.
export const SAVED_FONT =
  '"Source Sans", "Source Sans 3", "Source Sans Pro", "Segoe UI", "Helvetica Neue", Helvetica, Arial, ' +
  '"Noto Sans CJK KR", "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic", sans-serif';

const STATE = ["fillStyle", "strokeStyle", "lineWidth", "globalAlpha", "font", "textAlign", "textBaseline", "wrap"];
const ANCHORS = { left: "start", center: "middle", right: "end" };
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

// The part of a canvas's 2D context that heads are drawn with, written as SVG: the same code draws on the screen and
// into a file. Pictures become vectors, one path per colour. measure: a canvas context, which knows the widths of
// texts.
export class SvgContext {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign = "left";
  textBaseline = "alphabetic";
  imageSmoothingEnabled = false;
  wrap = {}; // attributes of the group around the next shapes: transform, clip path
  markup = "";
  path = "";
  clips = 0;
  saved = [];

  constructor(measure) {
    this.measure = measure;
  }

  save() {
    this.saved.push(Object.fromEntries(STATE.map((name) => [name, this[name]])));
  }

  restore() {
    Object.assign(this, this.saved.pop());
  }

  translate(x, y) {
    this.turn(`translate(${short(x)} ${short(y)})`);
  }

  rotate(angle) {
    if (angle) this.turn(`rotate(${short((angle * 180) / Math.PI)})`);
  }

  turn(step) {
    this.wrap = { ...this.wrap, transform: `${this.wrap.transform ?? ""}${step}` };
  }

  fillRect(x, y, width, height) {
    this.add(tag("rect", { ...box(x, y, width, height), ...this.ink("fill", this.fillStyle) }));
  }

  strokeRect(x, y, width, height) {
    this.add(tag("rect", { ...box(x, y, width, height), ...this.line() }));
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x, y) {
    this.path += `L${short(x)} ${short(y)}`;
  }

  rect(x, y, width, height) {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;
  }

  stroke() {
    if (this.path) this.add(tag("path", { d: this.path, ...this.line() }));
  }

  // Until `restore`, and before any transform, nothing is drawn outside the path.
  clip() {
    const id = `clip${++this.clips}`;
    this.markup += tag("clipPath", { id, ...this.wrap }, tag("path", { d: this.path }));
    this.wrap = { ...this.wrap, "clip-path": `url(#${id})` };
  }

  measureText(text) {
    const font = this.font.replace(/px .*/, `px ${SAVED_FONT}`);
    Object.assign(this.measure, { font, textBaseline: this.textBaseline });
    return this.measure.measureText(text);
  }

  // A text wider than `most` is squeezed, as on a canvas; a program with another font keeps its width.
  fillText(text, x, y, most = Infinity) {
    const [, weight, size] = /^(?:(\S+) )?([\d.]+)px /.exec(this.font);
    const { width, fontBoundingBoxAscent: ascent } = this.measureText(text);
    this.measure.textBaseline = "alphabetic";
    // Few programs know `dominant-baseline`: write the y of the alphabetic baseline.
    const down = this.measure.measureText(text).fontBoundingBoxAscent - ascent;
    const attributes = {
      ...{ x: short(x), y: short(y + down), "font-size": short(Number(size)) },
      ...(weight && weight !== "400" ? { "font-weight": weight } : {}),
      ...(this.textAlign === "left" ? {} : { "text-anchor": ANCHORS[this.textAlign] }),
      ...fitted(Math.min(width, most)),
      ...this.ink("fill", this.fillStyle),
    };
    this.add(tag("text", attributes, escape(text)));
  }

  // Arguments as on a canvas: (canvas, x, y, width, height), or with the part of the canvas before these four.
  drawImage(canvas, ...args) {
    const [x, y, width, height] = args.slice(-4);
    const [sx, sy, columns, rows] = args.length > 4 ? args : [0, 0, canvas.width, canvas.height];
    const cells = runsByColour(canvas.getContext("2d").getImageData(sx, sy, columns, rows));
    const paths = [...cells].map(([fill, d]) => tag("path", { fill, d })).join("");
    const transform = `translate(${short(x)} ${short(y)}) scale(${width / columns} ${height / rows})`;
    this.add(tag("g", { transform, "shape-rendering": "crispEdges" }, paths));
  }

  add(element) {
    this.markup += Object.keys(this.wrap).length ? tag("g", this.wrap, element) : element;
  }

  line() {
    return { fill: "none", ...this.ink("stroke", this.strokeStyle), "stroke-width": short(this.lineWidth) };
  }

  // SVG 1.1, which many programs read, has no rgba().
  ink(name, style) {
    const [, colour, alpha] = /^rgba\((.+),([\d.]+)\)$/.exec(style) ?? [];
    const opacity = this.globalAlpha * Number(alpha ?? 1);
    return { [name]: colour ? `rgb(${colour})` : style, ...(opacity < 1 ? { [`${name}-opacity`]: opacity } : {}) };
  }
}

const short = (value) => String(Math.round(value * 100) / 100);

const box = (x, y, width, height) => ({ x: short(x), y: short(y), width: short(width), height: short(height) });

// Attributes of a text as wide as this, whatever the font.
export const fitted = (width) => ({ textLength: short(width), lengthAdjust: "spacingAndGlyphs" });

export function escape(text) {
  return String(text).replace(/[&<>"]/g, (sign) => ESCAPES[sign]);
}

// content: markup
export function tag(name, attributes, content = "") {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escape(value)}"`);
  return `<${name}${written.join("")}${content ? `>${content}</${name}>` : "/>"}`;
}

// image: {data, width, height} as from getImageData; named: another name for a colour, by its opacity. Returns colour ->
// path of rectangles one pixel high.
export function runsByColour({ data, width, height }, named = (_opacity) => null) {
  const pixels = new Uint32Array(data.buffer, data.byteOffset, width * height);
  const paths = new Map();
  for (let row = 0; row < height; row++) {
    for (let from = 0, to; from < width; from = to) {
      const pixel = pixels[row * width + from];
      for (to = from + 1; to < width && pixels[row * width + to] === pixel;) to++;
      const colour = named(pixel >>> 24) ?? cssColour([pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]);
      paths.set(colour, `${paths.get(colour) ?? ""}M${from} ${row}h${to - from}v1h${from - to}z`);
    }
  }
  return paths;
}
