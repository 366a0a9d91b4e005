import { groups } from "d3-array";
import { el } from "../core/dom.js";
import { arrowStep, stepIndex } from "../core/keys.js";
import { makeRamp, pixelTable, packPixel, cssColour } from "../core/colour.js";
import { HeadCanvas, outline } from "./canvas.js";

// Every head of one kind as small multiples: layers down, heads across, a thin margin of summaries.
export class Grid extends HeadCanvas {
  margin = 0.62; // width of the summaries, in widths of a head; 0: none
  constructor(kind, hooks) {
    super(kind, hooks, { class: "hs-canvas hs-grid", role: "grid", "data-testid": "grid-" + kind });
    this.mosaic = document.createElement("canvas");
    this.rects = [];
    this.lit = null; // {row, column}, either may be null: of the token that the reader points at
  }

  draw(model, state, theme, width, height) {
    this.model = model;
    this.state = state;
    this.theme = theme;
    this.tiles = model.tiles(this.kind, state);
    this.layout(width, height);
    this.paintBase();
    this.describe();
    this.paint();
    this.pointAgain();
  }

  layout(width, height) {
    const { layers, heads } = this.model.kinds[this.kind];
    const unit = this.theme.size / 15;
    const snap = (value) => Math.round(value * (window.devicePixelRatio || 1)) / (window.devicePixelRatio || 1);
    const small = heads * 22 + 30 > width;
    const size = (small ? 10 : 13) * Math.min(unit, 1.35);
    const measure = this.canvas.getContext("2d");
    measure.font = `600 ${size}px ${this.theme.font}`;
    const summary = this.margin ? measure.measureText(this.shortHead("all")).width : 0;
    const left = Math.ceil(Math.max(summary, measure.measureText(this.shortLayer(layers - 1)).width) + 8);
    const top = Math.round(20 * unit);
    const { margin } = this;
    const across = heads > 1 ? margin : 0;
    const down = layers > 1 ? margin : 0;
    const gap = Math.max(2, Math.min(7, Math.round((width / heads) * 0.07)));
    const apart = 8;
    const columns = Math.max(1, this.tiles.columns);
    const rows = Math.max(1, this.tiles.rows);
    let w = (width - left - gap * (heads - 1) - (across ? apart + gap + 6 : 0) - 3) / (heads + across);
    let h = (height - top - gap * (layers - 1) - (down ? apart + gap : 0) - 3) / (layers + down);
    // Cells may be stretched, within limits; a single token needs no giant tile.
    const aspect = Math.max(0.45, Math.min(2.2, columns / rows));
    w = Math.max(4, Math.min(w, h * aspect * 1.7, Math.max(60, columns * 26) * unit));
    h = Math.max(4, Math.min(h, (w / aspect) * 1.6, Math.max(60, rows * 20) * unit));
    this.rects = [];
    for (let l = 0; l <= layers; l++) {
      for (let g = 0; g <= heads; g++) {
        if ((l === layers && !down) || (g === heads && !across)) continue;
        const x = snap(left + g * (w + gap) + (g === heads ? apart : 0));
        const y = snap(top + l * (h + gap) + (l === layers ? apart : 0));
        this.rects.push({
          x,
          y,
          w: snap(g === heads ? w * margin : w),
          h: snap(l === layers ? h * margin : h),
          layer: l === layers ? "all" : l,
          head: g === heads ? "all" : g,
          tile: this.tiles.grid[l][g],
        });
      }
    }
    const last = this.rects[this.rects.length - 1];
    this.place = { left, top, unit, size: Math.min(size, Math.max(8, w / 2.1)) };
    // The margin's label may be wider than its thin tiles.
    this.width = Math.min(width, Math.ceil(last.x + Math.max(last.w + 3, last.w / 2 + summary / 2 + 2)));
    this.height = Math.ceil(last.y + last.h + 3);
    this.canvas.dataset.plot = JSON.stringify(
      this.rects.map(({ x, y, w, h, layer, head }) => ({ x, y, w, h, layer, head })),
    );
  }

  drawBase(context) {
    const { theme, state, tiles, rects } = this;
    const ratio = Math.min(4, window.devicePixelRatio || 1);
    const masked = packPixel(theme.masked);
    const { rows, columns } = tiles;
    context.strokeStyle = cssColour(theme.line);
    context.lineWidth = 1;
    for (const r of rects) context.strokeRect(r.x - 0.5, r.y - 0.5, r.w + 1, r.h + 1);
    if (!rows || !columns) return;
    // One mosaic of pixels for all tiles: a single upload to the canvas, then one scaled copy per tile.
    const wide = Math.min(columns, Math.max(...rects.map((r) => Math.round(r.w * ratio))));
    const high = Math.min(rows, Math.max(...rects.map((r) => Math.round(r.h * ratio))));
    const across = new Set(rects.map((r) => r.head)).size;
    const down = rects.length / across;
    const image = new ImageData(wide * across, high * down);
    const pixels = new Uint32Array(image.data.buffer);
    const common = this.table(state.scale === "common" ? tiles.largest : 1);
    rects.forEach((rect, i) => {
      const table = state.scale === "head" ? this.table(rect.tile.largest) : common;
      rect.pw = Math.max(1, Math.min(columns, Math.round(rect.w * ratio)));
      rect.ph = Math.max(1, Math.min(rows, Math.round(rect.h * ratio)));
      rect.sx = (i % across) * wide;
      rect.sy = Math.floor(i / across) * high;
      paintTile(pixels, wide * across, rect, rows, columns, table, masked, this.strength);
    });
    this.mosaic.width = image.width;
    this.mosaic.height = image.height;
    this.mosaic.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    for (const r of rects) context.drawImage(this.mosaic, r.sx, r.sy, r.pw, r.ph, r.x, r.y, r.w, r.h);
    this.cross(context);
  }

  // The colours of the 256 byte values of a picture, on a scale that ends at `top`.
  table(top) {
    return pixelTable(makeRamp(this.theme, this.kind), top, this.state.threshold);
  }

  // The byte to show when one pixel stands for two bytes: the stronger one.
  strength(byte) {
    return byte;
  }

  // Crosses out heads that are knocked out.
  cross(context) {
    const { zero } = this.model.kinds[this.kind];
    if (!zero) return;
    context.strokeStyle = cssColour(this.theme.ink);
    context.lineWidth = 2;
    context.beginPath();
    for (const r of this.rects) {
      if (r.layer === "all" || r.head === "all" || !zero[r.layer][r.head]) continue;
      context.moveTo(r.x, r.y);
      context.lineTo(r.x + r.w, r.y + r.h);
      context.moveTo(r.x + r.w, r.y);
      context.lineTo(r.x, r.y + r.h);
    }
    context.stroke();
  }

  labels(context) {
    const { theme, place, rects, hover } = this;
    const at = hover || { layer: this.chosen().layer, head: this.chosen().head };
    const { size } = place;
    context.textBaseline = "middle";
    for (const r of rects) {
      if (r.layer === 0) {
        context.textAlign = "center";
        const on = r.head === at.head;
        context.fillStyle = cssColour(on ? theme.ink : theme.dim);
        context.font = `${on ? 600 : 400} ${size}px ${theme.font}`;
        context.fillText(this.shortHead(r.head), r.x + r.w / 2, place.top - 10);
      }
      if (r.head === 0) {
        context.textAlign = "right";
        const on = r.layer === at.layer;
        context.fillStyle = cssColour(on ? theme.ink : theme.dim);
        context.font = `${on ? 600 : 400} ${size}px ${theme.font}`;
        context.fillText(this.shortLayer(r.layer), place.left - 7, r.y + r.h / 2, place.left - 7);
      }
    }
  }

  light(lit) {
    this.lit = lit;
    this.paint();
  }

  // Labels, the token that is lit, and the outlines of the chosen and the hovered head.
  drawOver(context) {
    const { theme, tiles } = this;
    const { row = null, column = null } = this.lit ?? {};
    this.labels(context);
    for (const r of this.lit ? this.rects : []) {
      const [high, wide] = [r.h / tiles.rows, r.w / tiles.columns];
      if (row !== null) outline(context, r.x, r.y + row * high, r.w, high, cssColour(theme.ink), 1);
      if (column !== null) outline(context, r.x + column * wide, r.y, wide, r.h, cssColour(theme.ink), 1);
    }
    const chosen = this.rectOf(this.chosen());
    const around = (r, colour, width) => outline(context, r.x - 0.5, r.y - 0.5, r.w + 1, r.h + 1, colour, width);
    if (this.hover && this.hover !== chosen) around(this.hover, cssColour(theme.dim), 1.5);
    if (chosen) around(chosen, cssColour(theme.ink), 3);
  }

  paint() {
    if (!this.ready) return;
    super.paint();
    const chosen = this.rectOf(this.chosen());
    const id = chosen ? this.cellId(chosen) : "";
    this.canvas.setAttribute("aria-activedescendant", id);
    for (const cell of this.canvas.querySelectorAll("[role=gridcell]")) {
      const selected = String(cell.id === id);
      if (cell.getAttribute("aria-selected") !== selected) cell.setAttribute("aria-selected", selected);
    }
  }

  // A grid for screen readers: real elements inside the canvas, one per head, at the head's position.
  describe() {
    const label = this.spoken();
    const cells = this.rects.map((r) => ({ ...r, title: this.hooks.title(this.kind, r.layer, r.head) }));
    const described = JSON.stringify([label, cells]);
    if (described === this.described) return; // to write it takes as long as to draw the heads
    this.described = described;
    this.canvas.setAttribute("aria-label", label);
    const cell = (r) => {
      const middle = { "data-x": Math.round(r.x + r.w / 2), "data-y": Math.round(r.y + r.h / 2) };
      const about = { id: this.cellId(r), "data-layer": r.layer, "data-head": r.head, ...middle };
      return el("div", { role: "gridcell", ...about }, r.title);
    };
    const rows = groups(cells, (r) => r.layer).map(([, row]) => el("div", { role: "row" }, ...row.map(cell)));
    this.canvas.replaceChildren(...rows);
  }

  spoken() {
    const { t, named = (label) => label } = this.hooks;
    const { layers, heads } = this.model.kinds[this.kind];
    return named(t("grid_label", { kind: t("kind_" + this.kind), layers, heads }));
  }

  shortHead(head) {
    const { t } = this.hooks;
    return head === "all" ? t("short_" + this.state.summary) : t("short_head", { n: head + 1 });
  }

  shortLayer(layer) {
    const { t } = this.hooks;
    return layer === "all" ? t("short_" + this.state.summary) : t("short_layer", { n: layer + 1 });
  }

  cellId(rect) {
    return `hs-${this.hooks.name || ""}${this.kind}-${rect.layer}-${rect.head}`;
  }

  chosen() {
    return this.model.clampChoice(this.kind, this.state.layer, this.state.head);
  }

  rectOf(choice) {
    return this.rects.find((r) => r.layer === choice.layer && r.head === choice.head) || null;
  }

  rectAt(event) {
    const frame = this.canvas.getBoundingClientRect();
    const x = event.clientX - frame.left;
    const y = event.clientY - frame.top;
    const rect = this.rects.find((r) => x >= r.x - 2 && x < r.x + r.w + 2 && y >= r.y - 2 && y < r.y + r.h + 2);
    if (!rect) return null;
    const inside = (value, size, count) => Math.max(0, Math.min(count - 1, Math.floor((value / size) * count)));
    return {
      rect,
      row: inside(y - rect.y, rect.h, this.tiles.rows),
      column: inside(x - rect.x, rect.w, this.tiles.columns),
    };
  }

  pointer(event) {
    const hit = this.model ? this.rectAt(event) : null;
    const rect = hit ? hit.rect : null;
    if (rect !== this.hover) {
      this.hover = rect;
      this.paint();
    }
    this.canvas.style.cursor = rect ? "pointer" : "default";
    if (hit) this.hooks.hover(this.kind, rect.layer, rect.head, hit.row, hit.column, event);
    else this.hooks.unhover();
  }

  click(event) {
    const hit = this.model ? this.rectAt(event) : null;
    if (hit) this.hooks.choose(this.kind, hit.rect.layer, hit.rect.head);
  }

  key(event) {
    const step = arrowStep(event);
    const jump = event.key === "Home" || event.key === "End";
    if ((!step && !jump) || event.ctrlKey || event.metaKey || event.altKey || !this.model) return;
    event.preventDefault();
    const layers = [...new Set(this.rects.map((r) => r.layer))];
    const heads = [...new Set(this.rects.map((r) => r.head))];
    const chosen = this.chosen();
    const move = (list, value, by) => list[stepIndex(list.indexOf(value), by, list.length)];
    if (jump)
      this.hooks.choose(this.kind, chosen.layer ?? 0, event.key === "Home" ? heads[0] : heads[heads.length - 1]);
    else this.hooks.choose(this.kind, move(layers, chosen.layer, step[0]), move(heads, chosen.head, step[1]));
  }
}

// Draws one head into the mosaic. If a tile has fewer pixels than tokens, every pixel shows the largest weight under
// it: leaving out every second token would make strong links vanish.
function paintTile(pixels, stride, rect, rows, columns, table, masked, strength) {
  const { pw, ph, sx, sy } = rect;
  const { bytes, mask } = rect.tile;
  const direct = pw === columns && ph === rows;
  for (let y = 0; y < ph; y++) {
    const out = (sy + y) * stride + sx;
    if (direct) {
      const base = y * columns;
      for (let x = 0; x < columns; x++) pixels[out + x] = mask && mask[base + x] ? masked : table[bytes[base + x]];
      continue;
    }
    const from = Math.floor((y * rows) / ph);
    const to = Math.max(from + 1, Math.floor(((y + 1) * rows) / ph));
    for (let x = 0; x < pw; x++) {
      const start = Math.floor((x * columns) / pw);
      const end = Math.max(start + 1, Math.floor(((x + 1) * columns) / pw));
      let best = bytes[from * columns + start];
      let open = !mask;
      for (let q = from; q < to; q++) {
        for (let k = start; k < end; k++) {
          const at = q * columns + k;
          if (strength(bytes[at]) > strength(best)) best = bytes[at];
          if (!open && !mask[at]) open = true;
        }
      }
      pixels[out + x] = open ? table[best] : masked;
    }
  }
}
