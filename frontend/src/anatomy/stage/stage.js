import { buttonEl, el, sizeCanvas } from "../../core/dom.js";
import { paintItem, PaintKit } from "./paint.js";
import { paintWave, shownPart } from "./wave.js";

// The stage of the anatomy: shows scenes of items on one canvas and moves smoothly from one to the next. Items with the
// same key in both scenes are the same and move; new items grow out of their parent; the rest follows the camera.

export const MOVE = 620; // milliseconds from zoom to zoom, and of a word that flies
const STEP = 420; // from step to step
const DEPTH = { box: 0, bands: 1, arrow: 2, matrix: 3, tokens: 4, text: 5, math: 5 };
const RIM = 6; // pixels around a matrix in which its outlines and marks lie
const NUMBERS = ["x", "y", "w", "h", "alpha"];

const eased = (at) => (at < 0.5 ? 4 * at ** 3 : 1 - (-2 * at + 2) ** 3 / 2);
// Exactly b at 1: half a pixel that is not quite one would draw a strip one pixel further.
const between = (a, b, at) => a * (1 - at) + b * at;
const rectBetween = ({ x, y, w, h }) => ({ x, y, w: w || 0, h: h || 0 });

export class Stage {
  // hooks: go(partial state), pick(item, row, col), hover(item | null, row, col, event), theme()
  constructor(hooks) {
    this.hooks = hooks;
    this.canvas = el("canvas", { class: "hs-an-canvas", role: "img", "data-testid": "anatomy-canvas" });
    this.buttons = el("div", { class: "hs-an-buttons" });
    this.element = el("div", { class: "hs-an-stage", "data-testid": "anatomy-stage" }, this.canvas, this.buttons);
    this.kit = new PaintKit();
    this.items = [];
    this.moving = [];
    this.frames = null;
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.onPointer(event));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("click", (event) => this.onClick(event));
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    this.element.remove();
  }

  get still() {
    return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  // Shows a scene. how: "move" between zooms, "step" between steps, "cut" (another size, theme or sentence).
  show(items, size, how = "step") {
    const before = this.seen();
    const resized = this.size && (this.size.width !== size.width || this.size.height !== size.height);
    this.size = size;
    this.items = items;
    this.flowing = null;
    this.leave();
    const far = how === "move" || items.some((item) => item.flies);
    const duration = how === "cut" || resized || !before.length || this.still ? 0 : far ? MOVE : STEP;
    this.moving = this.plan(before, items);
    this.started = performance.now();
    this.duration = duration;
    this.element.toggleAttribute("data-moving", duration > 0);
    this.layButtons();
    this.tick();
  }

  // Shows once how numbers come about, when the move has ended. flow: of wave.js, or null
  flow(flow) {
    this.flowing = this.still ? null : flow;
    if (this.flowing) this.tick();
  }

  // The items on the canvas now, also during a move.
  seen() {
    if (!this.moving.length) return [];
    const at = this.progress();
    return this.moving
      .filter((move) => !move.leaves || at < 1)
      .map((move) => ({ item: move.item, now: this.at(move, at) }));
  }

  progress() {
    if (!this.duration) return 1;
    return Math.min(1, (performance.now() - this.started) / this.duration);
  }

  // For every item: its start and its end.
  plan(before, items) {
    const old = new Map(before.map((moving) => [moving.item.key, moving]));
    const fresh = new Map(items.map((item) => [item.key, item]));
    const camera = cameraOf(before, fresh);
    const moves = [];
    for (const { item, now } of before) {
      const stays = fresh.get(item.key);
      if (stays && stays.kind === item.kind) continue;
      const home = parentRect(item, (key) => fresh.get(key));
      const rect = home || camera.forth(rectBetween(now));
      moves.push({ item, leaves: true, from: now, to: shapeOf(item, { ...rect, alpha: 0 }, now, camera.forth) });
    }
    for (const item of items) {
      const end = shapeAtRest(item);
      const previous = old.get(item.key);
      if (previous && previous.item.kind === item.kind) {
        const changed = item.kind === "matrix" && this.kit.pictureKey(previous.item) !== this.kit.pictureKey(item);
        moves.push({ item, from: previous.now, to: end, old: changed ? previous.item : null });
        continue;
      }
      const home = parentRect(
        item,
        (key) => old.get(key) && { ...old.get(key).item, ...rectBetween(old.get(key).now) },
      );
      const rect = home || camera.back(rectBetween(item));
      const alpha = home && item.flies ? 1 : 0;
      moves.push({ item, fresh: true, from: shapeOf(item, { ...rect, alpha }, end, camera.back), to: end });
    }
    const depth = ({ item }) => (item.z || 0) * 10 + DEPTH[item.kind];
    return moves
      .map((move, i) => ({ move, i }))
      .sort((a, b) => depth(a.move) - depth(b.move) || a.i - b.i)
      .map(({ move }) => move);
  }

  at(move, progress) {
    const share = eased(progress);
    /** @type {any} */
    const now = {};
    // Some items move first in one direction and then in the other, so that they do not cross each other.
    const { first } = move.item;
    for (const name of NUMBERS) {
      let part = share;
      if (first && !move.leaves && name !== "alpha") {
        const early = (name === "y" || name === "h") === (first === "y");
        part = eased(Math.max(0, Math.min(1, early ? 2 * progress : 2 * progress - 1)));
      }
      now[name] = between(move.from[name], move.to[name], part);
    }
    // Old items disappear early, new items appear late: two texts never overlap for long.
    const swift = move.item.kind === "bands" || move.item.kind === "arrow" ? 4 : 2.2;
    if (move.leaves) now.alpha = move.from.alpha * Math.max(0, 1 - progress * swift);
    else if (!move.from.alpha && progress < 1) now.alpha = move.to.alpha * Math.max(0, (share - 0.25) / 0.75);
    if (move.to.more) {
      const start = move.from.more && move.from.more.length === move.to.more.length ? move.from.more : move.to.more;
      now.more = move.to.more.map((value, i) => between(start[i], value, share));
    }
    return now;
  }

  tick() {
    cancelAnimationFrame(this.frame);
    const at = this.progress();
    if (at >= 1 && this.element.hasAttribute("data-moving")) this.rest();
    this.paint(at);
    if (this.frames) this.frames.push(performance.now());
    if (at < 1 || this.flowing) this.frame = requestAnimationFrame(() => this.tick());
    else this.rest();
  }

  rest() {
    this.moving = this.moving.filter((move) => !move.leaves);
    this.element.removeAttribute("data-moving");
    this.element.dataset.drawn = String((Number(this.element.dataset.drawn) || 0) + 1);
  }

  paint(at) {
    const context = sizeCanvas(this.canvas, this.size.width, this.size.height);
    const theme = this.hooks.theme();
    const { flowing } = this;
    if (flowing && at >= 1) flowing.since ??= performance.now();
    const elapsed = flowing?.since ? performance.now() - flowing.since : 0;
    for (const move of this.moving) {
      const now = this.at(move, at);
      if (now.alpha <= 0.004) continue;
      const part = flowing?.made.includes(move.item) ? shownPart(flowing, move.item, elapsed) : null;
      if (move.old && (part || at < 1)) {
        paintItem(context, move.old, now, this.kit, theme, null);
        if (!part) now.alpha *= eased(at);
      }
      if (part) {
        context.save();
        clipTo(context, now, part, move.item.matrix.rows);
      }
      paintItem(context, move.item, now, this.kit, theme, this.lit);
      if (part) context.restore();
    }
    if (flowing && at >= 1) {
      const on = paintWave(context, flowing, elapsed, theme);
      this.element.dataset.drawn = String((Number(this.element.dataset.drawn) || 0) + 1);
      if (!on) {
        this.flowing = null;
        return this.paint(at); // without the clip
      }
    }
    if (this.focused) this.kit.focus(context, this.focused, theme);
  }

  redraw() {
    if (this.size && this.progress() >= 1) this.paint(1);
  }

  // -- pointer and keyboard ------------------------------------------------------------------------------------------

  find(event) {
    const frame = this.canvas.getBoundingClientRect();
    const x = event.clientX - frame.left;
    const y = event.clientY - frame.top;
    let boxed = null;
    for (let i = this.moving.length - 1; i >= 0; i--) {
      const { item, leaves } = this.moving[i];
      if (leaves || !(item.w > 0 && item.h > 0) || item.kind === "bands" || item.kind === "arrow") continue;
      if (x < item.x || y < item.y || x >= item.x + item.w || y >= item.y + item.h) continue;
      if (item.kind === "matrix") {
        const { rows, cols } = item.matrix;
        const row = Math.min(rows - 1, Math.floor(((y - item.y) / item.h) * rows));
        const col = Math.min(cols - 1, Math.floor(((x - item.x) / item.w) * cols));
        return { item, row, col };
      }
      if (!boxed && (item.go || item.tip)) boxed = { item, row: -1, col: -1 };
    }
    return boxed;
  }

  onPointer(event) {
    if (this.progress() < 1) return;
    const hit = this.find(event);
    const { canvas } = this;
    const clicks = hit && (hit.item.go || hit.item.pick);
    canvas.style.cursor = clicks ? "pointer" : "default";
    this.light(hit);
    this.hooks.hover(hit && hit.item, hit ? hit.row : -1, hit ? hit.col : -1, event);
  }

  // Highlights the lines of a cell: in its own matrix, and in every matrix that shares one of its axes.
  light(hit) {
    const key = hit ? `${hit.item.key}/${hit.row}/${hit.col}` : "";
    if (key === this.litKey) return;
    this.litKey = key;
    this.lit = null;
    if (hit && hit.item.kind === "matrix") {
      const { item, row, col } = hit;
      this.lit = { key: item.key, group: item.group, row, col, axes: {} };
      if (item.rowAxis) this.lit.axes[item.rowAxis] = row;
      if (item.colAxis) this.lit.axes[item.colAxis] = col;
    }
    this.redraw();
  }

  leave() {
    this.light(null);
    this.hooks.hover(null, -1, -1, null);
  }

  // During a move a click means the item at its end.
  onClick(event) {
    if (this.progress() < 1) {
      this.duration = 0;
      this.tick();
    }
    const hit = this.find(event);
    if (!hit) return;
    if (hit.item.go) this.hooks.go(hit.item.go);
    else if (hit.item.pick) this.hooks.pick(hit.item, hit.row, hit.col);
  }

  // A button for every item that leads on, for keyboard and screen readers; a pointer uses the canvas.
  layButtons() {
    const focus = this.buttons.contains(this.root().activeElement) ? this.root().activeElement.dataset.key : null;
    const made = this.items.filter((item) => item.go && item.label).map((item) => this.button(item));
    this.buttons.replaceChildren(...made);
    this.focused = null;
    const again = focus && made.find((button) => button.dataset.key === focus);
    if (again) again.focus({ preventScroll: true });
  }

  root() {
    return this.element.getRootNode();
  }

  button(item) {
    const { key, label, go, x, y, w, h } = item;
    const focus = (focused) => {
      this.focused = focused;
      this.redraw();
    };
    const button = buttonEl({
      ...{ "data-key": key, "aria-label": label, click: () => this.hooks.go(go) },
      focus: () => focus(button.matches(":focus-visible") ? item : null),
      blur: () => focus(null),
    });
    const size = { width: `${Math.max(1, w)}px`, height: `${Math.max(1, h)}px` };
    Object.assign(button.style, { left: `${x}px`, top: `${y}px`, ...size });
    return button;
  }
}

// Lets only some rows of a matrix be painted, and the others up to `front`.
function clipTo(context, { x, y, w, h }, { rows, front }, all) {
  const below = y + (h * rows) / all;
  context.beginPath();
  context.rect(x - RIM, y - RIM, rows ? w + 2 * RIM : 0, below - y + RIM);
  context.rect(x - RIM, below - (rows ? 0 : RIM), Math.max(0, front - x + RIM), y + h + 2 * RIM - below);
  context.clip();
}

// The movement of the whole picture: from the frame around the items that stay, before, to the frame around them,
// after.
function cameraOf(before, fresh) {
  const frames = [null, null];
  const grow = (frame, { x, y, w, h }) =>
    frame
      ? [Math.min(frame[0], x), Math.min(frame[1], y), Math.max(frame[2], x + w), Math.max(frame[3], y + h)]
      : [x, y, x + w, y + h];
  for (const { item, now } of before) {
    const after = fresh.get(item.key);
    if (!after || item.kind !== "matrix" || after.kind !== "matrix") continue;
    frames[0] = grow(frames[0], rectBetween(now));
    frames[1] = grow(frames[1], rectBetween(after));
  }
  if (!frames[0]) return { forth: (rect) => rect, back: (rect) => rect };
  const [a, b] = frames;
  const ratio = (low, high) => {
    const ratio = (b[high] - b[low]) / Math.max(1, a[high] - a[low]);
    return Math.max(0.25, Math.min(4, ratio || 1));
  };
  const [sx, sy] = [ratio(0, 2), ratio(1, 3)];
  const [ax, ay, bx, by] = [(a[0] + a[2]) / 2, (a[1] + a[3]) / 2, (b[0] + b[2]) / 2, (b[1] + b[3]) / 2];
  return {
    forth: ({ x, y, w, h }) => ({ x: bx + (x - ax) * sx, y: by + (y - ay) * sy, w: w * sx, h: h * sy }),
    back: ({ x, y, w, h }) => ({ x: ax + (x - bx) / sx, y: ay + (y - by) / sy, w: w / sx, h: h / sy }),
  };
}

// The rectangle an item grows out of: a cell, or its nearest parent that is in the other scene.
function parentRect(item, find) {
  const slice = item.parentSlice && find(item.parentSlice.key);
  if (slice && slice.matrix) {
    const { from, to } = item.parentSlice; // columns of a matrix
    const wide = slice.w / slice.matrix.cols;
    return { x: slice.x + from * wide, y: slice.y, w: (to - from) * wide, h: slice.h };
  }
  const cell = item.parentCell && find(item.parentCell.key);
  if (cell && cell.matrix) {
    const { row, col } = item.parentCell;
    const [w, h] = [cell.w / cell.matrix.cols, cell.h / cell.matrix.rows];
    return { x: cell.x + col * w, y: cell.y + row * h, w, h };
  }
  for (const key of [item.parent].flat()) {
    const parent = key && find(key);
    if (parent && parent.w !== undefined) return rectBetween(parent);
  }
  return null;
}

export const shapeAtRest = (item) => shapeOf(item, { ...rectBetween(item), alpha: item.alpha ?? 1 });

// The numbers of an item that move; `rect` replaces its rectangle. now: the current lines; carry: how the camera moves
// them.
function shapeOf(item, rect, now = null, carry = null) {
  const { kind, from, to, points } = item;
  if (kind !== "bands" && kind !== "arrow") return rect;
  const lines = now?.more ?? (kind === "arrow" ? points : [from.x, from.y, from.h, to.x, to.y, to.h]);
  if (!carry) return { ...rect, more: [...lines] };
  const size = kind === "bands" ? 3 : 2; // x, y and the height of an edge, or x and y of a point
  const moved = (i) => carry({ x: lines[i], y: lines[i + 1], w: 0, h: size > 2 ? lines[i + 2] : 0 });
  const ends = Array.from({ length: lines.length / size }, (_, end) => moved(end * size));
  return { ...rect, more: ends.flatMap(({ x, y, h }) => [x, y, h].slice(0, size)) };
}
