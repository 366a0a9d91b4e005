import { el, printable, setAttributes, shorten, sizeCanvas } from "../core/dom.js";
import { cssColour, mixColours } from "../core/colour.js";
import { formatWeight } from "../core/format.js";

// The attention of one step: a row for every head of every layer, a column for every key.

const CELL = { least: 14, most: 34 };
const ROW = 9;
const GAP = 4; // between layers
const LEFT = 26;

// Both kinds, and what their rows are. heads: {cross, self}
export function headsElement(view, heads) {
  const rows = el("p", { class: "decoding-rows" }, view.t("rows"));
  return el("div", { class: "decoding-attention" }, heads.cross.element, heads.self.element, rows);
}

export class StepHeads {
  // view: a PlainView. kind: "cross" or "self"
  constructor(view, kind) {
    this.view = view;
    this.kind = kind;
    this.canvas = el("canvas", { class: "decoding-heads-canvas", "data-testid": `decoding-${kind}` });
    Object.assign(this.canvas, { drawOn: (context) => this.drawOn(context) }); // for saved pictures
    this.element = el("figure", { class: "decoding-heads" }, el("figcaption", {}, view.t(kind)), this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => view.tooltip.hide());
  }

  // heads: {layers, heads, keys: labels, weights: [layer * heads + head][key]}
  draw({ layers, heads, keys, weights }) {
    this.data = { layers, heads, keys, weights };
    const size = this.size;
    const room = (this.element.clientWidth - LEFT - size * 3) / keys.length;
    this.cell = Math.max(CELL.least, Math.min(CELL.most, room));
    this.top = size * 4.2;
    const height = this.top + layers * heads * ROW + (layers - 1) * GAP + 2;
    this.drawOn(sizeCanvas(this.canvas, LEFT + this.cell * keys.length + size * 3, height));
    const spoken = `${this.view.t(this.kind)}. ${this.strongest()}`;
    setAttributes(this.canvas, { role: "img", "aria-label": spoken });
  }

  get size() {
    return Math.max(10, this.view.theme.size * 0.8);
  }

  drawOn(context) {
    const { theme } = this.view;
    const { layers, heads, keys, weights } = this.data;
    const { size } = this;
    context.font = `${size}px ${theme.font}`;
    context.fillStyle = cssColour(theme.ink);
    keys.forEach((key, k) => {
      context.save();
      context.translate(LEFT + (k + 0.4) * this.cell, this.top - 4);
      context.rotate(-Math.PI / 4);
      context.fillText(shorten(context, printable(key), size * 5.2), 0, 0);
      context.restore();
    });
    const hue = theme.hues[this.kind === "cross" ? "cross" : "decoder_self"];
    for (let layer = 0; layer < layers; layer++) {
      context.fillStyle = cssColour(theme.dim);
      context.fillText(`L${layer + 1}`, 2, this.at(layer, 0) + (heads * ROW + size * 0.7) / 2);
      for (let head = 0; head < heads; head++)
        weights[layer * heads + head].forEach((weight, k) => {
          context.fillStyle = cssColour(mixColours(theme.background, hue, 0.04 + 0.96 * weight));
          context.fillRect(LEFT + k * this.cell, this.at(layer, head), this.cell - 1, ROW - 1);
        });
    }
  }

  at(layer, head) {
    return this.top + (layer * this.data.heads + head) * ROW + layer * GAP;
  }

  says(layer, head, k) {
    const weight = formatWeight(this.data.weights[layer * this.data.heads + head][k], true);
    return this.view.t("cell", { layer: layer + 1, head: head + 1, token: printable(this.data.keys[k]), weight });
  }

  strongest() {
    let best = [0, 0];
    this.data.weights.forEach((row, h) =>
      row.forEach((weight, k) => {
        if (weight > this.data.weights[best[0]][best[1]]) best = [h, k];
      }),
    );
    return this.says(Math.floor(best[0] / this.data.heads), best[0] % this.data.heads, best[1]);
  }

  point({ offsetX, offsetY, clientX, clientY }) {
    const { layers, heads, keys } = this.data;
    const k = Math.floor((offsetX - LEFT) / this.cell);
    const y = offsetY - this.top;
    const layer = Math.floor(y / (heads * ROW + GAP));
    const head = Math.floor((y - layer * (heads * ROW + GAP)) / ROW);
    if (y < 0 || k < 0 || k >= keys.length || layer >= layers || head >= heads) this.view.tooltip.hide();
    else this.view.tooltip.show([this.says(layer, head, k)], clientX, clientY);
  }
}
