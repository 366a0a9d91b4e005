import { Grid } from "../heads/grid.js";
import { HeadPlot } from "../heads/head.js";
import { makeRamp, makeNegativeRamp, cssColour, packPixel } from "../core/colour.js";

const MARKED = 0.04; // cells that lose at least this much get a minus sign
const SPACE = 6; // pixels that a cell needs for it

// After minus before, of two traces of the same tokens; it has the methods of a TraceModel.
export class DifferenceModel {
  constructor(before, after) {
    this.before = before;
    this.after = after;
    this.header = after.header;
    this.kinds = after.kinds;
  }

  clampChoice(kind, layer, head) {
    return this.after.clampChoice(kind, layer, head);
  }

  view(kind, layer, head, state) {
    const before = this.before.view(kind, layer, head, state);
    const after = this.after.view(kind, layer, head, state);
    const data = after.data.map((value, at) => value - before.data[at]);
    const mask = before.mask && after.mask ? after.mask.map((hidden, at) => hidden & before.mask[at]) : null;
    return { ...after, data, raw: data, mask, exact: before.exact && after.exact, before, after };
  }

  // Bytes: 128 plus half the difference of the bytes of two pictures.
  tiles(kind, state) {
    const before = this.before.tiles(kind, state);
    const after = this.after.tiles(kind, state);
    const grid = after.grid.map((line, l) =>
      line.map((tile, h) => {
        const beforeTile = before.grid[l][h];
        const bytes = tile.bytes.map((value, at) => halfDifference(value - beforeTile.bytes[at]));
        const mask = beforeTile.mask && tile.mask ? tile.mask.map((hidden, at) => hidden & beforeTile.mask[at]) : null;
        return { bytes, mask, largest: 1 };
      }),
    );
    return { ...after, grid, largest: 1 };
  }
}

// 128 means no difference; the smallest difference is visible in both directions, and the largest fits into a byte.
function halfDifference(difference) {
  return 128 + Math.sign(difference) * Math.min(127, Math.round(Math.abs(difference) / 2));
}

// 511 colours from -1 to 1: gains run into the hue of the kind, losses into its contrary.
export function differencePalette(theme, kind) {
  const lost = makeNegativeRamp(theme, kind);
  return [...lost.slice(1).reverse(), ...makeRamp(theme, kind)];
}

// A minus in a cell that loses weight: the sign of a difference does not hang on its colour alone.
function drawMinus(context, theme, x, y, w, h) {
  const long = Math.min(w * 0.6, 10);
  context.fillStyle = cssColour(theme.ink);
  context.fillRect(x + (w - long) / 2, y + h / 2 - 0.75, long, 1.5);
}

export class DifferenceGrid extends Grid {
  table() {
    const palette = differencePalette(this.theme, this.kind).map(packPixel);
    const table = new Uint32Array(256);
    for (let byte = 0; byte < 256; byte++)
      table[byte] = palette[Math.max(0, Math.min(510, 255 + Math.round((byte - 128) * (255 / 127))))];
    return table;
  }

  strength(byte) {
    return Math.abs(byte - 128);
  }

  drawBase(context) {
    super.drawBase(context);
    const { rows, columns } = this.tiles;
    for (const rect of this.rects) {
      const w = rect.w / columns;
      const h = rect.h / rows;
      if (Math.min(w, h) < SPACE) continue;
      rect.tile.bytes.forEach((byte, at) => {
        if ((byte - 128) / 127 > -MARKED) return;
        drawMinus(context, this.theme, rect.x + (at % columns) * w, rect.y + Math.floor(at / columns) * h, w, h);
      });
    }
  }
}

export class DifferencePlot extends HeadPlot {
  palette() {
    return differencePalette(this.theme, this.kind);
  }

  shadeOf(value) {
    return 255 + Math.max(-255, Math.min(255, Math.round(255 * value)));
  }

  mark(context, value, x, y, w, h) {
    if (value <= -MARKED && Math.min(w, h) >= SPACE) drawMinus(context, this.theme, x, y, w, h);
  }
}
