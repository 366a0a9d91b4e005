import { printable } from "../core/dom.js";
import { Grid } from "../heads/grid.js";
import { HeadPlot } from "../heads/head.js";

// Heads of a run at one frame. What stays from frame to frame is laid out once.

// Every head of one kind: layers down, heads across.
export class FrameGrid extends Grid {
  /** @type {any} */ run;
  margin = 0;

  // hooks: {t, name, choose(kind, layer, head), hover(kind, layer, head, row, column, event), unhover(), chosen(kind),
  // title(kind, layer, head)}
  constructor(kind, hooks) {
    super(kind, hooks);
    this.canvas.dataset.testid = "training-grid-" + kind;
  }

  lay(run, theme, width, height) {
    const { layers, heads } = run.opening;
    const { rows, columns } = run.kinds[this.kind];
    const tile = () => ({ bytes: null, mask: run.mask(this.kind) });
    const grid = Array.from({ length: layers }, () => Array.from({ length: heads }, tile));
    const model = { kinds: { [this.kind]: { layers, heads } } };
    const tiles = { grid, rows, columns, largest: 1 };
    Object.assign(this, { run, theme, model, tiles, state: { threshold: 0, scale: "one" } });
    this.layout(width, height);
    this.describe();
  }

  frame(index) {
    const { run, kind } = this;
    for (const { tile, layer, head } of this.rects) tile.bytes = run.matrix(index, kind, layer, head);
    this.paintBase();
    this.paint();
  }

  chosen() {
    return this.hooks.chosen(this.kind) ?? { layer: null, head: null };
  }

  // The stage says it, with the step.
  spoken() {
    return this.canvas.getAttribute("aria-label") ?? "";
  }

  paint() {
    if (this.rects[0]?.tile.bytes) super.paint();
  }
}

// One head with its tokens, as in the explorer. `lay` takes a view of `viewOf`; its frames come as bytes.
export class FrameHead extends HeadPlot {
  frame(bytes) {
    Object.assign(this.view, { bytes, data: Float32Array.from(bytes, (byte) => byte / 255) });
    this.paintBase();
    this.paint();
  }

  paint() {
    if (this.view?.bytes) super.paint();
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
