import { el, sizeCanvas, printable } from "../core/dom.js";
import { arrowStep, stepIndex } from "../core/keys.js";
import { cssColour, makeRamp, packPixel, pixelTable } from "../core/colour.js";
import { paintTile } from "../heads/grid.js";
import { HeadPlot, hatchCell } from "../heads/head.js";

// Heads of a run at one frame. What stays from frame to frame (labels, masks, grid lines) is laid out once; a frame is
// a few pixels put into one small picture and enlarged.

// Every head of one kind: layers down, heads across.
export class FrameGrid {
  /** @type {any} */ height;
  /** @type {any} */ run;
  /** @type {Theme} */ theme;
  /** @type {any} */ width;
  // hooks: {t, choose(kind, layer, head), hover(kind, layer, head, row, column, event), unhover(), chosen(kind),
  // refresh(grid)}
  constructor(kind, hooks) {
    this.kind = kind;
    this.hooks = hooks;
    this.mosaic = document.createElement("canvas");
    this.rects = [];
    this.hovered = null;
    this.canvas = el("canvas", {
      class: "learn-canvas",
      tabindex: "0",
      role: "grid",
      "data-testid": "training-grid-" + kind,
      pointermove: (event) => this.pointer(event),
      pointerleave: () => this.leave(),
      click: (event) => this.click(event),
      keydown: (event) => this.key(event),
    });
  }

  layout(run, theme, width, height) {
    Object.assign(this, { run, theme, width, height });
    const { layers, heads } = run.opening;
    const kindData = run.kinds[this.kind];
    const unit = theme.size / 15;
    const ratio = Math.min(4, window.devicePixelRatio || 1);
    const snap = (value) => Math.round(value * ratio) / ratio;
    const left = Math.round(24 * unit);
    const top = Math.round(18 * unit);
    const gap = Math.max(3, Math.min(7, Math.round((width / heads) * 0.06)));
    let w = (width - left - 3 - gap * (heads - 1)) / heads;
    let h = (height - top - 3 - gap * (layers - 1)) / layers;
    // Cells may be stretched, within limits.
    w = Math.max(4, Math.min(w, h * (kindData.columns / kindData.rows) * 1.9));
    h = Math.max(4, Math.min(h, w * (kindData.rows / kindData.columns) * 1.5));
    const pw = Math.max(1, Math.min(kindData.columns, Math.round(w * ratio)));
    const ph = Math.max(1, Math.min(kindData.rows, Math.round(h * ratio)));
    this.rects = [];
    for (let layer = 0; layer < layers; layer++)
      for (let head = 0; head < heads; head++) {
        const rect = { x: snap(left + head * (w + gap)), y: snap(top + layer * (h + gap)), w: snap(w), h: snap(h) };
        const picture = { pw, ph, sx: head * pw, sy: layer * ph }; // in the mosaic
        this.rects.push({ ...rect, ...picture, layer, head, tile: { bytes: null, mask: run.mask(this.kind) } });
      }
    this.place = { left, top, size: Math.min(13 * Math.min(unit, 1.35), Math.max(9, w / 2)) };
    this.image = new ImageData(pw * heads, ph * layers);
    this.mosaic.width = this.image.width;
    this.mosaic.height = this.image.height;
    this.table = pixelTable(makeRamp(theme, this.kind), 1, 0);
    this.masked = packPixel(theme.masked);
    const last = this.rects[this.rects.length - 1];
    this.height = Math.ceil(last.y + last.h + 3);
    this.context = sizeCanvas(this.canvas, width, this.height);
    const places = this.rects.map(({ x, y, w, h, layer, head }) => ({ x, y, w, h, layer, head }));
    this.canvas.dataset.plot = JSON.stringify(places);
    this.describe();
    this.labels();
  }

  // Draws a frame: pixels of all heads at once, one enlarged copy per head.
  frame(index) {
    const { run, context } = this;
    const kindData = run.kinds[this.kind];
    const pixels = new Uint32Array(this.image.data.buffer);
    for (const rect of this.rects) {
      rect.tile.bytes = run.matrix(index, this.kind, rect.layer, rect.head);
      paintTile(pixels, this.image.width, rect, kindData.rows, kindData.columns, this.table, this.masked, strengthOf);
    }
    this.mosaic.getContext("2d").putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    for (const r of this.rects) context.drawImage(this.mosaic, r.sx, r.sy, r.pw, r.ph, r.x, r.y, r.w, r.h);
    this.outlines();
  }

  // Draws what is on the screen into another context.
  drawOn(context) {
    this.writeLabels(context);
    for (const r of this.rects) context.drawImage(this.mosaic, r.sx, r.sy, r.pw, r.ph, r.x, r.y, r.w, r.h);
    this.outlines(context);
  }

  labels() {
    this.context.clearRect(0, 0, this.width, this.height);
    this.writeLabels(this.context);
  }

  // Labels and frames of heads: drawn once per layout, and when another head is chosen or hovered over.
  writeLabels(context) {
    const { theme, place, rects } = this;
    const at = this.hovered || this.hooks.chosen(this.kind);
    context.textBaseline = "middle";
    const write = (text, on, x, y, align) => {
      context.textAlign = align;
      context.fillStyle = cssColour(on ? theme.ink : theme.dim);
      context.font = `${on ? 600 : 400} ${place.size}px ${theme.font}`;
      context.fillText(text, x, y);
    };
    const { t } = this.hooks;
    context.lineWidth = 1;
    context.strokeStyle = cssColour(theme.line);
    for (const r of rects) {
      context.strokeRect(r.x - 0.5, r.y - 0.5, r.w + 1, r.h + 1); // around the cells, which a frame paints over
      const [head, layer] = [at && r.head === at.head, at && r.layer === at.layer];
      if (r.layer === 0) write(t("short_head", { n: r.head + 1 }), head, r.x + r.w / 2, place.top - 9, "center");
      if (r.head === 0) write(t("short_layer", { n: r.layer + 1 }), layer, place.left - 5, r.y + r.h / 2, "right");
    }
  }

  outlines(context = this.context) {
    const { theme } = this;
    const chosen = this.hooks.chosen(this.kind);
    const outline = (r, colour, width) => {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.strokeRect(r.x - 0.5, r.y - 0.5, r.w + 1, r.h + 1);
    };
    if (this.hovered) outline(this.hovered, cssColour(theme.dim), 2);
    const r = chosen && this.rects.find((rect) => rect.layer === chosen.layer && rect.head === chosen.head);
    if (r) outline(r, cssColour(theme.ink), 3);
  }

  // Another head is chosen: the cells stay, everything around them is redrawn.
  refresh(index) {
    if (!this.context || !this.rects.length) return;
    this.labels();
    if (index >= 0) this.frame(index);
    const chosen = this.hooks.chosen(this.kind);
    for (const cell of this.canvas.querySelectorAll("[role=gridcell]")) {
      const same = chosen && Number(cell.dataset.layer) === chosen.layer && Number(cell.dataset.head) === chosen.head;
      cell.setAttribute("aria-selected", String(Boolean(same)));
      if (same) this.canvas.setAttribute("aria-activedescendant", cell.id);
    }
    if (!chosen) this.canvas.removeAttribute("aria-activedescendant");
  }

  // For screen readers: real elements inside the canvas, one per head.
  describe() {
    const { run, kind, hooks } = this;
    const { layers, heads } = run.opening;
    const cell = (layer, head) => {
      const about = { id: `learn-${kind}-${layer}-${head}`, "data-layer": layer, "data-head": head };
      const title = hooks.t("title_head", { layer: layer + 1, head: head + 1 });
      return el("div", { role: "gridcell", ...about }, title);
    };
    const numbers = (length) => Array.from({ length }, (_, i) => i);
    const row = (layer) => el("div", { role: "row" }, ...numbers(heads).map((head) => cell(layer, head)));
    this.canvas.replaceChildren(...numbers(layers).map(row));
  }

  rectAt(event) {
    const frame = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    return this.rects.find((r) => x >= r.x - 3 && x < r.x + r.w + 3 && y >= r.y - 3 && y < r.y + r.h + 3) || null;
  }

  pointer(event) {
    const r = this.rectAt(event);
    this.canvas.style.cursor = r ? "pointer" : "default";
    if (r !== this.hovered) {
      this.hovered = r;
      this.hooks.refresh(this);
    }
    if (!r) return this.hooks.unhover();
    const { rows, columns } = this.run.kinds[this.kind];
    const frame = this.canvas.getBoundingClientRect();
    const inside = (value, size, count) => Math.max(0, Math.min(count - 1, Math.floor((value / size) * count)));
    const row = inside(event.clientY - frame.top - r.y, r.h, rows);
    const column = inside(event.clientX - frame.left - r.x, r.w, columns);
    return this.hooks.hover(this.kind, r.layer, r.head, row, column, event);
  }

  leave() {
    this.hovered = null;
    this.hooks.refresh(this);
    this.hooks.unhover();
  }

  click(event) {
    const r = this.rectAt(event);
    if (r) this.hooks.choose(this.kind, r.layer, r.head);
  }

  key(event) {
    const step = arrowStep(event);
    if (!step || !this.run) return;
    event.preventDefault();
    const chosen = this.hooks.chosen(this.kind);
    if (!chosen) return this.hooks.choose(this.kind, 0, 0);
    const { layers, heads } = this.run.opening;
    const [layer, head] = [stepIndex(chosen.layer, step[0], layers), stepIndex(chosen.head, step[1], heads)];
    return this.hooks.choose(this.kind, layer, head);
  }
}

function strengthOf(byte) {
  return byte;
}

// One head with its tokens: as in the explorer, but a frame redraws only its cells, from bytes.
export class FrameHead extends HeadPlot {
  constructor(kind, hooks) {
    super(kind, hooks);
    this.cells = document.createElement("canvas");
    this.over = document.createElement("canvas");
  }

  // view: of `viewOf`. Lays out labels, lattice and mask.
  setView(view, theme, options) {
    Object.assign(this, { view, theme, options, state: { threshold: 0 } });
    if (this.hover && (this.hover[0] >= view.queries || this.hover[1] >= view.keys)) this.hover = null;
    this.layout(options.width, options.height);
    this.cells.width = view.keys;
    this.cells.height = view.queries;
    this.image = new ImageData(view.keys, view.queries);
    this.table = pixelTable(makeRamp(theme, view.kind), 1, 0);
    this.masked = packPixel(theme.masked);
    this.paintOver();
  }

  // Cells of whole pixels: an enlarged picture has no others.
  layout(width, height) {
    super.layout(width, height);
    const { plot, view } = this;
    const ratio = Math.min(4, window.devicePixelRatio || 1);
    const wholePixels = (value) => (value * ratio < 4 ? value : Math.floor(value * ratio) / ratio);
    Object.assign(plot, { cw: wholePixels(plot.cw), ch: wholePixels(plot.ch) });
    this.height = Math.ceil(plot.top + plot.ch * Math.max(1, view.queries) + 3);
    const { left, top, cw, ch } = plot;
    this.canvas.dataset.plot = JSON.stringify({ left, top, cw, ch, rows: view.queries, columns: view.keys });
  }

  edges() {
    const { plot, view } = this;
    const ratio = Math.min(4, window.devicePixelRatio || 1);
    const snap = (value) => Math.round(value * ratio) / ratio;
    return {
      x: Array.from({ length: view.keys + 1 }, (_, c) => snap(plot.left + c * plot.cw)),
      y: Array.from({ length: view.queries + 1 }, (_, r) => snap(plot.top + r * plot.ch)),
    };
  }

  paintOver() {
    this.drawLattice(sizeCanvas(this.over, this.width, this.height));
  }

  // What lies over the cells and does not change: the mask's hatching and the grid lines.
  drawLattice(context) {
    const { view, theme, plot } = this;
    const { x, y } = this.edges();
    const [right, bottom] = [x[view.keys], y[view.queries]];
    const large = Math.min(plot.cw, plot.ch) >= 7;
    for (let at = 0; large && view.mask && at < view.mask.length; at++) {
      if (!view.mask[at]) continue;
      const [r, c] = [Math.floor(at / view.keys), at % view.keys];
      hatchCell(context, x[c], y[r], x[c + 1] - x[c], y[r + 1] - y[r], cssColour(theme.hatch));
    }
    context.strokeStyle = cssColour(large ? theme.background : theme.line);
    context.lineWidth = 1;
    context.beginPath();
    for (const at of large ? x : [x[0], right]) {
      context.moveTo(at - 0.5, y[0]);
      context.lineTo(at - 0.5, bottom);
    }
    for (const at of large ? y : [y[0], bottom]) {
      context.moveTo(x[0], at - 0.5);
      context.lineTo(right, at - 0.5);
    }
    context.stroke();
    context.strokeStyle = cssColour(theme.line);
    context.strokeRect(x[0] - 0.5, y[0] - 0.5, right - x[0], bottom - y[0]);
  }

  frame(bytes) {
    const { view } = this;
    view.bytes = bytes;
    const pixels = new Uint32Array(this.image.data.buffer);
    for (let at = 0; at < pixels.length; at++)
      pixels[at] = view.mask && view.mask[at] ? this.masked : this.table[bytes[at]];
    this.cells.getContext("2d").putImageData(this.image, 0, 0);
    this.paintBase();
    this.paint();
  }

  drawBase(context) {
    this.drawCells(context);
    context.drawImage(this.over, 0, 0, this.width, this.height);
  }

  drawCells(context) {
    const { view } = this;
    const { x, y } = this.edges();
    context.imageSmoothingEnabled = false;
    context.drawImage(this.cells, x[0], y[0], x[view.keys] - x[0], y[view.queries] - y[0]);
  }

  // As on the screen; in a file the lattice is made of lines.
  drawOn(context) {
    this.drawCells(context);
    this.drawLattice(context);
    this.drawOver(context);
  }

  paint() {
    if (this.view && this.view.bytes) super.paint();
  }
}

// What the plots need of one head of a run. rows: "predicted" or "fed", the labels of decoder rows.
export function viewOf(run, kind, layer, head, rows) {
  const { opening } = run;
  const kindData = run.kinds[kind];
  const row = kind === "encoder_self" ? "source" : rows === "fed" ? "target_in" : "target_out";
  const column = kind === "decoder_self" ? "target_in" : "source";
  const labels = { source: opening.source_tokens, target_in: opening.target_in, target_out: opening.target_out };
  const [rowLabels, columnLabels] = [row, column].map((side) => labels[side].map(printable));
  const size = { queries: kindData.rows, keys: kindData.columns, mask: run.mask(kind), bytes: null };
  return { kind, layer, head, rowLabels, columnLabels, sides: { rows: row, columns: column }, ...size };
}
