import { cssColour, mixColours, packPixel, inkOn } from "../../core/colour.js";
import { formatCell } from "../format.js";
import { paintText, paintMath, paintTokens } from "./paint_text.js";

// How the items of a scene are painted. A matrix is painted once, one pixel per cell, and then only scaled.

const CACHE_SIZE = 240; // pictures of matrices
const SMALLEST = 9.5; // pixels of a number that is still read
const NUMBERS_AT = ["x", "y", "w", "h"];
const THIN = 6; // pixels of height below which a row gets no frame
const PALE = 0.22; // strength of rows that are not decoded yet

export class PaintKit {
  constructor() {
    this.pictures = new Map();
    this.ramps = new Map();
  }

  // The colour of a side; "ink" and "dim" are the text's.
  colour(theme, name) {
    const kinds = { source: "encoder_self", target: "decoder_self", cross: "cross" };
    if (name in kinds) return theme.hues[kinds[name]];
    if (name === "good") return theme.dark ? [95, 211, 160] : [10, 122, 75];
    if (name === "changed") return theme.dark ? [230, 185, 60] : [184, 134, 11];
    if (name === "line") return theme.line;
    if (name === "dim") return theme.dim;
    return theme.ink;
  }

  // 256 colours from 0 to the end of the scale, of positive and of negative numbers.
  ramp(theme, name) {
    const key = theme.key + theme.dark + name;
    if (!this.ramps.has(key)) {
      const hue = name === "ink" ? theme.ink : this.colour(theme, name);
      const far = mixColours(hue, theme.dark ? [255, 255, 255] : hue.map((v) => v * 0.14 + 6), 0.5);
      const through = (middle, end) =>
        Array.from({ length: 256 }, (_, i) => {
          const at = (i / 255) ** 0.75;
          return at < 0.72
            ? mixColours(theme.background, middle, at / 0.72)
            : mixColours(middle, end, (at - 0.72) / 0.28);
        });
      // Without a hue, positive numbers have the text colour and negative numbers are purple, as in the figures.
      const grey = name === "ink" ? theme.hues.cross : mixColours(theme.ink, theme.background, 0.42);
      if (this.ramps.size > 24) this.ramps.clear();
      this.ramps.set(key, { up: through(hue, far), down: through(grey, mixColours(theme.ink, theme.background, 0.1)) });
    }
    return this.ramps.get(key);
  }

  rgb(theme, item, value) {
    const ramp = this.ramp(theme, item.ramp);
    const top = item.top || item.matrix.top;
    const at = Math.min(255, Math.round((255 * Math.abs(value)) / top));
    return value < 0 ? ramp.down[at] : ramp.up[at];
  }

  pictureKey(item) {
    return `${item.matrix.id}|${item.ramp}|${item.top || ""}`;
  }

  // across: pixels available for its columns.
  picture(theme, item, across) {
    const { matrix } = item;
    const sparse = matrix.name === "activation";
    const averaged = matrix.masked || (item.sampling === "some" && !sparse); // a hidden cell would hide its neighbours
    const half = averaged ? 0 : halvings(matrix.cols, across, sparse ? 0 : 0.3);
    const key = `${this.pictureKey(item)}|${theme.key}${theme.dark}|${half}`;
    let picture = this.pictures.get(key);
    if (picture) return picture;
    const { rows } = matrix;
    const cols = Math.ceil(matrix.cols / 2 ** half);
    const data = half ? pooled(matrix, cols, 2 ** half, sparse) : matrix.data;
    picture = document.createElement("canvas");
    picture.width = cols;
    picture.height = rows;
    const context = picture.getContext("2d");
    const image = context.createImageData(cols, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const ramp = this.ramp(theme, item.ramp);
    const [up, down] = [ramp.up.map(packPixel), ramp.down.map(packPixel)];
    const scale = 255 / (item.top || matrix.top);
    for (let i = 0; i < pixels.length; i++) {
      const value = data[i];
      if (!Number.isFinite(value)) continue; // hatched below, through the hole
      const at = Math.min(255, Math.round(Math.abs(value) * scale));
      pixels[i] = value < 0 ? down[at] : up[at];
    }
    context.putImageData(image, 0, 0);
    if (this.pictures.size >= CACHE_SIZE) this.pictures.delete(this.pictures.keys().next().value);
    this.pictures.set(key, picture);
    return picture;
  }

  hatch(theme, context) {
    if (this.hatchKey !== theme.key + theme.dark) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 8;
      const on = tile.getContext("2d");
      on.fillStyle = cssColour(theme.masked);
      on.fillRect(0, 0, 8, 8);
      on.strokeStyle = cssColour(theme.hatch);
      on.lineWidth = 1.2;
      for (const at of [-8, 0, 8]) {
        on.beginPath();
        on.moveTo(at - 1, 9);
        on.lineTo(at + 9, -1);
        on.stroke();
      }
      this.tile = tile;
      this.hatchKey = theme.key + theme.dark;
    }
    return context.createPattern(this.tile, "repeat");
  }

  focus(context, { x, y, w, h }, theme) {
    context.globalAlpha = 1;
    context.strokeStyle = cssColour(theme.ink);
    context.lineWidth = 2.5;
    context.strokeRect(x - 3, y - 3, w + 6, h + 6);
  }
}

// How often the number of columns must be halved until each has about one pixel; slack: in octaves.
function halvings(cols, across, slack) {
  return Math.max(0, Math.ceil(Math.log2(cols / Math.max(8, across)) - slack - 0.01));
}

// Columns in groups, because leaving out columns would create false patterns. Each group shows its mean; if few numbers
// are not 0, as with neurons, it shows the number furthest from 0, so that none is lost.
function pooled(matrix, cols, width, sparse) {
  const grouped = new Float32Array(matrix.rows * cols);
  for (let row = 0; row < matrix.rows; row++)
    for (let col = 0; col < matrix.cols; col++) {
      const at = row * cols + Math.floor(col / width);
      const value = matrix.at(row, col);
      if (matrix.name === "positions")
        grouped[at] = col % width ? grouped[at] : value; // a mean of sines and cosines is flat
      else if (!sparse) grouped[at] += value / Math.min(width, matrix.cols - Math.floor(col / width) * width);
      else if (Math.abs(value) > Math.abs(grouped[at])) grouped[at] = value;
    }
  return grouped;
}

// Paints one item at its position `current` ({x, y, w, h, alpha, more}); lit: what the pointer highlights.
export function paintItem(context, item, current, kit, theme, lit) {
  context.globalAlpha = Math.max(0, Math.min(1, current.alpha));
  const unit = theme.size;
  if (item.kind === "matrix") paintMatrix(context, item, current, kit, theme, lit, unit);
  else if (item.kind === "box") paintBox(context, item, current, kit, theme);
  else if (item.kind === "bands") paintBands(context, item, current, kit, theme, lit);
  else if (item.kind === "arrow") paintArrow(context, item, current, kit, theme);
  else if (item.kind === "tokens") paintTokens(context, item, current, kit, theme, lit, unit);
  else if (item.kind === "math") paintMath(context, item, current, kit, theme, unit);
  else paintText(context, item, current, kit, theme, unit);
  context.globalAlpha = 1;
}

const pixelRatio = () => Math.min(4, window.devicePixelRatio || 1);

// At rest a matrix lies on whole pixels: its cells have sharp edges, wherever it came from.
function onPixels(item, current) {
  if (NUMBERS_AT.some((name) => Math.abs(current[name] - item[name]) > 0.01)) return current;
  const ratio = pixelRatio();
  const rounded = (value) => Math.round(value * ratio) / ratio;
  const [x, y] = [rounded(current.x), rounded(current.y)];
  return { ...current, x, y, w: rounded(current.x + current.w) - x, h: rounded(current.y + current.h) - y };
}

function paintMatrix(context, item, current, kit, theme, lit, unit) {
  const { matrix } = item;
  current = onPixels(item, current);
  const { x, y, w, h } = current;
  if (w < 0.5 || h < 0.5) return;
  const alpha = context.globalAlpha;
  context.fillStyle = cssColour(theme.background);
  context.fillRect(x, y, w, h);
  if (matrix.masked) hatchMasked(context, matrix, current, kit.hatch(theme, context));
  const picture = kit.picture(theme, item, w * pixelRatio());
  context.imageSmoothingEnabled = false;
  const bright = (item.dimAfter ?? Infinity) + 1;
  if (bright < matrix.rows) {
    const cut = (h * bright) / matrix.rows;
    context.drawImage(picture, 0, 0, picture.width, bright, x, y, w, cut);
    context.globalAlpha = alpha * PALE;
    context.drawImage(picture, 0, bright, picture.width, matrix.rows - bright, x, y + cut, w, h - cut);
    context.globalAlpha = alpha;
  } else context.drawImage(picture, x, y, w, h);
  if (item.numbers) paintNumbers(context, item, current, kit, theme, unit);
  const cell = { w: w / matrix.cols, h: h / matrix.rows };
  if (item.plain) paintChanges(context, item, current, cell, kit, theme);
  context.lineWidth = 1;
  if (item.outline !== null) {
    context.strokeStyle = cssColour(item.outline === "strong" ? theme.ink : theme.line);
    context.lineWidth = item.outline === "strong" ? 2 : 1;
    context.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
  }
  if ((item.current ?? Infinity) < matrix.rows) {
    context.strokeStyle = cssColour(theme.ink);
    context.lineWidth = 2;
    const [top, end] = [Math.round(y + item.current * cell.h), Math.round(y + (item.current + 1) * cell.h)];
    if (end - top >= THIN) context.strokeRect(x - 1, top, w + 2, end - top);
    else {
      // A frame would cover a row this thin: draw a mark on both sides.
      context.fillStyle = cssColour(theme.ink);
      for (const at of [x - 5, x + w + 1]) context.fillRect(at, top - 1, 4, Math.max(3, end - top + 2));
    }
  }
  if (item.chosen) outlineCell(context, current, cell, item.chosen[0], item.chosen[1], theme, 2.5);
  if (lit) paintHighlight(context, item, current, cell, theme, lit);
}

// A corner in every cell that a switch changed by more than a hundredth of the scale, if cells are large enough.
function paintChanges(context, { matrix, plain, top }, { x, y }, cell, kit, theme) {
  const size = Math.min(9, cell.w * 0.4, cell.h * 0.4);
  if (size < 3 || plain.rows !== matrix.rows || plain.cols !== matrix.cols) return;
  const least = (top || matrix.top) / 100;
  context.fillStyle = cssColour(kit.colour(theme, "changed"));
  context.beginPath();
  for (let row = 0; row < matrix.rows; row++)
    for (let col = 0; col < matrix.cols; col++) {
      if (!(Math.abs(matrix.at(row, col) - plain.at(row, col)) > least)) continue;
      const [right, above] = [x + (col + 1) * cell.w, y + row * cell.h];
      context.moveTo(right - size, above);
      context.lineTo(right, above);
      context.lineTo(right, above + size);
      context.closePath();
    }
  context.fill();
}

// Hidden cells, run by run.
function hatchMasked(context, matrix, { x, y, w, h }, pattern) {
  const { rows, cols } = matrix;
  context.fillStyle = pattern;
  for (let row = 0; row < rows; row++)
    for (let col = 0, from = -1; col <= cols; col++) {
      const hidden = col < cols && !Number.isFinite(matrix.at(row, col));
      if (hidden && from < 0) from = col;
      if (hidden || from < 0) continue;
      context.fillRect(x + (from * w) / cols, y + (row * h) / rows, ((col - from) * w) / cols, h / rows);
      from = -1;
    }
}

function outlineCell(context, { x, y }, cell, row, col, theme, width) {
  context.strokeStyle = cssColour(theme.ink);
  context.lineWidth = width;
  context.strokeRect(x + col * cell.w - 0.5, y + row * cell.h - 0.5, Math.max(3, cell.w) + 1, Math.max(3, cell.h) + 1);
}

// The lines of a matrix that belong to the cell under the pointer.
function paintHighlight(context, item, current, cell, theme, lit) {
  if (lit.group !== undefined && item.group !== undefined && item.group !== lit.group) return;
  const { x, y, w, h } = current;
  const inside = item.key === lit.key;
  const row = inside ? lit.row : (lit.axes[item.rowAxis] ?? -1);
  const col = inside ? lit.col : (lit.axes[item.colAxis] ?? -1);
  context.strokeStyle = cssColour(theme.ink);
  context.lineWidth = inside ? 1 : 2;
  if (inside) context.globalAlpha *= 0.55;
  if (row >= 0 && row < item.matrix.rows)
    context.strokeRect(x - 1, y + row * cell.h - 1, w + 2, Math.max(2, cell.h) + 2);
  if (col >= 0 && col < item.matrix.cols)
    context.strokeRect(x + col * cell.w - 1, y - 1, Math.max(2, cell.w) + 2, h + 2);
  context.globalAlpha = current.alpha;
  if (inside) outlineCell(context, current, cell, lit.row, lit.col, theme, 2.5);
}

function paintNumbers(context, item, { x, y, w, h }, kit, theme, unit) {
  const { rows, cols } = item.matrix;
  const [wide, high] = [w / cols, h / rows];
  const size = Math.min(unit * 0.95, high * 0.66, wide * 0.34);
  if (size < SMALLEST) return;
  context.font = `${size}px ${theme.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const alpha = context.globalAlpha;
  for (let row = 0; row < rows; row++) {
    const pale = row > (item.dimAfter ?? Infinity);
    context.globalAlpha = pale ? alpha * 0.35 : alpha;
    for (let col = 0; col < cols; col++) {
      const value = item.matrix.at(row, col);
      const finite = Number.isFinite(value);
      context.fillStyle = pale || !finite ? cssColour(theme.ink) : inkOn(kit.rgb(theme, item, value));
      context.fillText(formatCell(value, item.matrix.name), x + (col + 0.5) * wide, y + (row + 0.53) * high);
    }
  }
  context.globalAlpha = alpha;
}

function paintBox(context, item, { x, y, w, h }, kit, theme) {
  if (w <= 0 || h <= 0) return;
  context.beginPath();
  context.roundRect(x, y, w, h, Math.min(item.radius ?? 8, w / 2, h / 2));
  if (item.fill) {
    const fills = { panel: theme.panel, ground: theme.background };
    const colour = fills[item.fill] || kit.colour(theme, item.fill);
    context.fillStyle = fills[item.fill] ? cssColour(colour) : cssColour(colour, item.strength ?? 1);
    context.fill();
  }
  if (item.stroke) {
    context.setLineDash(item.dash ? [5, 4] : []);
    context.strokeStyle = cssColour(kit.colour(theme, item.stroke));
    context.lineWidth = item.weight || 1;
    context.stroke();
    context.setLineDash([]);
  }
}

// One band per row, from the rows of one edge to the rows of another; bands of equal strength share a path.
function paintBands(context, item, current, kit, theme, lit) {
  const [ax, ay, ah, bx, by, bh] = current.more;
  const { rows } = item;
  const colour = kit.colour(theme, item.colour);
  const [from, to] = [ah / rows, bh / rows];
  const thin = Math.min(from, to) > 5 ? 0.12 : 0;
  const middle = (ax + bx) / 2;
  // Draws n bands from a row on as one shape: without gaps between them they look the same, and take less time.
  const add = (row, n) => {
    const [top, end] = [ay + (row + thin) * from, by + (row + thin) * to];
    const [fromHigh, toHigh] = [from * (n - 2 * thin), to * (n - 2 * thin)];
    context.moveTo(ax, top);
    context.bezierCurveTo(middle, top, middle, end, bx, end);
    context.lineTo(bx, end + toHigh);
    context.bezierCurveTo(middle, end + toHigh, middle, top + fromHigh, ax, top + fromHigh);
    context.closePath();
  };
  const fill = (picked, strength) => {
    if (!picked.length || strength <= 0.004) return;
    context.beginPath();
    for (let i = 0, n; i < picked.length; i += n) {
      for (n = 1; !thin && picked[i + n] === picked[i] + n;) n++;
      add(picked[i], n);
    }
    context.fillStyle = cssColour(colour, strength);
    context.fill();
  };
  const all = Array.from({ length: rows }, (_, row) => row);
  if (item.strengths) {
    // Strengths in sixteen steps: sixteen paths at most, however many rows there are.
    const steps = new Map();
    for (const row of all) {
      const step = Math.round(16 * Math.min(1, item.strengths[row]));
      if (!steps.has(step)) steps.set(step, []);
      steps.get(step).push(row);
    }
    for (const [step, picked] of steps) fill(picked, step / 16);
  } else fill(all, item.strength ?? 0.2);
  const row = lit && item.axis ? lit.axes[item.axis] : undefined;
  if (row !== undefined && row < rows) fill([row], 0.6);
}

function paintArrow(context, item, current, kit, theme) {
  const points = current.more;
  const weight = item.weight || 1.5;
  const colour = cssColour(kit.colour(theme, item.colour || "dim"));
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = weight;
  context.setLineDash(item.dash ? [5, 4] : []);
  context.lineJoin = "round";
  context.beginPath();
  context.moveTo(points[0], points[1]);
  for (let i = 2; i < points.length - 2; i += 2) {
    const radius = item.round ?? 8;
    context.arcTo(points[i], points[i + 1], points[i + 2], points[i + 3], radius);
  }
  const [endX, endY] = points.slice(-2);
  const [fromX, fromY] = points.slice(-4, -2);
  const angle = Math.atan2(endY - fromY, endX - fromX);
  const size = item.tip === false ? 0 : 4 + weight * 1.6;
  context.lineTo(endX - Math.cos(angle) * size * 0.8, endY - Math.sin(angle) * size * 0.8);
  context.stroke();
  context.setLineDash([]);
  if (!size) return;
  context.beginPath();
  context.moveTo(endX, endY);
  for (const turn of [2.65, -2.65])
    context.lineTo(endX + Math.cos(angle + turn) * size, endY + Math.sin(angle + turn) * size);
  context.closePath();
  context.fill();
}
